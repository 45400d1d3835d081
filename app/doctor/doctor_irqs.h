// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// irqs: the interrupts of a device, with the CPUs that receive them (Documentation/core-api/irq/irq-affinity.rst).
//
// Threads: any. Memory: the caller's.

#include "doctor_read.h"

#define TL_IRQ_NAME 64

struct tl_irq {
	uint32_t number;
	char name[TL_IRQ_NAME];	       // of its handler; "": unknown
	int32_t queue;		       // receive queue that it serves, by the driver's naming; -1: none, or unknown
	struct tl_fact_cpus effective; // CPUs that it is routed to
	struct tl_fact_cpus allowed;   // CPUs that it may be routed to
	struct tl_fact_cpus counted;   // CPUs that have received it
	uint64_t count;		       // since the start of the host, if counted is known
};

// Set the directory of an interface's device, that has its interrupts: of a virtio device its parent's.
void tl_irqs_device(const struct tl_tree *tree, const char *interface, char *path, size_t size);

// Call visit for each interrupt of a PCI device. device: its directory in sysfs. interrupts: text of /proc/interrupts;
// NULL: unknown.
void tl_irqs_each(const struct tl_tree *tree, const char *device, const char *interrupts,
	void (*visit)(void *ctx, const struct tl_irq *irq), void *ctx);
