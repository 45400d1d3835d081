// SPDX-License-Identifier: BSD-3-Clause
// Checks of memory: hugepages, limits, and page management by the kernel.

#include "doctor_priv.h"

#include <inttypes.h>
#include <string.h>

static void judge_hugepages(const struct tl_facts *facts, struct tl_finding *f)
{
	const struct tl_fact_memory *memory = &facts->memory;
	const struct tl_fact_wanted *wanted = &facts->wanted;

	if (!memory->huge_free_mb.known)
		return;
	uint64_t free_mb = (uint64_t)memory->huge_free_mb.value;
	if (!wanted->configured)
		tl_found(f, free_mb > 0 ? TL_VERDICT_OK : TL_VERDICT_WARN, "%" PRIu64 " MiB free", free_mb);
	else if (!wanted->huge)
		tl_found(f, TL_VERDICT_WARN, "%" PRIu64 " MiB free, but eal.huge is false", free_mb);
	else
		tl_found(f, free_mb >= wanted->memory_mb ? TL_VERDICT_OK : TL_VERDICT_FAIL,
			"%" PRIu64 " MiB free, %" PRIu64 " needed", free_mb, wanted->memory_mb);
}

static bool has_port(const struct tl_facts *facts, uint32_t node)
{
	for (uint32_t i = 0; i < facts->n_ports; i++)
		if (facts->ports[i].node.known && facts->ports[i].node.value == (int64_t)node)
			return true;
	return false;
}

static void judge_hugepages_node(const struct tl_facts *facts, struct tl_finding *f)
{
	for (uint32_t i = 0; i < facts->n_nodes; i++) {
		const struct tl_fact_node *node = &facts->nodes[i];
		if (!node->huge_free_mb.known)
			continue;
		uint64_t free_mb = (uint64_t)node->huge_free_mb.value;
		bool enough = free_mb >= node->need_mb && (free_mb > 0 || !has_port(facts, node->id));
		if (!facts->wanted.huge && facts->wanted.configured)
			enough = true;
		tl_found(f, enough ? TL_VERDICT_OK : TL_VERDICT_WARN,
			"node %u: %" PRIu64 " MiB free, %" PRIu64 " needed", node->id, free_mb, node->need_mb);
	}
}

static void judge_memory_mb(const struct tl_facts *facts, struct tl_finding *f)
{
	const struct tl_fact_wanted *wanted = &facts->wanted;

	if (!wanted->configured)
		tl_found(f, TL_VERDICT_UNKNOWN, "no configuration");
	else
		tl_found(f, wanted->memory_mb >= wanted->used_mb ? TL_VERDICT_OK : TL_VERDICT_WARN,
			"eal.memory_mb is %" PRIu64 ", buffers and packets take about %" PRIu64, wanted->memory_mb,
			wanted->used_mb);
}

static void judge_hugetlbfs(const struct tl_facts *facts, struct tl_finding *f)
{
	const struct tl_fact_text *mount = &facts->memory.hugetlbfs;

	if (mount->known && mount->text[0] != '\0')
		tl_found(f, TL_VERDICT_OK, "%s", mount->text);
	else if (mount->known)
		tl_found(f, TL_VERDICT_WARN, "not mounted");
}

static bool any_needs_vfio(const struct tl_facts *facts)
{
	for (uint32_t i = 0; i < facts->n_ports; i++)
		if (tl_port_needs_vfio(&facts->ports[i]))
			return true;
	return false;
}

static void judge_memlock(const struct tl_facts *facts, struct tl_finding *f)
{
	const struct tl_fact_num *limit = &facts->memory.memlock_bytes;
	enum tl_verdict bad = any_needs_vfio(facts) ? TL_VERDICT_FAIL : TL_VERDICT_WARN;

	if (facts->memory.may_lock.known && facts->memory.may_lock.value)
		tl_found(f, TL_VERDICT_OK, "CAP_IPC_LOCK: no limit");
	else if (limit->known && limit->value == TL_FACT_NO_LIMIT)
		tl_found(f, TL_VERDICT_OK, "unlimited");
	else if (limit->known)
		tl_found(f,
			(uint64_t)limit->value >> 20 > facts->wanted.memory_mb && facts->wanted.configured
				? TL_VERDICT_OK
				: bad,
			"%" PRIi64 " KiB", limit->value >> 10);
}

static void judge_limit(const struct tl_fact_num *limit, uint64_t need_mb, struct tl_finding *f)
{
	if (limit->known && limit->value == TL_FACT_NO_LIMIT)
		tl_found(f, TL_VERDICT_OK, "no limit");
	else if (limit->known)
		tl_found(f, (uint64_t)limit->value >> 20 >= need_mb ? TL_VERDICT_OK : TL_VERDICT_FAIL,
			"%" PRIi64 " MiB, %" PRIu64 " needed", limit->value >> 20, need_mb);
}

