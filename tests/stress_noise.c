/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stress_noise.c [fork]: instances that the dead left behind, and noise got into.
 *
 * A program makes an instance with streams of every sort and is killed.  Then,
 * some hundred times, the file is written anew as it was and damaged: a page of
 * zeros, of ones, of noise or of another page, a pointer that leads somewhere else,
 * a word that is off, a bit.  A visitor joins, uses what he finds and leaves, and
 * another does it after him; and the tools that look at an instance do.  Each comes to
 * its end in time, by itself: who does not join has one line that says what to do.
 * Noise may say that somebody is at work on a stream, and who opens it waits for him:
 * one or two that do not come to an end, of all, are not a failure, a death is.
 *
 * 300 cases (USTR_STRESS_COUNT), but no longer than 20 s (USTR_STRESS_SECONDS), each time
 * the same (USTR_STRESS_SEED=N: those from N on; make check-crash has others each time).
 * The file of a case that failed is kept; "stress_noise FILE" is a visitor to it, without
 * a parent.  "stress_noise leave DIR N" leaves what is whole as DIR/0/noise and N damaged
 * ones in DIR/1 and so on, for check_toolnoise.sh.
 */
#include "crashlib.h"

#include <dirent.h>
#include <signal.h>
#include <spawn.h>
#include <sys/bufmod.h>
#include <sys/mux.h>
#include <sys/prctl.h>
#include <sys/sad.h>
#include <sys/stat.h>
#include <sys/stream.h>
#include <sys/wait.h>

enum { CASES = 300, SECONDS = 20, PAGE = 4096, LATE_S = 20, REFUSED = 3, STUCK = 2 };

static char dir[64], fifo[80], name[80], file[80];
static unsigned long long seed;
static int stuck; /* visitors */
static bool assertions; /* a debug build: noise that judging cannot see may break one */

static unsigned int
rnd(unsigned int n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned int)(seed >> 33) % n;
}

static void
set_stage(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(dir, sizeof(dir), "%.40s/noiseXXXXXX", tmp != NULL ? tmp : "/tmp");
	if (mkdtemp(dir) == NULL)
		DIE("mkdtemp: %s", strerror(errno));
	snprintf(fifo, sizeof(fifo), "%s/f", dir);
	snprintf(name, sizeof(name), "%s/n", dir);
	snprintf(file, sizeof(file), "%s/noise", dir);
	MUST(mkfifo(fifo, 0600));
	close((int)MUST(open(name, O_CREAT | O_WRONLY, 0600)));
	setenv("USTREAMS_DIR", dir, 1);
	setenv("USTREAMS_INSTANCE", "noise", 1);
}

/* ---- what is left behind --------------------------------------------------------- */

static void
say(int fd, unsigned char band, size_t ctl, size_t data)
{
	static char bytes[100000];
	struct strbuf c = {.len = (int)ctl, .buf = bytes}, d = {.len = (int)data, .buf = bytes};

	MUST(putpmsg(fd, ctl > 0 ? &c : NULL, &d, band, MSG_BAND));
}

/* A pipe with modules on it and messages of all sorts in it, some of them seen. */
static void
fill_pipe(const char *const *modules)
{
	char buf[4];
	int fd[2];

	MUST(str_pipe(fd));
	crash_nonblock(fd);
	for (; *modules != NULL; modules++)
		MUST(str_ioctl(fd[1], I_PUSH, *modules));
	for (int i = 0; i < 3; i++) {
		say(fd[0], 0, 0, 10);
		say(fd[0], (unsigned char)i, 5, 3000);
		say(fd[1], (unsigned char)(2 * i), 0, 100);
	}
	say(fd[0], 0, 0, 50000);
	(void)str_read(fd[1], buf, sizeof(buf));
	MUST(str_ioctl(fd[0], I_SETSIG, S_INPUT | S_BANDURG | S_RDBAND));
	MUST(ustr_trace(fd[0], 16));
	say(fd[1], 0, 3, 20);
}

static void
pass_descriptors(void)
{
	int fd[2], other[2];

	MUST(str_pipe(fd));
	MUST(str_pipe(other));
	MUST(str_ioctl(fd[0], I_SENDFD, other[0]));
	MUST(str_ioctl(fd[0], I_SENDFD, 0));
	MUST(str_close(other[0]));
}

