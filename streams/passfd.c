/* SPDX-License-Identifier: BSD-2-Clause */
/* passfd.c: keeping, asking for and handing over; labels as in passfd.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "passfd.h"
#include "arena.h"
#include "helper.h"
#include "lock.h"
#include "plat_mail.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FETCH_NS 15000000000 /* how long a living sender may take */
#define FETCH_LOOK 20	     /* ms between rings */

struct kept {
	frtn_t k_frtn;		/* first: what the message's free routine is */
	struct kept *k_next;
	uint64_t k_key;
	int k_fd;
	struct plat_file k_id;	/* what k_fd was: the program may close it */
};

/* Private to the process; the lock guards all of it. */
static struct {
	pthread_mutex_t lock;
	struct kept *kept;
	int box;		/* -1 none */
	struct plat_file boxid;
	char name[BOX_NAME];
} pd = { .lock = PTHREAD_MUTEX_INITIALIZER, .box = -1 };

/* ---- keeping ------------------------------------------------------------------- */

/* K7. */
static void
drop(char *arg)
{
	struct kept *k = (struct kept *)(void *)arg;

	pthread_mutex_lock(&pd.lock);
	for (struct kept **link = &pd.kept; *link != NULL; link = &(*link)->k_next) {
		if (*link != k)
			continue;
		*link = k->k_next;
		break;
	}
	pthread_mutex_unlock(&pd.lock);
	if (plat_same(k->k_fd, &k->k_id))
		plat_close(k->k_fd);
	free(k);
}

/* The box, made on first use.  Without one only this process can fetch. */
static void
have_box(const struct proc *p)
{
	struct plat_file arena_file = { 0, 0 };

	ASSERT(p == slot_proc());
	if (pd.box >= 0 && plat_same(pd.box, &pd.boxid))
		return;
	(void)plat_identify(arena_fd(), &arena_file);
	snprintf(pd.name, sizeof(pd.name), "ustreams/%lx.%lx/%u.%u",
		(unsigned long)arena_file.pf_dev, (unsigned long)arena_file.pf_ino, p->pr_id, ld_rlx(&p->pr_life));
	pd.box = plat_raise(plat_box(pd.name));
	if (pd.box < 0 || plat_identify(pd.box, &pd.boxid) != 0)
		pd.name[0] = '\0';
}

int
passfd_keep(int fd, struct ticket *tk, frtn_t **frtn)
{
	struct proc *p = slot_proc();
	struct kept *k = malloc(sizeof(*k));
	int error = k == NULL ? ENOMEM : plat_random(&tk->tk_key, sizeof(tk->tk_key));

	if (error == 0) {
		k->k_fd = plat_raise(plat_dupfd(fd, 0));
		error = k->k_fd < 0 ? errno : plat_identify(k->k_fd, &k->k_id);
	}
	if (error != 0) {
		free(k);
		return error;
	}
	k->k_key = tk->tk_key;
	k->k_frtn = (frtn_t){ drop, (char *)k };
	tk->tk_proc = p->pr_id;
	tk->tk_life = ld_rlx(&p->pr_life);
	pthread_mutex_lock(&pd.lock);
	have_box(p);
	memcpy(tk->tk_box, pd.name, sizeof(tk->tk_box));
	ASSERT(k->k_fd >= 0 && k->k_frtn.free_func == drop);
	k->k_next = pd.kept;
	pd.kept = k;
	pthread_mutex_unlock(&pd.lock);
	*frtn = &k->k_frtn;
	helper_needed(); /* K4 is its work, and this process may never sleep in here */
	return 0;
}

/* Under the lock: the duplicate, or -1. */
static int
find(uint64_t key)
{
	for (const struct kept *k = pd.kept; k != NULL; k = k->k_next)
		if (k->k_key == key)
			return plat_same(k->k_fd, &k->k_id) ? k->k_fd : -1;
	return -1;
}

void
passfd_serve(void)
{
	struct plat_address from;
	uint64_t key;
	int enclosed;

	pthread_mutex_lock(&pd.lock);
	while (pd.box >= 0 && plat_same(pd.box, &pd.boxid) &&
	       plat_letter(pd.box, &key, sizeof(key), &from, &enclosed) == 0) {
		plat_close(enclosed);
		(void)plat_post(pd.box, &from, &key, sizeof(key), find(key)); /* K4 */
	}
	pthread_mutex_unlock(&pd.lock);
}

/* ---- fetching -------------------------------------------------------------------- */

static int
fetch_own(const struct ticket *tk, int *fdp)
{
	int error = 0, fd;

	pthread_mutex_lock(&pd.lock);
	fd = find(tk->tk_key);
	*fdp = fd < 0 ? -1 : plat_dup(fd);
	if (*fdp < 0)
		error = fd < 0 ? ESRCH : errno;
	pthread_mutex_unlock(&pd.lock);
	return error;
}

static bool
alive(const struct ticket *tk)
{
	const struct proc *p = slot_procat(tk->tk_proc);

	return p != NULL && ld_acq(&p->pr_state) == PROC_LIVE && ld_acq(&p->pr_life) == tk->tk_life;
}

/* Ask and wait, K3 and K5, through a box of our own. */
static int
correspond(const struct ticket *tk, int box, int *fdp)
{
	int64_t until = plat_now() + FETCH_NS;
	struct plat_address to, from;
	bool asked = false;
	uint64_t key;

	NO_LOCK_HELD();
	plat_boxname(&to, tk->tk_box);
	while (alive(tk) && plat_now() < until) {
		int error = asked ? 0 : plat_post(box, &to, &tk->tk_key, sizeof(tk->tk_key), -1);

		if (error == ECONNREFUSED)
			return ESRCH;
		asked |= error == 0;
		proc_ring(slot_procat(tk->tk_proc));
		plat_await(box, FETCH_LOOK);
		while (plat_letter(box, &key, sizeof(key), &from, fdp) == 0) {
			if (key == tk->tk_key)
				return *fdp >= 0 ? 0 : *fdp == -1 ? ESRCH : EMFILE;
			plat_close(*fdp); /* a stranger's */
		}
	}
	return alive(tk) ? ETIME : ESRCH;
}

int
passfd_fetch(const struct ticket *tk, int *fdp)
{
	int box, error;

	ASSERT(tk->tk_proc > 0 && tk->tk_proc < NPROC);
	if (slot_procat(tk->tk_proc) == slot_proc() && alive(tk))
		return fetch_own(tk, fdp);
	if (tk->tk_box[0] == '\0')
		return ESRCH;
	box = plat_box(NULL);
	if (box < 0)
		return errno;
	error = correspond(tk, box, fdp);
	plat_close(box);
	return error;
}

/* ---- fork ---------------------------------------------------------------------------- */

void
passfd_lock(void)
{
	pthread_mutex_lock(&pd.lock);
}

void
passfd_unlock(void)
{
	pthread_mutex_unlock(&pd.lock);
}

void
passfd_forget(void)
{
	for (struct kept *k = pd.kept; k != NULL; k = k->k_next)
		if (plat_same(k->k_fd, &k->k_id))
			plat_close(k->k_fd);
	if (pd.box >= 0 && plat_same(pd.box, &pd.boxid))
		plat_close(pd.box);
	pd.kept = NULL;
	pd.box = -1;
	pd.name[0] = '\0';
	pthread_mutex_unlock(&pd.lock);
}
