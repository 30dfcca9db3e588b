#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What a tool does not take it refuses in one line, also if the word has a newline or an
# escape sequence in it, as a name somebody else has chosen may have.
set -eu
: "${top_builddir:=.}" "${TEST_LAUNCHER:=}"
tools=$top_builddir/utils
if [ ! -x "$tools/strls" ] || [ ! -x "$tools/strerr" ]; then
	echo "skipped: one line: the tools were not built"
	exit 77
fi
unset USTREAMS_INSTANCE
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
USTREAMS_DIR=$work
export USTREAMS_DIR
mkfifo "$work/fifo"
word=$(printf 'a\033[31mb\nc\177')
checks=0
failures=0

# one COMMAND...: it is refused
one()
{
	status=0
	# shellcheck disable=SC2086 # no word, or several
	timeout 45 $TEST_LAUNCHER "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
	checks=$((checks + 1))
	if [ "$status" = 0 ] || [ "$status" -gt 2 ] || [ -s "$work/out" ] ||
		[ "$(wc -l <"$work/err")" != 1 ] ||
		LC_ALL=C tr -d "\n" <"$work/err" | LC_ALL=C grep -q "[[:cntrl:]]"; then
		failures=$((failures + 1))
		echo "FAILED: $(echo "$*" | LC_ALL=C tr '[:cntrl:]' '?'): exit status $status"
		cat -v "$work/out" "$work/err" | sed 's/^/	| /' | head -n 4
	fi
}

for tool in strls strdump strstat strtop strtap strconf strchg strcat strclean strerr strlogtrace \
	autopush strcompare strtest "strperf read" "strperf write" "strperf pipe" strperf; do
	[ -x "$tools/${tool% *}" ] || continue
	for option in --no-such -% -I --instance -p -f -n; do
		# shellcheck disable=SC2086 # a tool and a command of it
		case "$tool$option" in
		strtest-p | strtest-f | strtest-n) ;; # not one, and not an operand's business
		*) one "$tools/"$tool "$option$word" ;;
		esac
	done
done
for end in read write; do # at once: there is nobody to be waited for
	one "$tools/strperf" $end -I x --push nosuch --wait 50 "$work/fifo"
	one "$tools/strperf" $end -I x --push pipemod,nosuch --wait 50 fifo/1
	one "$tools/strperf" $end -I x --csv --json "$work/fifo"
done
one "$tools/strperf" pipe --json --raw
one "$tools/strperf" rr --raw --csv
for tool in strls strconf strcat "strchg -p" "strtest" "strcompare" "strperf"; do
	# shellcheck disable=SC2086
	one "$tools/"$tool "$word"
done
for end in read write; do
	one "$tools/strperf" $end "$word"
	one "$tools/strperf" $end -I x "$word/no/such"
	one "$tools/strperf" $end -I x --push "$word" nowhere
	one "$tools/strperf" $end -I x --wait "$word" nowhere
done
one "$tools/strdump" -f "$word"
one "$tools/strtap" -r "$word"
one "$tools/strcat" -I x -i "$word" echo
one "$tools/strchg" -h "$word" echo
[ "$failures" = 0 ] || exit 1
echo "$checks checks"
