/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * <sys/sunddi.h>: Solaris DDI routines for modules and drivers.
 *
 * Source standard: the Solaris DDI.  As in <sys/stream.h> the binary names
 * carry the prefix ustr_.
 */
#ifndef _USTREAMS_SYS_SUNDDI_H
#define _USTREAMS_SYS_SUNDDI_H

#include <sys/ddi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Clock ticks since some time in the past; never runs back. */
clock_t ddi_get_lbolt(void) USTR_SYM(ddi_get_lbolt);

#ifdef __cplusplus
}
#endif

#endif
