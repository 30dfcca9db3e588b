#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# strtest as its users meet it: the language, mistakes in scripts with their
# places, exit statuses, what a case that fails shows, options.
set -eu
: "${top_srcdir:=.}" "${top_builddir:=.}" "${TEST_LAUNCHER:=}" "${USTR_TEST_THREADS_ONLY:=}"
strtest=${STRTEST:-$top_builddir/utils/strtest}

if [ ! -x "$strtest" ]; then
	echo "skipped: strtest: $strtest was not built"
	exit 77
fi
STRTEST_SLOW=${CK_TIMEOUT_MULTIPLIER:-1}
export STRTEST_SLOW
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
TMPDIR=$work
export TMPDIR
checks=0
failures=0

pass()
{
	checks=$((checks + 1))
}

# fail WHAT: and show what the last run said.
fail()
{
	checks=$((checks + 1))
	failures=$((failures + 1))
	echo "FAILED: $*"
	sed 's/^/	| /' "$work/script.st" | head -n 12
	sed 's/^/	> /' "$work/out" "$work/err" | head -n 20
}

# run ARGUMENT...: leaves $status, $work/out and $work/err.
run()
{
	status=0
	# shellcheck disable=SC2086 # no word, or several
	$TEST_LAUNCHER "$strtest" "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
}

# script [OPTION...]: run the text on stdin.
script()
{
	cat >"$work/script.st"
	run "$@" "$work/script.st"
}

# expect STATUS WHAT
expect()
{
	if [ "$status" = "$1" ]; then
		pass
	else
		fail "$2: exit status $status, not $1"
	fi
}

# prints PATTERN WHAT: stdout has the line.
prints()
{
	if grep -qE -e "$1" "$work/out"; then
		pass
	else
		fail "$2: no '$1' on stdout"
	fi
}

# good WHAT: the text on stdin passes.
good()
{
	what=$1
	shift
	script "$@"
	expect 0 "$what"
	if grep -q '^not ok' "$work/out"; then
		fail "$what: a case failed"
	else
		pass
	fi
}

# bad WHAT EXPECTED CAME: the text on stdin fails, and says so.
bad()
{
	script
	expect 1 "$1"
	prints '^not ok 1 - ' "$1"
	prints "^#   expected: .*$2" "$1"
	prints "^#   came:     .*$3" "$1"
}

# broken LINE:COLUMN TEXT: the text on stdin is refused before anything runs.
broken()
{
	script
	expect 2 "a mistake at $1"
	if grep -q "^strtest: $work/script.st:$1: .*$2" "$work/err"; then
		pass
	else
		fail "a mistake at $1: no '$2'"
	fi
	if [ "$(wc -l <"$work/err")" = 1 ] && [ ! -s "$work/out" ]; then
		pass
	else
		fail "a mistake at $1: not exactly one line, on stderr"
	fi
}

# stops LINE:COLUMN TEXT: the mistake shows only when the script runs.
stops()
{
	script
	expect 2 "a mistake at run time at $1"
	if grep -q "^strtest: $work/script.st:$1: .*$2" "$work/err"; then
		pass
	else
		fail "a mistake at run time at $1: no '$2'"
	fi
	prints '^1\.\.[0-9]+$' "a mistake at run time at $1"
}

: >"$work/script.st"
run --version
expect 0 "--version"
forks=yes
if grep -q heap=malloc "$work/out" || [ -n "$USTR_TEST_THREADS_ONLY" ]; then
	forks=no
fi

# ---- the language ----------------------------------------------------------------------
good "values" <<'END'
check 1+2*3 == 7
check (1+2)*3 == 9
check 7 - 2 - 1 == 4
check 0x10|1 == 17
check ~0 == -1
check 2K == 2048
check 1M == 1024*1024
check 3ms == 3000
check 2s == 2000000
check 5us == 5
check 'A' == 65
check "ab" + "cd" == "abcd"
check "\n\t\r\0\e\a\b\x41\"\\\$" == hex("0a 09 0d 00 1b 07 08 41 22 5c 24")
set name = "x"
set number = 5
check "$name${name}y$number" == "xxy5"
check len("abc") == 3
check fill("ab", 5) == "ababa"
check seq(3) == hex("000102")
check byte(1, 255) == hex("01ff")
check int(1) == hex("01000000")
check long(-1) == hex("ffffffffffffffff")
check sub("abcdef", 2, 3) == "cde"
check num(int(-5)) == -5
check num(byte(200)) == 200
check tunable(nstrpush) == 64
check uid() >= 0
check EIO == EIO
check EIO != EAGAIN
check 1 < 2; check 2 > 1; check 2 <= 2; check 2 >= 2; check 1 != 2
set e = EPROTO
check "$e" == "EPROTO"
END

