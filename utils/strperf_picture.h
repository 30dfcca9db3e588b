/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_picture.h: the picture of a strperf pipe run.
 */
#ifndef STRPERF_PICTURE_H
#define STRPERF_PICTURE_H

struct measured;

/*
 * If --plot asks for one: latency against percentile with --rate, else
 * messages a second against size, or the samples of a single size.
 */
void pictures_of(const struct measured *m);

#endif
