/* SPDX-License-Identifier: BSD-2-Clause */
/* queuelib.c: see queuelib.h. */
#include "queuelib.h"

#include <stdint.h>
#include <ustreams.h>

int fd;
queue_t *q;

void
queue_build(void)
{
	tm_register("drv", TM_DRIVER | TM_SRV, D_MP | USTR_INDEPENDENT, 1000, 100);
	tm_register("mod", TM_MODULE | TM_SRV, D_MP, HIWAT, LOWAT);
	tm_register("up", TM_MODULE | TM_SRV, D_MP, 1000, 100);
	fd = tm_stack("drv", "mod", "up", NULL);
	q = tm_rq(1);
}

void
queue_tests_setup(void)
{
	tm_setup();
	queue_build();
}

qband_t *
band(queue_t *of, int n)
{
	qband_t *qb = of->q_bandp;

	while (qb && --n > 0)
		qb = qb->qb_next;
	return qb;
}

size_t
get_size(queue_t *of, qfields_t what, int b)
{
	size_t v = SIZE_MAX;
	int error = strqget(of, what, (unsigned char)b, &v);

	tm_assert(error == 0, "field %d of band %d: %d", (int)what, b, error);
	return v;
}

mblk_t *
get_mp(queue_t *of, qfields_t what, int b)
{
	mblk_t *v = (mblk_t *)&v;
	int error = strqget(of, what, (unsigned char)b, &v);

	tm_assert(error == 0, "field %d of band %d: %d", (int)what, b, error);
	return v;
}

int
full(void)
{
	return (q->q_flag & QFULL) != 0;
}

int
band_full(int n)
{
	qband_t *qb = band(q, n);

	return qb && (qb->qb_flag & QB_FULL);
}

int
rank(const mblk_t *mp)
{
	return mp->b_datap->db_type >= QPCTL ? 256 : mp->b_band;
}

TCase *
queue_group(Suite *s, const char *name)
{
	TCase *tc = tcase_create(name);

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, queue_tests_setup, tm_teardown);
	suite_add_tcase(s, tc);
	return tc;
}
