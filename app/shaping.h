// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// shaping: class trees of a configuration ("shape"), in front of the send queues of its ports.
//
// Threads: main only. Memory: create/destroy; the configuration is borrowed for life.

#include <stdint.h>

#include <jansson.h>

#include <tl_config.h>
#include <tl_lcore.h>
#include <tl_metrics.h>
#include <tl_port.h>
#include <tl_share_group.h>

struct tl_err;
struct tl_shaping;

// Check rates, bursts and expressions of all entries, before anything is started. Return 0, or -EINVAL with file, line
// and path.
int tl_shaping_check(const struct tl_config *config, struct tl_err *err);

// Return the number of frames that the trees of a port may hold.
uint32_t tl_shaping_frames(const struct tl_config *config, uint32_t port);

// Set up the tree of an entry on its port. Return 0 or a negative errno with a message.
int tl_shaping_create(const struct tl_config *config, uint32_t index, struct tl_port *port,
	const struct tl_clock *clock, struct tl_shaping **out, struct tl_err *err);
void tl_shaping_destroy(struct tl_shaping *shaping);
void tl_shaping_service(struct tl_shaping *shaping, struct tl_service *out);

// Return the shaper, and the number of frames that it may hold.
struct tl_shape *tl_shaping_shape(struct tl_shaping *shaping, uint32_t *frames);

// Describe the classes and the sources of their counters.
void tl_shaping_list(struct tl_shaping *shaping, struct tl_metrics_shape *out);

// shaping_change.c: set the rates of a new version of the entry, add its new classes and remove those that it lacks;
// row is described anew then. Return 0, or a negative errno with a message: the entry is wrong, or differs in more.
int tl_shaping_change(const struct tl_config *config, uint32_t index, struct tl_shaping *shaping, const json_t *entry,
	struct tl_metrics_shape *row, struct tl_err *err);

// shaping_share.c: shares of the configuration, by index.
struct tl_shaping_shares {
	uint64_t done_ns; // time of the last division
	struct tl_share_capacity measured[TL_CONFIG_SHARES_MAX];
};
void tl_shaping_share_init(struct tl_shaping_shares *shares);

// Divide the rates of the shares by the demands of their shapes, if an interval has passed. Main calls it every 20 ms,
// so that it is done 100 ms later at the latest.
#define TL_SHAPING_SHARE_NS (80 * TL_NS_PER_MS)
void tl_shaping_share(const struct tl_config *config, struct tl_shaping *const *shapes,
	struct tl_shaping_shares *shares, uint64_t now_ns);

// shaping_explain.c: the trees of a port, for run --explain.
json_t *tl_shaping_json(const struct tl_config *config, uint32_t port);
void tl_shaping_print(const struct tl_config *config, uint32_t port);
