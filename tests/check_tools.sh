#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# strconf, strchg and strclean on the command line; what they do to streams
# that live on is in tests/conformance/tools.
set -eu
: "${top_srcdir:=.}" "${top_builddir:=.}" "${TEST_LAUNCHER:=}"
tools=$top_builddir/utils
for tool in strconf strchg strclean; do
	if [ ! -x "$tools/$tool" ]; then
		echo "skipped: tools: $tools/$tool was not built"
		exit 77
	fi
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
checks=0
failures=0

# run TOOL ARGUMENT...: leaves $status, $work/out and $work/err.
run()
{
	tool=$1
	ran="$*"
	shift
	status=0
	# shellcheck disable=SC2086 # no word, or several
	$TEST_LAUNCHER "$tools/$tool" "$@" >"$work/out" 2>"$work/err" || status=$?
}

fail()
{
	failures=$((failures + 1))
	echo "FAILED: $ran: $*"
	sed 's/^/	| /' "$work/out" "$work/err" | head -n 5
}

# gives STATUS OUTPUT: the last run; lines of OUTPUT are joined by blanks.
gives()
{
	checks=$((checks + 1))
	[ "$status" = "$1" ] || fail "exit status $status, not $1"
	out=$(tr '\n' ' ' <"$work/out")
	[ "${out% }" = "$2" ] || fail "prints '${out% }', not '$2'"
	[ ! -s "$work/err" ] || fail "says something on stderr"
}

# refuses STATUS PATTERN: the last run; one line on stderr.
refuses()
{
	checks=$((checks + 1))
	[ "$status" = "$1" ] || fail "exit status $status, not $1"
	grep -qE "^$tool: .*$2" "$work/err" || fail "no '$2' on stderr"
	[ "$(wc -l <"$work/err")" = 1 ] || fail "not one line on stderr"
	[ ! -s "$work/out" ] || fail "prints something"
}

for tool in strconf strchg strclean; do
	run $tool --version
	gives 0 "$(cat "$work/out")"
	run $tool --help
	checks=$((checks + 1))
	grep -q '^exit status' "$work/out" || fail "no exit status in the help"
	run $tool -nx
	refuses 2 '-.: no such option; legal'
	run $tool --no-such-option
	refuses 2 '--no-such-option: no such option; legal'
done

# ---- what is printed does not get lost unheard ---------------------------------------
# loses PATTERN COMMAND: with standard output as the last word says.
loses()
{
	pattern=$1
	shift
	ran="$*"
	tool=$1
	shift
	: >"$work/out"
	status=0
	"$tools/$tool" "$@" >/dev/full 2>"$work/err" || status=$?
	refuses 2 "standard output: No space left"
	status=0
	"$tools/$tool" "$@" >&- 2>"$work/err" || status=$?
	refuses 2 "standard output: $pattern"
}
: >"$work/error.01-02"
touch -d '30 days ago' "$work/error.01-02"
loses 'Bad file' strconf echo
loses 'Bad file' strchg -h nullmod -l echo
loses 'Bad file' strclean -n -d "$work"
for tool in strconf strchg strclean autopush; do
	[ ! -x "$tools/$tool" ] || loses 'Bad file' $tool --help
done
rm "$work/error.01-02"
# A reader who has seen enough is no failure.
ran='strconf | true'
status=0
(trap '' PIPE; { sleep 0.2; $TEST_LAUNCHER "$tools/strconf" echo; } 2>"$work/err"; echo $? >"$work/status") | true
status=$(cat "$work/status")
: >"$work/out"
gives 0 ''

# ---- strconf -------------------------------------------------------------------
run strconf echo
gives 0 echo
run strconf /dev/streams/clone/echo
gives 0 echo
run strconf echo/3
gives 0 echo
run strconf -c echo
gives 0 0
run strconf -t echo
gives 1 ''
run strconf -m nullmod echo
gives 1 no
run strconf
refuses 2 'which stream'
run strconf echo nuls
refuses 2 'one stream at a time'
run strconf -c -t echo
refuses 2 'at most'
run strconf -m
refuses 2 '-m: its value is missing'
run strconf nosuch
refuses 2 'nosuch: no such device'
run strconf "$work/nosuch"
refuses 2 'no such device or path'
: >"$work/file"
run strconf "$work/file"
refuses 2 'not a stream but an ordinary file; legal: a device'
run strconf "$work"
refuses 2 'not a stream but a directory'
run strconf /dev/null
refuses 2 'not a stream but a device of the kernel'

