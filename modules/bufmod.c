/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bufmod.c: gathers messages coming up into chunks, so that a program reads
 * many at a time.
 *
 *   chunk, one M_DATA block:
 *   | sb_hdr | message | pad | sb_hdr | message | pad | ...      |
 *   0                        ^ sbh_totlen of the first           sb_chunk
 *
 * The chunk goes up when the next message does not fit, when it is full, when
 * the time since its first message is over, before any message that is not
 * gathered, and when the parameters change.  The messages are copied into it:
 * they may be shared, and one block is what a reader wants.
 *
 * When the stream above is full a chunk is dropped and its messages counted in
 * the headers that follow; with SB_NO_DROPS chunks wait here instead, and this
 * module's water marks hold up what lies below.
 *
 * D_MTQPAIR: the timer runs inside the pair's perimeter, so nothing is locked.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/bufmod.h>
#include <sys/ddi.h>
#include <sys/keeps.h>
#include <sys/stream.h>

#define FOREVER (-1)
#define FLAGS \
	(SB_SEND_ON_WRITE | SB_NO_HEADER | SB_NO_PROTO_CVT | SB_DEFER_CHUNK | SB_NO_DROPS)
#define USEC 1000000
#define CHUNK_MAX (1u << 20) /* bytes */

struct bufmod {
	queue_t *sb_q;	       /* C  read queue */
	mblk_t *sb_mp;	       /* P  the chunk, or NULL */
	unsigned int sb_n;     /* P  messages in it */
	unsigned int sb_chunk; /* P  bytes of a full one */
	unsigned int sb_snap;  /* P  bytes kept of a message, 0 all */
	unsigned int sb_flags; /* P  SB_* */
	unsigned int sb_drops; /* P  messages dropped */
	long sb_usec;	       /* P  how long a chunk waits, or FOREVER */
	timeout_id_t sb_timer; /* P  running, or 0 */
};

static int bufmod_open(queue_t *, dev_t *, int, int, cred_t *);
static int bufmod_close(queue_t *, int, cred_t *);
static int bufmod_rput(queue_t *, mblk_t *);
static int bufmod_rsrv(queue_t *);
static int bufmod_wput(queue_t *, mblk_t *);

static struct module_info bufmod_info = {1007, "bufmod", 0, INFPSZ, 65536, 8192};
static struct qinit bufmod_rinit = {
    bufmod_rput, bufmod_rsrv, bufmod_open, bufmod_close, NULL, &bufmod_info, NULL};
static struct qinit bufmod_winit = {
    bufmod_wput, NULL, NULL, NULL, NULL, &bufmod_info, NULL};

const struct keeps bufmodkeeps[KEEP_KINDS] = {[KEEP_OF_PAIR] = {sizeof(struct bufmod),
    {{offsetof(struct bufmod, sb_q), KEEP_QUEUE}, {offsetof(struct bufmod, sb_mp), KEEP_MSG}}}};

extern struct streamtab bufmodinfo;
struct streamtab bufmodinfo = {&bufmod_rinit, &bufmod_winit, NULL, NULL};

/* ---- sending up --------------------------------------------------------------------- */

/* In its turn, behind what waits here. */
static void
pass_up(queue_t *q, mblk_t *mp)
{
	if (mp->b_datap->db_type >= QPCTL ||
	    (q->q_first == NULL && bcanputnext(q, mp->b_band)))
		putnext(q, mp);
	else if (!putq(q, mp))
		freemsg(mp); /* no memory for its band */
}

static void
stop_timer(struct bufmod *sb)
{
	if (sb->sb_timer != 0)
		(void)quntimeout(sb->sb_q, sb->sb_timer);
	sb->sb_timer = 0;
}

/* The chunk, if there is one, goes up or is dropped. */
static void
send_chunk(struct bufmod *sb)
{
	queue_t *q = sb->sb_q;
	mblk_t *mp = sb->sb_mp;

	sb->sb_mp = NULL;
	if (mp == NULL)
		return;
	if ((sb->sb_flags & SB_NO_DROPS) || (q->q_first == NULL && canputnext(q))) {
		pass_up(q, mp);
	} else {
		sb->sb_drops += sb->sb_n;
		freemsg(mp);
	}
}

