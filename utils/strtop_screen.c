/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strtop_screen.c: strtop at a terminal.
 *
 *   list ──Enter──► one stream, drawn ──m──► the same, its messages below
 *    ▲                   │    ▲                  │
 *    └────────q──────────┘    └───────q, m───────┘
 *
 * Messages come from strtap, which takes part in the instance and switches the
 * recorder of the stream on, or, of a program without one, shows what is recorded
 * anyway; strtop itself only looks.
 */
#include "strtop.h"

#include <curses.h>
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lookopt.h"
#include "strtool.h"
#include "strtop_tap.h"

enum mode { LIST, STREAM, MESSAGES };
enum { SHORT = 10 }; /* of fewer lines the summary gets one, or none */
enum { WIDE = 110 };  /* of fewer columns the list and the keys are narrower */
enum { ASIDE = 8 };

struct screen {
	struct top *top;
	enum mode mode;
	unsigned int chosen; /* stream */
	bool picked;	     /* by the user; else it is the first of the list */
	size_t first;	     /* of the list that is shown */
	size_t down;	     /* lines of the drawing that are above the screen */
	size_t left;	     /* of it, too */
	bool paused;
	int error;	     /* of the last look */
	struct tap tap;
};

/* ---- drawing ----------------------------------------------------------------------- */

/* A line without its first characters, which are left of the screen. */
static void
put_line(int row, const char *line, size_t left)
{
	if (strlen(line) > left)
		mvaddnstr(row, 0, line + left, COLS);
}

/* Lines from row on, at most rows: the next row. */
static int
put_lines(int row, int rows, const struct lines *l, size_t from, size_t left)
{
	for (; from < l->n && rows > 0; from++, row++, rows--)
		put_line(row, l->line[from], left);
	return row;
}

static int
summary_rows(void)
{
	return LINES >= SHORT ? LINES - 1 : LINES > 3 ? 1 : 0;
}

/* The line of the list that is chosen; the first one when it is gone. */
static size_t
chosen_line(struct screen *s, const struct lines *l)
{
	for (size_t i = 1; s->picked && i < l->n; i++)
		if (l->id[i] == s->chosen)
			return i;
	s->picked = false;
	s->chosen = l->n > 1 ? l->id[1] : 0;
	return 1;
}

static void
draw_list(struct screen *s, int row)
{
	struct lines l;
	int rows = LINES - row - 2;
	size_t at;

	top_list(s->top, &l);
	at = chosen_line(s, &l);
	if (s->first < 1 || at < s->first)
		s->first = at;
	if (rows > 0 && at >= s->first + (size_t)rows)
		s->first = at - (size_t)rows + 1;
	attron(A_BOLD);
	mvaddnstr(row, 0, l.line[0], COLS);
	attroff(A_BOLD);
	put_lines(row + 1, rows, &l, s->first, 0);
	if (l.n > 1 && rows > 0)
		mvchgat(row + 1 + (int)(at - s->first), 0, -1, A_REVERSE, 0, NULL);
	lines_free(&l);
}

static void
draw_stream(struct screen *s, int row)
{
	int room = LINES - row - 1;
	struct lines l;

	top_stream(s->top, s->chosen, &l);
	if (s->mode == MESSAGES)
		room = LINES >= SHORT ? room - room / 2 : 0;
	if (room < 0 || l.n <= (size_t)room)
		s->down = 0;
	else if (s->down > l.n - (size_t)room)
		s->down = l.n - (size_t)room;
	row = put_lines(row, room, &l, s->down, s->left);
	lines_free(&l);
	if (s->mode == MESSAGES) {
		attron(A_BOLD);
		mvaddnstr(row++, 0, "messages, the latest last:", COLS);
		attroff(A_BOLD);
		for (int n = tap_shown(&s->tap, LINES - 1 - row); n > 0; n--)
			put_line(row++, tap_line(&s->tap, n), s->left);
	}
}

/* The keys, on the last line. */
static void
draw_keys(const struct screen *s)
{
	bool narrow = s->top->narrow;
	char text[256];
	size_t n;

	if (s->mode == LIST)
		n = (size_t)snprintf(text, sizeof(text), "order:");
	for (int i = 0; s->mode == LIST && i < TOP_SORTS; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, narrow ? " %c" : " %c %s",
		    top_orders[i].key, top_orders[i].word);
	if (s->mode == LIST)
		snprintf(text + n, sizeof(text) - n,
		    "%sEnter draw  m messages  + - delay  space %s  q end",
		    narrow ? "  " : "   ", s->paused ? "go on" : "stop");
	else
		snprintf(text, sizeof(text), "m %s  + - delay  space %s  q back",
		    s->mode == MESSAGES ? "no messages" : "messages",
		    s->paused ? "go on" : "stop");
	attron(A_REVERSE);
	mvhline(LINES - 1, 0, ' ', COLS);
	mvaddnstr(LINES - 1, 0, text, COLS - 1);
	attroff(A_REVERSE);
}

static void
draw(struct screen *s)
{
	char text[128];
	struct lines l;
	int row;

	erase();
	s->top->narrow = COLS < WIDE;
	top_summary(s->top, &l);
	row = put_lines(0, summary_rows(), &l, 0, 0);
	lines_free(&l);
	snprintf(text, sizeof(text), "it cannot be looked at any more: %s", lookopt_reason(s->error));
	if (s->error != 0 && row > 0)
		mvaddnstr(row - 1, 0, text, COLS);
	if (s->mode == LIST)
		draw_list(s, row);
	else
		draw_stream(s, row);
	draw_keys(s);
	refresh();
}

