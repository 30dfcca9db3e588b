/* SPDX-License-Identifier: BSD-2-Clause */
/* lookrate.c: what happened between two views, a second. */
#include "lookrate.h"

#include "looktext.h"

static double
per_second(uint64_t now, uint64_t before, double seconds)
{
	return now > before && seconds > 0 ? (double)(now - before) / seconds : 0;
}

static double
seconds_between(const struct ustr_view *before, const struct ustr_view *now)
{
	return before == NULL ? 0 : (double)(now->v_when - before->v_when) / 1e9;
}

static double
fill_of(const struct ustr_view_queue *q)
{
	size_t most = q->vq_bytes > q->vq_blocks ? q->vq_bytes : q->vq_blocks;

	return q->vq_hiwat > 0 ? (double)most / (double)q->vq_hiwat : 0;
}

struct stream_rate
rate_stream(const struct ustr_view *before, const struct ustr_view *now,
    const struct ustr_view_stream *y)
{
	static const struct ustr_view_stream none;
	const struct ustr_view_stream *x =
	    before != NULL ? ustr_view_stream(before, y->vs_id) : NULL;
	double seconds = seconds_between(before, now);
	struct stream_rate r = {0};

	if (x == NULL)
		x = &none;
	r.in_blocks = per_second(y->vs_put_blocks, x->vs_put_blocks, seconds);
	r.in_bytes = per_second(y->vs_put_bytes, x->vs_put_bytes, seconds);
	r.out_blocks = per_second(y->vs_got_blocks, x->vs_got_blocks, seconds);
	r.out_bytes = per_second(y->vs_got_bytes, x->vs_got_bytes, seconds);
	look_queued(y, &r.bytes, &r.blocks);
	for (unsigned int i = 0; i < y->vs_nqueues; i++)
		if (fill_of(&y->vs_queues[i]) > r.fill)
			r.fill = fill_of(&y->vs_queues[i]);
	return r;
}

static void
sum_classes(const struct ustr_view *v, size_t *trips, size_t *made, size_t *failures,
    size_t *inuse)
{
	*trips = *made = *inuse = 0;
	*failures = v->v_refused;
	for (unsigned int i = 0; i < v->v_nclasses; i++) {
		*trips += v->v_classes[i].vc_trips;
		*made += v->v_classes[i].vc_made;
		*failures += v->v_classes[i].vc_failures;
		*inuse += v->v_classes[i].vc_inuse;
	}
}

struct rates
rate_all(const struct ustr_view *before, const struct ustr_view *now)
{
	struct rates r = {.seconds = seconds_between(before, now)};
	size_t trips[2], made[2], failures[2];

	for (unsigned int i = 0; i < now->v_nstreams; i++) {
		struct stream_rate s = rate_stream(before, now, &now->v_streams[i]);

		r.in_blocks += s.in_blocks;
		r.in_bytes += s.in_bytes;
		r.out_blocks += s.out_blocks;
		r.out_bytes += s.out_bytes;
		r.queued += s.blocks;
	}
	sum_classes(before != NULL ? before : now, &trips[0], &made[0], &failures[0], &r.inuse);
	sum_classes(now, &trips[1], &made[1], &failures[1], &r.inuse);
	r.trips = per_second(trips[1], trips[0], r.seconds);
	r.made = per_second(made[1], made[0], r.seconds);
	r.failures = failures[1] - failures[0];
	for (unsigned int i = 0; i < now->v_nprocesses; i++)
		r.live += now->v_processes[i].vp_state == USTR_PROC_LIVE;
	return r;
}