printf 'data\000more' >"$work/file.bin"
good "file data, in the directory of the script" <<'END'
pipe a b
write a file("file.bin")
read b 100 -> hex("64617461 00 6d6f7265")
check len(file("file.bin")) == 9
END

good "structure" <<'END'
proc send $stream $text {
	write $stream $text
	set sent = $text
}
proc twice $text { call both $text; call both $text }
proc both $text { write a $text; read b 10 -> $text }
case "repeat, foreach, if" {
	pipe a b O_NONBLOCK
	repeat 3 { write a "x" }
	read b 10 -> "xxx"
	foreach t in "1" "22" "333" { write a $t; read b 10 -> $t }
	foreach n in 1 2 { if $n == 1 { write a "one" } else { write a "other" } }
	read b 10 -> "oneother"
	repeat 0 { read b 1 }
	if heap=nonsense { read b 1 }
	if len("x") == 1 { write a "y" }
	read b 1 -> "y"
}
case "procedures" {
	pipe a b O_NONBLOCK
	call twice "hello"
	set sent = "nothing"
	call send fd(a) "bye"
	check $sent == "bye"
	read b 10 -> "bye"
}
case "names" { foreach n in RMSGN 0x10 EIO { set all = "$n" }; check $all == "EIO" }
foreach n in RMSGN|RPROTDIS { case "as it is written: $n" { check $n == 10; check "$n" == "RMSGN|RPROTDIS" } }
case "a joined line" {
	pipe a b \
		O_NONBLOCK
	read a 1 → EAGAIN
}
END

echo 'proc hello { write a "hello" }' >"$work/common.sti"
good "include" <<'END'
include "common.sti"
case "included" { pipe a b; call hello; read b 10 -> "hello" }
END

good "eventually" <<'END'
pipe a b O_NONBLOCK
thread later { sleep 20ms; write b "x" }
eventually { read a 10 -> "x" } within 5s
END

good "variables of a case end with it" <<'END'
set x = 1
case "one" { set x = 2; check $x == 2 }
case "two" { check $x == 1 }
END

good "results" <<'END'
pipe a b O_NONBLOCK
read a 1 -> EAGAIN or 0
write a "abc" -> ?sent
check $sent == 3
read b 2 -> ?got data=?data
check $got == 2
check $data == "ab"
read b 2 -> any
read b 2 -> ?failed
check $failed == -1
read b 2 -> EAGAIN within 5s
poll b IN 10ms -> 0 after 10ms within 5s
END

good "names of descriptors" <<'END'
pipe a b O_NONBLOCK
write fd(a) "x"
read fd(b) 1 -> "x"
set number = fd(a)
write $number "y"
read b 1 -> "y"
close a
read a 1 -> EBADF
pipe a c
END

good "\$tmp is a directory" <<'END'
case "one" { touch "$tmp/file"; kopen f "$tmp/file"; rm "$tmp/file"; rm "$tmp/file" -> ENOENT }
case "another one" { mkfifo "$tmp/fifo"; kopen f "$tmp/fifo" O_RDWR|O_NONBLOCK }
END
if ls "$work"/strtest.* >/dev/null 2>&1; then
	fail "directories of cases are left over"
else
	pass
fi

# ---- verbs -------------------------------------------------------------------------------
good "messages" <<'END'
pipe a b O_NONBLOCK
write a "1"
writev a "2" "3"
read b 1 -> "1"
readv b 1 1 -> "23"
putmsg a ctl="c" data="d"
getmsg b -> 0 ctl="c" data="d" ctllen=1 datalen=1 flags=0
putmsg a hipri ctl="h"
getpmsg b -> ctl="h" data=none flags=MSG_HIPRI band=0
putpmsg a band=3 data="x"
expect b band=3 data="x"
putmsg a band=4 ctl="any" data="y"
expect b band=any ctl=any data="y"
putmblk a M_PROTO ctl="c" data="d" band=2
getmblk b -> type=M_PROTO band=2 blocks=2 data="cd"
expect-none b
END

