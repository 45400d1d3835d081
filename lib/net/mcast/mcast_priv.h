// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Membership table and timers, shared by the three parts of mcast: mcast.c changes memberships, query.c schedules
// answers, report.c sends what is due.

#include <tl_heap.h>
#include <tl_mcast.h>
#include <tl_wire.h>

#define IGMP_QUERY 0x11	    // every version
#define IGMP_V1_REPORT 0x12 // RFC 1112, appendix I
#define IGMP_V2_REPORT 0x16 // RFC 2236, section 2
#define IGMP_V2_LEAVE 0x17
#define IGMP_V3_REPORT 0x22 // RFC 3376, section 4

#define IGMP_MIN_LEN 8

#define TL_MCAST_QUERY_INTERVAL_NS (125 * TL_NS_PER_S) // RFC 3376, section 8.2

// MLD message types; its version numbers are one lower (RFC 3810, section 5, and RFC 2710, section 3).
#define MLD_QUERY 130
#define MLD_V1_REPORT 131
#define MLD_V1_DONE 132
#define MLD_V2_REPORT 143

// Differences between IGMP and MLD.
struct dialect {
	uint8_t query, older_report, leave, report; // message types; older: v2
	uint8_t address_len;
	uint8_t group_off, older_len; // offsets in a query, and length of a v1 or v2 message
	uint8_t sources_off;	      // in a v3 query, after robustness, interval and source count
};

// Version in use, in IGMP numbers (RFC 3376, section 7.2.1: host compatibility mode).
enum igmp_version {
	IGMP_V1 = 1,
	IGMP_V2 = 2,
	IGMP_V3 = 3,
};

// A source that is joined, or left with unsent reports.
struct source {
	uint32_t ip_be;
	uint32_t refs;
	uint8_t change_left; // remaining transmissions of its ALLOW or BLOCK
};

// A group that is joined, or left with unsent reports. Its reception state is EXCLUDE {} while any_refs is not 0, else
// INCLUDE { sources with refs } (RFC 3376, section 3.2).
struct membership {
	uint32_t any_refs;
	uint8_t mode_left;	  // remaining transmissions of the filter mode change (v1, v2: of the report or leave)
	uint8_t source_count;	  // entries of source[]
	uint8_t wanted_count;	  // sources with refs
	uint8_t asked_count;	  // entries of asked_be[]; 0 while an answer is pending: for the whole group
	uint32_t version_changes; // value of struct tl_mcast at the last update of this entry
	uint32_t reported_query;  // v1, v2: general_queries when another host reported the group
	uint64_t change_due_ns;	  // next transmission of a change, or TL_MCAST_NEVER
	uint64_t response_due_ns; // answer to a query about this group, or TL_MCAST_NEVER
	struct source source[TL_MCAST_SOURCES];
	uint32_t asked_be[TL_MCAST_SOURCES];
};

struct tl_mcast {
	uint64_t deadline_ns; // the earliest due time
	struct tl_heap due;   // members, by the earlier of their two due times
	uint32_t count;
	uint32_t bucket_mask;
	uint32_t *group_be; // separate from member: the hot lookup reads nothing else
	uint16_t *bucket;   // first entry of a chain, plus one; 0: none
	uint16_t *next;	    // next entry of the chain, plus one
	struct membership *member;
	uint64_t repeat_ns; // one random delay for all changes reported together, to repeat them together

	uint8_t robustness;   // robustness variable of the last v3 querier (RFC 3376, section 4.1.6)
	uint8_t version;      // enum igmp_version
	uint64_t interval_ns; // between general queries, of the last v3 querier (section 4.1.7)
	uint64_t v1_until_ns; // older version querier present (section 8.12)
	uint64_t v2_until_ns;
	uint32_t version_changes; // number of version changes; members follow at their next access
	uint64_t version_ns;	  // time of the latest
	uint64_t response_due_ns; // next sweep: the answer to a general query, or TL_MCAST_NEVER
	uint32_t general_queries; // number received
	uint64_t answer_by_ns;	  // v1, v2: end of the random delays of a sweep
	uint32_t sweep;		  // members below this index remain to be visited for a general query, some per tick
	uint64_t random_state;
	struct tl_mcast_cfg cfg;
	const struct dialect *dialect;
	uint32_t all_hosts_be;	 // 224.0.0.1, ff02::1
	uint32_t all_routers_be; // 224.0.0.2, ff02::2: v2 leaves
	uint32_t v3_routers_be;	 // 224.0.0.22, ff02::16: v3 reports

	uint64_t reports_tx;
	uint64_t leaves_tx;
	uint64_t queries_rx;
	uint64_t bad_rx;
} TL_CACHE_ALIGNED;

static inline bool is_member(const struct membership *member)
{
	return member->any_refs != 0 || member->wanted_count != 0;
}

// Load an address; 0 for :: and unknown addresses. Store one.
uint32_t mcast_load_address(const struct tl_mcast *m, const uint8_t *p);
void mcast_store_address(const struct tl_mcast *m, uint8_t *p, uint32_t ip_be);

// A random time in (0, max_ns].
uint64_t mcast_random_ns(struct tl_mcast *m, uint64_t max_ns);

static inline uint16_t *mcast_bucket(const struct tl_mcast *m, uint32_t group_be)
{
	return &m->bucket[(tl_be32(group_be) * UINT32_C(0x9e3779b1)) >> 16 & m->bucket_mask];
}

// HOT. Index of a group, left ones included, plus one; 0: none.
static inline uint32_t mcast_place(const struct tl_mcast *m, uint32_t group_be)
{
	uint32_t place = *mcast_bucket(m, group_be);

	while (place != 0 && m->group_be[place - 1] != group_be)
		place = m->next[place - 1];
	return place;
}

// Return an entry, updated to the version in use.
struct membership *mcast_at(struct tl_mcast *m, uint32_t i);

// The entry of a group, left ones included, or NULL.
struct membership *mcast_find(struct tl_mcast *m, uint32_t group_be);

// Update the version in use at now_ns. A change cancels what is pending.
void mcast_update_version(struct tl_mcast *m, uint64_t now_ns);

// Update the due times of a changed entry, or remove it if it is left and reported. The last entry takes the index of a
// removed one.
void mcast_reschedule(struct tl_mcast *m, struct membership *member);

// Compute the next deadline. Last step of every call that changes state.
void mcast_settle(struct tl_mcast *m);
