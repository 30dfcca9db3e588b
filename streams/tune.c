/* SPDX-License-Identifier: BSD-2-Clause */
/* tune.c: the tunables by name, the version line, allocator figures. */
#include "arena.h"
#include "cache.h"
#include "callout.h"
#include "head.h"
#include "heap.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <ustreams.h>

#define STR2(x) #x
#define STR(x) STR2(x)

static const struct tunable {
	const char *name;
	size_t at;	/* in struct head_root */
	long min, max;
} tunables[] = {
	{ "nstrpush", offsetof(struct head_root, hr_nstrpush), 0, 1024 },
	{ "strmsgsz", offsetof(struct head_root, hr_strmsgsz), 1, 1 << 30 },
	{ "strctlsz", offsetof(struct head_root, hr_strctlsz), 1, 1 << 30 },
	{ "sthiwat", offsetof(struct head_root, hr_hiwat), 0, INT_MAX },
	{ "stlowat", offsetof(struct head_root, hr_lowat), 0, INT_MAX },
	{ "cltime", offsetof(struct head_root, hr_cltime), 0, INT_MAX },
	{ "ioctltime", offsetof(struct head_root, hr_ioctltime), 0, INT_MAX },
};

static long *
value_of(const struct tunable *t)
{
	return (long *)((char *)head_root + t->at);
}

static const struct tunable *
find(const char *name)
{
	if (name == NULL || slot_self() == NULL)
		return NULL;
	for (size_t i = 0; i < sizeof(tunables) / sizeof(tunables[0]); i++)
		if (strcmp(tunables[i].name, name) == 0)
			return &tunables[i];
	errno = EINVAL;
	return NULL;
}

int
ustr_tune(const char *name, long value)
{
	const struct tunable *t;

	/* Debug builds: refuse the value-th allocation from now on. */
	if (DEBUG_ON(1) && name != NULL && strcmp(name, "failalloc") == 0) {
		heap_fail_nth(value);
		return 0;
	}
	errno = EINVAL;
	t = find(name);
	if (t == NULL)
		return -1;
	if (value < t->min || value > t->max) {
		errno = EINVAL;
		return -1;
	}
	st_rlx(value_of(t), value);
	return 0;
}

long
ustr_tunable(const char *name)
{
	const struct tunable *t;

	errno = EINVAL;
	t = find(name);
	return t == NULL ? -1 : ld_rlx(value_of(t));
}

#if USTR_BUFFER_CACHE && !USTR_HEAP_MALLOC
#define BUFFER_CACHE "yes"
#else
#define BUFFER_CACHE "no"
#endif
#if USTR_HEAD_CACHE
#define HEAD_CACHE "yes"
#else
#define HEAD_CACHE "no"
#endif
#if USTR_HEAP_MALLOC
#define HEAP "malloc"
#else
#define HEAP "arena"
#endif

const char *
ustr_version(void)
{
	return "ustreams " PACKAGE_VERSION " buffer_cache=" BUFFER_CACHE
	       " head_cache=" HEAD_CACHE " heap=" HEAP " debug=" STR(USTR_DEBUG);
}

int
ustr_memstat(struct ustr_memstat *ms)
{
	size_t refused;

	if (slot_self() == NULL)
		return -1;
	if (!plat_judge(ms, sizeof(*ms))) {
		errno = EFAULT;
		return -1;
	}
	memset(ms, 0, sizeof(*ms));
	ms->ms_cap = arena->ar_cap;
	ms->ms_committed = ld_acq(&arena->ar_committed);
	ms->ms_used = ld_acq(&arena->ar_brk);
	ms->ms_leaked = ld_rlx(&slot_root->sr_leaked);
	cache_stat(&refused, &ms->ms_trips, &ms->ms_failures);
	ms->ms_failures += ld_rlx(&arena->ar_refused);
	ms->ms_dropped = callout_dropped();
	return 0;
}
