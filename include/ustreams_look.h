/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * <ustreams_look.h>: looking into the streams of running programs.
 *
 * A look reads an arena (the memory that a program, its forks or the members of
 * a named instance share) without joining it: it takes no slot and no lock,
 * writes nothing and maps nothing; the programs do not notice.  Everything is
 * copied by pread(2), so an arena that is truncated, damaged or changing while it
 * is looked at gives an error or a smaller picture, never a signal.
 *
 * The library need not be up for it, and these calls do not bring it up.  A look
 * may be used by one thread at a time.
 */
#ifndef _USTREAMS_LOOK_H
#define _USTREAMS_LOOK_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ustr_look;

/*
 * Look at the named instance, at the arena of process pid (its own one, or the
 * one of the instance it is a member of), or at a file: an instance file or a
 * copy of one.  NULL with errno set, and one line in fault (size bytes, may be
 * NULL) that says what was tried:
 *   ENOENT  no such instance or file      ESRCH   no such process
 *   ENXIO   the process has no streams    EACCES EPERM  not yours
 *   EINVAL  a name or pid that none can have; no regular file
 *   EUCLEAN no arena, or a damaged one    EPROTO  of another layout
 *   ELOOP EMLINK (an instance's file; see str_instance)  EMFILE ENOMEM
 */
struct ustr_look *ustr_look_instance(const char *name, char *fault, size_t size);
struct ustr_look *ustr_look_process(pid_t pid, char *fault, size_t size);
struct ustr_look *ustr_look_file(const char *path, char *fault, size_t size);
#define USTR_LOOK_FAULT 1024 /* a good size */
void ustr_look_close(struct ustr_look *lk);

/* What it looks at: "instance name", "process 123" or the path. */
const char *ustr_look_name(const struct ustr_look *lk);
/* The name of the instance it looks at, however it was found; NULL: it has none. */
const char *ustr_look_instancename(const struct ustr_look *lk);
/* A line for people (it was made by another build of the same layout), or NULL. */
const char *ustr_look_warning(const struct ustr_look *lk);

/* ---- what there is to look at ---------------------------------------------------- */

/* An arena: a named instance, or the private one of a program and its forks. */
struct ustr_source {
	char us_name[72];	/* of an instance; "" */
	pid_t us_pid;		/* lowest process that has it; 0: none lives */
	unsigned int us_processes; /* that have it open, as far as may be known */
	char us_program[16];	/* what runs as us_pid */
	int us_error;		/* errno of looking at it, 0: sound */
	uint64_t us_size;	/* length of the file, bytes */
	char us_path[256];	/* of an instance's file; us_name "": it was removed */
};
/*
 * All of them that the caller may see, instances first, by name, then by pid:
 * how many, in an array that free(3) takes; or -1: ENOMEM.
 */
ssize_t ustr_look_sources(struct ustr_source **list);

/* ---- one picture --------------------------------------------------------------------- */

/*
 * What an arena held about now.  Each stream is read as one; different streams
 * are read at slightly different moments.  All pointers lead into the view and
 * die with it.  Numbers of processes and threads are those of their own
 * PID namespace.
 */

enum { USTR_PROC_LIVE, USTR_PROC_STARTING, USTR_PROC_DYING, USTR_PROC_DEAD };

struct ustr_view_process {
	pid_t vp_pid;
	int vp_state;		/* USTR_PROC_*; DEAD: not yet buried */
	char vp_program[16];	/* "" if not known */
	unsigned int vp_threads; /* that use streams, or did */
	unsigned int vp_asleep;	/* of them asleep in a call */
	unsigned int vp_inside;	/* of them at work in a call */
	unsigned int vp_descriptors; /* of streams */
};

/* A descriptor that refers to a stream. */
struct ustr_view_fd {
	pid_t vf_pid;
	int vf_fd;
	int vf_flags;		/* of open(2): access mode, O_NONBLOCK */
};

enum { USTR_WAIT_MESSAGE, USTR_WAIT_ROOM, USTR_WAIT_ANSWER };

/* A thread that sleeps on a stream. */
struct ustr_view_sleeper {
	pid_t vw_pid;
	pid_t vw_tid;
	int vw_for;		/* USTR_WAIT_*: a message, room, an ioctl's answer */
	int vw_poll;		/* in str_poll with kernel descriptors */
};

struct ustr_view_band {
	unsigned int vb_band;	/* from 1 */
	size_t vb_bytes, vb_blocks; /* queued; not known (0) of a head's read queue's */
	size_t vb_hiwat, vb_lowat;
	unsigned int vb_flags;	/* QB_* of <sys/stream.h> */
};

/* A queue; they come in pairs, the write side first, the head's pair on top. */
struct ustr_view_queue {
	char vq_name[16];	/* of the module or driver; "head", "lower" */
	int vq_read;		/* side of the pair */
	unsigned int vq_flags;	/* Q* of <sys/stream.h>: QFULL, QWANTW, QENAB ... */
	size_t vq_bytes, vq_blocks; /* queued */
	size_t vq_hiwat, vq_lowat;
	ssize_t vq_minpsz, vq_maxpsz;
	size_t vq_pbytes, vq_pblocks; /* parked: waiting for a perimeter */
	pid_t vq_owner;		/* thread inside its perimeter, or 0 */
	int vq_service;		/* it has a service procedure */
	unsigned int vq_nbands;
	const struct ustr_view_band *vq_bands;
};

enum { USTR_STREAM_PIPE, USTR_STREAM_DEVICE, USTR_STREAM_FIFO };

