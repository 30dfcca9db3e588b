#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# strcompare: the digits of ministat on the same numbers, what it says about bad
# input, the exit statuses of --fail-if, git bisect, results of strperf and pictures.
set -eu
: "${top_builddir:=.}" "${top_srcdir:=.}"
pages=$(cd "$top_srcdir" && pwd)/doc
strcompare=$(cd "$top_builddir" && pwd)/utils/strcompare
strperf=$(cd "$top_builddir" && pwd)/utils/strperf

if [ ! -x "$strcompare" ]; then
	echo "skipped: strcompare was not built"
	exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
checks=0
failures=0

pass()
{
	checks=$((checks + 1))
}

# fail WHAT: and show what the last run said.
fail()
{
	checks=$((checks + 1))
	failures=$((failures + 1))
	echo "FAILED: $*"
	[ ! -e err ] || sed 's/^/	| /' err | head -n 5
}

# run ARGUMENT...: leaves $status, out and err.
run()
{
	status=0
	"$strcompare" "$@" >out 2>err </dev/null || status=$?
}

# expect STATUS WHAT
expect()
{
	if [ "$status" = "$1" ]; then
		pass
	else
		fail "$2: exit status $status, not $1"
	fi
}

# says TEXT WHAT: stderr contains the text.
says()
{
	if grep -qF -e "$1" err; then
		pass
	else
		fail "$2: no '$1' on stderr"
	fi
}

# prints TEXT WHAT: stdout contains the text.
prints()
{
	if grep -qF -e "$1" out; then
		pass
	else
		fail "$2: no '$1' on stdout"
		sed 's/^/	> /' out | head -n 20
	fi
}

# numbers SEED SETS LARGEST: files f1, f2, ... of normal numbers, 3 to LARGEST of
# them each; the mean is at most 1000 deviations from zero, so that sums of squares
# keep their digits.  Columns: a word, the number, a comment.
numbers()
{
	awk -v seed="$1" -v sets="$2" -v largest="$3" '
	function normal() { return sqrt(-2 * log(1 - rand())) * cos(6.283185307 * rand()) }
	BEGIN {
		srand(seed)
		for (set = 1; set <= sets; set++) {
			n = 3 + int(rand() * (largest - 2))
			width = 10 ^ (rand() * 3 - 1)
			centre = width * (2 + rand() * 8)
			for (i = 0; i < n; i++) {
				x = centre + width * normal() + (set - 1) * width * rand()
				printf("%.6f\n", x) >("f" set)
				printf("run,%.6f # %d\n", x, i) >("g" set)
			}
		}
	}'
}

# same OPTION... FILE...: strcompare begins as ministat does, pictures left out.
same()
{
	ministat "$@" >want 2>/dev/null || :
	run "$@"
	grep -v '^[|+]' want >want.digits || :
	grep -v '^[|+]' out | head -n "$(wc -l <want.digits)" >got.digits
	if [ -s want.digits ] && cmp -s want.digits got.digits; then
		pass
	else
		fail "other digits than ministat $*"
		diff want.digits got.digits | head -n 6
	fi
}

# same_picture OPTION... FILE...: all that ministat prints.
same_picture()
{
	ministat "$@" >want
	run "$@"
	if head -n "$(wc -l <want)" out | cmp -s want -; then
		pass
	else
		fail "another picture than ministat $*"
		diff want out | head -n 12
	fi
}

# ---- ministat as the oracle ------------------------------------------------------
if command -v ministat >/dev/null; then
	seed=0
	while [ $seed -lt 60 ]; do
		seed=$((seed + 1))
		rm -f f[0-9] g[0-9]
		sets=$((seed % 6 + 2))
		numbers $seed $sets $((seed % 4 == 0 ? 120 : 15))
		files=$(echo f[0-9])
		level=$(echo 80 90 95 98 99 99.5 | cut -d' ' -f$((seed % 6 + 1)))
		# shellcheck disable=SC2086 # lists of files
		case $((seed % 8)) in
		0) same -c $level -n $files ;;
		1) same -c $level -A $files ;;
		2) same -c $level -s -w 40 $files ;;
		3) same -c $level -d ', ' -C 2 $(echo g[0-9]) ;;
		*) same -c $level $files ;;
		esac
	done
	# A line of the table of t for each number of degrees, and beyond its end.
	n=3
	while [ $n -lt 56 ]; do
		awk -v n=$n 'BEGIN { srand(n); for (i = 0; i < n; i++) {
			print 10 + rand() >"f1"; print 20 + rand() >"f2" } }'
		for level in 80 90 95 98 99 99.5; do
			same -A -c $level f1 f2
		done
		n=$((n + 4))
	done
	# ministat cuts off what is higher than its last set: no two values in a cell.
	awk 'BEGIN { for (i = 0; i < 8; i++) { print i * i >"f1"; print i * 9 + 4 >"f2"
		print i * 5 + 2.2 >"f3" } }'
	same_picture f1
	same_picture f1 f2
	same_picture -s f1 f2 f3
	same_picture -w 60 f3 f2 f1
	same_picture f1 f1
	yes 4 | head -n 5 >f4
	same_picture f4 f4
