// SPDX-License-Identifier: BSD-3-Clause
// Loading: from a file to its text, to JSON, and through the readers to a struct tl_config.

#include "config_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tl_err.h>

#define FILE_BYTES_MAX (16u << 20) // room for 10,000 classes; a larger file is likely a recording, or /dev/zero

static bool is_blank(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\0' || strchr(" \t\r\n", text[i]) == NULL)
			return false;
	}
	return true;
}

// Find the quoted key that ends at end. Inside a string a quote always follows a backslash; the opening one never does.
static const char *key_before(const char *text, size_t end, size_t *out_len)
{
	size_t start = end < 2 ? 0 : end - 2;

	while (start > 0 && !(text[start] == '"' && text[start - 1] != '\\'))
		start--;
	*out_len = end - start;
	return text + start;
}

// Remove control characters: jansson quotes the file's bytes, which may target the terminal.
static void tame(char *text)
{
	for (char *p = text; *p != '\0'; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	}
}

static int refuse_syntax(struct tl_config_reader *r, json_error_t *error)
{
	size_t key_len;

	if (is_blank(r->text, r->len))
		return tl_fail(r->err, -EINVAL, "%s: the file is empty", r->name);
	if (json_error_code(error) == json_error_duplicate_key) {
		const char *key = key_before(r->text, tl_min_u64((uint64_t)error->position, r->len), &key_len);
		return tl_fail(r->err, -EINVAL, "%s:%d: duplicate key %.*s", r->name, error->line,
			(int)tl_min_u64(key_len, 80), key);
	}
	tame(error->text);
	return tl_fail(r->err, -EINVAL, "%s:%d: this is not JSON: %s", r->name, error->line, error->text);
}

static int read_config(struct tl_config_reader *r, const json_t *root, struct tl_config **out)
{
	struct tl_config *config = calloc(1, sizeof(*config));

	if (config != NULL)
		config->file = strdup(r->name);
	if (config == NULL || config->file == NULL) {
		tl_config_free(config);
		return tl_fail(r->err, -ENOMEM, "%s: out of memory", r->name);
	}
	int rc = tl_config_read_object(r, &tl_config_root, root, config);
	if (rc == 0)
		rc = tl_config_check(r, config);
	if (rc != 0) {
		tl_config_free(config);
		return rc;
	}
	*out = config;
	return 0;
}

int tl_config_load_text(const char *text, size_t len, const char *name, struct tl_config **out, struct tl_err *err)
{
	struct tl_config_reader r = {.name = name, .text = text, .len = len, .err = err};
	json_error_t error;

	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
	if (root == NULL)
		return refuse_syntax(&r, &error);
	int rc = read_config(&r, root, out);
	json_decref(root);
	return rc;
}

int tl_config_load_options(const json_t *root, const struct tl_config_option *options, size_t n_options,
	struct tl_config **out, struct tl_err *err)
{
	struct tl_config_reader r = {.name = "command line", .options = options, .n_options = n_options, .err = err};

	return read_config(&r, root, out);
}

// Read the whole file into buf. Return its bytes, or -errno. Supports other than regular files: `run <(generate)`.
static ssize_t read_all(int fd, char *buf, size_t size)
{
	size_t used = 0;

	while (used < size) {
		ssize_t n = read(fd, buf + used, size - used);
		if (n == 0)
			break;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		used += (size_t)n;
	}
	return used < size ? (ssize_t)used : -EFBIG;
}

int tl_config_load(const char *path, struct tl_config **out, struct tl_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return tl_fail(err, -errno, "%s: cannot be opened: %s", path, strerror(errno));
	char *text = malloc(FILE_BYTES_MAX);
	ssize_t len = text == NULL ? -ENOMEM : read_all(fd, text, FILE_BYTES_MAX);
	close(fd);
	int rc = len < 0 ? tl_fail(err, (int)len, "%s: cannot be read: %s", path, strerror((int)-len))
			 : tl_config_load_text(text, (size_t)len, path, out, err);
	free(text);
	return rc;
}

void tl_config_free(struct tl_config *config)
{
	if (config == NULL)
		return;
	for (uint32_t i = 0; i < config->n_ports; i++) {
		free(config->ports[i].name);
		free(config->ports[i].device);
	}
	for (uint32_t i = 0; i < config->n_captures; i++) {
		free(config->captures[i].port_name);
		free(config->captures[i].filter);
		free(config->captures[i].path);
		free(config->captures[i].trigger.filter);
		free(config->captures[i].share_name);
		tl_config_free_classes(&config->captures[i]);
	}
	for (uint32_t i = 0; i < config->n_echoes; i++) {
		free(config->echoes[i].name);
		free(config->echoes[i].port_name);
	}
	for (uint32_t i = 0; i < config->n_shapes; i++)
		tl_config_free_shape(&config->shapes[i]);
	for (uint32_t i = 0; i < config->n_replays; i++)
		tl_config_free_replay(&config->replays[i]);
	for (uint32_t i = 0; i < config->n_shares; i++) {
		tl_config_free_members(&config->shares[i]);
		free(config->shares[i].name);
	}
	free(config->captures);
	free(config->echoes);
	free(config->control.socket);
	free(config->control.operators);
	free(config->process.user);
	free(config->file);
	free(config);
}
