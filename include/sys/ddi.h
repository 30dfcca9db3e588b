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

/* Device numbers: 32 bits of major, 32 of minor. */
dev_t makedevice(unsigned int maj, unsigned int min) USTR_SYM(makedevice);
unsigned int getmajor(dev_t dev) USTR_SYM(getmajor);
unsigned int getminor(dev_t dev) USTR_SYM(getminor);

#ifdef __cplusplus
}
#endif

#endif
