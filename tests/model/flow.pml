/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flow.pml: full, want, back-enable (streams/flow.h F1..F6).
 *
 * Property: no stall.  A run ends only when every message was sent and was
 * received; a refused writer that nobody enables again is an invalid end state
 * (safety run), one that retries for ever without sending a non-progress cycle.
 *
 * Three variants of the one protocol:
 *
 *   HEAD (default)  a stream head's read queue: no common lock, two pairs of
 *       monotonic totals.  WRITERS threads run flow_headroom() and hq_put(), one
 *       reader runs hq_first() and hq_got().
 *         F1 headroom_slow: gotn, gotb read, roomy     (flow.c)
 *         F2 want := 1                      exchange   (flow.c)
 *         F3 gotn read again, gotb, roomy              (flow.c)
 *         F4 gotb := (release), gotn :=     exchange   (hq_got, head_queue.c)
 *         F5 want read; low?                           (hq_got, wanted)
 *         F6 want := 0 (exchange) was set? -> enable   (wanted, flow_backenable)
 *   MODULE  a module queue d under q_lock, a service queue b behind it, and the
 *       run list (runq.h: QENAB, QHLIST) by which F6 reaches b's service
 *       procedure.  A thread that puts to b and one that gets from d both serve
 *       the run list when they leave.
 *         F1 QFULL read, F1..F3 under q_lock           (queue_room, flow.c)
 *         F4, F5 under q_lock                          (take_out, queue.c)
 *         F6 runq_enable                               (getq; runq.c)
 *   PARKED  messages parked for perimeters on two queues A, B between a writer
 *       and the queue examined; q_pwant is the want flag of each.
 *         F1 parked_over, F2 pwant := 1 on A and B, F3 parked_over (flow.c)
 *         F4 q_pblocks -= 1 after the delivery         (run_queue, perim.c)
 *         F5, F6 flow_unparked                         (flow.c)
 *
 * Abstracted: sleeping and waking of a refused writer are one flag per writer,
 * raised before F1 (as S3 precedes S4) and taken back by F6: wait.pml is the
 * proof of that.  Order, contents and bands of messages; strqset (which calls
 * hq_remark).  A list taken over by the reader still counts, so whether he takes
 * one message or all makes no difference to the totals.  In PARKED one counter
 * stands for bytes and blocks.
 *
 * Why interleaving (sequential consistency) is enough where the C has less:
 * F2, F4 and F6 are exchanges, F3's gotn and F5's want are sequentially
 * consistent loads: what the proof rests on is as modelled.  gotb is stored
 * (release) before F4's exchange and loaded after F3's load, which acquires:
 * who sees the new gotn sees the new gotb.  putb and putn may be read late
 * (acquire, relaxed stores under q_lock): totals only grow and put is read after
 * got, so a late value errs towards "room" (F1, F3) and "low" (F5): one message
 * too many or one back-enable too many, never one too few.  seenb, seenn are old
 * values of got and err towards "full", which leads to F1.
 *
 * Mutants: HEAD    NO_F3, SWAP_F4_F5
 *          MODULE  SPLIT_LOCK, NO_RELIST
 *          PARKED  WANT_ONE
 */
#ifndef WRITERS
#define WRITERS 2
#endif
#ifndef MESSAGES
#define MESSAGES 2
#endif
#ifndef HIWAT
#define HIWAT 2
#endif
#ifndef LOWAT
#define LOWAT 1
#endif

#define LOW(bytes, blocks) (LOWAT == 0 || ((bytes) < LOWAT && (blocks) < LOWAT))

bit asleep[WRITERS];	/* waits to be enabled */
byte enabling;		/* ghost: between F6's exchange and the enable */

#define ENABLE_ALL                                                             \
	d_step {                                                               \
		i = 0;                                                         \
		do                                                             \
		:: i < WRITERS -> asleep[i] = 0; i++                           \
		:: else -> break                                               \
		od;                                                            \
		i = 0;                                                         \
		enabling--                                                     \
	}

#if defined(MODULE)
/* ---- a module queue and the run list ------------------------------------------- */

#define TOTAL (WRITERS * MESSAGES)

