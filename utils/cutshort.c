/* SPDX-License-Identifier: BSD-2-Clause */
/* cutshort.c: the signal of cutshort.h. */
#include "cutshort.h"
#include "oneline.h"

#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

static struct {
	const char *program;
	int status;
	atomic_flag caught;
} self = {.caught = ATOMIC_FLAG_INIT};

/*
 * Who made an instance mapped a file that had no name yet, and is shown none: it is
 * looked for where it lies.  False: it has none any more.
 */
static bool
named(char *path, size_t size, unsigned long ino)
{
	char *deleted = strstr(path, " (deleted)"), *slash = strrchr(path, '/');
	const struct dirent *e;
	bool found = false;
	DIR *d;

	if (deleted == NULL || slash == path)
		return true;
	*deleted = *slash = '\0';
	d = opendir(path);
	*slash++ = '/';
	while (d != NULL && !found && (e = readdir(d)) != NULL)
		if ((found = e->d_ino == ino))
			snprintf(slash, size - (size_t)(slash - path), "%s", e->d_name);
	if (d != NULL)
		closedir(d);
	return found;
}

/*
 * The file mapped at that address, or "".  The signal is this thread's own, raised by a
 * touch of the arena and never inside of libc, so stdio may be used.
 */
static void
file_at(uintptr_t at, char *path, size_t size, unsigned long *ino)
{
	char line[PATH_MAX + 128];
	unsigned long from, to;
	int n;
	FILE *f = fopen("/proc/self/maps", "re");

	*path = '\0';
	while (f != NULL && *path == '\0' && fgets(line, sizeof(line), f) != NULL) {
		n = 0;
		if (sscanf(line, "%lx-%lx %*s %*s %*s %lu %n", &from, &to, ino, &n) == 3 &&
		    n > 0 && at >= from && at < to && line[n] == '/')
			snprintf(path, size, "%.*s", (int)strcspn(line + n, "\n"), line + n);
	}
	if (f != NULL)
		fclose(f);
}

__attribute__((format(printf, 1, 2))) static void
complain(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	oneline(self.program, fmt, ap);
	va_end(ap);
}

static void
caught(int sig, siginfo_t *si, void *context)
{
	char path[PATH_MAX];
	unsigned long ino = 0;

	(void)context;
	while (atomic_flag_test_and_set(&self.caught)) /* another thread says it, and ends this */
		pause();
	if (si->si_code == BUS_ADRERR)
		file_at((uintptr_t)si->si_addr, path, sizeof(path), &ino);
	if (si->si_code != BUS_ADRERR || *path == '\0') {
		signal(sig, SIG_DFL);
		raise(sig);
		return;
	}
	if (named(path, sizeof(path), ino))
		complain("%s was cut short while this program was in it, and what it held is "
			 "lost; end all programs that are in it, and remove it with strclean -f -i %s",
		    path, strrchr(path, '/') + 1);
	else
		complain("%s was removed, and cut short while this program was in it, and what it "
			 "held is lost; start the programs that are in it anew",
		    path);
	_exit(self.status);
}

void
cutshort_begin(const char *program, int status)
{
	struct sigaction sa = {.sa_sigaction = caught, .sa_flags = SA_SIGINFO};

	self.program = program;
	self.status = status;
	sigaction(SIGBUS, &sa, NULL);
}
