#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Instances that cannot be had: one line that names what was found, where, and what
# to do; exit status 2; nothing touched; and nobody who is in one is harmed.
# shellcheck disable=SC2086 # $as and $other are several words
set -eu
: "${top_srcdir:=.}" "${top_builddir:=.}" "${USTR_TEST_THREADS_ONLY:=}"
tools=$top_builddir/utils
nocache=$top_builddir/no-cache/.libs
if [ ! -x "$tools/strconf" ] || [ ! -x "$tools/strtest" ]; then
	echo "skipped: bad instances: the tools were not built"
	exit 77
fi
if [ -n "$USTR_TEST_THREADS_ONLY" ] || "$tools/strconf" --version | grep -q heap=malloc; then
	echo "skipped: bad instances: this build shares no streams"
	exit 77
fi
work=$(mktemp -d)
member=
# shellcheck disable=SC2317 # called by the trap
tidy()
{
	[ -z "$member" ] || kill "$member" 2>/dev/null || :
	rm -rf "$work"
}
trap tidy EXIT
USTREAMS_DIR=$work/dir
export USTREAMS_DIR
unset USTREAMS_INSTANCE USTREAMS_GROUP
mkdir "$USTREAMS_DIR"
file=$USTREAMS_DIR/inst
checks=0
failures=0
skipped=

fail()
{
	failures=$((failures + 1))
	echo "FAILED: $what: $*"
	sed 's/^/	| /' "$work/out" "$work/err" | head -n 5
}

# try WHAT COMMAND...: leaves $status, $work/out and $work/err.
try()
{
	what=$1
	shift
	status=0
	timeout 60 "$@" >"$work/out" 2>"$work/err" || status=$?
}

works()
{
	checks=$((checks + 1))
	[ "$status" = 0 ] || fail "exit status $status"
	[ ! -s "$work/err" ] || fail "says something on stderr"
}

# refuses PATTERN [STATUS]
refuses()
{
	checks=$((checks + 1))
	[ "$status" = "${2:-2}" ] || fail "exit status $status, not ${2:-2}"
	grep -qE "$1" "$work/err" || fail "no '$1' on stderr"
	[ "$(wc -l <"$work/err")" = 1 ] || fail "not one line on stderr"
	[ ! -s "$work/out" ] || fail "prints something"
}

# Everything that joins says the same.
all_refuse()
{
	try "$1: autopush" "$tools/autopush" -I inst -g -M echo -m 0
	refuses "^autopush: instance inst: .*$2"
	try "$1: strconf" "$tools/strconf" -I inst echo
	refuses "^strconf: instance inst: .*$2"
	printf 'case "a" {\n\tpipe a b\n}\n' >"$work/a.st"
	try "$1: strtest" "$tools/strtest" -I inst "$work/a.st"
	refuses "^strtest: instance inst: .*$2"
}

make_it()
{
	rm -rf "$file"
	"$tools/strerr" -I inst -n 1 -w made >/dev/null
	[ -f "$file" ]
}

# Nothing may have been written to it.
unchanged()
{
	checks=$((checks + 1))
	[ "$(cksum <"$file")" = "$before" ] || fail "the file was changed"
}
note()
{
	before=$(cksum <"$file")
}

# ---- names, and nothing there ------------------------------------------------------

newline='a
b'
for name in a/b ../inst .inst 'a b' '' "$newline"; do
	try "name '$name'" "$tools/strconf" -I "$name" echo
	refuses '^strconf: instance ".*": not a name; legal: '
	try "name '$name'" "$tools/strls" -I "$name"
	refuses '^strls: instance ".*": not a name; legal: '
	try "name '$name'" "$tools/strcat" -I "$name" /dev/streams/clone/echo
	refuses "^strcat: -I: '.*' is no name of an instance; legal: "
done
try "a name of 65 characters" "$tools/strconf" -I "$(printf '%065d' 0)" echo
refuses 'not a name; legal: '
try "nothing there" "$tools/strconf" -I inst echo
refuses "there is none; looked for $file, /run/user/$(id -u)/inst.*, /dev/shm/ustreams-$(id -u)/inst"
try "nothing to remove" "$tools/strclean" -i inst
refuses "there is none; looked for $file, "
try "no such directory" env USTREAMS_DIR="$work/nowhere" "$tools/strerr" -I inst -n 1 -w x
refuses "USTREAMS_DIR=$work/nowhere: No such file or directory"

