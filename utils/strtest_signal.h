/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_signal.h: signals caught, counted and expected. */
#ifndef STRTEST_SIGNAL_H
#define STRTEST_SIGNAL_H

/* At the beginning of a case: catch what it says there, forget what came. */
void signal_begin(void);
/* In a child: forget what came to the parent. */
void signal_forget(void);
/* A command is over: no more alarms, unless it was the one that asked for them. */
void signal_after_call(const char *verb);

#endif
