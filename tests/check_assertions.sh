#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# How much of what streams/ relies on is written down as assertions: ASSERT, ASSERT_AT,
# IMPLY, EQUIV, LOCK_HELD and NO_LOCK_HELD per thousand lines, over all its files.  The
# files with the fewest are named, for who looks where to begin; none is required of a
# single file, since some state nothing (look_* believes nothing it reads).
set -eu
: "${top_srcdir:=.}"
cd "$top_srcdir/streams"

least=18	# per thousand lines; STYLE asks for 20 to 30
named=12	# files

awk -v least=$least -v named=$named '
	{ lines[FILENAME]++ }
	/^#[ \t]*define/ { next }
	/(^|[^A-Za-z_])(ASSERT|ASSERT_AT|IMPLY|EQUIV|LOCK_HELD|NO_LOCK_HELD)\(/ { there[FILENAME]++ }
	END {
		for (f in lines) {
			n += lines[f]
			k += there[f]
			# Headers declare; what they state is asserted where it is done.
			if (f ~ /\.c$/ && lines[f] >= 100)
				printf "%6.1f  %s (%d in %d lines)\n", there[f] * 1000 / lines[f], f,
					there[f], lines[f] | "sort -n | head -" named
		}
		close("sort -n | head -" named)
		printf "streams/: %d assertions in %d lines, %.1f per thousand (at least %d)\n", k, n,
			k * 1000 / n, least
		exit k * 1000 < n * least
	}' ./*.c ./*.h
