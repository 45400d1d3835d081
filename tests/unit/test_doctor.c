// SPDX-License-Identifier: BSD-3-Clause
// doctor: each check distinguishes a suitable host from one with a single fault.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_doctor.h>

#include <tl_test.h>

#define MIB (INT64_C(1) << 20)
#define GIB (INT64_C(1) << 30)

static struct tl_doctor_report report;

static struct tl_fact_num num(int64_t value)
{
	return (struct tl_fact_num){.known = true, .value = value};
}

static struct tl_fact_text text(const char *words)
{
	struct tl_fact_text fact = {.known = true};

	snprintf(fact.text, sizeof(fact.text), "%s", words);
	return fact;
}

// ---- a suitable host: 8 CPUs on 2 nodes, an ixgbe and an mlx5 port, a recording on ext4

static void make_good_memory(struct tl_facts *facts)
{
	facts->memory = (struct tl_fact_memory){.huge_total_mb = num(4096),
		.huge_free_mb = num(4096),
		.hugetlbfs = text("/dev/hugepages"),
		.stale_files = num(0),
		.memlock_bytes = num(TL_FACT_NO_LIMIT),
		.may_lock = num(0),
		.cgroup_bytes = num(TL_FACT_NO_LIMIT),
		.cgroup_huge_bytes = num(TL_FACT_NO_LIMIT),
		.numa_balancing = num(0),
		.ksm = num(0),
		.thp = text("madvise")};
	facts->n_nodes = 2;
	facts->nodes[0] = (struct tl_fact_node){.id = 0,
		.cpus = tl_cpus_parse_list("0-3"),
		.huge_total_mb = num(2048),
		.huge_free_mb = num(2048),
		.need_mb = 1024};
	facts->nodes[1] = (struct tl_fact_node){
		.id = 1, .cpus = tl_cpus_parse_list("4-7"), .huge_total_mb = num(2048), .huge_free_mb = num(2048)};
}

static void make_good_cpu(struct tl_facts *facts)
{
	facts->wanted = (struct tl_fact_wanted){.configured = true,
		.huge = true,
		.memory_mb = 1024,
		.used_mb = 512,
		.lcores = tl_cpus_parse_list("0,2-3"),
		.workers = tl_cpus_parse_list("2-3"),
		.sleepers = text("")};
	facts->cpu = (struct tl_fact_cpu){.online = tl_cpus_parse_list("0-7"),
		.allowed = tl_cpus_parse_list("0-1,4-5"),
		.permitted = tl_cpus_parse_list("0-7"),
		.isolated = tl_cpus_parse_list("2-3,6-7"),
		.nohz_full = tl_cpus_parse_list("2-3"),
		.rcu_nocbs = tl_cpus_parse_list("2-3"),
		.workqueues = tl_cpus_parse_mask("33"),
		.watched = tl_cpus_parse_list("0-7"),
		.siblings = tl_cpus_parse_list("6-7"),
		.missing_flags = text(""),
		.quota_percent = num(TL_FACT_NO_LIMIT),
		.worker_irqs = num(0),
		.irqbalance = num(0),
		.governor = text("performance"),
		.idle_exit_us = num(2),
		.rt_runtime_us = num(-1),
		.nmi_watchdog = num(0),
		.watchdog = num(0),
		.stray_tasks = num(0),
		.steal_ppm = num(0),
		.throttled = num(0),
		.hottest_mc = num(50000),
		.smis_per_hour = num(0)};
	for (uint16_t cpu = 0; cpu < 8; cpu++)
		facts->cpu.core_of[cpu] = cpu % 4;
}

static struct tl_fact_port good_port(const char *name, int64_t vendor, int64_t device, const char *driver)
{
	struct tl_fact_port port = {.configured = true,
		.pci = true,
		.sends = true,
		.wanted_mtu = 1500,
		.lcores = tl_cpus_parse_list("2"),
		.present = num(1),
		.vendor = num(vendor),
		.device = num(device),
		.node = num(0),
		.driver = text(driver),
		.group = num(7),
		.group_others = text(""),
		.vfio_access = num(1),
		.width = num(8),
		.max_width = num(8),
		.mts = num(8000),
		.max_mts = num(8000),
		.read_request_bytes = num(512),
		.aspm = num(0),
		.aer_correctable = num(0),
		.aer_nonfatal = num(0),
		.aer_fatal = num(0),
		.interface = text(""),
		.firmware = text("16.35.2000 (MT_0000000012)"),
		.pmd_present = num(1)};

	snprintf(port.name, sizeof(port.name), "%s", name);
	snprintf(port.address, sizeof(port.address), "%s", name);
	return port;
}

