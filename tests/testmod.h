/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * testmod.h: configurable modules and drivers for the tests of the DDI side,
 * and the few tools these tests share.
 *
 * A test registers modules and drivers with tm_register(), builds a stream
 * with tm_stack(), and then works on the queues it finds in tm_rq(n) and
 * tm_wq(n): 0 is the driver, 1 the module above it, and so on.  Each queue's
 * q_ptr is a struct tm_side, where a test hangs its own put and service
 * procedures; without them put passes on (frees at the end of the stream)
 * and service only counts.
 *
 * The operations work from outside any call.  tm_kick() enters the stream, so
 * that what they enabled runs; tm_inside() runs a function in a put procedure.
 */
#ifndef TESTMOD_H
#define TESTMOD_H

#include <check.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stream.h>

/*
 * For the inner loops: Check's own macros log every success to a file.
 */
#define tm_assert(expr, format, ...)                                       \
	do {                                                               \
		if (!(expr))                                               \
			ck_abort_msg("%s: " format, #expr, ##__VA_ARGS__); \
	} while (0)

/* The kick: a high-priority type nothing else uses. */
#define TM_KICK M_PCRSE

/* What to register. */
#define TM_MODULE 0x00
#define TM_DRIVER 0x01
#define TM_RSRV 0x02 /* the read side has a service procedure */
#define TM_WSRV 0x04 /* the write side has one */
#define TM_SRV (TM_RSRV | TM_WSRV)

/* One queue of an instance. */
struct tm_side {
	queue_t *q;
	int (*put)(queue_t *, mblk_t *); /* NULL: pass on */
	int (*srv)(queue_t *);		 /* NULL: count only */
	atomic_int puts;		 /* messages, kicks excepted */
	atomic_int srvs;		 /* service runs */
	void *arg;			 /* the test's own */
};

/* An instance; it stays readable after close until tm_teardown(). */
struct tm_inst {
	struct tm_side rd;
	struct tm_side wr;
	char name[16];
	int opens;	   /* calls of the open routine */
	atomic_int closes; /* calls of the close routine */
	dev_t dev;	   /* what the open routine was given */
	int oflag;
	int sflag;
	uid_t uid;
	struct tm_inst *next; /* older */
};

/* Called by every open routine before qprocson; an errno makes it fail. */
extern int (*tm_open_hook)(queue_t *, dev_t *, int, int, cred_t *);
/* Called by every close routine before qprocsoff. */
extern void (*tm_close_hook)(queue_t *);
/* Called by every close routine after qprocsoff. */
extern void (*tm_closed_hook)(queue_t *);
/* The newest instance. */
extern struct tm_inst *tm_newest;

/*
 * How long tm_teardown() waits for streams to be given up, ms: 0, or what a
 * test sets whose child died holding them.
 */
extern int tm_patience;

/* Checked fixture: clean state; closes and unregisters everything. */
void tm_setup(void);
void tm_teardown(void);

void tm_register(const char *name, int what, int flags, size_t hiwat, size_t lowat);
/* Have tm_teardown() close this one too; returns fd. */
int tm_track(int fd);
/* Open a driver, O_RDWR | O_NONBLOCK; path as the tail of /dev/streams/. */
int tm_open(const char *path);
/* The same and push modules, lowest first, up to a NULL. */
int tm_stack(const char *driver, ...);
void tm_push(int fd, const char *module);
void tm_pop(int fd);
void tm_close(int fd);
/* Queues in the order in which the last tm_open() and its pushes made them. */
queue_t *tm_rq(int n);
queue_t *tm_wq(int n);
/* Side of a queue of ours. */
struct tm_side *tm_side(queue_t *q);
int tm_puts(queue_t *q);
int tm_srvs(queue_t *q);

void tm_kick(int fd);
/* fn(driver's write queue, arg) inside the driver's put procedure. */
void tm_inside(int fd, void (*fn)(queue_t *, void *), void *arg);

/* put procedures to hang into a side */
int tm_putq(queue_t *q, mblk_t *mp); /* putq, freed if that fails */
int tm_free(queue_t *q, mblk_t *mp);
int tm_reply(queue_t *q, mblk_t *mp);
/* service procedures */
int tm_forward(queue_t *q); /* the textbook one: getq, canputnext, putbq */
int tm_drain(queue_t *q);   /* getq and free everything */

/* A message of one block with len bytes of fill. */
mblk_t *tm_msg(int type, int band, size_t len, int fill);
/* An ordinary one, one of band b, one of high priority. */
mblk_t *tm_norm(size_t len);
mblk_t *tm_banded(int b, size_t len);
mblk_t *tm_hipri(size_t len);
/* A message of n blocks of len bytes each. */
mblk_t *tm_chain(int type, int band, int n, size_t len, int fill);
/* putq or fail the test. */
mblk_t *tm_queue(queue_t *q, mblk_t *mp);
/* getq must give mp (NULL: nothing); it is freed. */
void tm_expect(queue_t *q, mblk_t *mp);

int tm_heap_malloc(void);  /* built with --with-heap=malloc? */
int tm_threads_only(void); /* told not to fork? */
int tm_may_fork(void);	   /* may this test share streams over fork? */
int tm_forked(void);	   /* does each test have a process of its own? */
int tm_scale(int n);	   /* n, or less under a sanitizer */
void tm_msleep(int ms);
/* Until *p is at least n, at most five seconds: 1 or 0. */
int tm_wait(atomic_int *p, int n);

/* Use up the arena so that no block, header or kmem_alloc(64) is left. */
void tm_exhaust(void);
/* Give n small blocks and n headers back, or everything with n < 0. */
void tm_relent(int n);

struct tm_rand {
	uint64_t s;
};
static inline uint64_t
tm_next(struct tm_rand *r)
{
	r->s ^= r->s << 13;
	r->s ^= r->s >> 7;
	r->s ^= r->s << 17;
	return r->s * 0x2545f4914f6cdd1dULL >> 16;
}
/* 0..n-1 */
static inline unsigned
tm_below(struct tm_rand *r, unsigned n)
{
	return (unsigned)(tm_next(r) % n);
}

/* Run the suite as CK_ENV says; the exit status. */
int tm_run(Suite *s);

#endif
