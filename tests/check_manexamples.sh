#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# usage: check_manexamples.sh [page ...]
#
# The programs in the EXAMPLES of the manual pages compile as CONTRIBUTING.md
# says and end with status 0.  What does not begin with an #include is no
# program.
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

# Write the programs of a page to page.1.c, page.2.c ...
extract()
{
	awk -v base="$work/$(basename "$1")" '
	/^\.Sh / { examples = $2 == "EXAMPLES" }
	/^\.Bd -literal/ { block = examples; first = 1; next }
	/^\.Ed/ { block = 0 }
	block {
		if (first && /^#include/)
			file = base "." ++n ".c"
		else if (first)
			block = 0
		first = 0
		gsub(/\\\(dq/, "\"")
		gsub(/\\&/, "")
		gsub(/\\-/, "-")
		gsub(/\\e/, "\\")
		if (block)
			print >file
	}' "$1"
}

[ $# -gt 0 ] || set -- "$top_srcdir"/doc/*.[1-9]*
for page; do
	extract "$page"
done
for source in "$work"/*.c; do
	name=$(basename "$source" .c)
	grep -q '^main(' "$source" || continue
	# shellcheck disable=SC2086 # lists of flags
	if ! $CC $SAN_CFLAGS -D_GNU_SOURCE -O1 -o "$work/a.out" "$source" $flags -pthread; then
		echo "$name: does not compile"
		status=1
	elif [ $forks = no ] && grep -q 'fork()' "$source"; then
		echo "$name: compiles; not run, as it forks"
	elif ! (cd "$work" && timeout 60 ./a.out) >"$work/out" 2>&1 </dev/null; then
		sed 's/^/	| /' "$work/out" | tail -n 5
		echo "$name: failed"
		status=1
	else
		echo "$name: $(tail -n 1 "$work/out")"
	fi
done
exit $status
