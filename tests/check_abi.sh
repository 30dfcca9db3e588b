#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What libustreams.so shows: names that begin with str_ or ustr_, or POSIX's;
# every call the public headers declare; the SONAME that programs are bound to.
set -eu
: "${top_srcdir:=.}" "${top_builddir:=.}" "${NM:=nm}"
posix='putmsg getmsg putpmsg getpmsg isastream fattach fdetach'
soname=libustreams.so.0

lib=$top_builddir/.libs/$soname
if [ ! -e "$lib" ]; then
	echo "skipped: ABI: no shared library was built (--disable-shared)"
	exit 77
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

# NM may carry options.  The version node itself is listed as an absolute symbol.
$NM -D --defined-only "$lib" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' |
	sort -u >"$work/exported"
for name in $posix; do
	echo "$name"
done | sort >"$work/posix"

grep -vE '^(str_|ustr_)' "$work/exported" | sort | comm -23 - "$work/posix" >"$work/foreign"
while read -r name; do
	echo "$name is exported but is neither str_, ustr_ nor POSIX"
	status=1
done <"$work/foreign"

# Declared: "putq(...) USTR_SYM(putq)", "int str_open(" at the start of a line.
(
	cd "$top_srcdir/include"
	cat ./*.h sys/stream.h sys/ddi.h >"$work/headers"
)
{
	sed -n 's/.*USTR_SYM(\([a-z0-9_]*\)).*/ustr_\1/p' "$work/headers" | grep -vx ustr_name || :
	sed -nE 's/^[a-z][a-z0-9_ *]*[ *]((str_|ustr_)[a-z0-9_]+)\(.*/\1/p' "$work/headers"
	sed -nE 's/^[a-z][a-z0-9_ *]*[ *]([a-z]+)\(.*/\1/p' "$work/headers" | grep -xF -f "$work/posix" || :
} | sort -u >"$work/declared"
comm -13 "$work/exported" "$work/declared" >"$work/absent"
while read -r name; do
	echo "$name is declared in a public header but not exported"
	status=1
done <"$work/absent"

if ! readelf -d "$lib" | grep -q "SONAME.*\[$soname\]"; then
	echo "the SONAME of $lib is not $soname"
	status=1
fi

echo "$(wc -l <"$work/exported") names exported, $(wc -l <"$work/declared") declared"
exit $status
