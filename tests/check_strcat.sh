#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# strcat as its users meet it: whole programs that find each other in an instance,
# bytes and messages both ways, ends, deaths, slow readers, mistakes.
set -eu
: "${top_srcdir:=.}" "${top_builddir:=.}" "${USTR_TEST_THREADS_ONLY:=}"
strcat=$top_builddir/utils/strcat
if [ ! -x "$strcat" ]; then
	echo "skipped: strcat: $strcat was not built"
	exit 77
fi
strcat=$(realpath "$strcat")
page=$(realpath "$top_srcdir/doc/strcat.1")
work=$(mktemp -d)
pids=
# shellcheck disable=SC2086 # a list
finish()
{
	[ -z "$pids" ] || kill -9 $pids 2>/dev/null || :
	rm -rf "$work"
}
trap finish EXIT
cd "$work"
USTREAMS_DIR=$work/instances
export USTREAMS_DIR
mkdir -m 700 instances
unset USTREAMS_INSTANCE
checks=0
failures=0
limit=60
if [ -n "$USTR_TEST_THREADS_ONLY" ] || "$strcat" --version | grep -q heap=malloc; then
	echo "skipped: strcat: programs do not share streams in this build"
	exit 77
fi

fail()
{
	failures=$((failures + 1))
	echo "FAILED: $*"
	[ ! -s err ] || sed 's/^/	| /' err | head -n 5
}

# is WANTED GOT WHAT
is()
{
	checks=$((checks + 1))
	[ "$1" = "$2" ] || fail "$3: '$2', not '$1'"
}

# same FILE FILE WHAT
same()
{
	checks=$((checks + 1))
	cmp -s "$1" "$2" || fail "$3: what arrived differs"
}

# says PATTERN WHAT: one line of the last program on stderr.
says()
{
	checks=$((checks + 1))
	grep -qE "^strcat: .*$1" err || fail "$2: no '$1' on stderr"
	[ "$(wc -l <err)" = 1 ] || fail "$2: not one line on stderr"
}

# run ARGUMENT...: leaves $status, out and err; stdin is that of the caller.
run()
{
	status=0
	timeout $limit "$strcat" "$@" >out 2>err || status=$?
}

# start NAME ARGUMENT...: in the background, with stdin from $from; NAME.out,
# NAME.err, $pid.
from=/dev/null
start()
{
	name=$1
	shift
	: >"$name.out" # not what an earlier one of that name has left
	"$strcat" "$@" >"$name.out" 2>"$name.err" <$from &
	pid=$!
	pids="$pids $pid"
}

# soon COMMAND...: it succeeds within some seconds.
soon()
{
	turns=0
	until "$@"; do
		turns=$((turns + 1))
		[ $turns -lt 400 ] || return 1
		sleep 0.05
	done
}

gone()
{
	! kill -0 "$1" 2>/dev/null
}

# ended PID: its status, in time.
ended()
{
	soon gone "$1" || { fail "a program does not end"; kill -9 "$1"; }
	got=0
	wait "$1" || got=$?
}

mkfifo fifo
head -c 3000000 /dev/urandom >random
: >empty

# ---- one program -------------------------------------------------------------------
for name in fifo echo echo/1 fifo/2; do
	for file in random empty; do
		run $name <$file
		is 0 "$status" "$name <$file"
		same $file out "$name <$file"
	done
done
run -i nullmod,pipemod echo <random
is 0 "$status" "-i"
same random out "-i"
printf 'one\n\ntwo words\nlast' >lines
printf 'one\n\ntwo words\nlast\n' >lines.out
for name in fifo echo; do
	run -q 0.3 -m $name <lines
	is 0 "$status" "-m $name"
	same lines.out out "-m $name"
done
run -m -q 0.3 -b 3 echo <lines
same lines.out out "-m -b 3"
run -b 200 -q 0.3 echo <random
same random out "-b 200"
printf '68 69\n\n00FF0a\n' | run -x echo
is "68 69||00 ff 0a|" "$(tr '\n' '|' <out)" "-x"
printf 'ab\tcd\nno control\n\tempty one\n\t\nafter two empty parts\n' >control
run -m -c echo <control
same control out "-c"
printf '01\t02 03\n' | run -xc echo
is "$(printf '01\t02 03')" "$(cat out)" "-x -c"
awk 'BEGIN { for (i = 0; i < 100; i++) print i; for (i = 0; i < 200000; i++) printf "x"; print "" }' >long
run -m fifo <long
same long out "a line of 200000 bytes"

