#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The scripts of tests/conformance, which go through the contract sentence by
# sentence, as they are and with the memory of the program checked
# (USTREAMS_CHECK=1).  Each case is a line of the results.
set -u
: "${top_srcdir:=.}" "${top_builddir:=.}" "${TEST_LAUNCHER:=}"

strtest=$top_builddir/utils/strtest
if [ ! -x "$strtest" ]; then
	echo "skipped: conformance: $strtest was not built"
	exit 77
fi
STRTEST_SLOW=${CK_TIMEOUT_MULTIPLIER:-1}
export STRTEST_SLOW
cpus=$(nproc 2>/dev/null || echo 1)
cd "$top_srcdir" || exit 1

status=0
began=$(date +%s)
for checked in 0 1; do
	echo "# USTREAMS_CHECK=$checked"
	# shellcheck disable=SC2086 # no word, or several
	USTREAMS_CHECK=$checked $TEST_LAUNCHER "$strtest" --timeout 60 -j $((2 * cpus)) tests/conformance || status=1
done
echo "# $(($(date +%s) - began)) seconds"
exit $status
