#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The examples under memcheck: no error, no leak, but for what the suppression
# file that is installed names.  With --with-heap=malloc memcheck also sees every
# message block; elsewhere the arena is one piece of memory to it.
set -eu
: "${top_srcdir:=.}" "${top_builddir:=build/default}" "${CC:=cc}" "${SAN_CFLAGS:=}"
: "${PKG_CONFIG:=pkg-config}"
suppressions=$top_srcdir/share/valgrind/ustreams.supp

skip()
{
	echo "skipped: valgrind: $*"
	exit 77
}

[ -z "$SAN_CFLAGS" ] || skip "no program runs under a sanitizer and valgrind at once"
command -v valgrind >/dev/null 2>&1 || skip "valgrind is missing (Debian package: valgrind)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset VALGRIND_OPTS || :
valgrind -q true >"$work/try" 2>&1 || skip "it does not run here: $(tail -n 1 "$work/try")"

flags=$(PKG_CONFIG_PATH=$top_builddir "$PKG_CONFIG" --cflags --libs ustreams)
status=0
for name in pipe upmod zerocopy echo poll; do
	if [ $name = poll ] && grep -q 'USTR_HEAP_MALLOC 1' "$top_builddir/config.h"; then
		echo "$name: not run, as it forks"
		continue
	fi
	# shellcheck disable=SC2086 # lists of flags
	$CC -g -O1 -o "$work/$name" "$top_srcdir/examples/$name.c" $flags -pthread
	# -q: a log file stays empty when there is nothing to say, a child's too.
	if timeout 120 valgrind -q --error-exitcode=1 --leak-check=full \
		--suppressions="$suppressions" --log-file="$work/$name.%p.log" \
		"$work/$name" >"$work/out" && [ -z "$(cat "$work/$name".*.log)" ]; then
		echo "$name: clean"
	else
		cat "$work/out" "$work/$name".*.log
		echo "$name: memcheck complains"
		status=1
	fi
done
exit $status
