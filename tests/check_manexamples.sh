#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# usage: check_manexamples.sh [PAGE...]
#
# Every program in a manual page (a literal display with a main) compiles
# against the build directory and ends with status 0, its input being empty.
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

# The displays of a page that have a main, as $work/N.c.
extract()
{
	awk -v to="$work" '
	/^\.Bd -literal/ { inside = 1; text = ""; next }
	/^\.Ed/ {
		if (inside && text ~ /(^|\n)main\(/)
			printf "%s", text >(to "/" ++n ".c")
		inside = 0
		next
	}
	inside {
		gsub(/\\&/, "")
		gsub(/\\-/, "-")
		gsub(/\\\(dq/, "\"")
		gsub(/\\\(aq/, "\047")
		gsub(/\\e/, "\\")
		text = text $0 "\n"
	}' "$1"
}

[ $# -gt 0 ] || set -- "$top_srcdir"/doc/*.[0-9]*
for page; do
	rm -f "$work"/*
	extract "$page"
	for source in "$work"/*.c; do
		[ -e "$source" ] || continue
		name="$(basename "$page") $(basename "$source" .c)"
		# shellcheck disable=SC2086 # lists of flags
		if ! $CC $SAN_CFLAGS -O2 -Wall -Wextra -o "$work/program" "$source" $flags -pthread \
			>"$work/out" 2>&1; then
			sed 's/^/	| /' "$work/out" | head -n 5
			echo "$name: does not compile"
			status=1
		elif [ $forks = no ] && grep -q 'fork()' "$source"; then
			echo "$name: compiles; not run, as it forks"
		elif ! timeout 60 "$work/program" </dev/null >"$work/out" 2>&1; then
			sed 's/^/	| /' "$work/out" | tail -n 5
			echo "$name: failed"
			status=1
		else
			echo "$name: ok"
		fi
	done
done
exit $status
