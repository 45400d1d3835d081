// SPDX-License-Identifier: BSD-3-Clause
// Prints the results of a command, and says when that fails: a full disk, a pipe without a reader.

#include "results.h"

#include <errno.h>
#include <string.h>

#include <tl_log.h>

static int fail(int code)
{
	tl_error("cannot print the results: %s", strerror(code));
	return -code;
}

int tl_results_json(json_t *value, FILE *out)
{
	if (value == NULL)
		return fail(ENOMEM);
	errno = EIO; // where jansson does not say why
	int rc = json_dumpf(value, out, JSON_INDENT(2));
	int code = errno;
	json_decref(value);
	if (rc != 0)
		return fail(code);
	fputc('\n', out);
	return tl_results_flush(out);
}

int tl_results_flush(FILE *out)
{
	errno = EIO; // of an earlier call, which is forgotten
	return fflush(out) == 0 && !ferror(out) ? 0 : fail(errno);
}