# ---- two programs, in both orders ------------------------------------------------------
start reader -I one -r fifo
run -I one -w fifo <random
is 0 "$status" "the writer that comes second"
ended $pid
is 0 "$got" "the reader that came first"
same random reader.out "reader first"
from=random
start writer -I one -w fifo
from=/dev/null
run -I one -r fifo
is 0 "$status" "the reader that comes second"
same random out "writer first"
ended $pid
is 0 "$got" "the writer that came first"
USTREAMS_INSTANCE=one start reader -r fifo
USTREAMS_INSTANCE=one run -w fifo <random
ended $pid
same random reader.out "USTREAMS_INSTANCE"

# A hundred megabytes, past a reader that dawdles at first.
head -c 104857600 /dev/zero | tr '\0' 'u' >large
from=large
start writer -I one -w fifo
from=/dev/null
"$strcat" -I one -r fifo 2>err | { sleep 1; cksum; } >out
is "$(cksum <large)" "$(cat out)" "100 MB"
ended $pid
is 0 "$got" "the writer of 100 MB"
rm large

# Two writers: no line is mixed with another one.  A third one holds the FIFO, lest
# the reader ends between them.
start reader -I one -m -r fifo
reader=$pid
mkfifo gate
from=gate
start holder -I one -m -w fifo
from=/dev/null
holder=$pid
exec 9>gate
echo cc >&9
soon grep -qs cc reader.out || fail "the line of the third writer does not come"
yes aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa | head -n 20000 >a
yes bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb | head -n 20000 >b
from=a
start first -I one -m -w fifo
from=/dev/null
first=$pid
from=b
start second -I one -m -w fifo
from=/dev/null
ended $pid
ended $first
exec 9>&-
ended $holder
ended $reader
is "20000 20000 1" "$(grep -cx 'a*' reader.out) $(grep -cx 'b*' reader.out) $(grep -cvx 'a*\|b*' reader.out)" \
	"two writers"

# ---- deaths -----------------------------------------------------------------------------
# The reader is killed while the writer has more to send.
start reader -I two -r fifo
reader=$pid
mkfifo more
{ echo first; exec sleep 20; } >more &
holder=$!
pids="$pids $holder"
from=more
start writer -I two -w fifo
from=/dev/null
soon test -s reader.out # they have met
kill -9 $reader
ended $pid
is 1 "$got" "a writer whose reader was killed"
cp writer.err err
says "the other side has gone" "a writer whose reader was killed"
kill $holder 2>/dev/null || :

# The writer is killed: the reader gets what was sent and the end.
start reader -I two -r fifo
reader=$pid
{ cat lines; sleep 20; } | "$strcat" -I two -w fifo 2>err &
writer=$!
soon test -s reader.out
kill -9 $writer
ended $reader
is 0 "$got" "a reader whose writer was killed"
same lines reader.out "a reader whose writer was killed"

# Ctrl-C: the status says so, the other side sees an ordinary end.
mkfifo held
{ echo first; exec sleep 20; } >held &
pids="$pids $!"
start reader -I three -r fifo
reader=$pid
from=held
start writer -I three -w fifo
from=/dev/null
writer=$pid
soon test -s reader.out
kill -TERM $writer
ended $writer
is 143 "$got" "SIGTERM"
ended $reader
is 0 "$got" "a reader whose writer was terminated"

# Whoever reads stdout wants no more.
yes | { timeout $limit "$strcat" fifo 2>err; echo $? >ended; } | head -n 2 >out
is 0 "$(cat ended)" "| head: status"
is "y y" "$(echo $(cat out))" "| head"
is 0 "$(wc -c <err)" "| head: on stderr"

