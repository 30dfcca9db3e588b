/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * instfile.h: the files in which instances lie: finding, judging, making them.
 *
 * Level 1.  An instance is a file DIR/NAME whose content is an arena (arena.h).
 *
 *   DIR  1. $USTREAMS_DIR                if it is set
 *        2. /run/user/UID                if it is there and is the user's
 *        3. /dev/shm/ustreams-UID        made when needed, mode 0700
 *
 * A new one is made in the first of these that is to be had; one that exists is
 * looked for in all of them, in this order.
 *
 *   page 0                page 1                    from page 2
 *   | struct insthead |   | words that change  |    | what is carved ...
 *   |  never written  |   |    (arena.h)       |
 *   |  after linkat   |
 *
 *   invariant 1: a name leads to a whole instance or to none: the file is
 *     furnished without a name, and gets it in one step (inst_publish).  Who
 *     comes second finds EEXIST, and joins the first.
 *   invariant 2: nothing of a file is believed before its owner, mode, links,
 *     checksum, layout, build and length have been looked at (inst_open), and
 *     looking writes nothing.
 *   invariant 3: no descriptor of the process's own arena is ever opened and
 *     closed again: closing one would drop the record locks that say that the
 *     process lives.  One that got opened is kept.
 *   invariant 4: who joins, removes or replaces holds the gate, the record lock
 *     on byte 0: a file found to have a name while the gate is held keeps it
 *     until the gate is given free.
 *
 * Members hold the byte of their process slot, 1 and up (slot.h).
 */
#ifndef STREAMS_INSTFILE_H
#define STREAMS_INSTFILE_H

#include "plat.h"

#include <limits.h>

#define INST_MAGIC "ustreams" /* eight characters, no terminator in the header */
#define INST_NAME 64	/* longest name, characters */
#define INST_WHY 1024	/* longest sentence */
#define INST_ROOTS 12
#define INST_PAGE 4096	/* bytes before the words that change */
#define INST_MEMBERS 256 /* bytes from 1 on that members lock: process slots */

/* Page 0.  The first five fields have their places in every layout. */
struct insthead {
	char ih_magic[8];	/* INST_MAGIC */
	uint64_t ih_sum;	/* of everything else up to ih_len */
	uint32_t ih_len;	/* of the header, bytes */
	uint32_t ih_layout;	/* how the shared memory is laid out */
	uint64_t ih_shape;	/* sizes of what lies in it: the same, to be sure */
	uint32_t ih_build;	/* INST_B_*: options it was built with */
	uint32_t ih_creator;	/* process that made it */
	int64_t ih_born;	/* when, seconds since 1970 */
	unsigned char ih_boot[16]; /* during which run of the machine */
	uint64_t ih_base;	/* address at which everybody maps it */
	uint64_t ih_size;	/* address space reserved by the creator, bytes */
	uint64_t ih_cap;	/* most to commit, bytes */
	uint64_t ih_root[INST_ROOTS]; /* addresses: enum arena_root */
	char ih_name[INST_NAME + 1]; /* "" of a private arena */
};

/* Raise it when what lies in the arena changes in meaning. */
#define INST_LAYOUT 4u

/* ih_build; the debug level stands above. */
#define INST_B_CACHE 1u
#define INST_B_HEADCACHE 2u
#define INST_B_MALLOC 4u
#define INST_B_DEBUG 4
#define INST_BUILD ((USTR_BUFFER_CACHE ? INST_B_CACHE : 0) | \
	(USTR_HEAD_CACHE ? INST_B_HEADCACHE : 0) | (USTR_HEAP_MALLOC ? INST_B_MALLOC : 0) | \
	(uint32_t)USTR_DEBUG << INST_B_DEBUG)

/* ih_shape of this library; furnish.c knows the structures. */
extern const uint64_t inst_shape;

/* Page 1 begins with these. */
struct instwords {
	uint64_t iw_brk;	/* end of what is carved, bytes from the base */
	uint64_t iw_committed;	/* bytes that the file holds */
};

/* Is it an instance?  Not by its looks; it may have been one; something in it says so. */
enum inst_sign { INST_UNLIKE, INST_PERHAPS, INST_SURELY };