# ---- damaged -------------------------------------------------------------------------

make_it
try "a good one" "$tools/strconf" -I inst echo
works
for size in 0 100 4095 8000 12288 600000; do
	make_it
	truncate -s "$size" "$file"
	note
	all_refuse "cut to $size bytes" "is damaged \(truncated.*strclean (-f )?-i inst"
	unchanged
done
size=$(stat -c %s "$file")
for at in 0 1 2 4 8; do
	make_it
	dd if=/dev/urandom of="$file" bs=4096 seek="$at" count=8 conv=notrunc 2>/dev/null
	note
	all_refuse "noise from page $at" "is damaged \(.*strclean (-f )?-i inst"
	unchanged
done
make_it
at=$(grep -abo pipemod "$file" | tail -n 1 | cut -d: -f1) # in a table of a module
head -c 64 /dev/urandom | dd of="$file" bs=64 seek=$((at / 64)) conv=notrunc 2>/dev/null
note
all_refuse "noise over a module's table" "is damaged \(.*strclean -i inst"
unchanged
make_it
printf '\377' | dd of="$file" bs=1 seek=100 conv=notrunc 2>/dev/null
note
all_refuse "one byte of the header" "checksum of its header is wrong"
unchanged
make_it
head -c "$(stat -c %s "$file")" /dev/urandom >"$work/noise"
cat "$work/noise" >"$file"
all_refuse "noise all over" "the mark at its beginning is not there.*strclean -f -i inst"
try "removing noise" "$tools/strclean" -i inst
refuses "does not begin as an instance does.*-f removes it" 1
try "removing noise by force" "$tools/strclean" -i inst -f
works
checks=$((checks + 1))
[ ! -e "$file" ] || fail "it is still there"

# ---- of others --------------------------------------------------------------------------

make_it
mv "$file" "$work/real"
ln -s "$work/real" "$file"
all_refuse "a symbolic link" "is a symbolic link"
rm "$file"
mkdir "$file"
all_refuse "a directory" "no ordinary file"
rmdir "$file"
mkfifo "$file"
all_refuse "a FIFO" "no ordinary file"
rm "$file"
ln "$work/real" "$file"
all_refuse "two names" "has 2 names"
rm "$work/real"
try "one name again" "$tools/strconf" -I inst echo
works
chmod 0644 "$file"
all_refuse "readable by all" "has mode 0644, not 0600 or 0660"
chmod 0600 "$file"
if [ "$(id -u)" = 0 ] && chown 65534 "$file" 2>/dev/null; then
	all_refuse "of another user" "belongs to user 65534, not to user 0"
	try "removing another user's" "$tools/strclean" -i inst -f
	refuses "belongs to user 65534" 1
	chown 0 "$file"
else
	skipped="$skipped another user's file (needs root);"
fi
# Members of a group, if all say so.
if [ "$(id -u)" = 0 ] && as="setpriv --reuid 54321 --regid 54321 --groups 54323" &&
	$as test -x "$tools/autopush" 2>/dev/null; then
	mkdir "$work/group"
	chmod 755 "$work"
	chown 0:54323 "$work/group"
	chmod 2770 "$work/group"
	other="setpriv --reuid 54322 --regid 54322 --groups 54323 env USTREAMS_DIR=$work/group"
	as="$as env USTREAMS_DIR=$work/group"
	try "a group of another" $as USTREAMS_GROUP=0 "$tools/strerr" -I all -n 1 -w x
	refuses "USTREAMS_GROUP=0: the process is not in that group"
	try "no group" $as USTREAMS_GROUP=nosuch "$tools/strerr" -I all -n 1 -w x
	refuses "USTREAMS_GROUP=nosuch: no such group"
	try "made for a group" $as USTREAMS_GROUP=54323 "$tools/strerr" -I all -n 1 -w x
	checks=$((checks + 1))
	[ "$(stat -c '%a %u %g' "$work/group/all")" = "660 54321 54323" ] || fail "mode or owner"
	try "joined by a member" $other USTREAMS_GROUP=54323 "$tools/strerr" -I all -n 1 -w x
	checks=$((checks + 1))
	[ "$status" = 0 ] || fail "exit status $status"
	try "by a member who did not say so" $other "$tools/strconf" -I all echo
	refuses "belongs to user 54321, not to user 54322"
else
	skipped="$skipped groups (needs root and setpriv);"
