/* SPDX-License-Identifier: BSD-2-Clause */
/* passfp.c: making M_PASSFP messages, and taking what they hold. */
#include "passfp.h"
#include "arena.h"
#include "heap.h"

#include <unistd.h>

static void
pass_free(void *buf)
{
	struct passed *pa = buf;

	ASSERT(pa != NULL && arena_has(pa));
	if (pa->pa_file != NULL)
		file_unpass(pa->pa_file);
	heap_free(pa, sizeof(*pa));
}

void
passfp_init(void)
{
	msg_pass_hook = pass_free;
}

/* The block for a stream or, frtn not NULL, for a kernel descriptor. */
static mblk_t *
wrap(struct passed *pa, frtn_t *frtn)
{
	unsigned char *buf = (unsigned char *)pa;

	if (frtn == NULL)
		return msg_wrap(buf, sizeof(*pa), DB_PASS, 0);
	return msg_ext_wrap(buf, sizeof(*pa), DB_PASS, frtn);
}

int
passfp_make(struct file *f, int fd, mblk_t **mpp)
{
	struct passed *pa = heap_zalloc(sizeof(*pa));
	frtn_t *frtn = NULL;
	mblk_t *mp;
	int error;

	EQUIV(f == NULL, fd >= 0);
	IMPLY(f == NULL, ld_rlx(&slot_tls->sl_home) == NULL);
	if (pa == NULL)
		return ENOSR;
	pa->pa_file = f;
	pa->pa_uid = geteuid();
	pa->pa_gid = getegid();
	error = f != NULL ? 0 : passfd_keep(fd, &pa->pa_ticket, &frtn);
	mp = error == 0 ? wrap(pa, frtn) : NULL;
	if (mp == NULL) {
		if (frtn != NULL)
			frtn->free_func(frtn->free_arg);
		heap_free(pa, sizeof(*pa));
		return error != 0 ? error : ENOSR;
	}
	mp->b_datap->db_type = M_PASSFP;
	mp->b_wptr += sizeof(*pa);
	if (f != NULL)
		file_pass(f);
	*mpp = mp;
	return 0;
}

struct passed *
passfp_of(const mblk_t *mp)
{
	if (msg_type(mp) != M_PASSFP || !(mp->b_datap->db_flags & DB_PASS))
		return NULL;
	return (struct passed *)(void *)mp->b_datap->db_base;
}

int
passfp_take(const mblk_t *mp, int *fdp)
{
	const struct passed *pa = passfp_of(mp);
	int fd;

	ASSERT(pa != NULL);
	ASSERT(ld_rlx(&slot_tls->sl_home) == NULL);
	if (pa->pa_file == NULL)
		return passfd_fetch(&pa->pa_ticket, fdp);
	file_ref(pa->pa_file);
	fd = fd_install(pa->pa_file, 0, false);
	if (fd < 0)
		return -fd;
	*fdp = fd;
	return 0;
}
