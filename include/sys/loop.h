/* SPDX-License-Identifier: BSD-2-Clause */
/* <sys/loop.h>: the ioctl of the loop driver, for I_STR. */
#ifndef _USTREAMS_SYS_LOOP_H
#define _USTREAMS_SYS_LOOP_H

/*
 * Join this stream to the one with the minor number given (the data: an int).
 * EINVAL: no int, or the stream itself; ENXIO: not open; EBUSY: one of them is
 * joined already.
 */
#define LOOP_SET ('l' << 8 | 1)

#endif
