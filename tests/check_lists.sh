#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Every source, header, test, manual page and debugger script in the tree is named
# in Makefile.am: what is not is neither compiled, run nor shipped.  And every library
# that a program is built with is installed by quickstart.
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
# A library that configure does without, unless told, is there for who builds by quickstart.
packages=$(sed -n "s/^build_packages='\(.*\)'/ \1 /p" quickstart)
for package in $(grep -oE 'apt-get install [a-z0-9-]+' configure.ac | sed 's/.* //'); do
	case $packages in
	*" $package "*) ;;
	*)
		echo "$package is not among the build_packages of quickstart"
		status=1
		;;
	esac
done
[ $status != 0 ] || echo "every file is in a list"
exit $status
