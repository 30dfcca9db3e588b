#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The commands of strperf beside pipe and compare, as their users meet them: bad
# options, exit statuses, names of outputs, JSON, CSV, pictures, Ctrl-C, and the
# examples of their manual pages.
set -eu
: "${top_builddir:=.}" "${top_srcdir:=.}"
# shellcheck source=tests/strperf_lib.sh
. "$top_srcdir/tests/strperf_lib.sh"

# envelope COMMAND KEY...: what every object has, and these keys in each result.
envelope()
{
	command=$1
	shift
	json 'j["tool"] == "strperf" and j["command"] == "'"$command"'" and j["schema"] == 1
		and {"version", "build", "tune", "host", "config", "interrupted", "notes"} <= set(j)' \
		"$command: envelope"
	json 'len(r) > 0 and all({"metric", "better", "samples", "subject"} <= set(x) for x in r)' \
		"$command: samples"
	for key; do
		json 'all("'"$key"'" in x for x in r)' "$command: $key"
	done
}

mode=process
run --version
if grep -q heap=malloc "$work/out" || [ -n "${USTR_TEST_THREADS_ONLY:-}" ]; then
	mode=thread
fi
rr="rr --mode $mode --duration 0.05"
fifo="fifo --mode $mode"

# ---- what they refuse ---------------------------------------------------------
for value in 1 1, ,1 0,1 1,0 1,x 1,1048577 1,1,1; do
	refuses --request rr -r "$value"
done
for value in 3 2,3 10,2 3,10 1001,3 x,3; do
	refuses --iterations rr -i "$value"
done
for value in 79 100 99.95 x 99,0 99,101 99, 99,x; do
	refuses --confidence rr -I "$value"
done
refuses none rr --mode $mode --peers none
refuses --peers rr --peers tcp
refuses FROB rr -k THROUGHPUT,FROB
says P999_LATENCY "rr -k lists the outputs"
refuses FROB mem -o FROB
refuses --count mem --count 0
refuses --count mem --sizes 1048576 --count 100000000
refuses --rounds mem --rounds 1001
refuses --sizes mem --sizes 4..1
refuses --counts fifo --counts 0
refuses --runs fifo --runs 1001
refuses --axis scale --axis frob
refuses --streams scale --streams 0
refuses --plot open --plot picture.jpg
refuses --rate pipe --rate 0
refuses --rate pipe --rate 100 --writers 2
refuses --writers pipe --writers 9
refuses --readers pipe --readers 0
refuses --sizes pipe --sizes 1..2000000
refuses --sizes pipe --sizes 64..1
for command in rr mem fifo open scale; do
	refuses --frob $command --frob
	run $command operand
	expect 2 "$command with an operand"
	run $command --help
	expect 0 "$command --help"
	prints 'outputs, for -k and -o' "$command --help"
	run $command --version
	prints '^ustreams ' "$command --version"
done

# ---- settings without a rebuild --------------------------------------------------
tune()
{
	USTREAMS_TUNE=$1
	export USTREAMS_TUNE
	shift
	run "$@"
	unset USTREAMS_TUNE
}
for value in fastbuf=64 mag=1 mag=33 mag=x mag nosuch=1 mag=8,,; do
	tune "$value" pipe --mode $mode --duration 0.05
	expect 2 "USTREAMS_TUNE=$value"
	says "legal: mag=2..32" "USTREAMS_TUNE=$value"
done
for value in hiwat=100,lowat=200 lowat=100000 stlowat=1,sthiwat=0; do
	tune "$value" pipe --mode $mode --duration 0.05
	expect 2 "USTREAMS_TUNE=$value"
	says "is above hiwat, which is" "USTREAMS_TUNE=$value"
done
tune hiwat=100 pipe --mode $mode --duration 0.1 --sizes 64 --json
expect 0 "hiwat below the usual lowat"
json 'j["config"]["hiwat"] == 100' "hiwat alone"
for value in foo 5X '' -1 99999999999G; do
	USTREAMS_ARENA=$value run pipe --mode $mode --duration 0.05
	expect 2 "USTREAMS_ARENA=$value"
	says "USTREAMS_ARENA: '$value' is no size; legal: bytes, with a suffix" \
		"USTREAMS_ARENA=$value"
