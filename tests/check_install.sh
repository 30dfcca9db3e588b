#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# make install into an empty directory, then a program written against what
# stands there and found through pkg-config: C and C++, shared and static; make
# uninstall takes it all away again.
set -eu
: "${top_srcdir:=.}" "${top_builddir:=.}" "${CC:=cc}" "${SAN_CFLAGS:=}"
: "${MAKE:=make}" "${PKG_CONFIG:=pkg-config}"
: "${prefix:=/usr/local}" "${libdir:=$prefix/lib}"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
dest=$work/dest
unset MAKEFLAGS MAKELEVEL MFLAGS

if ! (cd "$top_builddir" && "$MAKE" install DESTDIR="$dest") >"$work/log" 2>&1; then
	cat "$work/log"
	echo "make install DESTDIR=... failed"
	exit 1
fi
(cd "$dest" && find . -type f -o -type l) | sort

if find "$dest" -name strsubr.h | grep -q .; then
	echo "strsubr.h is internal and must not be installed"
	exit 1
fi

PKG_CONFIG_SYSROOT_DIR=$dest
PKG_CONFIG_PATH=$dest$libdir/pkgconfig
export PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_PATH
cflags=$("$PKG_CONFIG" --cflags ustreams)
libs=$("$PKG_CONFIG" --libs ustreams)

cat >"$work/hello.c" <<'END'
#include <stropts.h>
#include <ustreams.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
	int fd[2];
	char buf[8] = "";
	if (str_pipe(fd) || str_ioctl(fd[0], I_PUSH, "pipemod"))
		return perror("pipe"), 1;
	if (str_write(fd[0], "hello", 6) != 6 || str_read(fd[1], buf, 8) != 6)
		return perror("transfer"), 1;
	printf("%s %s\n", buf, ustr_version());
	return strcmp(buf, "hello") || str_close(fd[0]) || str_close(fd[1]);
}
END
cp "$work/hello.c" "$work/hello.cc"
# The same with ours last; the module headers beside libc's; and a program that
# has DDI names of its own.
{
	echo '#include <unistd.h>'
	echo '#include <sys/types.h>'
	echo '#include <poll.h>'
	echo '#include <sys/ddi.h>'
	echo '#include <sys/stream.h>'
	cat "$work/hello.c"
} >"$work/order.c"
{
	echo 'int timeout(int); int timeout(int ms) { return ms; }'
	cat "$work/hello.c"
} >"$work/names.c"

# alone LANGUAGE STANDARD COMPILER: each header alone, without extensions.
alone()
{
	(cd "$dest$prefix/include/ustreams" && find . -name '*.h') | while read -r header; do
		printf '#include <%s>\nextern int unused;\n' "${header#./}" >"$work/alone"
		# shellcheck disable=SC2086 # lists of flags
		if ! $3 -x "$1" -std="$2" -pedantic -Wall -Wextra -Werror -fsyntax-only \
			$cflags "$work/alone"; then
			echo "$header alone does not compile as $2"
			exit 1
		fi
	done
}

# run NAME COMPILER SOURCE FLAGS...: build and run it.
run()
{
	name=$1 compiler=$2 source=$3
	shift 3
	# shellcheck disable=SC2086 # lists of flags
	if ! $compiler $SAN_CFLAGS -Wall -Werror -pthread -I"$work" $cflags \
		-o "$work/$name" "$work/$source" "$@"; then
		echo "$name: does not compile"
		exit 1
	fi
	echo "$name: $(LD_LIBRARY_PATH="$dest$libdir" "$work/$name")"
}

alone c c99 "$CC"
alone c c11 "$CC"
if command -v c++ >/dev/null 2>&1; then
	alone c++ c++11 c++
fi
# shellcheck disable=SC2086 # lists of flags
if [ -e "$dest$libdir/libustreams.so" ]; then
	run shared "$CC" hello.c $libs
	run order "$CC" order.c $libs
	run names "$CC" names.c $libs
	if command -v c++ >/dev/null 2>&1; then
		run cxx c++ hello.cc $libs
	fi
fi
if [ -e "$dest$libdir/libustreams.a" ]; then
	run static "$CC" hello.c "$dest$libdir/libustreams.a"
fi
LD_LIBRARY_PATH=$dest$libdir "$dest$prefix/bin/strperf" --version

if ! (cd "$top_builddir" && "$MAKE" uninstall DESTDIR="$dest") >"$work/log" 2>&1; then
	cat "$work/log"
	echo "make uninstall DESTDIR=... failed"
	exit 1
fi
# The name may be part of the prefix: make distcheck's is below ustreams-VERSION.
if { find "$dest" ! -type d
	[ ! -d "$dest$prefix" ] || (cd "$dest$prefix" && find . -name '*ustreams*'); } | grep .; then
	echo "make uninstall left these behind"
	exit 1
fi
