/* SPDX-License-Identifier: BSD-2-Clause */
/* look.c: opening an arena for reading, and copying from it; see look.h. */
#include "look.h"
#include "plat_inst.h"
#include "plat_look.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUDGET_LEAST ((size_t)64 << 20)

/* ---- copying ---------------------------------------------------------------------- */

/* Pure arithmetic, so that a damaged pointer is only a number. */
static bool
inside(const struct ustr_look *lk, uintptr_t at, size_t align, size_t n)
{
	size_t off = at - lk->lk_base;

	return at >= lk->lk_base && (at & (align - 1)) == 0 && off < lk->lk_end &&
		n <= lk->lk_end - off;
}

static bool
fetch(struct ustr_look *lk, size_t off, void *to, size_t n)
{
	if (lk->lk_fd < 0)
		return plat_copyin_checked(to, (char *)arena + off, n) == 0;
	return plat_pread(lk->lk_fd, to, n, (off_t)off) == (ssize_t)n;
}

bool
look_copy(struct ustr_look *lk, const void *at, size_t align, void *to, size_t n)
{
	if (!inside(lk, (uintptr_t)at, align, n) || n > lk->lk_budget)
		return false;
	lk->lk_budget -= n;
	return fetch(lk, (uintptr_t)at - lk->lk_base, to, n);
}

bool
walk_on(struct walk *w, const void *p)
{
	if (p == w->w_mark)
		return false;
	if (w->w_steps++ == w->w_until) {
		w->w_mark = p;
		w->w_until = 2 * w->w_until + 1;
		w->w_steps = 0;
	}
	return true;
}

void *
vec_add(struct vec *v)
{
	if (v->v_n == v->v_room) {
		size_t room = v->v_room == 0 ? 16 : 2 * v->v_room;
		void *mem = reallocarray(v->v_mem, room, v->v_size);

		if (mem == NULL)
			return NULL;
		v->v_mem = mem;
		v->v_room = room;
	}
	return memset(vec_at(v, v->v_n++), 0, v->v_size);
}

void
look_name(char *to, size_t room, const char *from, size_t n)
{
	size_t i;

	for (i = 0; i < n && i + 1 < room && from[i] != '\0'; i++)
		to[i] = from[i] >= ' ' && from[i] <= '~' ? from[i] : '?';
	to[i] = '\0';
}

/* ---- the header --------------------------------------------------------------------- */

void *
look_fault(struct fault *f, int error, const char *fmt, ...)
{
	va_list ap;

	if (f->f_text != NULL && f->f_size > 0) {
		va_start(ap, fmt);
		vsnprintf(f->f_text, f->f_size, fmt, ap);
		va_end(ap);
	}
	errno = error;
	return NULL;
}

const void *
look_root(const struct ustr_look *lk, enum arena_root which)
{
	return (const void *)(uintptr_t)lk->lk_arena.ar_head.ih_root[which];
}

/* Where it lies and what it holds: do the numbers go together? */
static bool
bounds_sound(const struct arena *a)
{
	const struct insthead *ih = &a->ar_head;

	return ih->ih_base % INST_PAGE == 0 && ih->ih_base >= INST_PAGE &&
		ih->ih_base < USER_END && ih->ih_size <= USER_END - ih->ih_base &&
		ih->ih_cap <= ih->ih_size && a->ar_committed <= ih->ih_cap &&
		a->ar_brk <= a->ar_committed && a->ar_brk >= sizeof(*a);
}

static bool
roots_sound(const struct arena *a)
{
	for (int i = 0; i < ROOTS; i++) {
		uint64_t off = a->ar_head.ih_root[i] - a->ar_head.ih_base;

		if (off % LINE != 0 || off < sizeof(*a) || off >= a->ar_brk)
			return false;
	}
	return true;
}

