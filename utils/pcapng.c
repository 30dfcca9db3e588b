/* SPDX-License-Identifier: BSD-2-Clause */
/* pcapng.c: blocks of a pcapng file. */
#include "pcapng.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { SECTION = 0x0a0d0d0a, INTERFACE = 1, STATISTICS = 5, PACKET = 6 };
enum { MAGIC = 0x1a2b3c4d, USER0 = 147 };
enum { OPT_END = 0, OPT_COMMENT = 1, IF_NAME = 2, IF_DESCRIPTION = 3, IF_TSRESOL = 9,
	SHB_USERAPPL = 4, EPB_FLAGS = 2, ISB_IFRECV = 4, ISB_IFDROP = 5 };
enum { INBOUND = 1, OUTBOUND = 2, NANOSECONDS = 9 };
enum { BLOCK_MOST = 4096, BLOCK_SKIP = 1 << 24 };

/* ---- a block being made --------------------------------------------------------- */

struct block {
	size_t len;
	unsigned char bytes[BLOCK_MOST];
};

static void
add(struct block *b, const void *from, size_t n)
{
	size_t padded = (n + 3) & ~(size_t)3;

	if (n == 0 || padded > sizeof(b->bytes) - b->len)
		return;
	memcpy(b->bytes + b->len, from, n);
	memset(b->bytes + b->len + n, 0, padded - n);
	b->len += padded;
}

static void
add32(struct block *b, uint32_t word)
{
	add(b, &word, sizeof(word));
}

static void
add_time(struct block *b, int64_t time)
{
	add32(b, (uint32_t)((uint64_t)time >> 32));
	add32(b, (uint32_t)time);
}

static void
add_option(struct block *b, unsigned int code, const void *value, size_t n)
{
	uint16_t head[2] = {(uint16_t)code, (uint16_t)n};

	add(b, head, sizeof(head));
	add(b, value, n);
}

static void
add_text(struct block *b, unsigned int code, const char *text)
{
	add_option(b, code, text, strlen(text));
}

/* Type and length go around what was added. */
static int
write_block(FILE *to, uint32_t type, struct block *b)
{
	uint32_t total, head[2];

	add_option(b, OPT_END, NULL, 0);
	total = (uint32_t)b->len + 12;
	head[0] = type;
	head[1] = total;
	return fwrite(head, sizeof(head), 1, to) == 1 && fwrite(b->bytes, b->len, 1, to) == 1 &&
		    fwrite(&total, sizeof(total), 1, to) == 1
	    ? 0
	    : -1;
}

/* ---- writing ------------------------------------------------------------------------ */

int
pcapng_section(FILE *to, const char *application)
{
	static const uint16_t version[2] = {1, 0};
	struct block b = {.len = 0};

	add32(&b, MAGIC);
	add(&b, version, sizeof(version));
	add32(&b, UINT32_MAX); /* the section's length is not told */
	add32(&b, UINT32_MAX);
	add_text(&b, SHB_USERAPPL, application);
	return write_block(to, SECTION, &b);
}

int
pcapng_interface(FILE *to, const char *name, const char *description)
{
	static const unsigned char resolution = NANOSECONDS;
	struct block b = {.len = 0};

	add32(&b, USER0); /* and 16 bits that are zero */
	add32(&b, PCAPNG_SNAP);
	add_text(&b, IF_NAME, name);
	add_text(&b, IF_DESCRIPTION, description);
	add_option(&b, IF_TSRESOL, &resolution, 1);
	return write_block(to, INTERFACE, &b);
}

int
pcapng_packet(FILE *to, const struct pcapng_packet *p)
{
	uint32_t flags = p->inbound ? INBOUND : OUTBOUND;
	struct block b = {.len = 0};

	add32(&b, p->iface);
	add_time(&b, p->time);
	add32(&b, p->caplen);
	add32(&b, p->origlen);
	add(&b, p->bytes, p->caplen);
	add_text(&b, OPT_COMMENT, p->comment);
	add_option(&b, EPB_FLAGS, &flags, sizeof(flags));
	return write_block(to, PACKET, &b);
}

