#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# strperf as its users meet it: bad options, exit statuses, what it prints, and
# that it notices a damaged message.  STRPERF names another program to test.
set -eu
: "${top_builddir:=.}" "${top_srcdir:=.}"
# shellcheck source=tests/strperf_lib.sh
. "$top_srcdir/tests/strperf_lib.sh"

modes='process thread'
run --version
expect 0 "--version"
prints '^ustreams [0-9.]+ buffer_cache=(yes|no) ' "--version"
if grep -q heap=malloc "$work/out" || [ -n "${USTR_TEST_THREADS_ONLY:-}" ]; then
	modes=thread
fi
mode=${modes%% *}
quick="--mode $mode --duration 0.2 --interval 0.1"
allowed=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status 2>/dev/null || :)

# ---- what it refuses ---------------------------------------------------------
refuses frob frob
refuses pipe
refuses --frob pipe --frob
refuses -x pipe -x
refuses --json pipe --json=yes
for value in 0 1048577 -1 x '' '1,' '1,,2' 1x; do
	refuses --sizes pipe --sizes "$value"
done
refuses --sizes pipe --sizes
refuses --peers pipe --peers tcp
refuses --peers pipe --peers pipe,pipe
refuses --mode pipe --mode fiber
refuses --io pipe --io aio
refuses --read-mode pipe --read-mode RFAST
refuses --cpus pipe --cpus 0,0
refuses --cpus pipe --cpus 0,1,2
refuses --cpus pipe --cpus 99999
refuses --cpus pipe --cpus all
refuses --push pipe --push waytoolongname
refuses nosuch pipe --mode "$mode" --push nosuch
refuses --hiwat pipe --hiwat 0
refuses --lowat pipe --lowat -1
refuses --lowat pipe --mode "$mode" --hiwat 100 --lowat 101
refuses --duration pipe --duration 0
refuses --duration pipe --duration nan
refuses --interval pipe --interval 1s
run pipe operand
expect 2 "an operand"
run compare "$strperf"
expect 2 "compare with one build"
run compare "$strperf" /nonexistent
expect 2 "compare with a build that is not there"
says /nonexistent "compare with a build that is not there"
run compare "$strperf" /bin/true
expect 2 "compare with another program"
run compare "$strperf" "$strperf" --sizes 0
expect 2 "compare with a bad size"
run compare "$strperf" "$strperf" -- pipe --sizes 0
expect 2 "compare with a bad size after --"

# ---- one CPU -------------------------------------------------------------------
first=${allowed%%[-,]*}
if [ -n "$first" ] && command -v taskset >/dev/null; then
	strperf_plain=$strperf
	status=0
	# shellcheck disable=SC2086
	taskset -c "$first" "$strperf_plain" pipe $quick --sizes 64 \
		>"$work/out" 2>"$work/err" || status=$?
	expect 0 "one CPU allowed"
	if grep -q "only CPU $first is allowed" "$work/out"; then pass; else
		fail "one CPU allowed: the result does not say so"
	fi
	status=0
	taskset -c "$first" "$strperf_plain" pipe --push nosuch \
		>"$work/out" 2>"$work/err" || status=$?
	expect 2 "one CPU allowed, and an unknown module"
	if [ "$(wc -l <"$work/err")" = 1 ]; then pass; else
		fail "one CPU allowed, and an unknown module: not one line on stderr"
	fi
	status=0
	taskset -c "$first" "$strperf_plain" pipe --cpus "$first,$((first + 1))" \
		>"$work/out" 2>"$work/err" || status=$?
	expect 2 "two CPUs asked, one allowed"
	says --cpus "two CPUs asked, one allowed"
fi

# ---- what it measures -----------------------------------------------------------
run --help
expect 0 "--help"
prints '--read-mode' "--help"

# shellcheck disable=SC2086
run pipe $quick --sizes 1,64 --peers pipe
expect 0 "pipe"
prints '^[0-9]+ Msgs read: [0-9]+, throughput: [0-9]+ bytes/sec$' "pipe"
prints '^[0-9]+ Msgs sent: [0-9]+, throughput: [0-9]+ bytes/sec$' "pipe"
prints 'ustreams / pipe' "pipe"
prints 'messages arrived, in order and undamaged' "pipe"