static void
end_chunk(struct bufmod *sb)
{
	stop_timer(sb);
	send_chunk(sb);
}

static void
time_over(void *arg)
{
	struct bufmod *sb = arg;

	sb->sb_timer = 0;
	send_chunk(sb);
}

/* ---- gathering ------------------------------------------------------------------------ */

static size_t
length(const mblk_t *mp)
{
	size_t n = 0;

	for (; mp != NULL; mp = mp->b_cont)
		n += (size_t)(mp->b_wptr - mp->b_rptr);
	return n;
}

static void
append_header(struct bufmod *sb, size_t orig, size_t keep, size_t total)
{
	struct sb_hdr h = {.sbh_origlen = (unsigned int)orig,
	    .sbh_msglen = (unsigned int)keep,
	    .sbh_totlen = (unsigned int)total,
	    .sbh_drops = sb->sb_drops};

	gettimeofday(&h.sbh_timestamp, NULL);
	memcpy(sb->sb_mp->b_wptr, &h, sizeof(h));
	sb->sb_mp->b_wptr += sizeof(h);
}

/* The first n bytes of mp, then pad zeros. */
static void
append(struct bufmod *sb, const mblk_t *mp, size_t n, size_t pad)
{
	unsigned char *to = sb->sb_mp->b_wptr;

	for (; mp != NULL && n > 0; mp = mp->b_cont) {
		size_t len = (size_t)(mp->b_wptr - mp->b_rptr);

		if (len > n)
			len = n;
		memcpy(to, mp->b_rptr, len);
		to += len;
		n -= len;
	}
	memset(to, 0, pad);
	sb->sb_mp->b_wptr = to + pad;
}

/* Room for need bytes, in a new chunk if they do not fit in this one. */
static bool
make_room(struct bufmod *sb, size_t need)
{
	if (sb->sb_mp != NULL && length(sb->sb_mp) + need > sb->sb_chunk)
		end_chunk(sb);
	if (sb->sb_mp != NULL)
		return true;
	sb->sb_mp = allocb(need > sb->sb_chunk ? need : sb->sb_chunk, BPRI_MED);
	sb->sb_n = 0;
	return sb->sb_mp != NULL;
}

/* The chunk has got a message: does it go up now, or when? */
static void
timing(struct bufmod *sb)
{
	bool first = sb->sb_timer == 0;

	if (length(sb->sb_mp) >= sb->sb_chunk) {
		end_chunk(sb);
		return;
	}
	if (sb->sb_usec == FOREVER || !first)
		return;
	if (sb->sb_flags & SB_DEFER_CHUNK)
		send_chunk(sb);
	sb->sb_timer = qtimeout(sb->sb_q, time_over, sb, drv_usectohz(sb->sb_usec));
	if (sb->sb_timer == 0)
		send_chunk(sb); /* nobody would */
}

static void
gather(struct bufmod *sb, mblk_t *mp)
{
	size_t orig = length(mp), keep = orig, head, pad;

	if (sb->sb_snap != 0 && keep > sb->sb_snap)
		keep = sb->sb_snap;
	head = sb->sb_flags & SB_NO_HEADER ? 0 : sizeof(struct sb_hdr);
	pad = head != 0 ? -keep & (sizeof(long) - 1) : 0;
	if (!make_room(sb, head + keep + pad)) {
		sb->sb_drops++;
	} else {
		if (head != 0)
			append_header(sb, orig, keep, head + keep + pad);
		append(sb, mp, keep, pad);
		sb->sb_n++;
		timing(sb);
	}
	freemsg(mp);
}

/* ---- coming up ---------------------------------------------------------------------------- */

