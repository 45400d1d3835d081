// SPDX-License-Identifier: BSD-3-Clause
// Reads capability files and compares them with a port.

#include <tl_family.h>

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <tl_base.h>
#include <tl_err.h>

#define FILE_NAME "capabilities.json"

// ---- reading

static bool read_sizes(const json_t *array, struct tl_family *out)
{
	size_t n = json_array_size(array);

	if (!json_is_array(array) || n > TL_FAMILY_SIZES)
		return false;
	for (size_t i = 0; i < n; i++)
		out->reta_sizes[i] = (uint32_t)json_integer_value(json_array_get(array, i));
	out->n_reta_sizes = (unsigned)n;
	return true;
}

// Read the facts shown to the user. Their sources are in docs/drivers.md.
static bool read_facts(const json_t *array, struct tl_family *out)
{
	size_t n = json_array_size(array);

	for (size_t i = 0; i < n; i++) {
		const char *about, *text;
		json_t *known;
		int tell = false;
		if (json_unpack(json_array_get(array, i), "{s:s, s:s, s:o, s?b !}", "about", &about, "text", &text,
			    "known", &known, "tell", &tell) != 0 ||
			!json_is_array(known) || strlen(text) >= sizeof(out->notes[0]))
			return false;
		if (tell && out->n_notes == TL_FAMILY_NOTES)
			return false;
		if (tell)
			strcpy(out->notes[out->n_notes++], text);
	}
	return json_is_array(array);
}

static int read_driver(const char *path, const char *family, json_t *driver, struct tl_family *out, struct tl_err *err)
{
	const char *pmd, *bind, *nics;
	int queues, ring_min, ring_max, stamps, filter;
	json_t *sizes, *known, *facts;
	json_error_t wrong;

	if (json_unpack_ex(driver, &wrong, JSON_STRICT, "{s:s, s:s, s:s, s:i, s:i, s:i, s:o, s:b, s:b, s:o, s:o}",
		    "pmd", &pmd, "bind", &bind, "nics", &nics, "rx_queues_max", &queues, "ring_min", &ring_min,
		    "ring_max", &ring_max, "reta_sizes", &sizes, "rx_timestamps", &stamps, "multicast_filter", &filter,
		    "known", &known, "facts", &facts) != 0)
		return tl_fail(err, -EINVAL, "%s: %s", path, wrong.text);
	*out = (struct tl_family){.rx_queues_max = (uint32_t)queues,
		.ring_min = (uint32_t)ring_min,
		.ring_max = (uint32_t)ring_max,
		.rx_timestamps = stamps != 0,
		.multicast_filter = filter != 0};
	snprintf(out->name, sizeof(out->name), "%.31s", family);
	snprintf(out->pmd, sizeof(out->pmd), "%s", pmd);
	snprintf(out->bind, sizeof(out->bind), "%s", bind);
	snprintf(out->nics, sizeof(out->nics), "%s", nics);
	if (!read_sizes(sizes, out) || !json_is_array(known) || !read_facts(facts, out))
		return tl_fail(err, -EINVAL,
			"%s: at most %d reta_sizes, and facts of about, text (255 characters) and known, %d of them to tell",
			path, TL_FAMILY_SIZES, TL_FAMILY_NOTES);
	return 0;
}

static int find_in_file(
	const char *path, const char *family, const char *pmd, struct tl_family *out, struct tl_err *err)
{
	json_error_t wrong;
	json_t *file = json_load_file(path, JSON_REJECT_DUPLICATES, &wrong), *driver;
	size_t i;
	int rc = -ENOENT;

	if (file == NULL)
		return tl_fail(err, -EINVAL, "%s:%d: %s", path, wrong.line, wrong.text);
	json_array_foreach (json_object_get(file, "drivers"), i, driver) {
		const char *name = json_string_value(json_object_get(driver, "pmd"));
		if (rc == -ENOENT && name != NULL && strcmp(name, pmd) == 0)
			rc = read_driver(path, family, driver, out, err);
	}
	json_decref(file);
	return rc;
}

int tl_family_find(const char *dir, const char *pmd, struct tl_family *out, struct tl_err *err)
{
	struct dirent **names;
	char path[PATH_MAX];
	int rc = -ENOENT;
	int n = scandir(dir, &names, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		const char *family = names[i]->d_name;
		snprintf(path, sizeof(path), "%s/%s/" FILE_NAME, dir, family);
		FILE *file = rc == -ENOENT && family[0] != '.' ? fopen(path, "re") : NULL;
		if (file != NULL) {
			fclose(file);
			rc = find_in_file(path, family, pmd, out, err);
		}
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	return rc;
}

// ---- comparing

struct speaker {
	void (*say)(void *ctx, const char *text);
	void *ctx;
	unsigned said;
};

static void TL_PRINTF(2, 3) differ(struct speaker *speaker, const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	speaker->say(speaker->ctx, text);
	speaker->said++;
}

static bool is_known_size(const struct tl_family *family, uint32_t size)
{
	bool known = family->n_reta_sizes == 0;

	for (unsigned i = 0; i < family->n_reta_sizes; i++)
		known |= family->reta_sizes[i] == size;
	return known;
}

unsigned tl_family_compare(const struct tl_family *family, const struct tl_family_facts *facts,
	void (*say)(void *ctx, const char *text), void *ctx)
{
	struct speaker speaker = {say, ctx, 0};

	if (facts->rx_queues_max > family->rx_queues_max)
		differ(&speaker, "%u RX queues, not %u at most", facts->rx_queues_max, family->rx_queues_max);
	if (facts->ring_min < family->ring_min || facts->ring_max > family->ring_max)
		differ(&speaker, "rings of %u to %u descriptors, not %u to %u", facts->ring_min, facts->ring_max,
			family->ring_min, family->ring_max);
	if (!is_known_size(family, facts->reta_size))
		differ(&speaker, "an RSS table of %u entries, which no model of the family has", facts->reta_size);
	if (facts->rx_timestamps != family->rx_timestamps)
		differ(&speaker, "%s",
			facts->rx_timestamps ? "timestamps of every received packet"
					     : "no timestamps of received packets");
	return speaker.said;
}
