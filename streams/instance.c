/* SPDX-License-Identifier: BSD-2-Clause */
/* instance.c: names, creating, joining; see instance.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "instance.h"
#include "plat_inst.h"
#include "slot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ustreams.h>

/* What the program chose; the sentence about what went wrong. */
static struct {
	bool set;	/* name is the program's, and not the environment's */
	unsigned int flags;
	char name[INST_NAME + 1];
	char why[INST_WHY];
} chosen;

/* ---- choosing ----------------------------------------------------------------------- */

int
ustr_instance(const char *name, unsigned int flags)
{
	if (name == NULL)
		name = "";
	if (slot_root != NULL) {
		errno = EBUSY;
		return -1;
	}
	if ((flags & ~(unsigned int)USTR_EXISTING) || (*name != '\0' && !inst_name_ok(name)) ||
	    (*name == '\0' && flags != 0)) {
		errno = EINVAL;
		return -1;
	}
	snprintf(chosen.name, sizeof(chosen.name), "%s", name);
	chosen.flags = flags;
	chosen.set = true;
	chosen.why[0] = '\0'; /* of another choice */
	return 0;
}

int
str_instance(const char *name)
{
	return ustr_instance(name, 0);
}

static const char *
wanted(void)
{
	const char *name = chosen.set ? chosen.name : secure_getenv("USTREAMS_INSTANCE");

	return name != NULL ? name : "";
}

/* Of a call that failed, not of another attempt: that may have another end, or none. */
const char *
ustr_instancefault(void)
{
	if (slot_root == NULL && chosen.why[0] != '\0')
		return chosen.why;
	if (slot_self() != NULL && arena_named()) {
		int error = arena_growth_error();

		if ((error == ENOSPC || error == EDQUOT) && arena_fd_ours())
			inst_whyfull(arena_fd(), wanted(), chosen.why);
	}
	return chosen.why[0] != '\0' ? chosen.why : NULL;
}

int
ustr_instance_remove(const char *name, unsigned int flags, char *why, size_t n)
{
	char text[INST_WHY] = "";
	int error = name == NULL || (flags & ~(unsigned int)USTR_FORCE) ? EINVAL :
		inst_remove(name, flags != 0, text);

	if (why != NULL && n > 0)
		snprintf(why, n, "%s", text);
	if (error == 0)
		return 0;
	errno = error;
	return -1;
}

/* ---- sentences for what instfile.c does not know --------------------------------------- */

static int
say(const struct instfile *f, int error, const char *what)
{
	snprintf(chosen.why, sizeof(chosen.why), "instance %s: %.600s: %.300s", f->if_name,
		f->if_path, what);
	return error;
}

/* error, with a sentence if there is none yet. */
static int
explain(const struct instfile *f, int error)
{
	if (error == 0 || chosen.why[0] != '\0')
		return error;
	switch (error) {
	case EADDRINUSE:
		return say(f, error, "the address 0x550000000000, where members map it, is taken in "
			"this process");
	case ENOSPC:
	case EDQUOT:
		inst_whyfull(arena != NULL ? arena_fd() : f->if_dir, f->if_name, chosen.why);
		return ENOSPC;
	case ENOMEM:
		return say(f, error, "not enough memory or address space (ulimit -v, USTREAMS_ARENA)");
	case EFBIG:
		return say(f, error, "larger than the process may make a file (ulimit -f)");
	case EOPNOTSUPP:
		return say(f, error, "this file system cannot reserve space; set USTREAMS_DIR to one that "
			"can, such as a tmpfs");
	case EAGAIN:
		return say(f, error, "all places of members are taken");
	}
	return say(f, error, strerror(error));
}

/* ---- creating ---------------------------------------------------------------------------- */

/* What kept a new arena from growing is what went wrong, not that there was no memory. */
static int
real_reason(int error)
{
	int why = arena_named() ? arena_growth_error() : 0;

	return error == ENOMEM && why != 0 ? why : error;
}

