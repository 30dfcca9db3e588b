/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perim.pml: perimeters: parking and draining (streams/perim.h D1..D9).
 *
 * Properties: never two threads inside the perimeter; what one thread puts to a
 * queue arrives in order and once; in the end nothing is parked, listed or asked
 * for, and the perimeter is free; nobody runs a queue of a group that a writer
 * relinks; nobody who is in a group, or visits one, waits for a writer.  A
 * deadlock is an invalid end state.
 *
 *   D1 message on the queue, queue on the list      park, list, perim.c
 *   D2 PENDING set                                  announce (and perim_put)
 *   D3 word was free? -> take it                    announce, take
 *   D4 word: me -> 0, or -> who wants it; done      perim_leave, give
 *   D5 PENDING cleared, the list run, D4 again      perim_leave, drain
 *   D6 the list has only queues of groups that a writer holds, and the thread
 *      names a group: word := PENDING, come back from outside   perim_leave,
 *      postpone, plumb_later, perim_kick
 *   D7 a queue taken out: what is parked on it goes on to the next one before
 *      anybody else is let in                       qprocsoff, perim_forget
 *   D8 an open or close routine found the perimeter taken: its thread is named as
 *      who wants it, and waits outside all groups until it is the owner, or
 *      withdraws                                    perim_enter
 *   D9 a thread that has run its share stops draining as in D6   drain, run_queue
 *   P1..P6, V1..V3 as in plumb.pml; unlist names the group of a queue (V1) under
 *      pe_lock, before the queue is off the list
 *
 * One perimeter (D_MTPERMOD) spans queue 1 of group 1 and queue 2 of group 2.
 *   PUT (default): three threads put, two of them in group 1.
 *   SERVICE: one of them has queue 1's service procedure run (perim_service).
 *   LOOP: the put procedure of queue 1 puts to its own queue, once.
 *   PUSH: a writer relinks group 2, which this perimeter has nothing to do with.
 *   POP: a writer closes the module on queue 2: inside the perimeter (perim_enter)
 *        the queue is taken out (qprocsoff).
 *   OPEN: two writers enter the perimeter (perim_enter) or give up, and leave it.
 *   SHARE: a thread that drains may stop after any message.
 *   OUTSIDE: a thread that names no group but visits group 1 while it holds
 *        another perimeter (plumb_later) puts to queue 1; a writer relinks group 2.
 *
 * Abstracted: priorities, counts of what is parked (flow.pml), dead owners, a
 * run list.  Parking and unparking are one step each (q_plock).  The list is a
 * set; unlist looks at its queues in their order.  Waits that spin are blocking
 * guards.
 *
 * Why interleaving (sequential consistency) is enough: pe_word, q_pflag, pe_later
 * and the plumbing words are changed by sequentially consistent operations only;
 * the lists lie under locks.  The relaxed load of q_pfirst in perim_put is made by
 * the perimeter's holder: a message that this thread parked, or that arrived
 * before the perimeter was last given up, is ordered before it by coherence or by
 * the word; one it misses belongs to a thread that has not come to D2.
 *
 * Mutants: PUT      NO_D3, SWAP_D5, LOSE_PENDING, OVERTAKE
 *          PUSH     NO_D6
 *          POP      HAND_ON_LATE
 *          OPEN     WITHDRAW_LATE, LOSE_AT_HANDOVER
 *          SHARE    FORGET_REST
 *          OUTSIDE  WAIT_VISITING
 */
#ifndef N0
#define N0 2	/* messages of thread 0 (group 1) */
#endif
#ifndef N1
#define N1 1	/* of thread 1 (group 1) */
#endif
#ifndef N2
#define N2 2	/* of thread 2 (group 2) */
#endif

#define KINDS 5			/* threads, and one for what LOOP sends */

byte owner;			/* pe_word: slot + 1 */
bit pending;			/* its bit 31 */
byte wanted;			/* its upper half */
bit pe_lock;
bit on_list[3];			/* pe_first .. */
bit listed[3], srv[3];		/* q_pflag */
chan parked[3] = [8] of { byte };	/* q_pfirst ..: thread * 8 + number */
bit pe_later;

byte plumber[3];
byte home[4], visiting[4];
bit unlinked[3];		/* the queue was taken out */