byte b_count;		/* messages on b */
bit b_wantr = 1;	/* b: QWANTR */
byte d_count;
bit d_full, d_wantw;	/* d: QFULL, QWANTW */
bit b_lock, d_lock;
byte received;

byte listed;		/* times b stands on the run list */
bit qenab, qhlist;	/* b's flags, under b_lock */
byte serving;		/* ghost: threads in b's service procedure */

#define LOCK(l) atomic { l == 0 -> l = 1 }
#define UNLOCK(l) l = 0

/* runq_enable(b); enlist is the caller's. */
#define RUNQ_ENABLE                                                            \
	d_step { b_lock == 0 -> enlist = !(qenab || qhlist); qenab = 1 };        \
	if                                                                     \
	:: enlist -> listed++                                                    \
	:: else                                                                \
	fi

/* plumb_run: what every call does before it leaves the group. */
inline serve_all()
{
	do
	:: d_step { listed > 0 -> listed--; mine = 1 };
		d_step { b_lock == 0 -> assert(qenab && !qhlist); qenab = 0; qhlist = 1 };
		serving++;
		assert(serving == 1);
		/* The service procedure: getq, canput, putq or putbq. */
		do
		:: d_step {
			b_lock == 0 ->
			if
			:: b_count == 0 -> b_wantr = 1; some = 0
			:: else -> b_wantr = 0; b_count--; some = 1
			fi
		   };
		   if
		   :: !some -> break
		   :: else
		   fi;
F1:		   if
		   :: d_full -> /* queue_room */
#ifdef SPLIT_LOCK
			LOCK(d_lock);
			no_room = d_full;
			UNLOCK(d_lock);
			if
			:: no_room -> LOCK(d_lock); d_wantw = 1; UNLOCK(d_lock)
			:: else
			fi
#else
			LOCK(d_lock);
			no_room = d_full;
F2:			if
			:: no_room -> d_wantw = 1
			:: else
			fi;
F3:			UNLOCK(d_lock)
#endif
		   :: else -> no_room = 0
		   fi;
		   if
		   :: no_room -> b_count++; break /* putbq */
		   :: else ->
			d_step { d_lock == 0 -> d_count++; d_full = d_full || d_count >= HIWAT }
		   fi
		od;
		serving--;
		/* runq_done */
		d_step { b_lock == 0 -> qhlist = 0; again = qenab };
		if
#ifndef NO_RELIST
		:: again -> listed++
#endif
		:: else
		fi
	:: listed == 0 -> break
	od;
	mine = 0
}

active proctype Putter()
{
	byte n;
	bit enlist, some, no_room, again, mine;

	do
	:: n < TOTAL ->
		n++;
		d_step { b_lock == 0 -> b_count++; enlist = b_wantr };
		if
		:: enlist -> RUNQ_ENABLE
		:: else
		fi;
		serve_all()
	:: else -> break
	od
}

active proctype Getter()
{
	bit enlist, some, no_room, again, mine, due;

	do
	:: received < TOTAL ->
		d_count > 0; /* asleep: wait.pml */
F4:		d_step {
			d_lock == 0 ->
			d_count--;
			received++;
			if
			:: d_count < HIWAT -> d_full = 0
			:: else
			fi;
			/* F5 */
			due = d_wantw && LOW(d_count, d_count);
			if
			:: due -> d_wantw = 0
			:: else
			fi
		};
		if
		:: due ->
F6:			RUNQ_ENABLE
		:: else
		fi;
		serve_all()
	:: else -> break
	od;
	assert(b_count == 0 && d_count == 0)
}

#elif defined(PARKED)
/* ---- parked messages ------------------------------------------------------------- */

#define TOTAL (WRITERS * MESSAGES)

byte on_a, on_b;	 /* parked: A's and B's lists */
byte blocks_a, blocks_b; /* q_pblocks: counted out after the delivery */
bit want_a, want_b;	 /* q_pwant */
byte received;

