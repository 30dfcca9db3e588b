/* SPDX-License-Identifier: BSD-2-Clause */
/* instmake.c: making and removing the files of instances, and their gate (instfile.h). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "instfile.h"
#include "plat_inst.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GATE 0		/* the byte of the gate */
#define AGAIN_US 2000	/* between two looks whether it is in use */
#define GATE_MS 10000	/* how long one may stand in it */

/* ---- making ---------------------------------------------------------------------------------------- */

/* The first place that is to be had; what was wrong with the others is said. */
static int
choose_place(struct instfile *f, char *why)
{
	int error = ENOENT;

	for (unsigned int i = 0; i < INST_PLACES; i++) {
		f->if_path[0] = '\0';
		error = inst_place(f, i, true);
		if (error == 0)
			return 0;
		f->if_dir = -1;
		if (i == 0 && f->if_path[0] != '\0')
			return inst_blame(why, error, "instance %s: USTREAMS_DIR=%.600s: %s", f->if_name,
				secure_getenv("USTREAMS_DIR"), strerror(error));
	}
	return inst_blame(why, error, "instance %s: %s: %s; set USTREAMS_DIR to a directory for instances",
		f->if_name, f->if_path, error == EPERM ?
		"the directory does not belong to this user, or not alone (mode 0700)" : strerror(error));
}

/* For who is in USTREAMS_GROUP as well. */
static int
open_to_group(const struct instfile *f, char *why)
{
	const char *name = secure_getenv("USTREAMS_GROUP");
	gid_t gid;
	int error;

	if (name == NULL || *name == '\0')
		return 0;
	error = plat_group(name, &gid);
	if (error == 0)
		error = plat_share(f->if_fd, gid);
	if (error == 0)
		return 0;
	return inst_blame(why, error, "instance %s: USTREAMS_GROUP=%s: %s", f->if_name, name,
		error == EINVAL ? "no such group" : error == EPERM ? "the process is not in that group" :
		strerror(error));
}

int
inst_create(const char *name, struct instfile *f, char *why)
{
	int error;

	inst_begin(f, name);
	if (!inst_name_ok(name))
		return inst_badname(name, why);
	error = choose_place(f, why);
	if (error != 0)
		return error;
	snprintf(f->if_temp, sizeof(f->if_temp), ".%s.%d.%llx", name, (int)plat_pid(),
		(unsigned long long)plat_now());
	f->if_fd = plat_raise(plat_tmpfile(f->if_dir, f->if_temp, &f->if_named));
	error = f->if_fd < 0 ? errno : plat_identify(f->if_fd, &f->if_id);
	if (error == ENOSPC)
		inst_whyfull(f->if_dir, name, why);
	else if (error != 0)
		(void)inst_blame(why, error, "instance %s: %s: %s", name, f->if_path, strerror(error));
	else
		error = open_to_group(f, why);
	if (error != 0)
		inst_abandon(f);
	return error;
}

int
inst_publish(struct instfile *f, char *why)
{
	int error = plat_publish(f->if_fd, f->if_dir, f->if_named ? f->if_temp : NULL, f->if_name);

	ASSERT(f->if_fd >= 0 && f->if_dir >= 0 && inst_name_ok(f->if_name));
	if (error == 0)
		f->if_named = false;
	else if (error == ENOSPC)
		inst_whyfull(f->if_dir, f->if_name, why);
	else if (error != EEXIST)
		(void)inst_blame(why, error, "instance %s: %s: %s", f->if_name, f->if_path, strerror(error));
	return error;
}

void
inst_abandon(struct instfile *f)
{
	if (f->if_named)
		(void)plat_unlink(f->if_dir, f->if_temp);
	f->if_named = false;
	inst_close(f);
}

/* ---- the gate ---------------------------------------------------------------------------------------- */

/* Each that is met in the gate has his own time: a crowd that moves on is no fault. */
struct patience {
	pid_t pa_with;
	int64_t pa_until;
};

static bool
still_patient(struct patience *pa, pid_t holder)
{
	int64_t now = plat_now();

	if (holder == 0 || holder != pa->pa_with) {
		pa->pa_with = holder;
		pa->pa_until = now + (int64_t)GATE_MS * 1000000;
	}
	return now <= pa->pa_until;
}

