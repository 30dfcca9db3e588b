#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# usage: crash_sites.sh [--all] LIBRARY FILE...
#
# Was every marked point of a debug library died at?  The points are the calls of
# plat_crash_point (CRASH_POINT and JITTER, plat.h) in the code of LIBRARY, which
# is libustreams.so; FILEs are what stress programs wrote to USTR_STRESS_SITES.
#
# A point is a place in the source: the line, and the lines into which the
# functions around it were inlined.  What the compiler has doubled is one point.
# Each that nobody died at is listed, its line and function first, then where that
# is inlined; --all lists all, with how many of their calls were died at.
#
# Exit status: 0 all of them were, but for those of the list below; 1 others were
# not, or the list has what is not there; 77 no debug build, or no shared library.
set -eu
: "${NM:=nm}" "${OBJDUMP:=objdump}" "${ADDR2LINE:=addr2line}"

# Points that no test can have a process die at, and why: the function and file of
# each and of what it is inlined into, as far as that is needed.
exceptions()
{
	cat <<'END'
lock_leave@lock.h<lock_list@runq.c
	Only where a group is merged while a thread outside of it (qenable of a
	callback) is between two instructions, reading q_runq and taking that list's
	lock: nothing in between can be waited for.  What the lock guards is unchanged
	then, as after the first look at any list, which is died at in runq_enable.
END
}

all=no
if [ "${1:-}" = --all ]; then
	all=yes
	shift
fi
if [ $# -lt 2 ]; then
	echo "crash_sites.sh: usage: crash_sites.sh [--all] LIBRARY FILE..." >&2
	exit 2
fi
lib=$1
shift
if [ ! -e "$lib" ]; then
	echo "skipped: crash points: no shared library was built (--disable-shared)"
	exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
LC_ALL=C
export LC_ALL

# Where calls return to, a hexadecimal number each, as many digits as the others.
$OBJDUMP -d --no-show-raw-insn "$lib" | awk '
	after { sub(/:$/, "", $1); print $1; after = 0 }
	/[ \t](call|callq|bl)[ \t].*<plat_crash_point>/ { after = 1 }' >"$work/calls"
base=$($NM "$lib" | awk '$3 == "plat_crash_point" { print $1 }')
if [ -z "$base" ] || [ ! -s "$work/calls" ]; then
	echo "skipped: crash points: they are marked in debug builds only"
	exit 77
fi
sort -u "$@" | while read -r distance; do
	printf '%x\n' $((0x$base + distance))
done >"$work/died"

# "place calls died" for each: the place of the instruction before, which calls.
while read -r at; do
	printf '0x%x\n' $((0x$at - 1))
done <"$work/calls" >"$work/before"
$ADDR2LINE -a -f -i -s -e "$lib" <"$work/before" | awk '
	/^0x/ { if (place != "") print place; place = ""; name = ""; next }
	name == "" { name = $1; next }
	name == "plat_crash_site" { name = ""; next }
	{ place = place (place == "" ? "" : "<") name "@" $1; name = "" }
	END { print place }' >"$work/places"
paste -d ' ' "$work/calls" "$work/places" | awk -v died="$work/died" '
	BEGIN { while ((getline at <died) > 0) dead[at] = 1 }
	{ calls[$2]++; hit[$2] += $1 in dead }
	END { for (place in calls) print place, calls[place], hit[place] }' |
	sort -t@ -k2 >"$work/points"

exceptions | grep '^[^ 	]' >"$work/exceptions" || :
awk -v all=$all -v list="$work/exceptions" '
	function shown(place,    part, n, i, text) {
		n = split(place, part, "<")
		for (i = 1; i <= n; i++) {
			split(part[i], f, "@")
			text = text (i == 1 ? "" : i == 2 ? ", in " : " < ") f[2] " (" f[1] ")"
		}
		return text
	}
	# The functions without their lines.
	function bare(place) {
		gsub(/:[0-9?]+/, "", place)
		return place
	}
	function exempt(place,    i) {
		for (i = 1; i <= n; i++)
			if (index("<" bare(place) "<", "<" name[i] "<") > 0) {
				used[i]++
				return i
			}
		return 0
	}
	BEGIN { while ((getline line <list) > 0) { split(line, w, " "); name[++n] = w[1] } }
	{
		points++; calls += $2; died += $3
		if (all == "yes")
			printf "%d of %d: %s\n", $3, $2, shown($1)
		e = exempt($1)
		if ($3 == 0 && e)
			excused++
		else if ($3 == 0) {
			missing++
			print "nobody died at " shown($1)
		}
	}
	END {
		for (i = 1; i <= n; i++)
			if (!used[i]) {
				wrong++
				print "excused, but not there: " name[i]
			}
		printf "%d points (%d calls); died at %d of them (%d); %d excused; %d not died at\n",
		    points, calls, points - excused - missing, died, excused, missing
		exit missing + wrong > 0
	}' "$work/points"
