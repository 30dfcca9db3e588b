/* SPDX-License-Identifier: BSD-2-Clause */
/* lookrate.h: what happened between two views, a second. */
#ifndef LOOKRATE_H
#define LOOKRATE_H

#include <ustreams_look.h>

/* Of one stream: at its head; fill is the fullest of its queues, 0 to 1 and over. */
struct stream_rate {
	double in_blocks, in_bytes, out_blocks, out_bytes;
	size_t bytes, blocks; /* queued and parked */
	double fill;
};

/* Of all together. */
struct rates {
	double seconds;
	double in_blocks, in_bytes, out_blocks, out_bytes;
	double trips, made;
	size_t failures, inuse, queued;
	unsigned int live;
};

/* Of stream y, as it is in the later view; before may be NULL: then nothing happened. */
struct stream_rate rate_stream(const struct ustr_view *before,
    const struct ustr_view *now, const struct ustr_view_stream *y);
struct rates rate_all(const struct ustr_view *before, const struct ustr_view *now);

#endif
