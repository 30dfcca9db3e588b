/* SPDX-License-Identifier: BSD-2-Clause */
/* conf.c: the modules and drivers that come with the library. */
#include "registry.h"

extern struct streamtab pipeinfo, echoinfo, nulsinfo;
extern struct streamtab cloneinfo, loopinfo, muxinfo, sadinfo;
extern struct streamtab loginfo;
extern struct streamtab pipemodinfo, nullmodinfo, testmodinfo, srvmodinfo, bufmodinfo;
extern struct streamtab fifoinfo, connldinfo;

const struct conf conf_table[] = {
	{ "pipemod", &pipemodinfo, D_MP, false },
	{ "nullmod", &nullmodinfo, D_MP, false },
	{ "srvmod", &srvmodinfo, D_MP, false },
	{ "bufmod", &bufmodinfo, D_MP | D_MTQPAIR, false },
	{ "testmod", &testmodinfo, D_MP | D_MTQPAIR, false },
	{ "pipe", &pipeinfo, D_MP | USTR_INDEPENDENT, true },
	{ "connld", &connldinfo, D_MP, false },
	{ "fifo", &fifoinfo, D_MP | USTR_INDEPENDENT, true },
	{ "echo", &echoinfo, D_MP | USTR_INDEPENDENT, true },
	{ "nuls", &nulsinfo, D_MP | USTR_INDEPENDENT, true },
	{ "clone", &cloneinfo, D_MP | USTR_INDEPENDENT, true },
	{ "loop", &loopinfo, D_MTPERMOD, true },
	{ "mux", &muxinfo, D_MTPERMOD, true },
	{ "sad", &sadinfo, D_MP | USTR_INDEPENDENT, true },
	{ "log", &loginfo, D_MP | D_MTPERMOD, true },
	{ NULL, NULL, 0, false },
};