static void make_good_ports(struct tl_facts *facts)
{
	facts->n_ports = 2;
	facts->ports[0] = good_port("0000:3b:00.0", 0x8086, 0x10fb, "vfio-pci");
	facts->ports[1] = good_port("0000:5e:00.0", 0x15b3, 0x1017, "mlx5_core");
	facts->ports[1].bar0 = num(1);
	facts->ports[1].interface = text("ens1");
	facts->ports[1].carrier = num(1);
	facts->ports[1].mtu = num(1500);
	facts->ports[1].speed_mbps = num(25000);
	facts->ports[1].pause = num(0);
	facts->ports[1].fec = num(1);
	facts->ports[1].queue_irqs = num(2);
	facts->ports[1].irqs[0] = (struct tl_fact_irq){50, num(0)};
	facts->ports[1].irqs[1] = (struct tl_fact_irq){51, num(1)};
	facts->ports[1].rps.known = true;
	facts->ports[1].xps = tl_cpus_parse_list("0-7");
	facts->ports[1].ring_rx = facts->ports[1].ring_rx_max = num(8192);
	facts->ports[1].adaptive = num(0);
	facts->ports[1].rx_usecs = num(8);
	facts->bus = (struct tl_fact_bus){
		.vfio_module = num(1), .iommu_groups = num(40), .noiommu = num(0), .lockdown = text("none")};
}

static void make_good_rest(struct tl_facts *facts)
{
	facts->time = (struct tl_fact_time){.clocksource = text("tsc"),
		.constant_tsc = num(1),
		.nonstop_tsc = num(1),
		.synchronized = num(1),
		.max_error_us = num(500),
		.daemon = text("chronyd")};
	facts->n_disks = 1;
	facts->disks[0] = (struct tl_fact_disk){.path = "/data",
		.exists = num(1),
		.writable = num(1),
		.filesystem = text("ext4"),
		.o_direct = num(1),
		.free_bytes = num(1024 * GIB),
		.measured_bytes_per_s = num(2000 * 1000000),
		.keep_bytes = (uint64_t)(100 * GIB),
		.line_bytes_per_s = 1250000000};
	facts->dpdk = (struct tl_fact_dpdk){.built = text("DPDK 22.11.11"),
		.running = text("DPDK 22.11.11"),
		.driver_dir = text("/usr/lib/dpdk/pmds-23.0"),
		.ieee1588 = num(1),
		.rdma_core = num(44)};
}

static struct tl_facts good_facts(void)
{
	struct tl_facts facts = {0};

	make_good_memory(&facts);
	make_good_cpu(&facts);
	make_good_ports(&facts);
	make_good_rest(&facts);
	return facts;
}

// ---- faults

enum kind { NOTHING, SET_NUM, SET_TEXT, SET_CPUS, SET_U64, SET_BOOL, FORGET };

struct change {
	enum kind kind;
	size_t at;
	int64_t number;
	const char *text;
};

#define AT(field) offsetof(struct tl_facts, field)
#define NUM(field, n)                                                                                                  \
	{                                                                                                              \
		.kind = SET_NUM, .at = AT(field), .number = n                                                          \
	}
#define TEXT(field, words)                                                                                             \
	{                                                                                                              \
		.kind = SET_TEXT, .at = AT(field), .text = words                                                       \
	}
#define CPUS(field, list)                                                                                              \
	{                                                                                                              \
		.kind = SET_CPUS, .at = AT(field), .text = list                                                        \
	}
#define U64(field, n)                                                                                                  \
	{                                                                                                              \
		.kind = SET_U64, .at = AT(field), .number = n                                                          \
	}
#define BOOL(field, is)                                                                                                \
	{                                                                                                              \
		.kind = SET_BOOL, .at = AT(field), .number = is                                                        \
	}
#define GONE(field)                                                                                                    \
	{                                                                                                              \
		.kind = FORGET, .at = AT(field)                                                                        \
	}

static void apply(const struct change *change, struct tl_facts *facts)
{
	void *at = (char *)facts + change->at;

	if (change->kind == SET_NUM)
		*(struct tl_fact_num *)at = num(change->number);
	else if (change->kind == SET_TEXT)
		*(struct tl_fact_text *)at = text(change->text);
	else if (change->kind == SET_CPUS)
		*(struct tl_fact_cpus *)at = tl_cpus_parse_list(change->text);
	else if (change->kind == SET_U64)
		*(uint64_t *)at = (uint64_t)change->number;
	else if (change->kind == SET_BOOL)
		*(bool *)at = change->number != 0;
	else if (change->kind == FORGET)
		*(bool *)at = false; // each fact begins with its flag "known"
}

#define OK TL_VERDICT_OK
#define UNKNOWN TL_VERDICT_UNKNOWN
#define WARN TL_VERDICT_WARN
#define FAIL TL_VERDICT_FAIL

struct sick {
	const char *id;
	enum tl_verdict verdict;
	struct change changes[3];
	unsigned others; // other checks whose verdict changes
};

#define KERNEL BOOL(ports[1].pci, false) // the kernel owns the second port's queues

