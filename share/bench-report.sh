#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# usage: bench-report.sh STRPERF DIRECTORY [SECONDS [OTHER-BUILD]]
#
# Run the commands of strperf that say most, for about so many seconds in all
# (180 unless given), and write DIRECTORY/bench-report.md: tables, pictures where
# gnuplot is there, and what machine it was.  OTHER-BUILD is a build directory or
# program to compare with; without it, the library without caches that belongs to
# STRPERF.  The report is meant to be attached to a bug report.
set -eu
export LC_ALL=C

if [ $# -lt 2 ]; then
	sed -n 's/^# \(usage: .*\)/\1/p' "$0" >&2
	exit 2
fi
strperf=$1 dir=$2 seconds=${3:-180} other=${4:-}
case $seconds in
'' | *[!0-9]* | 0*)
	echo "bench-report.sh: '$seconds' is no whole number of seconds" >&2
	exit 2
	;;
esac
mkdir -p "$dir"
report=$dir/bench-report.md
pictures=no
! command -v gnuplot >/dev/null 2>&1 || pictures=yes

# part PER-CENT DIVISOR: seconds for one of so many slices of a part of the time.
part()
{
	awk -v s="$seconds" -v p="$1" -v d="$2" 'BEGIN { printf "%.3f", s * p / 100 / d }'
}

# section TITLE PICTURE COMMAND...: its output, and its picture unless that is "-".
section()
{
	title=$1 picture=$2
	shift 2
	echo "bench-report: $title" >&2
	printf '## %s\n\n    strperf %s\n\n' "$title" "$*"
	if [ "$picture" != - ] && [ $pictures = yes ]; then
		set -- "$@" --plot "$dir/$picture"
	fi
	echo '```'
	"$strperf" "$@" 2>"$dir/bench-report.err" || status=$?
	sed 's/^/! /' "$dir/bench-report.err"
	printf '```\n\n'
	if [ "$picture" != - ] && [ -s "$dir/$picture" ]; then
		printf '![%s](%s)\n\n' "$title" "$picture"
	fi
	rm -f "$dir/bench-report.err"
}

value_of()
{
	sed -n "s/^$1[^:]*: *//p" "$2" 2>/dev/null | head -n 1
}

host()
{
	echo "# Benchmark report of ustreams"
	echo
	echo "| | |"
	echo "|---|---|"
	echo "| build | $("$strperf" --version) |"
	echo "| settings | ${USTREAMS_TUNE:-none} |"
	echo "| date | $(date -u '+%Y-%m-%d %H:%M') UTC |"
	echo "| system | $(uname -srm) |"
	echo "| processor | $(value_of 'model name' /proc/cpuinfo), $(nproc) allowed |"
	echo "| caches | $(getconf -a 2>/dev/null | awk '/CACHE_SIZE/ && $2 > 0 {
		sub(/_CACHE_SIZE/, "", $1); printf "%s%s %d KiB", sep, $1, $2 / 1024; sep = ", " }') |"
	echo "| memory | $(value_of MemTotal /proc/meminfo), /dev/shm $(df -k /dev/shm 2>/dev/null |
		awk 'NR == 2 { print $2 " kB" }') |"
	echo "| libc | $(getconf GNU_LIBC_VERSION 2>/dev/null || echo unknown) |"
	echo "| load before | $(cut -d' ' -f1-3 /proc/loadavg 2>/dev/null || echo unknown) |"
	echo
}

status=0
{
	host
	# shellcheck disable=SC2086
	section "The buffer cache: without (A) and with (B)" - compare \
		${other:+"$other" "$strperf"} \
		-- pipe --sizes 1,64,4096 --duration "$(part 34 3)" --interval "$(part 34 120)"
	section "A STREAMS pipe beside the kernel's transports" bench-pipe.svg pipe \
		--sizes 1,64,4096 --peers pipe,unix --duration "$(part 25 9)" \
		--interval "$(part 25 90)"
	section "Requests and responses" bench-rr.svg rr --peers pipe,unix \
		-i 10,3 -I 99,5 --duration "$(part 20 30)"
	section "Message blocks beside malloc" bench-mem.svg mem --sizes 64,1024,8192 \
		--rounds "$(part 10 1 | awk '{ print $1 < 60 ? int($1 + 1) : 60 }')"
	section "Opening and closing" bench-open.svg open --duration "$(part 10 8)"
	printf 'load after: %s\n' "$(cut -d' ' -f1-3 /proc/loadavg 2>/dev/null || echo unknown)"
} >"$report.new"
mv "$report.new" "$report"
echo "bench-report: $report" >&2
exit $status
