// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// family: documented properties of a NIC family: drivers-config/FAMILY/capabilities.json, compared with those that a
// port reports. A difference indicates an unknown model, firmware or driver, for which the notes may be wrong, too.
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
	char name[32];		// name of the folder: "ixgbe"
	char pmd[32];		// DPDK's name: "net_ixgbe"
	char bind[32];		// required kernel driver: "vfio-pci", "mlx5_core"
	char nics[128];		// "82599, X520, X540, X550"
	uint32_t rx_queues_max; // maximum of all models
	uint32_t ring_min, ring_max;
	unsigned n_reta_sizes;		      // 0: any size
	uint32_t reta_sizes[TL_FAMILY_SIZES]; // per model; 0: no RSS
	bool rx_timestamps;		      // for every packet
	bool multicast_filter;
	unsigned n_notes;
	char notes[TL_FAMILY_NOTES][256]; // facts shown to the user
};

// Properties reported by a port.
struct tl_family_facts {
	char pmd[32];
	uint32_t rx_queues_max, ring_min, ring_max;
	uint32_t reta_size;
	bool rx_timestamps;
};

// Find the driver in DIR/*/capabilities.json. Return 0, -ENOENT if no file names it, or -EINVAL with a message if a
// file is invalid.
int tl_family_find(const char *dir, const char *pmd, struct tl_family *out, struct tl_err *err);

// Report each difference to say() as a sentence. Return their number.
unsigned tl_family_compare(const struct tl_family *family, const struct tl_family_facts *facts,
	void (*say)(void *ctx, const char *text), void *ctx);
