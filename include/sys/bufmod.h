/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * <sys/bufmod.h>: the module bufmod, which gathers messages into chunks.
 *
 * Source standard: Solaris.  The commands are given by I_STR.
 */
#ifndef _USTREAMS_SYS_BUFMOD_H
#define _USTREAMS_SYS_BUFMOD_H

#include <sys/time.h>
#include <sys/types.h>

#define SBIOC ('B' << 8)
#define SBIOCSTIME (SBIOC | 1)	 /* struct timeval: how long a chunk may wait */
#define SBIOCGTIME (SBIOC | 2)	 /* the same; ERANGE: for ever */
#define SBIOCCTIME (SBIOC | 3)	 /* for ever */
#define SBIOCSCHUNK (SBIOC | 4)	 /* unsigned int: bytes of a full chunk */
#define SBIOCGCHUNK (SBIOC | 5)
#define SBIOCSSNAP (SBIOC | 6)	 /* unsigned int: bytes kept of a message, 0 all */
#define SBIOCGSNAP (SBIOC | 7)
#define SBIOCSFLAGS (SBIOC | 8)	 /* unsigned int: SB_* */
#define SBIOCGFLAGS (SBIOC | 9)

#define SB_SEND_ON_WRITE 0x01	/* a message going down sends the chunk up */
#define SB_NO_HEADER 0x02	/* no struct sb_hdr before each message */
#define SB_NO_PROTO_CVT 0x04	/* M_PROTO is passed on, not gathered */
#define SB_DEFER_CHUNK 0x08	/* the first message of a time goes up at once */
#define SB_NO_DROPS 0x10	/* a stream that is full holds chunks up */

#define SB_DFLT_CHUNK 8192

/* Stands before each message of a chunk; the next one follows sbh_totlen after it. */
struct sb_hdr {
	unsigned int sbh_origlen;	/* bytes that arrived */
	unsigned int sbh_msglen;	/* bytes kept, without this header */
	unsigned int sbh_totlen;	/* header, message and padding */
	unsigned int sbh_drops;		/* messages dropped so far */
	struct timeval sbh_timestamp;	/* when it arrived */
};

#endif
