// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// facts: what can be known of a host before Tapline runs on it. All zero means that nothing is known.
//
// Threads: any. Memory: the caller's; no pointers inside.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TL_FACT_TEXT 160
#define TL_FACT_CPUS_MAX 1024
#define TL_FACT_NODES_MAX 8
#define TL_FACT_PORTS_MAX 16
#define TL_FACT_DISKS_MAX 16
#define TL_FACT_NO_LIMIT INT64_MAX

struct tl_fact_num {
	bool known;
	int64_t value;
};

struct tl_fact_text {
	bool known;
	char text[TL_FACT_TEXT]; // printable ASCII
};

struct tl_fact_cpus {
	bool known;
	uint64_t bits[TL_FACT_CPUS_MAX / 64];
};

// What the configuration asks of the host.
struct tl_fact_wanted {
	bool configured;	     // false: there is none, and checks are general
	bool huge;		     // eal.huge
	uint64_t memory_mb;	     // eal.memory_mb: what DPDK takes at start
	uint64_t used_mb;	     // what buffers, packets and connections will take of it
	struct tl_fact_cpus lcores;  // the main lcore's CPU and the workers
	struct tl_fact_cpus workers; // the CPUs that poll; without a configuration the isolated ones, if there are any
	struct tl_fact_cpus port_lcores[TL_FACT_PORTS_MAX]; // of each port of the configuration
	struct tl_fact_num port_vendors[TL_FACT_PORTS_MAX]; // of its NIC, by PCI
	struct tl_fact_num port_nodes[TL_FACT_PORTS_MAX];   // of its NIC; -1: the host does not say
	struct tl_fact_cpus irq_cpus;			    // that interrupts of the ports' NICs come to
	struct tl_fact_text sleepers;			    // ports that share the main lcore's CPU; "": none
};

struct tl_fact_node {
	uint32_t id;
	struct tl_fact_cpus cpus;
	struct tl_fact_num huge_total_mb, huge_free_mb;
	uint64_t need_mb; // of memory_mb: its share
};

struct tl_fact_memory {
	struct tl_fact_num huge_total_mb, huge_free_mb;
	struct tl_fact_text hugetlbfs; // where it is mounted; "": nowhere
	struct tl_fact_num stale_files;
	struct tl_fact_num memlock_bytes, may_lock; // CAP_IPC_LOCK
	struct tl_fact_num cgroup_bytes, cgroup_huge_bytes;
	struct tl_fact_num numa_balancing, ksm;
	struct tl_fact_text thp;
};

struct tl_fact_cpu {
	struct tl_fact_cpus online, isolated, nohz_full, rcu_nocbs, workqueues, watched;
	struct tl_fact_cpus allowed;	   // the mask of a process that has just begun
	struct tl_fact_cpus permitted;	   // what its cpuset lets it ask for, isolated CPUs among them
	struct tl_fact_cpus siblings;	   // CPUs that share a core with a worker
	struct tl_fact_text missing_flags; // that the build needs; "": none
	struct tl_fact_num quota_percent;  // of one CPU, by the cgroup
	struct tl_fact_num worker_irqs;	   // interrupts that may come to a worker
	struct tl_fact_text worker_irq_list;
	struct tl_fact_num irqbalance;
	struct tl_fact_text governor;	 // of the workers, else of all: the first that is not "performance"
	struct tl_fact_num idle_exit_us; // of the deepest idle state that a worker may enter
	struct tl_fact_num rt_runtime_us, nmi_watchdog, watchdog;
	struct tl_fact_num stray_tasks;
	struct tl_fact_text stray_task_list;
	struct tl_fact_num steal_ppm, throttled, hottest_mc; // thousandths of a degree
	struct tl_fact_num smis_per_hour;
};

