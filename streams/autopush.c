/* SPDX-License-Identifier: BSD-2-Clause */
/* autopush.c: setting, showing and finding what is pushed at open. */
#include "autopush.h"
#include "claim.h"
#include "heap.h"

#include <errno.h>
#include <string.h>
#include <sys/strsubr.h>
#include <unistd.h>

#define ALL_MINORS UINT32_MAX /* sap_lastminor of SAP_ALL, from minor 0 */

struct autopush {
	struct autopush *ap_next; /* R */
	struct strapush ap_sap;	  /* C  sap_minor..sap_lastminor in any case */
};

static struct autopush *
covering(unsigned int major, unsigned int from, unsigned int to)
{
	struct autopush *ap = registry->rg_autopush;

	LOCK_HELD(&registry->rg_lock);
	ASSERT(from <= to);
	while (ap != NULL && (ap->ap_sap.sap_major != major || ap->ap_sap.sap_lastminor < from ||
				     ap->ap_sap.sap_minor > to))
		ap = ap->ap_next;
	return ap;
}

bool
autopush_find(const struct regent *re, uint32_t minor, struct strapush *sap)
{
	struct slot *me = slot_self();
	const struct autopush *ap;

	if (me == NULL || ld_rlx(&registry->rg_autopush) == NULL)
		return false;
	lock_enter(me, &registry->rg_lock, RANK_REGISTRY);
	ap = covering(re->re_major, minor, minor);
	if (ap != NULL)
		*sap = ap->ap_sap;
	lock_leave(me, &registry->rg_lock);
	return ap != NULL;
}

void
autopush_forget(const struct regent *re)
{
	struct autopush **at = &registry->rg_autopush, *ap;

	LOCK_HELD(&registry->rg_lock);
	while ((ap = *at) != NULL) {
		if (ap->ap_sap.sap_major != re->re_major) {
			at = &ap->ap_next;
			continue;
		}
		st_rlx(at, ap->ap_next);
		heap_free(ap, sizeof(*ap));
	}
}

/* ---- judging -------------------------------------------------------------------------- */

/* Is there a driver of that number? */
static int
judge_major(unsigned int major)
{
	if (major >= NREG)
		return EINVAL;
	return ld_acq(&registry->rg_ent[major].re_kind) == REG_DRIVER ? 0 : ENOSTR;
}

static int
judge_modules(const struct strapush *sap)
{
	if (sap->sap_npush < 1 || sap->sap_npush > MAXAPUSH || sap->sap_anchor > sap->sap_npush)
		return EINVAL;
	return autopush_modules(sap->sap_list, (int)sap->sap_npush) ? 0 : EINVAL;
}

/* The range of minors it is about, whole. */
static int
judge_range(struct strapush *sap)
{
	switch (sap->sap_cmd) {
	case SAP_ONE:
		sap->sap_lastminor = sap->sap_minor;
		return 0;
	case SAP_RANGE:
		return sap->sap_lastminor > sap->sap_minor ? 0 : ERANGE;
	case SAP_ALL:
		sap->sap_minor = 0;
		sap->sap_lastminor = ALL_MINORS;
		return 0;
	}
	return EINVAL;
}

/* ---- for the driver sad ------------------------------------------------------------------ */

bool
autopush_may(const cred_t *cr)
{
	return cr->cr_uid == 0 || cr->cr_uid == registry->rg_creator;
}

bool
autopush_modules(const char names[][FMNAMESZ + 1], int n)
{
	for (int i = 0; i < n; i++)
		if (strnlen(names[i], FMNAMESZ + 1) > FMNAMESZ || !registry_known(names[i]))
			return false;
	return true;
}

int
autopush_major(const char *name)
{
	return registry_major(name);
}

static int
clear(const struct strapush *sap)
{
	struct slot *me = slot_self();
	unsigned int minor = sap->sap_minor == ALL_MINORS ? 0 : sap->sap_minor;
	struct autopush *ap, **at = &registry->rg_autopush;
	int error = 0;

	lock_enter(me, &registry->rg_lock, RANK_REGISTRY);
	ap = covering(sap->sap_major, minor, minor);
	if (ap == NULL)
		error = ENODEV;
	else if (ap->ap_sap.sap_minor != minor)
		error = ERANGE;
	while (error == 0 && *at != ap)
		at = &(*at)->ap_next;
	if (error == 0)
		st_rlx(at, ap->ap_next);
	lock_leave(me, &registry->rg_lock);
	if (error == 0)
		heap_free(ap, sizeof(*ap));
	return error;
}

int
autopush_set(const struct strapush *asked)
{
	struct slot *me = slot_self();
	struct autopush *ap;
	int error = judge_major(asked->sap_major);

	if (me == NULL || error != 0)
		return me == NULL ? errno : error;
	if (asked->sap_cmd == SAP_CLEAR)
		return clear(asked);
	ap = heap_zalloc(sizeof(*ap));
	if (ap == NULL)
		return ENOSR;
	ap->ap_sap = *asked;
	error = judge_range(&ap->ap_sap);
	if (error == 0)
		error = judge_modules(&ap->ap_sap);
	lock_enter(me, &registry->rg_lock, RANK_REGISTRY);
	if (error == 0 && covering(ap->ap_sap.sap_major, ap->ap_sap.sap_minor,
				   ap->ap_sap.sap_lastminor) != NULL)
		error = EEXIST;
	if (error == 0) {
		ASSERT(ap->ap_sap.sap_minor <= ap->ap_sap.sap_lastminor);
		ap->ap_next = registry->rg_autopush;
		st_rlx(&registry->rg_autopush, ap);
	}
	lock_leave(me, &registry->rg_lock);
	if (error != 0)
		heap_free(ap, sizeof(*ap));
	return error;
}

int
autopush_get(struct strapush *sap)
{
	int error = judge_major(sap->sap_major);
	unsigned int minor = sap->sap_minor == ALL_MINORS ? 0 : sap->sap_minor;

	if (error != 0)
		return error;
	return autopush_find(&registry->rg_ent[sap->sap_major], minor, sap) ? 0 : ENODEV;
}

static bool
names_sound(const struct strapush *sap)
{
	if (sap->sap_npush > MAXAPUSH)
		return false;
	for (unsigned int i = 0; i < sap->sap_npush; i++)
		if (memchr(sap->sap_list[i], '\0', sizeof(sap->sap_list[i])) == NULL)
			return false;
	return true;
}

bool
autopush_claim(void)
{
	for (const struct autopush *ap = registry->rg_autopush; ap != NULL; ap = ap->ap_next)
		if (!claim_take(ap, sizeof(*ap), CL_DATA) || !names_sound(&ap->ap_sap))
			return false;
	return true;
}
