/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stress_callout.c [threads|fork|both]: timeouts against traffic, push and pop.
 *
 * A module registers and cancels timeouts in its put procedures and in the
 * timeouts themselves, while two writers and two readers use the pipe it is
 * pushed on and popped from at both ends, in several processes.  No timeout
 * runs twice, outside the perimeter, after its cancel, or after qprocsoff; and
 * quntimeout says truly whether it was in time.
 */
#include "stresslib.h"

#include <sys/ddi.h>

enum { PLUMBERS = 2, DEEPEST = 4, PENDING = 4, RECORDS = 1 << 18, EVERY = 8 };

/* The life of one timeout: each is used once, until the ring comes round. */
enum { UNUSED, ARMED, FIRED, OVER };

struct inst;

struct record {
	atomic_int r_state;
	struct inst *r_inst;
};

/* What all workers share; made before any fork. */
static struct world {
	atomic_uint w_next;
	atomic_ulong w_fired, w_cancelled, w_closed;
	atomic_int w_plumbed; /* plumbers that have ended */
	struct record w_record[RECORDS];
} * world;

/* q_ptr of both queues, from kmem_zalloc. */
struct inst {
	queue_t *i_q;
	int i_inside;		/* who is in the perimeter */
	unsigned long i_messages;
	int i_id[PENDING];	/* timeouts to come, or 0 */
	struct record *i_rec[PENDING];
};

static void
enter(struct inst *in)
{
	if (in->i_inside++ != 0)
		DIE("%d others are in the perimeter", in->i_inside - 1);
}

static void
leave(struct inst *in)
{
	if (--in->i_inside != 0)
		DIE("another came into the perimeter");
}

static void arm(struct inst *in, int at, long ticks);

static void
fire(void *arg)
{
	struct record *r = arg;
	struct inst *in = r->r_inst;
	int armed = ARMED;

	if (!atomic_compare_exchange_strong(&r->r_state, &armed, FIRED))
		DIE("a timeout ran that was %s", armed == FIRED ? "run already" : "cancelled");
	enter(in);
	for (int i = 0; i < PENDING; i++)
		if (in->i_rec[i] == r) {
			in->i_rec[i] = NULL;
			in->i_id[i] = 0;
			if (atomic_fetch_add(&world->w_fired, 1) % 4 == 0)
				arm(in, i, 1);
		}
	leave(in);
}

static void
arm(struct inst *in, int at, long ticks)
{
	struct record *r = &world->w_record[atomic_fetch_add(&world->w_next, 1) % RECORDS];

	atomic_store(&r->r_state, ARMED);
	r->r_inst = in;
	in->i_rec[at] = r;
	in->i_id[at] = qtimeout(in->i_q, fire, r, ticks);
	if (in->i_id[at] == 0) {
		in->i_rec[at] = NULL;
		atomic_store(&r->r_state, OVER);
	}
}

/* The caller is in the perimeter: in time, the timeout was still to come. */
static void
disarm(struct inst *in, int at)
{
	struct record *r = in->i_rec[at];
	bool in_time = quntimeout(in->i_q, in->i_id[at]) >= 0;
	int armed = ARMED;

	if (!in_time || !atomic_compare_exchange_strong(&r->r_state, &armed, OVER))
		DIE("quntimeout says %s of a timeout in state %d", in_time ? "in time" : "late",
		    atomic_load(&r->r_state));
	atomic_fetch_add(&world->w_cancelled, 1);
	in->i_rec[at] = NULL;
	in->i_id[at] = 0;
}

static int
tick_put(queue_t *q, mblk_t *mp)
{
	struct inst *in = q->q_ptr;

	enter(in);
	if (++in->i_messages % EVERY == 0) {
		int at = (int)(in->i_messages / EVERY % PENDING);

		if (in->i_rec[at] != NULL)
			disarm(in, at);
		arm(in, at, (long)(in->i_messages / EVERY % 3));
	}
	leave(in);
	putnext(q, mp);
	return 0;
}

static int
tick_open(queue_t *q, dev_t *dev, int oflag, int sflag, cred_t *cr)
{
	struct inst *in;

	(void)dev, (void)oflag, (void)sflag, (void)cr;
	if (q->q_ptr != NULL)
		return 0;
	in = kmem_zalloc(sizeof(*in), KM_SLEEP);
	if (in == NULL)
		return ENOMEM;
	in->i_q = q;
	q->q_ptr = WR(q)->q_ptr = in;
	qprocson(q);
	for (int i = 0; i < PENDING; i++)
		if (in->i_rec[i] == NULL)
			arm(in, i, i);
	return 0;
}