struct tl_fact_port {
	char name[64];	  // PCI address or interface
	char address[16]; // on PCI; "": it is not there
	bool configured;  // it stands in the configuration
	bool pci;	  // DPDK drives it through its PCI address
	bool sends;	  // it has an echo
	uint64_t wanted_mtu;
	struct tl_fact_cpus lcores;
	struct tl_fact_num present, vendor, device, node;
	struct tl_fact_text driver; // "": none
	struct tl_fact_num group, vfio_access;
	struct tl_fact_num virtual_function;		   // of another device, which may refuse it things
	struct tl_fact_text rdma;			   // its InfiniBand device; "": none
	struct tl_fact_num ddp;				   // the host has ice's DDP package
	struct tl_fact_text group_others;		   // devices of the group that no vfio driver has; "": none
	struct tl_fact_num width, max_width, mts, max_mts; // lanes, mega transfers per second
	struct tl_fact_num read_request_bytes, aspm;
	struct tl_fact_num aer_correctable, aer_nonfatal, aer_fatal;
	struct tl_fact_text interface; // the kernel's, if a kernel driver has it
	struct tl_fact_num carrier, mtu, speed_mbps;
	struct tl_fact_num pause; // bit 0: it obeys pause frames, bit 1: it sends them
	struct tl_fact_num fec;	  // whether forward error correction is on
	struct tl_fact_text firmware;
	struct tl_fact_num pmd_present;
	struct tl_fact_num bar0; // whether this process may map it
};

struct tl_fact_bus {
	struct tl_fact_num vfio_module, iommu_groups, noiommu;
	struct tl_fact_text lockdown;
};

struct tl_fact_time {
	struct tl_fact_text clocksource;
	struct tl_fact_num constant_tsc, nonstop_tsc;
	struct tl_fact_num synchronized, max_error_us;
	struct tl_fact_text daemon; // that keeps the clock; "": none was found
};

struct tl_fact_disk {
	char path[TL_FACT_TEXT]; // directory of a recording
	struct tl_fact_num exists, writable;
	struct tl_fact_text filesystem;
	struct tl_fact_num o_direct, free_bytes, measured_bytes_per_s;
	uint64_t min_free_bytes;   // what the configuration keeps free
	uint64_t keep_bytes;	   // what its ring of files takes
	uint64_t line_bytes_per_s; // 0: unknown
};

struct tl_fact_dpdk {
	struct tl_fact_text built, running, driver_dir;
	struct tl_fact_num ieee1588;
	struct tl_fact_num rdma_core;
};

struct tl_facts {
	struct tl_fact_wanted wanted;
	struct tl_fact_memory memory;
	struct tl_fact_cpu cpu;
	uint32_t n_nodes;
	struct tl_fact_node nodes[TL_FACT_NODES_MAX];
	uint32_t n_ports;
	struct tl_fact_port ports[TL_FACT_PORTS_MAX];
	struct tl_fact_bus bus;
	struct tl_fact_time time;
	uint32_t n_disks;
	struct tl_fact_disk disks[TL_FACT_DISKS_MAX];
	struct tl_fact_dpdk dpdk;
};

// ---- sets of CPUs

static inline bool tl_cpus_has(const struct tl_fact_cpus *cpus, uint32_t cpu)
{
	return cpu < TL_FACT_CPUS_MAX && (cpus->bits[cpu / 64] >> (cpu % 64) & 1) != 0;
}

void tl_cpus_add(struct tl_fact_cpus *cpus, uint32_t cpu); // it is known then
bool tl_cpus_is_empty(const struct tl_fact_cpus *cpus);
struct tl_fact_cpus tl_cpus_minus(const struct tl_fact_cpus *a, const struct tl_fact_cpus *b);
struct tl_fact_cpus tl_cpus_both(const struct tl_fact_cpus *a, const struct tl_fact_cpus *b);

// "0-3,8", as the kernel writes lists; "" and "(null)" are the empty set. Not known when it is anything else.
struct tl_fact_cpus tl_cpus_parse_list(const char *text);

// "ff,00000003", as the kernel writes masks.
struct tl_fact_cpus tl_cpus_parse_mask(const char *text);

// Into buf, "none" when empty; what does not fit is left out, with dots. Returns buf.
char *tl_cpus_format(const struct tl_fact_cpus *cpus, char *buf, size_t size);
