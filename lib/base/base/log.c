// SPDX-License-Identifier: BSD-3-Clause
// Log lines on stderr, one write per line so that threads do not mix. Control characters are escaped.

#include <tl_log.h>

#include <stdarg.h>
#include <stdio.h>

#include <tl_text.h>

#define LINE_BYTES 1024u

static void print_line(const char *prefix, const char *fmt, va_list args)
{
	char text[LINE_BYTES], shown[2 * LINE_BYTES];

	vsnprintf(text, sizeof(text), fmt, args);
	fprintf(stderr, "tapline: %s%s\n", prefix, tl_printable(text, shown, sizeof(shown)));
}

void tl_info(const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	print_line("", fmt, args);
	va_end(args);
}

void tl_warn(const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	print_line("warning: ", fmt, args);
	va_end(args);
}

void tl_error(const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	print_line("error: ", fmt, args);
	va_end(args);
}