// clang-format off
static const struct sick sicks[] = {
	{"memory.hugepages", FAIL, {NUM(memory.huge_free_mb, 1023)}},
	{"memory.hugepages", OK, {NUM(memory.huge_free_mb, 1024)}},
	{"memory.hugepages", UNKNOWN, {GONE(memory.huge_free_mb)}},
	{"memory.hugepages", WARN, {BOOL(wanted.huge, false)}},
	{"memory.hugepages", WARN, {BOOL(wanted.configured, false), NUM(memory.huge_free_mb, 0)}, 2},
	{"memory.hugepages_node", WARN, {NUM(nodes[0].huge_free_mb, 1023)}},
	{"memory.hugepages_node", OK, {NUM(nodes[1].huge_free_mb, 0)}},
	{"memory.hugepages_node", WARN, {NUM(nodes[0].huge_free_mb, 0), U64(nodes[0].need_mb, 0)}},
	{"memory.hugepages_node", UNKNOWN, {GONE(nodes[0].huge_free_mb), GONE(nodes[1].huge_free_mb)}},
	{"memory.memory_mb", WARN, {U64(wanted.used_mb, 1025)}},
	{"memory.memory_mb", UNKNOWN, {BOOL(wanted.configured, false)}, 1},
	{"cpu.shared", UNKNOWN, {BOOL(wanted.configured, false)}, 1},
	{"memory.hugetlbfs", WARN, {TEXT(memory.hugetlbfs, "")}},
	{"memory.stale_files", WARN, {NUM(memory.stale_files, 3)}},
	{"memory.memlock", FAIL, {NUM(memory.memlock_bytes, 8 * MIB)}},
	{"memory.memlock", OK, {NUM(memory.memlock_bytes, 8 * MIB), NUM(memory.may_lock, 1)}},
	{"memory.memlock", OK, {NUM(memory.memlock_bytes, 2 * GIB)}},
	{"memory.memlock", WARN, {NUM(memory.memlock_bytes, 8 * MIB), U64(n_ports, 0)}, 6},
	{"memory.memlock", UNKNOWN, {GONE(memory.memlock_bytes)}},
	{"memory.cgroup", FAIL, {NUM(memory.cgroup_bytes, 64 * MIB)}},
	{"memory.cgroup", OK, {NUM(memory.cgroup_bytes, 256 * MIB)}},
	{"memory.cgroup_hugetlb", FAIL, {NUM(memory.cgroup_huge_bytes, 512 * MIB)}},
	{"memory.numa_balancing", WARN, {NUM(memory.numa_balancing, 1)}},
	{"memory.numa_balancing", WARN, {NUM(memory.numa_balancing, -1)}},
	{"memory.ksm", WARN, {NUM(memory.ksm, 1)}},
	{"memory.ksm", OK, {NUM(memory.ksm, 2)}},
	{"memory.thp", WARN, {TEXT(memory.thp, "always")}},
	{"memory.thp", OK, {TEXT(memory.thp, "never")}},
	{"cpu.flags", FAIL, {TEXT(cpu.missing_flags, "avx2")}},
	{"cpu.online", FAIL, {CPUS(cpu.online, "0-2")}},
	{"cpu.cpuset", FAIL, {CPUS(cpu.permitted, "1-7")}},
	{"cpu.shared", WARN, {TEXT(wanted.sleepers, "lan, tap")}},
	{"cpu.quota", WARN, {NUM(cpu.quota_percent, 200)}},
	{"cpu.isolated", WARN, {CPUS(cpu.isolated, "3,6-7")}},
	{"cpu.isolated", UNKNOWN, {GONE(wanted.workers)}, 6},
	{"cpu.nohz_full", WARN, {CPUS(cpu.nohz_full, "")}},
	{"cpu.rcu_nocbs", WARN, {CPUS(cpu.rcu_nocbs, "2")}},
	{"cpu.irqs", WARN, {NUM(cpu.worker_irqs, 1), TEXT(cpu.worker_irq_list, "IRQ 40")}},
	{"cpu.irqs", UNKNOWN, {GONE(cpu.worker_irqs)}},
	{"cpu.irqbalance", WARN, {NUM(cpu.irqbalance, 1)}},
	{"cpu.governor", WARN, {TEXT(cpu.governor, "schedutil")}},
	{"cpu.idle_states", WARN, {NUM(cpu.idle_exit_us, 133)}},
	{"cpu.smt", WARN, {CPUS(cpu.siblings, "1")}},
	{"cpu.smt", WARN, {CPUS(cpu.siblings, "3")}},
	{"cpu.smt", OK, {CPUS(cpu.siblings, "")}},
	{"cpu.rt_throttling", WARN, {NUM(cpu.rt_runtime_us, 950000)}},
	{"cpu.stray_tasks", WARN, {NUM(cpu.stray_tasks, 2), TEXT(cpu.stray_task_list, "cron (1), sshd (2)")}},
	{"cpu.nmi_watchdog", WARN, {NUM(cpu.nmi_watchdog, 1)}},
	{"cpu.watchdog", WARN, {NUM(cpu.watchdog, 1)}},
	{"cpu.watchdog", OK, {NUM(cpu.watchdog, 1), CPUS(cpu.watched, "0-1")}},
	{"cpu.workqueues", WARN, {CPUS(cpu.workqueues, "0-2")}},
	{"cpu.steal", WARN, {NUM(cpu.steal_ppm, 1001)}},
	{"cpu.steal", OK, {NUM(cpu.steal_ppm, 1000)}},
	{"cpu.thermal", WARN, {NUM(cpu.throttled, 1)}},
	{"cpu.thermal", WARN, {NUM(cpu.hottest_mc, 95000)}},
	{"cpu.smi", WARN, {NUM(cpu.smis_per_hour, 61)}},
	{"cpu.smi", UNKNOWN, {GONE(cpu.smis_per_hour)}},
	{"pci.driver", FAIL, {TEXT(ports[0].driver, "ixgbe")}},
	{"pci.driver", FAIL, {TEXT(ports[0].driver, "")}},
	{"pci.driver", FAIL, {TEXT(ports[1].driver, "vfio-pci")}},
	{"pci.driver", FAIL, {NUM(ports[0].present, 0)}},
	{"pci.driver", OK, {TEXT(ports[0].driver, "ixgbe"), BOOL(ports[0].configured, false)}},
	{"pci.driver", WARN, {TEXT(ports[0].driver, "uio_pci_generic")}},
	{"pci.driver", UNKNOWN, {GONE(ports[0].driver)}, 1},
	{"pci.vfio_module", FAIL, {NUM(bus.vfio_module, 0)}},
	{"pci.vfio_module", WARN, {NUM(bus.vfio_module, 0), BOOL(wanted.configured, false), BOOL(ports[0].configured, false)}, 2},
	{"pci.vfio_module", OK, {NUM(bus.vfio_module, 0), BOOL(ports[0].configured, false)}},
	{"pci.vfio_access", FAIL, {NUM(ports[0].vfio_access, 0)}},
	{"pci.vfio_access", OK, {NUM(ports[1].vfio_access, 0)}},
	{"pci.iommu", FAIL, {NUM(bus.iommu_groups, 0)}},
	{"pci.iommu", WARN, {NUM(bus.iommu_groups, 0), NUM(bus.noiommu, 1)}},
	{"pci.iommu_group", FAIL, {TEXT(ports[0].group_others, "0000:3b:00.1 (ixgbe)")}},
	{"pci.iommu_group", WARN, {TEXT(ports[0].group_others, "0000:3b:00.1 (ixgbe)"), BOOL(ports[0].configured, false)}},
	{"pci.iommu_group", OK, {TEXT(ports[1].group_others, "0000:5e:00.1 (mlx5_core)")}},
	{"pci.lockdown", WARN, {TEXT(bus.lockdown, "integrity")}},
	{"pci.nic_clock", WARN, {NUM(ports[1].bar0, 0)}},
	{"pci.nic_clock", OK, {NUM(ports[0].bar0, 0)}},
	{"pci.nic_clock", UNKNOWN, {GONE(ports[1].bar0)}},
	{"pci.link_width", WARN, {NUM(ports[1].width, 4)}},
	{"pci.link_width", UNKNOWN, {NUM(ports[1].max_width, 0)}},
	{"pci.link_speed", WARN, {NUM(ports[0].mts, 5000)}},
	{"pci.link_speed", UNKNOWN, {GONE(ports[0].mts)}},
	{"pci.read_request", WARN, {NUM(ports[0].read_request_bytes, 256)}},
	{"pci.aspm", WARN, {NUM(ports[0].aspm, 2)}},
	{"pci.aer", WARN, {NUM(ports[0].aer_correctable, 9)}},
	{"pci.aer", FAIL, {NUM(ports[0].aer_nonfatal, 1)}},
	{"pci.aer", FAIL, {NUM(ports[0].aer_fatal, 1)}},
	{"pci.numa", WARN, {NUM(ports[0].node, 1)}},
	{"pci.numa", UNKNOWN, {NUM(ports[0].node, -1)}},
	{"pci.numa", OK, {NUM(ports[0].node, -1), U64(n_nodes, 1)}},
	{"pci.limits", WARN, {TEXT(ports[1].rdma, "mlx5_bond_0")}},
	{"pci.limits", OK, {TEXT(ports[1].rdma, "mlx5_0")}},
	{"pci.limits", WARN, {NUM(ports[0].virtual_function, 1)}},
	{"pci.limits", WARN, {NUM(ports[0].virtual_function, 1), NUM(ports[0].trusted, 0)}},
	{"pci.limits", OK, {NUM(ports[0].virtual_function, 1), NUM(ports[0].trusted, 1)}},
	{"pci.limits", WARN, {NUM(ports[1].device, 0x1018)}},
	{"pci.limits", WARN, {NUM(ports[0].device, 0x10ca)}},
	{"pci.limits", FAIL, {NUM(ports[0].device, 0x1593), NUM(ports[0].ddp, 0)}, 0},
	{"pci.limits", OK, {NUM(ports[0].device, 0x1593), NUM(ports[0].ddp, 1)}},
	{"pci.limits", OK, {NUM(ports[0].device, 0x1572), NUM(ports[0].ddp, 0)}, 0},
	{"link.carrier", WARN, {NUM(ports[1].carrier, 0)}},
	{"link.carrier", FAIL, {NUM(ports[1].present, 0)}, 1},
	{"link.carrier", UNKNOWN, {GONE(ports[1].carrier)}},
	{"link.mtu", FAIL, {U64(ports[1].wanted_mtu, 9000)}},
	{"link.mtu", WARN, {U64(ports[1].wanted_mtu, 9000), BOOL(ports[1].sends, false)}},
	{"link.pause", WARN, {NUM(ports[1].pause, 1)}},
	{"link.fec", WARN, {NUM(ports[1].fec, 0)}},
	{"link.fec", OK, {NUM(ports[1].fec, 0), NUM(ports[1].speed_mbps, 10000)}},
	{"link.isolated", OK, {BOOL(ports[1].isolated, true), TEXT(ports[1].taken, "")}},
	{"link.isolated", FAIL, {BOOL(ports[1].isolated, true), TEXT(ports[1].taken, "10.0.0.1 on ens1")}},
	{"link.isolated", FAIL, {BOOL(ports[0].isolated, true), TEXT(ports[0].taken, "")}},
	{"link.isolated", UNKNOWN, {BOOL(ports[1].isolated, true)}},
	{"receive.irqs", OK, {KERNEL}},
	{"receive.irqs", WARN, {KERNEL, NUM(ports[1].irqs[1].cpu, 2)}},
	{"receive.irqs", WARN, {KERNEL, NUM(ports[1].irqs[1].cpu, 4)}},
	{"receive.irqs", WARN, {KERNEL, NUM(ports[1].irqs[1].cpu, 0)}},
	{"receive.irqs", OK, {NUM(ports[1].irqs[1].cpu, 2)}},
	{"receive.irqs", UNKNOWN, {KERNEL, GONE(ports[1].irqs[0].cpu)}},
	{"receive.irqs", UNKNOWN, {KERNEL, NUM(ports[1].queue_irqs, 0)}},
	{"receive.rps", OK, {KERNEL, CPUS(ports[1].rps, "1")}},
	{"receive.rps", WARN, {KERNEL, CPUS(ports[1].rps, "1-2")}},
	{"receive.rps", WARN, {KERNEL, CPUS(ports[1].rps, "1,5")}},
	{"receive.rps", UNKNOWN, {KERNEL, GONE(ports[1].rps)}},
	{"receive.xps", OK, {KERNEL, CPUS(ports[1].xps, "")}},
	{"receive.xps", WARN, {KERNEL, CPUS(ports[1].xps, "0-6")}},
	{"receive.xps", UNKNOWN, {KERNEL, GONE(ports[1].xps)}},
	{"receive.rings", WARN, {KERNEL, NUM(ports[1].ring_rx, 8191)}},
	{"receive.rings", OK, {NUM(ports[1].ring_rx, 8191)}},
	{"receive.rings", UNKNOWN, {KERNEL, GONE(ports[1].ring_rx)}},
	{"receive.moderation", WARN, {KERNEL, NUM(ports[1].adaptive, 1)}},
	{"receive.moderation", WARN, {KERNEL, NUM(ports[1].rx_usecs, 11)}},
	{"receive.moderation", OK, {KERNEL, NUM(ports[1].rx_usecs, 10)}},
	{"receive.moderation", UNKNOWN, {KERNEL, GONE(ports[1].rx_usecs)}},
	{"time.clocksource", WARN, {TEXT(time.clocksource, "hpet")}},
	{"time.tsc", FAIL, {NUM(time.nonstop_tsc, 0)}},
	{"time.tsc", FAIL, {NUM(time.constant_tsc, 0)}},
	{"time.synchronized", WARN, {NUM(time.synchronized, 0)}},
	{"time.synchronized", WARN, {NUM(time.max_error_us, 16000000)}},
	{"time.daemon", WARN, {TEXT(time.daemon, "")}},
	{"storage.directory", FAIL, {NUM(disks[0].exists, 0)}},
	{"storage.directory", FAIL, {NUM(disks[0].writable, 0)}},
	{"storage.directory", UNKNOWN, {BOOL(wanted.configured, false), U64(n_disks, 0)}, 6},
	{"storage.filesystem", WARN, {TEXT(disks[0].filesystem, "zfs")}},
	{"storage.filesystem", OK, {TEXT(disks[0].filesystem, "xfs")}},
	{"storage.o_direct", WARN, {NUM(disks[0].o_direct, 0)}},
	{"storage.free", WARN, {NUM(disks[0].free_bytes, 50 * GIB)}},
	{"storage.free", FAIL, {NUM(disks[0].free_bytes, 500 * MIB)}},
	{"storage.free", FAIL, {U64(disks[0].min_free_bytes, 2000 * GIB)}},
	{"storage.rate", WARN, {NUM(disks[0].measured_bytes_per_s, 500000000)}},
	{"storage.rate", OK, {NUM(disks[0].measured_bytes_per_s, 1), U64(disks[0].line_bytes_per_s, 0)}},
	{"storage.rate", UNKNOWN, {GONE(disks[0].measured_bytes_per_s)}},
	{"dpdk.version", WARN, {TEXT(dpdk.running, "DPDK 24.11.1")}},
	{"dpdk.pmds", FAIL, {NUM(ports[0].pmd_present, 0)}},
	{"dpdk.pmds", WARN, {NUM(ports[1].pmd_present, 0), BOOL(ports[1].configured, false)}},
	{"dpdk.pmds", UNKNOWN, {NUM(ports[0].device, 0xffff)}, 1},
	{"dpdk.ieee1588", WARN, {NUM(dpdk.ieee1588, 0)}},
	{"dpdk.ieee1588", OK, {NUM(dpdk.ieee1588, 0), NUM(ports[0].device, 0x1593)}},
	{"dpdk.rdma_core", FAIL, {NUM(dpdk.rdma_core, 0)}},
	{"dpdk.rdma_core", WARN, {NUM(dpdk.rdma_core, 15)}},
	{"dpdk.rdma_core", UNKNOWN, {GONE(dpdk.rdma_core)}},
	{"dpdk.firmware", WARN, {TEXT(ports[1].firmware, "16.20.1010")}},
	{"dpdk.firmware", WARN, {TEXT(ports[1].firmware, "16.21.999")}},
	{"dpdk.firmware", OK, {TEXT(ports[0].firmware, "16.20.1010")}},
	{"dpdk.firmware", UNKNOWN, {GONE(ports[1].firmware)}},
};
// clang-format on

