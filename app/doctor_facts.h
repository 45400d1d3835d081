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

// What a card says of its slot in its configuration space: /sys/bus/pci/devices/ADDRESS/.
void tl_gather_slot(const struct tl_tree *tree, const char *address, struct tl_fact_port *port);

// What only the driver of a kernel interface tells, by ioctl.
void tl_gather_ethtool(struct tl_fact_port *port);

// The least of a limit of the process's cgroup and of those above it; TL_FACT_NO_LIMIT where none has one. v2_file is
// the file of cgroup v2 ("memory.max"), v1_file the one of v1, below the hierarchy of the controller.
struct tl_fact_num tl_cgroup_limit(
	const struct tl_tree *tree, const char *controller, const char *v2_file, const char *v1_file);

// Percent of one CPU that it may use.
struct tl_fact_num tl_cgroup_quota(const struct tl_tree *tree);
