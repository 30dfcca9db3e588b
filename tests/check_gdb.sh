#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# share/gdb/ustreams-gdb.py: its numbers are those of the headers, and under gdb
# it draws the streams of a stopped program and stands garbage pointers.
set -eu
: "${top_srcdir:=.}" "${top_builddir:=build/default}" "${CC:=cc}" "${SAN_CFLAGS:=}"
: "${PKG_CONFIG:=pkg-config}"
script=$top_srcdir/share/gdb/ustreams-gdb.py

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

# ---- "NAME": NUMBER of the script is "#define NAME NUMBER" of a header ----------

sed -n 's/^    "\([A-Z0-9_]*\)": \([0-9a-fx]*\),$/\1 \2/p' "$script" >"$work/numbers"
while read -r name number; do
	if ! grep -qE "^#define $name $number([[:space:]]|\$)" \
		"$top_srcdir"/include/sys/stream.h "$top_srcdir"/streams/*.[ch]; then
		echo "$name is $number in ustreams-gdb.py but not in the headers"
		status=1
	fi
done <"$work/numbers"
echo "$(wc -l <"$work/numbers") numbers compared with the headers"

# ---- a stopped program ------------------------------------------------------------

skip()
{
	[ $status = 0 ] || exit $status
	echo "skipped: gdb: $*"
	exit 77
}

command -v gdb >/dev/null 2>&1 || skip "gdb is missing (Debian package: gdb)"
DEBUGINFOD_URLS=
export DEBUGINFOD_URLS
gdb -nx -batch -ex 'python print("py" + "thon")' 2>/dev/null | grep -qx python ||
	skip "this gdb has no Python"

library=$top_builddir/.libs/libustreams.so.0
[ -e "$library" ] || library=$top_builddir/.libs/libustreams.a
readelf -S "$library" | grep -q '\.debug_info' ||
	skip "the library was compiled without -g"

cat >"$work/streams.c" <<'END'
#include <err.h>
#include <fcntl.h>
#include <string.h>
#include <stropts.h>
#include <ustreams.h>

mblk_t *message, *circle, *freed;
mblk_t garbage;
queue_t badqueue;
int ends[2], echo;

/* Where gdb stops. */
__attribute__((noinline)) void
stop_here(void)
{
	__asm__ volatile("" ::: "memory");
}

static mblk_t *
block(const char *text)
{
	mblk_t *mp = str_mblkalloc(200);

	if (mp == NULL)
		err(1, "str_mblkalloc");
	memcpy(mp->b_wptr, text, strlen(text));
	mp->b_wptr += strlen(text);
	return mp;
}

int
main(void)
{
	if (str_pipe(ends) || str_ioctl(ends[0], I_PUSH, "pipemod") ||
	    str_write(ends[0], "hello, gdb", 10) != 10 ||
	    putpmsg(ends[0], NULL, &(struct strbuf){0, 6, "urgent"}, 3, MSG_BAND))
		err(1, "pipe");
	if ((echo = str_open("/dev/streams/clone/echo", O_RDWR)) == -1)
		err(1, "echo");
	message = block("first \"part\"\n");
	message->b_datap->db_type = M_PROTO;
	message->b_flag = MSGMARK;
	message->b_cont = block("and a second one of more than 32 bytes");
	circle = block("round");
	circle->b_cont = circle;
	freed = block("gone"); /* as a debug build leaves it */
	freed->b_datap->db_ref = 0;
	freed->b_owner = 1;
	memset(&garbage, 0xa5, sizeof(garbage));
	memset(&badqueue, 0xa5, sizeof(badqueue));
	badqueue.q_kind = 4;
	stop_here();
	return 0;
}
END
flags=$(PKG_CONFIG_PATH=$top_builddir "$PKG_CONFIG" --cflags --libs ustreams)
# shellcheck disable=SC2086 # lists of flags
$CC $SAN_CFLAGS -g -O0 -o "$work/streams" "$work/streams.c" $flags -pthread

cat >"$work/try.py" <<'END'
import gdb


class Try(gdb.Command):
    """try COMMAND: go on when it fails, and say why it did."""

    def invoke(self, argument, from_tty):
        try:
            gdb.execute(argument)
        except gdb.error as error:
            print("refused: %s" % error)