active [WRITERS] proctype Writer()
{
	byte sent, sum;

	do
	:: sent < MESSAGES ->
again:		asleep[_pid] = 1;
F1:		sum = blocks_a;
		sum = sum + blocks_b;
		if
		:: sum < HIWAT -> goto go
		:: else
		fi;
F2:		want_a = 1;
#ifndef WANT_ONE
		want_b = 1;
#endif
F3:		sum = blocks_a;
		sum = sum + blocks_b;
		if
		:: sum < HIWAT
		:: else ->
			asleep[_pid] == 0;
			goto again
		fi;
go:		asleep[_pid] = 0;
		if
		:: d_step { on_a++; blocks_a++ }
		:: d_step { on_b++; blocks_b++ } /* A's perimeter was free */
		fi;
		sent++;
progress:	skip
	:: else -> break
	od;
	sum = 0
}

/* flow_unparked of A and of B. */
inline unparked(want, blocks)
{
	if
	:: want && blocks < LOWAT ->
		atomic {
			if
			:: want -> want = 0; enabling++; due = 1
			:: else -> due = 0
			fi
		};
		if
		:: due ->
			ENABLE_ALL
		:: else
		fi
	:: else
	fi;
	due = 0
}

active proctype Holder_A()
{
	byte i;
	bit due;

end:	do
	:: on_a > 0 ->
		on_a--;
		d_step { on_b++; blocks_b++ };
F4:		blocks_a--;
F5:		unparked(want_a, blocks_a)
	od
}

active proctype Holder_B()
{
	byte i;
	bit due;

end:	do
	:: on_b > 0 ->
		on_b--;
		received++;
F4:		blocks_b--;
F5:		unparked(want_b, blocks_b)
	od
}

#else
/* ---- a stream head's read queue ------------------------------------------------------ */

#define TOTAL (WRITERS * MESSAGES)

byte putb, putn;	/* writers' line, changed under q_lock */
byte gotb, gotn;	/* reader's line */
byte seenb, seenn;	/* the writers' copy of it */
bit want;
bit q_lock;
chan list = [TOTAL] of { byte };	/* sizes of the messages queued */

active [WRITERS] proctype Writer()
{
	byte sent, gb, gn, pb, size;

	do
	:: sent < MESSAGES ->
again:		asleep[_pid] = 1;
		/* flow_headroom: the cached copy first */
		d_step { gb = seenb; gn = seenn };
		pb = putb;
		if
		:: pb - gb < HIWAT && putn - gn < HIWAT -> goto go
		:: else
		fi;
F1:		gn = gotn;
		gb = gotb;
		d_step { seenb = gb; seenn = gn };
		pb = putb;
		assert(pb >= gb && putn >= gn);
		if
		:: pb - gb < HIWAT && putn - gn < HIWAT -> goto go
		:: else
		fi;
F2:		want = 1;
#ifndef NO_F3
F3:		gn = gotn;
		gb = gotb;
#endif
		pb = putb;
		assert(pb >= gb && putn >= gn); /* invariant 3 */
		if
		:: pb - gb < HIWAT && putn - gn < HIWAT
		:: else ->
			assert(!asleep[_pid] || want || enabling); /* invariant 2 */
			asleep[_pid] == 0;
			goto again
		fi;
go:		asleep[_pid] = 0;
		/* hq_put, messages of one and of two bytes */
		size = 1 + _pid % 2;
		atomic { q_lock == 0 -> q_lock = 1 };
		d_step { list!size; putb = putb + size };
		d_step { putn++; q_lock = 0 };
		d_step { sent++; gb = 0; gn = 0; pb = 0 };
		assert(putn - gotn < HIWAT + WRITERS);
progress:	skip
	:: else -> break
	od;
	size = 0
}

active proctype Reader()
{
	byte received, size, i, bytes;
	bit due;

	do
	:: received < TOTAL ->
		/* hq_first */
		d_step { q_lock == 0 && nempty(list) -> list?size; received++ };
#ifdef SWAP_F4_F5
		due = want;
#endif
		gotb = gotb + size;
F4:		gotn++;
#ifndef SWAP_F4_F5
F5:		due = want;
#endif
		if
		:: due ->
			bytes = putb - gotb;
			if
			:: LOW(bytes, putn - gotn) ->
				atomic {
					due = want;
					want = 0;
					enabling = enabling + due
				};
				if
				:: due ->
F6:					ENABLE_ALL
				:: else
				fi
			:: else
			fi
		:: else
		fi;
		d_step { due = 0; bytes = 0; size = 0 }
	:: else -> break
	od
}
#endif
