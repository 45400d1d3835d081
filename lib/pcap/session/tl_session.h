// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// session: the TCP sessions (RFC 9293) and UDP flows in captured frames, as scripts: ordered steps of who sent how many
// bytes, or closed, and when. Frames in, scripts out; independent of files.
//
//   frame ── tl_session_add() ──▶ connection, by addresses and ports ──▶ side, reassembled by sequence number ──▶ steps
//
// A UDP flow has the datagrams of two addresses and ports, each a step; its client sent the first one. Datagrams to
// groups are no flow.
//
// The client of TCP is the side that sent the SYN. Each byte counts the first time it is seen, in the order of the
// stream: of overlapping segments the first captured wins, retransmissions, keepalives and answered window probes add
// nothing, and bytes after a hole wait for it. Checksums are not verified (a capturing host leaves them to its NIC),
// and MAC addresses do not distinguish connections. Connections of different VLANs are different ones, unless
// cfg.any_vlan; up to two tags are read (IEEE 802.1Q, 802.1ad).
//
// Memory is bounded by cfg.memory_bytes, contents included. A session whose content does not fit is kept without it
// (TL_SESSION_BEYOND); from the first session for which there is no memory at all, new ones are only counted.
//
// A session that was taken is remembered without content for cfg.idle_ns after its last frame: late segments belong to
// it.
//
// Threads: one per object. Memory: create/destroy; frames are copied.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>
#include <tl_link.h>

#define TL_SESSION_MEMORY_MIN (UINT64_C(1) << 17)
#define TL_SESSION_HELD_MAX (UINT64_C(16) << 20) // bytes of a side that may wait for a hole, in at most
#define TL_SESSION_PIECES_MAX 4096u		 // so many pieces: usually more than a window

enum tl_session_class {
	TL_SESSION_COMPLETE, // from both SYNs to both FINs, or a RST, without a missing byte
	TL_SESSION_NO_SYN,   // the SYN of a side is missing: it began before the recording
	TL_SESSION_UNOPENED, // the server refused the connection, or did not answer
	TL_SESSION_HOLE,     // bytes are missing
	TL_SESSION_CUT,	     // a segment was recorded in part (snaplen)
	TL_SESSION_NO_END,   // neither RST nor both FINs: it continued after the recording
	TL_SESSION_BEYOND,   // its content exceeds cfg.session_bytes, or did not fit into cfg.memory_bytes
	TL_SESSION_CLASSES,
};

// When a session can be taken, with cfg.idle_ns. UDP flows, other than at their end, with their first datagram.
enum tl_session_offer {
	TL_SESSION_AT_END,
	TL_SESSION_AT_DATA, // when is_tls is known
	TL_SESSION_AT_SYN,  // when both SYNs were seen
};

enum tl_session_side { TL_SESSION_CLIENT, TL_SESSION_SERVER };
enum tl_session_event { TL_SESSION_DATA, TL_SESSION_FIN, TL_SESSION_RST };

struct tl_session_step {
	enum tl_session_side side;
	enum tl_session_event event;
	uint64_t bytes;		 // of TL_SESSION_DATA: the next ones of the side's stream; of UDP a datagram
	uint64_t at_ns, last_ns; // since 1970: of its first and of its last segment
};

struct tl_session_end {
	struct tl_ip6 ip; // an IPv4 address in the first 4 bytes
	uint16_t port_be;
};

