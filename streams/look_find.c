/* SPDX-License-Identifier: BSD-2-Clause */
/* look_find.c: which arenas there are: named instances, and those of programs; see look.h. */
#include "look.h"
#include "plat_inst.h"
#include "plat_look.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct finding {
	struct vec list;	/* struct ustr_source */
	struct vec ids;		/* struct plat_file, of the same */
	bool nomem;
};

static struct ustr_source *
add(struct finding *fi, const struct plat_file *id)
{
	struct ustr_source *us;
	struct plat_file *p;

	for (size_t i = 0; i < fi->ids.v_n; i++) {
		p = vec_at(&fi->ids, i);
		if (p->pf_ino != 0 && p->pf_dev == id->pf_dev && p->pf_ino == id->pf_ino)
			return NULL;
	}
	us = vec_add(&fi->list);
	p = us != NULL ? vec_add(&fi->ids) : NULL;
	if (p == NULL) {
		fi->nomem = true;
		return NULL;
	}
	*p = *id;
	return us;
}

/* Who has it: the processes that hold their record locks. */
static void
members(struct ustr_look *lk, struct ustr_source *us)
{
	struct slot_root *root = malloc(sizeof(*root));
	struct proc p;

	if (root != NULL && look_refresh(lk) == 0 &&
	    look_copy(lk, look_root(lk, ROOT_SLOT), LINE, root, sizeof(*root)))
		for (int i = 1; i < NPROC; i++) {
			if (root->sr_proc[i] == NULL ||
			    !look_copy(lk, root->sr_proc[i], LINE, &p, sizeof(p)) ||
			    p.pr_state != PROC_LIVE || p.pr_pid <= 0 || !look_locked(lk, &p))
				continue;
			us->us_processes++;
			if (us->us_pid == 0 || p.pr_pid < us->us_pid)
				us->us_pid = p.pr_pid;
		}
	free(root);
}

static void
judge(struct ustr_look *lk, struct ustr_source *us)
{
	if (lk == NULL) {
		us->us_error = errno;
		return;
	}
	us->us_size = lk->lk_arena.ar_committed;
	members(lk, us);
	ustr_look_close(lk);
	if (us->us_pid != 0)
		plat_procname(us->us_pid, us->us_program);
}

static int
each_process(const char *name, void *arg)
{
	struct finding *fi = arg;
	pid_t pid = (pid_t)strtol(name, NULL, 10);
	struct ustr_source *us;
	struct plat_file id;
	char path[64], was[sizeof(us->us_path)] = "";
	int error;

	if (pid <= 0)
		return 0;
	error = plat_procfile(pid, ARENA_MEMFILE, NULL, arena_identity(), path, sizeof(path), &id);
	if (error == ENXIO)
		error = plat_procremoved(pid, INST_MAGIC, arena_identity(), path, sizeof(path), was,
			sizeof(was), &id);
	if (error != 0)
		return 0;
	us = add(fi, &id);
	if (us == NULL)
		return fi->nomem;
	look_name(us->us_path, sizeof(us->us_path), was, sizeof(was));
	judge(ustr_look_process(pid, NULL, 0), us);
	if (us->us_pid == 0) {
		us->us_pid = pid;
		plat_procname(pid, us->us_program);
	}
	return 0;
}

static int
each_instance(const struct insted *ie, void *arg)
{
	static const struct plat_file none;
	struct finding *fi = arg;
	struct ustr_source *us = add(fi, ie->ie_error == 0 ? &ie->ie_file->if_id : &none);

	if (us == NULL)
		return fi->nomem;
	look_name(us->us_name, sizeof(us->us_name), ie->ie_name, INST_NAME);
	look_name(us->us_path, sizeof(us->us_path), ie->ie_path, sizeof(us->us_path));
	us->us_error = ie->ie_error == ELIBBAD ? 0 : ie->ie_error;
	us->us_processes = us->us_error != 0 ? ie->ie_members : 0;
	if (us->us_error == 0)
		judge(ustr_look_instance(ie->ie_name, NULL, 0), us);
	return 0;
}

static int
by_name(const void *a, const void *b)
{
	const struct ustr_source *x = a, *y = b;

	if ((x->us_name[0] == '\0') != (y->us_name[0] == '\0'))
		return x->us_name[0] == '\0' ? 1 : -1;
	if (x->us_name[0] != '\0')
		return strcmp(x->us_name, y->us_name);
	return (x->us_pid > y->us_pid) - (x->us_pid < y->us_pid);
}

ssize_t
ustr_look_sources(struct ustr_source **list)
{
	struct finding fi = { .list.v_size = sizeof(struct ustr_source),
		.ids.v_size = sizeof(struct plat_file) };

	int proc = plat_dir("/proc", true);

	*list = NULL;
	if (inst_each(each_instance, &fi) == 0 && proc >= 0)
		(void)plat_eachname(proc, each_process, &fi);
	plat_close(proc);
	free(fi.ids.v_mem);
	if (fi.nomem) {
		free(fi.list.v_mem);
		errno = ENOMEM;
		return -1;
	}
	if (fi.list.v_n > 1)
		qsort(fi.list.v_mem, fi.list.v_n, fi.list.v_size, by_name);
	*list = fi.list.v_mem;
	return (ssize_t)fi.list.v_n;
}
