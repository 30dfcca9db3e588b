/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pcapng.h: as much of the pcapng file format as strtap writes, and reads again.
 *
 *   section header, then in any order, each before it is referred to:
 *   interface     one for each queue: if_name, if_description, nanoseconds
 *   packet        one for each event: bytes, comment, direction
 *   statistics    at the end, one for each interface: events got and lost
 *
 * The link type is LINKTYPE_USER0 (147): the bytes are those of the message, in no
 * protocol that a reader could know.  Byte order is the machine's.
 */
#ifndef PCAPNG_H
#define PCAPNG_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { PCAPNG_SNAP = 128, PCAPNG_TEXT = 256, PCAPNG_QUEUES = 4096 };

struct pcapng_packet {
	unsigned int iface;
	int64_t time; /* ns since 1970 */
	int inbound; /* 1 towards the head, 0 away from it */
	unsigned int caplen, origlen;
	unsigned char bytes[PCAPNG_SNAP];
	char comment[PCAPNG_TEXT];
};

/* Each writes one block: 0, or -1 with errno. */
int pcapng_section(FILE *to, const char *application);
int pcapng_interface(FILE *to, const char *name, const char *description);
int pcapng_packet(FILE *to, const struct pcapng_packet *p);
int pcapng_statistics(
    FILE *to, unsigned int iface, int64_t time, uint64_t got, uint64_t lost);

/*
 * The next packet, other blocks being passed over: 1; 0 at the end; -1 and *why is
 * what is wrong.  *begun is 0 at first.
 */
int pcapng_read(FILE *from, struct pcapng_packet *p, int *begun, const char **why);

#endif