static void
open_devices(void)
{
	static const char *const paths[] = {"/dev/streams/clone/loop", "/dev/streams/clone/loop",
	    "/dev/streams/clone/echo", "/dev/streams/log", "/dev/streams/clone/mux"};
	int fd[5], pipefd[2];

	for (int i = 0; i < 5; i++) {
		fd[i] = (int)MUST(str_open(paths[i], O_RDWR | O_NONBLOCK));
		(void)str_write(fd[i], "anything", 8);
	}
	MUST(str_pipe(pipefd));
	MUST(str_ioctl(fd[4], I_LINK, fd[2]));
	MUST(str_ioctl(fd[4], I_PLINK, pipefd[0]));
	(void)str_write(fd[4], "down", 4);
	(void)str_write(pipefd[1], "up", 2);
}

static void
set_autopush(void)
{
	int sad = (int)MUST(str_open("/dev/streams/sad", O_RDWR));
	struct strapush sap = {.sap_common = {SAP_ALL, 0, 0, 0, 1}};
	struct strioctl ic = {SAD_MAJOR, 0, 5, (char *)"echo"};

	sap.sap_common.apc_major = (unsigned int)MUST(str_ioctl(sad, I_STR, &ic));
	strcpy(sap.sap_list[0], "nullmod");
	MUST(str_ioctl(sad, SAD_SAP, &sap));
}

static void
leave_names(void)
{
	int fd[2], f = (int)MUST(str_open(fifo, O_RDWR | O_NONBLOCK));

	MUST(str_write(f, "in the fifo", 11));
	MUST(str_pipe(fd));
	MUST(str_ioctl(fd[0], I_PUSH, "connld"));
	MUST(fattach(fd[0], name));
}

static void *
sleeper(void *arg)
{
	char c;
	int fd[2];

	(void)arg;
	MUST(str_pipe(fd));
	(void)str_read(fd[0], &c, 1);
	return NULL;
}

