// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// doctor_facts: gathers what `tapline doctor` judges. Reads only, but for measuring a disk. Whatever cannot be read
// stays unknown.
//
// Threads: main. Memory: the caller's.

#include <stdbool.h>

#include <tl_config.h>
#include <tl_doctor_facts.h>

#include "doctor_read.h"

// config may be NULL. measure: write to the disks of recordings, for a second or so each.
void tl_doctor_gather(const struct tl_tree *tree, const struct tl_config *config, bool measure, struct tl_facts *out);

// ---- its parts, in this order: later ones use what earlier ones found

void tl_gather_nodes(const struct tl_tree *tree, struct tl_facts *facts);
void tl_gather_cpus(const struct tl_tree *tree, struct tl_facts *facts);
void tl_gather_places(const struct tl_tree *tree, const struct tl_config *config, struct tl_facts *facts);
void tl_gather_wanted(const struct tl_config *config, struct tl_facts *facts);
void tl_gather_memory(const struct tl_tree *tree, struct tl_facts *facts);
void tl_gather_workers(const struct tl_tree *tree, struct tl_facts *facts);
void tl_gather_irqs(const struct tl_tree *tree, struct tl_facts *facts);
void tl_gather_processes(const struct tl_tree *tree, struct tl_facts *facts);
void tl_gather_quiet(const struct tl_tree *tree, struct tl_facts *facts);
void tl_gather_ports(const struct tl_tree *tree, const struct tl_config *config, struct tl_facts *facts);
void tl_gather_time(const struct tl_tree *tree, struct tl_facts *facts);
void tl_gather_disks(const struct tl_tree *tree, const struct tl_config *config, bool measure, struct tl_facts *facts);
void tl_gather_dpdk(const struct tl_tree *tree, struct tl_facts *facts);

// Megabytes in hugepages of all sizes; not known where the kernel does not tell.
void tl_gather_hugepages(const struct tl_tree *tree, struct tl_fact_num *total_mb, struct tl_fact_num *free_mb);

// The PCI address of a port, of a kernel interface that of its card; "": it is not on PCI.
#define TL_ADDRESS_CHARS 16
struct tl_port_spec;
void tl_gather_address(const struct tl_tree *tree, const struct tl_port_spec *spec, char *buf, size_t size);

// What a card says of its slot in its configuration space: /sys/bus/pci/devices/ADDRESS/.
void tl_gather_slot(const struct tl_tree *tree, const char *address, struct tl_fact_port *port);

// What only the driver of a kernel interface tells, by ioctl.
void tl_gather_ethtool(struct tl_fact_port *port);

// Lines of /proc/cpuinfo, for tl_line_after().
#define TL_CPUINFO_MODEL "model name\t:"
#define TL_CPUINFO_FLAGS "flags\t\t:"

// 1 in a virtual machine, by the flags in the text of /proc/cpuinfo, which may be NULL.
struct tl_fact_num tl_cpuinfo_hypervisor(const char *cpuinfo);

// The least of a limit of the process's cgroup and of those above it; TL_FACT_NO_LIMIT where none has one. v2_file is
// the file of cgroup v2 ("memory.max"), v1_file the one of v1, below the hierarchy of the controller.
struct tl_fact_num tl_cgroup_limit(
	const struct tl_tree *tree, const char *controller, const char *v2_file, const char *v1_file);

// The CPUs that its cpuset has; not known where no cgroup tells.
struct tl_fact_cpus tl_cgroup_cpus(const struct tl_tree *tree);

// Percent of one CPU that it may use.
struct tl_fact_num tl_cgroup_quota(const struct tl_tree *tree);
