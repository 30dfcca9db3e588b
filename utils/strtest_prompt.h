/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_prompt.h: commands typed one by one (strtest -i). */
#ifndef STRTEST_PROMPT_H
#define STRTEST_PROMPT_H

/* The whole dialogue; the exit status. */
int prompt_run(void);

#endif