else
	echo "ministat is missing (Debian package: ministat): digits are not compared"
fi

# ---- what only strcompare says ------------------------------------------------------
seq 1 20 | awk '{ print 100 + $1 % 7 }' >a
seq 1 20 | awk '{ print 103 + $1 * 3 % 20 }' >b
run -c 97.3 a b
expect 0 "an unusual confidence"
prints "at 97.3% confidence" "an unusual confidence"
run -c 99.9% a b
expect 0 "a confidence with its sign"
run a b
prints "Mann-Whitney: U = " "the rank test"
prints "Welch's t: " "Welch's interval for unequal variances"
seq 1 40 >up
run up
prints "neighbouring samples are correlated" "a drift"
awk 'BEGIN { srand(5); for (i = 0; i < 40; i++) print rand() + (rand() < 0.5 ? 10 : 0) }' >heaps
run heaps
prints "the samples lie in two heaps" "two heaps"
awk 'BEGIN { srand(7); for (i = 0; i < 40; i++) print rand() + rand() + rand() }' >good
run good
if grep -q warning: out; then fail "a good sample is suspected"; else pass; fi
status=0
"$strcompare" <a >out 2>err || status=$?
expect 0 "standard input"
prints "x <stdin>" "standard input"
status=0
"$strcompare" b - <a >out 2>err || status=$?
expect 0 "standard input beside a file"

# ---- bad input ------------------------------------------------------------------------
printf '1\n2\nfast\n4\n' >bad
run bad
expect 2 "not a number"
says "bad, line 3: 'fast' is not a number" "not a number"
printf '1\nnan\n' >bad
run bad
expect 2 "nan"
says "line 2: 'nan'" "nan"
printf '# remark\n\n5 x # y\n6 y\n' >few
run few a
expect 0 "two samples"
prints "few: 2 samples; fewer than 3 prove nothing" "two samples"
prints "x   2             5             6" "two samples"
: >empty
run empty a
expect 0 "no sample"
prints "empty: 0 samples" "no sample"
for level in 79.9 99.91 0 -5 x ''; do
	run -c "$level" a b
	expect 2 "-c $level"
	says "80 to 99.9" "-c $level"
done
run /nonexistent/file a
expect 2 "no such file"
says "/nonexistent/file" "no such file"
run -C 0 a
expect 2 "-C 0"
run -w 2 a
expect 2 "-w 2"
run --plot p.pdf a b
expect 2 "a picture of an unknown kind"
says ".svg or .png" "a picture of an unknown kind"
run a b a b a b a b
expect 2 "eight sets"
run --frob a
expect 2 "an unknown option"
echo '{"schema":1,' >broken.json
run broken.json a
expect 2 "broken JSON"
says "broken.json, line " "broken JSON"
echo '{"a":1}' >other.json
run other.json a
expect 2 "other JSON"

# ---- --fail-if ---------------------------------------------------------------------------
# gate STATUS LIMIT FILE FILE [OPTION...]
gate()
{
	want=$1
	limit=$2
	shift 2
	run --fail-if "$limit" "$@"
	expect "$want" "--fail-if $limit $*"
}
awk 'BEGIN { for (i = 0; i < 20; i++) { print 100 + i % 3 >"t100"; print 102 + i % 3 >"t102"
	print 110 + i % 3 >"t110"; print 100 + (i * 7 % 20) >"wide" } }'