/* ---- keys ---------------------------------------------------------------------------- */

/* Up or down the drawing; draw_stream() knows where that ends. */
static void
scroll_drawing(struct screen *s, int by)
{
	if (by < 0 && (size_t)-by > s->down)
		s->down = 0;
	else
		s->down = (size_t)((long)s->down + by);
}

/* A drawing is 90 columns wide, messages are at most as wide as TAP_WIDTH. */
static void
move_aside(struct screen *s, int by)
{
	long to = (long)s->left + by;

	if (s->mode != LIST && to >= 0 && to < TAP_WIDTH)
		s->left = (size_t)to;
}

static void
move_choice(struct screen *s, int by)
{
	struct lines l;
	size_t at;

	if (s->mode != LIST) {
		scroll_drawing(s, by);
		return;
	}
	top_list(s->top, &l);
	at = chosen_line(s, &l);
	if (by < 0 && (size_t)-by >= at)
		at = 1;
	else
		at = (size_t)((long)at + by);
	if (at >= l.n)
		at = l.n - 1;
	if (at >= 1)
		s->chosen = l.id[at];
	s->picked = true;
	lines_free(&l);
}

/* What fits between summary, headings and keys. */
static int
page(void)
{
	int rows = LINES - (LINES >= SHORT ? 6 : 3);

	return rows > 0 ? rows : 1;
}

static void
messages(struct screen *s)
{
	if (s->mode == MESSAGES) {
		tap_end(&s->tap);
		s->mode = STREAM;
	} else {
		if (s->mode == LIST)
			s->down = s->left = 0;
		move_choice(s, 0);
		if (s->chosen == 0)
			return;
		tap_begin(&s->tap, s->top->where[0], s->top->where[1], s->chosen);
		s->mode = MESSAGES;
	}
}

/* One level back; false: that is the end. */
static bool
back(struct screen *s)
{
	if (s->mode == LIST)
		return false;
	if (s->mode == MESSAGES)
		messages(s);
	else
		s->mode = LIST;
	return true;
}

static void
change_delay(struct screen *s, double factor)
{
	double to = s->top->seconds * factor;

	if (to >= 0.1 && to <= 3600)
		s->top->seconds = to;
}

/* false: the end. */
static bool
act(struct screen *s, int key)
{
	for (int i = 0; i < TOP_SORTS; i++)
		if (key == top_orders[i].key)
			s->top->sort = (enum top_sort)i;
	switch (key) {
	case KEY_RESIZE:
	case '\f':
		clearok(curscr, TRUE);
		break;
	case KEY_UP:
	case 'k':
		move_choice(s, -1);
		break;
	case KEY_DOWN:
	case 'j':
		move_choice(s, 1);
		break;
	case KEY_LEFT:
		move_aside(s, -ASIDE);
		break;
	case KEY_RIGHT:
		move_aside(s, ASIDE);
		break;
	case KEY_PPAGE:
		move_choice(s, -page());
		break;
	case KEY_NPAGE:
		move_choice(s, page());
		break;
	case '\n':
	case '\r':
	case KEY_ENTER:
		move_choice(s, 0);
		if (s->mode == LIST && s->chosen != 0) {
			s->mode = STREAM;
			s->down = s->left = 0;
		}
		break;
	case 'm':
		messages(s);
		break;
	case '+':
		change_delay(s, 2);
		break;
	case '-':
		change_delay(s, 0.5);
		break;
	case ' ':
		s->paused = !s->paused;
		break;
	case 'q':
	case 27:
		return back(s);
	}
	return true;
}

/* ---- the loop --------------------------------------------------------------------------- */

static double
now_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int
watch(struct screen *s)
{
	double next = now_seconds() + s->top->seconds;

	for (;;) {
		double left = next - now_seconds();
		int key;

		draw(s);
		if (s->mode == MESSAGES && left > 0.2)
			left = 0.2;
		timeout(left > 0 ? (int)(left * 1000) + 1 : 0);
		key = getch();
		if (key == ERR && errno != EINTR && !isatty(STDIN_FILENO))
			return TOOL_OK;
		if (key != ERR && !act(s, key))
			return TOOL_OK;
		tap_read(&s->tap);
		if (now_seconds() < next)
			continue;
		if (!s->paused)
			s->error = top_advance(s->top);
		next = now_seconds() + s->top->seconds;
	}
}

/* NULL after a line. */
static SCREEN *
open_terminal(void)
{
	const char *type = getenv("TERM") != NULL ? getenv("TERM") : "", *cup;
	SCREEN *terminal = newterm(NULL, stdout, stdin);

	if (terminal == NULL) {
		tool_complain("terminals of type \"%s\" are not known; set TERM, or use -b", type);
		return NULL;
	}
	cup = tigetstr("cup");
	if (cup == NULL || cup == (const char *)-1) {
		delscreen(terminal);
		tool_complain("terminals of type \"%s\" cannot move the cursor; set TERM, or use -b",
		    type);
		return NULL;
	}
	return terminal;
}

int
screen_run(struct top *t)
{
	struct screen s = {.top = t, .tap.fd = -1};
	SCREEN *terminal;
	int status;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		tool_complain("no terminal; use -b to print text");
		return TOOL_USAGE;
	}
	setlocale(LC_CTYPE, "");
	terminal = open_terminal();
	if (terminal == NULL)
		return TOOL_USAGE;
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	set_escdelay(25);
	curs_set(0);
	status = watch(&s);
	tap_end(&s.tap);
	endwin();
	delscreen(terminal);
	return status;
}
