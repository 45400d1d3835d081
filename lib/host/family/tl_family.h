// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// family: what the documents say of a family of NICs: drivers-config/FAMILY/capabilities.json, compared with what a
// port of it says of itself. What differs is an unknown model, firmware or driver, of which the notes may be wrong,
// too.
//
// Threads: any. Memory: the caller's.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tl_err;

#define TL_FAMILY_NOTES 8
#define TL_FAMILY_SIZES 4

// A DPDK driver and the NICs behind it.
struct tl_family {
	char name[32];		// the folder: "ixgbe"
	char pmd[32];		// as DPDK calls it: "net_ixgbe"
	char bind[32];		// the kernel's driver that it works through: "vfio-pci", "mlx5_core"
	char nics[128];		// "82599, X520, X540, X550"
	uint32_t rx_queues_max; // of the largest of them
	uint32_t ring_min, ring_max;
	unsigned n_reta_sizes;		      // 0: any size
	uint32_t reta_sizes[TL_FAMILY_SIZES]; // of its models; 0: no RSS
	bool rx_timestamps;		      // of every packet
	bool multicast_filter;
	unsigned n_notes;
	char notes[TL_FAMILY_NOTES][256]; // facts that a user is to be told
};

// What a port says of itself.
struct tl_family_facts {
	char pmd[32];
	uint32_t rx_queues_max, ring_min, ring_max;
	uint32_t reta_size;
	bool rx_timestamps;
};

// Looks for the driver in DIR/*/capabilities.json. Returns 0, -ENOENT where no file names it, or -EINVAL with a
// sentence where a file is wrong.
int tl_family_find(const char *dir, const char *pmd, struct tl_family *out, struct tl_err *err);

// Tells say() what differs, a sentence each. Returns how many.
unsigned tl_family_compare(const struct tl_family *family, const struct tl_family_facts *facts,
	void (*say)(void *ctx, const char *text), void *ctx);
