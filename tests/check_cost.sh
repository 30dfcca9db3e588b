#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What a message costs: system calls (none in the steady state) and
# instructions (a bound; callgrind counts the same every time).  The program is
# examples/pipe.c's experiment in one thread: batches of 32 writes and reads of
# 64 bytes through pipemod.
set -eu
: "${top_srcdir:=.}" "${top_builddir:=.}" "${CC:=cc}"
limit=960	# instructions per message, write and read together, gcc -O2

if [ -n "${SAN_CFLAGS:-}" ] || ! grep -q '^#define USTR_DEBUG 0$' "$top_builddir/config.h"; then
	echo "skipped: cost: counted in plain builds only"
	exit 77
fi
if ! grep -q '^#define USTR_BUFFER_CACHE 1$' "$top_builddir/config.h"; then
	echo "skipped: cost: the bound is that of the build with the buffer cache"
	exit 77
fi
command -v valgrind >/dev/null 2>&1 || { echo "skipped: cost: valgrind is missing"; exit 77; }

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat >"$dir/cost.c" <<'END'
#include <fcntl.h>
#include <stdlib.h>
#include <stropts.h>
#include <ustreams.h>

int
main(int argc, char **argv)
{
	int fd[2], n = argc > 1 ? atoi(argv[1]) : 0;
	char buf[64] = "";

	if (str_pipe(fd) != 0 || str_ioctl(fd[0], I_PUSH, "pipemod") != 0 ||
	    str_ioctl(fd[1], I_SRDOPT, RMSGD) != 0 ||
	    str_fcntl(fd[0], F_SETFL, O_NONBLOCK) != 0 ||
	    str_fcntl(fd[1], F_SETFL, O_NONBLOCK) != 0)
		return 1;
	for (int i = 0; i < n; i += 32) {
		for (int k = 0; k < 32; k++)
			if (str_write(fd[0], buf, sizeof(buf)) != sizeof(buf))
				return 2;
		for (int k = 0; k < 32; k++)
			if (str_read(fd[1], buf, sizeof(buf)) != sizeof(buf))
				return 3;
	}
	return 0;
}
END
$CC -O2 -I "$top_srcdir/include" "$dir/cost.c" -o "$dir/cost" \
	"$top_builddir/.libs/libustreams.a" -pthread

instructions()
{
	valgrind --tool=callgrind --callgrind-out-file=/dev/null "$dir/cost" "$1" 2>&1 |
		sed -n 's/.*Collected : //p'
}

few=$(instructions 3200)
many=$(instructions 35200)
each=$(((many - few) / 32000))
echo "instructions per message, written and read: $each (at most $limit)"
[ "$each" -gt 0 ] && [ "$each" -le "$limit" ]

if command -v strace >/dev/null 2>&1 && strace -o /dev/null true 2>/dev/null; then
	few=$(strace -f -o "|cat" "$dir/cost" 3200 | wc -l)
	many=$(strace -f -o "|cat" "$dir/cost" 323200 | wc -l)
	echo "system calls: $few for 3200 messages, $many for 323200"
	[ "$many" -le $((few + 8)) ]
fi