/* 0, EEXIST, or an errno. */
static int
create(size_t cap, const char *name, const struct instance_ops *io)
{
	struct instfile f;
	int error;

	chosen.why[0] = '\0'; /* that there is none is no fault */
	error = inst_create(name, &f, chosen.why);
	if (error != 0)
		return error;
	inst_own(&f);
	error = arena_create(f.if_fd, cap, name);
	f.if_fd = -1; /* the arena's, one way or the other */
	if (error != 0) {
		error = explain(&f, error);
	} else {
		error = real_reason(io->io_furnish());
		if (error == 0) {
			arena_seal();
			f.if_fd = arena_fd();
			error = inst_publish(&f, chosen.why);
			f.if_fd = -1;
		}
		if (error != 0 && error != EEXIST)
			error = explain(&f, error);
		if (error != 0)
			io->io_undo();
	}
	if (error != 0) {
		inst_disown();
		inst_abandon(&f);
	} else {
		inst_close(&f);
	}
	return error;
}

/* ---- joining -------------------------------------------------------------------------------- */

/* Of another run of the machine: whoever it names is dead, and the marks of death are lost. */
static bool
outlived(const struct instfile *f)
{
	static const unsigned char unknown[16];
	unsigned char now[16];

	plat_bootid(now);
	return memcmp(now, unknown, sizeof(now)) != 0 &&
		memcmp(f->if_head.ih_boot, now, sizeof(now)) != 0;
}

/* What the dead left in it cannot be walked. */
static int
unsound(const struct instfile *f, const char *what)
{
	return inst_blame(chosen.why, EUCLEAN, "instance %s: %.600s is damaged (%s); remove it with "
		"strclean -i %s", f->if_name, f->if_path, what, f->if_name);
}

/* With the gate held. */
static int
enter(struct instfile *f, const struct instance_ops *io)
{
	char what[80] = "";
	bool alone;
	int error;

	if (outlived(f)) {
		error = inst_unname(f);
		return error == 0 || error == ENOENT ? ESTALE : explain(f, error);
	}
	alone = inst_members(f) == 0;
	inst_own(f);
	error = arena_join(f->if_fd, &f->if_head);
	if (error != 0) {
		f->if_fd = -1; /* arena_join closed it */
		return explain(f, error);
	}
	error = io->io_sound(alone, what, sizeof(what)) ? io->io_enlist(alone) : unsound(f, what);
	/* A name of the library's is something else there; not that the file is another by now. */
	if (error == EEXIST || error == ESTALE)
		error = unsound(f, "its modules");
	if (error != 0) {
		f->if_fd = -1;
		io->io_undo();
	}
	return explain(f, error);
}

/* 0; ESTALE: look again; or an errno. */
static int
join(struct instfile *f, const struct instance_ops *io)
{
	int error = inst_gate(f, chosen.why);

	if (error == 0) {
		error = enter(f, io);
		if (f->if_fd >= 0)
			inst_gate_leave(f);
	}
	if (error != 0)
		inst_disown();
	inst_close(f); /* of its own arena's descriptor nothing */
	return error;
}

static int
named_up(size_t cap, const char *name, const struct instance_ops *io)
{
	struct instfile f;
	int error;

	if (USTR_HEAP_MALLOC) {
		snprintf(chosen.why, sizeof(chosen.why), "instance %s: this library is built with "
			"heap=malloc, for one process only; use one with heap=arena", name);
		return ENOTSUP;
	}
	do {
		error = inst_open(name, INST_JOIN, &f, chosen.why);
		if (error == 0)
			error = join(&f, io);
		else if (error == ENOENT && !(chosen.flags & USTR_EXISTING))
			error = create(cap, name, io);
	} while (error == ESTALE || error == EEXIST);
	return error;
}

/* ---- either ------------------------------------------------------------------------------------ */

static int
private_up(size_t cap, const struct instance_ops *io)
{
	int fd = plat_raise(plat_memfd("ustreams")), error;

	if (fd < 0)
		return errno == EMFILE || errno == ENFILE ? errno : ENOMEM;
	error = arena_create(fd, cap, "");
	if (error != 0)
		return error;
	error = io->io_furnish();
	if (error != 0)
		io->io_undo();
	else
		arena_seal();
	return error;
}

int
instance_up(size_t cap, const struct instance_ops *io)
{
	const char *name = wanted();
	int error;

	chosen.why[0] = '\0';
	error = *name == '\0' ? private_up(cap, io) : named_up(cap, name, io);
	if (error == 0)
		chosen.why[0] = '\0';
	return error;
}