done
USTREAMS_ARENA=1K run mem
expect 2 "USTREAMS_ARENA=1K"
says "USTREAMS_ARENA: 1K is too little to begin with; legal: " "USTREAMS_ARENA=1K"
tune mag=4,hiwat=100000 pipe --mode $mode --duration 0.1 --sizes 64 --json
expect 0 "USTREAMS_TUNE"
json 'j["tune"] == "mag=4,hiwat=100000" and j["config"]["hiwat"] == 100000' "tune in results"
tune mag=2 mem --sizes 64 --rounds 3 --count 1000 --json
expect 0 "mem with small magazines"
json 'not j["build"]["buffer_cache"] or min(x["hit_rate"] for x in r
	if x["test"] == "alloc" and x["subject"] == "allocb") < 60' "small magazines hit less"

# ---- rr ------------------------------------------------------------------------------
# shellcheck disable=SC2086
run $rr --json -r 16,100 --peers pipe,unix
expect 0 "rr"
envelope rr throughput p50_latency p999_latency local_sd confidence_iteration histogram
json 'len(r) == 3 and all(x["bad"] == 0 and x["request_size"] == 16
	and x["response_size"] == 100 and len(x["samples"]) == 5 for x in r)' "rr: five iterations"
json 'all(x["min_latency"] <= x["p50_latency"] <= x["p99_latency"] <= x["max_latency"]
	for x in r)' "rr: latencies"
json 'all(sum(b[2] for b in x["histogram"]) == x["transactions"] for x in r)' \
	"rr: the histogram has all transactions"
json 'r[0]["ours_over"] is None and r[1]["ours_over"] > 0' "rr: ratios"
# shellcheck disable=SC2086
run $rr -i 4,3 -I 99.9,0.01 -k THROUGHPUT,confidence_level,CONFIDENCE_ITERATION,THROUGHPUT_CONFID
expect 0 "rr -k"
prints '^THROUGHPUT=[0-9.]+$' "rr -k"
prints '^CONFIDENCE_LEVEL=99.900$' "rr -k"
prints '^CONFIDENCE_ITERATION=4$' "rr -k: no more than max"
prints '^THROUGHPUT_CONFID=[0-9.]+$' "rr -k"
says "was not reached" "rr -k: the target"
[ "$(wc -l <"$work/out")" = 4 ] && pass || fail "rr -k: not four lines"
# shellcheck disable=SC2086
run $rr -i 9,3 -I 80,100 -o SUBJECT,CONFIDENCE_ITERATION,CONFIDENCE_REACHED
expect 0 "rr -o"
prints '^ustreams,[3-9],[01]$' "rr -o"
# shellcheck disable=SC2086
run $rr --io msg --poll-each --histogram
expect 0 "rr --histogram"
prints '^ustreams, us$' "rr --histogram"
# shellcheck disable=SC2086
run $rr --raw
expect 0 "rr --raw"
prints '^[0-9.]+ ustreams ' "rr --raw"

# ---- mem, open, scale, fifo --------------------------------------------------------------
run mem --json --sizes 1,64 --rounds 2 --count 500
expect 0 "mem"
envelope mem test size count ns_per_block ns_lo ns_hi total_s hit_rate
json 'all(x["ns_per_block"] > 0 for x in r) and {"alloc", "copy", "free", "pair", "across",
	"dupmsg", "copymsg", "pullupmsg", "three"} == {x["test"] for x in r}' "mem: tests"