/* Everything there is, and killed. */
static void
leave_behind(void)
{
	static const char *const plain[] = {NULL}, *const some[] = {"pipemod", "srvmod", NULL},
	    *const more[] = {"bufmod", "testmod", "nullmod", NULL};
	pthread_t thread;

	signal(SIGPOLL, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	set_autopush();
	fill_pipe(plain);
	fill_pipe(some);
	fill_pipe(more);
	pass_descriptors();
	open_devices();
	leave_names();
	pthread_create(&thread, NULL, sleeper, NULL);
	if (fork() == 0) {
		(void)str_open(fifo, O_RDONLY | O_NONBLOCK);
		kill(getpid(), SIGKILL);
	}
	stress_sleep(100);
	kill(getpid(), SIGKILL);
}

/* ---- noise -------------------------------------------------------------------------- */

static struct image {
	unsigned char *bytes;
	size_t size;
} whole, hurt;

static void
load_image(struct image *im)
{
	int fd = (int)MUST(open(file, O_RDONLY));
	struct stat st;

	MUST(fstat(fd, &st));
	im->size = (size_t)st.st_size;
	im->bytes = malloc(im->size);
	if (im->bytes == NULL || read(fd, im->bytes, im->size) != (ssize_t)im->size)
		DIE("%s cannot be read", file);
	close(fd);
}

/* In the part that is used: from its second page on there is always something. */
static unsigned char *
page(void)
{
	size_t n = *(size_t *)(void *)(whole.bytes + PAGE) / PAGE;

	return hurt.bytes + (size_t)rnd((unsigned int)n) * PAGE;
}

static unsigned long *
word(bool pointer)
{
	for (;;) {
		unsigned long *w = (unsigned long *)(void *)page() + rnd(PAGE / 8);

		if ((char *)w >= (char *)hurt.bytes + PAGE && (pointer ? *w >> 40 == 0x55 : *w != 0))
			return w;
	}
}

static void
zeros(void)
{
	memset(page(), 0, PAGE);
}

static void
ones(void)
{
	memset(page(), 0xff, PAGE);
}

static void
noise(void)
{
	unsigned char *p = page();

	for (int i = 0; i < PAGE; i++)
		p[i] = (unsigned char)rnd(256);
}

static void
other_page(void)
{
	unsigned char *to = page(), *from = page();

	memmove(to, from, PAGE);
}

/* Leads where something else does. */
static void
other_pointer(void)
{
	unsigned long to = *word(true);

	*word(true) = to;
}

static void
near_pointer(void)
{
	*word(true) += (unsigned long)(rnd(40) - 20) * 64;
}

static void
any_pointer(void)
{
	*word(true) = 0x550000000000ul + (unsigned long)rnd((unsigned int)(whole.size / 64)) * 64;
}

static void
wild_pointer(void)
{
	*word(true) = (unsigned long)rnd(1u << 30) << rnd(33);
}

static void
no_pointer(void)
{
	*word(true) = 0;
}

static void
other_word(void)
{
	*word(false) ^= 1ul << rnd(64);
}

static void
more_words(void)
{
	for (int i = 0; i < 20; i++)
		*((unsigned long *)(void *)page() + rnd(PAGE / 8)) = *word(false);
}

static void (*const kinds[])(void) = {zeros, ones, noise, other_page, other_pointer, near_pointer,
    any_pointer, wild_pointer, no_pointer, other_word, more_words};

static void
write_file(const char *path, const struct image *im)
{
	int fd;

	(void)unlink(path);
	fd = (int)MUST(open(path, O_CREAT | O_EXCL | O_WRONLY, 0600));
	if (write(fd, im->bytes, im->size) != (ssize_t)im->size)
		DIE("%s cannot be written", path);
	close(fd);
}

static void
damage(long n)
{
	seed = (unsigned long long)n * 0x9e3779b97f4a7c15ull;
	(void)rnd(2);
	memcpy(hurt.bytes, whole.bytes, whole.size);
	kinds[rnd(sizeof(kinds) / sizeof(kinds[0]))]();
	write_file(file, &hurt);
}

/* Keep the file as the visitor found it. */
_Noreturn static void
failed(long n, const char *who, const char *how, int number)
{
	char path[120];

	snprintf(path, sizeof(path), "%s/case", dir);
	if (hurt.bytes != NULL)
		write_file(path, &hurt);
	DIE("case %ld: %s %s %d; the file was %s", n, who, how, number, path);
}

/* ---- who comes -------------------------------------------------------------------------- */

static void
use(int fd)
{
	char buf[300] = "";
	struct strbuf c = {.maxlen = 100, .buf = buf}, d = {.maxlen = 200, .buf = buf + 100};
	int flags = 0;

	if (fd < 0)
		return;
	(void)str_write(fd, buf, 200);
	for (int i = 0; i < 10; i++)
		(void)str_read(fd, buf, sizeof(buf));
	(void)getmsg(fd, &c, &d, &flags);
	(void)str_ioctl(fd, I_PUSH, "srvmod");
	(void)str_write(fd, buf, 200);
	(void)str_ioctl(fd, I_LIST, NULL);
	(void)str_ioctl(fd, I_FLUSH, FLUSHRW);
	(void)str_ioctl(fd, I_POP, 0);
	(void)str_close(fd);
}

static void
visit(void)
{
	static const char *const paths[] = {"/dev/streams/clone/loop", "/dev/streams/clone/echo",
	    "/dev/streams/clone/mux", "/dev/streams/log", "/dev/streams/loop/1",
	    "/dev/streams/mux/1", "/dev/streams/echo/1"};
	int fd[2];

	if (ustr_tunable("nstrpush") == -1) {
		const char *why = ustr_instancefault();

		if (why == NULL || strstr(why, "instance noise: ") != why)
			DIE("no sentence: %s", why != NULL ? why : strerror(errno));
		_exit(REFUSED);
	}
	use(str_open(fifo, O_RDWR | O_NONBLOCK));
	use(str_open(name, O_RDWR | O_NONBLOCK));
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		use(str_open(paths[i], O_RDWR | O_NONBLOCK));
	for (int i = 0; i < 3 && str_pipe(fd) == 0; i++) {
		crash_nonblock(fd);
		(void)str_ioctl(fd[0], I_PUSH, i == 0 ? "bufmod" : "pipemod");
		for (int n = 1; n < 300000; n *= 3)
			(void)str_write(fd[0], whole.bytes, (size_t)n);
		use(fd[1]);
		use(fd[0]);
	}
	for (unsigned int id = 1; id < 20; id++)
		use(ustr_openid(id));
}

/* A child has to end by itself: its exit status. */
static int
await(pid_t pid, long n, const char *who)
{
	int status;

	for (long until = stress_now() + LATE_S * 1000; waitpid(pid, &status, WNOHANG) != pid;) {
		if (stress_now() > until) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			if (n < 0 || ++stuck > STUCK)
				failed(n, who, "does not end after s", LATE_S);
			printf("case %ld: %s waits for somebody who is not there\n", n, who);
			return REFUSED;
		}
		usleep(1000);
	}
	if (assertions && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT)
		return REFUSED; /* it has said which invariant is broken */
	if (!WIFEXITED(status))
		failed(n, who, "dies of signal", WTERMSIG(status));
	return WEXITSTATUS(status);
}