// A session. Without content (bytes and steps are 0) unless it is COMPLETE.
struct tl_session {
	uint64_t number; // 1, 2, ... in the order of their first frames
	enum tl_session_class class;
	bool is_ip6;
	bool is_udp;
	uint16_t vlan[2]; // VLAN IDs, the outermost first; 0: none, or a priority tag
	bool is_tls;	  // COMPLETE, and the client's first bytes are a TLS record with a ClientHello (RFC 8446,
			  // section 5.1)
	bool is_open;	  // taken before its end, COMPLETE so far: it is taken again when it has grown or ended
	bool may_go_on;	  // UDP: ended by tl_session_end(), before it was idle
	bool is_again;	  // taken before, with taken_bytes
	uint64_t taken_bytes;
	struct tl_session_end end[2]; // by side
	uint64_t first_ns;	      // of its first frame
	uint64_t bytes[2];	      // length of the streams, by side
	const uint8_t *data[2];
	const struct tl_session_step *steps;
	uint32_t n_steps;
};

struct tl_session_cfg {
	uint64_t memory_bytes;	// limit for everything, at least TL_SESSION_MEMORY_MIN
	uint64_t session_bytes; // limit for the content of a session, both sides; 0: none but memory_bytes
	bool any_vlan;		// VLAN tags are ignored: directions of a connection, or copies, may have different ones
	bool udp;		// UDP flows, too; otherwise they are ignored
	uint64_t pause_ns;	// a side that continues later than this after its last segment begins a new step
	uint64_t idle_ns;	// 0: sessions are kept until destroy. Otherwise they are taken one by one: see
				// tl_session_take()
	enum tl_session_offer offer;
};

// At the end: frames = used + ignored + truncated + stray + beyond (all of them "_pkts").
struct tl_session_stats {
	uint64_t frames_pkts;
	uint64_t used_pkts;		      // segments of sessions
	uint64_t ignored_pkts;		      // neither TCP nor UDP of a flow, fragments, malformed
	uint64_t truncated_pkts;	      // captured without the whole TCP or UDP header
	uint64_t stray_pkts;		      // a RST of no session, or from an address and port to itself
	uint64_t beyond_pkts;		      // of connections for which there was no memory
	uint64_t tagged_pkts;		      // in no sum: frames of TCP, or of UDP if taken, with a VLAN ID
	uint64_t beyond_sessions;	      // SYNs among those: a lower bound of them
	uint64_t memory_bytes;		      // in use
	uint64_t memory_max_bytes;	      // largest so far
	uint64_t classes[TL_SESSION_CLASSES]; // sessions by class; valid after finish()
};

struct tl_session_frame {
	const uint8_t *data;
	uint32_t cap_bytes, wire_bytes;
	uint64_t ts_ns; // since 1970
	enum tl_link link;
};

struct tl_session_set; // opaque

// Return 0 or -ENOMEM. cfg is copied.
int tl_session_create(const struct tl_session_cfg *cfg, struct tl_session_set **out);
void tl_session_destroy(struct tl_session_set *set);

// Process a frame, in the order of the capture. Return 0, or -ENOMEM if the host has less memory than the limit.
int tl_session_add(struct tl_session_set *set, const struct tl_session_frame *frame);

// Classify the sessions, after the last frame.
void tl_session_finish(struct tl_session_set *set);

// ---- live, with cfg.idle_ns: instead of finish(), sessions one by one while frames are added

// Take the next session that has ended, or had no frame for idle_ns of the recording's time; NULL: none. Its content is
// valid until release() was called for as many uses.
//
// With cfg.offer also take sessions that are still open, and take them again after add(): with more bytes and steps
// behind those of before, which do not change, or with the class of their end. The content of an open session can be
// used from the NULL of this function until the next add(). A session released before its end is not taken again.
const struct tl_session *tl_session_take(struct tl_session_set *set, uint32_t uses);
void tl_session_release(struct tl_session_set *set, const struct tl_session *session, uint32_t uses);

// End all sessions, after the last frame: they can be taken.
void tl_session_end(struct tl_session_set *set);

// ---- after finish()

// Number of sessions; session i < that, valid until destroy.
uint64_t tl_session_count(const struct tl_session_set *set);
const struct tl_session *tl_session_at(const struct tl_session_set *set, uint64_t i);

const struct tl_session_stats *tl_session_get_stats(const struct tl_session_set *set);
