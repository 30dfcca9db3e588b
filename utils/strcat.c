/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strcat.c: join standard input and output to a stream; strcat.h has the theory,
 * strcat_up.c and strcat_down.c the two directions, strcat_flow.c what they share.
 */
#include "strcat.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <stropts.h>
#include <ustreams.h>

#include "cutshort.h"
#include "modlist.h"
#include "strtool.h"

enum { ENDED = 1, USAGE = 2 };

static const char usage[] =
    "usage: strcat [-rwmxc] [-b BAND] [-i MODULES] [-q SECONDS] [-I INSTANCE] NAME\n"
    "join standard input and output to the stream of that name\n"
    "  -r, --read            only from the stream to standard output\n"
    "  -w, --write           only from standard input to the stream\n"
    "  -m, --messages        each line is a message, each message a line\n"
    "  -x, --hex             the same, lines in hexadecimal digits\n"
    "  -c, --control         with -m or -x: a control part stands first, then a tab\n"
    "  -b, --band BAND       send in this band, 0 to 255\n"
    "  -i, --push MODULES    push these while it runs, the first one at the bottom\n"
    "  -q, --quiet SECONDS   after the end of standard input end when nothing came\n"
    "                        for so long; default 1 with -m and -x, else never\n"
    "  -I, --instance NAME   the instance to meet in, instead of USTREAMS_INSTANCE\n"
    "exit status: 0 all was passed on, 1 the stream failed, 2 usage, 130 and the like "
    "signals";

/* ---- passing on ----------------------------------------------------------------------- */

static const int caught[] = {SIGINT, SIGTERM, SIGHUP};

