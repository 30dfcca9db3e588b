#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Every example compiles against the build directory, as CONTRIBUTING.md says
# to use it, and ends with status 0.
set -eu
: "${top_srcdir:=.}" "${top_builddir:=build/default}" "${CC:=cc}" "${SAN_CFLAGS:=}"
: "${PKG_CONFIG:=pkg-config}" "${USTR_TEST_THREADS_ONLY:=}"

PKG_CONFIG_PATH=$top_builddir
export PKG_CONFIG_PATH
flags=$("$PKG_CONFIG" --cflags --libs ustreams)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

# May streams cross fork in this build?
forks=yes
if [ -n "$USTR_TEST_THREADS_ONLY" ] || grep -q 'USTR_HEAP_MALLOC 1' "$top_builddir/config.h"; then
	forks=no
fi

for source in "$top_srcdir"/examples/*.c; do
	name=$(basename "$source" .c)
	# shellcheck disable=SC2086 # lists of flags
	if ! $CC $SAN_CFLAGS -O2 -Wall -Wextra -Werror -o "$work/$name" "$source" $flags -pthread; then
		echo "$name: does not compile"
		status=1
	elif [ $forks = no ] && grep -q 'fork()' "$source"; then
		echo "$name: compiles; not run, as it forks"
	elif ! timeout 60 "$work/$name" >"$work/out" 2>&1; then
		sed 's/^/	| /' "$work/out" | tail -n 5
		echo "$name: failed"
		status=1
	else
		echo "$name: $(tail -n 1 "$work/out")"
	fi
done
exit $status