/* Ghosts. */
bit relinking[3];
byte inside;			/* threads inside the perimeter */
byte next[KINDS];		/* number of the next message to arrive */
bit asked[3];			/* a service procedure is due */
byte done;

#define ME _pid

/* Message m arrives behind the module: in the order it was sent. */
inline arrive(m)
{
	d_step {
		assert(next[m / 8] == m % 8);
		next[m / 8]++
	}
}

/* The put procedure of queue q. */
inline put_proc(q, m)
{
	d_step { inside++; assert(inside == 1 && !relinking[q] && !unlinked[q]) };
	d_step {
		assert(next[m / 8] == m % 8);
		next[m / 8]++;
		inside--
	};
#ifdef LOOP
	if
	:: m == 8 -> /* thread 1, first: perim_put to q again: D1, D2; we are the owner */
		park(q, 4 * 8);
		atomic { assert(owner == ME + 1); pending = 1 }
	:: else
	fi
#else
	skip
#endif
}

inline srv_proc(q)
{
	d_step { inside++; assert(inside == 1 && !relinking[q]); asked[q] = 0 };
	inside--
}

/* give(), perim.c: the perimeter goes to who wants it, and what is pending with it */
inline give()
{
	owner = wanted;
	wanted = 0
#ifdef LOSE_AT_HANDOVER
	;
	pending = 0
#endif
}

/* list(), perim.c */
inline put_on_list(q)
{
	atomic { was = listed[q]; listed[q] = 1 };
	if
	:: !was -> atomic { pe_lock == 0 -> on_list[q] = 1 }
	:: else
	fi;
	was = 0
}

/* D1: park(), perim.c */
inline park(q, m)
{
	parked[q]!m;
	put_on_list(q)
}

/* P4, P5, P6 around what is done alone; the caller is inside g. */
inline plumb_lock(g)
{
	home[ME] = 0;
P4:	atomic { plumber[g] == 0 -> plumber[g] = ME + 1 };
	i = 0;
	do
	:: i < 4 && i != ME ->
P5:		home[i] != g;
		visiting[i] != g;
		i++
	:: i == ME -> i++
	:: i == 4 -> break
	od;
	home[ME] = g;
	relinking[g] = 1
}