/* vs_state */
#define USTR_STREAM_HUNGUP 0x01
#define USTR_STREAM_BROKEN 0x02	 /* the other end, or every reader, is gone */
#define USTR_STREAM_RDERR 0x04	 /* M_ERROR, read side */
#define USTR_STREAM_WRERR 0x08	 /* M_ERROR, write side */
#define USTR_STREAM_LINKED 0x10	 /* below a multiplexor */
#define USTR_STREAM_CLOSING 0x20 /* its last close has begun */
#define USTR_STREAM_NOWRITER 0x40 /* FIFO */
#define USTR_STREAM_MREAD 0x100
#define USTR_STREAM_NDELAY 0x200
#define USTR_STREAM_DELIM 0x400
#define USTR_STREAM_DAMAGED 0x10000 /* somebody died in it: EIO for ever */
#define USTR_STREAM_SUSPECT 0x20000 /* somebody died in a call on it */
#define USTR_STREAM_CHANGING 0x40000000 /* changed while it was read: incomplete */

struct ustr_view_stream {
	unsigned int vs_id;	/* its number; never used again in this arena */
	int vs_kind;		/* USTR_STREAM_PIPE ... */
	char vs_driver[16];	/* "pipe", "echo", "fifo" ... */
	unsigned int vs_minor;
	unsigned int vs_state;	/* USTR_STREAM_* flags */
	unsigned int vs_opens;	/* open files */
	unsigned int vs_pushed;	/* modules */
	unsigned int vs_mate;	/* the pipe's other end, or 0 */
	unsigned int vs_group;	/* lowest vs_id of its plumbing group */
	unsigned int vs_above;	/* control stream it is linked below, or 0 */
	int vs_muxid;		/* of the link it is below, or 0 */
	char vs_mux[16];	/* driver it is linked below, or "" */
	unsigned int vs_readers, vs_writers; /* open files of a FIFO */
	uid_t vs_uid;		/* who made it */
	gid_t vs_gid;
	pid_t vs_holder;	/* thread that pushes, pops or closes, or 0 */
	pid_t vs_plumber;	/* thread that has the group for itself, or 0 */
	unsigned int vs_attached; /* names attached to it */
	uint64_t vs_dev, vs_ino; /* file behind the FIFO's or an attached name; 0: none */
	char vs_path[64];	/* the end of that name, as it was spelled; "" */
	/* Since it was made: what arrived at its head, and what was read of that. */
	uint64_t vs_put_bytes, vs_put_blocks;
	uint64_t vs_got_bytes, vs_got_blocks;
	unsigned int vs_nqueues, vs_nfds, vs_nsleepers;
	const struct ustr_view_queue *vs_queues;
	const struct ustr_view_fd *vs_fds;
	const struct ustr_view_sleeper *vs_sleepers;
};

/* A size class of the caches (as struct ustr_cachestat, and who has what). */
struct ustr_view_class {
	char vc_name[16];	/* "block 96", "header", "queue pair", "stream head" */
	size_t vc_object;	/* bytes of one */
	size_t vc_magazine;	/* objects a magazine holds */
	size_t vc_made;		/* cut from slabs so far: the high water */
	size_t vc_cached;	/* of them free: in magazines, the depot, loose */
	size_t vc_inuse;	/* the others */
	size_t vc_trips;	/* magazines exchanged with the depot */
	size_t vc_hits;		/* allocations and frees that magazines served, at least */
	size_t vc_failures;
};

/* A size class of the general heap. */
struct ustr_view_heap {
	size_t vh_object;
	size_t vh_inuse;	/* objects */
};

struct ustr_view {
	int64_t v_when;		/* CLOCK_MONOTONIC, ns */
	size_t v_size;		/* address space of the arena, bytes */
	size_t v_cap;		/* most it may grow to */
	size_t v_committed;	/* length of the file */
	size_t v_used;		/* handed to caches and heap so far */
	size_t v_leaked;	/* given up because their owner died */
	size_t v_refused;	/* times the arena had no more */
	unsigned int v_deaths;	/* processes that were buried */
	unsigned int v_odd;	/* objects that could not be read: changing, or damaged */
	unsigned int v_nprocesses, v_nstreams, v_nclasses, v_nheap;
	const struct ustr_view_process *v_processes; /* by pid */
	const struct ustr_view_stream *v_streams; /* by vs_id */
	const struct ustr_view_class *v_classes; /* those in use */
	const struct ustr_view_heap *v_heap; /* those in use */
};

/*
 * A view of what lk looks at; NULL: ENOMEM, EUCLEAN (damaged, or cut short since).
 *  ustr_view_free() frees it; it outlives the look.
 */
struct ustr_view *ustr_look_take(struct ustr_look *lk);
void ustr_view_free(struct ustr_view *v);
/* The stream of that number, or NULL. */
const struct ustr_view_stream *ustr_view_stream(const struct ustr_view *v, unsigned int id);

/*
 * Draw it: who has it open and who sleeps on it, its queues from the top with
 * counts, water marks, fill bars and flags.  0, or -1: EIO.
 */
int ustr_view_draw(const struct ustr_view_stream *vs, FILE *to);

/* ---- the flight recorder (ustr_trace(3ustr)) -------------------------------------------- */

struct ustr_event;

/* Where reading the events of one stream has come to; begin with zeros. */
struct ustr_look_cursor {
	uint64_t lc_next;	/* ev_seq of the next event */
	uint64_t lc_lost;	/* events overwritten before they could be read */
	int64_t lc_since;	/* private */
	int lc_begun;		/* private */
};
/*
 * The next events of stream id, n at most, the oldest that are there first: how
 * many; 0: none now.  A look does not switch a recorder on.  -1: ENOENT (the stream
 * is not recorded), or as ustr_look_take().
 */
ssize_t ustr_look_events(struct ustr_look *lk, unsigned int id, struct ustr_look_cursor *c,
	struct ustr_event *ev, size_t n);

#ifdef __cplusplus
}
#endif

#endif