json 'any(n.startswith("fairness: ") for n in j["notes"])' "mem: fairness"
run open --json --duration 0.1
expect 0 "open"
envelope open per_s us_per_op cpu_us_per_op bytes_per_stream
json 'all(x["per_s"] > 0 for x in r) and r[0]["bytes_per_stream"] > 0' "open: figures"
run scale --json --duration 0.1 --axis modules
expect 0 "scale"
envelope scale modules size writers streams ns_per_msg fit_ns
json '[x["modules"] for x in r] == [0, 1, 2, 4, 8, 16, 32, 64]' "scale: modules"
json 'any("ns a module" in n for n in j["notes"])' "scale: cost per module"
run scale --axis streams --streams 100 --duration 0.1
expect 0 "scale of streams"
prints '^streams +0 +64 +1 +100 ' "scale of streams"
(
	ulimit -n 256
	run scale --axis streams --streams 1000 --duration 0.1
	expect 0 "scale within a limit of descriptors"
	[ "$(id -u)" = 0 ] || prints 'RLIMIT_NOFILE' "scale within a limit of descriptors"
	echo "$failures" >"$work/failures"
)
failures=$(cat "$work/failures")
# shellcheck disable=SC2086
run scale --json --axis writers --duration 0.5
if [ $mode = process ]; then
	expect 0 "scale of writers"
	json '[x["writers"] for x in r] == [1, 2, 3, 4, 6, 8]' "scale: writers"
fi
# shellcheck disable=SC2086
run $fifo --sizes 64,4096 --counts 10,100 --runs 3 --json
expect 0 "fifo"
envelope fifo size count us us_median us_stddev over_ours
json 'len(r) == 16 and all(len(x["samples"]) == 3 for x in r)' "fifo: cells"
json 'all(v == "passed" for k, v in j["config"].items() if k.startswith("call_"))
	and len([k for k in j["config"] if k.startswith("call_")]) == 6' "fifo: calls"
# shellcheck disable=SC2086
run $fifo --quick --sizes 64 --counts 10,100 --peers fifo
expect 0 "fifo --quick"
prints '^read +passed$' "fifo: calls"
prints '^ +64 +[0-9]+ +[0-9]+$' "fifo: the matrix"

# ---- pipe: rate, several writers and readers ---------------------------------------------
began=$(date +%s)
run pipe --mode $mode --duration 0.3 --interval 0.1 --sizes 64 --rate 5000 --json
took=$(($(date +%s) - began))
expect 0 "pipe --rate"
json 'all(x["lost"] == 0 and 0 <= x["min_latency"] <= x["p99_latency"] <= x["max_latency"]
	for x in r) and j["config"]["rate"] == 5000' "pipe --rate: latencies"
json "all(x['sent'] < 5000 * (1 + $took) for x in r)" "pipe --rate: no more than asked for"
run pipe --mode $mode --duration 0.2 --interval 0.1 --sizes 1,64,4096 --writers 3 --readers 2 \
	--json --peers pipe,seqpacket,mq,unix
expect 0 "writers and readers"
json 'all(x["lost"] == 0 and x["bad"] == 0 and x["read"] > 0 for x in r)' \
	"writers and readers: nothing lost"
json 'len(j["skipped"]) == 3' "a byte stream that would tear is skipped"
run pipe --mode $mode --duration 0.05 --sizes 1..10 --csv
expect 0 "a sweep"
[ "$(wc -l <"$work/out")" = 6 ] && pass || fail "a sweep: not five sizes"

# ---- standard output -------------------------------------------------------------------------
# full COMMAND...: what a full disk does to the results.
full()
{
	status=0
	"$@" >/dev/full 2>"$work/err" || status=$?
	expect 1 "$* on a full disk"
	says "could not be written" "$* on a full disk"
}
full "$strperf" mem --sizes 64 --rounds 1 --count 100
full "$strperf" --help
printf '1\n2\n3\n' >"$work/numbers"
full "$strperf" compare "$work/numbers" "$work/numbers"
{
	status=0
	sleep 0.1
	"$strperf" mem --sizes 64 --rounds 2 --count 100 2>"$work/err" || status=$?
	echo "$status" >"$work/status"
} | :
status=$(cat "$work/status")
expect 0 "a reader that left"
if [ -s "$work/err" ]; then fail "complaint about a reader that left"; else pass; fi

# ---- the modules that can be pushed -----------------------------------------------------------
run pipe --mode $mode --push frob
for module in pipemod nullmod bufmod srvmod testmod; do
	says $module "an unknown module: the legal ones"
done

