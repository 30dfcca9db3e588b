/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * receive.h: the one loop of everything that receives.
 *
 * Level 10.  read, getmsg, getpmsg and str_getmblk differ in what they do
 * with the first message; waiting, errors, hang-up and O_NONBLOCK are the same
 * for all and stand in head_receive() alone.
 */
#ifndef STREAMS_RECEIVE_H
#define STREAMS_RECEIVE_H

#include "fd.h"

enum take {
	TAKE_DONE,	/* finished */
	TAKE_WAIT,	/* nothing (suitable) there: wait */
	TAKE_FAIL	/* finished with r_error */
};

struct receive {
	/*
	 * Look at the queue and take what the call wants; under the reader
	 * lock.  Blocks to be freed go on r_gone.
	 */
	enum take (*r_take)(struct call *c, struct receive *r);
	/* Would r_take now do something?  Without locks; NULL: if anything is there. */
	bool (*r_ready)(struct call *c, void *r);
	mblk_t *r_gone;		/* messages to free, along b_next */
	int r_error;
	bool r_some;		/* something was received before waiting again */
	bool r_asked;		/* M_READ was sent */
	bool r_eof;		/* out: hung up and drained */
};

/* 0 (r_eof tells an end of file), or an errno. */
int head_receive(struct call *c, struct receive *r);

/* How much of a part is used up. */
struct used {
	size_t us_n;	/* bytes from its front */
	bool us_whole;	/* or all of its blocks */
};
#define USED(n) ((struct used){ (n), false })
#define USED_ALL ((struct used){ 0, true })

/* The first block after the control part. */
INLINE mblk_t *
message_data(mblk_t *mp)
{
	while (mp != NULL && (msg_type(mp) == M_PROTO || msg_type(mp) == M_PCPROTO))
		mp = mp->b_cont;
	return mp;
}

/*
 * For r_take: of the first message mp, ctl of the blocks before mid and data
 * of the blocks from mid on are used up.  What remains stays at the front.
 */
void receive_use(struct call *c, struct receive *r, mblk_t *mp, mblk_t *mid, struct used ctl,
	struct used data);
/* The whole first message is used up: free it. */
void receive_drop(struct call *c, struct receive *r, mblk_t *mp);
/* The whole first message is the caller's. */
void receive_keep(struct call *c, mblk_t *mp);

#endif