for mode in $modes; do
	quick="--mode $mode --duration 0.2 --interval 0.1"
	# shellcheck disable=SC2086
	run pipe $quick --sizes 1,8,16,4096,65536,65537,1048576 --json
	expect 0 "all sizes, $mode"
	json 'all(r["lost"] == 0 and r["bad"] == 0 and r["sent"] > 0 for r in j["results"])' \
		"all sizes, $mode: nothing lost"
	# shellcheck disable=SC2086
	run pipe $quick --json --peers pipe,fifo,unix,seqpacket,mq,none --sizes 64,4096
	expect 0 "all peers, $mode"
	says "Msgs read: " "all peers, $mode: lines of slices"
	json 'j["tool"] == "strperf" and j["command"] == "pipe" and j["schema"] == 1' \
		"tool, command, schema"
	json 'set(j["build"]) == {"buffer_cache", "head_cache", "heap", "debug"}' "build"
	json '{"cpu_model", "kernel", "cpus", "crosscpu_ns"} <= set(j["host"])' "host"
	json 'len(j["results"]) == 14 and len(j["ratios"]) == 12' "results and ratios"
	json 'all(len(r["samples"]) == 2 and r["lost"] == r["sent"] - r["read"] == 0
		and r["mode"] == "'"$mode"'" for r in j["results"])' "samples, lost"
	json 'all(r["subject"] == "ustreams" and len(r["ci95"]) == 2
		and (r["ci95"][0] is None or r["ci95"][0] <= r["median"] <= r["ci95"][1])
		for r in j["ratios"])' "ratios"
	for options in "--io msg" --blocking --poll-each "--read-mode RNORM" \
		"--read-mode RMSGN" "--push nullmod,pipemod" "--hiwat 1" \
		"--hiwat 1000000 --lowat 100000" "--cpus none" "--io msg --blocking"; do
		# shellcheck disable=SC2086
		run pipe $quick --sizes 1,100 --json $options
		expect 0 "$options, $mode"
		json 'all(r["lost"] == r["bad"] == 0 and r["read"] > 0 for r in j["results"])' \
			"$options, $mode: nothing lost"
	done
	run pipe --mode "$mode" --duration 0.1 --push ''
	expect 0 "no module, $mode"
	for size in 1 16 4096; do
		# shellcheck disable=SC2086
		run pipe $quick --sizes $size --plant-flip 10
		expect 1 "a flipped bit in $size bytes, $mode"
		says "message 10" "a flipped bit in $size bytes, $mode"
	done
done

# shellcheck disable=SC2086
run pipe $quick --csv --sizes 1,2 --peers pipe
expect 0 "--csv"
if [ "$(wc -l <"$work/out")" = 5 ] && [ "$(awk -F'"' '{ $2 = ""; print }' "$work/out" |
	awk -F, '{ print NF }' | sort -u | wc -l)" = 1 ]; then
	pass
else
	fail "--csv: not five lines of equal length"
fi

# ---- Ctrl-C ------------------------------------------------------------------------
for mode in $modes; do
	"$strperf" pipe --json --mode "$mode" --peers pipe >"$work/out" 2>"$work/err" &
	pid=$!
	sleep 1.5
	kill -INT $pid || fail "interrupted, $mode: it had ended"
	status=0
	wait $pid || status=$?
	expect 130 "interrupted, $mode"
	json 'j["interrupted"] is True' "interrupted, $mode: valid JSON"
	json 'all(r["lost"] == 0 for r in j["results"])' "interrupted, $mode: nothing lost"
done

# ---- compare ---------------------------------------------------------------------------
mode=${modes%% *}
run compare "$strperf" "$strperf" --json -- pipe --mode "$mode" --sizes 64 --duration 0.8 --interval 0.1
expect 0 "compare of a build with itself"
json 'j["a"]["build"] == j["b"]["build"] and j["schema"] == 1' "compare: builds"
json 'len(j["results"]) == 1 and {"size", "median_a", "median_b", "diff_pct", "ci95",
	"proven"} <= set(j["results"][0])' "compare: results"
json 'len(j["results"][0]["samples_a"]) == len(j["results"][0]["samples_b"]) == 8' \
	"compare: pairs"
run compare "$strperf" "$strperf" --mode "$mode" --sizes 64 --duration 0.2 --interval 0.1
expect 0 "compare for people"
prints 'bytes' "compare for people"
run compare "$strperf" "$strperf" -- pipe --mode "$mode" --push nosuch
expect 2 "compare with an unknown module"
says nosuch "compare with an unknown module"

echo "$checks checks, $failures failed"
[ $failures = 0 ]
