// SPDX-License-Identifier: BSD-3-Clause
// Gather facts about memory.

#include "doctor_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAP_IPC_LOCK_BIT 14
#define KIB_PER_MIB 1024

// ---- hugepages

// Sum of the pages in a directory "hugepages", which has one subdirectory per page size.
struct pages {
	const struct tl_tree *tree;
	const char *dir;
	struct tl_fact_num total_mb, free_mb;
};

static void add_pages(struct tl_fact_num *sum_mb, struct tl_fact_num pages, int64_t page_kb)
{
	int64_t kb;

	if (!pages.known || pages.value < 0 || __builtin_mul_overflow(pages.value, page_kb, &kb))
		return;
	sum_mb->known = !__builtin_add_overflow(sum_mb->value, kb / KIB_PER_MIB, &sum_mb->value);
}

static void look_size(void *ctx, const char *name)
{
	struct pages *pages = ctx;
	unsigned page_kb;

	if (sscanf(name, "hugepages-%ukB", &page_kb) != 1)
		return;
	add_pages(&pages->total_mb, tl_tree_num(pages->tree, "%s/%s/nr_hugepages", pages->dir, name), page_kb);
	add_pages(&pages->free_mb, tl_tree_num(pages->tree, "%s/%s/free_hugepages", pages->dir, name), page_kb);
}

static struct pages count_pages(const struct tl_tree *tree, const char *dir)
{
	struct pages pages = {.tree = tree, .dir = dir};

	tl_tree_each(tree, dir, look_size, &pages);
	return pages;
}

void tl_gather_hugepages(const struct tl_tree *tree, struct tl_fact_num *total_mb, struct tl_fact_num *free_mb)
{
	struct pages pages = count_pages(tree, "/sys/kernel/mm/hugepages");

	*total_mb = pages.total_mb;
	*free_mb = pages.free_mb;
}

// ---- nodes

struct nodes {
	const struct tl_tree *tree;
	struct tl_facts *facts;
};

static void look_node(void *ctx, const char *name)
{
	struct nodes *nodes = ctx;
	struct tl_facts *facts = nodes->facts;
	struct tl_fact_num id = strncmp(name, "node", 4) == 0 ? tl_fact_parse(name + 4, 10) : (struct tl_fact_num){0};
	char dir[TL_TREE_PATH_MAX];

	if (!id.known || id.value < 0 || id.value >= TL_FACT_CPUS_MAX || facts->n_nodes == TL_FACT_NODES_MAX)
		return;
	struct tl_fact_node *node = &facts->nodes[facts->n_nodes++];
	snprintf(dir, sizeof(dir), "/sys/devices/system/node/%.32s/hugepages", name);
	struct pages pages = count_pages(nodes->tree, dir);
	node->id = (uint32_t)id.value;
	node->cpus = tl_tree_cpus(nodes->tree, "/sys/devices/system/node/%.32s/cpulist", name);
	node->huge_total_mb = pages.total_mb;
	node->huge_free_mb = pages.free_mb;
}

static int by_id(const void *a, const void *b)
{
	const struct tl_fact_node *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

void tl_gather_nodes(const struct tl_tree *tree, struct tl_facts *facts)
{
	struct nodes nodes = {.tree = tree, .facts = facts};

	tl_tree_each(tree, "/sys/devices/system/node", look_node, &nodes);
	qsort(facts->nodes, facts->n_nodes, sizeof(facts->nodes[0]), by_id);
}

// ---- hugetlbfs

// Find the first mount of the type, in lines "device directory type options 0 0".
static struct tl_fact_text find_hugetlbfs(const struct tl_tree *tree)
{
	char *text = tl_tree_text(tree, "/proc/self/mounts");
	struct tl_fact_text found = {0};

	for (const char *line = text; line != NULL && *line != '\0'; line = strchr(line, '\n')) {
		char dir[TL_FACT_TEXT] = "", type[32] = "";
		line += *line == '\n';
		if (sscanf(line, "%*s %159s %31s", dir, type) != 2)
			continue;
		if (!found.known)
			found = tl_fact_says("");
		if (strcmp(type, "hugetlbfs") == 0 && found.text[0] == '\0')
			found = tl_fact_says(dir);
	}
	free(text);
	return found;
}

static void look_stale(void *ctx, const char *name)
{
	int64_t *n = ctx;

	*n += strncmp(name, "rtemap_", 7) == 0;
}

static struct tl_fact_num count_stale(const struct tl_tree *tree, const struct tl_fact_text *mount)
{
	int64_t n = 0;

	if (mount->known && mount->text[0] == '\0')
		return tl_fact_is(0);
	if (!mount->known || tl_tree_each(tree, mount->text, look_stale, &n) != 0)
		return (struct tl_fact_num){0};
	return tl_fact_is(n);
}

// ---- limits

// Parse the line "8388608              8388608              bytes".
static struct tl_fact_num read_memlock(const struct tl_tree *tree)
{
	struct tl_fact_num limit = {0};
	char line[128], soft[32] = "";

	if (tl_tree_line_after(tree, "/proc/self/limits", "Max locked memory", line, sizeof(line)) &&
		sscanf(line, "%31s", soft) == 1)
		limit = strcmp(soft, "unlimited") == 0 ? tl_fact_is(TL_FACT_NO_LIMIT) : tl_fact_parse(soft, 10);
	return limit.value >= 0 ? limit : (struct tl_fact_num){0};
}

static struct tl_fact_num read_may_lock(const struct tl_tree *tree)
{
	struct tl_fact_num capabilities = {0};
	char line[64];

	if (tl_tree_line_after(tree, "/proc/self/status", "CapEff:", line, sizeof(line)))
		capabilities = tl_fact_parse(line, 16);
	return capabilities.known ? tl_fact_is(capabilities.value >> CAP_IPC_LOCK_BIT & 1) : capabilities;
}

void tl_gather_memory(const struct tl_tree *tree, struct tl_facts *facts)
{
	struct tl_fact_memory *memory = &facts->memory;
	struct tl_fact_text thp = tl_tree_line(tree, "/sys/kernel/mm/transparent_hugepage/enabled");

	tl_gather_hugepages(tree, &memory->huge_total_mb, &memory->huge_free_mb);
	memory->hugetlbfs = find_hugetlbfs(tree);
	memory->stale_files = count_stale(tree, &memory->hugetlbfs);
	memory->memlock_bytes = read_memlock(tree);
	memory->may_lock = read_may_lock(tree);
	memory->cgroup_bytes = tl_cgroup_limit(tree, "memory", "memory.max", "memory.limit_in_bytes");
	memory->cgroup_huge_bytes = tl_cgroup_limit(tree, "hugetlb", "hugetlb.2MB.max", "hugetlb.2MB.limit_in_bytes");
	memory->numa_balancing = tl_tree_num(tree, "/proc/sys/kernel/numa_balancing");
	memory->ksm = tl_tree_num(tree, "/sys/kernel/mm/ksm/run");
	memory->thp = tl_fact_chosen(&thp);
}