fi
# The library without caches has the name of the other one.
if [ -e "$nocache/libustreams.so.0" ] && ldd "$tools/.libs/strconf" >/dev/null 2>&1; then
	note
	try "another build" env LD_LIBRARY_PATH="$nocache" "$tools/.libs/strconf" -I inst echo
	refuses "is of a library built with .*buffer_cache=yes.*, this one with buffer_cache=no"
	unchanged
elif [ -e "$nocache/libustreams.so.0" ]; then
	note
	try "another build" env LD_PRELOAD="$nocache/libustreams.so.0" "$tools/strconf" -I inst echo
	refuses "is of a library built with .*buffer_cache=yes.*, this one with buffer_cache=no"
	unchanged
else
	skipped="$skipped another build (no library without caches);"
fi

# ---- removed, while somebody is in it ---------------------------------------------------------

# A member that goes on with its own pipe for longer than a busy machine needs for three
# tools, and tells how it went.
cat >"$work/member.st" <<'END'
case "goes on" {
	pipe a b
	repeat 500 {
		write a "hello"
		read b 100 -> 5 data="hello"
		sleep 10ms
	}
}
END
start_member()
{
	"$tools/strtest" --timeout 60 -I inst "$work/member.st" >"$work/member.out" 2>&1 &
	member=$!
	i=0
	while [ "$i" -lt 100 ] && ! grep -q ":$(stat -c %i "$file") " /proc/locks; do
		i=$((i + 1))
		sleep 0.05
	done
}
member_ends_well()
{
	checks=$((checks + 1))
	wait "$member" || fail "the member ends with $?: $(cat "$work/member.out")"
	member=
}

make_it
start_member
try "removing what is in use" "$tools/strclean" -i inst
refuses "is in use by [12] process.*-f takes the name away" 1
rm -rf "$USTREAMS_DIR"
mkdir "$USTREAMS_DIR"
try "the directory wiped" "$tools/strconf" -I inst echo
refuses "there is none"
try "who goes on without the name" "$tools/strls"
checks=$((checks + 1))
grep -qE "^- .* strtest +.* in use, removed: was $file \(deleted\)" "$work/out" || fail "not listed"
try "the same name at once" "$tools/strerr" -I inst -n 1 -w x
checks=$((checks + 1))
[ "$status" = 0 ] || fail "exit status $status"
try "the new one" "$tools/strconf" -I inst echo
works
member_ends_well
make_it
start_member
try "removing by force" "$tools/strclean" -i inst -f
works
member_ends_well
make_it
start_member
[ -e "$file" ] && dd if=/dev/urandom of="$file" bs=4096 count=1 conv=notrunc 2>/dev/null
all_refuse "noise over the header, in use" "the mark at its beginning is not there"
member_ends_well
rm -f "$file"

# ---- cut short, while tools take part in it or look at it ---------------------------------------

