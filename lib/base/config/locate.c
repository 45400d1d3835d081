// SPDX-License-Identifier: BSD-3-Clause
// Position in the file: the JSON path while reading, and its line after an error.

#include "config_priv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_err.h>

#define QUOTE_BYTES 64 // limit for a refused value in a message

// Position in the text. jansson has accepted it as valid JSON, so the walk only has to navigate; it still never passes
// end.
struct cursor {
	const char *at, *end;
};

static bool is_at(const struct cursor *c, char wanted)
{
	return c->at < c->end && *c->at == wanted;
}

static bool is_at_any(const struct cursor *c, const char *set)
{
	return c->at < c->end && *c->at != '\0' && strchr(set, *c->at) != NULL;
}

static void skip_space(struct cursor *c)
{
	while (is_at_any(c, " \t\r\n"))
		c->at++;
}

// Skip from the opening quote to after the closing one.
static void skip_string(struct cursor *c)
{
	for (c->at++; c->at < c->end && *c->at != '"'; c->at++) {
		if (*c->at == '\\' && c->at + 1 < c->end)
			c->at++;
	}
	if (c->at < c->end)
		c->at++;
}

static void skip_value(struct cursor *c)
{
	unsigned depth = 0;

	do {
		if (is_at(c, '"')) {
			skip_string(c);
			continue;
		}
		if (is_at_any(c, "{["))
			depth++;
		else if (is_at_any(c, "}]"))
			depth--;
		c->at++;
	} while (c->at < c->end && (depth > 0 || !is_at_any(c, ",}] \t\r\n")));
}

// True if the quoted text from start to c->at equals the key, with escapes resolved.
static bool spells(const struct cursor *c, const char *start, const char *key)
{
	json_t *string = json_loadb(start, (size_t)(c->at - start), JSON_DECODE_ANY, NULL);
	bool same = json_is_string(string) && strcmp(json_string_value(string), key) == 0;

	json_decref(string);
	return same;
}

// Move from the start of an object or array to the start of one of its values. If there is none, the cursor is invalid.
static bool step_into(struct cursor *c, const struct tl_config_step *step)
{
	if (!is_at(c, step->key != NULL ? '{' : '['))
		return false;
	for (size_t i = 0; c->at < c->end && !is_at_any(c, "}]"); i++) {
		bool found = i == step->index;
		c->at++; // the bracket, or the comma before the next one
		skip_space(c);
		if (is_at_any(c, "}]"))
			return false;
		if (step->key != NULL) {
			const char *key = c->at;
			skip_string(c);
			found = spells(c, key, step->key);
			skip_space(c);
			c->at += is_at(c, ':');
			skip_space(c);
		}
		if (found)
			return true;
		skip_value(c);
		skip_space(c);
	}
	return false;
}

// Move from the start of a value of an array to that of a later one. If there is none, return false.
static bool step_on(struct cursor *c, size_t values)
{
	for (size_t i = 0; i < values; i++) {
		skip_value(c);
		skip_space(c);
		if (!is_at(c, ','))
			return false;
		c->at++;
		skip_space(c);
	}
	return c->at < c->end;
}

static bool is_same_step(const struct tl_config_step *a, const struct tl_config_step *b)
{
	if (a->key == NULL || b->key == NULL)
		return a->key == b->key && a->index == b->index;
	return strcmp(a->key, b->key) == 0;
}

static unsigned count_lines(const char *from, const char *to)
{
	unsigned lines = 0;

	for (; from < to; from++)
		lines += *from == '\n';
	return lines;
}

// Begin with the document, and return the number of steps that the current path shares with that of the found value.
static unsigned find_shared(struct tl_config_reader *r)
{
	struct tl_config_found *found = &r->found;
	struct cursor c = {.at = r->text, .end = r->text + r->len};
	unsigned depth = 0;

	skip_space(&c);
	found->at[0] = c.at;
	found->line[0] = 1 + count_lines(r->text, c.at);
	while (depth < r->path.depth && depth < found->path.depth &&
		is_same_step(&r->path.step[depth], &found->path.step[depth]))
		depth++;
	return depth;
}

