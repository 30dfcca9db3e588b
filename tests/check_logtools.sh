#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# strerr and strlogtrace: options, bad usage, the classic lines.
set -u
: "${top_builddir:=build/default}"
strerr=$top_builddir/utils/strerr
trace=$top_builddir/utils/strlogtrace
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
status=0

# good SENTENCE CONDITION...
good()
{
	sentence=$1
	shift
	if "$@"; then
		echo "ok - $sentence"
	else
		echo "not ok - $sentence"
		sed 's/^/# /' "$dir/out" "$dir/err"
		status=1
	fi
}

# run STATUS COMMAND...: it ends with that status
run()
{
	want=$1
	shift
	timeout 60 "$@" >"$dir/out" 2>"$dir/err"
	[ $? -eq "$want" ]
}

says() { grep -q -e "$1" "$dir/out"; }
complains() { grep -q -e "$1" "$dir/err"; }
one() # line, of no control characters
{
	complains "$1" && [ "$(wc -l <"$dir/err")" = 1 ] && ! tr -d '\n' <"$dir/err" | grep -q '[[:cntrl:]]'
}
silent() { [ ! -s "$dir/err" ]; }

for tool in "$strerr" "$trace"; do
	name=$(basename "$tool")
	good "$name --help is a success" run 0 "$tool" --help
	good "$name --help goes to the standard output" says "^usage: $name"
	good "$name --version is a success" run 0 "$tool" --version
	good "$name --version prints the library's line" says '^ustreams [0-9]'
	good "$name with an unknown option fails with 2" run 2 "$tool" --nonsense
	good "$name with an unknown option says so in a line" one "--nonsense: no such option; legal: -"
	good "$name -n 0 fails with 2" run 2 "$tool" -n 0
	good "$name -n 0 says what is legal" one "0: not a number; legal: 1 to "
	good "$name -n 3x fails with 2" run 2 "$tool" -n 3x
done

newline=$(printf 'a\033[31mb\nc')
for tool in "$strerr" "$trace"; do
	name=$(basename "$tool")
	good "$name -n alone fails with 2" run 2 "$tool" -n
	good "$name -n alone says why" one "-n: its value is missing"
	for word in "$newline" "--$newline" "-$newline" "-n$newline"; do
		good "$name refuses $(echo "$word" | tr '[:cntrl:]' '?')" run 2 "$tool" "$word"
		good "$name refuses it in a line without control characters" one "^$name: "
	done
	echo noise >"$dir/inst"
	chmod 600 "$dir/inst"
	good "$name in a damaged instance fails with 2" run 2 env USTREAMS_DIR="$dir" "$tool" -I inst
	good "$name in a damaged instance says why" one "instance inst: .* is damaged"
done
good "strerr takes no argument" run 2 "$strerr" x
good "strerr writes what is logged" run 0 "$strerr" -n 1 -w 'disk on fire'
good "the line of strerr is the classic one" \
	says '^[0-9]\{6\} [0-2][0-9]:[0-5][0-9]:[0-6][0-9] [0-9a-f]\{8\}     44 [0-9]* disk on fire$'
good "strerr says nothing else" silent

good "strerr -d appends to a file a day" run 0 "$strerr" -n 1 -d "$dir" -w 'first'
good "strerr -d appends to a file a day again" run 0 "$strerr" -n 1 -d "$dir" -w 'second'
cat "$dir"/error.[01][0-9]-[0-3][0-9] >"$dir/out"
good "the file has both lines" [ "$(grep -c -e ' first$' -e ' second$' "$dir/out")" = 2 ]
good "strerr takes the directory from USTREAMS_LOGDIR" \
	run 0 env USTREAMS_LOGDIR="$dir" "$strerr" -n 1 -w 'third'
cat "$dir"/error.[01][0-9]-[0-3][0-9] >"$dir/out"
good "the file has its line" says ' third$'
good "strerr -d of no directory fails with 1" run 1 "$strerr" -n 1 -d "$dir/none" -w x
good "strerr -d names the file it cannot open" complains "$dir/none/error"
good "a message the administrator need not know runs no command" \
	run 0 "$strerr" -n 1 -c "cat >$dir/told" -w 'quiet'
good "there was no command" [ ! -e "$dir/told" ]

good "strlogtrace prints what is traced" run 0 "$trace" -n 1 -w 'a trace'
good "the line of strlogtrace is the classic one" \
	says '^[0-9]\{6\} [0-2][0-9]:[0-5][0-9]:[0-6][0-9] [0-9a-f]\{8\}  0     44 [0-9]* a trace$'
good "strlogtrace takes triples" run 0 "$trace" -n 1 -w x 1 all all 44 all 0
good "a triple must be whole" run 2 "$trace" 1 2
good "a triple must be whole, it says" complains 'each time'
good "a module number must be one" run 2 "$trace" -- -1 all all
good "a level must not be too high" run 2 "$trace" all all 128
good "control characters do not break the line" run 0 "$trace" -n 1 -w "$(printf 'a\nb\tc\n')"
good "control characters are blanks" says ' a b c$'

timeout -s TERM 2 "$strerr" >"$dir/out" 2>"$dir/err" &
pid=$!
sleep 0.5
kill "$pid" 2>/dev/null
wait "$pid"
good "a signal ends strerr" silent
exit $status