gate 1 'slower>3%' t100 t110
gate 0 'slower>3%' t110 t100
gate 1 'faster>3%' t110 t100
gate 1 'slower > 3 %' t100 t110 -n
gate 0 'slower>3%' t100 t110 --rates
gate 1 'faster>3%' t100 t110 --rates
gate 0 'slower>12%' t100 t110
gate 3 'slower>9.9%' t100 t110
gate 0 'slower>3%' t100 t100
gate 0 'slower>3%' t100 t102
gate 1 'higher>5' t100 t110
gate 0 'higher>50' t100 t110
gate 1 'lower>5' t110 t100
gate 1 'different>5' t110 t100
gate 1 'different>5' t100 t110
gate 3 'slower>3%' few t110
gate 2 'slower' t100 t110
gate 2 'slower>x' t100 t110
gate 2 'slower>-1%' t100 t110
gate 2 'worse>3%' t100 t110
gate 2 'slower>3%' t100 bad
run --bisect --fail-if 'slower>9.9%' t100 t110
expect 125 "--bisect, undecided"
run --bisect --fail-if 'slower>3%' t100 t110
expect 1 "--bisect, exceeded"
run --bisect --fail-if 'slower>3%' t100 bad
expect 128 "--bisect, no use going on"

# Ten commits, of which the seventh made it slow.
if command -v git >/dev/null; then
	git init -q repo
	(
		cd repo
		git config user.name test
		git config user.email test@example.org
		i=0
		while [ $i -lt 10 ]; do
			i=$((i + 1))
			awk -v i=$i 'BEGIN { for (k = 0; k < 20; k++)
				print (i < 7 ? 100 : 110) + (k * 7 + i) % 5 }' >times
			git add times
			git commit -q -m "commit $i"
		done
		git bisect start HEAD HEAD~9
		git bisect run "$strcompare" -n --bisect --fail-if 'slower>3%' \
			../t100 times
		git bisect log
	) >bisect.log 2>&1 || :
	if grep -q '^# first bad commit: .* commit 7$' bisect.log; then
		pass
	else
		fail "git bisect run did not find commit 7"
		tail -n 20 bisect.log
	fi
fi

