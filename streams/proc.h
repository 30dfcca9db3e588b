/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc.h: process slots and thread slots, and who claims them.
 *
 * Level 10.  A process slot goes through
 *
 *            proc_claim             proc_live
 *   FREE ───────────────► EMBRYO ──────────────► LIVE ──┐ exit: process_ends
 *    ▲                      │ given up: drop_embryo     │ death: reap.c, over DYING
 *    └──────────────────────┴───────────────────────────┘
 *
 * and begins a new life with each claim.  A thread's slot belongs to a life of its
 * process; the thread claims it in its first call and gives it back when it ends.
 */
#ifndef STREAMS_PROC_H
#define STREAMS_PROC_H

#include "slot.h"

/* How a thread slot is chosen: slot_claim, slot_claim_last. */
typedef int proc_chooser(struct proc *p, void *(*carve)(size_t size), struct slot **sp);

/* Once in a program: have threads that end give their slots back.  0 or an errno. */
int proc_hook(void);
/* In a new arena: the tables of slots, and a reserve of them.  0 or ENOMEM. */
int proc_furnish(void);
/* And some process slots. */
int proc_reserve(void);

/* Process slot i, made if it never was; NULL without memory. */
struct proc *proc_make(uint32_t i);
/* A process slot in state PROC_EMBRYO; NULL: all are taken, or no memory. */
struct proc *proc_claim(void);
/* What proc_claim does with a slot once it has it. */
void proc_begin(struct proc *p);
/*
 * The calling process becomes p, the thread gets a slot.  0, EAGAIN, ENOMEM; ESRCH: the
 * embryo was given up.
 */
int proc_live(struct proc *p);
int proc_live_in(struct proc *p, proc_chooser *claim);

/* A slot for the calling thread of p: 0, EAGAIN, ENOMEM. */
int proc_thread(struct proc *p);
/* The calling thread has no slot (any more); whoever had it sees to the slot. */
void proc_forget_thread(void);

#endif
