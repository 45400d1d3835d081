// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Classes of a recording on one RX lcore.

#include <tl_filter.h>
#include <tl_flow.h>
#include <tl_police.h>

#define POLICE_WAYS 4 // meters per group

struct police_meter {
	uint64_t print; // of its flow or source; 0: free
	struct tl_meter_state state;
};

_Static_assert(sizeof(struct police_meter) == TL_POLICE_METER_BYTES, "as the header says");

struct police_class {
	struct tl_filter *filter; // NULL: every frame
	struct tl_meter meter;	  // its state is that of new meters
	struct tl_meter_state shared;
	struct police_meter *table; // NULL: all frames share one meter
	uint64_t group_mask;
	uint64_t reuse_ns; // a meter is full when unused for this, less TL_POLICE_STEP_NS
	enum tl_police_per per;
	bool aware;
	uint32_t snaplen;
	struct tl_police_stats stats;
};

struct tl_police {
	struct tl_flow_hash hash;
	bool inner;
	uint32_t n_classes;
	struct police_class classes[TL_POLICE_CLASSES_MAX + 1]; // the last one is that of unmatched frames
} TL_CACHE_ALIGNED;
