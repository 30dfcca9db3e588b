#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Make configure and Makefile.in from configure.ac and Makefile.am.
# Needed once in a git checkout; a release archive has them already.
set -eu
cd "$(dirname "$0")"

missing=
for tool in autoconf automake aclocal libtoolize pkg-config; do
	command -v "$tool" >/dev/null 2>&1 || missing="$missing $tool"
done
if [ -n "$missing" ]; then
	echo "autogen.sh: these programs are missing:$missing" >&2
	echo "autogen.sh: on Debian and Ubuntu: apt-get install autoconf automake libtool pkg-config" >&2
	exit 1
fi

mkdir -p build-aux
autoreconf --install --force --warnings=all
echo "autogen.sh: done; now ./configure && make"
