#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# usage: experiments.sh [--quick] [--only N] STRPERF NO-CACHE-BUILD [FILE.md]
#
# Run the five source experiments and print what came of each, or, given
# doc/experiments.md, put it there between "<!-- result N -->" and "<!-- end N -->".
# STRPERF is a strperf with caches, NO-CACHE-BUILD a build directory without, or a
# library without, such as build/default/no-cache/.libs/libustreams.so.0.
# In full about half an hour on a machine that does nothing else; --quick takes
# three minutes and proves less.
set -eu
export LC_ALL=C
quick=no only=
while [ $# -gt 0 ]; do
	case $1 in
	--quick) quick=yes ;;
	--only)
		only=${2:-}
		shift
		;;
	-*)
		sed -n 's/^# \(usage: .*\)/\1/p' "$0" >&2
		exit 2
		;;
	*) break ;;
	esac
	shift
done
if [ $# -lt 2 ] || [ $# -gt 3 ]; then
	sed -n 's/^# \(usage: .*\)/\1/p' "$0" >&2
	exit 2
fi
strperf=$1 plain=$2 into=${3:-}
plain_strperf=$plain
preload=
case $plain in
*.so*) preload=$(realpath "$plain") plain_strperf=$strperf ;;
esac
[ ! -d "$plain" ] || plain_strperf=$plain/utils/strperf
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# shown ARGUMENT...: the command as a user would type it, and what it prints.
shown()
{
	echo "experiments: strperf $*" >&2
	printf '    strperf %s\n\n```\n' "$*"
	"$strperf" "$@" 2>"$work/err" || echo "exit status $?"
	sed 's/^/! /' "$work/err"
	printf '```\n\n'
}

# shown_table ARGUMENT...: the same, of strperf compare only its last table.
shown_table()
{
	shown "$@" | awk '/^median of the ratios/ { table = 1 } NR <= 3 || table || /^!/'
}

# field NAME FILE: the value of a column in the last line of a CSV file.
field()
{
	awk -v name="$1" '
	{
		while (match($0, /"[^"]*"/))
			$0 = substr($0, 1, RSTART - 1) "text" substr($0, RSTART + RLENGTH)
		n = split($0, value, ",")
	}
	NR == 1 { for (i = 1; i <= n; i++) if (value[i] == name) at = i }
	END { print value[at] }' "$2"
}

# median: of the numbers on stdin.
median()
{
	sort -g | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}

run_build()
{
	build=$1
	shift
	if [ "$build" = with ]; then
		"$strperf" "$@"
	elif [ -n "$preload" ]; then
		LD_PRELOAD=$preload "$strperf" "$@"
	else
		"$plain_strperf" "$@"
	fi
}

# both ARGUMENT...: a command in both builds, in turns.
both()
{
	for turn in $turns; do
		for build in without with; do
			run_build $build "$@" >"$work/$build.$turn" 2>/dev/null </dev/null || :
		done
	done
}

# row LABEL FORMAT FIELD: medians of a field over the turns, both builds, and the change.
row()
{
	for build in without with; do
		for turn in $turns; do
			field "$3" "$work/$build.$turn"
		done | median >"$work/median.$build"
	done
	awk -v label="$1" -v form="$2" -v a="$(cat "$work/median.without")" \
		-v b="$(cat "$work/median.with")" 'BEGIN {
		printf "| %s | " form " | " form " | %+.0f %% |\n", label, a, b,
			(a > 0 ? (b / a - 1) * 100 : 0) }'
}

# load: processor time and response time of both builds at the same load.
load()
{
	echo "experiments: processor and response time, both builds" >&2
	echo "| 64 bytes, two processes, pipemod | without cache | with cache | change |"
	echo "|---|---|---|---|"
	both pipe --sizes 64 --duration "$pipe_seconds" --interval "$pipe_slice" --csv
	row "as fast as it goes: messages a second" "%.0f" msgs_per_s
	row "... CPU us a message, both sides" "%.3f" cpu_us_per_msg
	both pipe --sizes 64 --rate 100000 --duration "$pipe_seconds" --interval "$pipe_slice" --csv
	row "100000 messages a second: CPU us a message, both sides" "%.3f" cpu_us_per_msg
	row "... median response, us since due" "%.2f" p50_latency
	row "... 99th percentile, us" "%.1f" p99_latency
	both rr -r 64,64 --duration "$pipe_slice" -o THROUGHPUT,P50_LATENCY,P99_LATENCY,SERVICE_DEMAND
	row "request and response: median, us" "%.2f" p50_latency
	row "... 99th percentile, us" "%.1f" p99_latency
	row "... CPU us a transaction, both sides" "%.3f" service_demand
	echo
}

