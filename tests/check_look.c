/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_look.c: looking into running programs (<ustreams_look.h>): what is seen
 * is what is there, the looked-at do not notice, and nothing that an arena may
 * hold, or a file that claims to be one, is more than an error.
 */
#include "headlib.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <ustreams_look.h>

enum { MUTATIONS = 1000 };

/* ---- helpers ---------------------------------------------------------------------------- */

static struct ustr_view *
view_of(pid_t pid)
{
	char fault[USTR_LOOK_FAULT] = "";
	struct ustr_look *lk = ustr_look_process(pid, fault, sizeof(fault));
	struct ustr_view *v;

	ck_assert_msg(lk != NULL, "process %d: %s", (int)pid, fault);
	v = ustr_look_take(lk);
	ck_assert_msg(v != NULL, "view: %s", ename(errno));
	ustr_look_close(lk);
	return v;
}

/* The stream that descriptor fd of process pid refers to. */
static const struct ustr_view_stream *
stream_of(const struct ustr_view *v, pid_t pid, int fd)
{
	for (unsigned int i = 0; i < v->v_nstreams; i++)
		for (unsigned int f = 0; f < v->v_streams[i].vs_nfds; f++)
			if (v->v_streams[i].vs_fds[f].vf_pid == pid &&
			    v->v_streams[i].vs_fds[f].vf_fd == fd)
				return &v->v_streams[i];
	ck_abort_msg("no stream for descriptor %d of process %d", fd, (int)pid);
}

/* The queue of that module and side. */
static const struct ustr_view_queue *
queue_of(const struct ustr_view_stream *vs, const char *name, int reads)
{
	for (unsigned int i = 0; i < vs->vs_nqueues; i++)
		if (strcmp(vs->vs_queues[i].vq_name, name) == 0 &&
		    vs->vs_queues[i].vq_read == reads)
			return &vs->vs_queues[i];
	ck_abort_msg("stream %u has no queue of %s", vs->vs_id, name);
}

/* A child with streams of its own, that this process does not share. */
struct other {
	pid_t pid;
	int to, from;
};

static void
other_start(struct other *o, void (*fn)(int, int))
{
	int a[2], b[2];

	ck_assert_int_eq(pipe(a), 0);
	ck_assert_int_eq(pipe(b), 0);
	o->pid = fork();
	ck_assert_int_ne(o->pid, -1);
	if (o->pid == 0) {
		close(a[1]);
		close(b[0]);
		fn(a[0], b[1]);
		_exit(0);
	}
	close(a[0]);
	close(b[1]);
	o->to = a[1];
	o->from = b[0];
}

/* The next numbers that it tells. */
static void
other_tells(struct other *o, void *n, size_t size)
{
	ck_assert_int_eq(read(o->from, n, size), (ssize_t)size);
}

static void
other_end(struct other *o)
{
	kill(o->pid, SIGKILL);
	waitpid(o->pid, NULL, 0);
	close(o->to);
	close(o->from);
}

/* Wait until some thread of it sleeps on the stream of fd, for that. */
static bool
sleeps(pid_t pid, int fd, int what)
{
	for (int left = SOON; left > 0; left -= 10, msleep(10)) {
		struct ustr_view *v = view_of(pid);
		const struct ustr_view_stream *vs = stream_of(v, pid, fd);
		bool found = false;

		for (unsigned int i = 0; i < vs->vs_nsleepers; i++)
			found |= vs->vs_sleepers[i].vw_pid == pid &&
			    vs->vs_sleepers[i].vw_tid == pid &&
			    vs->vs_sleepers[i].vw_for == what;
		ustr_view_free(v);
		if (found)
			return true;
	}
	return false;
}

/* ---- what is there is seen -------------------------------------------------------------- */

