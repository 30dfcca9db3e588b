/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * merge.pml: two groups become one, and whoever does it may be killed
 * (streams/group.h M1..M4, R1..R5).
 *
 * Properties, as assertions: at the end, and whenever somebody has pl_lock, each
 * stream is on the list of the one group that its queues name, once; that is the
 * root of the cell it was born in; nobody is inside a group while its queues are
 * relabelled; the references that keep a cell are counted true.  Who waits for a
 * group for ever is an invalid end state.
 *
 *   M1 both held                         plumb_try, plumb_also   plumb.c
 *   M2 g_parent, then g_absorbs          group_merge             group.c
 *   R1..R5                               move_streams, move_noted
 *   M4 g_absorbs := NULL                 group_finish
 *   taking over from the dead            succeed                 plumb.c
 *   pl_lock broken: R2..R5 again         group_salvage, by lock_broken_hook
 *
 * Merger: merges cell A into B.  Waiter: one for each group; takes over from the
 * dead, enters, looks, leaves.  Opener: a stream is born in A.  Closer: a stream
 * of A is taken off.  DEATHS of them are killed, at any of their steps; whoever
 * still lives must find all in order, and at the end somebody who waits for both.
 * Without CLOSER stream 2 stays, without OPENER there is no stream 4.
 *
 * Abstracted: how a writer gets a group for himself (plumb.pml): it takes it when
 * nobody is inside; run lists, which the sweep of a suspect group makes good; what
 * the opener and the closer leave half done themselves (a cell is kept for ever).
 *
 * Why interleaving is enough: all of R1..R5 is done under pl_lock, by release
 * stores; who breaks the lock acquires what its dead owner had stored.  g_plumber
 * is changed by exchanges and compare-and-swaps only; g_parent and g_absorbs are
 * stored under it, by who has it.
 *
 * Mutants: NO_NOTE     M3 is begun anew from the lists as they are found
 *          NOTE_EARLY  the note names the cell before the rest of it is written
 *          STRIKE_EARLY the note is struck out before A is MERGED
 *          NO_SALVAGE  who breaks pl_lock goes on without doing R2..R5
 *          COUNT_AGAIN R4 counts, instead of storing the count that was noted
 *          TAKE_A      who waits for A takes it over even after M2
 *          ONCE_DEAD   who waits for A takes B over from A's dead writer only
 */
#ifndef DEATHS
#define DEATHS 2
#endif

#define A 1
#define B 2
#define CELLS 3		/* 0 is NULL */
#define STREAMS 5	/* 1 and 2 are born in A, 3 in B, 4 is opened in A */
#define MERGED 7
#define CHECKER 6

/* Slots: 1 merger, 2 and 3 waiters, 4 opener, 5 closer, 6 who looks at the end. */
bit dead[MERGED + 1], over[MERGED + 1];
byte deaths = DEATHS;

byte plumber[CELLS], parent[CELLS], absorbs[CELLS], heads[CELLS], refs[CELLS];
byte nxt[STREAMS], label[STREAMS];
byte lock;			/* pl_lock */
byte n_from, n_into, n_first, n_last, n_rest, n_refs; /* pl_merge */

/* Ghosts. */
byte inside[CELLS];
bit changing;
bit opened, closed;

#define GONE(k) ((k) != 0 && (k) != MERGED && dead[k])
#ifdef TAKE_A
#define AT(g) (g)
#else
#define AT(g) (parent[g] != 0 && absorbs[parent[g]] == g -> parent[g] : g)
#endif
#ifdef ONCE_DEAD
#define TAKABLE(g) (plumber[AT(g)] == plumber[g])
#else
#define TAKABLE(g) GONE(plumber[AT(g)])
#endif
#define ROOT(g) (plumber[g] == MERGED -> parent[g] : g)

/* A place to be killed at. */
inline point()
{
	if
	:: atomic { me != CHECKER && deaths > 0 -> deaths--; dead[me] = 1; goto gone }
	:: skip
	fi
}

/* Under pl_lock. */
hidden byte l_at, l_cell, l_seen;

inline all_in_order()
{
	d_step {
		l_seen = 0;
		l_cell = A;
		do
		:: l_cell <= B ->
			l_at = heads[l_cell];
			do
			:: l_at != 0 ->
				assert(label[l_at] == l_cell);
				assert((l_seen & (1 << l_at)) == 0);
				l_seen = l_seen | (1 << l_at);
				l_at = nxt[l_at]
			:: else -> break
			od;
			l_cell++
		:: else -> break
		od;
		assert((l_seen & (1 << 1)) && (l_seen & (1 << 3)));
		assert(((l_seen >> 2) & 1) != closed);
		assert(((l_seen >> 4) & 1) == opened);
		assert(label[1] == ROOT(A))
	}
}

