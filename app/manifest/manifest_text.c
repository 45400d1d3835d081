// SPDX-License-Identifier: BSD-3-Clause
// Print a manifest in a few lines.

#include "manifest.h"

#include <errno.h>
#include <string.h>

#include <tl_text.h>

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text == NULL ? "unknown" : text[0] == '\0' ? "none" : text;
}

// Print an argument quoted for a shell.
static void print_argument(const char *text, FILE *out)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";

	if (text[0] != '\0' && text[strspn(text, plain)] == '\0') {
		fprintf(out, " %s", text);
		return;
	}
	fputs(" '", out);
	for (const char *at = TL_PRINTABLE(text); *at != '\0'; at++)
		if (*at == '\'')
			fputs("'\\''", out);
		else
			fputc(*at, out);
	fputc('\'', out);
}

static void print_call(const json_t *manifest, FILE *out)
{
	const json_t *argument;
	size_t i;

	fprintf(out, "%-32s", "call");
	json_array_foreach (json_object_get(manifest, "argv"), i, argument)
		print_argument(json_string_value(argument), out);
	fputc('\n', out);
}

static void print_host(const json_t *host, FILE *out)
{
	fprintf(out, "%-32s %s; %s%s\n", "host", text_of(host, "kernel"), text_of(host, "cpu_model"),
		json_is_true(json_object_get(host, "hypervisor")) ? " (virtual)" : "");
	fprintf(out, "%-32s %s; allowed %s, isolated %s, tickless %s; governor %s, clock %s\n", "CPUs",
		text_of(host, "cpus_online"), text_of(host, "cpus_allowed"), text_of(host, "cpus_isolated"),
		text_of(host, "cpus_nohz_full"), text_of(host, "governor"), text_of(host, "clocksource"));
}

static void print_inputs(const json_t *manifest, FILE *out)
{
	const json_t *file;
	size_t i;

	json_array_foreach (json_object_get(manifest, "inputs"), i, file)
		fprintf(out, "%-32s SHA-256 %s  %s\n", "input", text_of(file, "sha256"),
			TL_PRINTABLE(text_of(file, "path")));
}

static void print_match(const json_t *manifest, FILE *out)
{
	json_t *match = json_object_get(manifest, "match"), *value;
	const char *key, *before = "";

	if (!json_is_object(match))
		return;
	fprintf(out, "%-32s ", "match");
	json_object_foreach (match, key, value) {
		if (json_is_null(value))
			continue;
		fprintf(out, "%s%s ", before, key);
		if (json_is_string(value))
			fputs(TL_PRINTABLE(json_string_value(value)), out);
		else
			json_dumpf(value, out, JSON_ENCODE_ANY);
		before = "; ";
	}
	fputc('\n', out);
}

int tl_manifest_print(const json_t *manifest, FILE *out)
{
	const json_t *host = json_object_get(manifest, "host");
	const char *name;
	json_t *seed;

	fprintf(out, "\n%-32s tapline %s, %s, %s\n", "made by", text_of(manifest, "version"), text_of(host, "dpdk"),
		text_of(manifest, "time"));
	print_call(manifest, out);
	print_host(host, out);
	print_inputs(manifest, out);
	print_match(manifest, out);
	json_object_foreach (json_object_get(manifest, "seeds"), name, seed)
		fprintf(out, "%-32s %s of %s\n", "seed", json_string_value(seed), name);
	return fflush(out) == 0 && ferror(out) == 0 ? 0 : -EIO;
}