int
inst_gate(const struct instfile *f, char *why)
{
	struct patience pa = { 0, 0 };
	struct stat st;
	pid_t holder;
	int error;

	ASSERT(f->if_fd >= 0);
	while ((error = plat_lockrec(f->if_fd, GATE)) != 0) {
		if (error != EAGAIN && error != EACCES && error != EINTR)
			return inst_blame(why, error, "instance %s: %s: %s", f->if_name, f->if_path,
				strerror(error));
		holder = plat_whoholds(f->if_fd, GATE, 1, NULL);
		if (!still_patient(&pa, holder))
			return inst_blame(why, ETIMEDOUT, "instance %s: process %d has been joining %s for "
				"%d s; continue or end it", f->if_name, (int)holder, f->if_path,
				GATE_MS / 1000);
		plat_nap(1000);
	}
	error = plat_stat(f->if_fd, &st);
	if (error == 0 && st.st_nlink > 0)
		return 0;
	inst_gate_leave(f);
	return ESTALE;
}

void
inst_gate_leave(const struct instfile *f)
{
	plat_unlockrec(f->if_fd, GATE);
}

int
inst_unname(const struct instfile *f)
{
	struct stat st;
	int error = plat_statat(f->if_dir, f->if_name, &st);

	/* Somebody put another file there without asking. */
	if (error == 0 && (st.st_dev != f->if_id.pf_dev || st.st_ino != f->if_id.pf_ino))
		return ESTALE;
	return error == 0 ? plat_unlink(f->if_dir, f->if_name) : error;
}

/* ---- removing ---------------------------------------------------------------------------------------- */

/* Is it ours to remove?  0 or an errno. */
static int
judge_removal(const struct instfile *f, const struct stat *st, bool force, char *why)
{
	char magic[sizeof(f->if_head.ih_magic)];

	if (!S_ISREG(st->st_mode))
		return inst_blame(why, ENXIO, "instance %s: %s is no ordinary file; remove it with rm if "
			"it is in the way", f->if_name, f->if_path);
	if (st->st_uid != plat_euid())
		return inst_blame(why, EPERM, "instance %s: %s belongs to user %u, not to user %u",
			f->if_name, f->if_path, st->st_uid, plat_euid());
	if (!force && (plat_pread(f->if_fd, magic, sizeof(magic), 0) != (ssize_t)sizeof(magic) ||
		    memcmp(magic, INST_MAGIC, sizeof(magic)) != 0))
		return inst_blame(why, EUCLEAN, "instance %s: %s does not begin as an instance does: "
			"damaged, or something else; -f removes it all the same", f->if_name,
			f->if_path);
	return 0;
}

static int
still_used(const struct instfile *f, char *why)
{
	unsigned int n = inst_members(f);
	pid_t pid;

	/* A member that forks is without its lock for an instant. */
	if (n == 0)
		plat_nap(AGAIN_US);
	n = n == 0 ? inst_members(f) : n;
	pid = plat_whoholds(f->if_fd, 1, INST_MEMBERS - 1, NULL);
	if (n == 0)
		return 0;
	return inst_blame(why, EBUSY, "instance %s: %s is in use by %u process%s (%d%s); end them, or "
		"-f takes the name away and leaves them to go on", f->if_name, f->if_path, n,
		n == 1 ? "" : "es", (int)pid, n == 1 ? "" : " ...");
}

/* The file in f's directory: 0, ENOENT, or an errno. */
static int
remove_here(struct instfile *f, bool force, char *why)
{
	struct stat st;
	int error = plat_statat(f->if_dir, f->if_name, &st);

	if (error != 0)
		return error;
	f->if_id = (struct plat_file){ st.st_dev, st.st_ino };
	if (inst_is_own(&f->if_id) && !force)
		return inst_blame(why, EBUSY, "instance %s: %s is in use by this very process",
			f->if_name, f->if_path);
	f->if_fd = S_ISREG(st.st_mode) ? plat_openat(f->if_dir, f->if_name, true) : -1;
	if (S_ISREG(st.st_mode) && f->if_fd < 0)
		return inst_blame(why, errno, "instance %s: %s: %s", f->if_name, f->if_path, strerror(errno));
	error = judge_removal(f, &st, force, why);
	if (error == 0)
		error = inst_gate(f, why);
	if (error == ETIMEDOUT && force)
		error = 0; /* whoever is in there ends up in a file without a name */
	if (error == 0 && !force)
		error = still_used(f, why);
	if (error == 0 && (error = inst_unname(f)) != 0)
		(void)inst_blame(why, error, "instance %s: %s: %s", f->if_name, f->if_path, strerror(error));
	return error == ESTALE ? ENOENT : error;
}

int
inst_remove(const char *name, bool force, char *why)
{
	struct instfile f;
	int error = ENOENT;

	inst_begin(&f, name);
	if (!inst_name_ok(name))
		return inst_badname(name, why);
	for (unsigned int i = 0; error == ENOENT && i < INST_PLACES; i++) {
		if (inst_place(&f, i, false) == 0)
			error = remove_here(&f, force, why);
		inst_close(&f);
	}
	if (error == ENOENT)
		(void)inst_open(name, INST_LOOK, &f, why); /* the sentence with the places */
	return error;
}