// Return the number of values between the found one and that of the current path in the same array; 0: none.
static size_t values_between(const struct tl_config_reader *r, unsigned depth)
{
	const struct tl_config_step *step = &r->path.step[depth], *before = &r->found.path.step[depth];
	bool is_beside = depth < r->path.depth && depth < r->found.path.depth && step->key == NULL &&
			 before->key == NULL && step->index > before->index;

	return is_beside ? step->index - before->index : 0;
}

unsigned tl_config_line(struct tl_config_reader *r)
{
	struct tl_config_found *found = &r->found;

	if (r->text == NULL)
		return 0;
	unsigned depth = find_shared(r);
	size_t between = values_between(r, depth);
	for (; depth < r->path.depth; depth++, between = 0) {
		unsigned from = between != 0 ? depth + 1 : depth;
		struct cursor c = {.at = found->at[from], .end = r->text + r->len};
		if (!(between != 0 ? step_on(&c, between) : step_into(&c, &r->path.step[depth])))
			break;
		found->line[depth + 1] = found->line[from] + count_lines(found->at[from], c.at);
		found->at[depth + 1] = c.at;
	}
	found->path = r->path;
	found->path.depth = depth;
	return found->line[depth];
}

void tl_config_enter(struct tl_config_reader *r, const char *key)
{
	r->path.step[r->path.depth++] = (struct tl_config_step){.key = key};
}

void tl_config_enter_index(struct tl_config_reader *r, size_t index)
{
	r->path.step[r->path.depth++] = (struct tl_config_step){.index = index};
}

void tl_config_leave(struct tl_config_reader *r)
{
	r->path.depth--;
}

void tl_config_point_at(struct tl_config_reader *r, const char *section, uint32_t index, const char *key)
{
	r->path.depth = 0;
	tl_config_enter(r, section);
	tl_config_enter_index(r, index);
	if (key != NULL)
		tl_config_enter(r, key);
}

// Format as "$.ports[1].ip".
static void format_path(char *buf, size_t size, const struct tl_config_path *path)
{
	size_t used = (size_t)snprintf(buf, size, "$");

	for (unsigned i = 0; i < path->depth && used < size; i++) {
		const struct tl_config_step *step = &path->step[i];
		int n = step->key != NULL ? snprintf(buf + used, size - used, ".%s", step->key)
					  : snprintf(buf + used, size - used, "[%zu]", step->index);
		used += (size_t)n;
	}
}

// Option as written by the user for the current key on the command line; NULL: none.
static const char *option_at_hand(const struct tl_config_reader *r)
{
	for (unsigned depth = r->path.depth; depth > 0; depth--) {
		const char *key = r->path.step[depth - 1].key;
		for (size_t i = 0; key != NULL && i < r->n_options; i++)
			if (strcmp(r->options[i].key, key) == 0)
				return r->options[i].option;
	}
	return NULL;
}

int tl_config_refuse(struct tl_config_reader *r, const char *fmt, ...)
{
	char path[128], sentence[sizeof(r->err->text)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, args);
	va_end(args);
	format_path(path, sizeof(path), &r->path);
	if (r->text == NULL) {
		const char *option = option_at_hand(r);
		return tl_fail(r->err, -EINVAL, "%s: %s", option != NULL ? option : path, sentence);
	}
	return tl_fail(r->err, -EINVAL, "%s:%u: %s: %s", r->name, tl_config_line(r), path, sentence);
}

// Truncate at a character boundary, and mark the truncation.
static void cut(char *text, size_t max)
{
	if (strlen(text) <= max)
		return;
	size_t end = max;
	while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80)
		end--;
	text[end] = '\0';
}

int tl_config_not(struct tl_config_reader *r, const json_t *value, const char *wanted)
{
	char *shown = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);

	if (shown == NULL)
		return tl_config_refuse(r, "is not %s", wanted);
	bool whole = strlen(shown) <= QUOTE_BYTES;
	cut(shown, QUOTE_BYTES);
	int rc = tl_config_refuse(r, "%s%s is not %s", shown, whole ? "" : "...", wanted);
	free(shown);
	return rc;
}