int
pcapng_statistics(FILE *to, unsigned int iface, int64_t time, uint64_t got, uint64_t lost)
{
	struct block b = {.len = 0};

	add32(&b, iface);
	add_time(&b, time);
	add_option(&b, ISB_IFRECV, &got, sizeof(got));
	add_option(&b, ISB_IFDROP, &lost, sizeof(lost));
	return write_block(to, STATISTICS, &b);
}

/* ---- reading -------------------------------------------------------------------------- */

static uint32_t
get32(const struct block *b, size_t at)
{
	uint32_t word;

	memcpy(&word, b->bytes + at, sizeof(word));
	return word;
}

/* The text option of that code, from offset at on; "" if there is none. */
static void
find_text(const struct block *b, size_t at, unsigned int code, char text[PCAPNG_TEXT])
{
	text[0] = '\0';
	while (at + 4 <= b->len) {
		uint16_t head[2];

		memcpy(head, b->bytes + at, sizeof(head));
		at += 4;
		if (head[0] == OPT_END || head[1] > b->len - at)
			return;
		if (head[0] == code) {
			size_t n = head[1] < PCAPNG_TEXT ? head[1] : PCAPNG_TEXT - 1;

			memcpy(text, b->bytes + at, n);
			text[n] = '\0';
			return;
		}
		at += (head[1] + 3u) & ~3u;
	}
}

/* A block's body, or as much as fits, and its type: 1, 0 at the end, -1. */
static int
read_block(FILE *from, struct block *b, uint32_t *type)
{
	uint32_t head[2], end;
	size_t n = fread(head, 1, sizeof(head), from), body;

	if (n == 0)
		return 0;
	if (n < sizeof(head) || head[1] < 12 || head[1] % 4 != 0 || head[1] > BLOCK_SKIP)
		return -1;
	*type = head[0];
	body = head[1] - 12;
	b->len = body < sizeof(b->bytes) ? body : sizeof(b->bytes);
	if (fread(b->bytes, 1, b->len, from) != b->len)
		return -1;
	for (; body > b->len; body--)
		if (getc(from) == EOF)
			return -1;
	return fread(&end, sizeof(end), 1, from) == 1 && end == head[1] ? 1 : -1;
}

static bool
take_packet(const struct block *b, struct pcapng_packet *p)
{
	if (b->len < 20)
		return false;
	memset(p, 0, sizeof(*p));
	p->iface = get32(b, 0);
	p->time = (int64_t)((uint64_t)get32(b, 4) << 32 | get32(b, 8));
	p->caplen = get32(b, 12);
	p->origlen = get32(b, 16);
	if (p->caplen > sizeof(p->bytes) || p->caplen > b->len - 20)
		return false;
	memcpy(p->bytes, b->bytes + 20, p->caplen);
	find_text(b, 20 + ((p->caplen + 3u) & ~(size_t)3), OPT_COMMENT, p->comment);
	return true;
}

int
pcapng_read(FILE *from, struct pcapng_packet *p, int *begun, const char **why)
{
	struct block b;
	uint32_t type;
	int got;

	while ((got = read_block(from, &b, &type)) == 1) {
		if (!*begun && (type != SECTION || b.len < 4))
			break;
		if (type == SECTION && get32(&b, 0) != MAGIC) {
			*why = "it was written on a machine of the other byte order";
			return -1;
		}
		*begun = 1;
		if (type != PACKET)
			continue;
		if (take_packet(&b, p))
			return 1;
		*why = "a packet in it is longer than any that strtap writes";
		return -1;
	}
	if (got == 0 && *begun)
		return 0;
	if (ferror(from)) {
		*why = strerror(errno);
		return -1;
	}
	*why = *begun ? "it is cut short, or damaged" : "it is no pcapng file";
	return -1;
}