START_TEST(a_pipe_is_seen_with_its_modules_counts_and_marks)
{
	const struct ustr_view_stream *a, *b;
	const struct ustr_view_queue *q;
	struct ustr_view *v;
	int p[2];

	make_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "pipemod"), 0);
	GIVES(str_ioctl(p[0], I_PUSH, "bufmod"), 0);
	set_marks(p[1], 1000, 500);
	GIVES(str_write(p[0], "hello", 5), 5);
	GIVES(str_write(p[0], "you", 3), 3);
	v = view_of(getpid());
	ck_assert_uint_eq(v->v_nstreams, 2);
	ck_assert_uint_eq(v->v_odd, 0);
	a = stream_of(v, getpid(), p[0]);
	b = stream_of(v, getpid(), p[1]);
	ck_assert_uint_eq(a->vs_mate, b->vs_id);
	ck_assert_uint_eq(b->vs_mate, a->vs_id);
	ck_assert_uint_eq(a->vs_group, b->vs_group);
	ck_assert_int_eq(a->vs_kind, USTR_STREAM_PIPE);
	ck_assert_str_eq(a->vs_driver, "pipe");
	ck_assert_uint_eq(a->vs_pushed, 2);
	ck_assert_uint_eq(a->vs_nqueues, 6);
	ck_assert_str_eq(a->vs_queues[0].vq_name, "head");
	ck_assert_str_eq(a->vs_queues[2].vq_name, "bufmod");
	ck_assert_str_eq(a->vs_queues[4].vq_name, "pipemod");
	ck_assert_uint_eq(b->vs_nqueues, 2);
	ck_assert_uint_eq(b->vs_put_bytes, 8);
	ck_assert_uint_eq(b->vs_put_blocks, 2);
	ck_assert_uint_eq(b->vs_got_blocks, 0);
	q = queue_of(b, "head", 1);
	ck_assert_uint_eq(q->vq_bytes, 8);
	ck_assert_uint_eq(q->vq_blocks, 2);
	ck_assert_uint_eq(q->vq_hiwat, 1000);
	ck_assert_uint_eq(q->vq_lowat, 500);
	ck_assert_ptr_eq(ustr_view_stream(v, a->vs_id), a);
	ck_assert_ptr_null(ustr_view_stream(v, 999999));
	ustr_view_free(v);
	close_pipe(p);
}
END_TEST

START_TEST(a_full_queue_says_so_and_that_a_writer_wants_it)
{
	const struct ustr_view_queue *q;
	struct ustr_view *v;
	int p[2];

	make_pipe(p);
	set_marks(p[1], 100, 50);
	fill(p[0]);
	v = view_of(getpid());
	q = queue_of(stream_of(v, getpid(), p[1]), "head", 1);
	ck_assert_uint_ge(q->vq_bytes, 100);
	ck_assert_uint_eq(q->vq_flags & (QFULL | QWANTW), QFULL | QWANTW);
	ustr_view_free(v);
	drain(p[1]);
	v = view_of(getpid());
	q = queue_of(stream_of(v, getpid(), p[1]), "head", 1);
	ck_assert_uint_eq(q->vq_bytes, 0);
	ck_assert_uint_eq(q->vq_flags & (QFULL | QWANTW), 0);
	ustr_view_free(v);
	close_pipe(p);
}
END_TEST

START_TEST(descriptors_carry_their_process_number_and_flags)
{
	const struct ustr_view_stream *vs;
	struct ustr_view *v;
	int p[2], fd;

	make_pipe(p);
	fd = str_fcntl(p[0], F_DUPFD, 700);
	ck_assert_int_ge(fd, 700);
	v = view_of(getpid());
	vs = stream_of(v, getpid(), fd);
	ck_assert_uint_eq(vs->vs_nfds, 2);
	ck_assert_int_eq(vs->vs_fds[0].vf_fd, p[0]);
	ck_assert_int_eq(vs->vs_fds[1].vf_fd, fd);
	ck_assert_int_eq(vs->vs_fds[1].vf_flags & (O_ACCMODE | O_NONBLOCK), O_RDWR | O_NONBLOCK);
	ck_assert_uint_eq(vs->vs_opens, 1);
	ck_assert_uint_eq(v->v_nprocesses, 1);
	ck_assert_uint_eq(v->v_processes[0].vp_descriptors, 3);
	ck_assert_int_eq(v->v_processes[0].vp_state, USTR_PROC_LIVE);
	ustr_view_free(v);
	str_close(fd);
	close_pipe(p);
}
END_TEST

START_TEST(a_stream_below_a_multiplexor_is_seen_although_it_was_closed)
{
	int mux = open_dev("mux"), low = open_dev("echo"), found = 0;
	struct ustr_view *v;

	/* A persistent link keeps it. */
	ck_assert_int_ge(str_ioctl(mux, I_PLINK, low), 0);
	str_close(low);
	v = view_of(getpid());
	for (unsigned int i = 0; i < v->v_nstreams; i++) {
		const struct ustr_view_stream *vs = &v->v_streams[i];

		if (!(vs->vs_state & USTR_STREAM_LINKED))
			continue;
		found++;
		ck_assert_str_eq(vs->vs_driver, "echo");
		ck_assert_str_eq(vs->vs_mux, "mux");
		ck_assert_int_gt(vs->vs_muxid, 0);
		ck_assert_str_eq(vs->vs_queues[0].vq_name, "lower");
		ck_assert_uint_eq(vs->vs_nfds, 0);
	}
	ck_assert_int_eq(found, 1);
	ustr_view_free(v);
}
END_TEST

