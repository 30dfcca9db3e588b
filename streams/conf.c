/* SPDX-License-Identifier: BSD-2-Clause */
/* conf.c: the modules and drivers that come with the library. */
#include "registry.h"

#include <sys/keeps.h>

extern struct streamtab pipeinfo, echoinfo, nulsinfo;
extern struct streamtab cloneinfo, loopinfo, muxinfo, sadinfo;
extern struct streamtab loginfo;
extern struct streamtab pipemodinfo, nullmodinfo, testmodinfo, srvmodinfo, bufmodinfo;
extern struct streamtab fifoinfo, connldinfo;

/* Numbers, a line of them at most. */
static const struct keeps a_line[KEEP_KINDS] = { [KEEP_OF_PAIR] = { LINE, { { 0, KEEP_NOTHING } } } };

const struct conf conf_table[] = {
	{ "pipemod", &pipemodinfo, D_MP, false, NULL },
	{ "nullmod", &nullmodinfo, D_MP, false, a_line },
	{ "srvmod", &srvmodinfo, D_MP, false, NULL },
	{ "bufmod", &bufmodinfo, D_MP | D_MTQPAIR, false, bufmodkeeps },
	{ "testmod", &testmodinfo, D_MP | D_MTQPAIR, false, testmodkeeps },
	{ "pipe", &pipeinfo, D_MP | USTR_INDEPENDENT, true, NULL },
	{ "connld", &connldinfo, D_MP, false, NULL },
	{ "fifo", &fifoinfo, D_MP | USTR_INDEPENDENT, true, NULL },
	{ "echo", &echoinfo, D_MP | USTR_INDEPENDENT, true, NULL },
	{ "nuls", &nulsinfo, D_MP | USTR_INDEPENDENT, true, NULL },
	{ "clone", &cloneinfo, D_MP | USTR_INDEPENDENT, true, NULL },
	{ "loop", &loopinfo, D_MTPERMOD, true, loopkeeps },
	{ "mux", &muxinfo, D_MTPERMOD, true, muxkeeps },
	{ "sad", &sadinfo, D_MP | USTR_INDEPENDENT, true, NULL },
	{ "log", &loginfo, D_MP | D_MTPERMOD, true, NULL },
	{ NULL, NULL, 0, false, NULL },
};
