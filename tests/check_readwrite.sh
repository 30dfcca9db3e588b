#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# strperf write and strperf read: two programs that meet in an instance, either of
# them first; what they say of each other agrees, and of who was killed.
set -eu
: "${top_srcdir:=.}" "${top_builddir:=.}" "${USTR_TEST_THREADS_ONLY:=}"
strperf=$top_builddir/utils/strperf
if [ ! -x "$strperf" ]; then
	echo "skipped: strperf: $strperf was not built"
	exit 77
fi
strperf=$(realpath "$strperf")
valid=$(realpath "$top_builddir/tests/jsonvalid" 2>/dev/null || :)
schema=$(realpath "$top_srcdir/share/strperf.schema.json")
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
if [ -n "$USTR_TEST_THREADS_ONLY" ] || "$strperf" --version | grep -q heap=malloc; then
	echo "skipped: strperf: programs do not share streams in this build"
	exit 77
fi
checks=0
failures=0
limit=120

fail()
{
	failures=$((failures + 1))
	echo "FAILED: $*"
	for file in out err other.out other.err; do
		[ ! -s $file ] || sed "s/^/	$file | /" $file | tail -n 6
	done
}

# is WANTED GOT WHAT
is()
{
	checks=$((checks + 1))
	[ "$1" = "$2" ] || fail "$3: '$2', not '$1'"
}

# has PATTERN FILE WHAT
has()
{
	checks=$((checks + 1))
	grep -qE -e "$1" "$2" || fail "$3: no '$1' in $2"
}

# run ARGUMENT...: leaves $status, out and err.
run()
{
	status=0
	timeout $limit "$strperf" "$@" >out 2>err || status=$?
}

# other ARGUMENT...: in the background; other.out, other.err, $pid.
other()
{
	rm -f other.err
	"$strperf" "$@" >other.out 2>other.err </dev/null &
	pid=$!
	pids="$pids $pid"
}

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

# A tenth of a second of CPU: so much it has not needed to begin with.
busy()
{
	[ "$(awk '{ print $14 + $15 }' /proc/$1/stat)" -ge 10 ]
}

# ended PID: its status, in time, as $got.
ended()
{
	soon gone "$1" || { fail "a program does not end"; kill -9 "$1"; }
	got=0
	wait "$1" 2>/dev/null || got=$?
}

# value NAME FILE: of -k.
value()
{
	sed -n "s/^$1=//p" "$2" | head -n 1
}

# agree WHAT: the last two, run with -k '', say the same and lost nothing.
agree()
{
	for name in MESSAGES BYTES CHECKSUM; do
		is "$(value $name out)" "$(value $name other.out)" "$1: $name"
	done
	cat out other.out >both
	is "" "$(grep -E '^(GAPS|BAD)=' both | grep -v '=0$' || :)" "$1: gaps and damage"
	is "" "$(grep '^AGREE=no' both || :)" "$1: agreement"
	is "yes yes" "$(echo $(grep -h '^AGREE=' out other.out | cut -d= -f2))" "$1: both know"
	checks=$((checks + 1))
	[ "$(value MESSAGES out)" -gt 0 ] || fail "$1: no message at all"
}

# amount WHO OPTION VALUE: the option, if that is the writer.
amount()
{
	[ "$1" != write ] || printf '%s %s' "$2" "$3"
}

mkfifo fifo

# ---- either first ---------------------------------------------------------------------
other read -I one -k '' fifo
soon grep -qs "waiting for a writer at fifo" other.err || fail "the reader does not say that it waits"
run write -I one -k '' --duration 0.5 fifo
is 0 "$status" "reader first: writer"
ended $pid
is 0 "$got" "reader first: reader"
agree "reader first"
has '^P99_LATENCY=[0-9.]+$' other.out "latency"
has '^MAX_LATENCY=[0-9.]+$' other.out "latency"
other write --instance one -k '' --count 50000 fifo
soon grep -qs "waiting for a reader at fifo" other.err || fail "the writer does not say that it waits"
run read --instance one -k '' fifo
is 0 "$status" "writer first: reader"
ended $pid
is 0 "$got" "writer first: writer"
agree "writer first"
is 50000 "$(value MESSAGES out)" "--count"

# ---- sizes, rates, modules -----------------------------------------------------------------
USTREAMS_INSTANCE=one
export USTREAMS_INSTANCE
for size in 1 31 32 64 100 4096 65537 262144; do
	other read -k '' fifo
	run write -k '' -s $size -n 2000 fifo
	is 0 "$status" "$size bytes"
	ended $pid
	is 0 "$got" "$size bytes: reader"
	agree "$size bytes"
	is $((2000 * size)) "$(value BYTES other.out)" "$size bytes"
done
other read -k '' --rate 2000 fifo
run write -k '' -n 2000 -s 4096 fifo
is 0 "$status" "a slow reader"
ended $pid
agree "a slow reader"
checks=$((checks + 1))
[ "$(value EAGAIN out)" -gt 0 ] || fail "a slow reader does not hold the writer back"
other read -k '' fifo
run write -k '' --rate 2000 --duration 1 --push pipemod,nullmod fifo
is 0 "$status" "--rate"
ended $pid
agree "--rate"
checks=$((checks + 1))
most=$(value SECONDS out | awk '{ printf "%.0f", 2000 * $1 + 100 }')
[ "$(value MESSAGES out)" -le "$most" ] ||
	fail "--rate 2000: $(value MESSAGES out) messages in $(value SECONDS out) s"