START_TEST(a_fifo_and_an_attached_name_are_seen_by_their_files)
{
	char dir[] = "/tmp/lookXXXXXX", fifo[64], name[64];
	const struct ustr_view_stream *vs;
	struct ustr_view *v;
	struct stat st;
	int fd, p[2];

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	snprintf(name, sizeof(name), "%s/name", dir);
	ck_assert_int_eq(mkfifo(fifo, 0600), 0);
	close(open(name, O_CREAT | O_WRONLY, 0600));
	fd = str_open(fifo, O_RDONLY | O_NONBLOCK);
	ck_assert_int_ge(fd, 0);
	make_pipe(p);
	GIVES(fattach(p[0], name), 0);
	v = view_of(getpid());
	vs = stream_of(v, getpid(), fd);
	ck_assert_int_eq(vs->vs_kind, USTR_STREAM_FIFO);
	ck_assert_uint_eq(vs->vs_readers, 1);
	ck_assert_uint_eq(vs->vs_writers, 0);
	ck_assert_uint_ne(vs->vs_state & USTR_STREAM_NOWRITER, 0);
	ck_assert_int_eq(stat(fifo, &st), 0);
	ck_assert_uint_eq(vs->vs_ino, st.st_ino);
	ck_assert_str_eq(vs->vs_path, fifo);
	vs = stream_of(v, getpid(), p[0]);
	ck_assert_int_eq(stat(name, &st), 0);
	ck_assert_uint_eq(vs->vs_attached, 1);
	ck_assert_str_eq(vs->vs_path, name);
	ck_assert_uint_eq(vs->vs_ino, st.st_ino);
	ustr_view_free(v);
	fdetach(name);
	unlink(name);
	unlink(fifo);
	rmdir(dir);
}
END_TEST

START_TEST(a_stream_that_only_a_message_leads_to_is_seen)
{
	struct ustr_view *v;
	int p[2], q[2], found = 0;
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	make_pipe(p);
	make_pipe(q);
	GIVES(str_write(q[0], "x", 1), 1);
	GIVES(str_ioctl(p[0], I_SENDFD, q[1]), 0);
	str_close(q[1]);
	v = view_of(getpid());
	ck_assert_uint_eq(v->v_nstreams, 4);
	for (unsigned int i = 0; i < v->v_nstreams; i++)
		if (v->v_streams[i].vs_nfds == 0) {
			found++;
			ck_assert_uint_eq(v->v_streams[i].vs_opens, 1);
			ck_assert_uint_eq(v->v_streams[i].vs_put_bytes, 1);
			GIVES(ustr_view_draw(&v->v_streams[i], f), 0);
		}
	ck_assert_int_eq(found, 1);
	fclose(f);
	ck_assert_ptr_nonnull(strstr(text, "open in no process: in a message"));
	free(text);
	ustr_view_free(v);
	close_pipe(p);
	str_close(q[0]);
}
END_TEST

START_TEST(the_figures_of_the_allocator_agree_with_the_librarys_own)
{
	struct ustr_cachestat cs;
	struct ustr_memstat ms;
	struct ustr_view *v;
	size_t inuse = 0;
	int p[2], n;

	make_pipe(p);
	n = 100;
	for (int i = 0; i < n; i++)
		GIVES(str_write(p[0], "m", 1), 1);
	GIVES(ustr_memstat(&ms), 0);
	v = view_of(getpid());
	ck_assert_uint_eq(v->v_cap, ms.ms_cap);
	ck_assert_uint_eq(v->v_committed, ms.ms_committed);
	ck_assert_uint_eq(v->v_used, ms.ms_used);
	ck_assert_uint_eq(v->v_leaked, ms.ms_leaked);
	for (unsigned int i = 0; i < v->v_nclasses; i++) {
		const struct ustr_view_class *c = &v->v_classes[i];

		ck_assert_uint_eq(c->vc_made, c->vc_cached + c->vc_inuse);
		if (strcmp(c->vc_name, "block 96") == 0)
			inuse = c->vc_inuse;
	}
	GIVES(ustr_cachestat(1, &cs), 0);
	/* With another build the blocks are the heap's. */
	if (cs.cs_object != 0)
		ck_assert_uint_eq(inuse, (size_t)n);
	ustr_view_free(v);
	close_pipe(p);
}
END_TEST

