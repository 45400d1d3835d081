// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// police: decides by classes how much of each frame a recording keeps. A frame belongs to the first class that it
// matches, and the meter of the class (tl_meter.h) colours it: green frames are kept whole, yellow ones are cut to the
// snaplen of the class, red ones are only counted. Frames of no class are kept whole.
//
// A class has one meter, or one per flow or source address (tl_flow.h). These are in a table of fixed size, in groups
// of four selected by a keyed hash. A meter is removed only when its buckets are full again: it then behaves as a new
// one, so that removal changes no colour. A flow without a place in its group is metered with all such flows by the
// meter of the class, and so are frames without a flow or source.
//
// The time of a meter is that of the frames' stamps. After a step back of more than TL_POLICE_STEP_NS it continues from
// the new time; within that, a time before the last one counts as the last one.
//
// Threads: burst() on one RX lcore; create() and destroy() on main; any may sample.
// Memory:  create/destroy, TL_POLICE_METER_BYTES per meter of a table, on the given NUMA node. Needs EAL, except for
//          check(). Frames are borrowed.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>
#include <tl_choices.h>
#include <tl_meter.h>
#include <tl_port.h>

#define TL_POLICE_CLASSES_MAX 16
#define TL_POLICE_METER_BYTES 32u
#define TL_POLICE_STEP_NS TL_NS_PER_S

struct tl_err;
struct tl_police; // opaque

struct tl_police_class {
	const char *name;  // borrowed for life
	const char *match; // tcpdump syntax; NULL: every frame
	struct tl_meter_cfg meter;
	bool aware;		// frames arrive with the colour of the DSCP of their outermost IP header, else green
	uint32_t snaplen;	// bytes kept of a yellow frame
	enum tl_police_per per; // frames that share a meter
	uint32_t meters;	// size of the table, a power of two from 4, unless per class
};

struct tl_police_cfg {
	const struct tl_police_class *classes; // in the order of their decision
	uint32_t n_classes;		       // 1 .. TL_POLICE_CLASSES_MAX
	bool inner; // flows and sources are those of innermost packets; expressions are used as given
	int socket_id;
	uint64_t seed; // key of the hash: random, secret
};

// Counters of a class, written by the RX lcore. matched_pkts = sum of pkts.
struct tl_police_stats {
	uint64_t matched_pkts;
	uint64_t pkts[TL_METER_COLOURS], bytes[TL_METER_COLOURS]; // bytes on the wire
	uint64_t overflow_pkts; // metered with others for lack of a place in the table
	uint64_t meters;	// taken by flows or sources, repetitions after removal included
};

// Decision on the frames of a burst.
struct tl_police_verdict {
	uint64_t red;		    // bit i: frame i is not to be recorded
	uint64_t yellow;	    // bit i: snaplen[i] is that of its class
	uint32_t snaplen[TL_BURST]; // of the other frames; UINT32_MAX: no limit
};

// Check expression and rates of a class. Return 0, or -EINVAL, -ENOMEM with a message.
int tl_police_check(const struct tl_police_class *cls, struct tl_err *err);

// Return 0 and set *out (caller owns it), or -EINVAL, -ENOMEM with a message.
int tl_police_create(const struct tl_police_cfg *cfg, struct tl_police **out, struct tl_err *err);
void tl_police_destroy(struct tl_police *police);

// HOT. Decide on the frames of a burst whose bit in wanted is set; others are in neither set, with no snaplen.
void tl_police_burst(
	struct tl_police *police, const struct tl_burst *burst, uint64_t wanted, struct tl_police_verdict *out);

// Add the counters of a class to *sum. The class n_classes has the frames of no class, in matched_pkts. Parts are read
// before their whole.
void tl_police_sample(const struct tl_police *police, uint32_t cls, struct tl_police_stats *sum);