# ---- results of strperf ---------------------------------------------------------------------
# result SAMPLE...: one of 64 bytes on stdout.
result()
{
	printf '{"tool":"strperf","command":"pipe","schema":1,"results":[{"subject":"ustreams",'
	printf '"size":%s,"metric":"msgs_per_s","better":"higher","samples":[%s]}]}\n' "$1" "$2"
}
result 64 100,101,102,103 >r1.json
result 64 90,91,92,93 >r2.json
result 4096 90,91,92,93 >r3.json
run r1.json r2.json
expect 0 "two results"
prints "ustreams, 64 bytes (msgs_per_s)" "two results"
gate 1 'slower>3%' r1.json r2.json
gate 0 'slower>3%' r2.json r1.json
run r1.json r3.json
expect 2 "results of different sizes"
says "nothing was measured in all of them" "results of different sizes"
says "r3.json: ustreams, 4096 bytes (msgs_per_s)" "results of different sizes"
run r1.json t100
expect 0 "a result and numbers"
run --select 4096 r1.json r2.json
expect 2 "--select of nothing"
run --csv r1.json r2.json
expect 0 "--csv"
if [ "$(awk -F'"' '{ $2 = ""; print }' out | awk -F, '{ print NF }' | sort -u | wc -l)" = 1 ] &&
	[ "$(wc -l <out)" = 2 ]; then pass; else fail "--csv: not two lines of equal length"; fi
run --raw r1.json r2.json
if [ "$(awk '{ n++; s += $1 } END { print n, s }' out)" = "8 772" ]; then pass; else fail "--raw"; fi
grep '^[0-9.]* b ' out >raw.b
run raw.b r2.json
prints "No difference proven" "--raw is read again"

# ---- pictures -----------------------------------------------------------------------------------
if command -v gnuplot >/dev/null && command -v xmllint >/dev/null; then
	run --plot p.svg t100 t110
	expect 0 "--plot p.svg"
	if xmllint --noout p.svg 2>err && grep -q t100 p.svg && grep -q t110 p.svg; then
		pass
	else
		fail "the picture is no XML or lacks its labels"
	fi
	run --plot p.png r1.json r2.json
	expect 0 "--plot p.png"
	if [ "$(head -c 4 p.png | tail -c 3)" = PNG ]; then pass; else fail "p.png is no PNG"; fi
	run --plot /nonexistent/p.svg t100 t110
	expect 2 "a picture that cannot be written"
else
	echo "gnuplot or xmllint is missing: pictures are not drawn"
fi
mkdir bin
for tool in sed grep; do ln -s "$(command -v $tool)" bin; done
status=0
PATH=$work/bin "$strcompare" --plot q.svg t100 t110 >out 2>err || status=$?
expect 0 "without gnuplot"
says "gnuplot is not installed" "without gnuplot"

# ---- builds -----------------------------------------------------------------------------------------
mode=process
if "$strperf" --version | grep -q heap=malloc || [ -n "${USTR_TEST_THREADS_ONLY:-}" ]; then
	mode=thread
fi
run "$strperf" t100
expect 2 "a build and numbers"
run --rounds 4 --mode $mode --interval 0.02 --sizes 64 "$strperf" "$strperf"
expect 0 "two builds"
prints "B over A" "two builds"
run --rounds 2 --json --mode $mode --interval 0.02 --sizes 1,64 \
	"$strperf" "$strperf" "$strperf" -- pipe --push ''
expect 0 "three builds"
if [ "$(grep -o '"of":"[bc]"' out | sort | uniq -c | tr -d ' \n')" = '2"of":"b"2"of":"c"' ]; then
	pass
else
	fail "three builds: not two results of b and of c each"
fi


# ---- commits: of a project that "builds" strperf, in the second of them a slow one ------------
if command -v git >/dev/null; then
	mkdir tmp project
	(
		cd project
		git init -q .
		git config user.name test
		git config user.email test@example.org
		echo ':' >autogen.sh
		cat >configure <<-'END'
			#!/bin/sh
			[ "$1" = --fail ] && exit 1
			printf 'utils/strperf:\n\tmkdir utils; cp ../../program utils/strperf\n' >Makefile
		END
		chmod +x autogen.sh configure
		printf '#!/bin/sh\nexec "$STRPERF" "$@"\n' >program
		chmod +x program
		git add .
		git commit -q -m one
		# shellcheck disable=SC2016 # for the program
		printf '#!/bin/sh\n[ "$1" = pipe ] && shift && set -- pipe --plant-delay 90 "$@"\nexec "$STRPERF" "$@"\n' >program
		git commit -q -a -m two
	)
	cd project
	STRPERF=$strperf TMPDIR=$work/tmp
	export STRPERF TMPDIR
	# A busy machine may hide even that much: then with more pairs.
	for rounds in 8 16 32; do
		status=0
		"$strperf" compare HEAD~1 HEAD --mode $mode --sizes 64 --interval 0.03 \
			--rounds $rounds --metric cpu_us_per_msg --fail-if 'slower>10%' \
			>../out 2>../err || status=$?
		[ $status != 1 ] || break
	done
	cd ..
	expect 1 "two commits, the second one slower"
	prints "B over A" "two commits"
	cd project
	status=0
	"$strperf" compare HEAD~1 HEAD --configure --fail --bisect >../out 2>../err || status=$?
	cd ..
	expect 1 "a commit that cannot be built"
	# While the first is built, asked for its version, and measured.
	for late in 0.1 0.3 0.6 0.9 1.5; do
		(cd project && exec "$strperf" compare HEAD~1 HEAD --mode $mode) >out 2>err &
		pid=$!
		turns=0
		until grep -q building err || [ $turns = 500 ]; do
			turns=$((turns + 1))
			sleep 0.02
		done
		sleep $late
		kill -INT $pid
		status=0
		wait $pid || status=$?
		expect 130 "commits, interrupted after $late s"
	done
	if [ -z "$(ls tmp)" ] && [ "$(git -C project worktree list | wc -l)" = 1 ]; then
		pass
	else
		fail "work trees are left behind"
		ls tmp
	fi
	unset TMPDIR
	cd project
	run HEAD nonesuch
	cd ..
	expect 2 "no such commit"
fi

# ---- the examples of the manual ----------------------------------------------------------------
awk '/^\$ / { on = 1 } /^\.Ed/ { on = 0 } on' "$pages/strcompare.1" >example
sed -n 's/^\$ //p' example >example.sh
grep -v '^\$ ' example >example.want
if [ -s example.sh ] && PATH=$(dirname "$strcompare"):$PATH sh example.sh >out 2>err &&
	cmp -s out example.want; then
	pass
else
	fail "the example of strcompare(1) prints something else"
	diff example.want out | head -n 5
fi
sed -n 's/^\.Dl strperf selftest/strperf selftest --mode '$mode'/p' "$pages/strperf-selftest.1" >example.sh
status=0
PATH=$(dirname "$strperf"):$PATH sh -e example.sh >out 2>err || status=$?
expect 0 "the example of strperf-selftest(1)"
prints "passed" "the example of strperf-selftest(1)"

echo "$checks checks, $failures failed"
[ $failures = 0 ]