/* ---- other processes ------------------------------------------------------------------------ */

static void
reads_for_ever(int from, int to)
{
	int p[2];
	char c;

	(void)from;
	NEED(str_pipe(p) == 0);
	NEED(write(to, p, sizeof(p)) == sizeof(p));
	str_read(p[0], &c, 1);
	pause();
}

static void
writes_until_full(int from, int to)
{
	static char buf[4096];
	int p[2];

	(void)from;
	NEED(str_pipe(p) == 0);
	NEED(write(to, p, sizeof(p)) == sizeof(p));
	while (str_write(p[0], buf, sizeof(buf)) > 0)
		;
	pause();
}

START_TEST(who_sleeps_on_a_stream_of_another_program_is_seen)
{
	struct other o;
	int p[2];

	if (!can_fork())
		return;
	other_start(&o, _i == 0 ? reads_for_ever : writes_until_full);
	other_tells(&o, p, sizeof(p));
	ck_assert(sleeps(o.pid, p[0], _i == 0 ? USTR_WAIT_MESSAGE : USTR_WAIT_ROOM));
	other_end(&o);
}
END_TEST

START_TEST(an_instance_is_looked_at_by_its_name)
{
	char dir[] = "/tmp/lookXXXXXX", path[64], fault[USTR_LOOK_FAULT];
	struct ustr_source *list;
	struct ustr_look *lk;
	struct ustr_view *v;
	struct other o;
	bool found = false;
	ssize_t n;
	int p[2];

	if (!can_fork())
		return;
	ck_assert_ptr_nonnull(mkdtemp(dir));
	setenv("USTREAMS_DIR", dir, 1);
	setenv("USTREAMS_INSTANCE", "looked-at", 1);
	other_start(&o, reads_for_ever);
	other_tells(&o, p, sizeof(p));
	lk = ustr_look_instance("looked-at", fault, sizeof(fault));
	ck_assert_msg(lk != NULL, "%s", fault);
	ck_assert_str_eq(ustr_look_name(lk), "instance looked-at");
	ck_assert_ptr_null(ustr_look_warning(lk));
	v = ustr_look_take(lk);
	ck_assert_ptr_nonnull(v);
	ck_assert_uint_eq(v->v_nstreams, 2);
	ck_assert_ptr_nonnull(stream_of(v, o.pid, p[0]));
	ustr_view_free(v);
	ustr_look_close(lk);
	/* The same by the number of a member. */
	v = view_of(o.pid);
	ck_assert_uint_eq(v->v_nstreams, 2);
	ustr_view_free(v);
	n = ustr_look_sources(&list);
	for (ssize_t i = 0; i < n; i++)
		if (strcmp(list[i].us_name, "looked-at") == 0) {
			found = true;
			ck_assert_int_eq(list[i].us_pid, o.pid);
			ck_assert_uint_eq(list[i].us_processes, 1);
		}
	ck_assert(found);
	free(list);
	ck_assert_ptr_null(ustr_look_instance("missing", fault, sizeof(fault)));
	ck_assert_ptr_nonnull(strstr(fault, dir));
	other_end(&o);
	snprintf(path, sizeof(path), "%s/looked-at", dir);
	unlink(path);
	rmdir(dir);
}
END_TEST

/* Reads one message and tells how long it was; then whether a module came. */
static void
is_joined(int from, int to)
{
	int p[2], n;
	char buf[32];

	(void)from;
	NEED(str_pipe(p) == 0);
	NEED(write(to, p, sizeof(p)) == sizeof(p));
	n = (int)str_read(p[0], buf, sizeof(buf));
	NEED(write(to, &n, sizeof(n)) == sizeof(n));
	for (n = 0; n == 0; usleep(1000))
		n = str_ioctl(p[0], I_FIND, "pipemod");
	NEED(write(to, &n, sizeof(n)) == sizeof(n));
	n = (int)str_read(p[0], buf, sizeof(buf));
	NEED(write(to, &n, sizeof(n)) == sizeof(n));
	str_close(p[1]);
	str_close(p[0]);
	pause();
}

