/* SPDX-License-Identifier: BSD-2-Clause */
/* msglib.c: what the tests of message blocks share. */
#include "msglib.h"

#include <stdlib.h>


int
is_aligned(const void *p)
{
	return ((uintptr_t)p & 7) == 0;
}

/* ---- esballoc with an audit ------------------------------------------------------- */

atomic_int esb_calls;

void
esb_free(char *arg)
{
	struct esb *e = (struct esb *)(void *)arg;

	atomic_fetch_add(&e->calls, 1);
	atomic_fetch_add(&esb_calls, 1);
	memset(e->buf, 0xdd, e->size); /* whoever still reads it will notice */
}

struct esb *
esb_new(size_t size)
{
	struct esb *e = calloc(1, sizeof(*e));

	tm_assert(e, "calloc");
	e->buf = malloc(size ? size : 1);
	tm_assert(e->buf, "malloc");
	e->size = size;
	e->frtn.free_func = esb_free;
	e->frtn.free_arg = (char *)e;
	return e;
}

void
esb_done(struct esb *e)
{
	tm_assert(atomic_load(&e->calls) == 1, "%d calls", atomic_load(&e->calls));
	free(e->buf);
	free(e);
}

mblk_t *
esb_msg(struct esb *e)
{
	mblk_t *mp = esballoc(e->buf, e->size, BPRI_MED, &e->frtn);
	size_t i;

	tm_assert(mp, "esballoc(%zu)", e->size);
	for (i = 0; i < e->size; i++)
		*mp->b_wptr++ = (unsigned char)i;
	return mp;
}

/* ---- small tools ------------------------------------------------------------------ */

mblk_t *
ramp(int type, size_t len, size_t size, int from)
{
	mblk_t *mp = allocb(size, BPRI_MED);
	size_t i;

	tm_assert(mp, "allocb(%zu)", size);
	mp->b_datap->db_type = (unsigned char)type;
	for (i = 0; i < len; i++)
		*mp->b_wptr++ = (unsigned char)(from + (int)i);
	return mp;
}

mblk_t *
ramps(int type, const int *lens)
{
	mblk_t *mp = NULL, *bp;
	int from = 0;

	for (; *lens >= 0; lens++) {
		bp = ramp(type, (size_t)*lens, (size_t)*lens, from);
		from += *lens;
		if (mp)
			linkb(mp, bp);
		else
			mp = bp;
	}
	return mp;
}

size_t
blen(const mblk_t *bp)
{
	return (size_t)(bp->b_wptr - bp->b_rptr);
}

size_t
total(const mblk_t *mp)
{
	size_t n = 0;

	for (; mp; mp = mp->b_cont)
		n += blen(mp);
	return n;
}

int
is_ramp(const mblk_t *mp, int from, int to)
{
	const unsigned char *p;

	for (; mp; mp = mp->b_cont)
		for (p = mp->b_rptr; p < mp->b_wptr; p++)
			if (from >= to || *p != (unsigned char)from++)
				return 0;
	return from == to;
}

void
churn(void)
{
	static const size_t sizes[] = {0, 16, 64, 65, 128, 200, 1024, 5000};
	mblk_t *mp[2 * sizeof(sizes) / sizeof(sizes[0])];
	size_t i, n = sizeof(mp) / sizeof(mp[0]);

	for (i = 0; i < n; i++)
		mp[i] = tm_msg(M_DATA, 7, sizes[i / 2], 0xee);
	for (i = 0; i < n; i++)
		freeb(mp[i]);
}

/* Does every block of mp have n references? */
int
all_refs(const mblk_t *mp, unsigned n)
{
	for (; mp; mp = mp->b_cont)
		if (mp->b_datap->db_ref != n)
			return 0;
	return 1;
}

int
unshared(const mblk_t *mp)
{
	return all_refs(mp, 1);
}

TCase *
msg_group(Suite *s, const char *name)
{
	TCase *tc = tcase_create(name);

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, tm_setup, tm_teardown);
	suite_add_tcase(s, tc);
	return tc;
}