/* Judge the header of a file of so many bytes: 0, EUCLEAN, EPROTO, ELIBBAD, and what. */
static int
judge(struct ustr_look *lk, size_t length, const char **what)
{
	const struct arena *a = &lk->lk_arena;
	const struct insthead *ih = &a->ar_head;
	int error;

	*what = "it does not begin as an arena does";
	if (memcmp(ih->ih_magic, INST_MAGIC, sizeof(ih->ih_magic)) != 0)
		return EUCLEAN;
	*what = "it is only being set up, or its header is damaged";
	if (ih->ih_len != sizeof(*ih) && ih->ih_layout != INST_LAYOUT)
		return EPROTO;
	if (ih->ih_len != sizeof(*ih) || inst_sum(ih) != ih->ih_sum || !bounds_sound(a) ||
	    (ih->ih_layout == INST_LAYOUT && !roots_sound(a)))
		return EUCLEAN;
	error = inst_same_build(ih);
	*what = "the file is shorter than its header says";
	if (error != EPROTO && a->ar_committed > length)
		return EUCLEAN;
	lk->lk_base = ih->ih_base;
	lk->lk_end = a->ar_committed;
	return error;
}

static int
read_header(struct ustr_look *lk, const char **what)
{
	size_t length = lk->lk_fd < 0 ? sizeof(lk->lk_arena) : plat_length(lk->lk_fd);

	*what = "it is too short for one";
	if (length < sizeof(lk->lk_arena) || !fetch(lk, 0, &lk->lk_arena, sizeof(lk->lk_arena)))
		return EUCLEAN;
	if (lk->lk_fd < 0)
		length = lk->lk_arena.ar_committed;
	return judge(lk, length, what);
}

int
look_refresh(struct ustr_look *lk)
{
	const char *what;
	int error = read_header(lk, &what);

	lk->lk_budget = 8 * lk->lk_end + BUDGET_LEAST;
	return error == ELIBBAD ? 0 : error;
}

bool
look_locked(const struct ustr_look *lk, const struct proc *p)
{
	if (lk->lk_fd >= 0)
		return plat_reclocked(lk->lk_fd, (off_t)p->pr_id);
	/* One's own locks are in nobody's way. */
	return p->pr_pid == plat_pid() || plat_reclocked(arena_fd(), (off_t)p->pr_id);
}

/* ---- opening ---------------------------------------------------------------------------- */

static void
warn(struct ustr_look *lk)
{
	char theirs[96], mine[96];

	inst_options(theirs, sizeof(theirs), lk->lk_arena.ar_head.ih_build);
	inst_options(mine, sizeof(mine), INST_BUILD);
	snprintf(lk->lk_warning, sizeof(lk->lk_warning),
		"%.120s: made by a library built with %s, looked at by one with %s", lk->lk_name,
		theirs, mine);
}

/* lk, whose lk_fd is set, becomes a look at what is called name; or NULL. */
static struct ustr_look *
begin(struct ustr_look *lk, const char *name, struct fault *f)
{
	const char *what;
	int error = read_header(lk, &what);

	snprintf(lk->lk_name, sizeof(lk->lk_name), "%s", name);
	if (error == ELIBBAD)
		warn(lk);
	if (error == 0 || error == ELIBBAD)
		return lk;
	if (error == EPROTO)
		look_fault(f, error, "%s: its arena has layout %u-%llx, this library knows %u-%llx; "
			"use the tools of the version that made it", name,
			lk->lk_arena.ar_head.ih_layout,
			(unsigned long long)(lk->lk_arena.ar_head.ih_shape & 0xffffff), INST_LAYOUT,
			(unsigned long long)(inst_shape & 0xffffff));
	else
		look_fault(f, error, "%s: no arena: %s", name, what);
	ustr_look_close(lk);
	errno = error;
	return NULL;
}