Try("try", gdb.COMMAND_DATA)
END
cat >"$work/commands" <<'END'
set confirm off
set width 0
break stop_here
run
ustr-stream ends[0]
ustr-stream echo
ustr-queues slot_wipe->w_proc->pr_fd0[ends[0]].fe_file->f_head
ustr-slots
print *slot_wipe->w_proc->pr_fd0[ends[1]].fe_file->f_head
print *slot_wipe->w_proc->pr_fd0[ends[1]].fe_group
print slot_wipe->w_proc->pr_fd0[echo].fe_file->f_head->sd_rq[1]
print *message
print *circle
print *freed
echo ---- garbage ----\n
try print garbage
try print *(mblk_t *)0
try print *(mblk_t *)0x10
try print *(mblk_t *)main
try print badqueue
try print *(queue_t *)main
try print *(queue_t *)0x5fffffffffff
try print *(struct stdata *)&badqueue
try print *(struct stdata *)main
try print *(struct group *)&badqueue
try print *(struct group *)main
try ustr-queues 0x10
try ustr-queues &badqueue
try ustr-queues main
try ustr-stream 1
try ustr-stream -1
try ustr-stream 1000000000
try ustr-stream nosuch
try ustr-stream
try ustr-slots 1
echo ---- done ----\n
kill
END
timeout 120 gdb -nx -batch -x "$script" -x "$work/try.py" -x "$work/commands" \
	"$work/streams" >"$work/out" 2>&1 </dev/null || echo "gdb: status $?" >>"$work/out"

if grep -qE 'ptrace: |Could not trace the inferior|Cannot PTRACE' "$work/out"; then
	skip "this system lets no process trace another"
fi
if grep -nE 'Traceback|Python Exception' "$work/out"; then
	echo "the script itself failed"
	status=1
fi
while IFS= read -r line; do
	if ! grep -qxE -e "$(echo "$line" | sed 's/ADDR/0x[0-9a-f]+/g; s/NUM/[0-9]+/g')" "$work/out"; then
		echo "gdb did not say: $line"
		status=1
	fi
done <<'END'
stream NUM: pipe, 1 pushed, 1 open
 *write +0 bytes +0 blocks  hiwat NUM lowat NUM QWANTR
 *read +10 bytes +1 blocks  hiwat NUM lowat NUM QWANTR
 *read +0 bytes +0 blocks  hiwat NUM lowat NUM QWANTR QPROCS
 *~ other end: stream NUM
stream NUM: echo, 0 pushed, 1 open, minor NUM
ADDR stream head write: 0 bytes 0 blocks hiwat NUM lowat NUM QWANTR
ADDR pipemod write: 0 bytes 0 blocks hiwat NUM lowat NUM QWANTR
ADDR stream head read: 10 bytes 1 blocks hiwat NUM lowat NUM QWANTR
 *band 3: 6 bytes 1 blocks
 *ADDR M_DATA 6 bytes "urgent" band 3
 *ADDR M_DATA 10 bytes "hello, gdb"
processes: 1 live, 0 deaths noticed
 *1  live +pid NUM
 *1  live +process 1  thread NUM  outside
.NUM = stream NUM: pipe, 0 pushed, 1 open
.NUM = plumbing group, no writer
.NUM = stream head write: 0 bytes 0 blocks hiwat NUM lowat NUM QWANTR
.NUM = M_PROTO 13 bytes "first .x22part.x22.x0a" MSGMARK . M_DATA 38 bytes "and a second one of more than 32"\.\.\.
.NUM = M_DATA 5 bytes "round" . <the list is a circle>
.NUM = M_DATA 4 bytes "gone" FREED by slot 1
refused: descriptor 1 is not a stream
refused: descriptor -1 is not a stream
refused: descriptor 1000000000 is not a stream
refused: usage: ustr-stream FD
refused: usage: ustr-slots ?
---- done ----
END
[ $status = 0 ] || sed 's/^/	| /' "$work/out"
[ $status != 0 ] || echo "streams, queues, messages and slots drawn; garbage survived"
exit $status
