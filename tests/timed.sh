#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# usage: timed.sh SECONDS COMMAND...
#
# Run a test, ending it with all its children after so many seconds, and print
# at the end of its log what it took:
#	# took 12.3 s, 4.5 s of CPU
set -u
limit=$1
shift

read -r began _ </proc/uptime
timeout -k 10 "$limit" "$@"
status=$?
read -r ended _ </proc/uptime
# Fields 16 and 17, in hundredths: user and system time of the children.
read -r _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ user system _ </proc/$$/stat
echo | awk "{ printf \"# took %.1f s, %.1f s of CPU\n\", $ended - $began, ($user + $system) / 100 }"
[ "$status" != 124 ] || echo "# ended after $limit s: timed out"
exit $status
