// SPDX-License-Identifier: BSD-3-Clause
// Read the limits of the process's cgroup, of version 1 and 2.

#include "doctor_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CGROUPS "/sys/fs/cgroup"
#define V1_NO_LIMIT (INT64_MAX >> 1) // largest possible number of pages

// Find the cgroup of the process: "/system.slice/x.service". controller: of version 1; "": version 2.
static bool find_cgroup(const char *text, const char *controller, char *path, size_t size)
{
	for (const char *line = text; line != NULL && *line != '\0'; line = strchr(line, '\n')) {
		char controllers[128] = "", where[TL_TREE_PATH_MAX] = "";
		line += *line == '\n';
		if (sscanf(line, "%*u:%127[^:\n]:%511[^\n]", controllers, where) != 2 &&
			sscanf(line, "%*u::%511[^\n]", where) != 1)
			continue;
		if (strcmp(controllers, controller) != 0 || where[0] != '/')
			continue;
		snprintf(path, size, "%s", where);
		return true;
	}
	return false;
}

// Call look for the cgroup and its ancestors: /sys/fs/cgroup[/controller]/path.
static void climb(const struct tl_tree *tree, const char *controller, char *path,
	void (*look)(const struct tl_tree *tree, const char *dir, void *ctx), void *ctx)
{
	char dir[TL_TREE_PATH_MAX * 2];

	for (;;) {
		snprintf(dir, sizeof(dir), CGROUPS "%s%s%s", controller[0] != '\0' ? "/" : "", controller, path);
		look(tree, dir, ctx);
		char *slash = strrchr(path, '/');
		if (slash == NULL)
			return;
		*slash = '\0';
	}
}

// Climb both hierarchies that the process may be in. Return true if it is in one.
static bool climb_both(const struct tl_tree *tree, const char *controller,
	void (*look)(const struct tl_tree *tree, const char *dir, void *ctx), void *ctx)
{
	const char *const hierarchies[] = {"", controller};
	char *text = tl_tree_text(tree, "/proc/self/cgroup");
	char path[TL_TREE_PATH_MAX];
	bool known = false;

	for (size_t i = 0; text != NULL && i < TL_ARRAY_LEN(hierarchies); i++) {
		if (!find_cgroup(text, hierarchies[i], path, sizeof(path)))
			continue;
		known = true;
		climb(tree, hierarchies[i], path, look, ctx);
	}
	free(text);
	return known;
}

struct limit {
	const char *v2_file, *v1_file;
	int64_t least;
};

static void look_limit(const struct tl_tree *tree, const char *dir, void *ctx)
{
	struct limit *limit = ctx;
	struct tl_fact_num v2 = tl_tree_num(tree, "%s/%s", dir, limit->v2_file);
	struct tl_fact_num value = v2.known ? v2 : tl_tree_num(tree, "%s/%s", dir, limit->v1_file);

	if (value.known && value.value >= 0 && value.value < V1_NO_LIMIT && value.value < limit->least)
		limit->least = value.value;
}

struct tl_fact_num tl_cgroup_limit(
	const struct tl_tree *tree, const char *controller, const char *v2_file, const char *v1_file)
{
	struct limit limit = {.v2_file = v2_file, .v1_file = v1_file, .least = TL_FACT_NO_LIMIT};
	bool known = climb_both(tree, controller, look_limit, &limit);

	return known ? tl_fact_is(limit.least) : (struct tl_fact_num){0};
}

// Keep the first known cpuset: the cgroup's own, or that of its nearest ancestor with a cpuset.
static void look_cpuset(const struct tl_tree *tree, const char *dir, void *ctx)
{
	struct tl_fact_cpus *cpus = ctx;

	if (!cpus->known)
		*cpus = tl_tree_cpus(tree, "%s/cpuset.cpus.effective", dir);
	if (!cpus->known)
		*cpus = tl_tree_cpus(tree, "%s/cpuset.effective_cpus", dir);
}

struct tl_fact_cpus tl_cgroup_cpus(const struct tl_tree *tree)
{
	struct tl_fact_cpus cpus = {0};

	(void)climb_both(tree, "cpuset", look_cpuset, &cpus);
	return cpus;
}

static void look_quota(const struct tl_tree *tree, const char *dir, void *ctx)
{
	struct tl_fact_text v2 = tl_tree_line(tree, "%s/cpu.max", dir);
	struct tl_fact_num quota_us = tl_tree_num(tree, "%s/cpu.cfs_quota_us", dir);
	struct tl_fact_num period_us = tl_tree_num(tree, "%s/cpu.cfs_period_us", dir);
	long long quota = quota_us.value, period = period_us.value;
	int64_t *least = ctx;

	if (v2.known && sscanf(v2.text, "%lld %lld", &quota, &period) != 2)
		return; // "max 100000"
	if (quota > 0 && period > 0 && quota < TL_FACT_NO_LIMIT / 100 && quota * 100 / period < *least)
		*least = quota * 100 / period;
}

struct tl_fact_num tl_cgroup_quota(const struct tl_tree *tree)
{
	int64_t least = TL_FACT_NO_LIMIT;
	bool known = climb_both(tree, "cpu,cpuacct", look_quota, &least);

	return known ? tl_fact_is(least) : (struct tl_fact_num){0};
}
