/* SPDX-License-Identifier: BSD-2-Clause */
/* apconf.c: autopush by way of the driver sad, by line and by file. */
#include "apconf.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <stropts.h>
#include <ustreams.h>

#include "strtool.h"

enum { WORDS = 64 }; /* more on a line than can be legal */

int
apconf_open(void)
{
	int sad;

	if (!tool_library())
		return -1;
	sad = str_open("/dev/streams/clone/sad", O_RDWR);
	if (sad == -1)
		tool_complain("/dev/streams/clone/sad: %s", strerror(errno));
	return sad;
}

/* ---- words ------------------------------------------------------------------ */

static bool
number(const char *text, long least, long most, long *value)
{
	char *end;

	errno = 0;
	*value = strtol(text, &end, 10);
	return end != text && *end == '\0' && errno == 0 && *value >= least && *value <= most;
}

bool
apconf_major(int sad, const char *where, const char *text, unsigned int *major)
{
	struct strioctl ic = {SAD_MAJOR, 0, (int)strlen(text), (char *)(uintptr_t)text};
	long value;
	int found;

	if (number(text, 0, INT_MAX, &value)) {
		*major = (unsigned int)value;
		return true;
	}
	found = str_ioctl(sad, I_STR, &ic);
	if (found == -1)
		tool_complain("%s%s: no such driver; legal: the name or major number of one",
		    where, text);
	*major = (unsigned int)found;
	return found != -1;
}

bool
apconf_minor(const char *where, const char *text, int *minor)
{
	long value;

	if (!number(text, -1, INT_MAX, &value)) {
		tool_complain("%s%s: not a minor number; legal: 0, 1, ..., or -1 for all",
		    where, text);
		return false;
	}
	*minor = (int)value;
	return true;
}

static bool
is_anchor(const char *word)
{
	return strcmp(word, "anchor") == 0 || strcmp(word, "[anchor]") == 0;
}

static bool
is_module(int sad, const char *word)
{
	struct str_mlist one;
	struct str_list list = {1, &one};

	if (strlen(word) > FMNAMESZ)
		return false;
	snprintf(one.l_name, sizeof(one.l_name), "%s", word);
	return str_ioctl(sad, SAD_VML, &list) == 0;
}

/* The modules and the anchor among them. */
static bool
take_words(int sad, const char *where, struct strapush *sap, int n, char *const *words)
{
	for (int i = 0; i < n; i++) {
		if (is_anchor(words[i])) {
			if (sap->sap_npush == 0 || sap->sap_anchor != 0) {
				tool_complain("%s%s: once, behind a module", where, words[i]);
				return false;
			}
			sap->sap_anchor = sap->sap_npush;
			continue;
		}
		if (!is_module(sad, words[i])) {
			tool_complain("%s%s: no such module", where, words[i]);
			return false;
		}
		if (sap->sap_npush == MAXAPUSH) {
			tool_complain("%s%s: more than %d modules", where, words[i], MAXAPUSH);
			return false;
		}
		snprintf(sap->sap_list[sap->sap_npush++], FMNAMESZ + 1, "%s", words[i]);
	}
	if (sap->sap_npush == 0)
		tool_complain("%sno module is named", where);
	return sap->sap_npush > 0;
}

/* ---- the driver ---------------------------------------------------------------- */

static bool
refused(const char *where, const struct strapush *sap)
{
	static const struct {
		int error;
		const char *words;
	} reasons[] = {{EPERM, "only user 0 and who made the instance may set this"},
	    {EINVAL, "no such major number"}, {ENOSTR, "no driver has that major number"},
	    {EEXIST, "configured already"}, {ENODEV, "not configured"},
	    {ERANGE, "not the first minor of a range, or no range"}};
	int error = errno;
	const char *why = strerror(error);

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].error == error)
			why = reasons[i].words;
	tool_complain("%smajor %u minor %d: %s", where, sap->sap_major, (int)sap->sap_minor, why);
	return false;
}

bool
apconf_set(int sad, const char *where, unsigned int major, int minor, int last, int n,
    char *const *words)
{
	struct strapush sap = {.sap_common = {SAP_ONE, major, (unsigned int)minor,
				   (unsigned int)last, 0}};

	if (minor == APCONF_ALL)
		sap.sap_cmd = SAP_ALL;
	else if (last != 0 && last != minor)
		sap.sap_cmd = SAP_RANGE;
	if (!take_words(sad, where, &sap, n, words))
		return false;
	return str_ioctl(sad, SAD_SAP, &sap) == 0 || refused(where, &sap);
}

bool
apconf_clear(int sad, unsigned int major, int minor)
{
	struct strapush sap = {.sap_common = {SAP_CLEAR, major, (unsigned int)minor, 0, 0}};

	return str_ioctl(sad, SAD_SAP, &sap) == 0 || refused("", &sap);
}

bool
apconf_show(int sad, unsigned int major, int minor, FILE *to)
{
	struct strapush sap = {.sap_common = {0, major, (unsigned int)minor, 0, 0}};

	if (str_ioctl(sad, SAD_GAP, &sap) != 0)
		return refused("", &sap);
	fprintf(to, "     Major      Minor  Lastminor  Modules\n%10u", sap.sap_major);
	if (sap.sap_cmd == SAP_ALL)
		fprintf(to, " %10s %10s ", "ALL", "-");
	else
		fprintf(to, " %10u %10u ", sap.sap_minor, sap.sap_lastminor);
	for (unsigned int i = 0; i < sap.sap_npush; i++)
		fprintf(to, " %s%s", sap.sap_list[i], i + 1 == sap.sap_anchor ? " [anchor]" : "");
	fprintf(to, "\n");
	return true;
}

/* ---- files ------------------------------------------------------------------------ */

/* The words of a line up to a number sign. */
static int
split(char *line, char **words)
{
	int n = 0;
	char *rest = NULL;

	line[strcspn(line, "#\n")] = '\0';
	for (char *w = strtok_r(line, " \t\r", &rest); w != NULL && n < WORDS;
	     w = strtok_r(NULL, " \t\r", &rest))
		words[n++] = w;
	return n;
}

/* major minor lastminor module ... */
static bool
set_line(int sad, const char *where, int n, char **words)
{
	unsigned int major;
	int minor, last;

	if (n < 4) {
		tool_complain("%stoo few words; legal: major minor lastminor module ...", where);
		return false;
	}
	return apconf_major(sad, where, words[0], &major) &&
	    apconf_minor(where, words[1], &minor) && apconf_minor(where, words[2], &last) &&
	    apconf_set(sad, where, major, minor, last, n - 3, words + 3);
}

int
apconf_file(int sad, const char *name, FILE *from)
{
	char *line = NULL, *words[WORDS];
	size_t room = 0;
	int bad = 0;

	for (int at = 1; getline(&line, &room, from) != -1; at++) {
		char where[4200];
		int n = split(line, words);

		snprintf(where, sizeof(where), "%s:%d: ", name, at);
		if (n > 0 && !set_line(sad, where, n, words))
			bad++;
	}
	free(line);
	return bad;
}
