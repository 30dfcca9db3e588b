#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# strtap: lines, filters and files of the events of another program's streams, as a
# member of its instance and from outside; what it says when something is wrong.
set -eu
: "${top_srcdir:=.}" "${top_builddir:=build/default}" "${CC:=cc}" "${SAN_CFLAGS:=}"

if [ -n "${USTR_TEST_THREADS_ONLY:-}" ] ||
	grep -q '^#define USTR_HEAP_MALLOC 1$' "$top_builddir/config.h"; then
	echo "skipped: strtap: streams are not shared by processes in this build"
	exit 77
fi
top_builddir=$(cd "$top_builddir" && pwd)
strtap=$top_builddir/utils/strtap
valid=$top_builddir/tests/pcapvalid
dir=$(mktemp -d)
pids=
clean()
{
	for pid in $pids; do
		kill "$pid" 2>/dev/null || :
	done
	wait
	rm -rf "$dir"
}
trap clean EXIT
mkdir -m 700 "$dir/instances"
USTREAMS_DIR=$dir/instances
export USTREAMS_DIR
unset USTREAMS_INSTANCE USTREAMS_TUNE || :

fail()
{
	echo "strtap: $*"
	exit 1
}

# talk [quiet]: a pipe with pipemod, streams 1 and 2, and an echo, stream 3; says
# "ready"; then a round of messages every two milliseconds, or when a line comes.
cat >"$dir/talk.c" <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <stropts.h>
#include <unistd.h>
#include <ustreams.h>

static void
round_of(const int fd[2], int echo, int i)
{
	struct strbuf ctl = {0, 7, "control"}, data = {0, 4, "data"};
	struct strioctl si = {0x5401, 1, 0, 0};
	char text[64], c[64], d[64];

	int flags, band, n = snprintf(text, sizeof(text), "message %d", i);

	str_write(fd[0], text, (size_t)n);
	putpmsg(fd[0], &ctl, &data, 7, MSG_BAND);
	for (int k = 0; k < 2; k++) {
		struct strbuf gc = {sizeof(c), 0, c}, gd = {sizeof(d), 0, d};

		flags = MSG_ANY;
		band = 0;
		getpmsg(fd[1], &gc, &gd, &band, &flags);
	}
	str_ioctl(echo, I_STR, &si);
}