struct ustr_look *
look_at(const char *path, const char *name, struct fault *f)
{
	struct ustr_look *lk = calloc(1, sizeof(*lk));

	if (lk == NULL)
		return look_fault(f, ENOMEM, "%s: %s", name, strerror(ENOMEM));
	lk->lk_fd = plat_openread(path, arena_identity());
	if (lk->lk_fd < 0 && errno != 0) {
		int error = errno;

		free(lk);
		return look_fault(f, error, "%s: %s", name,
			error == EINVAL ? "not a regular file" : strerror(error));
	}
	return begin(lk, name, f);
}

struct ustr_look *
look_own(void)
{
	struct ustr_look *lk = calloc(1, sizeof(*lk));
	struct fault none = { NULL, 0 };

	if (lk == NULL)
		return NULL;
	lk->lk_fd = -1;
	return begin(lk, "this process", &none);
}

struct ustr_look *
ustr_look_instance(const char *name, char *fault, size_t size)
{
	struct fault f = { fault, size };
	struct ustr_look *lk = calloc(1, sizeof(*lk));
	char why[INST_WHY], label[INST_NAME + 16];
	struct instfile file;
	int error;

	if (lk == NULL)
		return look_fault(&f, ENOMEM, "instance: %s", strerror(ENOMEM));
	error = inst_open(name != NULL ? name : "", INST_LOOK, &file, why);
	if (error != 0 && error != ELIBBAD) {
		free(lk);
		return look_fault(&f, error, "%s", why);
	}
	lk->lk_fd = file.if_fd;
	file.if_fd = -1;
	inst_close(&file);
	snprintf(label, sizeof(label), "instance %s", name);
	return begin(lk, label, &f);
}

struct ustr_look *
ustr_look_file(const char *path, char *fault, size_t size)
{
	struct fault f = { fault, size };

	if (path == NULL || *path == '\0')
		return look_fault(&f, EINVAL, "no file is named");
	return look_at(path, path, &f);
}

struct ustr_look *
ustr_look_process(pid_t pid, char *fault, size_t size)
{
	struct fault f = { fault, size };
	struct plat_file id;
	char path[64], name[64], comm[PLAT_COMM];
	int error;

	if (pid <= 0)
		return look_fault(&f, EINVAL, "process %d: a process id is a number from 1", (int)pid);
	/* Its descriptor may have been closed by the program. */
	if (arena != NULL && pid == plat_pid())
		return look_own();
	plat_procname(pid, comm);
	snprintf(name, sizeof(name), comm[0] != '\0' ? "process %d (%s)" : "process %d", (int)pid,
		comm);
	error = plat_procfile(pid, ARENA_MEMFILE, NULL, arena_identity(), path, sizeof(path), &id);
	if (error == ENXIO)
		error = plat_procfile(pid, NULL, INST_MAGIC, arena_identity(), path, sizeof(path), &id);
	if (error == ENXIO)
		return look_fault(&f, error, "%s: it has no streams: none of its descriptors in "
			"/proc/%d/fd leads to an arena", name, (int)pid);
	if (error != 0)
		return look_fault(&f, error, "%s: /proc/%d/fd: %s", name, (int)pid, strerror(error));
	return look_at(path, name, &f);
}

void
ustr_look_close(struct ustr_look *lk)
{
	if (lk == NULL)
		return;
	/* This process may have joined it since: then its record lock hangs on the file. */
	if (lk->lk_fd >= 0 &&
	    (arena_identity() == NULL || !plat_same(lk->lk_fd, arena_identity())))
		plat_close(lk->lk_fd);
	free(lk);
}

const char *
ustr_look_name(const struct ustr_look *lk)
{
	return lk->lk_name;
}

const char *
ustr_look_instancename(const struct ustr_look *lk)
{
	const struct insthead *ih = &lk->lk_arena.ar_head;

	return memchr(ih->ih_name, '\0', sizeof(ih->ih_name)) != NULL && inst_name_ok(ih->ih_name) ?
		ih->ih_name : NULL;
}

const char *
ustr_look_warning(const struct ustr_look *lk)
{
	return lk->lk_warning[0] != '\0' ? lk->lk_warning : NULL;
}
