#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The tools that look, on instances that the dead left behind and noise got into
# (stress_noise.c makes them): each ends by itself, soon, of no signal, with a status its
# page has; it prints what it could read, or one line that says why it could not.
# 100 instances (USTR_TOOLNOISE_COUNT), but no longer than 40 s (USTR_STRESS_SECONDS).
set -eu
: "${top_builddir:=.}" "${TEST_LAUNCHER:=}" "${USTR_TEST_THREADS_ONLY:=}"
: "${USTR_TOOLNOISE_COUNT:=100}" "${USTR_STRESS_SECONDS:=40}"
tools=$top_builddir/utils
for tool in strls strdump strstat strconf strtap strclean; do
	if [ ! -x "$tools/$tool" ]; then
		echo "skipped: noise: $tools/$tool was not built"
		exit 77
	fi
done
if [ ! -x "$top_builddir/tests/stress_noise" ] || [ -n "$USTR_TEST_THREADS_ONLY" ] ||
	grep -q 'USTR_HEAP_MALLOC 1' "$top_builddir/config.h"; then
	echo "skipped: noise: this build makes no instances"
	exit 77
fi
unset USTREAMS_INSTANCE USTREAMS_GROUP
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo '{}' >"$work/schema"
checks=0
failures=0

# keep REASON: the last run, with the file it was about.
keep()
{
	failures=$((failures + 1))
	kept=${TMPDIR:-/tmp}/toolnoise.$$.$case
	cp "$work/$case/noise" "$kept"
	echo "FAILED: case $case, $ran: $1; the file: $kept"
	cat -v "$work/err" | head -n 5 | sed 's/^/	| /'
}

# run TOOL ARGUMENT...
run()
{
	tool=$1
	ran="$*"
	shift
	status=0
	# shellcheck disable=SC2086 # no word, or several
	timeout -s KILL 10 $TEST_LAUNCHER "$tools/$tool" "$@" >"$work/out" 2>"$work/err" </dev/null ||
		status=$?
	checks=$((checks + 1))
	case $status in
	0 | 1 | 2) ;;
	137) keep 'does not end' ;;
	*) keep "exit status $status" ;;
	esac
	[ "$(wc -l <"$work/err")" -le 1 ] || keep "more than one line on stderr"
	[ "$status" != 2 ] || grep -q "^$tool: .*[^ ]" "$work/err" || keep "says nothing"
	# A name in there may be anything; what is printed has no control characters.
	! LC_ALL=C tr -d '\n' <"$work/out" | LC_ALL=C grep -q '[[:cntrl:]]' ||
		keep "prints control characters"
}

json()
{
	[ "$status" = 2 ] || [ ! -s "$work/out" ] || [ ! -x "$top_builddir/tests/jsonvalid" ] ||
		"$top_builddir/tests/jsonvalid" "$work/schema" "$work/out" >/dev/null || keep "no JSON"
}

"$top_builddir/tests/stress_noise" leave "$work" "$USTR_TOOLNOISE_COUNT" >/dev/null
case=0
end=$(($(date +%s) + USTR_STRESS_SECONDS))
while [ "$case" -le "$USTR_TOOLNOISE_COUNT" ] && [ "$(date +%s)" -lt "$end" ]; do
	file=$work/$case/noise
	before=$(cksum <"$file")
	run strls -f "$file"
	run strls --json -f "$file"
	json
	run strdump -f "$file" all
	run strdump --json -f "$file" all
	json
	run strstat -f "$file"
	run strstat --json -f "$file"
	json
	run strtap -1 -f "$file"
	run strconf -f "$file" 3
	[ ! -x "$tools/strtop" ] || run strtop -b -d 0.1 -f "$file"
	USTREAMS_DIR=$work/$case
	export USTREAMS_DIR
	run strls noise
	checks=$((checks + 1))
	[ "$(cksum <"$file")" = "$before" ] || keep "the file was changed"
	if [ "$case" = 0 ]; then
		[ "$status" = 0 ] && grep -q 'bufmod' "$work/out" || keep "what is whole is not shown"
	fi
	run strclean -f -i noise
	[ ! -e "$file" ] || keep "cannot be removed"
	case=$((case + 1))
done
[ "$failures" = 0 ] || exit 1
echo "$checks checks of $((case - 1)) damaged instances"
