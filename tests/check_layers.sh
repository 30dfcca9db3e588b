#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The layering test.
#
#   streams/   a file includes headers of its own or lower levels only (table)
#   modules/, drivers/
#              <sys/...> of ours and system headers; <sys/strsubr.h> only the
#              ones that are part of the stream head's business
#   utils/     public headers, and utils' own in quotes
#   include/   nothing of the framework; <sys/strsubr.h> nowhere
set -eu
: "${top_srcdir:=.}"
cd "$top_srcdir"

# level and the stems of its files, bottom to top; x_* stands for x_...
levels='
0 plat plat_*
1 slot stat ticks timerq trace uio instfile instmake
2 lock wait bell
3 arena claim heap
4 cache
5 msg msg_* msgutil msgext kmem
6 queue qtrace qfields flow band runq sched
7 callout bufcall
8 callback errand group perim putnext plumb
9 registry strlog conf modload autopush link
10 head head_* calls streamio receive fd file instance furnish judge judge_* proc procfork process reap orphan salvage suspect helper sigdue sigreg tune dump ustreams
10 uses node passfd passfp look look_*
'
head_drivers='pipe fifo sad log clone connld'
# Our headers that are not below sys/.
own_headers='stropts.h ustreams.h ustreams_look.h'

for file in streams/*.[ch] modules/*.[ch] drivers/*.[ch] utils/*.[ch] \
	include/*.h include/sys/*.h; do
	[ -e "$file" ] && echo "$file"
done | LEVELS="$levels" HEAD_DRIVERS="$head_drivers" OWN="$own_headers" awk '
# The level of a stem, or -1.
function level_of(stem,   i)
{
	if (stem in level)
		return level[stem]
	for (i in prefix)
		if (index(stem, i) == 1)
			return prefix[i]
	return -1
}

function stem_of(path)
{
	sub(/.*\//, "", path)
	sub(/\.[ch]$/, "", path)
	return path
}

function complain(text)
{
	print file ":" line ": " text
	bad++
}

function check_streams(quoted, name,   mine, theirs)
{
	mine = level_of(stem_of(file))
	if (!quoted) {
		if (name ~ /^(streams|modules|drivers|utils|tests)\// || ("streams/" name) in exists)
			complain("<" name ">: a header of streams/ is written in quotes")
		return
	}
	if (name == "config.h") {
		if (mine != 0)
			complain("config.h belongs to level 0 only")
		return
	}
	if (name ~ /\// || name !~ /\.h$/) {
		complain("\"" name "\" is no header of streams/")
		return
	}
	theirs = level_of(stem_of(name))
	if (theirs < 0)
		complain("\"" name "\" has no level in tests/check_layers.sh")
	else if (theirs > mine)
		complain("level " mine " includes \"" name "\" of level " theirs)
}

function check_module(quoted, name)
{
	if (quoted)
		complain("\"" name "\": modules and drivers include only <sys/...>")
	else if (name in own || name ~ /^(streams|modules|drivers|utils|tests)\//)
		complain("<" name ">: modules and drivers include only <sys/...>")
	else if (name == "sys/strsubr.h" && !(stem_of(file) in head_driver))
		complain("<sys/strsubr.h> is only for" names)
}

function check_util(quoted, name)
{
	if (quoted) {
		if (!(("utils/" name) in exists))
			complain("\"" name "\" is no header of utils/")
	} else if (name == "sys/strsubr.h" || name ~ /^(streams|modules|drivers|tests)\//)
		complain("<" name "> is not public")
}

function check_header(quoted, name)
{
	if (quoted)
		complain("\"" name "\": public headers include with <...>")
	else if (name == "sys/strsubr.h")
		complain("<sys/strsubr.h> is not installed")
	else if (name ~ /^(streams|modules|drivers|utils|tests)\//)
		complain("<" name "> is not installed")
}

function check_include(text,   quoted, name)
{
	quoted = text ~ /^[ \t]*#[ \t]*include(_next)?[ \t]*"/
	name = text
	sub(/^[^<"]*[<"]/, "", name)
	sub(/[>"].*/, "", name)
	includes++
	if (file ~ /^streams\//)
		check_streams(quoted, name)
	else if (file ~ /^(modules|drivers)\//)
		check_module(quoted, name)
	else if (file ~ /^utils\//)
		check_util(quoted, name)
	else
		check_header(quoted, name)
}

BEGIN {
	rows = split(ENVIRON["LEVELS"], row, "\n")
	for (r = 1; r <= rows; r++) {
		words = split(row[r], word, " ")
		for (w = 2; w <= words; w++) {
			if (sub(/\*$/, "", word[w]))
				prefix[word[w]] = word[1] + 0
			else
				level[word[w]] = word[1] + 0
		}
	}
	split(ENVIRON["HEAD_DRIVERS"], word, " ")
	for (w in word) {
		head_driver[word[w]] = 1
		names = names " " word[w]
	}
	split(ENVIRON["OWN"], word, " ")
	for (w in word)
		own[word[w]] = 1
}

{ exists[$0] = 1 }

END {
	for (file in exists) {
		files++
		line = 0
		if (file ~ /^streams\// && level_of(stem_of(file)) < 0)
			complain("has no level in tests/check_layers.sh")
		while ((getline text < file) > 0) {
			line++
			if (text ~ /^[ \t]*#[ \t]*include(_next)?[ \t]*[<"]/)
				check_include(text)
		}
		close(file)
	}
	printf "%d files, %d includes, %d against the layers\n", files, includes, bad
	exit bad > 0
}'
