// SPDX-License-Identifier: BSD-3-Clause
// Counting of jansson's allocation failures.

#include <tl_json.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local unsigned failures; // since the last check: jansson's allocator has no context

static void *allocate(size_t bytes)
{
	void *memory = malloc(bytes);

	failures += memory == NULL;
	return memory;
}

void tl_json_init(void)
{
	json_set_alloc_funcs(allocate, free);
}

int tl_json_check(const json_t *value)
{
	unsigned lost = failures;

	failures = 0;
	return value != NULL && lost == 0 ? 0 : -ENOMEM;
}

char *tl_json_text(const json_t *value, size_t flags)
{
	char *text = tl_json_check(value) == 0 ? json_dumps(value, flags | JSON_ENSURE_ASCII) : NULL;

	// json_dumps() of jansson 2.14 omits a key if allocation fails (do_dump ignores the result of dump_string).
	if (tl_json_check(value) == 0)
		return text;
	free(text);
	return NULL;
}

json_t *tl_json_string(const char *text)
{
	if (text == NULL)
		return json_null();
	json_t *exact = json_string(text);
	size_t n = strlen(text);
	char *shown = exact == NULL ? allocate(n + 1) : NULL;

	if (shown == NULL)
		return exact;
	for (size_t i = 0; i < n; i++)
		shown[i] = (unsigned char)text[i] < 0x80 ? text[i] : '?';
	json_t *string = json_stringn(shown, n);
	free(shown);
	return string;
}

json_t *tl_json_number(uint64_t value)
{
	return json_integer((json_int_t)tl_min_u64(value, INT64_MAX));
}

json_t *tl_json_number_if(bool known, uint64_t value)
{
	return known ? tl_json_number(value) : json_null();
}

void tl_json_put_counters(json_t *object, const struct tl_counter *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		json_object_set_new(object, rows[i].name, tl_json_number(rows[i].value));
}

// Inside of <script> only '<' could end the JSON, or open an element that ends elsewhere; JSON has it in strings only.
static int write_escaped(const char *text, size_t size, void *ctx)
{
	FILE *out = ctx;

	for (size_t i = 0; i < size; i++) {
		if (text[i] == '<')
			fputs("\\u003c", out);
		else
			fputc(text[i], out);
	}
	return 0;
}

int tl_json_page(const char *page, size_t page_bytes, const json_t *value, size_t flags, FILE *out)
{
	static const char mark[] = "@REPORT@";
	const char *place = memmem(page, page_bytes, mark, strlen(mark));
	size_t before = (size_t)(place - page);
	int rc = tl_json_check(value);

	if (rc != 0)
		return rc;
	fwrite(page, 1, before, out);
	if (json_dump_callback(value, write_escaped, out, JSON_COMPACT | flags) != 0)
		return -EIO;
	fwrite(place + strlen(mark), 1, page_bytes - before - strlen(mark), out);
	return ferror(out) == 0 ? 0 : -EIO;
}
