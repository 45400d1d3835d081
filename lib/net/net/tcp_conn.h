// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// A TCP connection: its states, its fields and the predicates on them.
//
// Threads: the lcore that owns the net.
//
// Sequence numbers of the send side, in stream order (RFC 9293, section 3.3.1):
//
//   snd_una         snd_nxt            snd_max              snd_end
//      |  in flight    |  to retransmit    |  not sent yet       |
//
// A retransmission timeout sets snd_nxt back to snd_una; otherwise snd_nxt equals snd_max. The send ring stores the
// byte with sequence number s at s & ring_mask. Our FIN has the sequence number snd_end.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <tl_wheel.h>

#include "net_priv.h"
#include "tcp_key.h"

#define TL_TCP_MAX_WINDOW (UINT32_C(65535) << 14) // RFC 7323, section 2.3
#define TL_TCP_NO_CWND (UINT32_C(1) << 30)	  // larger than every window
#define TL_TCP_MAX_SCALE 14
#define TL_TCP_DEFAULT_MSS 536 // RFC 9293, section 3.7.1
#define TL_TCP_DEFAULT_MSS6 1220
#define TL_TCP_MIN_MSS 48 // floor for the MSS option of a peer

#define TL_TCP_RTO_INITIAL_NS TL_NS_PER_S	     // RFC 6298, section 2.1
#define TL_TCP_RTO_SYN_LOST_NS (3 * TL_NS_PER_S)     // section 5.7
#define TL_TCP_RTO_MAX_NS (60 * TL_NS_PER_S)	     // section 2.5
#define TL_TCP_TIME_WAIT_NS (60 * TL_NS_PER_S)	     // 2 MSL of 30 s
#define TL_TCP_CHALLENGE_GAP_NS (100 * TL_NS_PER_MS) // per connection (RFC 5961, section 7)

enum tl_tcp_state {
	TL_TCPS_CLOSED,
	TL_TCPS_SYN_SENT,
	TL_TCPS_SYN_RECEIVED,
	TL_TCPS_ESTABLISHED,
	TL_TCPS_FIN_WAIT_1,
	TL_TCPS_FIN_WAIT_2,
	TL_TCPS_CLOSE_WAIT,
	TL_TCPS_CLOSING,
	TL_TCPS_LAST_ACK,
	TL_TCPS_TIME_WAIT,
};

enum tl_tcp_timer {
	TL_TCP_RETRANSMIT, // or persist: they exclude each other
	TL_TCP_GIVE_UP,	   // handshake timeout, user timeout, end of TIME-WAIT
	TL_TCP_KEEPALIVE,
	TL_TCP_REORDER, // end of RACK's reordering window: missing segments are lost then
	TL_TCP_TIMERS,
};
#define TL_TCP_TIMER_OFF UINT64_MAX

// Sequence numbers from..to-1.
struct tl_tcp_range {
	uint32_t from, to;
};

// A run of bytes with one transmission time. Runs are contiguous and begin at snd_una.
struct tl_tcp_sent {
	uint64_t at_ns;
	uint32_t to;
	bool again; // retransmitted, or with an inexact time
};

// RACK state; the comments give the names of RFC 8985, section 5.3.
struct tl_tcp_rack {
	uint64_t at_ns;	     // xmit_ts
	uint32_t to;	     // end_seq
	uint32_t highest;    // fack
	uint64_t rtt_ns;     // rtt
	uint64_t min_rtt_ns; // min_RTT
	uint32_t round;	     // dsack_round
	bool in_round;
	bool reordering;       // reordering_seen
	uint8_t mult, persist; // reo_wnd_mult - 1, reo_wnd_persist
};

// Frame with the port's tag, and with the header fields that stay the same until the next refresh, and zeros behind
// them.
#define TL_TCP_READY_BYTES 96 // headers with timestamps, in whole vectors
struct tl_tcp_ready {
	uint64_t l4_sum;	     // checksum part: TCP header and addresses of the pseudo header
	uint32_t l3_sum;	     // checksum part: IPv4 header
	uint32_t bytes;		     // largest segment that may leave by this header; 0: none, or not known
	uint32_t few;		     // the same for the word-wise copy; 0 if the window follows the room
	uint32_t plain_ack;	     // peer_head, if its ACK needs no look at the state (settle_few()); 0: not known
	uint32_t snd_edge;	     // largest end of a segment before the next refresh
	uint32_t adv;		     // right edge that the window field advertises
	uint32_t fixed_sum;	     // l4_sum without the fields that each refresh sets
	uint32_t len, len_be;	     // payload bytes that the IP header of the frame is complete for; in network order
	uint8_t l4_off, payload_off; // of an untagged frame
	uint8_t tag_len;	     // 0 or TL_VLAN_LEN
	uint8_t shape;		     // of the headers: length, and whether there is a tag (tcp_ready_dp.c)
	bool is_due;		     // the refresh is made by the next send, which changes the window field anyway
	uint8_t frame[TL_TCP_READY_BYTES];
};

