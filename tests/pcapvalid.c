/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pcapvalid.c: pcapvalid FILE
 *
 * Judges a file of strtap's by the pcapng specification, with no code in common:
 * block types and lengths, at both ends; the order of blocks; each option list and
 * its end; that every packet names an interface that is there, says its direction
 * and has a comment.  Prints the counts; exit status 1 and a line if it is wrong.
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 26, IFACES = 4096 };

static unsigned char *file;
static size_t size, offset;
static unsigned int ifaces, packets, stats, snap[IFACES];

__attribute__((format(printf, 1, 2))) static _Noreturn void
wrong(const char *fmt, ...)
{
	va_list ap;

	printf("block at byte %zu: ", offset);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	exit(1);
}

static uint32_t
word(size_t at)
{
	uint32_t w;

	memcpy(&w, file + at, sizeof(w));
	return w;
}

static unsigned int
half(size_t at)
{
	uint16_t w;

	memcpy(&w, file + at, sizeof(w));
	return w;
}

/* What options were seen, by code. */
struct seen {
	unsigned int n[16];
	size_t at[16], len[16];
};

/* The list from at to end. */
static void
options(size_t at, size_t end, struct seen *s)
{
	memset(s, 0, sizeof(*s));
	while (at + 4 <= end) {
		unsigned int code = half(at), len = half(at + 2);

		at += 4;
		if (code == 0) {
			if (len != 0 || at != end)
				wrong("the end of options is not the end");
			return;
		}
		if (code >= 16 || len > end - at)
			wrong("option %u of %u bytes", code, len);
		s->n[code]++;
		s->at[code] = at;
		s->len[code] = len;
		for (size_t k = len; k < ((len + 3u) & ~3u); k++)
			if (file[at + k] != 0)
				wrong("option %u is padded with %#x", code, file[at + k]);
		at += (len + 3u) & ~3u;
	}
	wrong("options without an end");
}

static void
section(size_t at, size_t end)
{
	struct seen s;

	if (offset != 0 || word(at) != 0x1a2b3c4d || half(at + 4) != 1 || half(at + 6) != 0)
		wrong("section header: magic %#x version %u.%u", word(at), half(at + 4),
		    half(at + 6));
	options(at + 16, end, &s);
}

static void
interface(size_t at, size_t end)
{
	struct seen s;

	if (half(at) != 147 || half(at + 2) != 0)
		wrong("interface: link type %u, reserved %u", half(at), half(at + 2));
	options(at + 8, end, &s);
	if (s.n[2] != 1 || s.len[2] == 0 || s.n[3] != 1 || s.n[9] != 1 || s.len[9] != 1 ||
	    file[s.at[9]] != 9)
		wrong("interface without name, description, or nanoseconds");
	if (ifaces == IFACES)
		wrong("too many interfaces");
	snap[ifaces++] = word(at + 4);
}

static void
packet(size_t at, size_t end)
{
	uint32_t iface = word(at), caplen = word(at + 12), origlen = word(at + 16);
	struct seen s;

	if (iface >= ifaces)
		wrong("packet of interface %u of %u", iface, ifaces);
	if (caplen > origlen || caplen > snap[iface] || caplen > end - at - 20)
		wrong("packet: %u of %u bytes, at most %u", caplen, origlen, snap[iface]);
	options(at + 20 + ((caplen + 3u) & ~3u), end, &s);
	if (s.n[1] != 1 || s.n[2] != 1 || s.len[2] != 4)
		wrong("packet without a comment, or flags");
	if (word(s.at[2]) != 1 && word(s.at[2]) != 2)
		wrong("packet: flags %#x", word(s.at[2]));
	if (memmem(file + s.at[1], s.len[1], " queue ", 7) == NULL)
		wrong("the comment names no queue: %.*s", (int)s.len[1], file + s.at[1]);
	packets++;
}

static void
statistics(size_t at, size_t end)
{
	struct seen s;

	if (word(at) >= ifaces)
		wrong("statistics of interface %u of %u", word(at), ifaces);
	options(at + 12, end, &s);
	if (s.n[4] != 1 || s.len[4] != 8 || s.n[5] != 1 || s.len[5] != 8)
		wrong("statistics without counts");
	stats++;
}

static void
judge(void)
{
	static const size_t fixed[] = {0, 8, 0, 0, 0, 12, 20};

	for (offset = 0; offset < size;) {
		uint32_t type, len;
		size_t at = offset + 8, end;

		if (size - offset < 12)
			wrong("%zu bytes are left", size - offset);
		type = word(offset);
		len = word(offset + 4);
		if (len < 12 || len % 4 != 0 || len > size - offset)
			wrong("length %u, %zu bytes are left", len, size - offset);
		end = offset + len - 4;
		if (word(end) != len)
			wrong("length %u at its beginning, %u at its end", len, word(end));
		if (offset == 0 && type != 0x0a0d0d0a)
			wrong("type %#x, not a section header", type);
		if (type < 7 && end - at < fixed[type])
			wrong("type %u of %u bytes", type, len);
		if (type == 0x0a0d0d0a)
			section(at, end);
		else if (type == 1)
			interface(at, end);
		else if (type == 6)
			packet(at, end);
		else if (type == 5)
			statistics(at, end);
		else
			wrong("type %#x", type);
		offset += len;
	}
}

int
main(int argc, char **argv)
{
	FILE *from = argc == 2 ? fopen(argv[1], "re") : NULL;

	file = malloc(MOST);
	if (from == NULL || file == NULL) {
		fprintf(stderr, "usage: pcapvalid FILE\n");
		return 2;
	}
	size = fread(file, 1, MOST, from);
	fclose(from);
	judge();
	printf("%u interfaces, %u packets, %u statistics\n", ifaces, packets, stats);
	free(file);
	return 0;
}
