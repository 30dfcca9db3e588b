/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plumb.pml: plumbing groups and descriptors (streams/plumb.h P1..P6,
 * streams/fd.h E1..E4).
 *
 * Properties, as assertions: while a writer relinks a group nobody else is in
 * it; a file and its stream are not freed while a call that passed E3 is inside,
 * and that call is in its stream's group; a call that comes back after a sleep
 * comes back to the same stream, or not at all; counts of references are true.
 * A deadlock (two writers that wait for each other) is an invalid end state.
 *
 *   E1 file, group := entry             call_enter, fd.h; call_enter_slow, fd.c
 *   P1 sl_home := group                 plumb_enter, plumb.h   (E2 is P1, P2)
 *   P2 g_plumber set? leave, wait       plumb_enter; plumb_wait, plumb.c
 *   E3 the entry still the same?        call_enter
 *   P3 sl_home := NULL                  plumb_leave
 *   E4 entry.file := NULL               entry_clear, fd.c; then file_rele
 *   E5 one reference more, unless there is none left      hold, fd.c
 *   E6 group, then file of the entry, under the table's lock     point, fd.c
 *   E7 the same file as before, by f_gen?   call_reenter, fd.c
 *   P4 g_plumber := me                  plumb_try, plumb.c
 *   P5 no slot names the group          await, plumb.c
 *   P6 relink, g_plumber := 0           plumb_unlock
 *   V1 sl_visiting := group, V2 g_plumber set? refused    plumb_visit
 *   V3 sl_visiting := NULL              plumb_unvisit
 *
 * CLOSE (default): READERS calls on descriptor 0, each with a sleep in the
 *   middle; a push (writer 1); a close of the descriptor and an open that gets
 *   the same number, the same address of struct file and the same or another
 *   group cell (writer 2).
 * DUP: instead of the push and of one reader, a dup of descriptor 0 to 1, a call
 *   on 1, and its close: whoever drops the last reference takes the stream apart.
 * VISIT: instead of one reader, a perimeter's holder of another group.
 * DUP2: two threads dup2 different streams to descriptor 0, a reader uses it.
 *
 * Abstracted: what is done inside (perim.pml), run lists (flow.pml), who wakes
 * the sleepers (wait.pml).  A wait that spins and yields in C is a blocking
 * guard.  P5's loop reads both words until neither names the group; here each is
 * waited for once, which lets more through.  A writer that meets a stopped
 * thread gives up (plumb_try, false): that may happen at any P5, GIVEUPS times.
 * Dead threads, and the lock of the registry, are not modelled.
 *
 * Why interleaving (sequential consistency) is enough: P1, P4, V1, E4, E6's file
 * are exchanges or compare-and-swaps, P2, V2, P5 and E3 sequentially consistent
 * loads: each of the pairs P1-P2 / P4-P5 and P1-E3 / E4-P5 is such an
 * exchange-then-load on both sides.  P3 and V3 are release stores that P5
 * acquires: a late one makes the writer wait longer, an early one cannot be.
 * E1 may read old values, which E3 finds out: E3's load of the file acquires what
 * E6 stored before it, so a new file never goes with an old group.  P5's bound,
 * the highest slot used, must be read after P4 like the slots themselves.
 *
 * Mutants: CLOSE   SWAP_P1_P2, NO_E3, E3_FILE_ONLY, NO_QUIESCE, NO_E7
 *          DUP     NO_E5
 *          VISIT   P5_HOME_ONLY
 *          DUP2    NO_TABLE_LOCK
 */
#ifndef READERS
#if defined(DUP) || defined(VISIT) || defined(DUP2)
#define READERS 1
#else
#define READERS 2
#endif
#endif
#ifndef GIVEUPS
#define GIVEUPS 1
#endif
#ifndef CALLS
#define CALLS 2
#endif

#ifdef VISIT
#define PROCESSES (READERS + 3)
#else
#define PROCESSES (READERS + 2)
#endif
#define SLOTS PROCESSES
#define GROUPS 3	/* cells 1, 2; 0 is NULL */
#define FILES 3		/* struct file at addresses 1, 2 */
#define STREAMS 4	/* every stream has a number of its own: sd_id */

byte plumber[GROUPS];	/* g_plumber */
byte home[SLOTS], visiting[SLOTS];
byte entry_file[2], entry_group[2];
byte f_ref[FILES], f_head[FILES];	/* f_head stands for f_gen, too */
bit f_live[FILES];
byte s_group[STREAMS];
bit s_live[STREAMS];
byte s_plumber[STREAMS];	/* sd_plumber */
byte giveups = GIVEUPS;
bit table_lock;

/* Ghosts. */
byte inside[GROUPS];	/* threads past E3, P2 or V2 */
bit relinking[GROUPS];
bit ready;
byte done;

#define ME _pid

