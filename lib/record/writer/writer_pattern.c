// SPDX-License-Identifier: BSD-3-Clause
// File names: strftime conversions in UTC, numbers for names that are taken, and recognition of our names.

#include "writer_priv.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_DIGITS 5 // at least

// Conversions to digits only, of constant length: names then sort by time and match exactly.
static const struct {
	char letter;
	uint8_t digits;
} conversions[] = {{'Y', 4}, {'m', 2}, {'d', 2}, {'H', 2}, {'M', 2}, {'S', 2}, {'j', 3}, {'y', 2}, {'s', 10}};

// Number of digits of a conversion; 0: unknown.
static uint32_t digits_of(char letter)
{
	for (size_t i = 0; i < TL_ARRAY_LEN(conversions); i++)
		if (conversions[i].letter == letter)
			return conversions[i].digits;
	return 0;
}

// Copy text with %F and %T expanded to their parts. Return its length, or 0 if it does not fit.
static size_t spell_out(const char *text, char *out, size_t size)
{
	size_t used = 0;

	while (*text != '\0' && used < size) {
		bool conversion = text[0] == '%' && text[1] != '\0';
		const char *as = NULL;
		if (conversion && text[1] == 'F')
			as = "%Y-%m-%d";
		else if (conversion && text[1] == 'T')
			as = "%H:%M:%S";
		int len = conversion ? 2 : 1;
		used += (size_t)snprintf(
			out + used, size - used, "%.*s", as != NULL ? INT_MAX : len, as != NULL ? as : text);
		text += len;
	}
	return used < size ? used : 0;
}

// Check the conversions, and compute the length of their expansion.
static int measure(const char *text, uint32_t *out_chars, char *out_wrong)
{
	*out_chars = 0;
	for (; *text != '\0'; text++) {
		uint32_t chars = 1;
		if (*text == '%') {
			text++;
			chars = *text == '%' ? 1 : digits_of(*text);
			*out_wrong = *text;
			if (chars == 0)
				return -EINVAL;
		}
		*out_chars += chars;
	}
	return 0;
}

static int split(struct tl_writer_pattern *pattern, const char *path, struct tl_err *err)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash != NULL ? slash + 1 : path;
	size_t dir_len = (size_t)(base - path);

	if (dir_len >= sizeof(pattern->dir) || strlen(base) > sizeof(pattern->base) - 1)
		return tl_fail(err, -ENAMETOOLONG, "%.300s: the name is too long", path);
	if (memchr(path, '%', dir_len) != NULL)
		return tl_fail(err, -EINVAL, "%.300s: only the name of the file may hold %%, not its directory", path);
	memcpy(pattern->dir, path, dir_len);
	strcpy(pattern->base, base);
	if (spell_out(base, pattern->stem, sizeof(pattern->stem)) == 0)
		return tl_fail(err, -EINVAL, "%.300s: name a file", path);
	// A leading dot hides a file, and a dot before a conversion is part of the name: neither starts a suffix.
	char *dot = strrchr(pattern->stem, '.');
	if (dot != NULL && dot != pattern->stem && strchr(dot, '%') == NULL) {
		strcpy(pattern->suffix, dot);
		*dot = '\0';
	}
	return 0;
}

int tl_writer_pattern_init(struct tl_writer_pattern *pattern, const char *path, struct tl_err *err)
{
	char wrong;

	memset(pattern, 0, sizeof(*pattern));
	int rc = split(pattern, path, err);
	if (rc != 0)
		return rc;
	if (measure(pattern->stem, &pattern->stem_chars, &wrong) != 0)
		return tl_fail(err, -EINVAL,
			"%.300s: %%%c is not a conversion for file names; use %%Y %%m %%d %%H %%M %%S %%j %%y %%s %%F %%T, "
			"or %%%% for a percent sign",
			path, wrong != '\0' ? wrong : ' ');
	size_t longest = pattern->stem_chars + strlen(pattern->suffix) + strlen("_1234567890" TL_WRITER_PART);
	if (longest > NAME_MAX)
		return tl_fail(err, -ENAMETOOLONG, "%.300s: the name is too long", path);
	return 0;
}