static int
tick_close(queue_t *q, int flag, cred_t *cr)
{
	struct inst *in = q->q_ptr;

	(void)flag, (void)cr;
	qprocsoff(q);
	for (int i = 0; i < PENDING; i++) {
		int armed = ARMED;

		if (in->i_rec[i] == NULL)
			continue;
		if (!atomic_compare_exchange_strong(&in->i_rec[i]->r_state, &armed, OVER))
			DIE("at close a timeout is in state %d", armed);
		if (quntimeout(q, in->i_id[i]) != -1)
			DIE("a timeout was still to come after qprocsoff");
		atomic_fetch_add(&world->w_closed, 1);
	}
	kmem_free(in, sizeof(*in));
	q->q_ptr = WR(q)->q_ptr = NULL;
	return 0;
}

static struct module_info tick_info = { 9301, "tick", 0, INFPSZ, 65536, 8192 };
static struct qinit tick_init = { tick_put, NULL, tick_open, tick_close, NULL, &tick_info, NULL };
static struct streamtab tick_tab = { &tick_init, &tick_init, NULL, NULL };

/* ---- workers ------------------------------------------------------------------ */

static void
plumb(struct traffic *t, int end, int tick)
{
	unsigned int rnd = 99u + (unsigned)end;
	int depth = 0;

	while (!atomic_load(&t->t_stop)) {
		rnd = rnd * 1103515245u + 12345u;
		if (depth == 0 || (depth < DEEPEST && rnd >> 31)) {
			MUST(str_ioctl(t->t_fd[end], I_PUSH, "tick"));
			depth++;
		} else {
			MUST(str_ioctl(t->t_fd[end], I_POP, 0));
			depth--;
		}
		stress_sleep((int)(rnd >> 24 & 7));
		crew_tick(tick);
	}
	for (; depth > 0; depth--)
		MUST(str_ioctl(t->t_fd[end], I_POP, 0));
	atomic_fetch_add(&world->w_plumbed, 1);
}

/*
 * Where workers are processes they end with _exit: their helpers must not be in
 * a timeout then, which would be a death in the stream.
 */
static void
await_plumbers(int tick)
{
	while (atomic_load(&world->w_plumbed) < PLUMBERS) {
		stress_sleep(1);
		crew_tick(tick);
	}
}

/* Workers 0 and 1 write, 2 and 3 read, 4 and 5 plumb. */
static void
work(int who, void *arg)
{
	if (who < TWRITERS) {
		traffic_write(arg, who, who);
		await_plumbers(who);
	} else if (who < TWRITERS + TREADERS) {
		traffic_read(arg, who - TWRITERS, who);
	} else {
		plumb(arg, who - TWRITERS - TREADERS, who);
		await_plumbers(who);
	}
}

static void
run(bool forked, long ms)
{
	struct traffic *t;
	struct crew c;
	int fd[2];

	memset(world, 0, sizeof(*world));
	MUST(str_pipe(fd));
	t = traffic_make(fd, false);
	crew_start(&c, forked, TWRITERS + TREADERS + PLUMBERS, work, t, fd, "stress_callout");
	stress_sleep((int)ms);
	atomic_store(&t->t_stop, true);
	crew_join(&c, 0, TWRITERS);
	crew_join(&c, TWRITERS + TREADERS, TWRITERS + TREADERS + PLUMBERS);
	traffic_finish(t);
	crew_join(&c, TWRITERS, TWRITERS + TREADERS);
	printf("stress_callout: %s: %lu messages, %lu timeouts run, %lu cancelled, "
	       "%lu ended by close\n",
	    forked ? "fork" : "threads", traffic_check(t), atomic_load(&world->w_fired),
	    atomic_load(&world->w_cancelled), atomic_load(&world->w_closed));
	fflush(stdout);
	if (atomic_load(&world->w_fired) == 0 || atomic_load(&world->w_cancelled) == 0)
		DIE("there were no timeouts");
	crew_end(&c);
	traffic_free(t);
	MUST(str_close(fd[0]));
	MUST(str_close(fd[1]));
}

int
main(int argc, char **argv)
{
	bool threads, forks;

	if (!stress_modes(argc, argv, &threads, &forks))
		return 77;
	world = shared_memory(sizeof(*world));
	MUST(ustr_register_module("tick", &tick_tab, D_MP | D_MTQPAIR));
	if (threads)
		run(false, stress_ms());
	if (forks)
		run(true, stress_ms());
	return 0;
}