// ---- tests

static int find(const char *id)
{
	for (size_t i = 0; i < report.n; i++)
		if (strcmp(report.checks[i]->id, id) == 0)
			return (int)i;
	return -1;
}

TL_TEST("a well-configured host passes every check")
{
	struct tl_facts facts = good_facts();

	tl_doctor_judge(&facts, &report);
	for (size_t i = 0; i < report.n; i++)
		if (report.findings[i].verdict != OK) {
			printf("#   %s: %s\n", report.checks[i]->id, report.findings[i].read);
			CU_FAIL("a check is not content");
		}
	CU_ASSERT_EQUAL(report.counts[OK], report.n);
}

// Return the checks whose verdict differs from that of the suitable host.
static unsigned count_changed(void)
{
	unsigned n = 0;

	for (size_t i = 0; i < report.n; i++)
		n += report.findings[i].verdict != OK;
	return n;
}

TL_TEST("each fault changes the verdict of its check only")
{
	for (size_t i = 0; i < TL_ARRAY_LEN(sicks); i++) {
		const struct sick *sick = &sicks[i];
		struct tl_facts facts = good_facts();
		for (size_t c = 0; c < TL_ARRAY_LEN(sick->changes); c++)
			apply(&sick->changes[c], &facts);
		tl_doctor_judge(&facts, &report);
		int at = find(sick->id);
		CU_ASSERT_FATAL(at >= 0);
		unsigned changed = count_changed(), expected = (sick->verdict != OK) + sick->others;
		if (report.findings[at].verdict == sick->verdict && changed == expected)
			continue;
		printf("#   row %zu, %s: %s, not %s (%s); %u verdicts changed, not %u\n", i, sick->id,
			tl_verdict_name(report.findings[at].verdict), tl_verdict_name(sick->verdict),
			report.findings[at].read, changed, expected);
		CU_FAIL("a check has another verdict");
	}
}