START_TEST(a_stream_of_another_program_is_opened_by_its_number)
{
	char dir[] = "/tmp/lookXXXXXX", path[64];
	struct ustr_view *v;
	unsigned int id[2];
	struct other o;
	int p[2], n, fd, end;

	if (!can_fork())
		return;
	ck_assert_ptr_nonnull(mkdtemp(dir));
	setenv("USTREAMS_DIR", dir, 1);
	setenv("USTREAMS_INSTANCE", "opened", 1);
	other_start(&o, is_joined);
	other_tells(&o, p, sizeof(p));
	v = view_of(o.pid);
	id[0] = stream_of(v, o.pid, p[0])->vs_id;
	id[1] = stream_of(v, o.pid, p[1])->vs_id;
	ustr_view_free(v);
	fd = ustr_openid(id[0]);
	ck_assert_msg(fd >= 0, "%s", ename(errno));
	end = ustr_openid(id[1]);
	ck_assert_int_ge(end, 0);
	GIVES(ustr_streamid(fd), id[0]);
	GIVES(str_write(end, "hello", 5), 5);
	other_tells(&o, &n, sizeof(n));
	ck_assert_int_eq(n, 5);
	GIVES(str_ioctl(fd, I_PUSH, "pipemod"), 0);
	other_tells(&o, &n, sizeof(n));
	ck_assert_int_eq(n, 1);
	GIVES(str_write(end, "again", 6), 6);
	other_tells(&o, &n, sizeof(n));
	ck_assert_int_eq(n, 6);
	msleep(100);
	/* It has closed its descriptors: ours keep the streams. */
	GIVES(str_write(end, "kept", 4), 4);
	GIVES(str_read(fd, path, sizeof(path)), 4);
	GIVES(str_close(end), 0);
	GIVES(str_close(fd), 0);
	FAILS(ustr_openid(id[0]), ENOENT);
	FAILS(ustr_openid(0), ENOENT);
	FAILS(ustr_openid(4000000000u), ENOENT);
	other_end(&o);
	snprintf(path, sizeof(path), "%s/opened", dir);
	unlink(path);
	rmdir(dir);
}
END_TEST

START_TEST(looking_does_not_bring_the_library_up)
{
	struct other o;
	int p[2], fds = 0;

	if (!can_fork())
		return;
	other_start(&o, reads_for_ever);
	other_tells(&o, p, sizeof(p));
	ustr_view_free(view_of(o.pid));
	/* The next number is as low as it was, and no memory file of ours is there. */
	for (int fd = 3; fd < 1200; fd++) {
		char path[32], target[64] = "";

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (readlink(path, target, sizeof(target) - 1) > 0)
			fds += strstr(target, "ustreams") != NULL;
	}
	ck_assert_int_eq(fds, 0);
	other_end(&o);
}
END_TEST

