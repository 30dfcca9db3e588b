#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# usage: check_symbols.sh [--update]
#
# The binary interface: the names that libustreams.so exports, with their
# version nodes, are those in debian/libustreams0.symbols.  --update writes that
# file anew: new names get the version on top of debian/changelog, the others
# keep theirs.
set -eu
: "${top_srcdir:=.}" "${top_builddir:=build/default}" "${NM:=nm}"
soname=libustreams.so.0
list=$top_srcdir/debian/libustreams0.symbols
lib=$top_builddir/.libs/$soname

if [ ! -e "$lib" ]; then
	echo "skipped: symbols: no shared library was built (--disable-shared)"
	exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
LC_ALL=C
export LC_ALL

# " name@NODE version": a node is listed as an absolute symbol of its own name.
$NM -D --defined-only "$lib" | awk '
	$2 == "A" { print $3 "@" $3; next }
	{ sub(/@@/, "@", $3); print $3 }' | sort >"$work/exported"
sed -n 's/^ \([^ ]*\) .*/\1/p' "$list" | sort >"$work/listed"
comm -23 "$work/exported" "$work/listed" >"$work/new"
comm -13 "$work/exported" "$work/listed" >"$work/gone"

if [ "${1:-}" = --update ]; then
	version=$(sed -n '1s/.*(\(.*\)).*/\1/p' "$top_srcdir/debian/changelog")
	{
		grep '^[^ ]' "$list"
		{
			sed -n 's/^ //p' "$list" | grep -vwF -f "$work/gone" || :
			sed "s/\$/ $version/" "$work/new"
		} | sort | sed 's/^/ /'
	} >"$work/symbols"
	cat "$work/symbols" >"$list"
	sed 's/^/added: /' "$work/new"
	sed 's/^/removed, which breaks programs if it was ever released: /' "$work/gone"
	exit 0
fi

sed "s/\$/ is exported but not in debian\/${list##*/}/" "$work/new"
sed "s/\$/ is in debian\/${list##*/} but no longer exported: programs that use it break/" "$work/gone"
if [ -s "$work/new" ] || [ -s "$work/gone" ]; then
	cat <<END
If that is meant: tests/check_symbols.sh --update (with top_builddir, the build
directory, in the environment unless it is build/default).  What a release may
change is in CONTRIBUTING.md, "Binary names and versions".
END
	exit 1
fi
echo "$(wc -l <"$work/listed") names, as listed"
