/* SPDX-License-Identifier: BSD-2-Clause */
/* tune.c: the tunables by name, USTREAMS_TUNE, the version line, allocator figures. */
#include "tune.h"
#include "arena.h"
#include "cache.h"
#include "callout.h"
#include "head.h"
#include "heap.h"
#include "trace.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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
	{ "trace", offsetof(struct head_root, hr_trace), 0, TRACE_MAX },
};

static long *
value_of(const struct tunable *t)
{
	ASSERT(t->at % sizeof(long) == 0 && t->at < sizeof(struct head_root) && t->min <= t->max);
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
	/* ... and die at the value-th point from now on. */
	if (DEBUG_ON(1) && name != NULL && strcmp(name, "crashpoint") == 0) {
		plat_crash_at(value);
		return 0;
	}
	/* ... and tell a descriptor where processes died. */
	if (DEBUG_ON(1) && name != NULL && strcmp(name, "crashsites") == 0) {
		plat_crash_report((int)value);
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

/* ---- USTREAMS_TUNE ---------------------------------------------------------- */

#define MAG_MIN 2
#define NTUNABLE (sizeof(tunables) / sizeof(tunables[0]))

/* What the library was brought up with; the process's own, as the environment is. */
static struct {
	char text[256]; /* as it was given */
	bool set[NTUNABLE];
	long value[NTUNABLE];
} settings;

static char fault[448]; /* why the last attempt was refused, or "" */

int
tune_refuse(int error, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(fault, sizeof(fault), fmt, ap);
	va_end(ap);
	return error;
}

/* Short names of the environment. */
static const struct {
	const char *alias, *name;
} aliases[] = { { "hiwat", "sthiwat" }, { "lowat", "stlowat" } };

/* Settings that shape code or memory and are the configuration's. */
static const char *const built_in[] = { "fastbuf", "buffer_cache", "head_cache", "heap", "debug" };

static const char *
proper_name(const char *name)
{
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
		if (strcmp(name, aliases[i].alias) == 0)
			return aliases[i].name;
	return name;
}

static void
list_legal(char *buf, size_t size)
{
	size_t n = (size_t)snprintf(buf, size, "mag=%d..%d", MAG_MIN, MAG_MAX);

	for (size_t i = 0; i < NTUNABLE && n < size; i++)
		n += (size_t)snprintf(buf + n, size - n, ", %s=%ld..%ld", tunables[i].name,
			tunables[i].min, tunables[i].max);
}

static int
refuse(const char *name, const char *why)
{
	char legal[320];

	list_legal(legal, sizeof(legal));
	return tune_refuse(EINVAL, "USTREAMS_TUNE: %.40s: %s; legal: %s", name, why, legal);
}

static int
take_value(const char *name, long value)
{
	const char *proper = proper_name(name);

	if (strcmp(proper, "mag") == 0) {
		if (value < MAG_MIN || value > MAG_MAX)
			return refuse(name, "out of range");
		cache_limit((uint32_t)value);
		return 0;
	}
	for (size_t i = 0; i < NTUNABLE; i++) {
		if (strcmp(tunables[i].name, proper) != 0)
			continue;
		if (value < tunables[i].min || value > tunables[i].max)
			return refuse(name, "out of range");
		settings.set[i] = true;
		settings.value[i] = value;
		return 0;
	}
	for (size_t i = 0; i < sizeof(built_in) / sizeof(built_in[0]); i++)
		if (strcmp(built_in[i], name) == 0)
			return refuse(name, "is fixed when the library is built");
	return refuse(name, "there is no such setting");
}

/* One "name=value". */
static int
take_setting(char *part)
{
	char *equals = strchr(part, '='), *end;
	long value;

	if (equals == NULL)
		return refuse(part, "has no value");
	*equals = '\0';
	errno = 0;
	value = strtol(equals + 1, &end, 10);
	if (end == equals + 1 || *end != '\0' || errno != 0)
		return refuse(part, "its value is no whole number");
	return take_value(part, value);
}

static size_t
place(const char *name)
{
	size_t i = 0;

	while (strcmp(tunables[i].name, name) != 0)
		i++;
	return i;
}

/*
 * The marks as they will be: the low one may not be above the high one.  Who
 * lowers only the high one means that the low one goes with it.
 */
static int
take_marks(void)
{
	size_t hi = place("sthiwat"), lo = place("stlowat");
	long high = settings.set[hi] ? settings.value[hi] : HEAD_HIWAT;
	long low = settings.set[lo] ? settings.value[lo] : HEAD_LOWAT;

	if (low <= high)
		return 0;
	if (settings.set[lo])
		return tune_refuse(EINVAL,
			"USTREAMS_TUNE: lowat=%ld is above hiwat, which is %ld; "
			"legal: lowat=0..%ld, or a larger hiwat", low, high, high);
	settings.set[lo] = true;
	settings.value[lo] = high;
	return 0;
}

int
tune_read(void)
{
	const char *text = secure_getenv("USTREAMS_TUNE");
	char copy[sizeof(settings.text)], *rest = copy, *part;
	int error = 0;

	memset(&settings, 0, sizeof(settings));
	cache_limit(MAG_MAX);
	if (text == NULL || *text == '\0')
		return 0;
	if (strlen(text) >= sizeof(copy))
		return refuse("the list", "is longer than 255 characters");
	memcpy(settings.text, text, strlen(text) + 1);
	memcpy(copy, text, strlen(text) + 1);
	while (error == 0 && (part = strsep(&rest, ",")) != NULL)
		error = take_setting(part);
	return error == 0 ? take_marks() : error;
}

void
tune_apply(void)
{
	for (size_t i = 0; i < NTUNABLE; i++)
		if (settings.set[i])
			st_rlx(value_of(&tunables[i]), settings.value[i]);
}

const char *
ustr_tunestr(void)
{
	return slot_self() == NULL ? NULL : settings.text;
}

const char *
ustr_tunefault(void)
{
	return slot_self() == NULL && fault[0] != '\0' ? fault : NULL;
}

/* ---- the version line -------------------------------------------------------- */

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

/* ---- allocator figures -------------------------------------------------------- */

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
	ms->ms_cap = arena_cap;
	ms->ms_committed = ld_acq(&arena->ar_committed);
	ms->ms_used = ld_acq(&arena->ar_brk);
	ms->ms_leaked = ld_rlx(&slot_root->sr_leaked);
	cache_stat(&refused, &ms->ms_trips, &ms->ms_failures);
	ms->ms_failures += ld_rlx(&arena->ar_refused);
	ms->ms_dropped = callout_dropped();
	return 0;
}

int
ustr_cachestat(unsigned int n, struct ustr_cachestat *cs)
{
	if (slot_self() == NULL)
		return -1;
	if (n >= NCLASS) {
		errno = EINVAL;
		return -1;
	}
	if (!plat_judge(cs, sizeof(*cs))) {
		errno = EFAULT;
		return -1;
	}
	cache_classstat(n, cs);
	return 0;
}
