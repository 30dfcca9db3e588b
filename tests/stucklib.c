/* SPDX-License-Identifier: BSD-2-Clause */
/* stucklib.c: what stucklib.h promises. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "stucklib.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#ifdef __GLIBC__
#include <execinfo.h>
#endif
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <ustreams_look.h>

#define WHO "USTR_STUCK" /* set: this process is the one that tells; of whom */

enum { MOST = 64, ENTRIES = 500, PATIENCE_S = 60 };

static pid_t owner; /* who set the alarm */

/* ---- in the stuck program ------------------------------------------------------ */

/* For addr2line, where there is no gdb. */
static void
print_callers(void)
{
#ifdef __GLIBC__
	void *at[64];

	backtrace_symbols_fd(at, backtrace(at, 64), STDERR_FILENO);
#endif
}

/*
 * Have another process tell; it begins anew, for here any lock may be held, of malloc
 * too.  Nothing is shared with it but the memory until it has begun.
 */
static void
have_told(void)
{
	static char name[] = "stuck", word[32], *env[ENTRIES + 2];
	static char *args[] = {name, NULL};
	int n = 0;
	pid_t pid;

	snprintf(word, sizeof(word), WHO "=%d", (int)owner);
	while (n < ENTRIES && environ[n] != NULL) {
		env[n] = environ[n];
		n++;
	}
	env[n] = word;
	pid = vfork();
	if (pid == 0) {
		execve("/proc/self/exe", args, env);
		_exit(1);
	}
	while (pid > 0 && waitpid(pid, NULL, 0) == -1 && errno == EINTR)
		;
}

static void
ring(int sig)
{
	static const char line[] = "stuck: the time is up; the main thread is in\n";
	sigset_t mine;

	if (getpid() != owner)
		return;
	if (syscall(SYS_gettid) != owner) {
		(void)syscall(SYS_tgkill, owner, owner, sig);
		return;
	}
	(void)!write(STDERR_FILENO, line, sizeof(line) - 1);
	print_callers();
	have_told();
	signal(sig, SIG_DFL);
	sigemptyset(&mine);
	sigaddset(&mine, sig);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &mine, NULL);
}

void
stuck_alarm(unsigned int seconds)
{
	if (owner != getpid()) {
		owner = getpid();
		sigaction(SIGALRM, &(struct sigaction){.sa_handler = ring}, NULL);
#ifdef __GLIBC__
		void *first[1];

		(void)backtrace(first, 1); /* it loads code when it is first called */
#endif
	}
	alarm(seconds);
}

/* ---- who is told of ---------------------------------------------------------------- */

static pid_t who[MOST];
static int nwho;

static void
add(pid_t pid)
{
	for (int i = 0; i < nwho; i++)
		if (who[i] == pid)
			return;
	if (nwho < MOST && pid != getpid())
		who[nwho++] = pid;
}

/* Up to n bytes of a file of /proc, a line of them, or "". */
static void
slurp(char *buf, size_t n, const char *fmt, ...)
{
	char path[128];
	ssize_t got = -1;
	va_list ap;
	int fd;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		got = read(fd, buf, n - 1);
		close(fd);
	}
	buf[got > 0 ? got : 0] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
}

static pid_t
parent_of(pid_t pid)
{
	char buf[512], *p;
	int ppid = 0;

	slurp(buf, sizeof(buf), "/proc/%d/stat", (int)pid);
	p = strrchr(buf, ')');
	return p != NULL && sscanf(p + 1, " %*c %d", &ppid) == 1 ? (pid_t)ppid : 0;
}

/* All that descend from those who are there, in one round: were there any new? */
static bool
add_children(void)
{
	DIR *dir = opendir("/proc");
	struct dirent *de;
	int before = nwho;

	while (dir != NULL && (de = readdir(dir)) != NULL) {
		pid_t pid = isdigit((unsigned char)de->d_name[0]) ? atoi(de->d_name) : 0;
		pid_t parent = pid > 0 ? parent_of(pid) : 0;

		for (int i = 0; i < nwho; i++)
			if (parent == who[i])
				add(pid);
	}
	if (dir != NULL)
		closedir(dir);
	return nwho > before;
}

/* ---- what is told ------------------------------------------------------------------- */

static void
tell_threads(pid_t pid)
{
	char path[64], stat[512], call[256], wchan[64], *p;
	struct dirent *de;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir != NULL && (de = readdir(dir)) != NULL) {
		int tid = isdigit((unsigned char)de->d_name[0]) ? atoi(de->d_name) : 0;

		if (tid == 0)
			continue;
		slurp(stat, sizeof(stat), "/proc/%d/task/%d/stat", (int)pid, tid);
		slurp(call, sizeof(call), "/proc/%d/task/%d/syscall", (int)pid, tid);
		slurp(wchan, sizeof(wchan), "/proc/%d/task/%d/wchan", (int)pid, tid);
		p = strrchr(stat, ')');
		fprintf(stderr, "stuck: process %d thread %d: state %c, %s, call %s\n", (int)pid,
		    tid, p != NULL && p[1] == ' ' ? p[2] : '?', wchan, call);
	}
	if (dir != NULL)
		closedir(dir);
}

