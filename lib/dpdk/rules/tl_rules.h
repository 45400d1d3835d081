// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// rules: which flow rules of a configuration a NIC can have, by a table of its driver's family; what a rule takes
// there, or the item for which it cannot be had. Pure: no device is asked. Many drivers accept rules that they do not
// keep as they were given, so the tables are narrower than what the drivers accept.
//
// Threads: any. Memory: the caller's.

#include <stdbool.h>
#include <stdint.h>

#include <tl_config.h>

struct tl_err;

// Items of a rule, as bits.
#define TL_RULES_SRC_IP 0x01u
#define TL_RULES_DST_IP 0x02u
#define TL_RULES_PROTO 0x04u
#define TL_RULES_SRC_PORT 0x08u
#define TL_RULES_DST_PORT 0x10u
#define TL_RULES_ITEMS 0x1fu

// Rules that must match the same items, with the same prefix lengths.
enum tl_rules_shape { TL_RULES_SHAPE_ANY, TL_RULES_SHAPE_PER_PROTO, TL_RULES_SHAPE_PER_PORT };

// A kind of filters of a NIC.
struct tl_rules_way {
	const char *name;    // "5-tuple filter"
	uint32_t max;	     // filters of this kind
	unsigned items;	     // that it can match
	unsigned required;   // that each rule must have
	bool ip6;	     // also IPv6
	bool prefixes;	     // addresses with a prefix
	bool proto_by_ports; // the protocol is compared only in rules with ports
	bool proto_by_any;   // the protocol is compared only in rules with addresses or ports
	bool proto_in_ip;    // the driver takes the protocol from the IP header of the rule alone
	bool counts;	     // per rule
	bool marks;	     // received frames bear the mark of their rule
	bool index_by_mark;  // the driver takes the index of a filter from a mark, else all have the same
	enum tl_rules_shape shape;
};

// Filters of a family of NICs.
struct tl_rules_family {
	const char *driver;	      // as tl_doctor_pmd() names it
	uint16_t first, last;	      // PCI device IDs
	struct tl_rules_way to_queue; // max 0: none
	struct tl_rules_way drops;
	const char *drop_counter; // xstat that counts what all dropping rules matched, and nothing else; NULL: none
	bool isolates;		  // rte_flow_isolate(): frames without a rule stay with the kernel
};

#define TL_RULES_MAX 512 // of a port: those of the configuration, and derived ones

// Find the first row of the driver that has the device; NULL: nothing is known. device: its PCI ID, 0 without one.
const struct tl_rules_family *tl_rules_family(const char *driver, uint16_t device);

struct tl_rules_row {
	const struct tl_rules_way *way; // NULL: the NIC cannot have this rule
	const char *item;		// static: for which it cannot: "src_ip", "proto", ...
	const char *why;		// static
};

struct tl_rules_plan {
	const struct tl_rules_family *family;
	uint32_t n;
	uint32_t n_drops; // rules that drop, among those that the NIC can have
	struct tl_rules_row row[TL_RULES_MAX];
};

// Plan a port's rules. Return 0, or an error with a message on rule *at: -ENOSPC: it is one more than the NIC holds;
// -ENOTSUP: it has a mark, and the NIC cannot have the rule, or its frames bear no marks.
int tl_rules_plan(const struct tl_rules_family *family, const struct tl_config_rule *rules, uint32_t n,
	struct tl_rules_plan *out, uint32_t *at, struct tl_err *err);

// List the rules of an isolated port: those of the configuration; its addresses, to the queue of its first echo; the
// groups of each echo, to its queue. echo_queues: queue of each echo of the configuration. Derived rules yield to
// those of the configuration. Return the number of rules, at most TL_RULES_MAX, or -ENOSPC.
int tl_rules_isolate(
	const struct tl_config *config, uint32_t port, const uint16_t *echo_queues, struct tl_config_rule *out);