inline move_noted()
{
	changing = 1;
	hrq = (n_last != 0 -> n_first : 0);
	do
	:: hrq != 0 ->
		assert(inside[A] == 0 && inside[B] == 0);
		label[hrq] = n_into; /* R2 */
		point();
		hrq = (hrq != n_last -> nxt[hrq] : 0)
	:: else -> break
	od;
	if
	:: n_last != 0 -> /* R3 */
		nxt[n_last] = n_rest;
		point();
		heads[n_into] = n_first;
		point()
	:: else
	fi;
	heads[n_from] = 0;
	point();
#ifdef COUNT_AGAIN
	refs[n_into]++;
#else
	refs[n_into] = n_refs; /* R4 */
#endif
	point();
#ifdef STRIKE_EARLY
	hrq = n_from;
	n_from = 0;
	point();
	plumber[hrq] = MERGED;
	hrq = 0;
#else
	plumber[n_from] = MERGED;
	point();
	n_from = 0; /* R5 */
#endif
	changing = 0
}

inline lock_enter()
{
	if
	:: atomic { lock == 0 -> lock = me }
	:: atomic { GONE(lock) -> lock = me };
		point();
#if !defined(NO_SALVAGE) && !defined(NO_NOTE)
		if
		:: n_from != 0 -> move_noted()
		:: else
		fi
#endif
	fi
}

inline note(f, t)
{
#ifdef NOTE_EARLY
	n_from = f;
	point();
#endif
	n_into = t;
	d_step {
		n_first = heads[f];
		n_last = 0;
		hrq = n_first;
		do
		:: hrq != 0 -> n_last = hrq; hrq = nxt[hrq]
		:: else -> break
		od
	};
	point();
	n_rest = heads[t];
	n_refs = refs[t] + 1;
	point();
	n_from = f; /* R1 */
	point()
}

/* group_finish, of the group at; from: what it absorbs. */
inline finish()
{
	from = absorbs[at];
	if
	:: from != 0 ->
		lock_enter();
		point();
		if
		:: plumber[from] != MERGED ->
			note(from, at);
			move_noted()
		:: else
		fi;
		all_in_order();
		lock = 0;
		point();
		absorbs[at] = 0 /* M4 */
	:: else
	fi
}

/* plumb_wait. */
inline wait_for(g)
{
	do
	:: plumber[g] == 0 || plumber[g] == MERGED -> break
	:: GONE(plumber[g]) && TAKABLE(g) ->
		at = AT(g);
		took = 0;
		point();
		atomic {
			if
			:: GONE(plumber[at]) -> plumber[at] = me; took = 1
			:: else
			fi
		};
		if
		:: took ->
			point();
			parent[at] = 0;
			finish();
			point();
			plumber[at] = 0
		:: else
		fi
	od
}

proctype Merger(byte me)
{
	byte at, from, hrq;

	atomic { plumber[B] == 0 && inside[B] == 0 -> plumber[B] = me }; /* M1 */
	point();
	atomic { plumber[A] == 0 && inside[A] == 0 -> plumber[A] = me };
	point();
	parent[A] = B; /* M2 */
	point();
	absorbs[B] = A;
	point();
	at = B;
	finish();
	point();
	plumber[B] = 0;
gone:	over[me] = 1
}

proctype Waiter(byte me; byte cell)
{
	byte at, from, hrq, g;
	bit took;

	do
	:: g = ROOT(cell);
		wait_for(g);
		atomic {
			if
			:: plumber[g] == 0 -> inside[g]++; break
			:: else
			fi
		}
	od;
	assert(!changing);
	inside[g]--;
gone:	over[me] = 1
}

proctype Opener(byte me)
{
	byte hrq, g;

	lock_enter();
	all_in_order();
	atomic {
		g = ROOT(A);
		refs[g]++;
		nxt[4] = heads[g];
		label[4] = g;
		heads[g] = 4;
		opened = 1
	};
	lock = 0;
gone:	over[me] = 1
}

proctype Closer(byte me)
{
	byte hrq, g;

	lock_enter();
	all_in_order();
	atomic {
		g = label[2];
		assert(g == ROOT(A));
		if
		:: heads[g] == 2 -> heads[g] = nxt[2]
		:: else ->
			hrq = heads[g];
			do
			:: hrq != 0 && nxt[hrq] != 2 -> hrq = nxt[hrq]
			:: else -> break
			od;
			assert(hrq != 0);
			nxt[hrq] = nxt[2]
		fi;
		closed = 1
	};
	lock = 0;
gone:	over[me] = 1
}

init {
	byte me = CHECKER, at, from, hrq;
	bit took;

	atomic {
		heads[A] = 1; nxt[1] = 2; label[1] = A; label[2] = A;
		heads[B] = 3; label[3] = B;
		refs[A] = 2; refs[B] = 1;
		run Merger(1);
		run Waiter(2, A);
		run Waiter(3, B);
#ifdef OPENER
		run Opener(4);
#else
		over[4] = 1;
#endif
#ifdef CLOSER
		run Closer(5)
#else
		over[5] = 1
#endif
	};
	over[1] && over[2] && over[3] && over[4] && over[5];
	wait_for(A);
	wait_for(B);
	lock_enter();
	all_in_order();
	assert(plumber[B] == 0 && absorbs[B] == 0 && n_from == 0);
	assert((plumber[A] == MERGED) == (parent[A] == B));
	assert(refs[B] == 1 + (plumber[A] == MERGED) + (opened && label[4] == B && refs[A] == 2));
	goto end; /* not killed */
gone:	assert(false);
end:	skip
}
