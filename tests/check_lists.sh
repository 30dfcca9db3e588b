#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Every source, header, test, manual page and debugger script in the tree is named
# in Makefile.am: what is not is neither compiled, run nor shipped.
set -eu
: "${top_srcdir:=.}"
cd "$top_srcdir"

status=0
for file in streams/*.[ch] modules/*.[ch] drivers/*.[ch] utils/*.[ch] \
	include/*.h include/sys/*.h tests/*.sh tests/*.[ch] doc/*.[1-9]* doc/*.md \
	examples/*.[ch] share/*/*; do
	[ -e "$file" ] || continue
	case $file in
	tests/check_*.c | tests/stress_*.c) name=${file%.c} ;;
	*) name=$file ;;
	esac
	if ! grep -qE "(^|[[:space:]])$name([[:space:]]|\$)" Makefile.am; then
		echo "$file is in no list of Makefile.am"
		status=1
	fi
done
[ $status != 0 ] || echo "every file is in a list"
exit $status
