#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Spin searches every interleaving of the models in tests/model, exhaustively,
# and finds the fault in every mutant.  "check_models.sh wait plumb" does only
# these; KEEP=dir keeps the searches and the trails of what failed there.
set -eu
: "${top_srcdir:=.}" "${CC:=cc}"
models=$(cd "$top_srcdir/tests/model" && pwd)

if ! command -v spin >/dev/null 2>&1; then
	echo "skipped: models: spin is missing (Debian package: spin)"
	exit 77
fi

# The models are the same for every build: one of them is enough.
if [ -e config.h ] && ! grep -q 'define USTR_BUFFER_CACHE 1' config.h; then
	echo "skipped: models: searched in the build with the buffer cache"
	exit 77
fi

# model, what is searched for, options of the model.  "states": assertions and
# deadlocks; "cycles": threads that run in circles and get nowhere; "mutant",
# "mutant-cycles": the same, and the search has to fail.
runs='
flow	states
flow	cycles	-DMESSAGES=1 -DHIWAT=1
flow	states	-DMODULE -DHIWAT=3 -DLOWAT=2 -DMESSAGES=4
flow	states	-DPARKED
flow	mutant	-DNO_F3
flow	mutant	-DSWAP_F4_F5
flow	mutant	-DMODULE -DSPLIT_LOCK
flow	mutant	-DMODULE -DNO_RELIST
flow	mutant	-DPARKED -DWANT_ONE
wait	states	-DSIGNALS=0
wait	states	-DMORE=0
wait	cycles	-DMORE=0 -DSIGNALS=0
wait	states	-DMORE=0 -DSIGNALS=0 -DWAITERS=2
wait	states	-DMORE=0 -DSIGNALS=0 -DLISTS=2 -DWAKERS=1 -DBRING=2
wait	mutant	-DSWAP_S1_S2
wait	mutant	-DSWAP_S3_S4
wait	mutant	-DSWAP_W1_W2
wait	mutant	-DSWAP_W3_W4
wait	mutant	-DNO_MANY
plumb	states	-DCALLS=1
plumb	states	-DREADERS=1
plumb	states	-DDUP
plumb	states	-DVISIT -DCALLS=1 -DGIVEUPS=0
plumb	states	-DDUP2
plumb	mutant	-DREADERS=1 -DSWAP_P1_P2
plumb	mutant	-DREADERS=1 -DNO_E3
plumb	mutant	-DREADERS=1 -DE3_FILE_ONLY
plumb	mutant	-DREADERS=1 -DNO_QUIESCE
plumb	mutant	-DREADERS=1 -DNO_E7
plumb	mutant	-DDUP -DNO_E5
plumb	mutant	-DVISIT -DCALLS=1 -DP5_HOME_ONLY
plumb	mutant	-DDUP2 -DNO_TABLE_LOCK
merge	states	-DDEATHS=1 -DOPENER -DCLOSER
merge	states	-DOPENER
merge	states	-DCLOSER
merge	mutant	-DNO_NOTE
merge	mutant	-DNOTE_EARLY
merge	mutant	-DSTRIKE_EARLY
merge	mutant	-DNO_SALVAGE
merge	mutant	-DCOUNT_AGAIN
merge	mutant	-DTAKE_A
merge	mutant	-DONCE_DEAD
perim	states	-DN2=1
perim	states	-DSERVICE -DLOOP
perim	states	-DPUSH
perim	states	-DPOP
perim	states	-DOUTSIDE
perim	cycles	-DOUTSIDE
perim	states	-DOPEN
perim	states	-DSHARE -DN2=1
perim	states	-DSHARE -DSERVICE -DN2=1
perim	mutant	-DNO_D3
perim	mutant	-DSWAP_D5
perim	mutant	-DLOSE_PENDING
perim	mutant	-DOVERTAKE
perim	mutant	-DPUSH -DNO_D6
perim	mutant	-DPOP -DHAND_ON_LATE
perim	mutant	-DOPEN -DWITHDRAW_LATE
perim	mutant	-DOPEN -DLOSE_AT_HANDOVER
perim	mutant	-DSHARE -DFORGET_REST
perim	mutant-cycles	-DOUTSIDE -DWAIT_VISITING
'

work=$(mktemp -d "${TMPDIR:-/tmp}/models.XXXXXX")
trap 'cd /; rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cd "$work"

failed=0
searches=0
mutants=0
total=0
began=$(date +%s)

keep()
{
	failed=$((failed + 1))
	[ -n "${KEEP:-}" ] || return 0
	mkdir -p "$KEEP"
	cp search "$KEEP/$failed.search"
	[ ! -e "$model.pml.trail" ] || cp "$model.pml.trail" "$KEEP/$failed.trail"
}

# One search: what pan says goes to the file of that name.
search()
{
	rm -f ./pan* ./*.trail
	cp "$models/$model.pml" .
	case $kind in
	*cycles) how=-DNP also=-l ;;
	*) how=-DSAFETY also= ;;
	esac
	# What -O2 saves the search it costs the compiler several times over.
	case $kind in
	mutant) level='-O0 -DNOCOMP' hash=20 ;;
	mutant-cycles) level=-O0 hash=20 ;;
	*) level=-Og hash=23 ;;
	esac
	# shellcheck disable=SC2086
	spin -a $options "$model.pml" >search 2>&1 &&
		$CC $level -w $how -DMEMLIM=1500 -o pan pan.c >>search 2>&1 &&
		./pan -m20000 -w$hash $also >search 2>&1
}

while read -r model kind options; do
	[ -n "$model" ] || continue
	case " $* " in
	"  " | *" $model "*) ;;
	*) continue ;;
	esac
	name="$model $options"
	if ! search || ! grep -q 'errors: ' search; then
		cat search
		echo "$name: the search itself failed"
		keep
		continue
	fi
	states=$(sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' search)
	mega=$(sed -n 's/^ *\([0-9]*\)[0-9.]*	total actual memory usage.*/\1/p' search)
	total=$((total + states))
	wrong=$(sed -n 's/^pan:[0-9]*: *//p' search)
	case $kind in
	mutant*)
		mutants=$((mutants + 1))
		if [ -z "$wrong" ]; then
			echo "$name: the mutant was not caught"
			keep
			continue
		fi
		case $wrong in
		*'array index'* | *'out of memory'*)
			echo "$name: the mutant broke the model: $wrong"
			keep
			continue
			;;
		esac
		printf '%-58s caught: %s\n' "$name" "$wrong"
		;;
	*)
		searches=$((searches + 1))
		if [ -n "$wrong" ] || ! grep -q 'errors: 0' search ||
			grep -qiE 'not completed|too small|truncated' search; then
			cat search
			echo "$name: WRONG: ${wrong:-the search did not end}"
			keep
			continue
		fi
		printf '%-58s %s: %s states, %s MB\n' "$name" "$kind" "$states" "$mega"
		;;
	esac
done <<END
$runs
END

echo "$searches searches, $mutants mutants, $total states, $failed failed," \
	"$(($(date +%s) - began)) s"
[ $((searches + mutants)) -gt 0 ] && [ $failed = 0 ]