static int
visitor(long n, const char *who)
{
	pid_t pid = fork();

	if (pid == -1)
		DIE("fork: %s", strerror(errno));
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGPIPE, SIG_IGN);
		signal(SIGPOLL, SIG_IGN);
		visit();
		exit(0);
	}
	return await(pid, n, who);
}

static void
one_case(long n, long *refused)
{
	int status;

	damage(n);
	status = visitor(n, "the first visitor");
	if (status != 0 && status != REFUSED)
		failed(n, "the first visitor", "ends with", status);
	*refused += status == REFUSED;
	(void)visitor(n, "the second visitor");
}

static void
make_scene(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		leave_behind();
	}
	waitpid(pid, &status, 0);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		DIE("the instance could not be made");
	stress_sleep(50);
	load_image(&whole);
	load_image(&hurt);
}

static void
tidy(void)
{
	char path[400];
	struct dirent *de;
	DIR *d = opendir(dir);

	while (d != NULL && (de = readdir(d)) != NULL) {
		snprintf(path, sizeof(path), "%s/%s", dir, de->d_name);
		(void)unlink(path);
	}
	if (d != NULL)
		closedir(d);
	(void)rmdir(dir);
}

/* In DIR, which is there: 0/noise as it was, and n damaged ones from the seed on. */
static int
leave(const char *to, long n, long from)
{
	char path[300];

	set_stage();
	make_scene();
	for (long i = 0; i <= n; i++) {
		snprintf(path, sizeof(path), "%.200s/%ld", to, i);
		MUST(mkdir(path, 0700));
		strcat(path, "/noise");
		if (i > 0)
			damage(from + i - 1);
		write_file(path, i > 0 ? &hurt : &whole);
	}
	tidy();
	return 0;
}

int
main(int argc, char **argv)
{
	const char *first = getenv("USTR_STRESS_SEED");
	long n = first != NULL ? atol(first) : 1, from = n;
	long most = stress_count(CASES), refused = 0, end;
	bool threads, forks;

	if (argc == 4 && strcmp(argv[1], "leave") == 0)
		return leave(argv[2], atol(argv[3]), from);
	if (argc > 1 && strchr(argv[1], '/') != NULL) {
		set_stage();
		strcpy(file, argv[1]);
		load_image(&whole);
		snprintf(file, sizeof(file), "%s/noise", dir);
		write_file(file, &whole);
		visit();
		tidy();
		return 0;
	}
	if (!stress_modes(argc, argv, &threads, &forks) || !forks)
		return 77;
	assertions = strstr(ustr_version(), "debug=0") == NULL;
	set_stage();
	make_scene();
	if (visitor(-1, "the visitor of what is whole") != 0)
		DIE("what is whole is refused");
	for (end = stress_now() + stress_ms_or(SECONDS); n < from + most && stress_now() < end; n++)
		one_case(n, &refused);
	printf("%ld cases from %ld on, %ld refused\n", n - from, from, refused);
	tidy();
	return 0;
}
