// SPDX-License-Identifier: BSD-3-Clause
// Restrict an appliance: drop its capabilities and limit its file access.

#include "appliance_priv.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_log.h>

#include "family.h"

#define DIRS_MAX (TL_CONFIG_CAPTURES_MAX + 2) // directories of recordings, socket, latency reports

// Directories that an appliance writes to.
struct dirs {
	char text[DIRS_MAX][4097];
	const char *list[DIRS_MAX];
	uint32_t n;
};

// Add a directory. Standard output and discarded recordings have none.
static void add_dir(struct dirs *dirs, const char *dir, size_t chars)
{
	char *text = dirs->text[dirs->n];

	snprintf(text, sizeof(dirs->text[0]), "%.*s", (int)chars, dir);
	dirs->list[dirs->n++] = text;
}

static void add_dir_of(struct dirs *dirs, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (slash == NULL)
		add_dir(dirs, ".", 1);
	else
		add_dir(dirs, path, slash == path ? 1 : (size_t)(slash - path));
}

static void list_dirs(const struct tl_appliance *a, struct dirs *dirs)
{
	dirs->n = 0;
	for (uint32_t i = 0; i < a->config->n_captures; i++)
		if (strcmp(a->config->captures[i].path, "-") != 0 && strcmp(a->config->captures[i].path, "null:") != 0)
			add_dir_of(dirs, a->config->captures[i].path);
	if (a->config->control.socket != NULL)
		add_dir_of(dirs, a->config->control.socket);
	if (a->opts.latency_dir != NULL)
		add_dir(dirs, a->opts.latency_dir, strlen(a->opts.latency_dir));
}

static bool has_xdp(const struct tl_appliance *a)
{
	for (uint32_t i = 0; i < a->config->n_ports; i++)
		if (tl_port_traits(&a->plan.specs[i])->bpf)
			return true;
	return false;
}

static bool changes_interfaces(const struct tl_appliance *a)
{
	for (uint32_t i = 0; i < a->config->n_ports; i++)
		if (tl_port_changes_iface(&a->plan.specs[i]))
			return true;
	return false;
}

static bool is_off(const struct tl_appliance *a)
{
	return a->config->process.sandbox == TL_CONFIG_SANDBOX_OFF;
}

int tl_appliance_restrict(struct tl_appliance *a, struct tl_err *err)
{
	struct dirs dirs;
	struct tl_guard_cfg cfg = {.dirs = dirs.list, .keeps_bpf = has_xdp(a)};
	char families[PATH_MAX];

	if (is_off(a))
		return 0;
	if (tl_family_directory(families, sizeof(families)))
		cfg.read_dir = families;
	list_dirs(a, &dirs);
	cfg.n_dirs = dirs.n;
	cfg.n_reads = tl_replays_paths(a->replays, NULL);
	const char **reads = calloc(cfg.n_reads + 1, sizeof(*reads));
	if (reads == NULL)
		return tl_fail(err, -ENOMEM, "out of memory");
	(void)tl_replays_paths(a->replays, reads);
	cfg.reads = reads;
	int rc = tl_guard_enter(&cfg, &a->guard, err);
	free(reads);
	return rc;
}

int tl_appliance_drop(struct tl_appliance *a, struct tl_err *err)
{
	struct tl_guard_cfg cfg = {.keeps_bpf = has_xdp(a), .keeps_net_admin = changes_interfaces(a)};

	if (is_off(a)) {
		tl_warn("sandbox: off: the process keeps its initial privileges");
		return 0;
	}
	return tl_guard_drop(&cfg, &a->guard, err);
}

void tl_appliance_describe(const struct tl_appliance *a, struct tl_snapshot *out)
{
	const struct tl_guard_state *guard = &a->guard;

	out->process = (struct tl_report_process){.sandbox = guard->on,
		.no_new_privs = guard->no_new_privs,
		.seccomp = guard->seccomp,
		.landlock = guard->landlock};
	snprintf(out->process.user, sizeof(out->process.user), "%s", guard->user);
	snprintf(out->process.capabilities, sizeof(out->process.capabilities), "%s", guard->capabilities);
}
