/* SPDX-License-Identifier: BSD-2-Clause */
/* head_connect.c: strconnect, for connld. */
#include "head_connect.h"
#include "passfp.h"

#include <sys/strsubr.h>

static __thread struct stdata *made;

struct stdata *
connect_result(void)
{
	struct stdata *sd = made;

	made = NULL;
	return sd;
}

/* End 1 in a message, both ends open: 0; or ENOSR, and the pipe is freed. */
static int
pack(struct stdata *sd[2], mblk_t **mpp)
{
	struct file *f = file_make(sd[1], O_RDWR);
	int error = f == NULL ? ENOSR : passfp_make(f, -1, mpp);

	if (error == 0) {
		ASSERT(sd[0]->sd_opens == 0 && sd[1]->sd_opens == 0);
		sd[0]->sd_opens = sd[1]->sd_opens = 1;
		return 0;
	}
	if (f != NULL) {
		f->f_head = NULL; /* the pipe is freed, not closed */
		file_giveup(f);
	}
	head_unpipe(sd);
	return error;
}

int
strispipe(queue_t *q)
{
	return q->q_stream->sd_kind == HEAD_PIPE;
}

int
strconnect(queue_t *q)
{
	queue_t *wq = WR(q);
	struct stdata *pair[2], *sd = q->q_stream;
	mblk_t *mp;
	int error;

	ASSERT(made == NULL);
	ASSERT(ld_rlx(&slot_tls->sl_home) != NULL); /* an open routine's call */
	if (ld_acq(&sd->sd_state) & (SD_HUP | SD_BROKEN))
		return ENXIO;
	if (!bcanputnext(wq, 0))
		return EAGAIN;
	error = head_pipe(pair);
	if (error == 0)
		error = pack(pair, &mp);
	if (error != 0)
		return error;
	file_keep();
	made = pair[0];
	putnext(wq, mp);
	return 0;
}