good "control" <<'END'
pipe a b O_NONBLOCK
push a pipemod nullmod
ioctl a I_LIST 5 -> 2 names="nullmod,pipemod"
pop a 2
ioctl a I_LOOK -> EINVAL
ioctl a I_SRDOPT RMSGN|RPROTDIS
ioctl a I_GRDOPT -> value=RMSGN|RPROTDIS
ioctl a 0x1234 data="xyz" -> EINVAL
ioctl a I_NREAD arg=NULL -> EFAULT
write b "x"
flush a FLUSHR
tune strmsgsz 1000
dup a c
dup2 a b
fcntl a F_GETFL -> O_RDWR|O_NONBLOCK
fcntl a 0
fcntl a F_GETFL -> O_RDWR
fstat a -> mode=S_IFIFO
lseek a 0 -> ESPIPE
isastream a -> 1
close a b c
END

good "waiting" <<'END'
pipe a b
kpipe r w
ksocket s t
poll a IN|OUT r IN w OUT -> 2 a=OUT r=0 w=OUT
select in=a out=b out=w -> 2 out="b,w" in=""
sleep 1ms
thread sleeper { read a 10 -> "x" }
blocked sleeper
write b "x"
wait sleeper
thread waker { blocked main; write b "woken" }
read a 10 -> "woken"
wait waker
thread one { post there; await back }
await there
post back
wait
END

good "signals" <<'END'
kill self SIGUSR1
expect-signal SIGUSR1 pid=pid() code=SI_TKILL
expect-no-signal SIGUSR1 for 1ms
ignore SIGUSR1
kill self SIGUSR1
expect-no-signal SIGUSR1 for 1ms
catch SIGUSR1
block SIGUSR1
kill self SIGUSR1
expect-no-signal SIGUSR1 for 1ms
unblock SIGUSR1
expect-signal SIGUSR1
alarm 2ms
sleep 5ms
expect-signal SIGALRM
catch SIGWINCH restart
default SIGWINCH
END

if [ $forks = yes ]; then
	good "children" <<-'END'
	case "a child writes" {
		pipe a b
		fork writer { write b "from the child" }
		read a 100 -> "from the child"
		wait writer -> 0
	}
	case "exit statuses" {
		fork three { exit 3 }
		wait three -> 3
		fork four { _exit 4 }
		wait four -> 4
		fork killed { sleep 100s }
		kill killed SIGTERM
		wait killed -> SIGTERM
	}
	END
	script <<-'END'
	case "the child fails" { pipe a b; fork { read a 0 -> 5 }; wait }
	case "the child dies" { pipe a b; fork { kill self SIGKILL } }
	case "the child says 3" { fork { exit 3 } }
	END
	expect 1 "failures of children"
	prints '^not ok 1 - the child fails' "failures of children"
	prints '^not ok 2 - the child dies' "failures of children"
	prints '^not ok 3 - the child says 3' "failures of children"
	prints 'script.st:1: read a 0 -> 5$' "failures of children"
	prints "^# the child .* ended with status 3" "failures of children"
fi

good "print and draw" <<'END'
pipe a b
print "text" 5 EIO hex("00ff")
draw
draw a
END
prints '^# text 5 EIO "\\x00\\xff"' "print"
prints '^# a = stream ' "draw"