# lasting NAME COMMAND...: in the background; ended NAME PATTERN STATUS: what became of it.
lasting()
{
	name=$1
	shift
	(
		status=0
		timeout 60 "$@" >"$work/$name.out" 2>"$work/$name.err" </dev/null || status=$?
		echo "$status" >"$work/$name.status"
	) &
}
ended()
{
	what="cut short under it: $1"
	i=0
	while [ "$i" -lt 600 ] && [ ! -s "$work/$1.status" ]; do
		i=$((i + 1))
		sleep 0.05
	done
	status=$(cat "$work/$1.status" 2>/dev/null || echo none)
	grep -v ': waiting for ' "$work/$1.err" >"$work/err" || :
	: >"$work/out"
	refuses "$2" "${3:-2}"
}
all_in()
{
	"$tools/strls" inst >"$work/list" 2>&1
	for name; do
		grep -qE "^ *[0-9]+ +[a-z-]*$name" "$work/list" || return 1
	done
}
mkfifo "$work/fifo"
# The last time strcat makes it: nothing has that name when it is mapped.
for size in 0 8192 4096; do
	make_it
	[ "$size" != 4096 ] || rm -f "$file"
	cut="$file was cut short while this program was in it.*strclean -f -i inst"
	lasting strcat "$tools/strcat" -I inst -r "$work/fifo"
	i=0
	while [ "$i" -lt 200 ] && [ ! -e "$file" ]; do
		i=$((i + 1))
		sleep 0.05
	done
	lasting strtap "$tools/strtap" -I inst
	lasting strperf "$tools/strperf" read -I inst --wait 50 --json /dev/streams/fifo/7
	i=0
	while [ "$i" -lt 200 ] && ! all_in strcat strtap strperf; do
		i=$((i + 1))
		sleep 0.05
	done
	lasting strstat "$tools/strstat" -I inst -i 0.1
	lasting tapfile "$tools/strtap" -f "$file"
	i=0
	while [ "$i" -lt 200 ] && [ ! -s "$work/strstat.out" ]; do
		i=$((i + 1))
		sleep 0.05
	done
	truncate -s "$size" "$file"
	ended strcat "^strcat: $cut" 1
	ended strtap "^strtap: $cut" 2
	ended strperf "strperf: $cut" 1
	ended strstat "^strstat: instance inst: it is damaged, or was cut short"
	ended tapfile "^strtap: $file: (it is damaged, or was cut short|.* too short|.* shorter)"
	rm -f "$work"/*.status "$work"/*.out
	wait
done
rm -f "$file"

# What else lies in such a directory is nobody's business; a bad instance is.
make_it
for damage in "bs=4096 count=1" "bs=4096 count=2" "bs=$size count=1"; do
	# shellcheck disable=SC2086 # several words
	dd if=/dev/urandom of="$file" conv=notrunc $damage 2>/dev/null
	try "a list with $damage of noise" "$tools/strls"
	checks=$((checks + 1))
	grep -q '^inst .*damaged, or no instance' "$work/out" || fail "a damaged instance is not listed"
done
for size in 0 5 100 8192; do
	make_it
	truncate -s "$size" "$file"
	try "a list, cut to $size" "$tools/strls"
	checks=$((checks + 1))
	grep -q '^inst .*damaged, or no instance' "$work/out" || fail "a damaged instance is not listed"
done
make_it
chmod 640 "$file"
touch "$USTREAMS_DIR/other.lock"
chmod 640 "$USTREAMS_DIR/other.lock"
ln -s "$work/elsewhere" "$USTREAMS_DIR/link"
try "a list" "$tools/strls"
checks=$((checks + 1))
grep -q '^inst .*not permitted' "$work/out" || fail "a bad instance is not listed"
! grep -qE '^(other.lock|link) ' "$work/out" || fail "other files are listed"
rm -f "$file" "$USTREAMS_DIR/other.lock" "$USTREAMS_DIR/link"

# ---- a small or full file system ------------------------------------------------------------------

if unshare -m true 2>/dev/null; then
	mkdir "$work/mnt"
	cat >"$work/small.sh" <<'END'
mount -t tmpfs -o size="$1" none "$2/mnt" || exit 99
[ "$3" = 0 ] || head -c "$3" /dev/zero >"$2/mnt/fill"
USTREAMS_DIR=$2/mnt
export USTREAMS_DIR
shift 3
exec "$@"
END
	try "a file system of 256 KiB" unshare -m sh "$work/small.sh" 256k "$work" 0 \
		"$tools/autopush" -I inst -g -M echo -m 0
	if [ "$status" = 99 ]; then
		skipped="$skipped small file systems (no mount);"
	else
		refuses "instance inst: $work/mnt is full \(0 MiB in all, .*remount,size=.*USTREAMS_DIR"
		try "a full one" unshare -m sh "$work/small.sh" 4m "$work" 4100000 \
			"$tools/autopush" -I inst -g -M echo -m 0
		refuses "instance inst: $work/mnt is full \(4 MiB in all, .*remount,size=.*USTREAMS_DIR"
		try "no more files" unshare -m sh "$work/small.sh" 4m,nr_inodes=2 "$work" 10 \
			"$tools/autopush" -I inst -g -M echo -m 0
		refuses "instance inst: $work/mnt holds as many files as it may: .*nr_inodes=.*USTREAMS_DIR"
		try "64 MiB" unshare -m sh "$work/small.sh" 64m "$work" 0 \
			"$tools/strerr" -I inst -n 1 -w x
		checks=$((checks + 1))
		[ "$status" = 0 ] || fail "exit status $status"
	fi
else
	skipped="$skipped small file systems (no name spaces);"
fi
checks=$((checks + 1))
what="ulimit -f"
(ulimit -f 100 && exec timeout 60 "$tools/autopush" -I small -g -M echo -m 0) \
	>"$work/out" 2>"$work/err" && status=0 || status=$?
refuses "larger than the process may make a file \(ulimit -f\)"

echo "$checks checks, $failures failures${skipped:+; skipped:$skipped}"
[ "$failures" = 0 ]