/* A file that was found good, or is being made. */
struct instfile {
	int if_fd;		/* -1: the process's own arena (invariant 3) */
	int if_dir;		/* its directory, -1 when not needed any more */
	bool if_named;		/* being made, under if_temp */
	enum inst_sign if_sign;	/* of a file that was looked at, whatever is wrong with it */
	unsigned int if_members; /* processes that held it then */
	struct plat_file if_id;
	struct insthead if_head; /* as read */
	uint64_t if_length;	/* of the file, bytes */
	char if_name[INST_NAME + 1];
	char if_temp[INST_NAME + 32];
	char if_path[PATH_MAX];
};

/* 1 to INST_NAME letters, digits, '.', '_', '-'; not a dot first. */
bool inst_name_ok(const char *name);
/* The checksum of a header. */
uint64_t inst_sum(const struct insthead *ih);
/* The options of an ih_build as words: "buffer_cache=yes ...". */
void inst_options(char *buf, size_t size, uint32_t build);
/* Does a header describe this very library's arenas?  0, EPROTO, ELIBBAD. */
int inst_same_build(const struct insthead *ih);

/*
 * Find, judge and open the instance of that name.  0; or an errno, and why (of
 * INST_WHY bytes) is the sentence for people:
 *   ENOENT    there is none; the sentence names every place
 *   EPERM     another owner, or a mode that lets others in
 *   ELOOP     a symbolic link      EMLINK  it has other names
 *   ENXIO     no ordinary file     EUCLEAN damaged: truncated, or noise
 *   EPROTO    another layout       ELIBBAD another build of the same layout
 * INST_LOOK opens it for reading only and takes another build (not layout).
 */
enum inst_how { INST_LOOK, INST_JOIN };
int inst_open(const char *name, enum inst_how how, struct instfile *f, char *why);
/* Give its descriptors back. */
void inst_close(struct instfile *f);

/*
 * Each instance that can be found, good or not: its name, its path, and 0 or the
 * errno and sentence of inst_open(INST_LOOK).  Of two with one name only the
 * first is ever joined.  What is so damaged that it may be anything counts if only
 * instances are expected where it lies.  Goes on until fn is not 0.
 */
struct insted {
	const char *ie_name;
	const char *ie_path;
	int ie_error;
	const char *ie_why;
	const struct instfile *ie_file; /* if ie_error is 0; closed afterwards */
	unsigned int ie_members; /* processes that hold it */
};
int inst_each(int (*fn)(const struct insted *ie, void *arg), void *arg);
/* How many processes hold the file. */
unsigned int inst_members(const struct instfile *f);

/* A file without a name, for an instance of that name: 0 or an errno and why. */
int inst_create(const char *name, struct instfile *f, char *why);
/* It is whole: give it the name.  EEXIST: somebody was faster. */
int inst_publish(struct instfile *f, char *why);
/* Give up what inst_create made. */
void inst_abandon(struct instfile *f);

/*
 * The gate: 0; ETIMEDOUT: somebody who holds it does not move (then why says
 * who); ESTALE: the file lost its name meanwhile, look again.
 */
int inst_gate(const struct instfile *f, char *why);
void inst_gate_leave(const struct instfile *f);
/* With the gate held: take the name off. */
int inst_unname(const struct instfile *f);
/*
 * Remove the first of that name, whole or damaged: 0 or an errno and why.  EBUSY:
 * somebody holds it; with force only its name is taken away, and they go on.
 */
int inst_remove(const char *name, bool force, char *why);

/* ---- between the two files ------------------------------------------------------ */

#define INST_PLACES 3
#define INST_PLACE_RUN 1 /* /run/user/UID, where all sorts of things lie */
void inst_begin(struct instfile *f, const char *name);
/* The n-th directory becomes f's, made if it has to be: 0 or an errno. */
int inst_place(struct instfile *f, unsigned int n, bool make);
/* Write a sentence, and return error. */
int inst_blame(char *why, int error, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int inst_badname(const char *name, char *why);
/* Is it the process's own arena? */
bool inst_is_own(const struct plat_file *id);

/* f is, or will be, the arena of this process: not to be opened and closed again. */
void inst_own(const struct instfile *f);
/* It is not any more. */
void inst_disown(void);
/* Open it again after all, by its name, because the program closed it: or -1. */
int inst_reopen(void);
/* The sentence for a disk that is full, of the file system of fd. */
void inst_whyfull(int fd, const char *name, char *why);

#endif
