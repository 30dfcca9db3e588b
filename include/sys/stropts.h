/* SPDX-License-Identifier: BSD-2-Clause */
/* <sys/stropts.h>: the SVR4 place of <stropts.h>. */
#ifndef _USTREAMS_SYS_STROPTS_H
#define _USTREAMS_SYS_STROPTS_H
#include <stropts.h>
#endif
