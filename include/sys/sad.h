/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * <sys/sad.h>: the STREAMS administrative driver: which modules are pushed by
 * themselves when a device is opened.
 *
 * The commands go to a stream of the driver sad, with a pointer to the structure
 * as the argument of str_ioctl(), or by I_STR with the structure as the data.
 */
#ifndef _USTREAMS_SYS_SAD_H
#define _USTREAMS_SYS_SAD_H

#include <sys/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SADIOC ('D' << 8)
/*
 * Set or clear (struct strapush).  EPERM: neither effective user 0 nor the one
 * who made the instance; EINVAL: no such major number, a command, a number of
 * modules or an anchor out of range, or an unknown module; ENOSTR: not a driver;
 * ERANGE: a range that is none, or not the first minor of one that is to be
 * cleared; EEXIST: a minor is configured already; ENODEV: nothing to be cleared.
 */
#define SAD_SAP (SADIOC | 1)
/*
 * What is set for sap_major and sap_minor (struct strapush, filled in).
 * EINVAL, ENOSTR as above; ENODEV: nothing.
 */
#define SAD_GAP (SADIOC | 2)
/* Are all names of a struct str_list modules?  Returns 0 if so, else 1. */
#define SAD_VML (SADIOC | 3)
/* The major number of a driver, as the result; the data: its name.  ENODEV. */
#define SAD_MAJOR (SADIOC | 4)

#define MAXAPUSH 8	/* most modules */

/* sap_cmd */
#define SAP_CLEAR 0	/* forget what is set for sap_minor */
#define SAP_ONE 1	/* for sap_minor */
#define SAP_RANGE 2	/* for sap_minor..sap_lastminor */
#define SAP_ALL 3	/* for all minors */

struct apcommon {
	unsigned int apc_cmd;
	unsigned int apc_major;
	unsigned int apc_minor;
	unsigned int apc_lastminor;
	unsigned int apc_npush;		/* modules, 1..MAXAPUSH */
};

struct strapush {
	struct apcommon sap_common;
	char sap_list[MAXAPUSH][FMNAMESZ + 1]; /* pushed first: the lowest */
	unsigned int sap_anchor;	/* as I_ANCHOR after so many, 0: none */
};
#define sap_cmd sap_common.apc_cmd
#define sap_major sap_common.apc_major
#define sap_minor sap_common.apc_minor
#define sap_lastminor sap_common.apc_lastminor
#define sap_npush sap_common.apc_npush

#ifdef __cplusplus
}
#endif

#endif
