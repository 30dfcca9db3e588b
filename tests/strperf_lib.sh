# shellcheck shell=sh
# SPDX-License-Identifier: BSD-2-Clause
# strperf_lib.sh: what the tests of strperf's commands share; sourced by them.
# STRPERF names another program to test.
strperf=${STRPERF:-$top_builddir/utils/strperf}

if [ ! -x "$strperf" ]; then
	echo "skipped: strperf: $strperf was not built"
	exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
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
	sed 's/^/	| /' "$work/err" | head -n 5
}

# run ARGUMENT...: leaves $status, $work/out and $work/err.
run()
{
	status=0
	"$strperf" "$@" >"$work/out" 2>"$work/err" || status=$?
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
	if grep -qF -e "$1" "$work/err"; then
		pass
	else
		fail "$2: no '$1' on stderr"
	fi
}

# prints TEXT WHAT: stdout contains the text.
prints()
{
	if grep -qE -e "$1" "$work/out"; then
		pass
	else
		fail "$2: no '$1' on stdout"
	fi
}

# refuses NAME ARGUMENT...: status 2, nothing on stdout, one line that names NAME.
refuses()
{
	name=$1
	shift
	run "$@"
	expect 2 "strperf $*"
	says "$name" "strperf $*"
	says "legal" "strperf $*"
	if [ -s "$work/out" ] || [ "$(wc -l <"$work/err")" != 1 ]; then
		fail "strperf $*: not exactly one line, on stderr"
	else
		pass
	fi
}

# json EXPRESSION WHAT: $work/out is JSON, and the expression about it, j, and its
# results, r, holds.
json()
{
	[ -n "$python" ] || return 0
	if "$python" - "$work/out" "$1" >>"$work/err" 2>&1 <<-'END'; then
		import json, sys
		j = json.load(open(sys.argv[1]))
		r = j["results"]
		sys.exit(0 if eval("(" + sys.argv[2] + ")") else "does not hold: " + sys.argv[2])
	END
		pass
	else
		fail "$2"
		tail -n 1 "$work/err"
	fi
}

python=$(command -v python3 || :)
[ -n "$python" ] || echo "python3 is missing: JSON is not checked"