static void
tell_callers(pid_t pid)
{
	char number[32];
	int status;
	pid_t gdb;

	snprintf(number, sizeof(number), "%d", (int)pid);
	gdb = fork();
	if (gdb == 0) {
		dup2(STDERR_FILENO, STDOUT_FILENO);
		execlp("gdb", "gdb", "-q", "-batch", "-p", number, "-ex", "thread apply all bt full",
		    (char *)NULL);
		_exit(127);
	}
	while (gdb > 0 && waitpid(gdb, &status, 0) == -1 && errno == EINTR)
		;
}

static void
tell_streams(const struct ustr_view *v)
{
	for (unsigned int i = 0; i < v->v_nprocesses; i++) {
		const struct ustr_view_process *vp = &v->v_processes[i];

		fprintf(stderr, "stuck: process %d (%s), state %d: %u threads, %u asleep in a call, %u at work\n",
		    (int)vp->vp_pid, vp->vp_program, vp->vp_state, vp->vp_threads, vp->vp_asleep,
		    vp->vp_inside);
	}
	for (unsigned int i = 0; i < v->v_nstreams; i++) {
		const struct ustr_view_stream *vs = &v->v_streams[i];

		fprintf(stderr, "stuck: stream %u, state %#x, held by thread %d, its group by %d\n",
		    vs->vs_id, vs->vs_state, (int)vs->vs_holder, (int)vs->vs_plumber);
		(void)ustr_view_draw(vs, stderr);
	}
}

/* Descriptor fd of process pid to the file path: bytes, or 0. */
static long
copy(pid_t pid, int fd, const char *path)
{
	char from[64], buf[65536];
	long sum = 0;
	ssize_t n;
	int in, out;

	snprintf(from, sizeof(from), "/proc/%d/fd/%d", (int)pid, fd);
	in = open(from, O_RDONLY | O_CLOEXEC);
	out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	while (in >= 0 && out >= 0 && (n = pread(in, buf, sizeof(buf), sum)) > 0 &&
	    write(out, buf, (size_t)n) == n)
		sum += n;
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	return sum;
}

/* The arena is the memory file or, of an instance, the file that lies below its name. */
static void
keep_arena(pid_t pid)
{
	const char *tmp = getenv("TMPDIR");
	char link[64], target[256], path[256];
	long n = 0;

	snprintf(path, sizeof(path), "%s/stuck.%d.arena", tmp != NULL ? tmp : "/tmp", (int)pid);
	for (int fd = 0; fd < 1024 && n == 0; fd++) {
		ssize_t len;

		snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int)pid, fd);
		len = readlink(link, target, sizeof(target) - 1);
		target[len > 0 ? len : 0] = '\0';
		if (strncmp(target, "socket", 6) != 0 && strstr(target, "ustreams") != NULL)
			n = copy(pid, fd, path);
	}
	if (n > 0)
		fprintf(stderr, "stuck: %ld bytes of the arena are kept: strdump -f %s\n", n, path);
	else
		fprintf(stderr, "stuck: the arena could not be kept as %s\n", path);
}

static void
tell(pid_t pid)
{
	char fault[USTR_LOOK_FAULT];
	struct ustr_look *lk;
	struct ustr_view *v;

	add(pid);
	lk = ustr_look_process(pid, fault, sizeof(fault));
	v = lk != NULL ? ustr_look_take(lk) : NULL;
	for (unsigned int i = 0; v != NULL && i < v->v_nprocesses; i++)
		add(v->v_processes[i].vp_pid);
	while (add_children())
		;
	for (int i = 0; i < nwho; i++)
		tell_threads(who[i]);
	if (v != NULL)
		tell_streams(v);
	else
		fprintf(stderr, "stuck: process %d: %s\n", (int)pid,
		    lk == NULL ? fault : strerrorname_np(errno));
	keep_arena(pid);
	for (int i = 0; i < nwho; i++)
		tell_callers(who[i]);
	ustr_view_free(v);
	ustr_look_close(lk);
}

/* Before main, which knows nothing of this. */
__attribute__((constructor)) static void
tell_if_asked(void)
{
	const char *s = getenv(WHO);
	pid_t pid = s != NULL ? atoi(s) : 0;

	if (pid <= 0)
		return;
	unsetenv(WHO);
	signal(SIGALRM, SIG_DFL);
	sigprocmask(SIG_SETMASK, &(sigset_t){0}, NULL);
	alarm(PATIENCE_S); /* its own end, should gdb be stuck as well */
	setvbuf(stderr, NULL, _IOLBF, 0);
	tell(pid);
	_exit(0);
}
