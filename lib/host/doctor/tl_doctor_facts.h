// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// facts: facts about a host, gathered before Tapline runs on it. All zero: nothing is known.
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
#define TL_FACT_IRQS_MAX 128
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

// Requirements of the configuration.
struct tl_fact_wanted {
	bool configured;	     // false: no configuration, general checks
	bool huge;		     // eal.huge
	uint64_t memory_mb;	     // eal.memory_mb: memory allocated by DPDK at start
	uint64_t used_mb;	     // part of it for buffers, packets and connections
	struct tl_fact_cpus lcores;  // CPUs of the main lcore and the workers
	struct tl_fact_cpus workers; // polling CPUs; without a configuration the isolated ones, if any
	struct tl_fact_cpus port_lcores[TL_FACT_PORTS_MAX]; // per port of the configuration
	struct tl_fact_num port_vendors[TL_FACT_PORTS_MAX]; // PCI vendor of its NIC
	struct tl_fact_num port_nodes[TL_FACT_PORTS_MAX];   // NUMA node of its NIC; -1: not reported by the host
	struct tl_fact_cpus irq_cpus;			    // CPUs that receive interrupts of the ports' NICs
	struct tl_fact_text sleepers;			    // ports that share the main lcore's CPU; "": none
};

struct tl_fact_node {
	uint32_t id;
	struct tl_fact_cpus cpus;
	struct tl_fact_num huge_total_mb, huge_free_mb;
	uint64_t need_mb; // share of memory_mb
};

struct tl_fact_memory {
	struct tl_fact_num huge_total_mb, huge_free_mb;
	struct tl_fact_text hugetlbfs; // mount point; "": none
	struct tl_fact_num stale_files;
	struct tl_fact_num memlock_bytes, may_lock; // CAP_IPC_LOCK
	struct tl_fact_num cgroup_bytes, cgroup_huge_bytes;
	struct tl_fact_num numa_balancing, ksm;
	struct tl_fact_text thp;
};

struct tl_fact_cpu {
	struct tl_fact_cpus online, isolated, nohz_full, rcu_nocbs, workqueues, watched;
	struct tl_fact_cpus allowed;	   // affinity mask of a new process
	struct tl_fact_cpus permitted;	   // CPUs of its cpuset, including isolated ones
	struct tl_fact_cpus siblings;	   // CPUs that share a core with a worker
	struct tl_fact_text missing_flags; // required by the build; "": none
	struct tl_fact_num quota_percent;  // of one CPU, set by the cgroup
	struct tl_fact_num worker_irqs;	   // interrupts that may be delivered to a worker
	struct tl_fact_text worker_irq_list;
	struct tl_fact_num irqbalance;
	struct tl_fact_text governor;	 // of the workers, else of all: the first other than "performance"
	struct tl_fact_num idle_exit_us; // exit latency of the deepest idle state allowed on a worker
	struct tl_fact_num rt_runtime_us, nmi_watchdog, watchdog;
	struct tl_fact_num stray_tasks;
	struct tl_fact_text stray_task_list;
	struct tl_fact_num steal_ppm, throttled, hottest_mc; // thousandths of a degree
	struct tl_fact_num smis_per_hour;
	// Per online CPU: the first CPU of its core, and of its last-level cache; itself if that is unknown.
	uint16_t core_of[TL_FACT_CPUS_MAX], cache_of[TL_FACT_CPUS_MAX];
};

// Interrupt of a receive queue.
struct tl_fact_irq {
	uint32_t number;
	struct tl_fact_num cpu; // that it is routed to; unknown: not reported, or several
};

struct tl_fact_port {
	char name[64];		   // PCI address or interface
	char address[16];	   // on PCI; "": not present
	bool configured;	   // listed in the configuration
	bool pci;		   // DPDK uses it through its PCI address
	bool sends;		   // has an echo
	bool isolated;		   // shares its interface with the kernel
	struct tl_fact_text taken; // isolated: own address that the kernel has, and its interface; "": none
	uint64_t wanted_mtu;
	struct tl_fact_cpus lcores;
	struct tl_fact_num present, vendor, device, node;
	struct tl_fact_text driver; // "": none
	struct tl_fact_num group, vfio_access;
	struct tl_fact_num virtual_function;		   // of another device, which may refuse requests
	struct tl_fact_num vf;				   // its number there
	struct tl_fact_text parent;			   // kernel interface of that device
	struct tl_fact_num trusted;			   // by that device
	struct tl_fact_text rdma;			   // InfiniBand device; "": none
	struct tl_fact_num ddp;				   // ice's DDP package is installed
	struct tl_fact_text group_others;		   // devices of the group without a vfio driver; "": none
	struct tl_fact_num width, max_width, mts, max_mts; // lanes, megatransfers per second
	struct tl_fact_num read_request_bytes, aspm;
	struct tl_fact_num aer_correctable, aer_nonfatal, aer_fatal;
	struct tl_fact_text interface; // kernel interface, if bound to a kernel driver
	struct tl_fact_num carrier, mtu, speed_mbps;
	struct tl_fact_num pause; // bit 0: obeys pause frames, bit 1: sends them
	struct tl_fact_num fec;	  // forward error correction is on
	struct tl_fact_text firmware;
	struct tl_fact_num pmd_present;
	struct tl_fact_num bar0; // mappable by this process
	// Receive path of the kernel's driver.
	struct tl_fact_num queue_irqs; // number of irqs
	struct tl_fact_irq irqs[TL_FACT_IRQS_MAX];
	struct tl_fact_cpus rps, xps;		 // CPUs in the masks of its receive and of its transmit queues
	struct tl_fact_num ring_rx, ring_rx_max; // descriptors
	struct tl_fact_num adaptive, rx_usecs;	 // interrupt moderation
};

struct tl_fact_bus {
	struct tl_fact_num vfio_module, iommu_groups, noiommu;
	struct tl_fact_text lockdown;
};

struct tl_fact_time {
	struct tl_fact_text clocksource;
	struct tl_fact_num constant_tsc, nonstop_tsc;
	struct tl_fact_num synchronized, max_error_us;
	struct tl_fact_text daemon; // clock daemon found; "": none
};

struct tl_fact_disk {
	char path[TL_FACT_TEXT]; // directory of a recording
	struct tl_fact_num exists, writable;
	struct tl_fact_text filesystem;
	struct tl_fact_num o_direct, free_bytes, measured_bytes_per_s;
	uint64_t min_free_bytes;   // free space reserved by the configuration
	uint64_t keep_bytes;	   // size of its ring of files
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

void tl_cpus_add(struct tl_fact_cpus *cpus, uint32_t cpu); // also marks the set as known
bool tl_cpus_is_empty(const struct tl_fact_cpus *cpus);
struct tl_fact_cpus tl_cpus_minus(const struct tl_fact_cpus *a, const struct tl_fact_cpus *b);
struct tl_fact_cpus tl_cpus_both(const struct tl_fact_cpus *a, const struct tl_fact_cpus *b);

// Parse "0-3,8", the kernel's list format; "" and "(null)" are the empty set. Anything else: not known.
struct tl_fact_cpus tl_cpus_parse_list(const char *text);

// Parse "ff,00000003", the kernel's mask format.
struct tl_fact_cpus tl_cpus_parse_mask(const char *text);

// Format into buf, "none" when empty; an excess is cut off with dots. Return buf.
char *tl_cpus_format(const struct tl_fact_cpus *cpus, char *buf, size_t size);
