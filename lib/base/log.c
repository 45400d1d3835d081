// SPDX-License-Identifier: BSD-3-Clause
// One line on stderr per message, written in one call so that lines of several threads do not mix.

#include <tl_log.h>

#include <stdarg.h>
#include <stdio.h>

static void print_line(const char *prefix, const char *fmt, va_list args)
{
	char text[1024];

	vsnprintf(text, sizeof(text), fmt, args);
	fprintf(stderr, "tapline: %s%s\n", prefix, text);
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