# ---- what is no success ----------------------------------------------------------------------
bad "another result" '3$' '1$' <<'END'
pipe a b
write a "x" -> 3
END
bad "an error" 'success' 'EAGAIN' <<'END'
pipe a b O_NONBLOCK
read a 1
END
bad "no error" 'EAGAIN' '1 data="x"' <<'END'
pipe a b O_NONBLOCK
write b "x"
read a 1 -> EAGAIN
END
bad "another error" 'EIO' 'EAGAIN' <<'END'
pipe a b O_NONBLOCK
read a 1 -> EIO
END
bad "other data" '"y"' 'data="x"' <<'END'
pipe a b O_NONBLOCK
write b "x"
read a 1 -> "y"
END
bad "another field" 'band=3' 'band=4' <<'END'
pipe a b O_NONBLOCK
putmsg b band=4 data="x"
getpmsg a -> band=3
END
bad "a part too much" 'ctl=none data="x"' 'ctl="c" data="x"' <<'END'
pipe a b O_NONBLOCK
putmsg b ctl="c" data="x"
expect a data="x"
END
bad "nothing came" 'data="x"' 'nothing' <<'END'
pipe a b
expect a data="x" within 5ms
END
bad "something came" 'nothing' 'a message' <<'END'
pipe a b
write b "x"
expect-none a
END
bad "a short write" '200000' '65536' <<'END'
pipe a b O_NONBLOCK
write a fill("x", 200000)
END
bad "long data" '200 bytes' 'different from byte 100' <<'END'
pipe a b
write a fill("x", 100) + fill("y", 100)
getmsg b -> data=fill("x", 200)
END
bad "too late" 'within' ' us' <<'END'
sleep 300ms within 1us
END
bad "too early" 'after 5000000 us' ' us' <<'END'
sleep 1ms after 5s
END
bad "a comparison" '1 == 2' '1 and 2' <<'END'
check 1 == 2
END
bad "no signal" 'caught' 'did not come' <<'END'
expect-signal SIGUSR1 within 5ms
END
bad "another code" 'code=1' 'code=' <<'END'
kill self SIGUSR1
expect-signal SIGUSR1 code=POLL_IN
END
bad "a signal" 'does not come' 'caught' <<'END'
kill self SIGUSR1
expect-no-signal SIGUSR1
END
bad "never" 'at last' 'EAGAIN' <<'END'
pipe a b O_NONBLOCK
eventually { read a 1 -> 0 } within 20ms
END
bad "in a thread" '"x"' 'EAGAIN' <<'END'
pipe a b O_NONBLOCK
thread { read a 1 -> "x" }
END
bad "not asleep" 'sleeps' 'ended' <<'END'
thread t { check 1 == 1 }
sleep 20ms
blocked t
END

script <<'END'
case "one" {
	pipe a b
	push a pipemod
	write b "waits"
	read b 1 -> EPIPE
}
case "two" { pipe a b }
END
expect 1 "a case that fails"
prints '^not ok 1 - one$' "a case that fails"
prints '^ok 2 - two$' "a case that fails"
prints '^1\.\.2$' "a case that fails"
prints 'script.st:5: read b 1 -> EPIPE$' "a case that fails"
prints '^# a = stream .* 1 pushed' "the drawing"
prints '^#   pipemod$' "the drawing"
prints '^#   first message: data="waits"' "the drawing"

script --timeout 0.5 <<'END'
case "hangs" {
	pipe a b
	thread t { read b 1 }
	read a 1
}
case "goes on" { pipe a b }
END
expect 1 "a case that hangs"
prints '^not ok 1 - hangs' "a case that hangs"
prints 'longer than' "a case that hangs"
prints 'the case is at .*script.st:4: read a 1' "a case that hangs"
prints ' t is at .*script.st:3: read b 1' "a case that hangs"
prints '^ok 2 - goes on' "a case that hangs"

script <<'END'
case "crashes" { kill self SIGABRT }
case "goes on" { pipe a b }
END
expect 1 "a case that crashes"
prints '^not ok 1 - crashes' "a case that crashes"
prints 'ended by signal 6' "a case that crashes"
prints '^ok 2 - goes on' "a case that crashes"

script <<'END'
case "a" { skip if 1 == 1 "for a reason"; read -1 1 }
case "b" { skip unless 1 == 1; pipe a b }
skip if 1 == 1
case "c" { read -1 1 }
END
expect 0 "skip"
prints '^ok 1 - a # SKIP for a reason$' "skip"
prints '^ok 2 - b$' "skip"
prints '^ok 3 - .* # SKIP 1 == 1$' "skip"
prints '^1\.\.3$' "skip"

# ---- mistakes ------------------------------------------------------------------------------------
broken 1:1 "no such command: 'opne'; did you mean 'open'?; legal: case .* open " <<'END'
opne a echo
END
broken 2:3 "no such command: 'fork-it'" <<'END'
pipe a b
  fork-it
