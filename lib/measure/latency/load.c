// SPDX-License-Identifier: BSD-3-Clause
// Loader of a report from a file: JSON, or a page that contains it.

#include "latency_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// Read the whole file, and append a NUL. Return NULL with errno.
static char *read_whole(const char *path, size_t *out_bytes)
{
	size_t room = 1 << 16, bytes = 0, got;
	char *text = NULL, *grown;
	FILE *in = fopen(path, "re");

	if (in == NULL)
		return NULL;
	do {
		room *= 2;
		grown = realloc(text, room);
		if (grown == NULL)
			break;
		text = grown;
		got = fread(text + bytes, 1, room - 1 - bytes, in);
		bytes += got;
	} while (got != 0);
	int code = grown == NULL ? ENOMEM : ferror(in) ? EIO : 0;
	fclose(in);
	if (code != 0) {
		free(text);
		errno = code;
		return NULL;
	}
	text[bytes] = '\0';
	*out_bytes = bytes;
	return text;
}

// Return the JSON in a page, or the whole text if it is not a page.
static const char *find_json(const char *text, size_t *bytes)
{
	const char *begin = strstr(text, TL_LATENCY_TAG);
	const char *end = begin != NULL ? strstr(begin, "</script") : NULL;

	if (end == NULL)
		return text;
	begin += strlen(TL_LATENCY_TAG);
	*bytes = (size_t)(end - begin);
	return begin;
}

static int parse(const char *text, size_t bytes, struct tl_latency **out, struct tl_err *err)
{
	json_error_t at;
	const char *begin = find_json(text, &bytes);
	json_t *json = json_loadb(begin, bytes, JSON_REJECT_DUPLICATES, &at);

	if (json == NULL && begin != text)
		return tl_fail(err, -EINVAL, "the report in the page: %s", at.text);
	if (json == NULL)
		return tl_fail(err, -EINVAL, "not a report, neither JSON nor a page: line %d: %s", at.line, at.text);
	int rc = tl_latency_from_json(json, out, err);
	json_decref(json);
	return rc;
}

int tl_latency_load(const char *path, struct tl_latency **out, struct tl_err *err)
{
	size_t bytes;
	char *text = read_whole(path, &bytes);

	if (text == NULL)
		return tl_fail(err, -EINVAL, "%s: cannot be read: %s", path, strerror(errno));
	int rc = parse(text, bytes, out, err);
	free(text);
	return rc == 0 ? 0 : tl_fail_at(err, rc, "%s", path);
}
