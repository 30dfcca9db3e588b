/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * furnish.h: what a process makes or finds in the arena.
 *
 * Level 10.
 */
#ifndef STREAMS_FURNISH_H
#define STREAMS_FURNISH_H

#include "instance.h"

extern const struct instance_ops furnish_ops;

#endif