TL_TEST("every check reaches exactly its declared verdicts")
{
	unsigned reached[TL_DOCTOR_CHECKS_MAX] = {0};
	struct tl_facts facts = good_facts();

	tl_doctor_judge(&facts, &report);
	for (size_t i = 0; i < TL_ARRAY_LEN(sicks); i++)
		reached[find(sicks[i].id)] |= 1u << sicks[i].verdict;
	for (size_t i = 0; i < report.n; i++)
		if ((reached[i] & (TL_CAN_WARN | TL_CAN_FAIL)) != report.checks[i]->can) {
			printf("#   %s: can %#x, was seen to say %#x\n", report.checks[i]->id, report.checks[i]->can,
				reached[i]);
			CU_FAIL("a verdict is never reached, or not announced");
		}
}

TL_TEST("without facts every check is unknown")
{
	struct tl_facts facts = {0};

	tl_doctor_judge(&facts, &report);
	CU_ASSERT_EQUAL(report.counts[UNKNOWN], report.n);
	for (size_t i = 0; i < report.n; i++)
		CU_ASSERT(report.findings[i].read[0] != '\0');
}

TL_TEST("a configuration without facts fails no check")
{
	struct tl_facts facts = {.wanted = good_facts().wanted};

	tl_doctor_judge(&facts, &report);
	CU_ASSERT_EQUAL(report.counts[WARN], 0);
	CU_ASSERT_EQUAL(report.counts[FAIL], 0);
	CU_ASSERT(report.counts[UNKNOWN] > report.n / 2);
}