END
broken 1:7 "needs more arguments; legal: open new-name word" <<'END'
open a
END
broken 1:9 "one argument too many; legal: pop name" <<'END'
pop a 1 (2)
END
broken 1:10 "does not take 'bnad='; legal: hipri flags= band=" <<'END'
putmsg a bnad=1
END
broken 1:13 "no such constant: 'EAGIAN'; did you mean 'EAGAIN'?" <<'END'
read a 1 -> EAGIAN
END
broken 1:18 "no such constant: 'RMSGX'; did you mean" <<'END'
ioctl a I_SRDOPT RMSGX
END
broken 1:9 "no such command of ioctl: 'I_PUHS'; did you mean 'I_PUSH'?; legal: I_NREAD" <<'END'
ioctl a I_PUHS x
END
broken 1:13 "gives no field 'foo='; legal: ctl= data=" <<'END'
getmsg a -> foo=1
END
broken 1:15 "one result too many" <<'END'
read a 1 -> 1 2
END
broken 1:13 "must follow the arrow" <<'END'
read a 1 -> 
END
broken 3:1 "ends within a block; legal: }" <<'END'
case "open" {
	pipe a b
END
broken 2:1 "no block is open" <<'END'
pipe a b
}
END
broken 1:9 'the string has no end; legal: "' <<'END'
write a "abc
END
broken 1:10 'no such escape; legal: .n' <<'END'
write a "\q"
END
broken 1:9 "a name must follow" <<'END'
write a $
END
broken 1:9 "no such character here" <<'END'
write a @
END
broken 1:9 "no such unit; legal: us ms s K M" <<'END'
sleep 10minutes
END
broken 1:7 "too large" <<'END'
sleep 99999999999999999999
END
broken 1:9 "no such function: 'hexx'; did you mean 'hex'?; legal: hex file" <<'END'
write a hexx("00")
END
broken 1:9 "takes 2 arguments, not 1" <<'END'
write a fill("x")
END
broken 1:6 "when? legal: if unless" <<'END'
skip when root
END
broken 1:4 "no such condition: 'sunny'; legal: nofork" <<'END'
if sunny { }
END
broken 1:1 "no such procedure: 'helo'; did you mean 'hello'?; legal: hello" <<'END'
call helo; proc hello { }
END
broken 1:1 "hello takes 1 values, not 0" <<'END'
call hello; proc hello $x { }
END
broken 2:1 "outside of the cases; legal here: case repeat" <<'END'
case "x" { }
open a echo
END
broken 1:12 "a case cannot stand in a case" <<'END'
case "x" { case "y" { } }
END
broken 1:9 "nosuch.sti: No such file" <<'END'
include "nosuch.sti"
END
broken 1:6 "a name must stand here" <<'END'
pipe "a" b
END
broken 1:11 "a value must stand here" <<'END'
check 1 + == 2
END
broken 1:9 "a comparison must stand here" <<'END'
check 1 = 2
END
broken 1:15 "should end here" <<'END'
set x = 1 + 2 3
END
broken 1:1 "a command must stand here" <<'END'
"text"
END

broken 2:17 "-5 is below 0; legal: 0 and more" <<'END'
pipe a b
read a 1 within -5
END
broken 1:10 "-1 is below 0" <<'END'
repeat   -1 { }
END
broken 1:18 "-2 is below 0" <<'END'
case "x" timeout -2 { }
END
broken 1:19 "-7000 is below 0" <<'END'
expect-none a for -7ms
END

stops 2:8 "-3 is below 0; legal: 0 and more" <<'END'
set n = 2 - 5
repeat $n { }
END
stops 3:20 "-3 is below 0" <<'END'
pipe a b
set n = 2 - 5
write a "x" within $n
END
stops 1:6 "no descriptor is called 'a'; legal: none" <<'END'
read a 1
END
stops 2:6 "no descriptor is called 'c'; legal: a b" <<'END'
pipe a b
read c 1
END
stops 2:6 "'a' is open already" <<'END'
pipe a b
open a echo
END
stops 1:9 "the variable \$x was never set" <<'END'
set y = $x
END
stops 2:9 "data must stand here" <<'END'
pipe a b
write a 5
END
stops 2:8 "a number must stand here" <<'END'
pipe a b
read a "x"
END
stops 1:9 "takes two numbers or two strings" <<'END'
set x = "a" + 1
END
stops 1:9 "there are only 3 bytes" <<'END'
set x = sub("abc", 2, 2)
END
stops 2:1 "I_FLUSH needs its argument" <<'END'
pipe a b
ioctl a I_FLUSH
END
stops 1:6 "no thread or child is called 'x'; legal: none" <<'END'
wait x
END
stops 1:14 "call each other" <<'END'
proc again { call again }; call again
END
stops 1:1 "only a child can exit" <<'END'
exit 1
END