# ---- strchg --------------------------------------------------------------------
run strchg -h nullmod -l echo
gives 0 'nullmod echo'
run strchg -h pipemod,nullmod -l echo
gives 0 'nullmod pipemod echo'
run strchg -h nullmod echo
gives 0 ''
run strchg -h nullmod,nosuch echo
refuses 1 'nosuch: no such module'
run strchg -h '' echo
refuses 1 "'': no such module; legal: names of at most 8"
run strchg -p echo
refuses 1 'echo: no module is on the stream'
run strchg -p -a -l echo
gives 0 echo
run strchg -p -u nullmod echo
refuses 1 'nullmod: no such module on the stream'
printf '# two modules\nnullmod\n\n  pipemod # the lower one\n' >"$work/list"
run strchg -f "$work/list" -l echo
gives 0 'nullmod pipemod echo'
echo waytoolongname >"$work/list"
run strchg -f "$work/list" echo
refuses 1 'list: a line is no name of a module; legal: at most 8'
run strchg -f "$work" echo
refuses 1 "$work: Is a directory"
echo nosuch >"$work/list"
run strchg -f "$work/list" echo
refuses 1 'nosuch: no such module'
run strchg -f "$work/nosuch" echo
refuses 1 'No such file'
run strchg echo
refuses 2 'what is to be done\?; legal'
run strchg -p -h nullmod echo
refuses 2 'one thing at a time; legal'
run strchg -a echo
refuses 2 'what is to be done'
run strchg -h nullmod -a echo
refuses 2 '-a and -u go with -p'
run strchg -p -a -u nullmod echo
refuses 2 'not both'
run strchg -h
refuses 2 'its value is missing'
run strchg -p
refuses 2 'which stream'
run strchg -p "$work/file"
refuses 2 'not a stream'

# ---- settings that are refused ---------------------------------------------------
for tool in strconf strchg autopush strerr strlogtrace; do
	case $tool in
	strconf) what=echo ;;
	strchg) what='-p echo' ;;
	autopush) what='-g -M 1 -m 1' ;;
	*) what= ;;
	esac
	# shellcheck disable=SC2086 # several words
	USTREAMS_ARENA=foo run $tool $what
	checks=$((checks + 1))
	[ "$status" != 0 ] || fail "exit status 0"
	grep -q "^$tool: USTREAMS_ARENA: 'foo' is no size; legal: " "$work/err" ||
		fail "does not name USTREAMS_ARENA"
	[ "$(wc -l <"$work/err")" = 1 ] || fail "not one line on stderr"
	# shellcheck disable=SC2086
	USTREAMS_INSTANCE=a/b run $tool $what
	checks=$((checks + 1))
	[ "$status" != 0 ] || fail "exit status 0"
	grep -q "^$tool: .*a/b" "$work/err" || fail "does not name the instance"
	[ "$(wc -l <"$work/err")" = 1 ] || fail "not one line on stderr"
done

# ---- strclean ------------------------------------------------------------------
fill()
{
	rm -rf "$work/log"
	mkdir -p "$work/log/error.01-05"
	for file in error.01-01 error.01-02 error.1-1 error.01-011 error.log xerror.01-01; do
		: >"$work/log/$file"
		touch -d '10 days ago' "$work/log/$file"
	done
	: >"$work/log/error.01-03"
	touch -d '2 days ago' "$work/log/error.01-03"
	touch -d '10 days ago' "$work/log/error.01-05"
}
left()
{
	checks=$((checks + 1))
	found=$(cd "$work/log" && echo *)
	[ "$found" = "$1" ] || fail "left is '$found', not '$1'"
}
others='error.01-011 error.01-05 error.1-1 error.log xerror.01-01'

fill
run strclean -d "$work/log"
gives 0 ''
left "error.01-011 error.01-03 error.01-05 error.1-1 error.log xerror.01-01"
fill
run strclean -d "$work/log" -a 1
left "$others"
fill
run strclean -d "$work/log" -a 30
left "error.01-01 error.01-011 error.01-02 error.01-03 error.01-05 error.1-1 error.log xerror.01-01"
run strclean -n -d "$work/log" -a 5
checks=$((checks + 1))
[ "$(sort "$work/out" | tr '\n' ' ')" = 'error.01-01 error.01-02 ' ] || fail "-n"
[ -e "$work/log/error.01-01" ] || fail "-n removes"
USTREAMS_LOGDIR=$work/log run strclean -a 0
left "$others"
run strclean -d "$work/nosuch"
refuses 2 'No such file'
run strclean -a x
refuses 2 'not a number of days; legal'
run strclean -a -1
refuses 2 'not a number of days; legal'
run strclean file
refuses 2 'no operand is wanted'

# ---- the examples of the manual pages -------------------------------------------
if [ -x "$tools/strtest" ]; then
	for page in strconf strchg; do
		sed -n '/^pipe a b/,/^\.Ed/p' "$top_srcdir/doc/$page.1" | grep -v '^\.Ed' >"$work/x.st"
		run strtest "$work/x.st"
		checks=$((checks + 1))
		[ "$status" = 0 ] || fail "the example of $page(1)"
	done
fi
for page in strconf strchg; do
	sed -n 's/^\.Dl //p' "$top_srcdir/doc/$page.1" >"$work/commands"
	while read -r command arguments; do
		# shellcheck disable=SC2086 # words of an example
		run "$command" $arguments
		checks=$((checks + 1))
		[ "$status" = 0 ] || fail "the example of $page(1)"
	done <"$work/commands"
done

echo "$checks checks, $failures failures"
[ $failures = 0 ]