/* P1, P2, waiting for writers to go. */
inline plumb_enter(g)
{
	skip;
P1:	home[ME] = g;
P2:	if
	:: plumber[g] == 0 -> inside[g]++
	:: else ->
		home[ME] = 0;
		plumber[g] == 0; /* plumb_wait */
		goto P1
	fi
}

/* ok: inside group, file and the stream may be used. */
inline call_enter(e)
{
	ok = 0;
E1:	file = entry_file[e];
	if
	:: file == 0 -> goto entered /* EBADF */
	:: else
	fi;
	group = entry_group[e];
#ifdef SWAP_P1_P2
	plumber[group] == 0;
	home[ME] = group;
#else
E2:	home[ME] = group;
	if
	:: plumber[group] == 0
	:: else ->
		home[ME] = 0;
		plumber[group] == 0;
		goto E1
	fi;
#endif
#ifndef NO_E3
E3:	if
	:: entry_file[e] != file -> home[ME] = 0; goto E1
	:: else
	fi;
#ifndef E3_FILE_ONLY
	if
	:: entry_group[e] != group -> home[ME] = 0; goto E1
	:: else
	fi;
#endif
#endif
	atomic { ok = 1; inside[group]++ };
entered:
	skip
}

/* Between E3 and P3; a file's stream never changes. */
inline use()
{
	d_step {
		assert(f_live[file]);
		assert(s_live[f_head[file]]);
		assert(s_group[f_head[file]] == group);
		assert(!relinking[group])
	}
}

inline plumb_leave(g)
{
	d_step { inside[g]--; home[ME] = 0 }
}

/* P4..P6; the caller is inside, and alone if he was not refused. */
inline plumb_lock(g)
{
	atomic { inside[g]--; alone = 1 };
	home[ME] = 0;
P4:	atomic { plumber[g] == 0 -> plumber[g] = ME + 1 };
	i = 0;
	do
	:: i < SLOTS && i != ME && alone ->
P5:		if
		:: home[i] != g
		:: atomic { home[i] == g && giveups > 0 -> giveups--; alone = 0 }
		fi;
#if defined(VISIT) && !defined(P5_HOME_ONLY)
		visiting[i] != g;
#endif
		i++
	:: i == ME -> i++
	:: i == SLOTS || !alone -> break
	od;
	i = 0;
	home[ME] = g;
	if
	:: alone ->
		relinking[g] = 1;
		assert(inside[g] == 0);
P6:		relinking[g] = 0
	:: else
	fi;
	atomic { inside[g]++; plumber[g] = 0 }
}

/* fd_close: file_rele, and what file_finish does when it was the last. */
inline fd_close(e)
{
	last = 0;
E4:	atomic { file = entry_file[e]; entry_file[e] = 0 };
	if
	:: file != 0 ->
		assert(f_live[file]);
		atomic { f_ref[file]--; last = f_ref[file] == 0 };
		if
		:: last ->
			group = s_group[f_head[file]];
#ifdef NO_QUIESCE
			f_live[file] = 0;
			step = 1;
#else
			step = 0;
#endif
			do
			:: step < 2 -> /* plumb_quiesce; head_dismantle */
				plumb_enter(group);
				assert(s_live[f_head[file]]);
				alone = 0;
				if
				:: atomic { step == 1 && s_plumber[f_head[file]] == 0 ->
					s_plumber[f_head[file]] = ME + 1 }; /* head_enter */
					alone = 1
				:: step == 1 && s_plumber[f_head[file]] == ME + 1 -> alone = 1
				:: step == 0 -> alone = 1
				:: else
				fi;
				if
				:: alone -> plumb_lock(group)
				:: else
				fi;
				plumb_leave(group);
				if
				:: alone -> step++
				:: else -> /* again: file_unclosed, plumb_lock, head_enter */
					(s_plumber[f_head[file]] == 0 ||
					    s_plumber[f_head[file]] == ME + 1)
				fi
			:: else -> break
			od;
			s_plumber[f_head[file]] = 0;
			s_live[f_head[file]] = 0;
			assert(plumber[group] == 0); /* group_rele */
			assert(f_ref[file] == 0);
			f_live[file] = 0
		:: else
		fi
	:: else
	fi
}

active [READERS] proctype Reader()
{
	byte file, group, stream, calls;
	bit ok;

	ready;
	do
	:: calls < CALLS ->
		call_enter(0);
		if
		:: !ok -> break
		:: else
		fi;
		if
		:: calls == 0 -> stream = f_head[file]
		:: else ->
#ifndef NO_E7
E7:			if
			:: f_head[file] != stream -> ok = 0
			:: else
			fi
#else
			skip
#endif
		fi;
		if
		:: ok ->
			use();
			assert(f_head[file] == stream)
		:: else
		fi;
P3:		plumb_leave(group);
		if
		:: !ok -> break
		:: else -> calls++ /* asleep, or a yield */
		fi
	:: else -> break
	od;
	done++
}