other read -k '' --push srvmod fifo
run write -k '' -n 20000 fifo
is 0 "$status" "--push at the reader"
ended $pid
agree "--push at the reader"

# 100 MB, with lines for each interval on both sides.
other read --interval 0.1 fifo
run write --interval 0.1 -s 1000 -n 100000 --rate 200000 fifo
is 0 "$status" "100 MB"
ended $pid
is 0 "$got" "100 MB: reader"
has '^sent 100000 messages, 100000000 bytes' out "100 MB"
has '^received 100000 messages, 100000000 bytes' other.out "100 MB"
has 'the writer has the same messages, bytes and checksum' other.out "100 MB"
has 'one-way latency, us: min .*p99\.9' other.out "100 MB"
for file in out other.out; do
	checks=$((checks + 1))
	[ "$(grep -c ' s .* messages .* bytes .* msgs/s .* MB/s' $file)" -ge 3 ] ||
		fail "100 MB: no lines for intervals in $file"
done

# ---- a device, an attached pipe ------------------------------------------------------------
for name in fifo/7 echo/3; do
	other read -k '' $name
	run write -k '' -n 30000 $name
	is 0 "$status" "$name"
	ended $pid
	is 0 "$got" "$name: reader"
	agree "$name"
done
: >meet
for who in "read write" "write read"; do
	a=${who% *}
	b=${who#* }
	other "$a" --attach -k '' $(amount $a -n 30000) meet
	run "$b" -k '' $(amount $b -n 30000) meet
	is 0 "$status" "$a attached: $b"
	ended $pid
	is 0 "$got" "$a attached: $a"
	agree "$a attached"
done
other read -k '' meet
soon grep -qs "waiting for a stream to be attached at meet" other.err || fail "no word that an attachment is awaited"
run write --attach -k '' -n 1000 meet
is 0 "$status" "attached second"
ended $pid
agree "attached second"
rm meet
other read --attach -k '' new
soon test -e new || fail "--attach makes no file"
run write -k '' -n 1000 new
ended $pid
agree "--attach makes the file"
is no "$([ -e new ] && echo yes || echo no)" "--attach removes the file it made"

# ---- several writers -------------------------------------------------------------------------
other read --writers 2 -k '' fifo
reader=$pid
"$strperf" write -k '' -n 40000 fifo >first.out 2>first.err &
first=$!
run write -k '' -n 30000 -s 200 fifo
is 0 "$status" "two writers: the second"
wait $first && got=0 || got=$?
is 0 $got "two writers: the first"
ended $reader
is 0 "$got" "two writers: the reader"
is "30000 40000 70000" "$(echo $(sed -n 's/^MESSAGES=//p' other.out | sort -n))" "two writers"
is "$(echo $(sed -n 's/^CHECKSUM=//p' out first.out | sort))" \
	"$(echo $(sed -n 's/^CHECKSUM=//p' other.out | head -n 2 | sort))" "two writers: checksums"
is 2 "$(grep -c '^AGREE=yes' other.out)" "two writers agree with the reader"
is "yes yes" "$(value AGREE out) $(value AGREE first.out)" "two writers know"

# ---- deaths -------------------------------------------------------------------------------------
# killed SIGNAL WHO NAME: the other one tells, soon, and ends with 3.
killed()
{
	victim=$2
	case $victim in
	read) left=write ;;
	*) left=read ;;
	esac
	mkfifo again 2>/dev/null || { rm again; mkfifo again; }
	a=
	if [ "$3" = again-attached ]; then
		rm again
		: >again
		a=--attach
	fi
	"$strperf" $victim -I "$4" $a -k '' $(amount $victim --duration 60) again >victim.out 2>victim.err &
	prey=$!
	pids="$pids $prey"
	other $left -I "$4" -k '' --interval 0.05 $(amount $left --duration 60) again
	sleep 0.7
	soon busy $pid || fail "kill -$1 of $victim at $3: the other one does nothing"
	kill -"$1" $prey
	begun=$(date +%s%N)
	soon gone $pid || fail "kill -$1 of $victim at $3: the other one stays"
	took=$((($(date +%s%N) - begun) / 1000000))
	ended $pid
	is 3 "$got" "kill -$1 of $victim at $3: the status of the other one"
	has "^strperf: $left: .*(went|interrupted)?.*[0-9]+ messages, [0-9]+ bytes" other.err \
		"kill -$1 of $victim at $3"
	is 1 "$(grep -cv waiting other.err)" "kill -$1 of $victim at $3: lines"
	checks=$((checks + 1))
	[ "$(value MESSAGES other.out)" -gt 0 ] || fail "kill -$1 of $victim at $3: no totals"
	[ $took -lt 10000 ] || fail "kill -$1 of $victim at $3: took $took ms"
	wait $prey 2>/dev/null || :
	[ "$1 $victim" != "TERM write" ] ||
		is yes "$(value AGREE victim.out)" "what an interrupted writer at $3 hears"
}
n=0
for signal in KILL TERM; do
	for name in again again-attached; do
		for victim in read write; do
			n=$((n + 1))
			killed $signal $victim $name dead$n
		done
	done
