/* SPDX-License-Identifier: BSD-2-Clause */
/* arena.c: reserving, committing and carving the shared mapping. */
#include "arena.h"
#include "plat_inst.h"
#include "slot.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)
#define STEP MIB		/* growth of the file */
#define ARENA_MIN (512 * 1024)	/* slots, registry and a few streams */
#define VALGRIND_SIZE (64 * MIB) /* its leak scan must find no tail past the file */

struct arena *arena;
size_t arena_size;
size_t arena_cap;

static bool named;		/* C  an instance */
static int growth_error;	/* A  errno of the last refusal */
static int arena_fdnum = -1;	/* A */
static struct plat_file arena_id; /* what arena_fdnum was when it was opened */
static uint32_t regaining;	/* A  a thread opens it again */

_Static_assert(sizeof(struct arena) <= 2 * INST_PAGE, "the header is two pages");
_Static_assert(offsetof(struct arena, ar_brk) == INST_PAGE, "struct instwords");
_Static_assert(ROOTS <= INST_ROOTS, "the header has room for all");

const struct plat_file *
arena_identity(void)
{
	return arena != NULL ? &arena_id : NULL;
}

bool
arena_fd_ours(void)
{
	int fd = ld_rlx(&arena_fdnum);

	return fd >= 0 && plat_same(fd, &arena_id);
}

/* The arena, as a live member of it has it open: a descriptor or -1. */
static int
borrow(const struct proc *mine)
{
	uint32_t top = ld_acq(&slot_root->sr_ptop);

	for (uint32_t i = 1; i < top; i++) {
		struct proc *p = slot_procat(i);
		int fd;

		if (p == NULL || p == mine || ld_acq(&p->pr_state) != PROC_LIVE)
			continue;
		fd = plat_raise(plat_borrow(p->pr_pid, ld_rlx(&p->pr_arenafd)));
		if (fd >= 0 && plat_same(fd, &arena_id))
			return fd;
		plat_close(fd);
	}
	return -1;
}

/*
 * One thread at a time: closing a second descriptor of the file would drop the
 * record lock that came with the first.  The others do without for now.
 */
bool
arena_fd_regain(void)
{
	struct proc *mine = slot_proc();
	int fd;

	if (likely(arena_fd_ours()))
		return true;
	if (mine == NULL || xchg(&regaining, 1u) != 0)
		return false;
	if (!arena_fd_ours() && ((fd = inst_reopen()) >= 0 || (fd = borrow(mine)) >= 0)) {
		st_rlx(&arena_fdnum, fd);
		ASSERT(mine->pr_id > 0 && mine->pr_id < NPROC); /* byte 0 is the gate's */
		st_rlx(&mine->pr_arenafd, fd);
		plat_lockrec(fd, (off_t)mine->pr_id);
	}
	(void)xchg(&regaining, 0u);
	return arena_fd_ours();
}

void
arena_forked(void)
{
	st_rlx(&regaining, 0u);
}

int
arena_fd(void)
{
	return ld_rlx(&arena_fdnum);
}

/*
 * Another copy of the library (a plugin with a static one, say) lives in this
 * process: two of them would each believe that a descriptor is not theirs.
 */
static bool
second_copy(void)
{
	char magic[8];

	return plat_copyin_checked(magic, ARENA_BASE, sizeof(magic)) == 0 &&
		memcmp(magic, INST_MAGIC, sizeof(magic)) == 0;
}

/* Map want bytes of fd at the base, or for a private arena elsewhere: 0 or an errno. */
static int
map(int fd, size_t want)
{
	void *p = plat_map(ARENA_BASE, want, fd);
	int error = p == NULL ? errno : 0;

	if (error == EEXIST && second_copy())
		return ELIBACC;
	/* Taken or illegal here. */
	if (error != 0 && error != ENOMEM && !named) {
		p = plat_map(NULL, want, fd);
		error = p == NULL ? errno : 0;
	}
	if (error != 0)
		return error == ENOMEM ? ENOMEM : EADDRINUSE;
	IMPLY(named, p == ARENA_BASE);
	arena = p;
	arena_size = want;
	return 0;
}

/* Reserve as much address space as is to be had: 0 or an errno. */
static int
reserve(int fd)
{
	static const size_t sizes[] = { 64 * GIB, 16 * GIB, 4 * GIB, GIB, 256 * MIB,
		64 * MIB, 16 * MIB };
	int error = ENOMEM;

	for (size_t i = 0; error == ENOMEM && i < sizeof(sizes) / sizeof(sizes[0]); i++)
		error = map(fd, plat_valgrind() ? VALGRIND_SIZE : sizes[i]);
	return error;
}

