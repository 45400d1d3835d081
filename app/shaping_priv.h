// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// shaping_priv: shared by the files of shaping.

#include <tl_shape.h>
#include <tl_share.h>
#include <tl_share_group.h>

#include "shaping.h"

// What is kept of each class of the configuration in force, by its index.
struct shaping_kept {
	struct tl_tree_class *classes;	 // in force, without the limit
	uint64_t *limits;		 // of their share, bit/s; UINT64_MAX: none
	struct tl_share_demand *demands; // when the share was divided last
	struct tl_report_class *rows;
};

struct tl_shaping {
	const struct tl_config_shape *config;
	struct tl_config_shape *own; // the same, after a change of the classes; NULL: it is that of the configuration
	uint32_t frames;	     // that the port has buffers for, beside its own
	const struct tl_txq *txq;
	struct tl_shape *shape;
	struct shaping_kept kept;
	uint64_t limit; // of its share, bit/s; UINT64_MAX: none
	// Of the tree when the share was divided last:
	struct tl_share_demand demand;
	uint64_t sent_bytes, busy_ns;
};

// Return the limit of a class, bit/s: without rate and ceil that of its parent.
uint64_t shaping_ceil(const struct tl_config_shape *shape, uint32_t cls);

// Check that each class can get frames. shape: an entry of the configuration, or another version of it. Return 0, or
// -EINVAL with a message about class *at.
int shaping_check_reach(
	const struct tl_config *config, const struct tl_config_shape *shape, uint32_t *at, struct tl_err *err);

struct tl_tree_class shaping_tree_class(const struct tl_config_shape *shape, uint32_t cls);

// Classes for the shaper, and what they borrow.
struct shaping_classes {
	struct tl_shape_class *of;
	struct tl_policer_cfg *policers;
	struct tl_shape_weight *weights;
};

// shaping_classes.c: describe the classes. Return 0 or -ENOMEM with a message; shaping_forget() frees in both cases.
int shaping_describe(const struct tl_config_shape *shape, struct shaping_classes *out, struct tl_err *err);
void shaping_forget(struct shaping_classes *classes);

// Allocate for the described classes, without limits. Return 0 or -ENOMEM with a message; shaping_free() frees in both
// cases.
int shaping_keep(const struct tl_config_shape *shape, const struct shaping_classes *classes, struct shaping_kept *out,
	struct tl_err *err);
void shaping_free(struct shaping_kept *kept);

// Set the rates of the classes, and limit the shape. classes may be those in force. Return 0, or as
// tl_shape_set_rates().
int shaping_set(struct tl_shaping *shaping, const struct tl_tree_class *classes, uint64_t limit, struct tl_err *err);

// Limit the shape and its classes, and the ceils below with them. The rates of the classes add up to no more than the
// limit, and that of a class is no more than its own. limits: of the classes.
void shaping_clamp(struct tl_tree_class *classes, uint32_t n, const uint64_t *limits, uint64_t limit);

// shaping_replace.c: replace the classes by those of another version of the entry, which it owns then. to[i]: the class
// that continues class i, or TL_TREE_REMOVED. Return 0, or as tl_shape_set_classes(), and nothing has changed.
int shaping_replace(struct tl_shaping *shaping, struct tl_config_shape *next, const uint32_t *to, struct tl_err *err);

// shaping_share.c: return the part of a rate that an idle member keeps, for the frames that show its demand.
uint64_t shaping_idle_part(uint64_t rate, uint64_t weight, uint64_t weights);

// Check whether a limit is to be set: a lower one at once, so that the sum of all stays right; a higher one if it is
// worth the work.
bool shaping_differs(uint64_t limit, uint64_t before);

// Add what a shape has sent, and the time that it waited for the port, since the last call.
void shaping_add_use(struct tl_share_use *use, struct tl_shaping *shaping, uint64_t sent_bytes);

// shaping_share_class.c: divide the rate of a share with classes, or what the port takes from the whole shape.
void shaping_share_classes(const struct tl_config *config, uint32_t index, struct tl_shaping *const *shapes,
	struct tl_share_capacity *measured, uint64_t elapsed_ns);

// Write the rates and limits in force into the rows of the report, as shaping_clamp() has them.
void shaping_show_rates(struct tl_shaping *shaping);