struct tl_tcp_listener;
struct tl_tcp_queue;
struct tl_tcp_far;
struct tl_tcp_held;
struct tl_tcp_flight;

struct tl_tcp {
	// Used for each segment in or out.
	struct tl_tcp_key key;
	struct tl_tcp *hash_next;
	struct tl_net *net;
	union {
		uint64_t conditions; // TL_TCP_CALM: established, and none of the conditions below
		struct {
			union {
				uint32_t trouble; // nonzero: at least one loss indication below is set
				struct {
					uint8_t n_sacked;
					uint8_t backoff; // doublings of the RTO
					bool in_recovery : 1;
					bool post_loss : 1; // bytes in flight at the last loss are not all acknowledged
					bool probing : 1;   // tail probe up to probe_end is unanswered
				};
			};
			union {
				uint16_t unusual; // nonzero: a condition below that needs more than the fast paths do
				struct {
					bool fin_queued : 1; // the application closed
					bool persisting : 1; // zero window, persist timer runs
					bool dsack_due : 1;  // dsack waits for the next ACK
					bool paced : 1;	     // opts.pace_bps: segments have departure times
					uint8_t ooo_count;
				};
			};
			uint8_t state;
			bool ack_now; // due at the end of this segment
		};
	};
	uint32_t arp_generation; // generation that ready.frame was built in
	uint32_t snd_una, snd_nxt, snd_max, snd_end;
	uint32_t rcv_nxt; // behind snd_end: header prediction compares both at once
	uint32_t snd_wnd, cwnd;
	uint32_t rcv_adv;      // right edge of the advertised window: never moves left
	uint32_t rcv_acked;    // latest acknowledgment number sent
	uint16_t mss;	       // largest segment we send; estimate for the peer's
	bool stamped;	       // timestamps in our segments: in our SYN, then only if the peer's SYN had them
	uint32_t stamp_offset; // offset of our timestamp clock
	uint32_t stamp_recent; // TS.Recent, the timestamp to echo
	uint32_t recent_at;    // timestamp clock at the arrival of TS.Recent
	uint32_t snd_last;     // first sequence number of the latest stream segment
	uint32_t peer_head;    // of the segment that set snd_wnd (tl_tcp_head()), without PSH; 0: unusual

	struct tl_tcp_flight *flight; // borrowed (tcp_lend.h); NULL while no data is unacknowledged
	uint32_t ring_mask;
	uint32_t send_limit;  // opts.send_buffer_bytes, less what is reserved
	uint32_t recv_window; // opts.recv_window_bytes
	uint32_t window_half; // half of the largest window that we advertise
	// These five are adjacent: an ACK of all clears them by one store.
	uint32_t limited_bytes; // extra allowance above cwnd: bytes that have left the network (RFC 3042, 6675)
	uint8_t keepalives;	// unanswered probes
	uint8_t dup_acks;
	uint8_t sent_first, n_sent; // first of the ring of runs, 0 without any; their number
	uint8_t snd_scale, rcv_scale;
	bool follows_room; // opts.window_follows_room
	bool is_ip6;
	bool own_buffer;   // opts.own_buffer
	bool without_cwnd; // opts.without_cwnd
	bool pending;	   // in the table's pending list
	const struct tl_tcp_ops *ops;
	void *ctx;
	uint64_t last_rx_ns, last_tx_ns;

	uint64_t deadline_ns[TL_TCP_TIMERS];
	uint64_t due_ns;   // deadlines before this need tl_tcp_timer_arm()
	uint64_t wheel_ns; // expiry on the wheel: at or before the earliest deadline
	uint32_t snd_wl1, max_snd_wnd;
	uint64_t confirm_ns;		  // an ACK over IPv6 from then on calls tl_nd_confirm()
	_Alignas(16) struct tl_ip6 peer6; // source and destination of the peer's segments over IPv6
	_Alignas(16) struct tl_ip6 own6;
	struct tl_tcp_ready ready;

	// Used once per round trip, or on loss.
	bool partial_acked;
	bool probe_again; // the tail probe was a retransmission
	uint32_t probe_end;
	uint16_t claimed_mss; // MSS for the path MTU that ICMP reported, not accepted yet; 0: none
	bool mss_proven;      // a segment of mss bytes was acknowledged
	uint32_t ssthresh, recover, cwnd_acked;
	uint64_t again_ns; // lower bound for the next transmission time
	struct tl_tcp_rack rack;
	uint64_t srtt_ns, rttvar_ns, rto_ns; // srtt_ns 0: no sample yet
	uint64_t pto_ns;		     // probe timeout (RFC 8985, section 7.2)
	uint64_t short_ns; // up to this SRTT + 4 RTTVAR the last two have their floors; 0: they have not
	uint64_t user_timeout_ns;

