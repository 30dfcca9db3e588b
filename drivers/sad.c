/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sad.c: the STREAMS administrative driver: autopush by ioctl.
 *
 * Each command takes a structure from the caller's memory and may give one back,
 * so a transparent ioctl is a dialogue; what comes next stands in a block that
 * goes along as cq_private:
 *
 *   SAD_SAP    M_IOCTL ─► M_COPYIN ─► STEP_SAP ─► M_IOCACK
 *   SAD_GAP    M_IOCTL ─► M_COPYIN ─► STEP_GAP ─► M_COPYOUT ─► STEP_DONE ─► M_IOCACK
 *   SAD_VML    M_IOCTL ─► M_COPYIN ─► STEP_LIST ─► M_COPYIN ─► STEP_VML ─► M_IOCACK
 *
 * I_STR brings the structure along, and takes it back with the M_IOCACK; the names
 * of SAD_VML lie in the caller's memory in both cases.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ddi.h>
#include <sys/sad.h>
#include <sys/stream.h>
#include <sys/stropts.h>
#include <sys/strsubr.h>

#define SAD_NAMES 64 /* most names of a SAD_VML */

enum sadstep { STEP_SAP, STEP_GAP, STEP_LIST, STEP_VML, STEP_DONE };

/* What the dialogue remembers between two messages. */
struct sadnext {
	enum sadstep sn_step; /* with the data that comes */
	caddr_t sn_addr;      /* the caller's structure, NULL: I_STR */
	int sn_n;	      /* names of SAD_VML */
};

static int sad_open(queue_t *, dev_t *, int, int, cred_t *);
static int sad_close(queue_t *, int, cred_t *);
static int sad_wput(queue_t *, mblk_t *);

static struct module_info sad_info = { 1013, "sad", 0, INFPSZ, 65536, 8192 };
static struct qinit sad_rinit = { NULL, NULL, sad_open, sad_close, NULL, &sad_info, NULL };
static struct qinit sad_winit = { sad_wput, NULL, NULL, NULL, NULL, &sad_info, NULL };

extern struct streamtab sadinfo;
struct streamtab sadinfo = { &sad_rinit, &sad_winit, NULL, NULL };

_Static_assert(sizeof(struct iocblk) <= sizeof(struct copyreq) &&
	sizeof(struct copyresp) <= sizeof(struct copyreq), "answered in place");

static int
sad_open(queue_t *q, dev_t *devp, int oflag, int sflag, cred_t *crp)
{
	(void)devp, (void)oflag, (void)crp;
	if (sflag & MODOPEN)
		return EINVAL;
	qprocson(q);
	return 0;
}

static int
sad_close(queue_t *q, int flag, cred_t *crp)
{
	(void)flag, (void)crp;
	qprocsoff(q);
	return 0;
}

/* ---- answers -------------------------------------------------------------------------- */

/* What all messages of a dialogue begin with. */
struct sadhead {
	int h_cmd;
	cred_t *h_cr;
	unsigned int h_id;
	unsigned int h_flag;
};

/* The last word: 0 with rval and count bytes of data, or an errno. */
static void
sad_answer(queue_t *q, mblk_t *mp, int error, int rval, size_t count)
{
	struct sadhead h;
	struct iocblk *ioc = (struct iocblk *)(void *)mp->b_rptr;

	memcpy(&h, mp->b_rptr, sizeof(h));
	*ioc = (struct iocblk){ .ioc_cmd = h.h_cmd, .ioc_cr = h.h_cr, .ioc_id = h.h_id,
		.ioc_flag = h.h_flag, .ioc_count = count, .ioc_rval = rval, .ioc_error = error };
	mp->b_wptr = mp->b_rptr + sizeof(*ioc);
	mp->b_datap->db_type = error == 0 ? M_IOCACK : M_IOCNAK;
	if (count == 0 && mp->b_cont != NULL) {
		freemsg(mp->b_cont);
		mp->b_cont = NULL;
	}
	qreply(q, mp);
}

