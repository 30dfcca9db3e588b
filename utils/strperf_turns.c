/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_turns.c: run builds in turn.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "strperf_turns.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "strperf.h"
#include "strperf_child.h"
#include "strperf_intr.h"
#include "strperf_json.h"
#include "strperf_out.h"

#define TRIES 5 /* of a turn without a sample */
#define OWN_WORDS 9
#define EXTRA_WORDS 2	   /* of a build */
#define OTHER_SECONDS 3600 /* for a command whose length is not known here */

/* A command line and the texts in it. */
struct line {
	char *argv[BUILD_WORDS + TURNS_WORDS + EXTRA_WORDS + OWN_WORDS + 1];
	char slice[32], bytes[32];
};

static void
compose(struct turns *t, struct build *b, size_t size, struct line *line)
{
	static char json[] = "--json", peers[] = "--peers", none[] = "",
		    sizes[] = "--sizes", duration[] = "--duration",
		    interval[] = "--interval";
	char *own[OWN_WORDS] = {json, peers, none, sizes, line->bytes, duration,
	    line->slice, interval, line->slice};
	size_t n = (size_t)build_words(b, line->argv);

	snprintf(line->slice, sizeof(line->slice), "%.9g", t->seconds);
	snprintf(line->bytes, sizeof(line->bytes), "%zu", size);
	memcpy(line->argv + n, t->words, t->nwords * sizeof(*t->words));
	n += t->nwords;
	for (size_t i = 0; i < NELEM(b->extra) && b->extra[i] != NULL; i++)
		line->argv[n++] = b->extra[i];
	memcpy(line->argv + n, own, (size > 0 ? OWN_WORDS : 1) * sizeof(*own));
	line->argv[n + (size > 0 ? OWN_WORDS : 1)] = NULL;
}

/* What a program said that did not give samples. */
static int
refuse(
    const struct build *b, size_t size, const struct child_output *out, const char *why)
{
	complain("compare: %s%s%.0zu%s (status %d): %s", b->given, size > 0 ? " at " : "",
	    size, size > 0 ? " bytes" : "", out->status,
	    out->complaint[0] != '\0' ? out->complaint : why);
	return out->status == EXIT_USAGE ? EXIT_USAGE : EXIT_FAILED;
}

/* Take the samples of a run: how many; 0, why in complaint; -1 no memory. */
static int
take_run(struct book *book, size_t which, const struct child_output *out, char *complaint,
    size_t size)
{
	json_t *root = js_parse(out->text, complaint, size);
	int taken = root == NULL ? 0 : book_take(book, root, which, true);

	json_decref(root);
	return taken;
}

/*
 * One turn of one build.  A slice in which the machine had no time for it gives
 * no sample and is run again: a turn left out would part the pairs.
 */
static int
sample(struct turns *t, struct book *book, size_t which, size_t size)
{
	static struct child_output out;
	static struct line line;
	struct build *b = &t->builds[which];
	char complaint[256] = "no samples in its results";
	int taken = 0;

	compose(t, b, size, &line);
	for (int tries = 0; tries < TRIES && taken == 0; tries++) {
		int error = child_run(line.argv,
		    size > 0 ? t->seconds + BUILD_PATIENCE : OTHER_SECONDS, &out);

		if (intr_pending())
			return EXIT_INTERRUPTED;
		if (error != 0 || out.status != 0)
			return refuse(
			    b, size, &out, error != 0 ? strerror(error) : "it failed");
		taken = take_run(book, which, &out, complaint, sizeof(complaint));
	}
	if (taken > 0)
		return EXIT_DONE;
	out.complaint[0] = '\0';
	return refuse(b, size, &out, complaint);
}

int
turns_run(struct turns *t, struct book *book)
{
	size_t each = t->nsizes > 0 ? t->nsizes : 1, all = t->rounds * each;
	int64_t start = intr_now();
	int status = EXIT_DONE;

	for (size_t i = 0; i < all && status == EXIT_DONE; i++) {
		size_t round = i / each, size = t->nsizes > 0 ? t->sizes[i % each] : 0;

		for (size_t turn = 0; turn < t->nbuilds && status == EXIT_DONE; turn++)
			status = sample(t, book, (turn + round) % t->nbuilds, size);
		t->done = round + (i % each == each - 1 && status == EXIT_DONE);
		out_progress(i + 1, all, (double)(intr_now() - start) / 1e9);
	}
	out_progress_clear();
	return status;
}