static void
flush_read(struct bufmod *sb, const mblk_t *mp)
{
	if (mp->b_wptr == mp->b_rptr || !(*mp->b_rptr & FLUSHR))
		return;
	if ((*mp->b_rptr & FLUSHBAND) && mp->b_wptr - mp->b_rptr > 1) {
		flushband(sb->sb_q, mp->b_rptr[1], FLUSHDATA);
		if (mp->b_rptr[1] != 0)
			return;
	} else {
		flushq(sb->sb_q, FLUSHDATA);
	}
	stop_timer(sb);
	freemsg(sb->sb_mp);
	sb->sb_mp = NULL;
}

/* Chunks have no band and no protocol; what has either stays a message. */
static bool
gathered(const struct bufmod *sb, const mblk_t *mp)
{
	if (mp->b_band != 0)
		return false;
	return mp->b_datap->db_type == M_DATA ||
	    (mp->b_datap->db_type == M_PROTO && !(sb->sb_flags & SB_NO_PROTO_CVT));
}

static int
bufmod_rput(queue_t *q, mblk_t *mp)
{
	struct bufmod *sb = q->q_ptr;
	unsigned char type = mp->b_datap->db_type;

	if (gathered(sb, mp)) {
		gather(sb, mp);
		return 0;
	}
	if (type == M_FLUSH)
		flush_read(sb, mp);
	else if (type != M_IOCACK && type != M_IOCNAK) /* answers are not in the order */
		end_chunk(sb);
	pass_up(q, mp);
	return 0;
}

static int
bufmod_rsrv(queue_t *q)
{
	mblk_t *mp;

	while ((mp = getq(q)) != NULL) {
		if (mp->b_datap->db_type < QPCTL && !bcanputnext(q, mp->b_band)) {
			putbq(q, mp);
			return 0;
		}
		putnext(q, mp);
	}
	return 0;
}

/* ---- parameters --------------------------------------------------------------------------- */

/* Each takes n bytes of data, sets them and returns 0 or an errno; or gives them. */
static int
set_time(struct bufmod *sb, void *data)
{
	struct timeval *tv = data;

	if (tv->tv_sec < 0 || tv->tv_usec < 0 || tv->tv_usec >= USEC ||
	    tv->tv_sec > LONG_MAX / USEC - 1)
		return EINVAL;
	end_chunk(sb);
	sb->sb_usec = tv->tv_sec * USEC + tv->tv_usec;
	if (sb->sb_usec == 0)
		sb->sb_chunk = 0; /* every message at once */
	return 0;
}

static int
get_time(struct bufmod *sb, void *data)
{
	struct timeval *tv = data;

	if (sb->sb_usec == FOREVER)
		return ERANGE;
	tv->tv_sec = sb->sb_usec / USEC;
	tv->tv_usec = sb->sb_usec % USEC;
	return 0;
}

static int
clear_time(struct bufmod *sb, void *data)
{
	(void)data;
	stop_timer(sb);
	sb->sb_usec = FOREVER;
	return 0;
}

static int
set_chunk(struct bufmod *sb, void *data)
{
	if (*(unsigned int *)data > CHUNK_MAX)
		return EINVAL;
	end_chunk(sb);
	sb->sb_chunk = *(unsigned int *)data;
	return 0;
}

static int
get_chunk(struct bufmod *sb, void *data)
{
	*(unsigned int *)data = sb->sb_chunk;
	return 0;
}

static int
set_snap(struct bufmod *sb, void *data)
{
	end_chunk(sb);
	sb->sb_snap = *(unsigned int *)data;
	return 0;
}

static int
get_snap(struct bufmod *sb, void *data)
{
	*(unsigned int *)data = sb->sb_snap;
	return 0;
}

static int
set_flags(struct bufmod *sb, void *data)
{
	if (*(unsigned int *)data & ~(unsigned int)FLAGS)
		return EINVAL;
	end_chunk(sb);
	sb->sb_flags = *(unsigned int *)data;
	return 0;
}

static int
get_flags(struct bufmod *sb, void *data)
{
	*(unsigned int *)data = sb->sb_flags;
	return 0;
}

