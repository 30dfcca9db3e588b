/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * <sys/ddi.h>: DDI/DKI utility routines for modules and drivers.
 *
 * Source standard: SVR4.2 MP DDI/DKI.  As in <sys/stream.h> the binary names
 * carry the prefix ustr_.
 */
#ifndef _USTREAMS_SYS_DDI_H
#define _USTREAMS_SYS_DDI_H

#include <stddef.h>
#include <string.h>
#include <strings.h>
#include <sys/stream.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* kmem flags: neither blocks here; KM_SLEEP also returns NULL when exhausted. */
#define KM_SLEEP 0x0000
#define KM_NOSLEEP 0x0001

/* Memory all processes of the stream share, aligned to 64 bytes, or NULL. */
void *kmem_alloc(size_t size, int flag) USTR_SYM(kmem_alloc);
void *kmem_zalloc(size_t size, int flag) USTR_SYM(kmem_zalloc);
/* size must be what was asked for; p NULL with size 0 is allowed. */
void kmem_free(void *p, size_t size) USTR_SYM(kmem_free);

/*
 * Time is counted in clock ticks of 1/100 s.  The conversions round up, and
 * give the largest or smallest clock_t where the result does not fit.
 */
clock_t drv_usectohz(clock_t usec) USTR_SYM(drv_usectohz);
clock_t drv_msectohz(clock_t msec) USTR_SYM(drv_msectohz);
clock_t drv_hztousec(clock_t ticks) USTR_SYM(drv_hztousec);
clock_t drv_hztomsec(clock_t ticks) USTR_SYM(drv_hztomsec);

/*
 * Call func(arg) once, ticks from now or a little later, without a perimeter,
 * in the process that registered it.  An id, or 0: no memory.  untimeout: the
 * routine is not running when it returns, and will not be; the ticks that were
 * left, or -1 if it had run already.  May wait for a running routine; holding
 * perimeters is allowed, as long as two routines do not cancel one another.
 */
typedef int toid_t;
typedef toid_t timeout_id_t;
timeout_id_t timeout(void (*func)(void *), void *arg, clock_t ticks) USTR_SYM(timeout);
clock_t untimeout(timeout_id_t id) USTR_SYM(untimeout);
/* The same inside q's inner perimeter; never after qprocsoff(), which ends it. */
timeout_id_t qtimeout(queue_t *q, void (*func)(void *), void *arg, clock_t ticks)
	USTR_SYM(qtimeout);
clock_t quntimeout(queue_t *q, timeout_id_t id) USTR_SYM(quntimeout);
/* Sleep for so long: open and close routines only; the perimeter stays held. */
void delay(clock_t ticks) USTR_SYM(delay);

/*
 * USTR_MODSTATE bytes that all instances of q's module or driver share, in all
 * processes: zero when the first of them is opened, aligned to 64 bytes.  How
 * they are guarded is the module's business; a D_MTPERMOD module needs no lock.
 */
#define USTR_MODSTATE 256
void *ustr_modstate(queue_t *q);

/* Device numbers: 32 bits of major, 32 of minor. */
dev_t makedevice(unsigned int maj, unsigned int min) USTR_SYM(makedevice);
unsigned int getmajor(dev_t dev) USTR_SYM(getmajor);
unsigned int getminor(dev_t dev) USTR_SYM(getminor);

#ifdef __cplusplus
}
#endif

#endif
