#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The library compiles for aarch64: syntax, types, layouts and builtins, with
# clang and the headers of Debian's package libc6-dev-arm64-cross.
set -eu
: "${top_srcdir:=.}" "${top_builddir:=build/default}" "${library_sources:=}"
headers=/usr/aarch64-linux-gnu/include

if ! command -v clang >/dev/null 2>&1 || [ ! -d $headers ]; then
	echo "skipped: aarch64: needs clang and libc6-dev-arm64-cross"
	exit 77
fi
cd "$top_srcdir"
[ -n "$library_sources" ] || library_sources=$(echo streams/*.c modules/*.c drivers/*.c)
status=0
for source in $library_sources; do
	clang --target=aarch64-linux-gnu -fsyntax-only -std=gnu17 -D_GNU_SOURCE -Wall -Wextra -Werror \
		-nostdlibinc -isystem $headers -I include -I "$top_builddir" "$source" || {
		echo "$source: does not compile for aarch64"
		status=1
	}
done
[ $status != 0 ] || echo "the library compiles for aarch64"
exit $status
