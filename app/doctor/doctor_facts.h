// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// doctor_facts: gathers the facts judged by `tapline doctor`. Access is read-only, except for disk measurements.
// Unreadable facts stay unknown.
//
// Threads: main. Memory: the caller's.

#include <stdbool.h>

#include <tl_config.h>
#include <tl_doctor_facts.h>

#include "doctor_read.h"

// Gather all facts. config may be NULL. measure: write to the disks of recordings, for about a second each.
void tl_doctor_gather(const struct tl_tree *tree, const struct tl_config *config, bool measure, struct tl_facts *out);

// ---- parts, called in this order: later ones use the results of earlier ones

void tl_gather_nodes(const struct tl_tree *tree, struct tl_facts *facts);
void tl_gather_cpus(const struct tl_tree *tree, struct tl_facts *facts);
void tl_gather_cores(const struct tl_tree *tree, struct tl_facts *facts);
void tl_gather_places(const struct tl_tree *tree, const struct tl_config *config, struct tl_facts *facts);
void tl_gather_memory(const struct tl_tree *tree, struct tl_facts *facts);
void tl_gather_workers(const struct tl_tree *tree, struct tl_facts *facts);
void tl_gather_irqs(const struct tl_tree *tree, struct tl_facts *facts);
void tl_gather_processes(const struct tl_tree *tree, struct tl_facts *facts);
void tl_gather_quiet(const struct tl_tree *tree, struct tl_facts *facts);
void tl_gather_ports(const struct tl_tree *tree, const struct tl_config *config, struct tl_facts *facts);
void tl_gather_receive(const struct tl_tree *tree, struct tl_facts *facts);
void tl_gather_time(const struct tl_tree *tree, struct tl_facts *facts);
void tl_gather_disks(const struct tl_tree *tree, const struct tl_config *config, bool measure, struct tl_facts *facts);
void tl_gather_dpdk(const struct tl_tree *tree, struct tl_facts *facts);

// Read the megabytes in hugepages of all sizes; unknown if the kernel does not report them.
void tl_gather_hugepages(const struct tl_tree *tree, struct tl_fact_num *total_mb, struct tl_fact_num *free_mb);

// PCI address of a port, for a kernel interface that of its NIC; "": not on PCI.
#define TL_ADDRESS_CHARS 16
struct tl_port_spec;
void tl_gather_address(const struct tl_tree *tree, const struct tl_port_spec *spec, char *buf, size_t size);

// Read a NIC's slot facts from its configuration space: /sys/bus/pci/devices/ADDRESS/.
void tl_gather_slot(const struct tl_tree *tree, const char *address, struct tl_fact_port *port);

// Read the facts available only from the driver of a kernel interface, by ioctl.
void tl_gather_ethtool(struct tl_fact_port *port);

// Read what a virtual function is of whom, and whether that trusts it: the host's links and rtnetlink(7).
void tl_gather_trust(const struct tl_tree *tree, struct tl_fact_port *port);

// Return the trust of virtual function vf in an answer to RTM_GETLINK with RTEXT_FILTER_VF; aligned to 4 bytes.
struct tl_fact_num tl_vf_trust(void *answer, size_t bytes, uint32_t vf);

// Lines of /proc/cpuinfo, for tl_line_after().
#define TL_CPUINFO_MODEL "model name\t:"
#define TL_CPUINFO_FLAGS "flags\t\t:"

// Return 1 in a virtual machine, from the flags in the text of /proc/cpuinfo, which may be NULL.
struct tl_fact_num tl_cpuinfo_hypervisor(const char *cpuinfo);

// Return the least limit of the process's cgroup and its ancestors; TL_FACT_NO_LIMIT if none is set. v2_file is the
// file of cgroup v2 ("memory.max"), v1_file that of v1, below the hierarchy of the controller.
struct tl_fact_num tl_cgroup_limit(
	const struct tl_tree *tree, const char *controller, const char *v2_file, const char *v1_file);

// Return the CPUs of the process's cpuset; unknown if no cgroup has one.
struct tl_fact_cpus tl_cgroup_cpus(const struct tl_tree *tree);

// Return the CPU quota of the process in percent of one CPU.
struct tl_fact_num tl_cgroup_quota(const struct tl_tree *tree);