# ---- mistakes ------------------------------------------------------------------------------
refused()
{
	is 2 "$status" "$2: status"
	says "$1" "$2"
	is 0 "$(wc -c <out)" "$2: on stdout"
}
run
refused "which stream\?; legal: strcat" "no name"
run a b
refused "one stream at a time" "two names"
run -r -w fifo
refused "one way or the other" "-r -w"
run -c fifo
refused "-c goes with -m or -x" "-c alone"
run -r -b 1 -I one fifo
refused "-b is about what is sent" "-r -b"
for band in -1 256 x ''; do
	run -b "$band" echo
	refused "'$band' is no band; legal: 0 to 255" "-b '$band'"
done
run -q x echo
refused "'x' is no time; legal: 0 to" "-q x"
run -b
refused "-b: its value is missing" "-b"
run -z
refused "-z: no such option; legal" "-z"
run --no-such-option
refused "--no-such-option: no such option; legal" "--no-such-option"
run -i nosuch echo
refused "nosuch: no such module" "-i nosuch"
run nosuch
refused "nosuch: no such device or path; legal: a FIFO" "no such device"
run ./nosuch
refused "no such device or path" "no such path"
run "$work/random"
refused "not a stream but an ordinary file; legal" "a file"
run .
refused "not a stream but a directory" "a directory"
run /dev/null
refused "not a stream but a device of the kernel" "/dev/null"
run -r fifo
refused "without an instance nobody can be met here; legal: -I" "no instance"
run -I a/b -r fifo
refused "'a/b' is no name of an instance; legal: 1 to 64" "a name with a slash"
USTREAMS_INSTANCE=a/b run -r fifo
refused "a/b.*legal: 1 to 64" "a name with a slash in the environment"
USTREAMS_ARENA=foo run echo
refused "USTREAMS_ARENA: 'foo' is no size" "USTREAMS_ARENA"
echo zz >zz
run -x echo <zz
is 1 "$status" "-x zz"
says "line 1: no hexadecimal digits" "-x zz"
head -c 300000 /dev/zero | tr '\0' x >long
run -m echo <long
is 1 "$status" "a line that is too long"
says "line 1: 300000 bytes are more than a message may have; legal: at most 262144" "a line that is too long"
"$strcat" echo <lines >/dev/full 2>err && status=0 || status=$?
is 1 "$status" ">/dev/full"
says "standard output: No space left" ">/dev/full"
"$strcat" echo <lines >&- 2>err && status=0 || status=$?
is 1 "$status" ">&-"
says "standard output: Bad file" ">&-"
run echo <&-
is 0 "$status" "stdin closed"

# A full arena: a line, and the instance lives on.
USTREAMS_ARENA=2M run fifo <random
is 0 "$status" "2 MiB of arena"
same random out "2 MiB of arena"

# ---- the examples of the manual page -----------------------------------------------------
PATH=$(dirname "$strcat"):$PATH
eval "$(sed -n 's/^\.Dl //p' "$page")" >out 2>err || fail "the first example"
checks=$((checks + 1))
awk '/^\$ printf/ { sub(/^\$ /, ""); gsub(/\\e/, "\\"); print }' "$page" >commands
is 2 "$(wc -l <commands)" "the examples with printf"
sh commands >out 2>err
printf 'one\n\ntwo words\nctl\tdata\n' >want
same want out "the examples with printf"

# One that is full: a line on the writer's side, and the reader gets what was sent.
USTREAMS_TUNE=hiwat=1000000000 USTREAMS_ARENA=3M start reader -I full -r fifo
reader=$pid
waits()
{
	"$(dirname "$strcat")/strls" -I full 2>&1 | grep -q fifo
}
soon waits
kill -STOP $reader
cat random random random >large
run -I full -w fifo <large
is 1 "$status" "a full arena"
says "the arena is full; a larger USTREAMS_ARENA" "a full arena"
kill -CONT $reader
ended $reader
is 0 "$got" "a full arena: the reader"
head -c "$(wc -c <reader.out)" large | cmp -s - reader.out || fail "a full arena: what arrived is no beginning of what was sent"

run --version
is 0 "$status" "--version"
run --help
is 0 "$status" "--help"

echo "$checks checks, $failures failed"
[ $failures = 0 ]