	// Used seldom.
	bool reported;		  // the application has the connection and gets closed()
	bool syn_lost;		  // the SYN was retransmitted
	bool user_timeout_option; // opts.user_timeout_option
	bool soft_error;	  // ICMP unreachable, possibly transient
	bool marked;		  // selected by the running loop
	bool offer_scale;	  // window scale in our SYN
	bool sack;		  // SACK-permitted in our SYN; after the peer's SYN: both permit it
	uint32_t iss;
	uint32_t ooo_arrivals;
	uint64_t syn_ns;	   // transmission time of the SYN; 0: not sent, or not known
	struct tl_tcp_range dsack; // range received twice
	uint64_t challenge_ns;	   // earliest time of the next challenge ACK
	uint64_t rto_min_ns, keepalive_idle_ns;
	struct tl_tcp_listener *listener;
	LIST_ENTRY(tl_tcp) wheel;
	struct tl_tcp_far *far; // far slot of the wheel; NULL: a near slot
	struct tl_tcp *armed_next;
	bool armed;	  // in the wheel's armed list
	bool pace_wakes;  // its wait for a departure time has just ended (tcp_pace_dp.c)
	bool pace_resend; // a retransmission waits for its departure time
	uint32_t hop_be;  // next hop kept in the neighbour table; 0: none
	TAILQ_ENTRY(tl_tcp) pending_link;
	TAILQ_ENTRY(tl_tcp) link;     // in the table's idle, half-open, connecting, dead or TIME-WAIT list
	struct tl_tcp_queue *opening; // half-open or connecting list; NULL: our SYN is acknowledged
	struct tl_tcp_held *ooo;      // segments by sequence number; NULL: none held

	// Of a paced connection.
	struct tl_wheel_node pace; // waits in the table's wheel for pace_at_ns
	uint64_t pace_at_ns;	   // earliest departure of the next segment; 0: none was sent, or not paced
	uint64_t pace_step;	   // time of a byte, ns * 2^TL_TCP_PACE_SHIFT, rounded up
	uint32_t pace_part;	   // fraction by which pace_at_ns was rounded, in the same unit
} TL_CACHE_ALIGNED;

#define TL_TCP_CALM ((uint64_t)TL_TCPS_ESTABLISHED << 48)
#define TL_TCP_ACK_NOW ((uint64_t)1 << 56) // place of ack_now in conditions
_Static_assert(offsetof(struct tl_tcp, state) == offsetof(struct tl_tcp, conditions) + 6, "place of the state");
_Static_assert(offsetof(struct tl_tcp, unusual) == offsetof(struct tl_tcp, conditions) + 4, "one word");

// ---- sequence arithmetic (RFC 9293, section 3.4)

static inline bool tl_seq_lt(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

static inline bool tl_seq_le(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) <= 0;
}

static inline uint32_t tl_min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

// ---- the largest window

// Set recv_window, after send_limit.
static inline void tl_tcp_set_recv_window(struct tl_tcp *c, uint32_t bytes)
{
	c->recv_window = bytes;
	c->window_half = (c->follows_room ? tl_min_u32(bytes, c->send_limit) : bytes) / 2;
}

// ---- predicates

static inline bool tl_tcp_may_send(const struct tl_tcp *c)
{
	return c->state == TL_TCPS_ESTABLISHED || c->state == TL_TCPS_CLOSE_WAIT;
}

static inline bool tl_tcp_may_receive(const struct tl_tcp *c)
{
	return c->state >= TL_TCPS_ESTABLISHED && c->state <= TL_TCPS_FIN_WAIT_2;
}

// True unless closed or in TIME-WAIT. Check it after each callback.
static inline bool tl_tcp_alive(const struct tl_tcp *c)
{
	return c->state != TL_TCPS_CLOSED && c->state != TL_TCPS_TIME_WAIT;
}

// Bytes in the send ring.
static inline uint32_t tl_tcp_queued(const struct tl_tcp *c)
{
	return tl_seq_lt(c->snd_una, c->snd_end) ? c->snd_end - c->snd_una : 0;
}

// True if snd_nxt, snd_max and snd_end are equal: if and only if each of two overlapping pairs of them is the other.
static inline bool tl_tcp_all_sent(const struct tl_tcp *c)
{
	uint64_t next_two, last_two;
	_Static_assert(offsetof(struct tl_tcp, snd_max) == offsetof(struct tl_tcp, snd_nxt) + 4, "three in a row");
	_Static_assert(offsetof(struct tl_tcp, snd_end) == offsetof(struct tl_tcp, snd_max) + 4, "three in a row");

	memcpy(&next_two, (const uint8_t *)c + offsetof(struct tl_tcp, snd_nxt), sizeof(next_two));
	memcpy(&last_two, (const uint8_t *)c + offsetof(struct tl_tcp, snd_max), sizeof(last_two));
	return next_two == last_two;
}

// True if bytes or a FIN remain to be sent at snd_nxt, now or when the windows allow.
static inline bool tl_tcp_unsent(const struct tl_tcp *c)
{
	return c->snd_nxt != c->snd_end + c->fin_queued;
}

static inline bool tl_tcp_fin_acked(const struct tl_tcp *c)
{
	return c->fin_queued && c->snd_una == c->snd_end + 1;
}
