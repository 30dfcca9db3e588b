/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_picture.c: the picture of a strperf pipe run.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "strperf_picture.h"

#include <stdio.h>
#include <stdlib.h>

#include "strperf_pipe.h"
#include "strperf_plot.h"
#include "strperf_subject.h"

#define SUBJECTS (MAX_PEERS + 1)
#define NAME 32

static void
latencies(const struct measured *m)
{
	static char name[SUBJECTS * MAX_SIZES][NAME];
	struct plot_latency l[SUBJECTS * MAX_SIZES];
	struct plot_frame frame = {.title = "strperf pipe --rate",
	    .ylabel = "ns since a message was due",
	    .logy = true};
	size_t n = 0;

	for (size_t i = 0; i < m->nresults; i++) {
		const struct result *r = &m->results[i];

		if (r->latency == NULL || r->latency->count == 0)
			continue;
		snprintf(name[n], NAME, "%s %zu", r->subject->name, r->size);
		l[n] = (struct plot_latency){.name = name[n], .hist = r->latency};
		n++;
	}
	if (n > 0)
		plot_percentiles(m->o->plot, &frame, l, n);
}

static void
rates_by_size(const struct measured *m)
{
	static double x[SUBJECTS][MAX_SIZES], y[SUBJECTS][MAX_SIZES];
	struct plot_series series[SUBJECTS];
	struct plot_frame frame = {.title = "strperf pipe",
	    .xlabel = "bytes of a message",
	    .ylabel = "messages a second",
	    .logx = true,
	    .logy = true};
	size_t subjects = m->o->npeers + 1;

	for (size_t s = 0; s < subjects; s++) {
		series[s] = (struct plot_series){
		    .name = m->results[s].subject->name, .x = x[s], .y = y[s]};
		for (size_t i = 0; i < m->o->nsizes; i++) {
			x[s][i] = (double)m->o->sizes[i];
			y[s][i] = pipe_rate(&m->results[i * subjects + s]);
		}
		series[s].n = m->o->nsizes;
	}
	plot_lines(m->o->plot, &frame, series, subjects);
}

static void
samples(const struct measured *m)
{
	struct plot_frame frame = {
	    .title = "strperf pipe", .ylabel = "messages a second"};
	static struct plot_box boxes[SUBJECTS];
	size_t n = 0;

	for (size_t i = 0; i < m->nresults && n < SUBJECTS; i++) {
		const struct result *r = &m->results[i];
		double *v = calloc(r->nsamples + 1, sizeof(*v));

		if (v == NULL)
			break;
		for (size_t k = 0; k < r->nsamples; k++)
			v[k] = r->samples[k].rate;
		boxes[n++] = (struct plot_box){
		    .name = r->subject->name, .v = v, .n = r->nsamples};
	}
	plot_boxes(m->o->plot, &frame, boxes, n);
	while (n-- > 0)
		free((void *)(uintptr_t)boxes[n].v);
}

void
pictures_of(const struct measured *m)
{
	if (m->o->plot == NULL)
		return;
	if (m->o->rate > 0)
		latencies(m);
	else if (m->o->nsizes > 1)
		rates_by_size(m);
	else
		samples(m);
}