/* Have size bytes copied from or to addr, and go on with sn then. */
static void
sad_copy(queue_t *q, mblk_t *mp, int type, caddr_t addr, size_t size, const struct sadnext *sn)
{
	struct copyreq *cq = (struct copyreq *)(void *)mp->b_rptr;
	mblk_t *next = allocb(sizeof(*sn), BPRI_MED);
	struct sadhead h;

	if (next == NULL) {
		sad_answer(q, mp, ENOSR, 0, 0);
		return;
	}
	memcpy(next->b_wptr, sn, sizeof(*sn));
	next->b_wptr += sizeof(*sn);
	memcpy(&h, mp->b_rptr, sizeof(h));
	*cq = (struct copyreq){ .cq_cmd = h.h_cmd, .cq_cr = h.h_cr, .cq_id = h.h_id,
		.cq_flag = h.h_flag, .cq_private = next, .cq_addr = addr, .cq_size = size };
	mp->b_wptr = mp->b_rptr + sizeof(*cq);
	mp->b_datap->db_type = (unsigned char)type;
	q->q_ptr = next; /* what the answer brings back */
	if (type == M_COPYIN && mp->b_cont != NULL) {
		freemsg(mp->b_cont);
		mp->b_cont = NULL;
	}
	qreply(q, mp);
}

/* ---- the steps, with the data that came ---------------------------------------------------- */

/* The data as one block of at least size bytes, or NULL. */
static void *
sad_data(mblk_t *mp, size_t size)
{
	if (mp->b_cont == NULL || !pullupmsg(mp->b_cont, (ssize_t)size))
		return NULL;
	return mp->b_cont->b_rptr;
}

static void
sad_sap(queue_t *q, mblk_t *mp, const struct sadnext *sn)
{
	const struct strapush *sap = sad_data(mp, sizeof(*sap));
	struct sadhead h;
	int error = EINVAL;

	(void)sn;
	memcpy(&h, mp->b_rptr, sizeof(h));
	if (!autopush_may(h.h_cr))
		error = EPERM;
	else if (sap != NULL)
		error = autopush_set(sap);
	sad_answer(q, mp, error, 0, 0);
}

static void
sad_gap(queue_t *q, mblk_t *mp, const struct sadnext *sn)
{
	struct sadnext done = { STEP_DONE, sn->sn_addr, 0 };
	struct strapush *sap = sad_data(mp, sizeof(*sap));
	int error = sap == NULL ? EINVAL : autopush_get(sap);

	if (error == 0 && sn->sn_addr != NULL)
		sad_copy(q, mp, M_COPYOUT, sn->sn_addr, sizeof(*sap), &done);
	else
		sad_answer(q, mp, error, 0, error == 0 ? sizeof(*sap) : 0);
}

static void
sad_list(queue_t *q, mblk_t *mp, const struct sadnext *sn)
{
	const struct str_list *list = sad_data(mp, sizeof(*list));
	struct sadnext names = { STEP_VML, sn->sn_addr, list != NULL ? list->sl_nmods : 0 };

	if (names.sn_n < 1 || names.sn_n > SAD_NAMES)
		sad_answer(q, mp, EINVAL, 0, 0);
	else
		sad_copy(q, mp, M_COPYIN, (caddr_t)list->sl_modlist,
			(size_t)names.sn_n * sizeof(struct str_mlist), &names);
}

static void
sad_vml(queue_t *q, mblk_t *mp, const struct sadnext *sn)
{
	const char(*names)[FMNAMESZ + 1] = sad_data(mp, (size_t)sn->sn_n * sizeof(names[0]));
	bool all = names != NULL && autopush_modules(names, sn->sn_n);

	sad_answer(q, mp, names != NULL ? 0 : EINVAL, all ? 0 : 1, 0);
}

static void
sad_done(queue_t *q, mblk_t *mp, const struct sadnext *sn)
{
	(void)sn;
	sad_answer(q, mp, 0, 0, 0);
}

static void (*const sad_steps[])(queue_t *, mblk_t *, const struct sadnext *) = {
	[STEP_SAP] = sad_sap,
	[STEP_GAP] = sad_gap,
	[STEP_LIST] = sad_list,
	[STEP_VML] = sad_vml,
	[STEP_DONE] = sad_done,
};

