#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# mutate.sh [BUILD]: does a test fail when the code of a sentence is reverted?
# Each fault of tests/mutants.list is planted in a copy of the sources, alone, and
# the conformance scripts are run.  One line a fault, with the first case that
# caught it; status 1 if one was not caught.
set -u
src=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/mutants.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
jobs=${JOBS:-2}

(cd "$src" && git ls-files -z | xargs -0 cp --parents -t "$work") || exit 2
cd "$work" && ./autogen.sh >log 2>&1 && mkdir build && cd build &&
	../configure --disable-shared --disable-no-cache-library CFLAGS='-O1' >log 2>&1 &&
	make -j"$jobs" libustreams.la utils/strtest >log 2>&1 || { tail -20 log; exit 2; }

cases()
{
	timeout 300 utils/strtest -j "$jobs" --timeout 20 ../tests/conformance 2>/dev/null
}

if cases | grep '^not ok'; then
	echo "the scripts fail without any fault"
	exit 2
fi
planted=0 caught=0
while IFS= read -r line; do
	case $line in '#'* | '') continue ;; esac
	file=${line%% @ *} rest=${line#* @ }
	how=${rest%% @ *} what=${rest#* @ }
	cp "../$file" saved
	perl -0pi -e "$how" "../$file"
	if cmp -s saved "../$file"; then
		echo "NOT PLANTED: $what"
		continue
	fi
	planted=$((planted + 1))
	if ! make -j"$jobs" libustreams.la utils/strtest CFLAGS='-O1 -w' >log 2>&1; then
		echo "DOES NOT COMPILE: $what"
	else
		first=$(cases | grep '^not ok' | head -n 1)
		if [ -n "$first" ]; then
			caught=$((caught + 1))
			echo "caught: $what: ${first#not ok * - }"
		else
			echo "NOT CAUGHT: $what"
		fi
	fi
	cp saved "../$file"
done <"$src/tests/mutants.list"
echo "$planted faults, $caught caught"
[ "$planted" -gt 0 ] && [ "$caught" = "$planted" ]