done
# And the instance lives on.
rm -f again
mkfifo again
other read -I dead1 -k '' again
run write -I dead1 -k '' -n 1000 again
is 0 "$status" "after deaths"
ended $pid
agree "after deaths"

# ---- formats ---------------------------------------------------------------------------------------
other read --json --interval 0.1 fifo
run write --json --interval 0.1 --duration 0.5 fifo
ended $pid
if [ -x "$valid" ]; then
	for file in out other.out; do
		checks=$((checks + 1))
		"$valid" "$schema" $file 2>>err || fail "$file does not follow the schema"
	done
fi
has '"agree":"yes"' other.out "--json"
other read --csv fifo
run write --csv -n 100 fifo
ended $pid
is 2 "$(wc -l <out)" "--csv: writer"
has '^read,[0-9]+,100,6400,' other.out "--csv: reader"

# ---- mistakes ---------------------------------------------------------------------------------------
refused()
{
	is 2 "$status" "$2: status"
	has "$1" err "$2"
	is 1 "$(wc -l <err)" "$2: lines on stderr"
	is 0 "$(wc -c <out)" "$2: on stdout"
}
run write
refused 'at which name\?; legal: strperf write' "no name"
run read a b
refused 'one name at a time' "two names"
run write -s 0 fifo
refused "size: '0' is not legal; legal: 1 to 262144 bytes" "--size 0"
run write -s 300000 fifo
refused "size: '300000' is not legal; legal: 1 to 262144 bytes" "--size 300000"
run read --size 5 fifo
refused 'no such option; legal' "--size of the reader"
run write --writers 2 fifo
refused 'no such option; legal' "--writers of the writer"
run write --count -1 fifo
refused 'not legal; legal: 1 or more' "--count -1"
run write nosuch
refused 'no such device or path; legal: a FIFO' "no such name"
run read ./nosuch
refused 'no such device or path' "no such path"
echo x >file
run write file
refused 'not a stream but an ordinary file' "an ordinary file"
run read .
refused 'not a stream but a directory' "a directory"
run write --push nosuch echo/1
refused 'nosuch: ' "--push nosuch"
unset USTREAMS_INSTANCE
run write fifo
refused 'without an instance nobody can be met at fifo; legal: -I NAME' "no instance"
run read -I a/b fifo
refused "a/b.*not a name; legal: 1 to 64" "a name with a slash"
run write -I none --wait 0.3 fifo
is 3 "$status" "nobody comes"
has 'nobody came to fifo within 0.3 s' err "nobody comes"
run read -I none --wait 0.3 fifo
is 3 "$status" "no writer comes"
has 'nobody came to fifo within 0.3 s' err "no writer comes"
rm err
"$strperf" read -I none fifo >out 2>err &
pid=$!
soon grep -qs waiting err
kill -INT $pid
ended $pid
is 130 "$got" "SIGINT while waiting"

# Who was stopped himself, as by Ctrl-Z, has not waited for the other one meanwhile.
"$strperf" read -I zed -k '' fifo >stopped.out 2>stopped.err &
stopped=$!
pids="$pids $stopped"
soon grep -qs waiting stopped.err
other write -I zed -k '' -w 2 -n 2000000 fifo
sleep 0.2
kill -STOP $stopped
sleep 0.2
kill -STOP $pid
sleep 2.5
kill -CONT $pid $stopped
ended $pid
is 0 "$got" "a stopped writer goes on"
ended $stopped
is 0 "$got" "the reader of a stopped writer"

# A small arena: slower, and nothing lost.
USTREAMS_ARENA=3M other read -I small -k '' fifo
USTREAMS_ARENA=3M run write -I small -k '' -n 2000 -s 65536 fifo
is 0 "$status" "a small arena"
ended $pid
agree "a small arena"

# One that is full: a line, the numbers until then, and both end.
USTREAMS_TUNE=hiwat=1000000000 USTREAMS_ARENA=3M "$strperf" read -I full2 -k '' fifo \
	>stopped.out 2>stopped.err &
stopped=$!
pids="$pids $stopped"
soon grep -qs waiting stopped.err
kill -STOP $stopped
run write -I full2 -k '' -s 60000 -n 1000 fifo
is 1 "$status" "a full arena"
has 'message [0-9]+ could not be sent, .*the arena is full; a larger USTREAMS_ARENA' err "a full arena"
kill -CONT $stopped
ended $stopped
is 3 "$got" "a full arena: the reader"
is "$(value MESSAGES out)" "$(value MESSAGES stopped.out)" "a full arena: nothing sent is lost"

for command in read write; do
	run $command --help
	is 0 "$status" "$command --help"
	has '^usage: strperf '$command out "$command --help"
	run $command --version
	is 0 "$status" "$command --version"
done

echo "$checks checks, $failures failed"
[ $failures = 0 ]
