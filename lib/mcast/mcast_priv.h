// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// mcast, private: the membership table and the timers that its three parts share: mcast.c changes memberships, query.c
// schedules answers, report.c sends what is due.

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

// The same of MLD, whose versions are one less (RFC 3810, section 5, and RFC 2710, section 3).
#define MLD_QUERY 130
#define MLD_V1_REPORT 131
#define MLD_V1_DONE 132
#define MLD_V2_REPORT 143

// What IGMP and MLD say differently.
struct dialect {
	uint8_t query, older_report, leave, report; // types; older: v2
	uint8_t address_len;
	uint8_t group_off, older_len; // in a query, and of a v1 or v2 message
	uint8_t sources_off;	      // in a v3 query: behind robustness, interval and the number of sources
};

// The version spoken, as IGMP counts (RFC 3376, section 7.2.1: host compatibility mode).
enum igmp_version {
	IGMP_V1 = 1,
	IGMP_V2 = 2,
	IGMP_V3 = 3,
};

// A source joined, or left with the news of it still to be sent.
struct source {
	uint32_t ip_be;
	uint32_t refs;
	uint8_t change_left; // transmissions of its ALLOW or BLOCK still to come
};

// A group joined, or left with the news of it still to be sent. Its reception state is EXCLUDE {} while any_refs is not
// 0, else INCLUDE { sources with refs } (RFC 3376, section 3.2).
struct membership {
	uint32_t any_refs;
	uint8_t mode_left;    // transmissions of the filter mode change (v1, v2: of the report or leave) still to come
	uint8_t source_count; // entries of source[]
	uint8_t wanted_count; // of them with refs
	uint8_t asked_count;  // entries of asked_be[]; 0 while an answer is pending: about the whole group
	uint32_t version_changes; // of struct tl_mcast, as far as this entry has followed them
	uint32_t heard_query;	  // v1, v2: general_queries when another host reported the group
	uint64_t change_due_ns;	  // next transmission of a change, or TL_MCAST_NEVER
	uint64_t response_due_ns; // answer to a query about this group, or TL_MCAST_NEVER
	struct source source[TL_MCAST_SOURCES];
	uint32_t asked_be[TL_MCAST_SOURCES];
};

struct tl_mcast {
	uint64_t deadline_ns; // the earliest of all the due times below
	struct tl_heap due;   // members, by the earlier of their two due times
	uint32_t count;
	uint32_t bucket_mask;
	uint32_t *group_be; // apart from the rest: the hot search reads nothing else
	uint16_t *bucket;   // the first entry of a chain, plus one; 0: none
	uint16_t *next;	    // the one that follows, plus one
	struct membership *member;
	uint64_t repeat_ns; // of all changes that are told together, so that they are repeated together

	uint8_t robustness;   // as the last v3 querier says (RFC 3376, section 4.1.6)
	uint8_t version;      // enum igmp_version
	uint64_t interval_ns; // between general queries, as the last v3 querier says (section 4.1.7)
	uint64_t v1_until_ns; // older version querier present (section 8.12)
	uint64_t v2_until_ns;
	uint32_t version_changes; // so many; a member follows them when it is looked at next
	uint64_t version_ns;	  // time of the last
	uint64_t response_due_ns; // next sweep: the answer to a general query, or TL_MCAST_NEVER
	uint32_t general_queries; // received so far
	uint64_t answer_by_ns;	  // v1, v2: end of the time in which the sweep spreads the groups' answers
	uint32_t sweep;		  // members below this place still to be visited for a general query, a few per tick
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

// The address that stands there, or 0 for :: and one that nobody knows. The other way.
uint32_t mcast_load_address(const struct tl_mcast *m, const uint8_t *p);
void mcast_store_address(const struct tl_mcast *m, uint8_t *p, uint32_t ip_be);

// A random time in (0, max_ns].
uint64_t mcast_random_ns(struct tl_mcast *m, uint64_t max_ns);

static inline uint16_t *mcast_bucket(const struct tl_mcast *m, uint32_t group_be)
{
	return &m->bucket[(tl_be32(group_be) * UINT32_C(0x9e3779b1)) >> 16 & m->bucket_mask];
}

// HOT. The place of a group, left ones included, plus one; 0: there is none.
static inline uint32_t mcast_place(const struct tl_mcast *m, uint32_t group_be)
{
	uint32_t place = *mcast_bucket(m, group_be);

	while (place != 0 && m->group_be[place - 1] != group_be)
		place = m->next[place - 1];
	return place;
}

// The entry at a place, brought up to the version spoken.
struct membership *mcast_at(struct tl_mcast *m, uint32_t i);

// The entry of a group, left ones included, or NULL.
struct membership *mcast_find(struct tl_mcast *m, uint32_t group_be);

// Follow the querier's version at now_ns. A change of version cancels what is pending.
void mcast_update_version(struct tl_mcast *m, uint64_t now_ns);

// Note the due times of an entry that has changed; forget it if it is left and that is told. The last in its place
// takes the place of one that is forgotten.
void mcast_reschedule(struct tl_mcast *m, struct membership *member);

// Find the next deadline. The last step of every call that changed something.
void mcast_settle(struct tl_mcast *m);