/* A descriptor to hear of them: only between two calls, never inside of one. */
static int
catch_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
		if (signal(caught[i], SIG_DFL) != SIG_IGN)
			sigaddset(&set, caught[i]);
		else
			signal(caught[i], SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* End as the signal would have. */
static _Noreturn void
die_of(int sig)
{
	sigset_t none;

	signal(sig, SIG_DFL);
	raise(sig);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	_exit(128 + sig);
}

static double
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

enum { SIGNALS, SOURCE, SINK, INPUT, OUTPUT, NPOLLED };

struct cat {
	struct cat_options o;
	struct named n;
	struct cat_flow up, down;
	int signals;
	double quiet_until; /* -1: not yet, or never */
	struct pollfd p[NPOLLED];
};

static bool
finished(const struct cat *c)
{
	bool sends = (c->o.sides & SIDE_OUT) != 0, gets = (c->o.sides & SIDE_IN) != 0;

	if (gets && c->down.unwanted)
		return true;
	if (gets && c->down.done)
		return !sends || c->up.done || c->down.hung || c->down.status != 0;
	return sends && c->up.done && (!gets || c->up.status != 0);
}

/* Whether a hang-up must be looked for while there is nothing to send. */
static bool
watches(const struct cat *c)
{
	return (c->o.sides & SIDE_OUT) != 0 && !c->up.done &&
	    (c->o.sides == SIDE_OUT || c->down.done);
}

/* Entries that nobody waits for are left out: a hung-up one would be ready for ever. */
static void
wants(struct cat *c)
{
	struct pollfd *p = c->p, *out = c->n.in == c->n.out ? &p[INPUT] : &p[OUTPUT];

	p[SIGNALS] = (struct pollfd){c->signals, POLLIN, 0};
	p[SOURCE] = (struct pollfd){STDIN_FILENO, 0, 0};
	p[SINK] = (struct pollfd){STDOUT_FILENO, 0, 0};
	p[INPUT] = (struct pollfd){c->n.in, 0, 0};
	p[OUTPUT] = (struct pollfd){c->n.out, 0, 0};
	if ((c->o.sides & SIDE_IN) != 0)
		down_wants(&c->down, &p[INPUT], &p[SINK]);
	if ((c->o.sides & SIDE_OUT) != 0)
		up_wants(&c->up, &p[SOURCE], out);
	for (int i = SOURCE; i < NPOLLED; i++)
		if (p[i].events == 0 && !(&p[i] == out && watches(c)) &&
		    !(i == SINK && (c->o.sides & SIDE_IN) != 0 && !c->down.done))
			p[i].fd = -1;
}

/* Milliseconds to sleep at most. */
static int
patience(struct cat *c)
{
	double left;

	if (c->quiet_until < 0)
		return -1;
	left = c->quiet_until - now();
	return left <= 0 ? 0 : (int)fmin(ceil(left * 1e3), 1e9);
}

/* Whether stdout, the only thing its reader still wants, is gone. */
static bool
sink_gone(const struct cat *c)
{
	return c->p[SINK].fd != -1 && (c->p[SINK].revents & (POLLERR | POLLNVAL)) != 0 &&
	    c->down.whole == 0;
}

/* Whoever reads what is written has gone while there was nothing to write. */
static bool
reader_gone(struct cat *c, const struct pollfd *out)
{
	if (!watches(c) || (out->revents & (POLLERR | POLLHUP)) == 0)
		return false;
	if (c->o.sides != SIDE_OUT)
		return true; /* it had said its end before */
	cat_complain("%s: the other side has gone; what was not sent is lost", c->n.name);
	c->up.status = 1;
	return true;
}

/* One sleep and what it brings.  False: at an end. */
static bool
turn(struct cat *c)
{
	struct pollfd *out;
	size_t before = c->down.b.end;
	int ready;

	wants(c);
	out = c->n.in == c->n.out ? &c->p[INPUT] : &c->p[OUTPUT];
	ready = str_poll(c->p, NPOLLED, patience(c));
	if (ready == -1 && errno != EINTR && errno != EAGAIN) {
		cat_complain("poll: %s", strerror(errno));
		c->down.status = 1;
		return false;
	}
	if (ready == 0 && c->quiet_until >= 0)
		return false;
	if (ready <= 0)
		return true;
	if (c->p[SIGNALS].revents != 0 || sink_gone(c) || reader_gone(c, out))
		return false;
	if ((c->o.sides & SIDE_IN) != 0)
		down_go(&c->down, &c->p[INPUT], &c->p[SINK]);
	if ((c->o.sides & SIDE_OUT) != 0)
		up_go(&c->up, &c->p[SOURCE], out);
	if (c->o.quiet >= 0 && c->up.done && c->n.kind != NAME_FIFO &&
	    (c->quiet_until < 0 || c->down.b.end != before))
		c->quiet_until = now() + c->o.quiet;
	return true;
}

/* What is said and given at the end. */
static int
conclude(struct cat *c)
{
	int status = c->up.status != 0 ? c->up.status : c->down.status;
	size_t left = c->up.b.end - c->up.b.at;

	if (c->down.dropped > 0)
		cat_complain("%lu control part%s left out; -m -c shows them", c->down.dropped,
		    c->down.dropped == 1 ? "" : "s");
	if (status == 0 && c->p[SIGNALS].revents == 0 && c->down.done && left > 0 &&
	    !c->down.unwanted) {
		cat_complain("%s: hung up; %zu bytes were not sent", c->n.name, left);
		status = 1;
	}
	return status;
}

static int
pass_on(struct cat *c)
{
	struct signalfd_siginfo si = {0};
	int status;

	while (!finished(c) && turn(c))
		;
	status = conclude(c);
	if (c->p[SIGNALS].revents != 0 &&
	    read(c->signals, &si, sizeof(si)) == (ssize_t)sizeof(si))
		status = 128 + (int)si.ssi_signo;
	return status;
}

/* ---- the stream -------------------------------------------------------------------------- */

/* Take off again what was pushed, the last one first, as far as it still lies on top. */
static void
pop_ours(const struct cat *c)
{
	int fd = c->n.out != -1 ? c->n.out : c->n.in;
	char names[1024], top[FMNAMESZ + 1], *name;

	if (c->o.push == NULL || fd == -1)
		return;
	snprintf(names, sizeof(names), ",%s", c->o.push);
	while ((name = strrchr(names, ',')) != NULL) {
		*name++ = '\0';
		if (str_ioctl(fd, I_LOOK, top) == -1 || strcmp(top, name) != 0 ||
		    str_ioctl(fd, I_POP, 0) == -1)
			break;
	}
}

static int
run(struct cat *c)
{
	char bad[FMNAMESZ + 1];
	int error = name_open(&c->n, c->o.sides, true), fd, status;

	if (error != 0) {
		cat_complain("%s", name_why(&c->n, error));
		return error == ENXIO || error == ENOENT || error == EACCES ? USAGE : ENDED;
	}
	fd = c->n.out != -1 ? c->n.out : c->n.in;
	error = c->o.push != NULL ? modlist_push(fd, c->o.push, bad) : 0;
	if (error != 0) {
		cat_complain("%s", modlist_refusal(fd, bad, error));
		return USAGE;
	}
	c->signals = catch_signals();
	if (flow_init(&c->up, &c->o, &c->n) != 0 || flow_init(&c->down, &c->o, &c->n) != 0) {
		cat_complain("no memory");
		return ENDED;
	}
	status = pass_on(c);
	pop_ours(c);
	name_close(&c->n, SIDE_IN | SIDE_OUT);
	if (status > 128)
		die_of(status - 128);
	return status;
}

/* ---- the command line ---------------------------------------------------------------------- */

static const struct option longs[] = {{"read", no_argument, NULL, 'r'},
    {"write", no_argument, NULL, 'w'}, {"messages", no_argument, NULL, 'm'},
    {"hex", no_argument, NULL, 'x'}, {"control", no_argument, NULL, 'c'},
    {"band", required_argument, NULL, 'b'}, {"push", required_argument, NULL, 'i'},
    {"quiet", required_argument, NULL, 'q'}, {"instance", required_argument, NULL, 'I'},
    {NULL, 0, NULL, 0}};

static int
complain_usage(const char *what)
{
	cat_complain("%s; legal: strcat [-rwmxc] [-b BAND] [-i MODULES] [-q SECONDS] "
		     "[-I INSTANCE] NAME",
	    what);
	return USAGE;
}

static int
take_band(struct cat_options *o)
{
	char *end;
	long band = strtol(optarg, &end, 10);

	if (end == optarg || *end != '\0' || band < 0 || band > 255) {
		cat_complain("-b: '%s' is no band; legal: 0 to 255", optarg);
		return USAGE;
	}
	o->band = (int)band;
	return 0;
}

static int
take_quiet(struct cat_options *o)
{
	char *end;

	o->quiet = strtod(optarg, &end);
	if (end != optarg && *end == '\0' && o->quiet >= 0 && o->quiet <= 1e6)
		return 0;
	cat_complain("-q: '%s' is no time; legal: 0 to 1000000 seconds", optarg);
	return USAGE;
}

static int
take_option(struct cat_options *o, int got, char **argv)
{
	char what[200];

	switch (got) {
	case 'r': o->sides |= SIDE_IN; return 0;
	case 'w': o->sides |= SIDE_OUT; return 0;
	case 'x': o->hex = true; /* FALLTHROUGH */
	case 'm': o->messages = true; return 0;
	case 'c': o->control = true; return 0;
	case 'b': return take_band(o);
	case 'i': o->push = optarg; return 0;
	case 'q': return take_quiet(o);
	case 'I': o->instance = optarg; return 0;
	default:
		snprintf(what, sizeof(what), "%.100s: %s", tool_refused(argv),
		    got == ':' ? "its value is missing" : "no such option");
		return complain_usage(what);
	}
}

static int
settle(struct cat_options *o, int operands)
{
	if (operands != 1)
		return complain_usage(operands == 0 ? "which stream?" : "one stream at a time");
	if (o->sides == 0)
		o->sides = SIDE_IN | SIDE_OUT;
	else if (o->sides == (SIDE_IN | SIDE_OUT))
		return complain_usage("-r and -w: one way or the other; neither is both");
	if (o->control && !o->messages)
		return complain_usage("-c goes with -m or -x");
	if (o->band != 0 && o->sides == SIDE_IN)
		return complain_usage("-b is about what is sent, not with -r");
	if (isnan(o->quiet))
		o->quiet = o->messages ? 1 : -1;
	if (o->instance == NULL || (*o->instance != '\0' && str_instance(o->instance) == 0))
		return 0;
	cat_complain("-I: '%.80s' is no name of an instance; legal: 1 to 64 letters, digits, "
		     "'.', '_', '-', not beginning with '.'",
	    o->instance);
	return USAGE;
}

int
main(int argc, char **argv)
{
	static struct cat c = {.o = {.quiet = NAN}, .quiet_until = -1};
	char why[1200];
	int got, status;

	tool_begin("strcat");
	cutshort_begin("strcat", ENDED);
	tool_standard_options(argc, argv, usage);
	opterr = 0;
	while ((got = getopt_long(argc, argv, ":rwmxcb:i:q:I:", longs, NULL)) != -1) {
		status = take_option(&c.o, got, argv);
		if (status != 0)
			return status;
	}
	status = settle(&c.o, argc - optind);
	if (status != 0)
		return status;
	if (!tool_library())
		return USAGE;
	name_init(&c.n, argv[optind]);
	if (c.o.sides != (SIDE_IN | SIDE_OUT) &&
	    !name_can_meet(&c.n, c.o.instance, why, sizeof(why))) {
		cat_complain("%s", why);
		return USAGE;
	}
	return run(&c);
}
