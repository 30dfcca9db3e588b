/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * <sys/testmod.h>: what to ask of the module testmod, which makes a stream do
 * what a test wants to see.
 *
 * All commands are given by I_STR, except where "transparent" is said.  Those
 * that send a message have sent it when the ioctl returns.  Bytes, ints and
 * longs are the machine's; a parameter that is not given is 0.
 */
#ifndef _USTREAMS_SYS_TESTMOD_H
#define _USTREAMS_SYS_TESTMOD_H

#define TM_CMD(n) ('t' << 8 | (n))

/* ---- messages, to the stream head above or to what is below ------------- */

/* Any message: 4 bytes as in struct tm_msg, then the bytes of its blocks. */
#define TM_UP TM_CMD(1)
#define TM_DOWN TM_CMD(2)
struct tm_msg {
	unsigned char tm_type;	/* M_... */
	unsigned char tm_band;	/* 0..255 */
	unsigned char tm_flag;	/* MSGMARK, MSGNOLOOP, MSGDELIM */
	unsigned char tm_ctl;	/* bytes of the first block; the others are an */
};				/* M_DATA block after it */
#define TM_WHOLE 255	/* tm_ctl: one block, however long */

#define TM_HANGUP TM_CMD(3)	/* M_HANGUP up */
#define TM_UNHANGUP TM_CMD(4)	/* M_UNHANGUP up */
#define TM_ERROR TM_CMD(5)	/* M_ERROR up: 1 byte, or read and write side */
#define TM_SIG TM_CMD(6)	/* M_SIG up: 1 byte */
#define TM_PCSIG TM_CMD(7)	/* M_PCSIG up: 1 byte */
#define TM_SETOPTS TM_CMD(8)	/* M_SETOPTS up: struct stroptions, or its beginning */

/* ---- answers ------------------------------------------------------------- */

#define TM_ACK TM_CMD(16)	/* acknowledged: int rval; the rest comes back */
#define TM_NAK TM_CMD(17)	/* refused: int errno */
#define TM_ACKERR TM_CMD(18)	/* acknowledged with int errno */
#define TM_DELAY TM_CMD(19)	/* as TM_ACK, later: int ms, int rval, rest */
#define TM_MUTE TM_CMD(20)	/* not answered; kept for TM_ANSWER */
#define TM_ANSWER TM_CMD(21)	/* the kept one is acknowledged, then this one */
#define TM_STRANGER TM_CMD(22)	/* an answer with another id comes first */
#define TM_TWICE TM_CMD(23)	/* acknowledged twice */
#define TM_CUT TM_CMD(24)	/* the answer is shorter than a struct iocblk; no other */

/*
 * Transparent: n bytes at the argument are copied in, n bytes out, or in and,
 * each byte one more, out again; the result is n.  n is 8, or from the command:
 * TM_SIZE(TM_COPYIN, n), that is, TM_COPYIN + n * 65536.
 */
#define TM_COPYIN TM_CMD(32)
#define TM_COPYOUT TM_CMD(33)
#define TM_COPYINOUT TM_CMD(34)
#define TM_SIZE(cmd, n) ((cmd) + (n) * 65536)
#define TM_COPIED TM_CMD(35)	/* I_STR: the bytes last copied in */
#define TM_COPYERR TM_CMD(36)	/* I_STR: the errno with which a copying last failed */

/* ---- flow control and watching ------------------------------------------- */

/* int: which sides no longer pass messages on, but queue them. */
#define TM_STOP TM_CMD(48)
#define TM_STOPR 1	/* going up */
#define TM_STOPW 2	/* going down */
#define TM_GO TM_CMD(49)	/* int: which sides pass them on again */
#define TM_MARKS TM_CMD(50)	/* long hiwat, long lowat of both queues */
#define TM_QUEUED TM_CMD(51)	/* answer: int messages up, down; long bytes up, down */
#define TM_DROP TM_CMD(52)	/* up to 16 bytes: types freed on their way down */
#define TM_SEEN TM_CMD(53)	/* answer: types that came down since, 1 byte each */
#define TM_SEENUP TM_CMD(54)	/* the same for those that went up */
#define TM_LAST TM_CMD(55)	/* answer: first block of the last one down, not an ioctl's */

#endif
