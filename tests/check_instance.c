/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_instance.c: programs that are no relatives meet in an instance by its
 * name.  Each "program" is a child that was forked before anybody used the
 * library: it brings the library up for itself.
 */
#include "headlib.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <ustreams_look.h>

static char dir[64], fifo[80];

static void
prepare(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(dir, sizeof(dir), "%.40s/instXXXXXX", tmp != NULL ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(fifo, sizeof(fifo), "%s/f", dir);
	ck_assert_int_eq(mkfifo(fifo, 0600), 0);
	setenv("USTREAMS_DIR", dir, 1);
	setenv("USTREAMS_INSTANCE", "meeting", 1);
}

static void
tidy(void)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	ck_assert_int_eq(system(command), 0);
}

static void *
shared(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(p, MAP_FAILED);
	return p;
}

/* ---- programs ----------------------------------------------------------------- */

/* Ends with 0, or with 1 after a line: nothing of Check may run here. */
static pid_t
program(void (*fn)(void *), void *arg)
{
	pid_t pid;

	fflush(NULL); /* what Check has to say; who exits would say it again */
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		alarm(300);
		fn(arg);
		exit(0);
	}
	return pid;
}

static int
ended(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

static void
run(void (*fn)(void *), void *arg)
{
	ck_assert_int_eq(ended(program(fn, arg)), 0);
}

static int
must_open(const char *path, int oflag)
{
	int fd = str_open(path, oflag);

	if (fd == -1) {
		const char *why = ustr_instancefault();

		fprintf(stderr, "%s: %s; %s\n", path, ename(errno), why != NULL ? why : "");
		exit(1);
	}
	return fd;
}

static void
puts_hello(void *path)
{
	int fd = must_open(path, O_WRONLY);

	NEED(str_write(fd, "hello", 5) == 5);
	NEED(str_close(fd) == 0);
}

static void
gets_hello(void *path)
{
	char buf[16];
	int fd = must_open(path, O_RDONLY);

	NEED(str_read(fd, buf, sizeof(buf)) == 5 && memcmp(buf, "hello", 5) == 0);
	NEED(str_read(fd, buf, sizeof(buf)) == 0);
	NEED(str_close(fd) == 0);
}

static int
patiently(const char *path)
{
	int fd = -1;

	for (int i = 0; i < 1000 && fd == -1; i++) {
		fd = str_open(path, O_RDWR);
		usleep(fd == -1 ? 10000 : 0);
	}
	return fd;
}

/* ---- meeting -------------------------------------------------------------------- */

START_TEST(two_programs_meet_at_a_fifo_of_the_instance)
{
	bool reader_first = _i;
	pid_t first, second;

	prepare();
	first = program(reader_first ? gets_hello : puts_hello, fifo);
	usleep(50000);
	second = program(reader_first ? puts_hello : gets_hello, fifo);
	ck_assert_int_eq(ended(first), 0);
	ck_assert_int_eq(ended(second), 0);
	tidy();
}
END_TEST

static void
attaches(void *path)
{
	char buf[16];
	int fd[2];

	NEED(str_pipe(fd) == 0);
	NEED(str_ioctl(fd[1], I_PUSH, "srvmod") == 0);
	NEED(fattach(fd[1], path) == 0);
	NEED(str_close(fd[1]) == 0);
	NEED(str_read(fd[0], buf, sizeof(buf)) == 5 && memcmp(buf, "hello", 5) == 0);
	NEED(str_write(fd[0], "world", 5) == 5);
	NEED(fdetach(path) == 0);
}

static void
talks(void *path)
{
	char buf[16];
	int fd = patiently(path);

	NEED(fd >= 0);
	NEED(str_write(fd, "hello", 5) == 5);
	NEED(str_read(fd, buf, sizeof(buf)) == 5 && memcmp(buf, "world", 5) == 0);
}

START_TEST(two_programs_meet_at_a_name_with_a_stream_attached)
{
	char name[100];
	pid_t server;

	prepare();
	snprintf(name, sizeof(name), "%s/name", dir);
	ck_assert_int_eq(close(open(name, O_CREAT | O_WRONLY, 0600)), 0);
	server = program(attaches, name);
	run(talks, name);
	ck_assert_int_eq(ended(server), 0);
	tidy();
}
END_TEST

static void
opens_a_device(void *arg)
{
	(void)arg;
	must_open("/dev/streams/clone/echo", O_RDWR);
	pause();
}

START_TEST(an_instance_outlives_the_killed_and_the_next_member_buries_them)
{
	struct stat st;
	char file[100];
	pid_t pid[8];

	prepare();
	snprintf(file, sizeof(file), "%s/meeting", dir);
	for (int i = 0; i < 8; i++)
		pid[i] = program(opens_a_device, NULL);
	usleep(300000);
	for (int i = 0; i < 8; i++) {
		kill(pid[i], SIGKILL);
		ck_assert_int_eq(ended(pid[i]), SIGKILL);
	}
	ck_assert_int_eq(stat(file, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0600);
	run(puts_hello, "/dev/streams/clone/nuls");
	tidy();
}
END_TEST

/* Lives in the instance, asleep, alone. */
static void
lingers(void *arg)
{
	atomic_int *there = arg;
	char c;
	int fd[2];

	NEED(str_pipe(fd) == 0);
	atomic_store(there, 1);
	(void)str_read(fd[0], &c, 1);
	fprintf(stderr, "nobody wrote to it: %s\n", ename(errno));
	exit(1);
}

/* Asking brings the library up. */
static void
has_points(void *arg)
{
	(void)arg;
	_exit(ustr_tune("crashpoint", 0) != 0);
}

/* Is killed at its n-th marked point, where there are any; else at any time. */
static void
just_comes(void *arg)
{
	(void)ustr_tune("crashpoint", *(int *)arg);
	(void)ustr_tunable("nstrpush");
	pause();
}

/* How many the instance has a place for. */
static unsigned int
places(void)
{
	char fault[USTR_LOOK_FAULT] = "";
	struct ustr_look *lk = ustr_look_instance("meeting", fault, sizeof(fault));
	struct ustr_view *v;
	unsigned int n;

	ck_assert_msg(lk != NULL, "%s", fault);
	v = ustr_look_take(lk);
	ck_assert_ptr_nonnull(v);
	n = v->v_nprocesses;
	ustr_view_free(v);
	ustr_look_close(lk);
	return n;
}

START_TEST(a_lone_member_sees_to_those_who_were_killed_before_they_were_in)
{
	enum { VICTIMS = 30, PATIENCE = 10000, LOOK = 20 };
	bool points;
	atomic_int *there;
	pid_t lone;

	prepare();
	points = ended(program(has_points, NULL)) == 0;
	there = shared(sizeof(*there));
	lone = program(lingers, there);
	while (!atomic_load(there))
		usleep(1000);
	for (int n = 1; n <= VICTIMS; n++) {
		pid_t pid = program(just_comes, &n);

		usleep(points ? 2000 : (useconds_t)n * 50);
		kill(pid, SIGKILL);
		ck_assert_int_eq(ended(pid), SIGKILL);
		for (int ms = 0; places() > 1; ms += LOOK) {
			ck_assert_msg(ms < PATIENCE, "victim %d still has its place", n);
			usleep(LOOK * 1000);
		}
	}
	kill(lone, SIGKILL);
	ended(lone);
	tidy();
}
END_TEST

/* ---- what goes from one to the other ------------------------------------------------ */

static void
receives(void *path)
{
	struct strrecvfd rf;
	char buf[16];
	int fd[2];

	NEED(str_pipe(fd) == 0);
	NEED(fattach(fd[1], path) == 0);
	NEED(str_close(fd[1]) == 0);
	/* A file of the kernel. */
	NEED(str_ioctl(fd[0], I_RECVFD, &rf) == 0);
	NEED(pread(rf.fd, buf, sizeof(buf), 0) == 4 && memcmp(buf, "file", 4) == 0);
	NEED(close(rf.fd) == 0);
	/* A stream, that its sender has closed by now. */
	NEED(str_ioctl(fd[0], I_RECVFD, &rf) == 0);
	NEED(isastream(rf.fd) == 1);
	NEED(str_write(rf.fd, "echo", 4) == 4);
	NEED(str_read(rf.fd, buf, sizeof(buf)) == 4 && memcmp(buf, "echo", 4) == 0);
	NEED(fdetach(path) == 0);
}

static void
sends(void *path)
{
	char name[100];
	int fd = patiently(path), file, echo;

	NEED(fd >= 0);
	snprintf(name, sizeof(name), "%s/file", dir);
	NEED((file = open(name, O_CREAT | O_RDWR, 0600)) >= 0);
	NEED(write(file, "file", 4) == 4);
	NEED(str_ioctl(fd, I_SENDFD, file) == 0);
	NEED(close(file) == 0);
	echo = must_open("/dev/streams/clone/echo", O_RDWR);
	NEED(str_ioctl(fd, I_SENDFD, echo) == 0);
	NEED(str_close(echo) == 0);
	/* The duplicate is kept until it was taken. */
	NEED(str_read(fd, name, 1) == 0);
}

START_TEST(descriptors_are_passed_between_programs)
{
	char name[100];
	pid_t server;

	prepare();
	snprintf(name, sizeof(name), "%s/name", dir);
	ck_assert_int_eq(close(open(name, O_CREAT | O_WRONLY, 0600)), 0);
	server = program(receives, name);
	run(sends, name);
	ck_assert_int_eq(ended(server), 0);
	tidy();
}
END_TEST

static void
tells(void *path)
{
	int fd = patiently(path);

	NEED(fd >= 0);
	NEED(str_write(fd, "x", 1) == 1);
}

START_TEST(a_signal_is_sent_for_what_another_program_writes)
{
	char name[100];
	int fd[2];
	pid_t pid;

	prepare();
	snprintf(name, sizeof(name), "%s/name", dir);
	ck_assert_int_eq(close(open(name, O_CREAT | O_WRONLY, 0600)), 0);
	pid = program(tells, name);
	GIVES(str_pipe(fd), 0);
	catch_signal(SIGPOLL, 0);
	GIVES(str_ioctl(fd[0], I_SETSIG, S_INPUT), 0);
	GIVES(fattach(fd[1], name), 0);
	for (int i = 0; i < 1000 && caught == 0; i++)
		usleep(10000);
	ck_assert_int_eq(caught, 1);
	ck_assert_int_eq(ended(pid), 0);
	GIVES(fdetach(name), 0);
	tidy();
}
END_TEST

/* As daemons do; then more memory is needed than the file has. */
static void
closes_all(void *arg)
{
	enum { MANY = 200, SIZE = 60000 };
	static char buf[SIZE];
	int *pipes = calloc(2 * MANY, sizeof(int)), fd;

	(void)arg;
	must_open("/dev/streams/clone/echo", O_RDWR);
	for (fd = 3; fd < 1024; fd++)
		close(fd);
	for (int i = 0; i < MANY; i++) {
		NEED(str_pipe(pipes + 2 * i) == 0);
		NEED(str_write(pipes[2 * i], buf, SIZE) == SIZE);
	}
	fd = must_open(fifo, O_RDWR);
	NEED(str_write(fd, "hello", 5) == 5);
	pause();
}

/* He must not be taken for dead. */
static void
finds_it(void *arg)
{
	char buf[16];
	int fd = must_open(fifo, O_RDONLY);

	NEED(str_read(fd, buf, sizeof(buf)) == 5);
	usleep(300000);
	NEED(str_fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
	NEED(str_read(fd, buf, sizeof(buf)) == -1 && errno == EAGAIN);
	kill(*(pid_t *)arg, SIGKILL);
	NEED(str_fcntl(fd, F_SETFL, 0) == 0);
	NEED(str_read(fd, buf, sizeof(buf)) == 0);
}

START_TEST(a_member_that_closes_all_descriptors_opens_the_file_again)
{
	pid_t pid;

	prepare();
	pid = program(closes_all, NULL);
	run(finds_it, &pid);
	ck_assert_int_eq(ended(pid), SIGKILL);
	tidy();
}
END_TEST

/* ---- files ---------------------------------------------------------------------------- */

enum { SUM_AT = 8, LENGTH_AT = 16, BOOT_AT = 48, PAGE = 4096 };

static uint64_t
sum_of(const unsigned char *page)
{
	uint64_t sum = 0xcbf29ce484222325u;
	uint32_t n;

	memcpy(&n, page + LENGTH_AT, sizeof(n));
	for (uint32_t i = 0; i < n; i++)
		if (i < SUM_AT || i >= LENGTH_AT)
			sum = (sum ^ page[i]) * 0x100000001b3u;
	return sum;
}

START_TEST(a_file_from_before_a_restart_is_replaced)
{
	unsigned char page[PAGE];
	struct stat before, after;
	char file[100];
	uint64_t sum;
	int fd;

	prepare();
	snprintf(file, sizeof(file), "%s/meeting", dir);
	run(puts_hello, "/dev/streams/clone/nuls");
	ck_assert_int_eq(stat(file, &before), 0);
	ck_assert_int_ge(fd = open(file, O_RDWR), 0);
	ck_assert_int_eq(pread(fd, page, sizeof(page), 0), sizeof(page));
	memcpy(&sum, page + SUM_AT, sizeof(sum));
	ck_assert_uint_eq(sum, sum_of(page));
	page[BOOT_AT] ^= 1;
	sum = sum_of(page);
	memcpy(page + SUM_AT, &sum, sizeof(sum));
	ck_assert_int_eq(pwrite(fd, page, sizeof(page), 0), sizeof(page));
	run(puts_hello, "/dev/streams/clone/nuls");
	ck_assert_int_eq(stat(file, &after), 0);
	ck_assert_uint_ne(before.st_ino, after.st_ino);
	ck_assert_int_eq(fstat(fd, &before), 0);
	ck_assert_uint_eq(before.st_nlink, 0);
	close(fd);
	tidy();
}
END_TEST

/* One that is not there is made by one of many that come at once. */
static void
comes(void *arg)
{
	struct gate *g = arg;

	gate_wait(g, SOON);
	gate_open(g);
	puts_hello("/dev/streams/clone/nuls");
}

START_TEST(of_many_that_come_at_once_one_makes_the_instance)
{
	enum { MANY = 20 };
	pid_t pid[MANY];
	struct gate g;

	prepare();
	for (int round = 0; round < 10; round++) {
		gate_make(&g);
		for (int i = 0; i < MANY; i++)
			pid[i] = program(comes, &g);
		gate_open(&g);
		for (int i = 0; i < MANY; i++)
			ck_assert_int_eq(ended(pid[i]), 0);
		gate_drop(&g);
		GIVES(ustr_instance_remove("meeting", 0, NULL, 0), 0);
	}
	tidy();
}
END_TEST

/* In one process after the other, as many as there is room for. */
static void
fills(void *arg)
{
	atomic_int *n = arg;

	if (ustr_tunable("nstrpush") == -1) {
		int error = errno;

		if (error != EAGAIN) {
			fprintf(stderr, "%s: %s\n", ename(error), ustr_instancefault());
			exit(1);
		}
		NEED(strstr(ustr_instancefault(), "places") != NULL);
		atomic_fetch_add(&n[1], 1);
		return;
	}
	must_open("/dev/streams/clone/echo", O_RDWR);
	atomic_fetch_add(&n[0], 1);
	pause();
}

/*
 * Who is refused has first stood in the gate for half a second: the last of so many
 * waits longer than one may stand there, and must not take them for one.
 */
START_TEST(a_full_instance_of_the_dead_has_room_again)
{
	enum { MANY = 254 + 26 };
	atomic_int *n;
	pid_t pid[MANY];
	int rounds;

	prepare();
	n = shared(2 * sizeof(*n));
	for (int i = 0; i < MANY; i++)
		pid[i] = program(fills, n);
	for (rounds = 0; rounds < 10000 && n[0] + n[1] < MANY; rounds++)
		usleep(10000);
	ck_assert_int_eq(n[0], 254);
	ck_assert_int_eq(n[1], MANY - 254);
	for (int i = 0; i < MANY; i++)
		kill(pid[i], SIGKILL);
	for (int i = 0; i < MANY; i++)
		ended(pid[i]);
	run(puts_hello, "/dev/streams/clone/nuls");
	run(puts_hello, "/dev/streams/clone/nuls");
	tidy();
}
END_TEST

/* Sends a kernel file and then does nothing in the library. */
static void
sends_a_file(void *path)
{
	int fd[2], p[2];
	char c;

	NEED(str_pipe(fd) == 0 && pipe(p) == 0);
	NEED(fattach(fd[1], path) == 0);
	NEED(str_ioctl(fd[0], I_SENDFD, p[1]) == 0);
	NEED(close(p[1]) == 0);
	NEED(read(p[0], &c, 1) == 1 && c == 'x');
}

static void
uses_the_file(void *path)
{
	struct strrecvfd rf = { .fd = -1 };
	int fd = -1;

	for (int i = 0; i < 1000 && fd == -1; i++) {
		fd = str_open(path, O_RDWR);
		usleep(fd == -1 ? 10000 : 0);
	}
	NEED(fd >= 0);
	NEED(str_ioctl(fd, I_RECVFD, &rf) == 0);
	NEED(write(rf.fd, "x", 1) == 1);
}

START_TEST(a_program_that_never_sleeps_in_the_library_hands_its_file_over)
{
	char name[100];
	pid_t sender;

	prepare();
	snprintf(name, sizeof(name), "%s/name", dir);
	ck_assert_int_eq(close(open(name, O_CREAT | O_WRONLY, 0600)), 0);
	sender = program(sends_a_file, name);
	run(uses_the_file, name);
	ck_assert_int_eq(ended(sender), 0);
	tidy();
}
END_TEST

/* ---- modules of one program ------------------------------------------------------ */

/* Counted by whoever runs the procedures: memory of all programs of a test. */
static struct tally {
	_Atomic pid_t c_runner; /* the last process that ran a procedure */
	atomic_int c_strangers; /* times it was not the owner */
	atomic_int c_closed;	/* close routines run */
	_Atomic pid_t c_owner;
} * counts;

static void
ran(void)
{
	counts->c_runner = getpid();
	if (getpid() != counts->c_owner)
		counts->c_strangers++;
}

static int
upper_put(queue_t *q, mblk_t *mp)
{
	ran();
	for (unsigned char *c = mp->b_rptr; mp->b_datap->db_type == M_DATA && c < mp->b_wptr; c++)
		*c ^= 0x20;
	putnext(q, mp);
	return 0;
}

static int
later_put(queue_t *q, mblk_t *mp)
{
	ran();
	if (mp->b_datap->db_type >= QPCTL)
		putnext(q, mp);
	else if (!putq(q, mp))
		freemsg(mp);
	return 0;
}

static int
later_srv(queue_t *q)
{
	mblk_t *mp;

	ran();
	while ((mp = getq(q)) != NULL) {
		if (!canputnext(q))
			return putbq(q, mp);
		upper_put(q, mp);
	}
	return 0;
}

static int
upper_open(queue_t *q, dev_t *dev, int oflag, int sflag, cred_t *cr)
{
	(void)dev, (void)oflag, (void)sflag, (void)cr;
	ran();
	qprocson(q);
	return 0;
}

static int
upper_close(queue_t *q, int flag, cred_t *cr)
{
	(void)flag, (void)cr;
	ran();
	counts->c_closed++;
	qprocsoff(q);
	return 0;
}

static struct module_info upper_info = { 4401, "upper", 0, INFPSZ, 4000, 1000 };
static struct qinit upper_init = { upper_put, NULL, upper_open, upper_close, NULL, &upper_info, NULL };
static struct qinit later_init = { later_put, later_srv, upper_open, upper_close, NULL, &upper_info,
	NULL };
static struct streamtab uppers[2] = { { &upper_init, &upper_init, NULL, NULL },
	{ &later_init, &later_init, NULL, NULL } };

static const int ways[] = { D_MP, D_MP | D_MTQPAIR, D_MP | D_MTPERQ, D_MTPERMOD, 0 };
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

struct scene {
	char s_name[100]; /* where the stream is attached */
	int s_way;	  /* of the module: flags, and whether it has service procedures */
	struct gate s_ready, s_done;
};

static struct scene *
set_scene(int way)
{
	struct scene *s = shared(sizeof(*s));

	prepare();
	counts = shared(sizeof(*counts));
	snprintf(s->s_name, sizeof(s->s_name), "%s/name", dir);
	ck_assert_int_eq(close(open(s->s_name, O_CREAT | O_WRONLY, 0600)), 0);
	s->s_way = way;
	gate_make(&s->s_ready);
	gate_make(&s->s_done);
	return s;
}

/* Has the module, attaches a pipe with it, and does nothing else until it is done. */
static void
owner(void *arg)
{
	struct scene *s = arg;
	int fd[2];

	counts->c_owner = getpid();
	NEED(ustr_register_module("upper", &uppers[s->s_way / WAYS], ways[s->s_way % WAYS]) == 0);
	NEED(str_pipe(fd) == 0);
	NEED(str_ioctl(fd[0], I_PUSH, "upper") == 0);
	NEED(fattach(fd[0], s->s_name) == 0);
	NEED(str_close(fd[0]) == 0);
	NEED(fcntl(fd[1], F_GETFD) >= 0);
	NEED(fattach(fd[1], dir) == 0);
	NEED(str_close(fd[1]) == 0);
	gate_open(&s->s_ready);
	NEED(gate_wait(&s->s_done, SOON));
}

/* Writes much to one end, which has the module, and reads it from the other. */
static void
passes_through(void *arg)
{
	struct scene *s = arg;
	char out[2000], in[2000];
	int a, b;

	NEED(gate_wait(&s->s_ready, SOON));
	a = must_open(s->s_name, O_RDWR);
	b = must_open(dir, O_RDWR);
	for (int i = 0; i < 500; i++) {
		size_t n = 1 + (size_t)i % sizeof(out), got = 0;

		memset(out, 'a' + i % 26, n);
		NEED(str_write(i % 2 ? a : b, out, n) == (ssize_t)n);
		while (got < n) {
			ssize_t r = str_read(i % 2 ? b : a, in + got, n - got);

			NEED(r > 0);
			got += (size_t)r;
		}
		for (size_t k = 0; k < n; k++)
			NEED(in[k] == 'A' + i % 26);
	}
	NEED(str_ioctl(a, I_POP, 0) == -1 && errno == ENXIO);
	NEED(str_ioctl(b, I_PUSH, "upper") == -1 && errno == ENXIO);
	NEED(str_ioctl(a, I_FIND, "upper") == 1);
	NEED(str_close(a) == 0 && str_close(b) == 0);
}

START_TEST(what_only_one_program_can_run_it_runs_for_all)
{
	struct scene *s = set_scene(_i);
	pid_t server = program(owner, s);

	run(passes_through, s);
	gate_open(&s->s_done);
	ck_assert_int_eq(ended(server), 0);
	ck_assert_int_eq(counts->c_strangers, 0);
	tidy();
}
END_TEST

/* The only one who holds the stream, but not its module. */
static void
closes_last(void *arg)
{
	struct scene *s = arg;
	int a;

	NEED(gate_wait(&s->s_ready, SOON));
	a = must_open(s->s_name, O_RDWR);
	NEED(fdetach(s->s_name) == 0 && fdetach(dir) == 0);
	NEED(counts->c_closed == 0);
	NEED(str_close(a) == 0);
	for (int i = 0; i < 1000 && counts->c_closed == 0; i++)
		usleep(10000);
	NEED(counts->c_closed == 1);
}

START_TEST(the_last_close_runs_the_close_routine_where_it_is)
{
	struct scene *s = set_scene(_i);
	pid_t server = program(owner, s);

	run(closes_last, s);
	gate_open(&s->s_done);
	ck_assert_int_eq(ended(server), 0);
	ck_assert_int_eq(counts->c_strangers, 0);
	tidy();
}
END_TEST

static void
hears_of_it(void *arg)
{
	struct scene *s = arg;
	struct timespec from, to;
	char buf[16];
	int a, b;

	NEED(gate_wait(&s->s_ready, SOON));
	a = must_open(s->s_name, O_RDWR);
	b = must_open(dir, O_RDWR);
	kill(counts->c_owner, SIGKILL);
	clock_gettime(CLOCK_MONOTONIC, &from);
	NEED(str_read(a, buf, sizeof(buf)) == 0);
	NEED(str_read(b, buf, sizeof(buf)) == 0);
	clock_gettime(CLOCK_MONOTONIC, &to);
	NEED((to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000 < 2000);
	NEED(str_write(a, "x", 1) == -1 && errno == ENXIO);
	NEED(str_write(b, "x", 1) == -1 && errno == ENXIO);
	NEED(str_ioctl(a, I_FIND, "upper") == -1 && errno == EINVAL);
	NEED(fdetach(s->s_name) == 0 && fdetach(dir) == 0);
	NEED(str_close(a) == 0 && str_close(b) == 0);
	NEED(counts->c_closed == 0);
	/* The name is free again, also for another kind of module. */
	counts->c_owner = getpid();
	NEED(ustr_register_module("upper", &uppers[0], ways[(s->s_way + 1) % WAYS]) == 0);
	NEED(ustr_unregister("upper") == 0);
	NEED(ustr_unregister("pipemod") == -1 && errno == EBUSY);
}

START_TEST(a_stream_is_hung_up_when_the_last_that_can_run_its_module_dies)
{
	struct scene *s = set_scene(_i);
	pid_t server = program(owner, s);

	run(hears_of_it, s);
	ck_assert_int_eq(ended(server), SIGKILL);
	ck_assert_int_eq(counts->c_strangers, 0);
	tidy();
}
END_TEST

/* ---- choosing -------------------------------------------------------------------- */

static void
makes(void *name)
{
	NEED(str_instance(name) == 0);
	NEED(ustr_instancefault() == NULL);
}

static void
chooses(void *arg)
{
	int status;
	pid_t pid;

	(void)arg;
	NEED(str_instance("a/b") == -1 && errno == EINVAL);
	NEED(str_instance(".a") == -1 && errno == EINVAL);
	NEED(ustr_instance("a", 2) == -1 && errno == EINVAL);
	NEED(ustr_instance("absent", USTR_EXISTING) == 0);
	NEED(str_open("/dev/streams/clone/echo", O_RDWR) == -1 && errno == ENOENT);
	/* The sentence is of the call that failed: it makes no other, which would succeed. */
	pid = program(makes, (char *)(uintptr_t)"absent");
	NEED(waitpid(pid, &status, 0) == pid && status == 0);
	NEED(ustr_instancefault() != NULL && strstr(ustr_instancefault(), dir) != NULL);
	NEED(str_instance("") == 0);
	NEED(str_open("/dev/streams/clone/echo", O_RDWR) >= 0);
	NEED(ustr_instancefault() == NULL);
	NEED(str_instance("late") == -1 && errno == EBUSY);
}

START_TEST(a_name_is_chosen_before_the_first_call_only)
{
	prepare();
	run(chooses, NULL);
	ck_assert_int_eq(access(dir, F_OK), 0);
	tidy();
}
END_TEST

int
main(void)
{
	TCase *tc;
	Suite *s;

	if (!can_fork()) {
		puts("check_instance: skipped (threads only, or heap=malloc)");
		return 77;
	}
	s = suite_create("instance");
	tc = tcase_create("instance");
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, two_programs_meet_at_a_fifo_of_the_instance, 0, 2);
	tcase_add_test(tc, two_programs_meet_at_a_name_with_a_stream_attached);
	tcase_add_test(tc, a_program_that_never_sleeps_in_the_library_hands_its_file_over);
	tcase_add_test(tc, an_instance_outlives_the_killed_and_the_next_member_buries_them);
	tcase_add_test(tc, descriptors_are_passed_between_programs);
	tcase_add_test(tc, a_signal_is_sent_for_what_another_program_writes);
	tcase_add_test(tc, a_member_that_closes_all_descriptors_opens_the_file_again);
	tcase_add_test(tc, a_file_from_before_a_restart_is_replaced);
	tcase_add_test(tc, of_many_that_come_at_once_one_makes_the_instance);
	tcase_add_test(tc, a_lone_member_sees_to_those_who_were_killed_before_they_were_in);
	tcase_add_test(tc, a_full_instance_of_the_dead_has_room_again);
	tcase_add_test(tc, a_name_is_chosen_before_the_first_call_only);
	tcase_add_loop_test(tc, what_only_one_program_can_run_it_runs_for_all, 0, 2 * WAYS);
	tcase_add_loop_test(tc, the_last_close_runs_the_close_routine_where_it_is, 0, 2 * WAYS);
	tcase_add_loop_test(
	    tc, a_stream_is_hung_up_when_the_last_that_can_run_its_module_dies, 0, 2 * WAYS);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
