// SPDX-License-Identifier: BSD-3-Clause
// Print the results of a command, and report output errors: a full disk, a pipe without a reader.

#include "results.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tl_json.h>
#include <tl_log.h>

static int fail(int code)
{
	tl_error("cannot print the results: %s",
		code == ENOMEM ? "the report is incomplete: no memory" : strerror(code));
	return -code;
}

int tl_results_json(json_t *value, FILE *out)
{
	char *text = tl_json_text(value, JSON_INDENT(2)); // complete output, or none

	json_decref(value);
	if (text == NULL)
		return fail(ENOMEM);
	fprintf(out, "%s\n", text);
	free(text);
	return tl_results_flush(out);
}

int tl_results_flush(FILE *out)
{
	errno = EIO; // errno of an earlier call is lost
	return fflush(out) == 0 && !ferror(out) ? 0 : fail(errno);
}