/* ---- messages --------------------------------------------------------------------------------- */

/* Is there room for whatever of a dialogue's messages it becomes? */
static bool
sad_room(const mblk_t *mp)
{
	size_t size = (size_t)(mp->b_datap->db_lim - mp->b_rptr);

	return size >= sizeof(struct copyreq) && size >= sizeof(struct iocblk) &&
		size >= sizeof(struct copyresp);
}

/* SAD_MAJOR, which brings its string along. */
static void
sad_major(queue_t *q, mblk_t *mp, size_t count)
{
	char name[FMNAMESZ + 2] = "";
	int major;

	if (count == 0 || count > FMNAMESZ + 1 || sad_data(mp, count) == NULL) {
		sad_answer(q, mp, EINVAL, 0, 0);
		return;
	}
	memcpy(name, mp->b_cont->b_rptr, count);
	major = autopush_major(name);
	sad_answer(q, mp, major >= 0 ? 0 : ENODEV, major, 0);
}

static void
sad_ioctl(queue_t *q, mblk_t *mp)
{
	const struct iocblk *ioc = (const struct iocblk *)(const void *)mp->b_rptr;
	struct sadnext sn = { STEP_SAP, NULL, 0 };
	size_t size = sizeof(struct strapush), count = sad_room(mp) ? ioc->ioc_count : 0;

	if (!sad_room(mp)) {
		freemsg(mp);
		return;
	}
	switch (ioc->ioc_cmd) {
	case SAD_SAP:
		break;
	case SAD_GAP:
		sn.sn_step = STEP_GAP;
		break;
	case SAD_VML:
		sn.sn_step = STEP_LIST;
		size = sizeof(struct str_list);
		break;
	case SAD_MAJOR:
		sad_major(q, mp, count == TRANSPARENT ? 0 : count);
		return;
	default:
		sad_answer(q, mp, EINVAL, 0, 0);
		return;
	}
	if (count == TRANSPARENT && sad_data(mp, sizeof(sn.sn_addr)) != NULL) {
		memcpy(&sn.sn_addr, mp->b_cont->b_rptr, sizeof(sn.sn_addr));
		sad_copy(q, mp, M_COPYIN, sn.sn_addr, size, &sn);
	} else if (count == size) {
		sad_steps[sn.sn_step](q, mp, &sn);
	} else {
		sad_answer(q, mp, EINVAL, 0, 0);
	}
}

/*
 * The dialogue goes on, unless the copying failed.  A program may put messages of any
 * type (str_putmblk): what leads to a block that was not given out is not followed.
 */
static void
sad_iocdata(queue_t *q, mblk_t *mp)
{
	const struct copyresp *cp = (const struct copyresp *)(const void *)mp->b_rptr;
	mblk_t *next = sad_room(mp) ? cp->cp_private : NULL;
	struct sadnext sn;

	if (next == NULL || next != q->q_ptr) {
		freemsg(mp);
		return;
	}
	q->q_ptr = NULL;
	if (cp->cp_rval != 0) {
		freemsg(next);
		freemsg(mp);
		return;
	}
	memcpy(&sn, next->b_rptr, sizeof(sn));
	freeb(next);
	sad_steps[sn.sn_step](q, mp, &sn);
}

static void
sad_flush(queue_t *q, mblk_t *mp)
{
	if (*mp->b_rptr & FLUSHR) {
		*mp->b_rptr &= (unsigned char)~FLUSHW;
		qreply(q, mp);
	} else {
		freemsg(mp);
	}
}

static int
sad_wput(queue_t *q, mblk_t *mp)
{
	switch (mp->b_datap->db_type) {
	case M_IOCTL:
		sad_ioctl(q, mp);
		break;
	case M_IOCDATA:
		sad_iocdata(q, mp);
		break;
	case M_FLUSH:
		sad_flush(q, mp);
		break;
	default:
		freemsg(mp);
	}
	return 0;
}
