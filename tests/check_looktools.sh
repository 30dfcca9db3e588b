#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# strls, strdump, strstat and strconf on a program that runs, is stopped, is killed,
# and on what is no such program.  What they read is tested in check_look.c.
set -eu
: "${top_srcdir:=.}" "${top_builddir:=.}" "${TEST_LAUNCHER:=}" "${USTR_TEST_THREADS_ONLY:=}"
tools=$top_builddir/utils
for tool in strls strdump strstat strconf strtest; do
	if [ ! -x "$tools/$tool" ]; then
		echo "skipped: looking: $tools/$tool was not built"
		exit 77
	fi
done
if [ -n "$USTR_TEST_THREADS_ONLY" ] || grep -q 'USTR_HEAP_MALLOC 1' "$top_builddir/config.h"; then
	echo "skipped: looking: streams of this build do not cross fork, which strtest does"
	exit 77
fi
unset USTREAMS_INSTANCE
work=$(mktemp -d)
USTREAMS_DIR=$work/instances
export USTREAMS_DIR
mkdir "$USTREAMS_DIR"
echo '{}' >"$work/schema"
subject=
finish()
{
	[ -z "$subject" ] || kill -9 "$subject" 2>/dev/null || :
	rm -rf "$work"
}
trap finish EXIT
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
	timeout 60 $TEST_LAUNCHER "$tools/$tool" "$@" >"$work/out" 2>"$work/err" || status=$?
}

fail()
{
	failures=$((failures + 1))
	echo "FAILED: $ran: $*"
	sed 's/^/	| /' "$work/out" "$work/err" | head -n 12
}

# gives STATUS PATTERN...: the last run; each on a line of its output.
gives()
{
	checks=$((checks + 1))
	[ "$status" = "$1" ] || fail "exit status $status, not $1"
	shift
	for pattern; do
		grep -qE -e "$pattern" "$work/out" || fail "no '$pattern' in the output"
	done
	[ ! -s "$work/err" ] || fail "says something on stderr"
}

# refuses STATUS PATTERN: the last run; one line on stderr.
refuses()
{
	checks=$((checks + 1))
	[ "$status" = "$1" ] || fail "exit status $status, not $1"
	grep -qE -e "^$tool: .*$2" "$work/err" || fail "no '$2' on stderr"
	[ "$(wc -l <"$work/err")" = 1 ] || fail "not one line on stderr"
	[ ! -s "$work/out" ] || fail "prints something"
}

# valid JSON, where the program that judges was built.
json()
{
	checks=$((checks + 1))
	[ ! -x "$top_builddir/tests/jsonvalid" ] ||
		"$top_builddir/tests/jsonvalid" "$work/schema" "$work/out" >/dev/null || fail "no JSON"
}

# ---- usage -------------------------------------------------------------------------
for tool in strls strdump strstat; do
	run $tool --version
	gives 0 '^ustreams '
	run $tool --help
	gives 0 '^usage: ' '^exit status: '
	run $tool --no-such-option
	refuses 2 '--no-such-option: no such option; legal: '
	run $tool -I x -yz
	refuses 2 '-y: no such option; legal: '
	run $tool -p
	refuses 2 'its value is missing'
	run $tool -p x
	refuses 2 '-p x: not a process; legal: a number from 1'
	run $tool -p 1 -f x
	refuses 2 'one of -I, -p and -f at most'
	run $tool -p 2147483647
	refuses 2 'No such process'
	run $tool -p $$
	refuses 2 'it has no streams'
	run $tool -I nosuch
	refuses 2 "instance nosuch: there is none; looked for $USTREAMS_DIR/nosuch, .*/dev/shm/"
	run $tool -I ../up
	refuses 2 'not a name'
	run $tool -f "$work/none"
	refuses 2 'No such file'
	run $tool -f "$work"
	refuses 2 'not a regular file'
	: >"$work/empty"
	run $tool -f "$work/empty"
	refuses 2 'too short'
	head -c 100000 /dev/urandom >"$work/noise"
	run $tool -f "$work/noise"
	refuses 2 'does not begin as an arena'
done
run strdump
refuses 2 'which streams\?  legal: -I NAME, -p PID, -f FILE'
run strstat -i 0
refuses 2 '0: not 0.1 to 86400 seconds'
run strstat -s
refuses 2 'only with -i'
run strls a b
refuses 2 'one instance at a time'
run strconf -p $$ echo
refuses 2 'want the number'
run strconf 1
refuses 2 'which streams'

# ---- a program that runs -------------------------------------------------------------
mkfifo "$work/in"
USTREAMS_INSTANCE=shown "$tools/strtest" -i <"$work/in" >"$work/says" 2>&1 &
subject=$!
exec 8>"$work/in"
cat >&8 <<'END'
pipe a b
push a pipemod
push a nullmod
write a "some bytes"
open e "/dev/streams/echo/7"
write a "and more"
END
tries=0
until grep -q 'arrived 18 bytes' "$work/says" || [ $tries -ge 100 ]; do
	tries=$((tries + 1))
	sleep 0.1
done
ran='the subject'
grep -q 'arrived 18 bytes' "$work/says" || { cp "$work/says" "$work/out"; fail "does not come up"; }

run strls
gives 0 '^INSTANCE +PROCESSES' '^shown +[1-9]' ' in use$'
run strls --json
gives 0 '"instance": "shown"'
json
run strls shown
gives 0 '^instance shown: .* 3 streams' ' strtest +live ' ' pipe +to [0-9]+ +nullmod,pipemod +1 ' \
	' pipe .* 18 +2$' ' device +echo/7 '
