/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait.pml: sleeping and waking (streams/wait.h S1..S5, W1..W5).
 *
 * Property: no wake-up is lost.  SLEEPERS threads share what WAKERS threads
 * bring, one item at a time, exactly as many as are brought; a thread that
 * sleeps while its item lies there is an invalid end state.  A thread that is
 * kept running in circles without getting anything is a non-progress cycle.
 *
 *   S1 sl_sleep := 1            wait_begin, wait.c
 *   S2 the number into the list, or sl_broad := 1, wq_many := 1    wait_on
 *   S3 wq_armed := 1            wait_on
 *   S4 look once more           call_sleep, fd.c; look, head_poll.c
 *   S5 futex(sl_sleep == 1)     wait_sleep
 *   W1 the condition            hq_put, head_queue.c; head_wsrv, head.c (F4)
 *   W2 wq_armed?                wait_wake, wait.h
 *   W3 wq_armed := 0            wait_wakeall, wait.c
 *   W4 take the numbers out     wait_wakeall; then wq_many and wake_broad
 *   W5 sl_sleep := 0, wake      wait_poke
 *
 * WAITERS is the length of a list; with fewer than SLEEPERS the overflow
 * (sl_broad, wq_many) is taken.  LISTS 2: every sleeper is a str_poll() of two
 * streams, on both lists at once.  SIGNALS handlers may interrupt a futex; each
 * either lets the call return EINTR and start anew, or jumps out of the handler
 * (longjmp), which leaves sl_sleep, sl_broad and the numbers behind.  A stale
 * number wakes somebody who looks again.
 *
 * Abstracted: plumbing groups (call_sleep leaves and enters the group between
 * these lines; plumb.pml), deadlines, death.  What the condition is: an item
 * stands for a message for readers, for room for writers.  Taking an item is
 * one step, for it is done under a lock.  The load before the compare-and-swap
 * of S2 and before the exchange of W4 only saves the latter.
 *
 * Why interleaving (sequential consistency) is enough: all of S1..S4 and W2..W5
 * are exchanges, compare-and-swaps or sequentially consistent loads.  W1 and the
 * look of S4 must be so too; for a message the store of q_first is relaxed, under
 * q_lock, and the exchange that follows is that of the lock word: on x86 and on
 * ARMv8 an exchange keeps all earlier stores before all later loads, which is
 * what W1, W2 need, though the letter of C11 promises it only of the lock word.
 * The relaxed store of sl_broad in wait_end is ordered with those of the same
 * word and otherwise causes one wake-up too many.
 *
 * Mutants: SWAP_S1_S2, SWAP_S3_S4, SWAP_W1_W2, SWAP_W3_W4, NO_MANY
 */
#ifndef SLEEPERS
#define SLEEPERS 2
#endif
#ifndef WAKERS
#define WAKERS 2
#endif
#ifndef NEED
#define NEED 1		/* items a sleeper needs, the first one MORE more */
#endif
#ifndef BRING
#define BRING 1		/* items a waker brings, the last one MORE more */
#endif
#ifndef MORE
#define MORE 1
#endif
#ifndef WAITERS
#define WAITERS 1
#endif
#ifndef LISTS
#define LISTS 1
#endif
#ifndef SIGNALS
#define SIGNALS 1
#endif

byte items[LISTS];		 /* what is slept for */
bit armed[LISTS], many[LISTS];	 /* wq_armed, wq_many */
byte number[LISTS * WAITERS];	 /* wq_sleeper: pid + 1, 0 none */
bit sl_sleep[SLEEPERS], sl_broad[SLEEPERS];
bit in_futex[SLEEPERS];		 /* queued in the kernel */
byte signals = SIGNALS;

/* An item of any list of mine. */
inline take()
{
	atomic {
		got = 0;
		if
		:: items[0] > 0 -> items[0]--; got = 1
#if LISTS > 1
		:: items[1] > 0 -> items[1]--; got = 1
#endif
		:: else
		fi
	}
}

