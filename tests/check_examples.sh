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
	if ! grep -q "^PROGRAMS =.* $name\( \|\$\)" "$top_srcdir/examples/Makefile"; then
		echo "$name: is not made by examples/Makefile"
		status=1
	fi
	# shellcheck disable=SC2086 # lists of flags
	if ! $CC $SAN_CFLAGS -O2 -Wall -Wextra -Werror -o "$work/$name" "$source" $flags -pthread; then
		echo "$name: does not compile"
		status=1
	elif grep -q str_instance "$source"; then
		echo "$name: compiles; it is one of two programs"
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

# Two programs that meet in an instance, either of them first.
# meet ORDER
meet()
{
	status_r=0
	status_w=0
	if [ "$1" = "reader first" ]; then
		timeout 60 "$work/reader" demo "$work/meet" >"$work/out" 2>&1 &
		other=$!
		sleep 0.2
		timeout 60 "$work/writer" demo "$work/meet" hello "two words" || status_w=$?
		wait $other || status_r=$?
	else
		timeout 60 "$work/writer" demo "$work/meet" hello "two words" &
		other=$!
		sleep 0.2
		timeout 60 "$work/reader" demo "$work/meet" >"$work/out" 2>&1 || status_r=$?
		wait $other || status_w=$?
	fi
	if [ "$status_r $status_w $(tr '\n' '|' <"$work/out")" = "0 0 5 bytes: hello|9 bytes: two words|" ]; then
		echo "reader and writer, $1: ok"
	else
		sed 's/^/	| /' "$work/out" | tail -n 5
		echo "reader and writer, $1: failed ($status_r, $status_w)"
		status=1
	fi
}
if [ $forks = yes ] && [ $status = 0 ]; then
	USTREAMS_DIR=$work
	export USTREAMS_DIR
	mkfifo "$work/meet"
	meet "reader first"
	meet "writer first"
fi
exit $status