#ifndef DUP2
/* A close of descriptor 0, and an open that gets the number again. */
active proctype Closer()
{
	byte file, group, i, step;
	bit last, alone;

	ready;
	fd_close(0);
	if
	:: last ->
		/* struct file at the same address; either cell for the group */
		if
		:: group = 1
		:: plumber[2] == 0 -> group = 2
		fi;
		atomic { s_live[2] = 1; s_group[2] = group };
		atomic { f_live[1] = 1; f_head[1] = 2; f_ref[1] = 1 };
		entry_group[0] = group;
E6:		entry_file[0] = 1
	:: else
	fi;
	done++
}
#endif

#if !defined(DUP) && !defined(DUP2)
active proctype Pusher()
{
	byte file, group, stream, i;
	bit ok, alone;

	ready;
	call_enter(0);
	if
	:: ok ->
		use();
		stream = f_head[file];
		/* head_plumb_enter; somebody else's: as if it came later */
		atomic {
			if
			:: s_plumber[stream] == 0 -> s_plumber[stream] = ME + 1
			:: else -> ok = 0
			fi
		};
		if
		:: ok ->
			plumb_lock(group);
			/* the file may be gone; sd_plumber keeps the stream */
			assert(s_live[stream] && s_group[stream] == group);
			s_plumber[stream] = 0
		:: else
		fi;
		plumb_leave(group)
	:: else
	fi;
	done++
}
#endif

#ifdef DUP
active proctype Dupper()
{
	byte file, group, i, step, e;
	bit ok, last, alone, held;

	ready;
	do
	:: e < 2 ->
		call_enter(e);
		if
		:: !ok -> break
		:: else
		fi;
		use();
		if
		:: e == 0 -> /* hold */
#ifdef NO_E5
			atomic { f_ref[file]++; held = 1 }
#else
E5:			atomic {
				if
				:: f_ref[file] > 0 -> f_ref[file]++; held = 1
				:: else
				fi
			}
#endif
		:: else
		fi;
		use();
		plumb_leave(group);
		if
		:: held && e == 0 ->
			assert(f_live[file]);
			entry_group[1] = s_group[f_head[file]];
E6:			entry_file[1] = file
		:: else
		fi;
		e++
	:: else -> break
	od;
	fd_close(1);
	done++
}
#endif

#ifdef VISIT
/* Inside group 2, draining a perimeter for a queue of group 1. */
active proctype Visitor()
{
	ready;
	plumb_enter(2);
V1:	visiting[ME] = 1;
V2:	if
	:: plumber[1] == 0 ->
		inside[1]++;
		assert(!relinking[1]);
		assert(!relinking[1]);
		inside[1]--
	:: else /* VISIT_REFUSED */
	fi;
V3:	visiting[ME] = 0;
	plumb_leave(2);
	done++
}
#endif

#ifdef DUP2
/* dup2 of descriptor _pid + 1, not shown, to 0. */
active [2] proctype Dupper()
{
	byte mine = _pid, old;

	ready;
	atomic { f_ref[mine]++ }; /* hold: E5 */
#ifndef NO_TABLE_LOCK
	atomic { table_lock == 0 -> table_lock = 1 };
#endif
E4:	atomic { old = entry_file[0]; entry_file[0] = 0 };
	entry_group[0] = s_group[f_head[mine]];
E6:	entry_file[0] = mine;
#ifndef NO_TABLE_LOCK
	table_lock = 0;
#endif
	if
	:: old != 0 -> atomic { f_ref[old]-- }
	:: else
	fi;
	done++
}
#endif

init {
	atomic {
#ifdef DUP2
		/* the descriptors of files 1 and 2 are not shown */
		s_live[1] = 1; s_group[1] = 1; f_live[1] = 1; f_head[1] = 1; f_ref[1] = 1;
		s_live[2] = 1; s_group[2] = 2; f_live[2] = 1; f_head[2] = 2; f_ref[2] = 1;
#else
		s_live[1] = 1; s_group[1] = 1;
		f_live[1] = 1; f_head[1] = 1; f_ref[1] = 1;
		entry_group[0] = 1; entry_file[0] = 1;
#endif
		ready = 1
	};
	done == PROCESSES;
	assert(inside[1] == 0 && inside[2] == 0);
#ifdef DUP2
	assert(f_ref[1] == 1 + (entry_file[0] == 1));
	assert(f_ref[2] == 1 + (entry_file[0] == 2))
#elif defined(DUP)
	assert(entry_file[1] == 0);
	assert(!s_live[1] && f_ref[1] == s_live[2])
#else
	assert(!s_live[1] && s_live[2] && f_ref[1] == 1)
#endif
}
