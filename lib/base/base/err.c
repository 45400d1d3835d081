// SPDX-License-Identifier: BSD-3-Clause
// Error messages, formatted into the caller's struct tl_err.

#include <tl_err.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int tl_fail(struct tl_err *err, int code, const char *fmt, ...)
{
	if (err == NULL)
		return code;
	va_list args;
	va_start(args, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, args);
	va_end(args);
	return code;
}

static void append(struct tl_err *err, const char *more)
{
	size_t used = strlen(err->text);
	size_t len = strnlen(more, sizeof(err->text) - 1 - used);

	memcpy(err->text + used, more, len);
	err->text[used + len] = '\0';
}

int tl_fail_at(struct tl_err *err, int code, const char *prefix_fmt, ...)
{
	if (err == NULL)
		return code;
	struct tl_err inner = *err;
	va_list args;
	va_start(args, prefix_fmt);
	vsnprintf(err->text, sizeof(err->text), prefix_fmt, args);
	va_end(args);
	append(err, ": ");
	append(err, inner.text);
	return code;
}