experiment1()
{
	# shellcheck disable=SC2086
	shown compare $builds -- pipe --sizes 1,64,4096 --duration "$compare_seconds" \
		--interval "$compare_slice"
	load
	shown_table compare $builds -- open --duration "$compare_slice"
}

experiment2()
{
	# shellcheck disable=SC2086
	shown fifo $fifo_options
}

experiment3()
{
	# shellcheck disable=SC2086
	shown rr $rr_options \
		-k SUBJECT,THROUGHPUT,CONFIDENCE_LEVEL,CONFIDENCE_INTERVAL,CONFIDENCE_ITERATION,THROUGHPUT_CONFID,P50_LATENCY,P99_LATENCY,P999_LATENCY,LOCAL_CPU_UTIL,LOCAL_SD,REMOTE_SD,OURS_OVER
}

experiment4()
{
	# shellcheck disable=SC2086
	shown mem --sizes 8192 --count 50000 --rounds $mem_rounds
	shown mem --sizes 64,4096 --rounds $mem_rounds
}

experiment5()
{
	# In turns, a b b a: what drifts meets both alike.
	: >"$work/a"
	: >"$work/b"
	for turn in $samples; do
		order='a b'
		[ $((turn % 2)) = 1 ] || order='b a'
		for build in $order; do
			"$strperf" pipe --sizes 64 --duration "$sample_seconds" \
				--interval "$sample_seconds" --raw 2>/dev/null >>"$work/$build"
		done
	done
	(
		cd "$work"
		echo "    strperf pipe --sizes 64 --raw, the same build in both files; strcompare a b"
		echo
		echo '```'
		"$strcompare" a b 2>&1 || echo "exit status $?"
		printf '```\n\n'
	)
}

if [ $quick = yes ]; then
	turns='1 2 3' samples='1 2 3 4 5 6 7 8'
	pipe_seconds=0.5 pipe_slice=0.25 compare_seconds=4 compare_slice=0.2
	fifo_options='--quick --counts 100,1000,5000 --runs 3'
	rr_options='-i 10,3 -I 99,5 --peers unix,pipe --duration 0.3'
	mem_rounds=5 sample_seconds=0.25
else
	turns='1 2 3 4 5 6 7 8 9' samples=$(seq 1 40 | tr '\n' ' ')
	pipe_seconds=4 pipe_slice=1 compare_seconds=60 compare_slice=0.5
	fifo_options=
	rr_options='-i 30,3 -I 99,1 --peers unix,pipe'
	mem_rounds=20 sample_seconds=1
fi
strcompare=$(dirname "$strperf")/strcompare
case $strcompare in /*) ;; *) strcompare=$PWD/$strcompare ;; esac
case $strperf in /*) ;; *) strperf=$PWD/$strperf ;; esac
case $plain in /*) ;; *) plain=$PWD/$plain ;; esac

# Without operands strperf compare takes the library without caches that is there.
builds=
[ -n "$preload" ] || builds="$plain $strperf"

# Paths of this machine do not belong into the document.
tidy()
{
	sed "s,$plain,build/no-cache,g; s,$strperf,build/default,g; s,$PWD/,,g"
}

machine()
{
	printf '%s, %s, %s CPUs; `%s`; load before %s\n\n' "$(uname -sr)" \
		"$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)" "$(nproc)" \
		"$("$strperf" --version)" "$(cut -d' ' -f1-3 /proc/loadavg)"
}

for n in 1 2 3 4 5; do
	[ -z "$only" ] || [ "$only" = $n ] || continue
	{
		machine
		experiment$n
	} | tidy >"$work/result.$n"
	if [ -z "$into" ]; then
		printf '## Experiment %s\n\n' $n
		cat "$work/result.$n"
		continue
	fi
	awk -v n=$n -v file="$work/result.$n" '
	$0 == "<!-- end " n " -->" { skipping = 0 }
	!skipping { print }
	$0 == "<!-- result " n " -->" {
		print ""
		while ((getline line < file) > 0)
			print line
		skipping = 1
	}' "$into" >"$work/new"
	cat "$work/new" >"$into"
done