pipe=$(awk '/nullmod,pipemod/ { print $1 }' "$work/out")
cp "$work/out" "$work/before"
run strls -p "$(awk '$2 == "strtest" { print $1; exit }' "$work/before")"
gives 0 ' device +echo/7 '
run strls --json -I shown
gives 0 '"pipemod"' '"queued_bytes": 18'
json
run strdump -I shown "$pipe"
gives 0 "^stream $pipe: pipe, 2 pushed, 1 open" '^  open as [0-9]+: [0-9]+' '^  stream head$' \
	'^  nullmod$' '^    write .* hiwat [0-9]+ lowat [0-9]+  \[' '^  ~ other end: stream '
run strdump -I shown
gives 0 '^stream .*: echo, .* minor 7' 'arrived 18 bytes 2 blocks, of which read 0 bytes 0 blocks'
run strdump --json -I shown all
gives 0 '"sleepers"' '"hiwat"'
json
run strdump -I shown 4000000000
refuses 1 'no stream 4000000000; there are 3, numbered '
run strdump -I shown zero
refuses 2 'not the number of a stream'
run strstat -I shown
gives 0 '^instance shown: committed ' '^heap: ' '^ +STREAM +DRIVER|^STREAM +DRIVER'
run strstat --json -I shown
gives 0 '"classes"' '"committed"'
json
run strstat -I shown -i 0.2 2
gives 0 '^procs streams '
checks=$((checks + 1))
[ "$(wc -l <"$work/out")" = 3 ] || fail "not a heading and two lines"
run strstat -I shown -i 0.1 -s 1
gives 0 'nullmod,pipemod'
run strstat --json -I shown -i 0.1 1
gives 0 '"trips_per_s"'
json
run strconf -I shown "$pipe"
gives 0 '^nullmod$' '^pipemod$'
run strconf -I shown -c "$pipe"
gives 0 '^2$'
run strconf -I shown -m bufmod "$pipe"
gives 1 '^no$'
run strconf -I shown 4000000000
refuses 2 'no stream 4000000000'

# ---- changing one by its number -------------------------------------------------------------
run strchg -I shown -h bufmod "$pipe"
gives 0
run strconf -I shown "$pipe"
checks=$((checks + 1))
[ "$(tr '\n' ' ' <"$work/out")" = 'bufmod nullmod pipemod ' ] || fail "the module is not on top"
run strchg -I shown -p -l "$pipe"
gives 0 '^nullmod$' '^pipemod$'
run strchg -I shown -p 4000000000
refuses 2 'no process of the instance has a stream of that number'
run strchg -p 1
refuses 2 'looked for in an instance: -I NAME'
run strdump -I shown "$pipe"
gives 0 "^stream $pipe: pipe, 2 pushed, 1 open"

# ---- the examples of the manual pages, with the number of a process that is there --------------
member=$(awk '$2 == "strtest" { print $1; exit }' "$work/before")
for page in strls strdump strstat strtop; do
	[ -x "$tools/$page" ] || continue
	sed -n -e 's/^\.Dl //p' -e 's/^\$ //p' "$top_srcdir/doc/$page.1" | sed 's/\\-/-/g' >"$work/examples"
	[ -s "$work/examples" ] || { ran=$page; fail "its page has no example"; }
	while read -r example; do
		ran="the example of $page(1), $example"
		case $example in
		*jq*) command -v jq >/dev/null || continue ;;
		esac
		checks=$((checks + 1))
		example=$(echo "$example" | sed "s/4711/$member/")
		PATH=$tools:$PATH timeout 30 sh -c "$example" >"$work/out" 2>"$work/err" </dev/null ||
			fail "exit status $?"
		[ ! -s "$work/err" ] || fail "says something on stderr"
	done <"$work/examples"
done

# The environment names it as well.
USTREAMS_INSTANCE=shown
export USTREAMS_INSTANCE
run strdump "$pipe"
gives 0 "^stream $pipe: pipe"
unset USTREAMS_INSTANCE

# ---- cut short, copied, stopped, killed --------------------------------------------------
cp "$USTREAMS_DIR/shown" "$work/copy"
run strls -f "$work/copy"
gives 0 'nullmod,pipemod' ' device +echo/7 '
for bytes in 100 8192 40000 300000; do
	head -c $bytes "$work/copy" >"$work/short"
	for tool in strls strdump strstat; do
		run $tool -f "$work/short"
		refuses 2 'shorter than its header|too short'
	done
done
kill -STOP "$subject"
run strdump -I shown "$pipe"
gives 0 "^stream $pipe: pipe"
kill -CONT "$subject"
"$tools/strstat" -I shown -i 0.1 >"$work/stat" 2>&1 8>&- &
watcher=$!
tries=0
while [ ! -s "$work/stat" ] && [ $tries -lt 300 ]; do
	tries=$((tries + 1))
	sleep 0.1
done
for pid in $(awk '$2 == "strtest" { print $1 }' "$work/before"); do
	kill -9 "$pid" 2>/dev/null || :
done
kill -9 "$subject" 2>/dev/null || :
wait "$subject" 2>/dev/null || :
subject=
tries=0
while kill -0 "$watcher" 2>/dev/null && [ $tries -lt 300 ]; do
	tries=$((tries + 1))
	sleep 0.1
done
ran='strstat -i of a killed program'
checks=$((checks + 1))
cp "$work/stat" "$work/out"
if kill -0 "$watcher" 2>/dev/null; then
	kill -9 "$watcher"
	fail "goes on"
fi
status=0
wait "$watcher" || status=$?
[ $status = 1 ] || fail "exit status $status, not 1"
grep -q 'no process has it any more' "$work/stat" || fail "does not say why"
run strls shown
gives 0 ' dead '

[ $failures = 0 ] || exit 1
echo "$checks checks"