static const struct {
	int cmd;
	size_t takes; /* bytes */
	size_t gives;
	int (*run)(struct bufmod *, void *);
} commands[] = {
    {SBIOCSTIME, sizeof(struct timeval), 0, set_time},
    {SBIOCGTIME, 0, sizeof(struct timeval), get_time},
    {SBIOCCTIME, 0, 0, clear_time},
    {SBIOCSCHUNK, sizeof(int), 0, set_chunk},
    {SBIOCGCHUNK, 0, sizeof(int), get_chunk},
    {SBIOCSSNAP, sizeof(int), 0, set_snap},
    {SBIOCGSNAP, 0, sizeof(int), get_snap},
    {SBIOCSFLAGS, sizeof(int), 0, set_flags},
    {SBIOCGFLAGS, 0, sizeof(int), get_flags},
};

/* Run command i on the data of mp, in a block of its own afterwards: 0 or an errno. */
static int
run(struct bufmod *sb, mblk_t *mp, size_t i)
{
	struct iocblk *ioc = (struct iocblk *)(void *)mp->b_rptr;
	struct timeval data; /* the largest of them */
	mblk_t *bp;
	int error;

	if (ioc->ioc_count == TRANSPARENT || ioc->ioc_count < commands[i].takes)
		return EINVAL;
	if (commands[i].takes > 0 && !pullupmsg(mp->b_cont, (ssize_t)commands[i].takes))
		return ENOSR;
	if (commands[i].takes > 0)
		memcpy(&data, mp->b_cont->b_rptr, commands[i].takes);
	bp = allocb(sizeof(data), BPRI_HI);
	if (bp == NULL)
		return ENOSR;
	error = commands[i].run(sb, &data);
	freemsg(mp->b_cont);
	mp->b_cont = bp;
	if (error == 0 && commands[i].gives > 0)
		memcpy(bp->b_wptr, &data, commands[i].gives);
	bp->b_wptr += error == 0 ? commands[i].gives : 0;
	ioc->ioc_count = error == 0 ? commands[i].gives : 0;
	return error;
}

/* False: not one of ours. */
static bool
ioctl(queue_t *q, mblk_t *mp)
{
	struct iocblk *ioc = (struct iocblk *)(void *)mp->b_rptr;

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (commands[i].cmd != ioc->ioc_cmd)
			continue;
		ioc->ioc_error = run(q->q_ptr, mp, i);
		ioc->ioc_rval = 0;
		mp->b_datap->db_type = ioc->ioc_error == 0 ? M_IOCACK : M_IOCNAK;
		qreply(q, mp);
		return true;
	}
	return false;
}

static int
bufmod_wput(queue_t *q, mblk_t *mp)
{
	struct bufmod *sb = q->q_ptr;
	unsigned char type = mp->b_datap->db_type;

	if (type == M_IOCTL && ioctl(q, mp))
		return 0;
	if (type == M_FLUSH)
		flush_read(sb, mp);
	else if ((type == M_DATA || type == M_PROTO) && (sb->sb_flags & SB_SEND_ON_WRITE))
		end_chunk(sb);
	putnext(q, mp);
	return 0;
}

/* ---- open and close -------------------------------------------------------------------------- */

static int
bufmod_open(queue_t *q, dev_t *devp, int oflag, int sflag, cred_t *crp)
{
	struct bufmod *sb;

	(void)devp, (void)oflag, (void)sflag, (void)crp;
	if (q->q_ptr != NULL)
		return 0;
	sb = kmem_zalloc(sizeof(*sb), KM_SLEEP);
	if (sb == NULL)
		return ENOMEM;
	sb->sb_q = q;
	sb->sb_chunk = SB_DFLT_CHUNK;
	sb->sb_usec = FOREVER;
	q->q_ptr = WR(q)->q_ptr = sb;
	qprocson(q);
	return 0;
}

/* What was gathered goes up: a pop loses nothing. */
static int
bufmod_close(queue_t *q, int flag, cred_t *crp)
{
	struct bufmod *sb = q->q_ptr;
	mblk_t *mp;

	(void)flag, (void)crp;
	end_chunk(sb);
	while ((mp = getq(q)) != NULL)
		putnext(q, mp);
	qprocsoff(q);
	kmem_free(sb, sizeof(*sb));
	q->q_ptr = WR(q)->q_ptr = NULL;
	return 0;
}
