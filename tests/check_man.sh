#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Every manual page passes mandoc's lint.
set -eu
: "${top_srcdir:=.}" "${MANDOC=$(command -v mandoc || :)}" "${manual_pages:=}"

if [ -z "$MANDOC" ]; then
	echo "skipped: manual pages: mandoc is missing (Debian package: mandoc)"
	exit 77
fi
cd "$top_srcdir"
[ -n "$manual_pages" ] || manual_pages=$(ls doc/*.[1-9]*)
status=0
for page in $manual_pages; do
	# STYLE is advice, such as a reference to a page not installed here.
	if "$MANDOC" -T lint -W warning "$page"; then
		echo "$page: clean"
	else
		echo "$page: mandoc complains"
		status=1
	fi
done
exit $status
