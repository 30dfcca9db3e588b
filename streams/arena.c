/* SPDX-License-Identifier: BSD-2-Clause */
/* arena.c: reserving, committing and carving the shared mapping. */
#include "arena.h"
#include "slot.h"

#include <errno.h>
#include <string.h>

#define MAGIC "ustreams"	/* eight characters, no terminator in the header */
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)
#define STEP MIB		/* growth of the file */
#define ARENA_MIN (512 * 1024)	/* slots, registry and a few streams */
#define VALGRIND_SIZE (64 * MIB) /* its leak scan must find no tail past the file */

struct arena *arena;

static int arena_fdnum = -1;	/* A */
static struct plat_file arena_id; /* what arena_fdnum was when it was opened */
static uint32_t regaining;	/* A  a thread opens it again */

_Static_assert(sizeof(struct arena) <= 4096, "the header fits one page");

static uint32_t
build_id(void)
{
	return USTR_BUFFER_CACHE << 0 | USTR_HEAD_CACHE << 1 | USTR_HEAP_MALLOC << 2 |
		USTR_DEBUG << 4;
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
	if (!arena_fd_ours() && (fd = borrow(mine)) >= 0) {
		st_rlx(&arena_fdnum, fd);
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
		memcmp(magic, MAGIC, sizeof(magic)) == 0;
}

/* Reserve as much address space as is to be had at the base: 0 or an errno. */
static int
reserve(int fd, size_t *size)
{
	static const size_t sizes[] = { 64 * GIB, 16 * GIB, 4 * GIB, GIB, 256 * MIB,
		64 * MIB, 16 * MIB };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t want = plat_valgrind() ? VALGRIND_SIZE : sizes[i];
		void *p = plat_map(ARENA_BASE, want, fd);

		if (p == NULL && errno == EEXIST && second_copy())
			return ELIBACC;
		/* Taken or illegal here: anywhere will do for a private arena. */
		if (p == NULL && errno != ENOMEM)
			p = plat_map(NULL, want, fd);
		if (p != NULL) {
			*size = want;
			arena = p;
			return 0;
		}
	}
	return ENOMEM;
}

static int
format(size_t size, size_t cap)
{
	size_t first = cap < STEP ? cap : STEP;
	int error;

	if (plat_valgrind())
		first = size;
	error = plat_grow(arena_fdnum, 0, (off_t)first);
	if (error != 0)
		return error == ENOSPC || error == EFBIG ? ENOMEM : error;
	plat_dump(arena, size, false);
	plat_dump(arena, first, true);
	memcpy(arena->ar_magic, MAGIC, sizeof(arena->ar_magic));
	arena->ar_layout = ARENA_LAYOUT;
	arena->ar_build = build_id();
	arena->ar_size = size;
	arena->ar_cap = cap;
	arena->ar_brk = 4096;
	arena->ar_committed = first;
	return 0;
}

int
arena_create(size_t cap)
{
	size_t size = 0;
	int error;

	if (cap != 0 && cap < ARENA_MIN)
		return ENOMEM;
	arena_fdnum = plat_raise(plat_memfd("ustreams"));
	if (arena_fdnum < 0)
		return errno == EMFILE || errno == ENFILE ? errno : ENOMEM;
	error = plat_identify(arena_fdnum, &arena_id);
	if (error == 0)
		error = reserve(arena_fdnum, &size);
	if (error == 0) {
		if (cap == 0)
			cap = plat_ram() / 4;
		cap = (cap < size ? cap : size) & ~(size_t)4095;
		error = format(size, cap);
		if (error != 0)
			plat_unmap(arena, size);
	}
	if (error != 0) {
		arena = NULL;
		plat_close(arena_fdnum);
		arena_fdnum = -1;
	}
	return error;
}

void
arena_destroy(void)
{
	plat_unmap(arena, arena->ar_size);
	plat_close(arena_fdnum);
	arena = NULL;
	arena_fdnum = -1;
}

/* Commit up to end at least; false when cap, limits or memory refuse. */
static bool
grow(size_t end)
{
	size_t old = ld_acq(&arena->ar_committed), to;

	if (end > arena->ar_cap || !arena_fd_regain())
		return false;
	to = roundup2(end, STEP);
	if (to > arena->ar_cap)
		to = arena->ar_cap;
	if (to <= old)
		return true;
	if (plat_grow(arena_fd(), (off_t)old, (off_t)to) != 0)
		return false;
	plat_dump((char *)arena + old, to - old, true);
	while (old < to && !cas(&arena->ar_committed, &old, to))
		;
	return true;
}

void *
arena_carve(size_t size, size_t align)
{
	size_t old = ld_rlx(&arena->ar_brk), start;

	ASSERT(align >= LINE && (align & (align - 1)) == 0);
	do {
		start = roundup2(old, align);
		if (size > arena->ar_cap || start > arena->ar_cap - size ||
		    (start + size > ld_acq(&arena->ar_committed) && !grow(start + size))) {
			faa(&arena->ar_refused, (size_t)1);
			return NULL;
		}
	} while (!cas(&arena->ar_brk, &old, start + size));
	return (char *)arena + start;
}

void *
arena_root_make(enum arena_root which, size_t size)
{
	ASSERT(arena->ar_root[which] == NULL);
	return arena->ar_root[which] = arena_carve(size, LINE);
}
