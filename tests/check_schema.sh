#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What strperf and strcompare print as JSON follows share/strperf.schema.json, also
# when they are interrupted; and the validator notices what does not.
set -eu
: "${top_builddir:=.}" "${top_srcdir:=.}"
strperf=$top_builddir/utils/strperf
strcompare=$top_builddir/utils/strcompare
valid=$top_builddir/tests/jsonvalid
schema=$top_srcdir/share/strperf.schema.json

if [ ! -x "$strperf" ] || [ ! -x "$valid" ]; then
	echo "skipped: strperf or tests/jsonvalid was not built"
	exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
checks=0
failures=0
mode=process
if "$strperf" --version | grep -q heap=malloc || [ -n "${USTR_TEST_THREADS_ONLY:-}" ]; then
	mode=thread
fi

result()
{
	checks=$((checks + 1))
	if [ "$1" != "$2" ]; then
		failures=$((failures + 1))
		echo "FAILED: $3: status $1, not $2"
		head -n 3 "$work/err"
	fi
}

# follows STATUS WHAT COMMAND...: it ends so, and what it printed follows the schema.
follows()
{
	want=$1
	what=$2
	shift 2
	status=0
	"$@" >"$work/out.json" 2>"$work/err" || status=$?
	result $status "$want" "$what"
	status=0
	"$valid" "$schema" "$work/out.json" >>"$work/err" 2>&1 || status=$?
	result $status 0 "$what: schema"
	if [ $status != 0 ]; then tail -n 1 "$work/err"; fi
}

# refuted WHAT SED-SCRIPT: the last output, changed so, does not follow it.
refuted()
{
	sed "$2" "$work/out.json" >"$work/bad.json"
	status=0
	"$valid" "$schema" "$work/bad.json" 2>"$work/err" || status=$?
	result $status 1 "$1"
}

quick="--mode $mode --duration 0.2 --interval 0.1"
# shellcheck disable=SC2086 # lists of options
{
	follows 0 "compare of builds" "$strperf" compare --json --rounds 4 --mode $mode \
		--interval 0.02 --sizes 64 "$strperf" "$strperf"
	follows 0 "pipe" "$strperf" pipe --json $quick --sizes 1,64 --peers pipe,none
}
refuted "another schema" 's/"schema":1,/"schema":2,/'
refuted "another program" 's/"tool":"strperf"/"tool":"strace"/'
refuted "a missing member" 's/"interrupted":/"disrupted":/'
refuted "a wrong type" 's/"size":64/"size":"64"/'
refuted "a word that is none of those" 's/"better":"higher"/"better":"larger"/'
refuted "a negative count" 's/"bad":0/"bad":-1/'
refuted "an interval of one number" 's/"ci95":\[[^],]*,/"ci95":[/'
refuted "no JSON" 's/}$//'

seq 1 12 >"$work/a"
seq 3 14 >"$work/b"
echo 5 >"$work/c"
follows 0 "numbers" "$strcompare" --json -c 99 "$work/a" "$work/b" "$work/c"
follows 0 "one set" "$strcompare" --json "$work/a"
follows 0 "rr" "$strperf" rr --json -i 3,3 --duration 0.1 --mode $mode
follows 0 "mem" "$strperf" mem --json --sizes 64 --rounds 3 -n 2000
follows 0 "open" "$strperf" open --json --duration 0.1
status=0
"$strperf" selftest --json --repeat 2 --rounds 6 --interval 0.02 --delay 50 --mode $mode \
	>"$work/out.json" 2>"$work/err" || status=$?
[ $status = 1 ] || result $status 0 "selftest"
status=0
"$valid" "$schema" "$work/out.json" 2>"$work/err" || status=$?
result $status 0 "selftest: schema"

# Ctrl-C: whole JSON, which says so.
for command in "pipe --mode $mode" "compare --mode $mode $strperf $strperf" \
	"selftest --mode $mode"; do
	# shellcheck disable=SC2086
	"$strperf" $command --json >"$work/out.json" 2>"$work/err" &
	pid=$!
	sleep 2
	kill -INT $pid
	status=0
	wait $pid || status=$?
	result $status 130 "$command, interrupted"
	status=0
	"$valid" "$schema" "$work/out.json" 2>"$work/err" || status=$?
	result $status 0 "$command, interrupted: schema"
	grep -q '"interrupted":true' "$work/out.json" || result no yes "$command: interrupted"
done

# Commits, interrupted while the first one is built: nothing is known of either.
if command -v git >/dev/null; then
	program=$(realpath "$strperf")
	mkdir "$work/project"
	cd "$work/project"
	git init -q .
	echo : >autogen.sh
	printf '#!/bin/sh\nexec sleep 30\n' >configure
	chmod +x autogen.sh configure
	git add .
	git -c user.name=test -c user.email=test@example.org commit -q -m one
	"$program" compare HEAD HEAD --json >"$work/out.json" 2>"$work/err" &
	pid=$!
	cd - >/dev/null
	sleep 2
	kill -INT $pid
	status=0
	wait $pid || status=$?
	result $status 130 "commits, interrupted"
	status=0
	"$valid" "$schema" "$work/out.json" 2>"$work/err" || status=$?
	result $status 0 "commits, interrupted: schema"
fi

echo "$checks checks, $failures failed"
[ $failures = 0 ]