TL_TEST("a port without a PCI address is not checked as a card")
{
	struct tl_facts facts = good_facts();

	for (uint32_t i = 0; i < facts.n_ports; i++)
		facts.ports[i].address[0] = '\0';
	tl_doctor_judge(&facts, &report);
	CU_ASSERT_STRING_EQUAL(report.findings[find("pci.driver")].read, "no port of the configuration is on PCI");
	facts.wanted.configured = false;
	tl_doctor_judge(&facts, &report);
	CU_ASSERT_STRING_EQUAL(report.findings[find("pci.driver")].read, "no network card was found on PCI");
}

TL_TEST("there are at least 40 checks, each with its own id, reason and fix")
{
	struct tl_facts facts = {0};

	tl_doctor_judge(&facts, &report);
	CU_ASSERT(report.n >= 40);
	CU_ASSERT(report.n < TL_DOCTOR_CHECKS_MAX);
	for (size_t i = 0; i < report.n; i++) {
		const struct tl_check *check = report.checks[i];
		CU_ASSERT_EQUAL(find(check->id), (int)i); // unique
		CU_ASSERT_PTR_NOT_NULL(strchr(check->id, '.'));
		CU_ASSERT(check->why[0] != '\0' && check->fix[0] != '\0');
		CU_ASSERT(check->can != 0);
	}
}