static int
format(const char *name)
{
	size_t first = arena_cap < STEP ? arena_cap : STEP;
	struct insthead *ih = &arena->ar_head;
	int error;

	ASSERT(arena_cap <= arena_size && arena_size % 4096 == 0 && arena_cap % 4096 == 0);
	if (plat_valgrind())
		first = arena_size;
	error = plat_grow(arena_fdnum, 0, (off_t)first);
	if (error != 0)
		return !named && (error == ENOSPC || error == EFBIG) ? ENOMEM : error;
	plat_dump(arena, arena_size, false);
	plat_dump(arena, first, true);
	memcpy(ih->ih_magic, INST_MAGIC, sizeof(ih->ih_magic));
	ih->ih_len = sizeof(*ih);
	ih->ih_layout = INST_LAYOUT;
	ih->ih_shape = inst_shape;
	ih->ih_build = INST_BUILD;
	ih->ih_creator = (uint32_t)plat_pid();
	ih->ih_born = plat_clock();
	plat_bootid(ih->ih_boot);
	ih->ih_base = (uintptr_t)arena;
	ih->ih_size = arena_size;
	ih->ih_cap = arena_cap;
	snprintf(ih->ih_name, sizeof(ih->ih_name), "%s", name);
	arena->ar_brk = 2 * INST_PAGE;
	arena->ar_committed = first;
	return 0;
}

/* fd becomes the arena's: 0 or an errno. */
static int
adopt(int fd, bool has_name)
{
	ASSERT(arena == NULL); /* one in a process */
	named = has_name;
	growth_error = 0;
	arena_fdnum = fd;
	return plat_identify(fd, &arena_id);
}

int
arena_create(int fd, size_t cap, const char *name)
{
	int error = adopt(fd, *name != '\0');

	if (cap != 0 && cap < ARENA_MIN)
		error = ENOMEM;
	if (error == 0)
		error = reserve(fd);
	if (error == 0) {
		if (cap == 0)
			cap = plat_ram() / 4;
		arena_cap = (cap < arena_size ? cap : arena_size) & ~(size_t)4095;
		error = format(name);
	}
	if (error != 0)
		arena_destroy();
	return error;
}

int
arena_join(int fd, const struct insthead *ih)
{
	int error = adopt(fd, true);

	ASSERT(ih->ih_base != 0 && ih->ih_cap <= ih->ih_size);
	if (error == 0 && ih->ih_base != (uintptr_t)ARENA_BASE)
		error = EADDRINUSE;
	if (error == 0)
		error = map(fd, ih->ih_size);
	/* Beyond the cap there will never be anything. */
	if (error == ENOMEM)
		error = map(fd, ih->ih_cap);
	arena_cap = ih->ih_cap;
	if (error != 0) {
		arena_destroy();
		return error;
	}
	plat_dump(arena, arena_size, false);
	ASSERT(arena_cap <= arena_size);
	plat_dump(arena, ld_acq(&arena->ar_committed), true);
	return 0;
}

void
arena_seal(void)
{
	ASSERT(arena->ar_head.ih_sum == 0 && slot_root != NULL);
	arena->ar_head.ih_sum = inst_sum(&arena->ar_head);
}

void
arena_destroy(void)
{
	if (arena != NULL)
		plat_unmap(arena, arena_size);
	plat_close(arena_fdnum);
	arena = NULL;
	arena_size = arena_cap = 0;
	arena_fdnum = -1;
	named = false;
}

bool
arena_named(void)
{
	return named;
}

int
arena_growth_error(void)
{
	return ld_rlx(&growth_error);
}

/* Commit up to end at least; false when cap, limits or memory refuse. */
static bool
grow(size_t end)
{
	uint64_t old = ld_acq(&arena->ar_committed), to;
	int error;

	if (end > arena_cap || !arena_fd_regain())
		return false;
	to = roundup2(end, STEP);
	if (to > arena_cap)
		to = arena_cap;
	if (to <= old)
		return true;
	ASSERT(end <= to && to <= arena_cap && arena_cap <= arena_size); /* invariant 1 */
	error = plat_grow(arena_fd(), (off_t)old, (off_t)to);
	if (error != 0) {
		st_rlx(&growth_error, error);
		return false;
	}
	plat_dump((char *)arena + old, to - old, true);
	while (old < to && !cas(&arena->ar_committed, &old, to))
		;
	ASSERT(ld_acq(&arena->ar_committed) >= end);
	return true;
}

void *
arena_carve(size_t size, size_t align)
{
	uint64_t old = ld_rlx(&arena->ar_brk), start;

	ASSERT(align >= LINE && (align & (align - 1)) == 0);
	do {
		start = roundup2(old, align);
		if (size > arena_cap || start > arena_cap - size ||
		    (start + size > ld_acq(&arena->ar_committed) && !grow(start + size))) {
			faa(&arena->ar_refused, (size_t)1);
			return NULL;
		}
	} while (!cas(&arena->ar_brk, &old, start + size));
	ASSERT(start >= 2 * INST_PAGE && start % align == 0);
	ASSERT(start + size <= ld_acq(&arena->ar_committed)); /* invariant 1 */
	return (char *)arena + start;
}

void *
arena_root_make(enum arena_root which, size_t size)
{
	void *root = arena_carve(size, LINE);

	ASSERT(which < ROOTS);
	ASSERT(arena->ar_head.ih_root[which] == 0);
	arena->ar_head.ih_root[which] = (uintptr_t)root;
	return root;
}

void *
arena_root(enum arena_root which)
{
	ASSERT(which < ROOTS);
	ASSERT(arena->ar_head.ih_root[which] != 0);
	return (void *)(uintptr_t)arena->ar_head.ih_root[which];
}