active [SLEEPERS] proctype Sleeper()
{
	byte have, i, l;
	bit got;

	do
	:: have < (_pid == 0 -> NEED + MORE : NEED) ->
anew:		take();
		if
		:: got -> d_step { have++; got = 0 };
progress:		goto more
		:: else
		fi;
#ifndef SWAP_S1_S2
S1:		sl_sleep[_pid] = 1;
#endif
		l = 0;
		do
		:: l < LISTS ->
			i = l * WAITERS;
			do
			:: i < (l + 1) * WAITERS ->
S2:				atomic {
					if
					:: number[i] == 0 -> number[i] = _pid + 1; break
					:: else -> i++
					fi
				}
			:: else ->
				sl_broad[_pid] = 1;
#ifndef NO_MANY
				many[l] = 1;
#endif
				break
			od;
#ifndef SWAP_S3_S4
S3:			armed[l] = 1;
#endif
#ifdef SWAP_S1_S2
			sl_sleep[_pid] = 1;
#endif
S4:			if
			:: items[l] > 0 -> got = 1
			:: else
			fi;
#ifdef SWAP_S3_S4
			armed[l] = 1;
#endif
			l++
		:: else -> break
		od;
		if
		:: got -> goto off
		:: else
		fi;
		/* wait_sleep */
		do
		:: sl_sleep[_pid] != 0 ->
S5:			atomic {
				if
				:: sl_sleep[_pid] == 1 -> in_futex[_pid] = 1
				:: else -> goto off /* EAGAIN */
				fi
			};
			if
			:: in_futex[_pid] == 0
			:: atomic { signals > 0 -> signals--; in_futex[_pid] = 0 };
				if
				:: goto off /* EINTR */
				:: atomic { l = 0; i = 0 };
					goto anew /* longjmp */
				fi
			fi
		:: else -> break
		od;
off:		atomic { sl_sleep[_pid] = 0; sl_broad[_pid] = 0; i = 0 }; /* wait_end */
		/* wait_off */
		do
		:: i < LISTS * WAITERS ->
			atomic {
				if
				:: number[i] == _pid + 1 -> number[i] = 0
				:: else
				fi;
				i++
			}
		:: else -> break
		od;
		atomic { got = 0; l = 0; i = 0 };
more:		skip
	:: else -> break
	od
}

/* wait_poke(s) */
inline poke(s)
{
	atomic { was = sl_sleep[s]; sl_sleep[s] = 0 }; /* W5 */
	if
	:: was -> in_futex[s] = 0
	:: else
	fi;
	was = 0
}

active [WAKERS] proctype Waker()
{
	byte brought, i, id, l;
	bit was, see;

	do
	:: brought < (_pid == SLEEPERS + WAKERS - 1 -> BRING + MORE : BRING) ->
		brought++;
		/* each brings to one list after the other, the others the other way */
		l = (brought + _pid) % LISTS;
#ifdef SWAP_W1_W2
		see = armed[l];
		items[l]++;
#else
W1:		items[l]++;
W2:		see = armed[l];
#endif
		if
		:: see ->
#ifndef SWAP_W3_W4
W3:			armed[l] = 0;
#endif
			i = l * WAITERS;
			do
			:: i < (l + 1) * WAITERS ->
W4:				atomic { id = number[i]; number[i] = 0; i++ };
				if
				:: id > 0 -> poke(id - 1)
				:: else
				fi
			:: else -> break
			od;
			id = 0;
#ifdef SWAP_W3_W4
			armed[l] = 0;
#endif
			atomic { was = many[l]; many[l] = 0 };
			if
			:: was -> /* wake_broad */
				was = 0;
				i = 0;
				do
				:: i < SLEEPERS ->
					if
					:: sl_broad[i] -> poke(i)
					:: else
					fi;
					i++
				:: else -> break
				od
			:: else
			fi
		:: else
		fi;
		atomic { see = 0; i = 0; l = 0 }
	:: else -> break
	od
}