static bool list_is(const char *list, const char *as)
{
	struct tl_fact_cpus cpus = tl_cpus_parse_list(list);
	char buf[64];

	return cpus.known && strcmp(tl_cpus_format(&cpus, buf, sizeof(buf)), as) == 0;
}

TL_TEST("only CPU lists in the kernel's format are accepted")
{
	static const char *const wrong[] = {
		"x", "1-", "-1", "3-1", "1,", ",1", "1024", "0-99999999999999999999", "1 2", "1-2-3"};

	CU_ASSERT(list_is("0-3,8,10-11", "0-3,8,10-11"));
	CU_ASSERT(list_is("5", "5"));
	CU_ASSERT(list_is("", "none"));
	CU_ASSERT(list_is("(null)", "none"));
	CU_ASSERT(list_is("0-1023", "0-1023"));
	for (size_t i = 0; i < TL_ARRAY_LEN(wrong); i++)
		CU_ASSERT_FALSE(tl_cpus_parse_list(wrong[i]).known);
}

TL_TEST("CPU masks are parsed")
{
	struct tl_fact_cpus cpus = tl_cpus_parse_mask("1,00000003");
	char buf[64], wide[600];

	CU_ASSERT_STRING_EQUAL(tl_cpus_format(&cpus, buf, sizeof(buf)), "0-1,32");
	CU_ASSERT(tl_cpus_parse_mask("0").known);
	CU_ASSERT_FALSE(tl_cpus_parse_mask("").known);
	CU_ASSERT_FALSE(tl_cpus_parse_mask("3g").known);
	memset(wide, 'f', sizeof(wide) - 1);
	wide[sizeof(wide) - 1] = '\0';
	CU_ASSERT_FALSE(tl_cpus_parse_mask(wide).known);
}

TL_TEST("a list that does not fit is truncated with a mark")
{
	struct tl_fact_cpus cpus = {0};
	char buf[40];

	for (uint32_t cpu = 0; cpu < 200; cpu += 2)
		tl_cpus_add(&cpus, cpu);
	tl_cpus_format(&cpus, buf, sizeof(buf));
	CU_ASSERT_PTR_NOT_NULL(strstr(buf, "..."));
	CU_ASSERT_EQUAL(strncmp(buf, "0,2,4,", 6), 0);
}

TL_TEST("placeholders are replaced by facts")
{
	struct tl_facts facts = good_facts();
	char buf[256], small[10];

	CU_ASSERT_STRING_EQUAL(tl_doctor_fill("a {workers} b {others} {pages} ${x} {}", &facts, buf, sizeof(buf)),
		"a 2-3 b 0-1,4-7 528 ${x} {}");
	CU_ASSERT_STRING_EQUAL(tl_doctor_fill("{pci}", &facts, buf, sizeof(buf)), "0000:3b:00.0 0000:5e:00.0");
	CU_ASSERT_STRING_EQUAL(tl_doctor_fill("{pci}", &facts, small, sizeof(small)), "0000:3b:0");
	facts.wanted.workers.known = false;
	CU_ASSERT_STRING_EQUAL(tl_doctor_fill("{workers}", &facts, buf, sizeof(buf)), "CPUS");
}

TL_TEST("a finding is one line of ASCII for any path")
{
	struct tl_facts facts = good_facts();

	memset(facts.disks[0].path, '\n', 100);
	facts.disks[0].path[50] = (char)0xc3;
	for (uint32_t i = 1; i < TL_FACT_DISKS_MAX; i++)
		facts.disks[i] = facts.disks[0];
	facts.n_disks = TL_FACT_DISKS_MAX;
	tl_doctor_judge(&facts, &report);
	for (size_t i = 0; i < report.n; i++)
		for (const char *c = report.findings[i].read; *c != '\0'; c++)
			CU_ASSERT(*c >= ' ' && *c <= '~');
	CU_ASSERT_PTR_NOT_NULL(strstr(report.findings[find("storage.filesystem")].read, "..."));
}

// Give the second port n interrupts, all on CPU 0.
static struct tl_facts facts_of_kernel_port(int64_t n)
{
	struct tl_facts facts = good_facts();
	struct tl_fact_port *port = &facts.ports[1];

	port->pci = false;
	port->queue_irqs = num(n);
	for (uint32_t i = 0; i < n; i++)
		port->irqs[i] = (struct tl_fact_irq){50 + i, num(0)};
	return facts;
}

