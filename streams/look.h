/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * look.h: reading an arena from outside (<ustreams_look.h>).
 *
 * Level 10.  A look has an arena's file open for reading and copies what it wants
 * of it with pread(2), at the offset that a pointer found there stands for.  It
 * needs no mapping, so the pointers of an arena that lies elsewhere, of another
 * process or in a file are as good as our own, and a file that is cut short is a
 * short read and no SIGBUS.
 *
 *   look.c         open, header, look_copy      look_find.c    what there is
 *   look_view.c    processes, descriptors, the list of streams
 *   look_stream.c  one stream                   look_alloc.c   caches and heap
 *
 * Nothing that was read is believed:
 *
 *   K1 every pointer is checked by look_copy: inside [base, committed) and
 *      aligned; a failure makes the picture smaller (v_odd), nothing else.
 *   K2 every list is walked under a struct walk, which notices a circle, and all
 *      copying of one view under a budget that no sound arena needs.
 *   K3 what may be freed and used again meanwhile is read twice: a descriptor
 *      table before and after the files it names, a stream head before and after
 *      its queues.  A stream that differs is read again, three times at most, and
 *      then said to be USTR_STREAM_CHANGING.
 *   K4 names are copied with an end, and unprintable characters are replaced.
 *
 * The arena of this very process is read with process_vm_readv(2) and never
 * opened: closing a descriptor of its file would drop the record lock by which
 * others know that this process lives.
 */
#ifndef STREAMS_LOOK_H
#define STREAMS_LOOK_H

#include "arena.h"
#include "fd.h"
#include "registry.h"

#include <ustreams_look.h>

struct ustr_look {
	int lk_fd;		/* C  the file, or -1: this process's own arena */
	uintptr_t lk_base;	/* C  address of byte 0 in the programs */
	size_t lk_end;		/* O  committed and in the file, bytes */
	size_t lk_budget;	/* O  what may yet be copied for this view, bytes */
	struct arena lk_arena;	/* O  the header, as last read */
	char lk_name[256];	/* C  for people */
	char lk_warning[384];	/* C  "" or a line */
};

/* A growing array. */
struct vec {
	void *v_mem;
	size_t v_n;		/* elements */
	size_t v_room;
	size_t v_size;		/* of one */
};

/* A zeroed element more, or NULL without memory. */
void *vec_add(struct vec *v);
INLINE void *
vec_at(const struct vec *v, size_t i)
{
	return (char *)v->v_mem + i * v->v_size;
}

/* K2: Brent's way of noticing a circle. */
struct walk {
	const void *w_mark;
	size_t w_steps, w_until;
};
/* One step further, to p, which is not NULL: false when p was there before. */
bool walk_on(struct walk *w, const void *p);

/* A view that is being made. */
struct looking {
	struct ustr_look *l_lk;
	struct registry *l_reg;	 /* copy */
	struct slot_root *l_slots; /* copy */
	struct head_root *l_heads; /* copy */
	struct vec l_thread;	 /* struct slot: copies of the live ones */
	struct vec l_file;	 /* struct ref: descriptors, by stream, pid, number */
	struct vec l_process;	 /* struct ustr_view_process */
	struct vec l_head;	 /* const struct stdata *: streams found */
	struct vec l_link;	 /* struct link: copies */
	struct vec l_node;	 /* struct node: copies */
	struct vec l_stream;	 /* struct seen */
	struct vec l_queue;	 /* struct ustr_view_queue; vq_bands to come */
	struct vec l_band;	 /* struct ustr_view_band */
	struct vec l_sleeper;	 /* struct ustr_view_sleeper */
	struct vec l_class;	 /* struct ustr_view_class */
	struct vec l_heap;	 /* struct ustr_view_heap */
	pid_t l_pid[NPROC];	 /* of the process slots in use, else 0 */
	unsigned int l_odd;
	bool l_nomem;
};

struct ref {
	const struct stdata *r_head;
	struct ustr_view_fd r_fd;
};

/* A stream, with what is turned into pointers and numbers when all are read. */
struct seen {
	struct ustr_view_stream s_view;
	const struct stdata *s_head;
	const struct stdata *s_mate;
	const struct group *s_group;
	const struct stdata *s_above;
	size_t s_queue0, s_sleeper0, s_file0;
};

/* n bytes at address at of the programs; K1. */
bool look_copy(struct ustr_look *lk, const void *at, size_t align, void *to, size_t n);
/* Read the header again: 0 or an errno.  Sets lk_end. */
int look_refresh(struct ustr_look *lk);
/* The address that the header has of it. */
const void *look_root(const struct ustr_look *lk, enum arena_root which);
/* Is the record lock of process slot p held?  Of a copied file none is. */
bool look_locked(const struct ustr_look *lk, const struct proc *p);
/* K4 */
void look_name(char *to, size_t room, const char *from, size_t n);

/* An errno and the line for people. */
struct fault {
	char *f_text;
	size_t f_size;
};
__attribute__((format(printf, 3, 4))) void *look_fault(struct fault *f, int error,
	const char *fmt, ...);
/* This process's own arena, which is there; NULL: ENOMEM. */
struct ustr_look *look_own(void);
struct ustr_look *look_at(const char *path, const char *name, struct fault *f);

/* look_view.c, for the others. */
INLINE void
look_odd(struct looking *l)
{
	l->l_odd++;
}
/* The thread that lock or plumbing word key names: its kernel id, or 0. */
pid_t look_tid(const struct looking *l, uint32_t key);
pid_t look_pidof(const struct looking *l, uint32_t proc);
const struct slot *look_thread(const struct looking *l, uint32_t id);
/* The entry at address re, or that queue q was made from; or NULL. */
const struct regent *look_reg(const struct looking *l, const struct regent *re);
const struct regent *look_regof(const struct looking *l, const queue_t *q);
/* Descriptors that lead to head: the first in l_file, and how many. */
size_t look_files(const struct looking *l, const struct stdata *head, size_t *first);

/* look_stream.c: append the stream at head to l_stream. */
void look_stream(struct looking *l, const struct stdata *head);
/* look_alloc.c */
void look_alloc(struct looking *l);

#endif
