#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# usage: totals.sh BUILD_DIR...
#
# Sum the results that "make check" left in the build directories.  A Check
# program counts as its cases, from the line it ends with:
#	100%: Checks: 12, Failures: 0, Errors: 0
# and its cases that did nothing say so on lines "skipped: ...".  A test that
# speaks the Test Anything Protocol counts as its lines
#	ok 3 - sentence
# and "not ok", and a line with "# SKIP" as skipped.  Any other test, and a
# program that died before that line, counts as one.  Prints
#	N passed, N failed, N skipped
# and fails when a test failed or when nothing ran.
set -eu

for dir; do
	for trs in "$dir"/tests/*.trs; do
		[ -e "$trs" ] && echo "$trs"
	done
done | awk '
{
	trs = $0
	log_ = trs
	sub(/\.trs$/, ".log", log_)
	result = "ERROR"
	while ((getline line < trs) > 0)
		if (line ~ /^:global-test-result:/)
			result = substr(line, 22)
	close(trs)

	cases = 0
	bad = 0
	skips = 0
	while ((getline line < log_) > 0) {
		if (line ~ /^[0-9]+%: Checks: [0-9]+, Failures: [0-9]+, Errors: [0-9]+/) {
			split(line, part, /[^0-9]+/)
			cases += part[2]
			bad += part[3] + part[4]
		} else if (line ~ /^skipped: /)
			skips++
		else if (line ~ /^(not )?ok [0-9]+ - /) {
			cases++
			bad += line ~ /^not /
			skips += line ~ /^ok .* # SKIP/
		}
	}
	close(log_)

	if (cases > 0 && (result == "PASS" || bad > 0)) {
		if (skips > cases - bad)
			skips = cases - bad
		passed += cases - bad - skips
		failed += bad
		skipped += skips
	} else if (result == "PASS" || result == "XFAIL")
		passed++
	else if (result == "SKIP")
		skipped++
	else
		failed++
}

END {
	printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
	exit failed > 0 || passed == 0
}'