int
main(int argc, char **argv)
{
	int fd[2], echo;
	char c;

	(void)argv;
	if (str_pipe(fd) != 0 || str_ioctl(fd[0], I_PUSH, "pipemod") != 0 ||
	    (echo = str_open("/dev/streams/echo", O_RDWR | O_NONBLOCK)) == -1) {
		perror("talk");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	for (int i = 0;; i++) {
		if (argc > 1 ? read(0, &c, 1) != 1 : usleep(2000) != 0)
			return 0;
		round_of(fd, echo, i);
	}
}
END
lib=$top_builddir/.libs/libustreams.a
# shellcheck disable=SC2086
$CC $SAN_CFLAGS -O1 -I "$top_srcdir/include" "$dir/talk.c" -o "$dir/talk" "$lib" -pthread

# start FILE COMMAND...: in the background, until it has said something to FILE.
start()
{
	said=$1
	shift
	"$@" >"$said" &
	pids="$pids $!"
	last=$!
	n=0
	until [ -s "$said" ]; do
		n=$((n + 1))
		[ $n -lt 1500 ] || fail "$* says nothing"
		sleep 0.02
	done
}

# expect STATUS WORDS COMMAND...: it ends so, and a line on stderr has these words.
expect()
{
	status=0
	want=$1
	words=$2
	shift 2
	timeout 60 "$@" >"$dir/out" 2>"$dir/err" </dev/null || status=$?
	[ $status = "$want" ] || fail "$*: exit status $status, not $want: $(cat "$dir/err")"
	[ -n "$words" ] || return 0
	grep -qe "$words" "$dir/err" || fail "$*: says $(cat "$dir/err"), not $words"
	[ "$(wc -l <"$dir/err")" = 1 ] || fail "$*: more than one line: $(cat "$dir/err")"
}

# has WORDS: there is such a line in out.
has()
{
	grep -qe "$1" "$dir/out" || fail "no line '$1' in: $(head -20 "$dir/out")"
}

# only PATTERN: out is not empty, and every line has it.
only()
{
	[ -s "$dir/out" ] || fail "nothing is printed"
	if grep -ve "$1" "$dir/out"; then
		fail "these lines have no '$1'"
	fi
}

start "$dir/ready" env USTREAMS_INSTANCE=demo "$dir/talk"
talk=$last

# ---- lines and filters, as a member

expect 0 '' "$strtap" -I demo -c 200
[ "$(wc -l <"$dir/out")" = 200 ] || fail "-c 200 gives $(wc -l <"$dir/out") lines"
has " $talk  *1 pipemod/W1  *put  *M_DATA  *0  *[0-9]*  \"message [0-9]*\""
has ' 1 head/W0  *sent  *M_PROTO  *7  *7+4  control "control" data "data"$'
has ' 2 head/R0  *get  *M_PROTO  *7  *7+4'
has ' 3 echo/W1  *put  *M_IOCTL .* command 0x5401'
has ' 3 head/R0  *put  *M_IOCNAK .* returns '
expect 0 '' "$strtap" --instance demo -c 20 2
only ' 2 head/R0 '
# Recorded no longer, though the ring may still be there.
expect 1 'no stream is recorded' "$strtap" -1 -p "$talk"
expect 0 '' "$strtap" -I demo -c 20 1 2 /dev/streams/echo/0
expect 0 '' env USTREAMS_INSTANCE=demo "$strtap" -c 20 -t proto,M_IOCTL
only 'M_PROTO\|M_IOCTL'
expect 0 '' "$strtap" -I demo -c 20 -b 7
only ' 7  *7+4 '
expect 0 '' "$strtap" -I demo -c 20 -d w
only '/W[01] '
expect 0 '' "$strtap" -I demo -c 20 -e get,sent
only ' get \| sent '
expect 0 '' "$strtap" -I demo -c 20 -q head
only ' head/[RW]0 '
expect 0 '' "$strtap" -I demo -c 20 -q head/W
only ' head/W0 '
expect 0 '' "$strtap" -I demo -c 20 -q echo/W1
only ' echo/W1 '
expect 0 '' "$strtap" -I demo -c 4 -x -t 0 -e put 2
only ' 6d657373 61676520 3'
echo "lines and filters: good"

# ---- a file

expect 0 '' "$strtap" -I demo -c 500 -w "$dir/t.pcapng"
"$valid" "$dir/t.pcapng" >"$dir/counts" || fail "$(cat "$dir/counts")"
grep -qx '[5-9] interfaces, 500 packets, [5-9] statistics' "$dir/counts" || fail "$(cat "$dir/counts")"
expect 0 '' "$strtap" -r "$dir/t.pcapng"
[ "$(wc -l <"$dir/out")" = 500 ] || fail "-r prints $(wc -l <"$dir/out") lines"
has ' 1 head/W0  *sent  *M_PROTO  *7  *7+4  control "control" data "data"$'
cp "$dir/out" "$dir/all"
expect 0 '' "$strtap" -r "$dir/t.pcapng" -q echo -c 3
only ' echo/'
grep -e ' echo/' "$dir/all" | head -3 | cmp - "$dir/out" || fail "-r differs with a filter"
"$strtap" -I demo -c 50 -w - | "$strtap" -r - >"$dir/out"
[ "$(wc -l <"$dir/out")" = 50 ] || fail "-w - | -r - prints $(wc -l <"$dir/out") lines"
if command -v tshark >/dev/null 2>&1; then
	tshark -r "$dir/t.pcapng" -T fields -e frame.interface_name -e frame.packet_flags_direction \
		-e frame.comment >"$dir/out" 2>"$dir/err" || fail "tshark: $(cat "$dir/err")"
	[ "$(wc -l <"$dir/out")" = 500 ] || fail "tshark reads $(wc -l <"$dir/out") packets"
	has '^stream 1 pipemod/W1	.*2	stream 1 queue pipemod/W1 put M_DATA band 0 '
	has '^stream 2 head/R0	.*1	stream 2 queue strhead/R0 get M_PROTO band 7 '
	echo "tshark reads the file"
else
	echo "tshark is missing: the file was judged by tests/pcapvalid only"
fi
head -c 5000 "$dir/t.pcapng" >"$dir/short.pcapng"
expect 2 'cut short, or damaged' "$strtap" -r "$dir/short.pcapng"
expect 2 'no pcapng file' "$strtap" -r "$0"
: >"$dir/empty"
expect 2 'no pcapng file' "$strtap" -r "$dir/empty"
expect 2 'No such file' "$strtap" -r "$dir/none"
expect 2 'Is a directory' "$strtap" -r "$dir"
expect 2 'full\|space' "$strtap" -I demo -c 2000 -w /dev/full
expect 2 'No such file' "$strtap" -I demo -w "$dir/none/t.pcapng"
echo "files: good"

# ---- killed, it leaves nothing recorded

"$strtap" -I demo 1 >"$dir/lines" &
tap=$!
n=0
until [ -s "$dir/lines" ] || [ $n = 500 ]; do
	n=$((n + 1))
	sleep 0.02
done
# From outside: it is recorded now.
expect 0 '' "$strtap" -p "$talk" -1 -c 1 1
kill -9 $tap
wait $tap 2>/dev/null || :
n=0
while "$strtap" -p "$talk" -1 -c 1 1 >/dev/null 2>&1; do
	n=$((n + 1))
	[ $n -lt 600 ] || fail "killed, it leaves the recorder on"
	sleep 0.05
done
echo "killed: good"

# ---- from outside: what a program has recorded itself

expect 1 'no stream is recorded' "$strtap" -p "$talk"
expect 1 'stream 1 is not recorded' "$strtap" -p "$talk" 1
start "$dir/ready2" env USTREAMS_TUNE=trace=1024 "$dir/talk"
# Once it has sent something.
n=0
while expect 0 '' "$strtap" -p "$last" -c 100 &&
	! grep -q ' 1 pipemod/W1  *put  *M_DATA .*"message ' "$dir/out" && [ $n -lt 300 ]; do
	n=$((n + 1))
	sleep 0.1
done
has ' 1 pipemod/W1  *put  *M_DATA .*"message '
expect 0 '' "$strtap" -p "$last" -1 3
only ' 3 '
expect 0 '' "$strtap" -p "$last" -c 100 -w "$dir/p.pcapng"
"$valid" "$dir/p.pcapng" || fail "of a look, the file is wrong"
timeout 60 "$strtap" -p "$last" >"$dir/out" 2>"$dir/err" &
follower=$!
n=0
until [ -s "$dir/out" ] || [ $n -ge 500 ]; do
	n=$((n + 1))
	sleep 0.02
done
kill -9 "$last"
status=0
wait "$follower" || status=$?
[ $status = 1 ] || fail "of a program that was killed: exit status $status, not 1"
grep -q 'no process has it any more' "$dir/err" || fail "of a program that was killed: $(cat "$dir/err")"
start "$dir/ready3" env USTREAMS_TUNE=trace=1024 USTREAMS_INSTANCE=box "$dir/talk"
sleep 0.1
kill -9 "$last"
cp "$dir/instances/box" "$dir/copy"
expect 0 '' "$strtap" -f "$dir/copy" -1
has ' 2 head/R0  *put  *M_PROTO  *7  *7+4 '
echo "from outside: good"

# ---- mistakes

expect 1 'no such stream in instance demo' "$strtap" -I demo 99
expect 1 'no such stream' "$strtap" -I demo "$0"
expect 2 'there is none' "$strtap" -I nosuch
expect 2 'no name of an instance\|cannot be a name\|legal' "$strtap" -I a/b
expect 2 'which streams' "$strtap"
expect 2 'one of -I, -p and -f' "$strtap" -I demo -p 1
expect 2 'legal: 16 to 1048576' "$strtap" -I demo -n 15
expect 2 'legal: 1 to ' "$strtap" -I demo -c 0
expect 2 'legal: 0 to 255' "$strtap" -I demo -b 256
expect 2 'legal: r or w' "$strtap" -I demo -d x
expect 2 'legal: put, get' "$strtap" -I demo -e got
expect 2 'legal: M_DATA' "$strtap" -I demo -t M_NONE
for q in '' /W pipemod/ pipemod/X pipemod/Wx longlongname; do
	expect 2 'legal: the name of a module' "$strtap" -I demo -q "$q"
done
expect 2 '-z: no such option' "$strtap" -z
expect 2 'value is missing' "$strtap" -c
expect 2 'not both' "$strtap" -r "$dir/t.pcapng" 1
expect 2 'not a process' "$strtap" -p x
"$strtap" --help | grep -q '^usage: strtap' || fail "--help"
kill "$talk"
# Its streams are closed: the end.
expect 1 '' "$strtap" -I demo -1 1
echo "mistakes: good"