static void place(struct tl_facts *facts, const int64_t *cpus)
{
	for (uint32_t i = 0; i < facts->ports[1].queue_irqs.value; i++)
		facts->ports[1].irqs[i].cpu = num(cpus[i]);
}

// Return the script's commands for interrupts; the caller frees.
static char *irq_steps(const struct tl_facts *facts)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	tl_doctor_judge(facts, &report);
	report.checks[find("receive.irqs")]->print_steps(facts, out);
	fclose(out);
	return text;
}

TL_TEST("an interrupt on the sibling of a worker is on the worker's core")
{
	struct tl_facts facts = facts_of_kernel_port(2);

	facts.nodes[0].cpus = tl_cpus_parse_list("0-7");
	place(&facts, (const int64_t[]){0, 6});
	tl_doctor_judge(&facts, &report);
	CU_ASSERT_PTR_NOT_NULL(strstr(report.findings[find("receive.irqs")].read, " 1 on cores of workers"));
	place(&facts, (const int64_t[]){0, 5});
	tl_doctor_judge(&facts, &report);
	CU_ASSERT_EQUAL(report.findings[find("receive.irqs")].verdict, OK);
}

TL_TEST("a core is crowded by more than its share, even if each has some")
{
	struct tl_facts facts = facts_of_kernel_port(5);

	place(&facts, (const int64_t[]){0, 0, 0, 0, 1});
	tl_doctor_judge(&facts, &report);
	CU_ASSERT_PTR_NOT_NULL(strstr(report.findings[find("receive.irqs")].read, " 1 too many on their core"));
}

TL_TEST("cores are crowded while one has no interrupt")
{
	struct tl_facts facts = facts_of_kernel_port(4);
	const char *read = report.findings[find("receive.irqs")].read;

	facts.wanted.workers = tl_cpus_parse_list("3"); // three cores are free
	place(&facts, (const int64_t[]){0, 1, 0, 1});
	tl_doctor_judge(&facts, &report);
	CU_ASSERT_PTR_NOT_NULL(strstr(read, "1 too many on their core"));
	place(&facts, (const int64_t[]){0, 1, 2, 1});
	tl_doctor_judge(&facts, &report);
	CU_ASSERT_EQUAL(report.findings[find("receive.irqs")].verdict, OK);
	place(&facts, (const int64_t[]){0, 1, 0, 1});
	facts.ports[1].irqs[2].cpu.known = false; // it may be on the third
	tl_doctor_judge(&facts, &report);
	CU_ASSERT_EQUAL(report.findings[find("receive.irqs")].verdict, UNKNOWN);
}

TL_TEST("interrupts are placed on worker-free cores of the card's node")
{
	struct tl_facts facts = facts_of_kernel_port(3);
	char *steps = irq_steps(&facts);

	CU_ASSERT_STRING_EQUAL(steps, "set_to /proc/irq/50/smp_affinity_list 0\n"
				      "set_to /proc/irq/51/smp_affinity_list 1\n"
				      "set_to /proc/irq/52/smp_affinity_list 0\n");
	free(steps);
	place(&facts, (const int64_t[]){0, 1, 0}); // three workers on two cores
	tl_doctor_judge(&facts, &report);
	CU_ASSERT_EQUAL(report.findings[find("receive.irqs")].verdict, OK);
	place(&facts, (const int64_t[]){1, 1, 1});
	tl_doctor_judge(&facts, &report);
	CU_ASSERT_PTR_NOT_NULL(strstr(report.findings[find("receive.irqs")].read, "1 too many on their core"));
	place(&facts, (const int64_t[]){0, 1, 0});
	steps = irq_steps(&facts);
	CU_ASSERT_STRING_EQUAL(steps, "");
	free(steps);
	facts.nodes[0].cpus = tl_cpus_parse_list("4-7"); // hyperthreads of the cores, 6 and 7 beside workers
	facts.nodes[1].cpus = tl_cpus_parse_list("0-3");
	steps = irq_steps(&facts);
	CU_ASSERT_STRING_EQUAL(steps, "set_to /proc/irq/50/smp_affinity_list 4\n"
				      "set_to /proc/irq/51/smp_affinity_list 5\n"
				      "set_to /proc/irq/52/smp_affinity_list 4\n");
	free(steps);
	facts.nodes[0].cpus = tl_cpus_parse_list("2-3,6-7");
	steps = irq_steps(&facts);
	CU_ASSERT_STRING_EQUAL(steps, "# ens1: no core of its node is without a worker\n");
	free(steps);
}

TL_TEST("interrupts of two cards are placed on different cores")
{
	struct tl_facts facts = facts_of_kernel_port(1);

	facts.ports[0] = facts.ports[1];
	facts.ports[0].irqs[0] = (struct tl_fact_irq){40, num(7)};
	facts.ports[1].irqs[0] = (struct tl_fact_irq){50, num(7)};
	char *steps = irq_steps(&facts);
	CU_ASSERT_STRING_EQUAL(steps, "set_to /proc/irq/40/smp_affinity_list 0\n"
				      "set_to /proc/irq/50/smp_affinity_list 1\n");
	free(steps);
}

int main(void)
{
	return tl_test_run("doctor");
}
