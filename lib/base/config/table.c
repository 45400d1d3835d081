// SPDX-License-Identifier: BSD-3-Clause
// Reader of a JSON object by its table of keys: unknown keys, required keys, defaults.

#include "config_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_err.h>

#define WORD_MAX 32 // longer keys are not compared for misspelling

static const struct tl_config_key *find_key(const struct tl_config_table *table, const char *name)
{
	for (size_t i = 0; i < table->n_keys; i++) {
		if (strcmp(table->keys[i].name, name) == 0)
			return &table->keys[i];
	}
	return NULL;
}

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned least = a < b ? a : b;

	return least < c ? least : c;
}

// Compute the number of insertions, deletions and substitutions between two words (Levenshtein, one row).
static unsigned distance(const char *a, const char *b)
{
	unsigned row[WORD_MAX + 1];
	size_t a_len = strlen(a), b_len = strlen(b);

	if (a_len > WORD_MAX || b_len > WORD_MAX)
		return WORD_MAX;
	for (unsigned j = 0; j <= b_len; j++)
		row[j] = j;
	for (unsigned i = 1; i <= a_len; i++) {
		unsigned diagonal = row[0];
		row[0] = i;
		for (unsigned j = 1; j <= b_len; j++) {
			unsigned above = row[j];
			row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[b_len];
}

// Find the probably intended key, or NULL if none is similar.
static const char *nearest(const struct tl_config_table *table, const char *word)
{
	const char *best = NULL;
	unsigned best_distance = (unsigned)tl_max_u64(2, strlen(word) / 2) + 1;

	for (size_t i = 0; i < table->n_keys; i++) {
		unsigned d = distance(word, table->keys[i].name);
		if (d < best_distance) {
			best = table->keys[i].name;
			best_distance = d;
		}
	}
	return best;
}

static int refuse_unknown(struct tl_config_reader *r, const struct tl_config_table *table, const char *word)
{
	char known[256] = "";
	size_t used = 0;
	const char *meant = nearest(table, word);

	for (size_t i = 0; i < table->n_keys && used < sizeof(known); i++)
		used += (size_t)snprintf(
			known + used, sizeof(known) - used, "%s%s", i == 0 ? "" : ", ", table->keys[i].name);
	if (meant != NULL)
		return tl_config_refuse(r, "unknown key; did you mean \"%s\"?", meant);
	return tl_config_refuse(r, "unknown key; valid keys: %s", known);
}

// True if a key's name can be printed unchanged: it must neither control the terminal nor displace the rest of the
// message.
static bool is_presentable(const char *word)
{
	for (const char *p = word; *p != '\0'; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return false;
	}
	return strlen(word) <= 2 * WORD_MAX;
}

static int refuse_unknown_keys(struct tl_config_reader *r, const struct tl_config_table *table, const json_t *object)
{
	// jansson's iterators take no const object, but do not change it.
	json_t *mutable = (json_t *)(uintptr_t)object;
	const char *name;
	json_t *value;

	json_object_foreach (mutable, name, value) {
		if (find_key(table, name) != NULL)
			continue;
		if (!is_presentable(name))
			return tl_config_refuse(
				r, "holds an unknown key of %zu bytes or with control characters", strlen(name));
		tl_config_enter(r, name);
		return refuse_unknown(r, table, name);
	}
	return 0;
}

static int read_key(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *object, void *section)
{
	const json_t *value = json_object_get(object, key->name);
	json_t *fallback = NULL;

	if (value == NULL && key->required)
		return tl_config_refuse(r, "the key \"%s\" is required here", key->name);
	if (value == NULL && key->fallback == NULL)
		return 0;
	if (value == NULL)
		value = fallback = json_loads(key->fallback, JSON_DECODE_ANY, NULL);
	if (value == NULL)
		return tl_fail(r->err, -ENOMEM, "%s: out of memory", r->name);
	tl_config_enter(r, key->name);
	int rc = key->read(r, key, value, section);
	tl_config_leave(r);
	json_decref(fallback);
	return rc;
}

int tl_config_read_object(
	struct tl_config_reader *r, const struct tl_config_table *table, const json_t *value, void *section)
{
	if (!json_is_object(value))
		return tl_config_not(r, value, "an object");
	int rc = refuse_unknown_keys(r, table, value);
	for (size_t i = 0; i < table->n_keys && rc == 0; i++)
		rc = read_key(r, &table->keys[i], value, section);
	if (rc == 0 && table->check != NULL)
		rc = table->check(r, NULL, value, section);
	return rc;
}

int tl_config_object(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	return tl_config_read_object(r, key->table, value, (char *)section + key->offset);
}

// Allocate the elements of an array. NULL: out of memory.
static char *allocate(void *section, const struct tl_config_key *key, size_t n)
{
	char *elements = calloc(n + 1, key->table->bytes); // never of 0 bytes

	memcpy((char *)section + key->offset, &elements, sizeof(elements));
	return elements;
}

int tl_config_array(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	size_t n = json_array_size(value);
	uint32_t *count = (uint32_t *)(void *)((char *)section + key->count_offset);
	char *elements = (char *)section + key->offset;

	if (!json_is_array(value))
		return tl_config_not(r, value, "an array");
	if (n < key->min)
		return tl_config_refuse(r, "the list is empty");
	if (n > key->max)
		return tl_config_refuse(r, "the list has %zu entries, the most is %ju", n, (uintmax_t)key->max);
	if (key->allocated && (elements = allocate(section, key, n)) == NULL)
		return tl_fail(r->err, -ENOMEM, "%s: out of memory", r->name);
	for (size_t i = 0; i < n; i++) {
		*count = (uint32_t)i + 1; // before reading: what an entry allocates is released even if it is refused
		tl_config_enter_index(r, i);
		int rc = tl_config_read_object(
			r, key->table, json_array_get(value, i), elements + i * key->table->bytes);
		tl_config_leave(r);
		if (rc != 0)
			return rc;
	}
	return 0;
}