/* A thread of group g that puts n messages to queue g. */
proctype Thread(byte g, n; bit service, outside)
{
	byte sent, m, k, q, held;
	bit was, due, entered, mine_later, took;
#ifdef SHARE
	bit spent;
#else
#define spent 0
#endif

	do
	:: sent < n ->
progress:
		if
		:: outside ->
			assert(home[ME] == 0);
V1:			visiting[ME] = g;
V2:			if
			:: plumber[g] == 0
			:: else -> visiting[ME] = 0; plumber[g] == 0; goto V1
			fi
		:: else ->
P1:			home[ME] = g;
P2:			if
			:: plumber[g] == 0
			:: else -> home[ME] = 0; plumber[g] == 0; goto P1
			fi
		fi;
		atomic { m = ME * 8 + sent; sent++ };
		if
		:: unlinked[g] -> arrive(m); goto leave
		:: else
		fi;
#ifdef SERVICE
		if
		:: service ->
			asked[g] = 1;
			if
			:: empty(parked[g]) ->
				atomic {
					if
					:: owner == 0 && !pending -> owner = ME + 1; took = 1
					:: else
					fi
				};
				if
				:: took -> took = 0; srv_proc(g); goto D4
				:: else
				fi
			:: nempty(parked[g])
			fi;
			srv[g] = 1; /* earlier than in C, where it is one with QP_LISTED */
			put_on_list(g);
			goto D2
		:: else
		fi;
#endif
		/* perim_put */
		atomic {
			if
			:: owner == 0 && !pending -> owner = ME + 1; took = 1
			:: else
			fi
		};
		if
		:: took ->
			took = 0;
			if
#ifndef OVERTAKE
			:: nempty(parked[g]) -> park(g, m); pending = 1; goto D4
			:: empty(parked[g])
#else
			:: skip
#endif
			fi;
			put_proc(g, m);
			goto D4
		:: else
		fi;
D1:		park(g, m);
D2:		atomic { was = owner == 0; pending = 1 };
		if
		:: was -> was = 0
		:: else -> goto leave
		fi;
#ifdef NO_D3
		goto leave;
#endif
D3:		atomic { /* take */
			if
			:: owner == 0 ->
				owner = ME + 1;
#ifdef LOSE_PENDING
				pending = 0
#endif
			:: else -> goto leave
			fi
		};

		/* perim_leave */
D4:		atomic {
			if
			:: owner == ME + 1 && wanted != 0 -> give(); goto leave
			:: owner == ME + 1 && wanted == 0 && !pending -> owner = 0; goto leave
			:: else -> assert(owner == ME + 1)
			fi
		};
#ifndef SWAP_D5
D5:		pending = 0;
#endif
drain:		atomic { pe_lock == 0 -> pe_lock = 1 };
		k = 1;
		do
		:: k <= 2 && on_list[k] -> /* plumb_visit */
			if
			:: home[ME] == k || visiting[ME] == k -> q = k; break
			:: else
			fi;
			if
			:: visiting[ME] != 0 -> held = k; k++
			:: else ->
				visiting[ME] = k;
				if
				:: plumber[k] == 0 -> entered = 1; q = k; break
				:: else -> visiting[ME] = 0; held = k; k++
				fi
			fi
		:: k <= 2 && !on_list[k] -> k++
		:: k > 2 -> break
		od;
		atomic {
			if
			:: q != 0 -> on_list[q] = 0
			:: else
			fi;
			pe_lock = 0;
			k = 0
		};
		if
		:: q != 0 -> /* run_queue */
			atomic { due = srv[q]; srv[q] = 0; listed[q] = 0 };
			do
			:: atomic { nempty(parked[q]) -> parked[q]?m }; put_proc(q, m)
#ifdef SHARE
			:: nempty(parked[q]) -> spent = 1; break
#endif
			:: empty(parked[q]) -> break
			od;
			m = 0;
			if
			:: spent ->
#ifndef FORGET_REST
				if
				:: due -> srv[q] = 1
				:: else
				fi;
				put_on_list(q);
#endif
				due = 0
			:: !spent && due -> due = 0; srv_proc(q)
			:: else
			fi;
			if
			:: entered -> entered = 0; visiting[ME] = 0
			:: else
			fi;
			atomic { q = 0; held = 0 };
#ifdef SHARE
			if
			:: spent -> spent = 0; goto D6
			:: else
			fi;
#endif
			goto drain
		:: else
		fi;
#ifdef SWAP_D5
		pending = 0;
#endif
		if
		:: held == 0 -> goto D4
#ifdef NO_D6
		:: held != 0 -> goto D4
#endif
#ifdef WAIT_VISITING
		:: held != 0 && home[ME] != 0
#else
		:: held != 0 && (home[ME] != 0 || visiting[ME] != 0)
#endif
		:: else -> /* names no group: wait for the writer */
#ifndef WAIT_VISITING
			assert(home[ME] == 0 && visiting[ME] == 0); /* plumb_wait */
#endif
			plumber[held] == 0;
			held = 0;
			goto drain
		fi;
		held = 0;
D6:		atomic {
			assert(owner == ME + 1);
			pending = 1;
			if
			:: wanted != 0 -> give(); goto leave
			:: else -> owner = 0
			fi
		};
		atomic {
			if
			:: !pe_later -> pe_later = 1; mine_later = 1
			:: else
			fi
		};

leave:		if
		:: outside -> visiting[ME] = 0
		:: else
		fi;
		home[ME] = 0;
		if
		:: mine_later -> /* plumb_later, perim_kick */
			mine_later = 0;
			pe_later = 0;
			if
			:: atomic { owner == 0 && pending -> goto D3 }
			:: else
			fi
		:: else
		fi
	:: else -> break
	od;
	done++
}

/* A writer of group 2. */
proctype Pusher()
{
	byte i;

P1:	home[ME] = 2;
P2:	if
	:: plumber[2] == 0
	:: else -> home[ME] = 0; plumber[2] == 0; goto P1
	fi;
	plumb_lock(2);
P6:	atomic { relinking[2] = 0; plumber[2] = 0 };
	home[ME] = 0;
	done++
}

