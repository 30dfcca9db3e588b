/* SPDX-License-Identifier: BSD-2-Clause */
/* dump.c: a stream drawn as text (ustr_dump). */
#include "calls.h"
#include "link.h"

#include <errno.h>

struct flagname {
	unsigned int flag;
	const char *name;
};

static const struct flagname queue_flags[] = { { QENAB, "ENAB" }, { QHLIST, "INSERVICE" },
	{ QWANTR, "WANTR" }, { QWANTW, "WANTW" }, { QFULL, "FULL" }, { QNOENB, "NOENB" },
	{ 0, NULL } };
static const struct flagname head_states[] = { { SD_HUP, "HUNGUP" }, { SD_BROKEN, "BROKEN" },
	{ SD_RDERR, "RDERR" }, { SD_WRERR, "WRERR" }, { SD_PLEX, "LINKED" },
	{ SD_CLOSING, "CLOSING" }, { SD_MREAD, "MREAD" }, { SD_NDEL, "NDELAY" },
	{ SD_DELIM, "DELIM" }, { SD_NOWRITER, "NOWRITER" }, { 0, NULL } };

static void
flags(FILE *to, const struct flagname *fn, unsigned int set)
{
	for (; fn->name != NULL; fn++)
		if (set & fn->flag)
			fprintf(to, " %s", fn->name);
}

static void
queue(FILE *to, const char *side, queue_t *q)
{
	if (q->q_kind & QK_HEADR)
		hq_refresh(q);
	fprintf(to, "    %s %6zu bytes %5zu blocks  hiwat %zu lowat %zu", side,
		ld_rlx(&q->q_count), ld_rlx(&q->q_blocks), ld_rlx(&q->q_hiwat),
		ld_rlx(&q->q_lowat));
	if (ld_rlx(&q->q_pblocks) > 0)
		fprintf(to, "  parked %zu bytes %zu blocks", ld_rlx(&q->q_pbytes),
			ld_rlx(&q->q_pblocks));
	flags(to, queue_flags, ld_rlx(&q->q_flag));
	fprintf(to, "\n");
}

static void
pair(FILE *to, const char *name, queue_t *wq)
{
	fprintf(to, "  %s\n", name);
	queue(to, "write", wq);
	queue(to, "read ", RD(wq));
}

int
head_dump(struct call *c, FILE *to)
{
	struct stdata *sd = c->c_head;
	queue_t *q;

	fprintf(to, "stream %u: %s, %u pushed, %u open", sd->sd_id,
		sd->sd_kind == HEAD_PIPE ? "pipe" : sd->sd_reg->re_name,
		ld_rlx(&sd->sd_pushed), ld_rlx(&sd->sd_opens));
	if (sd->sd_kind != HEAD_PIPE)
		fprintf(to, ", minor %u", ld_rlx(&sd->sd_minor));
	flags(to, head_states, ld_rlx(&sd->sd_state));
	fprintf(to, "\n");
	if (ld_acq(&sd->sd_state) & SD_PLEX)
		fprintf(to, "  ~ below %s, link %d\n", registry_of(sd->sd_rq)->re_name,
			link_above(sd));
	pair(to, ld_acq(&sd->sd_state) & SD_PLEX ? "lower queues" : "stream head", head_wq(sd));
	for (q = head_next(sd, head_wq(sd)); q != NULL; q = head_next(sd, q))
		pair(to, registry_of(q)->re_name, q);
	if (sd->sd_mate != NULL)
		fprintf(to, "  ~ other end: stream %u\n", sd->sd_mate->sd_id);
	else if (sd->sd_kind == HEAD_PIPE)
		fprintf(to, "  ~ other end: closed\n");
	else if (sd->sd_kind == HEAD_FIFO)
		fprintf(to, "  ~ its own end: %u read, %u write\n", ld_rlx(&sd->sd_readers),
			ld_rlx(&sd->sd_writers));
	return ferror(to) ? EIO : 0;
}