# ---- the command line -----------------------------------------------------------------------------
run
expect 2 "no script"
run --frob
expect 2 "an unknown option"
run --timeout
expect 2 "--timeout without a value"
run --timeout 0 x.st
expect 2 "--timeout 0"
run --slow x x.st
expect 2 "--slow x"
run "$work/nosuch.st"
expect 2 "a script that is not there"
mkdir "$work/empty"
run "$work/empty"
expect 2 "a directory without scripts"
run --help
expect 0 "--help"
prints '^  ioctl name ' "--help"
prints 'I_STR' "--help"

mkdir -p "$work/many/deep"
echo 'case "first" { pipe a b }' >"$work/many/a.st"
echo 'case "second" { pipe a b }' >"$work/many/deep/b.st"
echo 'nonsense' >"$work/many/not-a-script"
run "$work/many"
expect 0 "a directory"
prints '^ok 1 - first$' "a directory"
prints '^ok 2 - second$' "a directory"
prints '^1\.\.2$' "a directory"
run "$work/many/a.st" "$work/many/deep/b.st" --only second
expect 0 "--only"
prints '^ok 1 - second$' "--only"
prints '^1\.\.1$' "--only"
run -v "$work/many/a.st"
prints '^# 1: pipe a b' "-v"
run -j 3 "$work/many"
expect 0 "-j"
prints '^ok 1 - first$' "-j"
prints '^ok 2 - second$' "-j"
run -j 0 "$work/many"
expect 2 "-j 0"
run --in-process "$work/many"
expect 0 "--in-process"
prints '^1\.\.2$' "--in-process"
echo 'opne' >"$work/many/z.st"
run "$work/many"
expect 2 "one of several scripts with a mistake"
if [ -s "$work/out" ]; then
	fail "something ran although a script has a mistake"
else
	pass
fi
status=0
echo 'case "from stdin" { pipe a b }' | "$strtest" - >"$work/out" 2>"$work/err" || status=$?
expect 0 "standard input"
prints '^ok 1 - from stdin' "standard input"

# The example of the manual page.
sed -n '/^case "a higher band/,/^\.Ed/p' "$top_srcdir/doc/strtest.1" | grep -v '^\.Ed' \
	>"$work/script.st"
run "$work/script.st"
expect 0 "the example of the manual page"
prints '^1\.\.5$' "the example of the manual page"

# In order, however long each takes.
script -j 4 <<'END'
foreach n in 40 1 30 1 20 1 {
	case "case $n" { sleep $n*1000; print "it slept $n ms"; check $n < 40 }
}
END
expect 1 "the order of -j"
if sed -n 's/^\(not \)*ok [0-9]* - //p' "$work/out" | tr '\n' ' ' | \
	grep -q '^case 40 case 1 case 30 case 1 case 20 case 1 $'; then
	pass
else
	fail "the order of -j"
fi
prints '^# it slept 20 ms' "the order of -j"

# ---- as others read it -----------------------------------------------------------------------------
if command -v prove >/dev/null; then
	rm -f "$work/many/z.st"
	printf 'case "bad" { read -1 1 }\ncase "skips" { skip if 1 == 1 }\n' >"$work/many/c.st"
	status=0
	prove -e "$strtest" "$work/many/a.st" "$work/many/deep/b.st" >"$work/out" 2>&1 || status=$?
	expect 0 "prove of what passes"
	prints '^All tests successful' "prove of what passes"
	status=0
	prove -e "$strtest" "$work/many/c.st" >"$work/out" 2>&1 || status=$?
	expect 1 "prove of what fails"
	prints 'Failed 1/2' "prove of what fails"
fi

echo "$checks checks, $failures failed"
[ $failures = 0 ]