#define PROGRAM_MB 128 // in addition to DPDK's memory

static void judge_cgroup_memory(const struct tl_facts *facts, struct tl_finding *f)
{
	judge_limit(&facts->memory.cgroup_bytes, PROGRAM_MB + (facts->wanted.huge ? 0 : facts->wanted.memory_mb), f);
}

static void judge_cgroup_hugetlb(const struct tl_facts *facts, struct tl_finding *f)
{
	judge_limit(&facts->memory.cgroup_huge_bytes, facts->wanted.huge ? facts->wanted.memory_mb : 0, f);
}

static void judge_ksm(const struct tl_facts *facts, struct tl_finding *f)
{
	const struct tl_fact_num *ksm = &facts->memory.ksm;

	if (ksm->known)
		tl_found(f, ksm->value != 1 ? TL_VERDICT_OK : TL_VERDICT_WARN, "run is %" PRIi64, ksm->value);
}

static const struct tl_check checks[] = {
	{"memory.hugepages", TL_CAN_WARN | TL_CAN_FAIL,
		"DPDK takes its memory in hugepages: with small pages each packet costs TLB misses, and the start fails if too few are free.",
		"Reserve them: echo {pages} > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages, or hugepagesz=2M hugepages={pages} on the kernel command line.",
		"set_at_least /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages {pages}",
		"hugepagesz=2M hugepages={pages}", judge_hugepages},
	{"memory.hugepages_node", TL_CAN_WARN,
		"A NIC writes packets to memory of the node of its lcores; memory of another node costs latency and bandwidth.",
		"Reserve hugepages per node: /sys/devices/system/node/nodeN/hugepages/hugepages-2048kB/nr_hugepages.",
		.judge = judge_hugepages_node},
	{"memory.memory_mb", TL_CAN_WARN,
		"Recording buffers, packet buffers and connections are allocated from eal.memory_mb; beyond it they need free hugepages at run time.",
		"Set eal.memory_mb to {memory_mb} in the configuration.", .judge = judge_memory_mb},
	{"memory.hugetlbfs", TL_CAN_WARN,
		"Tapline uses hugepages without a mount, but other DPDK programs, such as dpdk-testpmd, need one.",
		"mount -t hugetlbfs none /dev/hugepages",
		"mountpoint -q /dev/hugepages || { mkdir -p /dev/hugepages && mount -t hugetlbfs none /dev/hugepages; }",
		.judge = judge_hugetlbfs},
	{"memory.stale_files", TL_CAN_WARN, "Files left in hugetlbfs by a killed DPDK program occupy hugepages.",
		"Remove the files rtemap_* that are not locked by a process.",
		"for file in /dev/hugepages/rtemap_*; do\n"
		"\t[ ! -e \"$file\" ] || flock -n \"$file\" rm -f \"$file\" || echo \"$file is in use\"\n"
		"done",
		.setting = NUMBER(memory.stale_files, 0, 0, .after = " files rtemap_*")},
	{"memory.memlock", TL_CAN_WARN | TL_CAN_FAIL,
		"vfio locks all memory accessible to a NIC; for a user other than root this counts against the limit.",
		"LimitMEMLOCK=infinity in the unit, or a line \"* - memlock unlimited\" in /etc/security/limits.conf.",
		.judge = judge_memlock},
	{"memory.cgroup", TL_CAN_FAIL, "A cgroup's memory limit kills the process or keeps it from starting.",
		"Raise MemoryMax= of the unit, or memory.max of the cgroup.", .judge = judge_cgroup_memory},
	{"memory.cgroup_hugetlb", TL_CAN_FAIL,
		"Beyond a cgroup's hugepage limit the process gets SIGBUS at the first access, not an error at the allocation.",
		"Raise hugetlb.2MB.max of the cgroup.", .judge = judge_cgroup_hugetlb},
	{"memory.numa_balancing", TL_CAN_WARN,
		"The kernel unmaps pages to sample their use: each costs a page fault on a worker.",
		"sysctl -w kernel.numa_balancing=0", "set_to /proc/sys/kernel/numa_balancing 0",
		"numa_balancing=disable", .setting = NUMBER(memory.numa_balancing, 0, 0)},
	{"memory.ksm", TL_CAN_WARN, "A write to a merged page stalls for the copy, and the merging thread uses a CPU.",
		"echo 2 > /sys/kernel/mm/ksm/run, which also unmerges pages.", "set_to /sys/kernel/mm/ksm/run 2",
		.judge = judge_ksm},
	{"memory.thp", TL_CAN_WARN,
		"The kernel's assembly of huge pages in the background stalls the program that uses them.",
		"echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
		"set_to /sys/kernel/mm/transparent_hugepage/enabled madvise", "transparent_hugepage=madvise",
		.setting = TEXT(memory.thp, .bad = "always")},
};

const struct tl_check_group tl_doctor_memory = {checks, TL_ARRAY_LEN(checks)};