int tl_writer_check_path(const char *path, struct tl_err *err)
{
	struct tl_writer_pattern pattern;

	return tl_writer_pattern_init(&pattern, path, err);
}

static void put_time(char *out, size_t size, char letter, time_t when)
{
	struct tm utc;

	if (letter == 's') // strftime interprets the fields of %s as local time
		snprintf(out, size, "%010lld", (long long)when);
	else if (letter == '%')
		snprintf(out, size, "%%");
	else if (strftime(out, size, (char[]){'%', letter, '\0'}, gmtime_r(&when, &utc)) == 0)
		*out = '\0';
}

char *tl_writer_pattern_expand(const struct tl_writer_pattern *pattern, time_t when, uint32_t number)
{
	char stem[NAME_MAX + 1], suffix[NAME_MAX + 16];
	size_t used = 0;
	char *path;

	for (const char *p = pattern->stem; *p != '\0' && used + 1 < sizeof(stem); p++) {
		if (*p == '%')
			put_time(stem + used, sizeof(stem) - used, *++p, when);
		else
			snprintf(stem + used, sizeof(stem) - used, "%c", *p);
		used += strlen(stem + used);
	}
	stem[used] = '\0';
	if (number == 0)
		snprintf(suffix, sizeof(suffix), "%s", pattern->suffix);
	else
		snprintf(suffix, sizeof(suffix), "_%0*u%s", NUMBER_DIGITS, number, pattern->suffix);
	return asprintf(&path, "%s%s%s", pattern->dir, stem, suffix) < 0 ? NULL : path;
}

char *tl_writer_name_at(const char *path, time_t when)
{
	struct tl_writer_pattern pattern;

	return tl_writer_pattern_init(&pattern, path, NULL) != 0 ? NULL : tl_writer_pattern_expand(&pattern, when, 0);
}

char *tl_writer_pattern_hidden(const struct tl_writer_pattern *pattern, uint32_t number)
{
	char *path;
	int rc = number == 0 ? asprintf(&path, "%s.%s.next", pattern->dir, pattern->base)
			     : asprintf(&path, "%s.%s~%u.next", pattern->dir, pattern->base, number);

	return rc < 0 ? NULL : path;
}

// Match the stem. Return the rest of name, or NULL.
static const char *match_stem(const char *stem, const char *name)
{
	for (; *stem != '\0'; stem++) {
		uint32_t digits = *stem == '%' && *++stem != '%' ? digits_of(*stem) : 0;
		if (digits == 0 && *name++ != *stem)
			return NULL;
		if (strspn(name, "0123456789") < digits)
			return NULL;
		name += digits;
	}
	return name;
}

// Parse the number at the start of name, exactly as expand writes it. Return its number of digits, 0 if there is none.
static size_t match_number(const char *name, uint32_t *out)
{
	size_t digits = strspn(name, "0123456789");
	uint64_t number;

	if (digits < NUMBER_DIGITS || digits > 10 || (digits > NUMBER_DIGITS && *name == '0'))
		return 0;
	number = strtoull(name, NULL, 10);
	*out = (uint32_t)number;
	return number != 0 && number < UINT32_MAX ? digits : 0;
}

bool tl_writer_pattern_match(
	const struct tl_writer_pattern *pattern, const char *name, uint32_t *out_number, bool *out_part)
{
	size_t suffix_chars = strlen(pattern->suffix);
	const char *rest = match_stem(pattern->stem, name);

	*out_number = 0;
	if (rest != NULL && *rest == '_') {
		size_t digits = match_number(++rest, out_number);
		rest = digits != 0 ? rest + digits : NULL;
	}
	if (rest == NULL || strncmp(rest, pattern->suffix, suffix_chars) != 0)
		return false;
	*out_part = strcmp(rest + suffix_chars, TL_WRITER_PART) == 0;
	return *out_part || rest[suffix_chars] == '\0';
}