/*
 * perim_enter() of a thread of group g: D8.  Naming the group again is a wait
 * outside all groups.  OPEN: it may give up, unless the perimeter is its own by then.
 */
inline perim_enter(g)
{
	do
	:: atomic { owner == 0 -> owner = ME + 1 }; break
	:: atomic { owner != 0 && wanted == 0 -> wanted = ME + 1 };
		if
		:: owner == ME + 1
#ifdef OPEN
		:: atomic { wanted == ME + 1 && owner != ME + 1 -> wanted = 0 }; goto leave
#ifdef WITHDRAW_LATE
		:: wanted == ME + 1 -> wanted = 0; goto leave
#endif
#endif
		fi;
		break
	od;
	do
	::	home[ME] = g;
		if
		:: plumber[g] == 0 -> break
		:: else -> home[ME] = 0; plumber[g] == 0
		fi
	od
}

/* perim_leave() of a thread of group 2 that finds queue 1 parked at most. */
inline perim_leave()
{
	skip;
D4:	atomic {
		if
		:: owner == ME + 1 && wanted != 0 -> give(); goto leave
		:: owner == ME + 1 && wanted == 0 && !pending -> owner = 0; goto leave
		:: else -> assert(owner == ME + 1)
		fi
	};
D5:	pending = 0;
	do
	:: atomic { on_list[1] && pe_lock == 0 -> visiting[ME] = 1; on_list[1] = 0 };
		listed[1] = 0;
		do
		:: atomic { nempty(parked[1]) -> parked[1]?m }; put_proc(1, m)
		:: empty(parked[1]) -> break
		od;
		visiting[ME] = 0
	:: !on_list[1] -> goto D4
	od
}

/* Runs an open routine: all streams are of group 1 here. */
proctype Opener()
{
	byte m;
	bit was;

	perim_enter(1);
	skip;
	d_step { inside++; assert(inside == 1) };
	inside--;
	perim_leave();
leave:	home[ME] = 0;
	done++
}

/* Closes the module on queue 2. */
proctype Popper()
{
	byte i, m;
	bit was;

	perim_enter(2);
	/* qprocsoff */
	plumb_lock(2);
	unlinked[2] = 1;
	/* perim_forget */
	atomic { pe_lock == 0 -> on_list[2] = 0 };
	atomic { listed[2] = 0; srv[2] = 0; asked[2] = 0 };
#ifdef HAND_ON_LATE
	atomic { relinking[2] = 0; plumber[2] = 0 };
#endif
D7:	do
	:: atomic { nempty(parked[2]) -> parked[2]?m; arrive(m) }
	:: empty(parked[2]) -> break
	od;
#ifndef HAND_ON_LATE
P6:	atomic { relinking[2] = 0; plumber[2] = 0 };
#endif
	perim_leave(); /* queue 1 is in another group */
leave:	home[ME] = 0;
	done++
}

init {
	atomic {
#if defined(OPEN)
#define THREADS 3
		run Thread(1, N0, 0, 0);
		run Opener();
		run Opener()
#elif defined(POP)
#define THREADS 3
		run Thread(1, N0, 0, 0);
		run Thread(2, N2, 0, 0);
		run Popper()
#elif defined(PUSH)
#define THREADS 3
		run Thread(1, N0, 0, 0);
		run Thread(2, N2, 0, 0);
		run Pusher()
#elif defined(OUTSIDE)
#define THREADS 3
		run Thread(1, N0, 0, 1);
		run Thread(2, N2, 0, 0);
		run Pusher()
#elif defined(SERVICE)
#define THREADS 3
		run Thread(1, N0, 0, 0);
		run Thread(1, N1, 1, 0);
		run Thread(2, N2, 0, 0)
#else
#define THREADS 3
		run Thread(1, N0, 0, 0);
		run Thread(1, N1, 0, 0);
		run Thread(2, N2, 0, 0)
#endif
	};
	done == THREADS;
	assert(owner == 0 && !pending && !wanted && !pe_later);
	assert(!on_list[1] && !on_list[2] && !listed[1] && !listed[2]);
	assert(empty(parked[1]) && empty(parked[2]));
	assert(!asked[1] && !asked[2] && !srv[1] && !srv[2]);
	assert(next[1] == N0)
}
