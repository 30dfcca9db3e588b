/* SPDX-License-Identifier: BSD-2-Clause */
/* strperf_endsout.c: the results of strperf write and read. */
#include "strperf_ends.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strperf.h"

const struct column ends_columns[] = {
    {"side", "write or read", NULL, 0, -1},
    {"writer", "process number of the writer, or all", NULL, 0, -1},
    {"messages", "messages sent or received", NULL, 0, 0},
    {"bytes", "bytes of them", NULL, 0, 0},
    {"seconds", "from the first message to the last one", NULL, 0, 3},
    {"msgs_per_s", "messages a second", NULL, 0, 0},
    {"bytes_per_s", "bytes a second", NULL, 0, 0},
    {"gaps", "messages that are missing in the sequence", NULL, 0, 0},
    {"bad", "messages damaged, doubled or of somebody else", NULL, 0, 0},
    {"eagain", "calls that found the stream full or empty", NULL, 0, 0},
    {"checksum", "over number and time of every message", NULL, 0, -1},
    {"other_messages", "messages that the other side told of", NULL, 0, 0},
    {"other_bytes", "bytes that the other side told of", NULL, 0, 0},
    {"other_checksum", "its checksum", NULL, 0, -1},
    {"agree", "whether the two sides had the same: yes, no or unknown", NULL, 0, -1},
    {"min_latency", "shortest way from writer to reader, us", NULL, 0, 3},
    {"p50_latency", "median, us", NULL, 0, 3},
    {"p90_latency", "90th percentile, us", NULL, 0, 3},
    {"p99_latency", "99th percentile, us", NULL, 0, 3},
    {"p999_latency", "99.9th percentile, us", NULL, 0, 3},
    {"max_latency", "longest, us", NULL, 0, 3},
};
const size_t ends_ncolumns = NELEM(ends_columns);

static void
put_checksum(struct report *r, const char *column, uint64_t sum)
{
	char text[24];

	snprintf(text, sizeof(text), "%016llx", (unsigned long long)sum);
	report_put_text(r, column, text);
}

static void
put_latency(struct report *r, const struct hist *h)
{
	static const struct {
		const char *name;
		double f;
	} quantiles[] = {{"min_latency", 0}, {"p50_latency", 0.5}, {"p90_latency", 0.9},
	    {"p99_latency", 0.99}, {"p999_latency", 0.999}, {"max_latency", 1}};

	if (h == NULL || h->count == 0)
		return;
	for (size_t i = 0; i < NELEM(quantiles); i++)
		report_put(r, quantiles[i].name, hist_quantile(h, quantiles[i].f) / 1e3);
	report_histogram(r, h);
}

void
ends_put(struct ends *e, const struct ends_row *row)
{
	struct report *r = &e->report;

	report_row(r);
	report_put_text(r, "side", row->side);
	report_put_text(r, "writer", row->writer);
	report_put(r, "messages", (double)row->here.messages);
	report_put(r, "bytes", (double)row->here.bytes);
	report_put(r, "seconds", row->seconds);
	if (row->seconds > 0) {
		report_put(r, "msgs_per_s", (double)row->here.messages / row->seconds);
		report_put(r, "bytes_per_s", (double)row->here.bytes / row->seconds);
	}
	report_put(r, "gaps", (double)row->gaps);
	report_put(r, "bad", (double)row->bad);
	report_put(r, "eagain", (double)row->eagain);
	put_checksum(r, "checksum", row->here.checksum);
	report_put_text(r, "agree",
	    row->there == NULL			? "unknown"
		: wire_same(&row->here, row->there) ? "yes"
						    : "no");
	if (row->there != NULL) {
		report_put(r, "other_messages", (double)row->there->messages);
		report_put(r, "other_bytes", (double)row->there->bytes);
		put_checksum(r, "other_checksum", row->there->checksum);
	}
	put_latency(r, row->latency);
	report_samples(r, e->pace.samples, e->pace.n);
}

/* ---- for people ------------------------------------------------------------------- */

static void
print_agreement(const struct report *r, size_t i)
{
	const char *agree = report_get_text(r, i, "agree");
	bool writes = strcmp(report_get_text(r, i, "side"), "write") == 0;
	const char *other = writes ? "the reader" : "the writer";

	printf("  checksum %s, ", report_get_text(r, i, "checksum"));
	if (strcmp(agree, "yes") == 0)
		printf("%s has the same messages, bytes and checksum\n", other);
	else if (strcmp(agree, "unknown") == 0)
		printf("%s did not tell its numbers\n", other);
	else
		printf("%s has %.0f messages, %.0f bytes, checksum %s: NOT THE SAME\n", other,
		    report_get(r, i, "other_messages"), report_get(r, i, "other_bytes"),
		    report_get_text(r, i, "other_checksum"));
}

static void
print_row(const struct report *r, size_t i)
{
	const char *writer = report_get_text(r, i, "writer");
	bool writes = strcmp(report_get_text(r, i, "side"), "write") == 0;

	printf("%s %.0f messages, %.0f bytes in %.3f s", writes ? "sent" : "received",
	    report_get(r, i, "messages"), report_get(r, i, "bytes"),
	    report_get(r, i, "seconds"));
	if (isfinite(report_get(r, i, "msgs_per_s")))
		printf(", %.0f msgs/s, %.1f MB/s", report_get(r, i, "msgs_per_s"),
		    report_get(r, i, "bytes_per_s") / 1e6);
	if (!writes)
		printf("\n  %s %s, %.0f missing, %.0f bad",
		    strcmp(writer, "all") == 0 ? "of" : "writer", writer,
		    report_get(r, i, "gaps"), report_get(r, i, "bad"));
	putchar('\n');
	if (strcmp(writer, "all") != 0)
		print_agreement(r, i);
	if (isfinite(report_get(r, i, "p50_latency")))
		printf("  one-way latency, us: min %.1f, p50 %.1f, p90 %.1f, p99 %.1f, "
		       "p99.9 %.1f, max %.1f\n",
		    report_get(r, i, "min_latency"), report_get(r, i, "p50_latency"),
		    report_get(r, i, "p90_latency"), report_get(r, i, "p99_latency"),
		    report_get(r, i, "p999_latency"), report_get(r, i, "max_latency"));
}

static void
print_rows(const struct report *r)
{
	for (size_t i = 0; i < r->nrows; i++)
		print_row(r, i);
}

int
ends_conclude(struct ends *e, bool good)
{
	struct report *r = &e->report;
	int status = e->interrupted ? EXIT_INTERRUPTED
	    : !good		    ? EXIT_FAILED
	    : e->went[0] != '\0'    ? EXIT_WENT
				    : EXIT_DONE;

	r->table = print_rows;
	r->interrupted = e->interrupted;
	report_print(r);
	report_end(r);
	if (e->went[0] != '\0')
		complain("%s: %s", e->command, e->went);
	free(e->pace.samples);
	return status;
}