START_TEST(looking_at_oneself_keeps_the_lock_by_which_one_lives)
{
	struct ustr_view *v;
	int p[2], status;
	pid_t pid;

	if (!can_fork())
		return;
	make_pipe(p);
	ustr_view_free(view_of(getpid()));
	if ((pid = fork()) == 0) {
		/* The child sees its parent, and itself, alive. */
		v = view_of(getppid());
		status = v->v_nprocesses == 2;
		for (unsigned int i = 0; i < v->v_nprocesses; i++)
			status &= v->v_processes[i].vp_state == USTR_PROC_LIVE;
		_exit(status ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	ck_assert_int_eq(status, 0);
	close_pipe(p);
}
END_TEST

START_TEST(the_list_of_sources_has_this_process_once)
{
	struct ustr_source *list;
	int p[2], found = 0;
	ssize_t n;

	make_pipe(p);
	n = ustr_look_sources(&list);
	ck_assert_int_ge(n, 1);
	for (ssize_t i = 0; i < n; i++)
		if (list[i].us_pid == getpid()) {
			found++;
			ck_assert_uint_eq(list[i].us_processes, 1);
			ck_assert_int_eq(list[i].us_error, 0);
		}
	ck_assert_int_eq(found, 1);
	free(list);
	close_pipe(p);
}
END_TEST

/* ---- while everything changes ------------------------------------------------------------------ */

static void
comes_and_goes(int from, int to)
{
	char go = 'g';

	(void)from;
	NEED(write(to, &go, 1) == 1);
	for (unsigned int n = 0;; n++) {
		int p[2], fd = str_open("/dev/streams/clone/echo", O_RDWR);

		NEED(fd >= 0 && str_pipe(p) == 0);
		NEED(str_ioctl(p[0], I_PUSH, "pipemod") == 0);
		NEED(str_ioctl(fd, I_PUSH, n % 2 ? "bufmod" : "srvmod") == 0);
		NEED(str_write(p[0], "abc", 3) == 3 && str_write(fd, "def", 3) == 3);
		if (n % 3 == 0)
			NEED(str_ioctl(p[0], I_POP, 0) == 0);
		str_close(fd);
		str_close(p[0]);
		str_close(p[1]);
	}
}

static bool
plausible(const struct ustr_view *v)
{
	for (unsigned int i = 0; i < v->v_nstreams; i++) {
		const struct ustr_view_stream *vs = &v->v_streams[i];

		if (vs->vs_nqueues % 2 != 0 || vs->vs_nqueues > 8 || vs->vs_opens > 1 ||
		    vs->vs_pushed > 1 || (vs->vs_state & ~(unsigned int)(USTR_STREAM_CHANGING |
			    USTR_STREAM_CLOSING | USTR_STREAM_HUNGUP | USTR_STREAM_BROKEN)) != 0)
			return false;
		for (unsigned int q = 0; q < vs->vs_nqueues; q++)
			if (vs->vs_queues[q].vq_bytes > 100 ||
			    strchr("hpbse", vs->vs_queues[q].vq_name[0]) == NULL)
				return false;
	}
	return true;
}

START_TEST(streams_that_come_and_go_give_no_nonsense_nor_does_killing_the_program)
{
	struct ustr_look *lk;
	struct other o;
	char go;

	if (!can_fork())
		return;
	other_start(&o, comes_and_goes);
	other_tells(&o, &go, 1);
	msleep(50);
	lk = ustr_look_process(o.pid, NULL, 0);
	ck_assert_ptr_nonnull(lk);
	for (long end = now_ms() + 1500, kill_at = now_ms() + 1000; now_ms() < end;) {
		struct ustr_view *v = ustr_look_take(lk);

		ck_assert_ptr_nonnull(v);
		ck_assert(plausible(v));
		ustr_view_free(v);
		if (now_ms() > kill_at) {
			kill(o.pid, SIGKILL);
			waitpid(o.pid, NULL, 0);
			kill_at = end;
		}
	}
	ustr_look_close(lk);
	other_end(&o);
}
END_TEST

/* ---- what is no arena ------------------------------------------------------------------------------ */

START_TEST(what_cannot_be_looked_at_is_refused_with_an_errno_and_a_line)
{
	char fault[USTR_LOOK_FAULT];
	int keep;

#define REFUSED(call, err, word)                                                          \
	do {                                                                              \
		errno = 0;                                                                \
		fault[0] = '\0';                                                          \
		ck_assert_ptr_null(call);                                                 \
		keep = errno;                                                             \
		ck_assert_msg(keep == (err) && strstr(fault, word) != NULL &&             \
			strchr(fault, '\n') == NULL, "%s: %s: %s", #call, ename(keep), fault); \
	} while (0)
	REFUSED(ustr_look_process(0, fault, sizeof(fault)), EINVAL, "from 1");
	REFUSED(ustr_look_process(-5, fault, sizeof(fault)), EINVAL, "-5");
	REFUSED(ustr_look_process(0x7fffffff, fault, sizeof(fault)), ESRCH, "2147483647");
	REFUSED(ustr_look_process(getpid(), fault, sizeof(fault)), ENXIO, "no streams");
	REFUSED(ustr_look_instance("../x", fault, sizeof(fault)), EINVAL, "../x");
	REFUSED(ustr_look_instance("", fault, sizeof(fault)), EINVAL, "not a name");
	REFUSED(ustr_look_instance("no-such-instance", fault, sizeof(fault)), ENOENT, "/dev/shm");
	REFUSED(ustr_look_file("/nonexistent", fault, sizeof(fault)), ENOENT, "/nonexistent");
	REFUSED(ustr_look_file("/dev/null", fault, sizeof(fault)), EINVAL, "regular");
	REFUSED(ustr_look_file("/proc/self/exe", fault, sizeof(fault)), EUCLEAN, "no arena");
	ck_assert_ptr_null(ustr_look_process(0, NULL, 0));
#undef REFUSED
}
END_TEST

/* This process's arena, copied to a file without a name: its descriptor. */
static int
copied_arena(size_t *size)
{
	char target[64], path[64];
	int from, to = memfd_create("copy", MFD_CLOEXEC);
	struct stat st;
	char *mem;

	for (from = 3; from < 1200; from++) {
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", from);
		n = readlink(path, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = '\0';
		if (strstr(target, "memfd:ustreams") != NULL)
			break;
	}
	ck_assert_int_lt(from, 1200);
	ck_assert_int_eq(fstat(from, &st), 0);
	*size = (size_t)st.st_size;
	mem = malloc(*size);
	ck_assert_int_eq(pread(from, mem, *size, 0), (ssize_t)*size);
	ck_assert_int_eq(write(to, mem, *size), (ssize_t)*size);
	free(mem);
	return to;
}

/* Something of everything. */
static void
furnish(void)
{
	int p[2], mux = open_dev("mux"), low = open_dev("echo"), log = open_dev("log");

	for (int i = 0; i < 4; i++) {
		make_pipe(p);
		GIVES(str_ioctl(p[i % 2], I_PUSH, "pipemod"), 0);
		GIVES(str_ioctl(p[0], I_PUSH, "srvmod"), 0);
		GIVES(str_write(p[0], "some bytes", 10), 10);
		GIVES(putpmsg(p[0], NULL, &(struct strbuf){0, 3, (char[]){"abc"}}, 3, MSG_BAND), 0);
	}
	ck_assert_int_ge(str_ioctl(mux, I_LINK, low), 0);
	ck_assert_int_ge(log, 0);
}

static void
look_whole(const char *path)
{
	struct ustr_look *lk = ustr_look_file(path, NULL, 0);
	struct ustr_view *v = lk != NULL ? ustr_look_take(lk) : NULL;

	for (unsigned int i = 0; v != NULL && i < v->v_nstreams; i++) {
		const struct ustr_view_stream *vs = &v->v_streams[i];

		/* What is said to be there can be read. */
		for (unsigned int q = 0; q < vs->vs_nqueues; q++)
			for (unsigned int b = 0; b < vs->vs_queues[q].vq_nbands; b++)
				ck_assert_uint_eq(vs->vs_queues[q].vq_bands[b].vb_band, b + 1);
		for (unsigned int f = 0; f < vs->vs_nfds; f++)
			ck_assert_int_ge(vs->vs_fds[f].vf_fd, 0);
	}
	ustr_view_free(v);
	ustr_look_close(lk);
}

START_TEST(a_copied_arena_is_seen_as_the_live_one)
{
	struct ustr_view *live, *copy;
	struct ustr_look *lk;
	char path[64];
	size_t size;

	furnish();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", copied_arena(&size));
	lk = ustr_look_file(path, NULL, 0);
	ck_assert_ptr_nonnull(lk);
	live = view_of(getpid());
	copy = ustr_look_take(lk);
	ck_assert_ptr_nonnull(copy);
	ck_assert_uint_eq(copy->v_odd, 0);
	ck_assert_uint_eq(copy->v_nstreams, live->v_nstreams);
	for (unsigned int i = 0; i < live->v_nstreams; i++) {
		ck_assert_uint_eq(copy->v_streams[i].vs_id, live->v_streams[i].vs_id);
		ck_assert_uint_eq(copy->v_streams[i].vs_nqueues, live->v_streams[i].vs_nqueues);
		ck_assert_uint_eq(
		    copy->v_streams[i].vs_put_bytes, live->v_streams[i].vs_put_bytes);
	}
	ustr_view_free(copy);
	ustr_view_free(live);
	ustr_look_close(lk);
}
END_TEST

START_TEST(an_arena_cut_short_anywhere_is_an_error_or_a_smaller_picture)
{
	size_t size, at;
	char path[64];
	int fd;

	furnish();
	fd = copied_arena(&size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (at = size; at > 0; at = at * 3 / 4) {
		ck_assert_int_eq(ftruncate(fd, (off_t)at), 0);
		look_whole(path);
	}
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	ck_assert_ptr_null(ustr_look_file(path, NULL, 0));
}
END_TEST

START_TEST(an_arena_cut_short_while_it_is_looked_at_is_an_error)
{
	struct ustr_look *lk;
	char path[64];
	size_t size;
	int fd;

	furnish();
	fd = copied_arena(&size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	lk = ustr_look_file(path, NULL, 0);
	ck_assert_ptr_nonnull(lk);
	ustr_view_free(ustr_look_take(lk));
	ck_assert_int_eq(ftruncate(fd, 8192), 0);
	errno = 0;
	ck_assert_ptr_null(ustr_look_take(lk));
	ck_assert_int_eq(errno, EUCLEAN);
	ustr_look_close(lk);
}
END_TEST

/* Change up to 64 words to numbers of the kinds that hurt most. */
static void
mutate(uint64_t *mem, size_t words, const uint64_t *pointers, size_t npointers)
{
	for (long n = 1 + random() % 64; n > 0; n--) {
		size_t at = (size_t)random() % words;

		/* Where something is, rather than in the empty rest. */
		for (int tries = 0; tries < 1000 && mem[at] == 0; tries++)
			at = (size_t)random() % words;
		switch (random() % 6) {
		case 0:
			mem[at] = (uint64_t)random() << 32 | (uint64_t)random();
			break;
		case 1:
			mem[at] = UINT64_MAX - (uint64_t)(random() % 4096);
			break;
		case 2:
			mem[at] ^= (uint64_t)1 << random() % 64;
			break;
		case 3:
			mem[at] = 0;
			break;
		default: /* what makes circles */
			mem[at] = pointers[(size_t)random() % npointers];
		}
	}
}

START_TEST(a_thousand_damaged_arenas_are_errors_or_pictures)
{
	size_t size, npointers = 0;
	uint64_t *whole, *mem, *pointers;
	int fd, rounds = MUTATIONS;
	char path[64];
	long begin = now_ms();

	furnish();
	fd = copied_arena(&size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	whole = malloc(size);
	pointers = malloc(size);
	ck_assert_int_eq(pread(fd, whole, size, 0), (ssize_t)size);
	mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(mem, MAP_FAILED);
	for (size_t i = 0; i < size / 8; i++)
		if (whole[i] >> 24 == 0x550000)
			pointers[npointers++] = whole[i];
	ck_assert_uint_gt(npointers, 100);
	srandom(6);
	for (int i = 0; i < rounds; i++) {
		memcpy(mem, whole, size);
		/* The header stands, mostly, or nothing else is ever reached. */
		if (random() % 10 == 0)
			mutate(mem, 16, pointers, npointers);
		mutate(mem + 512, size / 8 - 512, pointers, npointers);
		look_whole(path);
	}
	printf("%d damaged arenas in %ld ms\n", rounds, now_ms() - begin);
	free(whole);
	free(pointers);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("look");
	TCase *tc;

	tc = group(s, "seen", 120);
	tcase_add_test(tc, a_pipe_is_seen_with_its_modules_counts_and_marks);
	tcase_add_test(tc, a_full_queue_says_so_and_that_a_writer_wants_it);
	tcase_add_test(tc, descriptors_carry_their_process_number_and_flags);
	tcase_add_test(tc, a_stream_below_a_multiplexor_is_seen_although_it_was_closed);
	tcase_add_test(tc, a_fifo_and_an_attached_name_are_seen_by_their_files);
	tcase_add_test(tc, a_stream_that_only_a_message_leads_to_is_seen);
	tcase_add_test(tc, the_figures_of_the_allocator_agree_with_the_librarys_own);
	tc = group(s, "others", 120);
	tcase_add_loop_test(tc, who_sleeps_on_a_stream_of_another_program_is_seen, 0, 2);
	tcase_add_test(tc, an_instance_is_looked_at_by_its_name);
	tcase_add_test(tc, a_stream_of_another_program_is_opened_by_its_number);
	tcase_add_test(tc, looking_does_not_bring_the_library_up);
	tcase_add_test(tc, looking_at_oneself_keeps_the_lock_by_which_one_lives);
	tcase_add_test(tc, the_list_of_sources_has_this_process_once);
	tcase_add_test(tc, streams_that_come_and_go_give_no_nonsense_nor_does_killing_the_program);
	tc = group(s, "no arena", 120);
	tcase_add_test(tc, what_cannot_be_looked_at_is_refused_with_an_errno_and_a_line);
	tcase_add_test(tc, a_copied_arena_is_seen_as_the_live_one);
	tcase_add_test(tc, an_arena_cut_short_anywhere_is_an_error_or_a_smaller_picture);
	tcase_add_test(tc, an_arena_cut_short_while_it_is_looked_at_is_an_error);
	tcase_add_test(tc, a_thousand_damaged_arenas_are_errors_or_pictures);
	return run_suite(s);
}