# ---- pictures ------------------------------------------------------------------------------
# picture WHAT LABEL ARGUMENT...: the run draws an SVG that parses and has the label.
picture()
{
	what=$1 label=$2
	shift 2
	rm -f "$work/p.svg"
	run "$@" --plot "$work/p.svg"
	expect 0 "$what: picture"
	[ -n "$python" ] || return 0
	if "$python" -c 'import sys, xml.etree.ElementTree as e
text = "".join(e.parse(sys.argv[1]).getroot().itertext())
sys.exit(0 if sys.argv[2] in text else 1)' "$work/p.svg" "$label" 2>>"$work/err"; then
		pass
	else
		fail "$what: the picture does not parse or lacks '$label'"
	fi
}
if command -v gnuplot >/dev/null; then
	# shellcheck disable=SC2086
	picture rr ustreams $rr
	picture mem "bytes of a block" mem --sizes 64,128 --rounds 2 --count 500
	picture open kernel_pipe open --duration 0.1
	picture scale "ns a message" scale --duration 0.1 --axis modules
	# shellcheck disable=SC2086
	picture fifo 4096 $fifo --no-tests --sizes 64,4096 --counts 10 --runs 2
	picture "pipe by size" "bytes of a message" \
		pipe --mode $mode --duration 0.1 --sizes 1,64
	picture "pipe --rate" ustreams \
		pipe --mode $mode --duration 0.2 --sizes 64 --rate 5000
	refuses --plot mem --json --plot "$work/nowhere/p.svg"
	refuses --plot open --plot /dev/full/p.png
	# A gnuplot that fails leaves the results alone.
	mkdir "$work/bin"
	printf '#!/bin/sh\nexec cat\n' >"$work/bin/gnuplot"
	chmod +x "$work/bin/gnuplot"
	PATH=$work/bin:$PATH run mem --sizes 64 --rounds 2 --count 100 --csv \
		--plot "$work/none.svg"
	says "could not draw" "gnuplot fails"
	if grep -q "^set " "$work/out"; then fail "gnuplot writes on stdout"; else pass; fi
else
	echo "gnuplot is missing: no pictures"
fi

# ---- Ctrl-C ----------------------------------------------------------------------------------
# shellcheck disable=SC2086
for command in "rr --mode $mode" "mem --rounds 1000" "open --duration 60" \
	"scale --duration 60 --axis modules" "fifo --mode $mode"; do
	"$strperf" $command --json >"$work/out" 2>"$work/err" &
	pid=$!
	sleep 1.5
	kill -INT $pid || fail "interrupted: $command: it had ended"
	status=0
	wait $pid || status=$?
	expect 130 "interrupted: $command"
	json 'j["interrupted"] is True' "interrupted: $command: valid JSON"
done

# ---- the examples of the manual pages ----------------------------------------------------------
# Every ".Dl strperf" line, made short: the last of two equal options counts.
examples()
{
	sed -n 's/^\.Dl \(env [A-Z_]*=[^ ]* \)*strperf \(.*\)/\1 \2/p' "$top_srcdir/doc/strperf-$1.1" |
		sed 's/\\-/-/g; s/  *-- */ --/g'
}
cd "$work"
case $strperf in /*) ;; *) strperf=$OLDPWD/$strperf ;; esac
case $top_srcdir in /*) ;; *) top_srcdir=$OLDPWD/$top_srcdir ;; esac
for page in rr mem open scale fifo; do
	case $page in
	rr) short="--mode $mode --duration 0.05" ;;
	mem) short="--count 200 --rounds 2" ;;
	open | scale) short="--duration 0.1" ;;
	fifo) short="--mode $mode --runs 2 --counts 10" ;;
	esac
	examples $page >"$work/examples"
	[ -s "$work/examples" ] || fail "strperf-$page.1: no examples"
	while read -r line; do
		setting=
		case $line in
		env*) setting=${line#env } line=${setting#* } setting=${setting%% *} ;;
		esac
		case $line in
		*streams*) ;;
		scale) line="$line --streams 100" ;;
		esac
		status=0
		# shellcheck disable=SC2086
		env $setting "$strperf" $line $short >"$work/out" 2>"$work/err" </dev/null || status=$?
		expect 0 "strperf-$page.1: $line"
	done <"$work/examples"
done

echo "$checks checks, $failures failed"
[ $failures = 0 ]
