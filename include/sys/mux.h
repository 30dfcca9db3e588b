/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * <sys/mux.h>: the ioctls of the mux driver, for I_STR on an upper stream; the
 * data is an int, a multiplexor id as I_LINK and I_PLINK return it.
 */
#ifndef _USTREAMS_SYS_MUX_H
#define _USTREAMS_SYS_MUX_H

/*
 * What this stream writes goes to link id; 0: in turn to the links made through
 * this stream, or, if there is none, to the persistent links.
 * EINVAL: no such link, or it leads back to this stream.
 */
#define MUX_DOWN ('M' << 8 | 1)
/* What comes up link id goes to this stream.  EINVAL: no such link. */
#define MUX_UP ('M' << 8 | 2)

#endif
