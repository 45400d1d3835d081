// SPDX-License-Identifier: BSD-3-Clause
// Show pages, in place on a terminal.

#include "screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <tl_top.h>

static bool in_place(void)
{
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && term != NULL && strcmp(term, "dumb") != 0;
}

bool tl_screen_show(const char *page)
{
	struct winsize size;

	if (in_place()) {
		bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0 && size.ws_row != 0;
		tl_top_show(stdout, page, known ? size.ws_col : 80, known ? size.ws_row : 24);
	} else {
		printf("%s\n", page);
	}
	return fflush(stdout) == 0;
}
