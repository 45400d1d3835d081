// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What the files of TCP share: the connection, the table of connections, and what each file offers the others.
//
// Sequence numbers of the send side, in the order of the stream (RFC 9293, section 3.3.1):
//
//   snd_una         snd_nxt            snd_max              snd_end
//      |  in flight    |  to send again   |  never sent yet    |
//
// snd_nxt goes back to snd_una after a retransmission timeout, else it is snd_max. The byte with sequence number s lies
// in the send ring at s & ring_mask. Our FIN has the sequence number snd_end.

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "net_priv.h"
#include "tcp_key.h"

#define TL_TCP_LISTENERS 16
#define TL_TCP_OOO_MAX 64    // segments held per connection: a window of 64 KiB, and some to spare
#define TL_TCP_SACK_BLOCKS 4 // that fit the options of a segment
#define TL_TCP_SACKED_MAX 32 // ranges remembered of what the peer holds
#define TL_TCP_SENT_MAX 32   // runs remembered of what is in flight; a power of two
#define TL_TCP_SPARE 4	     // slots for connections opened from within the callback that ends another

#define TL_TCP_MAX_WINDOW (UINT32_C(65535) << 14) // RFC 7323, section 2.3
#define TL_TCP_NO_CWND (UINT32_C(1) << 30)	  // beyond every window
#define TL_TCP_MAX_SCALE 14
#define TL_TCP_DEFAULT_MSS 536 // RFC 9293, section 3.7.1
#define TL_TCP_DEFAULT_MSS6 1220
#define TL_TCP_MIN_MSS 48 // no peer may make us cut data finer than this

#define TL_TCP_RTO_INITIAL_NS TL_NS_PER_S	     // RFC 6298, section 2.1
#define TL_TCP_RTO_SYN_LOST_NS (3 * TL_NS_PER_S)     // section 5.7
#define TL_TCP_RTO_MAX_NS (60 * TL_NS_PER_S)	     // section 2.5
#define TL_TCP_TIME_WAIT_NS (60 * TL_NS_PER_S)	     // 2 MSL of 30 s
#define TL_TCP_CHALLENGE_GAP_NS (100 * TL_NS_PER_MS) // per connection (RFC 5961, section 7)

#define TL_TCP_TICK_SHIFT 18   // a tick of the wheel is 262 µs
#define TL_TCP_ROUND_SHIFT 12  // a round 4096 ticks, 1.07 s
#define TL_TCP_NEAR_SLOTS 8192 // a tick each: two rounds
#define TL_TCP_FAR_SLOTS 1024  // a round each
#define TL_TCP_ARM_TICKS 16    // a deadline farther than these, 4.2 ms, need not be hung up at once

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
	TL_TCP_GIVE_UP,	   // end of the handshake's patience, of the user timeout's, of TIME-WAIT
	TL_TCP_KEEPALIVE,
	TL_TCP_REORDER, // what is missing may be late: then it is lost
	TL_TCP_TIMERS,
};
#define TL_TCP_TIMER_OFF UINT64_MAX

// A segment that arrived, as the state machine sees it: trimmed to the window as it goes.
struct tl_tcp_seg {
	struct rte_mbuf *m;
	const uint8_t *payload;
	const struct tl_tcp_hdr *hdr;
	uint32_t src_be;
	uint32_t seq, ack;
	uint32_t window;      // unscaled
	uint32_t stamp, echo; // TSval and TSecr, if stamped
	uint16_t len;	      // of the payload
	uint8_t flags;
	bool made_room;	   // its ACK took bytes out of the send ring
	bool stamped;	   // it has timestamps
	bool more_options; // than timestamps
	bool dsack;	   // it tells of what came twice
};

// A segment to be sent. data NULL: the payload is in the send ring at seq.
struct tl_tcp_out {
	const uint8_t *data, *options;
	uint32_t seq;
	uint16_t len; // of the payload
	uint8_t flags;
	uint8_t options_len;
};

// Sequence numbers from..to-1.
struct tl_tcp_range {
	uint32_t from, to;
};

// Bytes sent at one moment. Runs follow each other without a gap, from snd_una on.
struct tl_tcp_sent {
	uint64_t at_ns;
	uint32_t to;
	bool again; // not for the first time, or its time is not exact
};

// RFC 8985, section 5.3, the names of which stand behind.
struct tl_tcp_rack {
	uint64_t at_ns;	     // xmit_ts: when the latest of what has arrived was sent
	uint32_t to;	     // end_seq: of that
	uint32_t highest;    // fack: of all that has arrived
	uint64_t rtt_ns;     // rtt: of the latest
	uint64_t min_rtt_ns; // min_RTT
	uint32_t round;	     // dsack_round
	bool in_round;
	bool reordering;       // reordering_seen
	uint8_t mult, persist; // reo_wnd_mult less one, reo_wnd_persist
};

// What RACK holds for lost and not sent again.
struct tl_tcp_lost {
	struct tl_tcp_range first;
	uint32_t bytes;
	uint64_t wait_ns; // after which more may be; 0: no more
};

struct tl_tcp_options {
	uint16_t mss; // 0: absent
	bool has_scale;
	uint8_t scale;
	bool sack_permitted;
	bool has_stamp;
	uint32_t stamp, echo;	 // TSval and TSecr
	uint32_t user_timeout_s; // 0: absent
	uint8_t n_blocks;
	struct tl_tcp_range block[TL_TCP_SACK_BLOCKS]; // of SACK
};

// A segment that came before its turn.
struct tl_tcp_held {
	struct rte_mbuf *m; // one reference is ours
	const uint8_t *payload;
	uint32_t seq;
	uint32_t arrival; // the greater, the later
	uint16_t len;
	bool fin;
};

// An untagged frame of the connection with all that is the same in each until the next look, and zeros behind.
#define TL_TCP_READY_BYTES 96 // headers with timestamps, in whole vectors
struct tl_tcp_ready {
	uint64_t l4_sum; // of the TCP header and the pseudo header's addresses, for the checksum
	uint32_t l3_sum; // of the IPv4 header
	uint32_t bytes;	 // as much may leave as one segment; 0: nothing
	uint32_t few; // the same if the window does not follow the room, and no more than is best copied word by word
	uint32_t snd_edge;  // without another look no segment may end beyond
	uint32_t adv;	    // the right edge that the window promises
	uint32_t fixed_sum; // l4_sum but for the fields that each look sets
	uint8_t l4_off, payload_off;
	uint8_t frame[TL_TCP_READY_BYTES];
};

// The window field of a header, and the right edge it promises.
struct tl_tcp_offer {
	uint32_t adv;
	uint16_t field;
};

// Sent by the ready header; the rest of the work is not done.
struct tl_tcp_note {
	struct tl_tcp *c;
	const uint8_t *data; // not in the send ring yet
	uint32_t seq, len;
};

struct tl_tcp_listener {
	struct tl_net *net;
	const struct tl_tcp_ops *ops;
	void *ctx;
	struct tl_tcp_opts opts;
	uint32_t max_conns, conns; // conns: without those in TIME-WAIT
	uint32_t half_open;	   // of conns
	uint16_t port_be;	   // 0: slot free
};

LIST_HEAD(tl_tcp_slot, tl_tcp);
TAILQ_HEAD(tl_tcp_queue, tl_tcp);

struct tl_tcp {
	// Touched for each segment sent or received.
	struct tl_tcp_key key;
	struct tl_tcp *hash_next;
	struct tl_net *net;
	uint32_t arp_generation; // of ready.frame
	uint32_t snd_una, snd_nxt, snd_max, snd_end;
	uint32_t snd_wnd, cwnd;
	uint32_t rcv_nxt;
	uint32_t rcv_adv;   // right edge of the advertised window: never moves left
	uint32_t rcv_acked; // rcv_nxt as the peer knows it
	uint16_t mss;	    // most we send in a segment, and our guess of the peer's
	uint8_t state;
	bool ack_now;	       // an ACK is due at the end of this segment
	bool stamped;	       // timestamps in what we send: from our SYN on, if the peer's had them, too
	uint32_t stamp_offset; // of our timestamp clock
	uint32_t stamp_recent; // TS.Recent: the peer's timestamp, which we echo
	uint32_t recent_at;    // our clock when it came
	uint32_t snd_last;     // where the latest segment of the stream begins

	uint8_t *ring; // of what is not acknowledged; lent while there is such a thing, else NULL
	uint32_t ring_mask;
	uint32_t send_limit;	// opts.send_buffer_bytes
	uint32_t recv_window;	// opts.recv_window_bytes
	uint32_t limited_bytes; // in flight and yet not in the network: cwnd allows as many more (RFC 3042, 6675)
	uint8_t snd_scale, rcv_scale;
	bool follows_room;  // opts.window_follows_room
	bool own_buffer;    // opts.own_buffer
	bool without_cwnd;  // opts.without_cwnd
	bool fin_queued;    // the application closed
	bool persisting;    // the peer's window is shut and we probe it
	bool pending;	    // on the table's list of those with something left to send
	uint8_t keepalives; // unanswered
	uint8_t dup_acks;
	uint8_t ooo_count;
	bool dsack_due; // the peer shall hear of dsack
	uint8_t sent_first, n_sent;
	union {
		uint64_t trouble; // not 0: something was or may be lost, one of these
		struct {
			uint8_t n_sacked;
			uint8_t backoff; // of the retransmission timer
			bool in_recovery;
			bool post_loss; // not all that was in flight at the last loss is acknowledged
			bool probing;	// the tail probe up to probe_end is not answered
		};
	};
	const struct tl_tcp_ops *ops;
	void *ctx;
	uint64_t last_rx_ns, last_tx_ns;

	uint64_t deadline_ns[TL_TCP_TIMERS];
	uint64_t due_ns;   // the wheel need not hear of a deadline from here on
	uint64_t wheel_ns; // for which the connection hangs on the wheel: may be early, never late
	uint32_t snd_wl1, max_snd_wnd;
	struct tl_tcp_ready ready;

	// Once per round trip, or on loss.
	bool partial_acked;
	bool probe_again; // the tail probe was sent before
	uint32_t probe_end;
	uint16_t claimed_mss; // what ICMP says would fit the path, not believed yet; 0: nothing
	bool mss_proven;      // a segment of mss bytes was acknowledged
	uint32_t ssthresh, recover, cwnd_acked;
	struct tl_tcp_range *sacked; // what the peer holds beyond snd_una, by sequence number; lent with ring
	struct tl_tcp_sent *sent;    // a ring; lent with ring
	uint64_t again_ns;	     // nothing that is sent now was before
	struct tl_tcp_rack rack;
	uint64_t srtt_ns, rttvar_ns, rto_ns; // srtt_ns 0: no sample yet
	uint64_t pto_ns;		     // patience with the tail of a flight
	uint64_t user_timeout_ns;

	// Seldom.
	bool reported;		  // the application knows it and must hear closed()
	bool syn_lost;		  // the SYN was sent more than once
	bool user_timeout_option; // opts.user_timeout_option
	bool soft_error;	  // ICMP says unreachable, perhaps not for good
	bool marked;		  // chosen to end by the loop that runs
	bool offer_scale;	  // window scale goes into our SYN
	bool sack;		  // SACK-permitted goes into our SYN; once the peer's is here: both permit it
	uint32_t iss;
	uint32_t ooo_arrivals;
	uint64_t syn_ns;	   // when it was sent
	struct tl_tcp_range dsack; // what came twice
	uint64_t challenge_ns;	   // no challenge ACK before
	uint64_t rto_min_ns, keepalive_idle_ns;
	struct tl_tcp_listener *listener;
	LIST_ENTRY(tl_tcp) wheel;
	struct tl_tcp_far *far; // the slot that it hangs in, if that is a round's
	struct tl_tcp *armed_next;
	bool armed;	 // the wheel will look soon whether a deadline is left
	uint32_t hop_be; // neighbour that is kept for it; 0: none
	TAILQ_ENTRY(tl_tcp) pending_link;
	TAILQ_ENTRY(tl_tcp) link;     // in the table's idle, half-open, calling, dead or TIME-WAIT list
	struct tl_tcp_queue *opening; // the list of the table that it is in while our SYN is not acknowledged, or NULL
	struct tl_tcp_held *ooo;      // by sequence number; lent while some are held, else NULL
} TL_CACHE_ALIGNED;

// Blocks of one size to lend, the one last given back first.
struct tl_tcp_pool {
	void *memory;
	void *free; // begins with the address of the next
};

// Connections due within a round.
struct tl_tcp_far {
	struct tl_tcp_slot slot;
	uint32_t n;
};

struct tl_tcp_wheel {
	uint64_t tick;				// it has turned up to here
	uint32_t quota;				// to bring near with each tick of this round
	uint64_t visits;			// connections touched so far: all that turning costs
	struct tl_tcp *armed[TL_TCP_ARM_TICKS]; // to look at with a tick
	struct tl_tcp_slot near[TL_TCP_NEAR_SLOTS];
	struct tl_tcp_far far[TL_TCP_FAR_SLOTS];
};

// Each is drawn by itself: none follows from another, nor from what is seen of one.
struct tl_tcp_secrets {
	uint64_t hash[TL_TCP_KEY_SEEDS];	       // of the table's chains
	uint64_t isn[2], stamp[2], cookie[2], port[2]; // keys of tl_tcp_hash()
};

struct tl_tcp_table {
	struct tl_tcp **bucket;
	uint32_t bucket_mask;
	uint32_t depth; // of entries into TCP: the dead are buried when it is 0
	struct tl_tcp_secrets secrets;
	struct tl_tcp_queue pending;
	uint32_t ooo_held, ooo_max; // mbufs held in all ooo queues
	struct tl_tcp_listener listener[TL_TCP_LISTENERS];
	struct tl_tcp *conns;
	struct tl_tcp_pool flights; // ring, sent and sacked of a connection
	struct tl_tcp_pool owned;   // the same for those that keep one
	struct tl_tcp_pool held;    // ooo of a connection
	struct tl_tcp_queue idle, half_open, connecting, dead, time_wait;
	uint32_t n_half_open, half_open_max;
	uint64_t cookies_ns;		   // when the last SYN cookie was sent
	struct tl_tcp *cookie_conn;	   // stands for a connection that is not remembered
	uint32_t live, waiting;		   // connections in use; in TIME-WAIT
	struct tl_tcp_note note[TL_BURST]; // net->n_notes of them
	uint64_t ports_drawn;
	bool isn_fixed; // for tests: ISNs are isn_next
	uint32_t isn_next;
	bool closing; // tl_tcp_fini() runs
	struct tl_tcp_wheel wheel;
};

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

// ---- the connection, asked

static inline bool tl_tcp_may_send(const struct tl_tcp *c)
{
	return c->state == TL_TCPS_ESTABLISHED || c->state == TL_TCPS_CLOSE_WAIT;
}

static inline bool tl_tcp_may_receive(const struct tl_tcp *c)
{
	return c->state >= TL_TCPS_ESTABLISHED && c->state <= TL_TCPS_FIN_WAIT_2;
}

// Not over for the application: neither closed nor in TIME-WAIT. Ask after each callback.
static inline bool tl_tcp_alive(const struct tl_tcp *c)
{
	return c->state != TL_TCPS_CLOSED && c->state != TL_TCPS_TIME_WAIT;
}

// Bytes in the send ring.
static inline uint32_t tl_tcp_queued(const struct tl_tcp *c)
{
	return tl_seq_lt(c->snd_una, c->snd_end) ? c->snd_end - c->snd_una : 0;
}

// Whether there are bytes or a FIN to send at snd_nxt, now or when the windows allow.
static inline bool tl_tcp_unsent(const struct tl_tcp *c)
{
	return c->snd_nxt != c->snd_end + c->fin_queued;
}

static inline bool tl_tcp_fin_acked(const struct tl_tcp *c)
{
	return c->fin_queued && c->snd_una == c->snd_end + 1;
}

// ---- tcp_table.c: slots, demultiplexing. A peer's address is of either family: see tl_ip6_book.h.

static inline struct tl_tcp **tl_tcp_bucket(const struct tl_tcp_table *table, struct tl_tcp_key key)
{
	return &table->bucket[tl_tcp_key_hash(table->secrets.hash, key) & table->bucket_mask];
}

static inline struct tl_tcp *tl_tcp_find(const struct tl_tcp_table *table, struct tl_tcp_key key)
{
	struct tl_tcp *c = *tl_tcp_bucket(table, key);

	while (c != NULL && !tl_tcp_key_equal(c->key, key))
		c = c->hash_next;
	return c;
}

// RFC 6691: what the link carries, less fixed headers, options or not.
static inline uint16_t tl_tcp_link_mss(const struct tl_net *net, struct tl_tcp_key key)
{
	return net->cfg.mtu - tl_ip_len(key.peer_be) - TL_TCP_LEN;
}

// Every way into TCP that may end a connection is bracketed: slots are reused only after the outermost has left, so
// that no caller up the stack holds a connection that has become another.
static inline void tl_tcp_enter(struct tl_tcp_table *table)
{
	table->depth++;
}

void tl_tcp_reap(struct tl_tcp_table *table);

static inline void tl_tcp_leave(struct tl_tcp_table *table)
{
	if (--table->depth == 0 && TL_UNLIKELY(!TAILQ_EMPTY(&table->dead)))
		tl_tcp_reap(table);
}

// A connection with key and options, findable, in state CLOSED; the oldest in TIME-WAIT gives way. NULL: all are in
// use.
struct tl_tcp *tl_tcp_take(struct tl_net *net, struct tl_tcp_key key, const struct tl_tcp_ops *ops, void *ctx,
	const struct tl_tcp_opts *opts);

// Its next hop stays in the neighbour table from now on, whoever else sends: it is opened by us, or the peer has shown
// that it is there.
void tl_tcp_keep_hop(struct tl_tcp *c);

// c is opened by a listener, and half open; or by us.
void tl_tcp_half_open(struct tl_tcp *c);
void tl_tcp_connecting(struct tl_tcp *c);
// It is neither any more.
void tl_tcp_opening_end(struct tl_tcp *c);
// The listener's oldest half-open connection gives way. False: it has none.
bool tl_tcp_half_open_evict(struct tl_tcp_listener *listener);
// A connection that is in no list and answers one SYN.
struct tl_tcp *tl_tcp_cookie_conn(struct tl_net *net, struct tl_tcp_key key, const struct tl_tcp_opts *opts);

// What we send begins at iss.
void tl_tcp_start_sequence(struct tl_tcp *c, uint32_t iss);

// Over. Tells the application, if it knows the connection.
void tl_tcp_end(struct tl_tcp *c, enum tl_tcp_reason reason);

// Over for the application, which is told; the pair of addresses stays taken for 2 MSL.
void tl_tcp_enter_time_wait(struct tl_tcp *c);

struct tl_tcp_listener *tl_tcp_find_listener(struct tl_tcp_table *table, uint16_t port_be);

// A free local port for the peer, network order; 0: none.
uint16_t tl_tcp_local_port(struct tl_net *net, uint32_t peer_be, uint16_t peer_port_be);

// ---- tcp_lend.c: memory that a connection has only while it needs it

int tl_tcp_lend_init(struct tl_net *net, uint32_t slots);
void tl_tcp_lend_fini(struct tl_tcp_table *table);

static inline void *tl_tcp_pool_get(struct tl_tcp_pool *pool)
{
	void *block = pool->free;

	if (TL_LIKELY(block != NULL))
		pool->free = *(void **)block;
	return block;
}

static inline void tl_tcp_pool_put(struct tl_tcp_pool *pool, void *block)
{
	*(void **)block = pool->free;
	pool->free = block;
}

static inline struct tl_tcp_pool *tl_tcp_flights_of(const struct tl_tcp *c)
{
	return c->own_buffer ? &c->net->tcp->owned : &c->net->tcp->flights;
}

// HOT. Ring, sent and sacked for c. False: all are lent.
static inline bool tl_tcp_flight_take(struct tl_tcp *c)
{
	if (c->ring != NULL)
		return true;
	uint8_t *block = tl_tcp_pool_get(tl_tcp_flights_of(c));
	if (TL_UNLIKELY(block == NULL))
		return false;
	c->sent = (struct tl_tcp_sent *)block;
	c->sacked = (struct tl_tcp_range *)(c->sent + TL_TCP_SENT_MAX);
	c->ring = (uint8_t *)(c->sacked + TL_TCP_SACKED_MAX);
	return true;
}

// HOT. Nothing is in the ring, nor in flight.
static inline void tl_tcp_flight_give(struct tl_tcp *c)
{
	if (c->ring == NULL)
		return;
	tl_tcp_pool_put(tl_tcp_flights_of(c), c->sent);
	c->ring = NULL;
	c->sent = NULL;
	c->sacked = NULL;
	c->n_sent = 0;
	c->n_sacked = 0;
}

// A bit per byte of the ring, which stands behind it: set for the last byte of each message.
static inline uint64_t *tl_tcp_msg_ends(const struct tl_tcp *c)
{
	return (uint64_t *)(void *)(c->ring + c->ring_mask + 1);
}

// HOT. Whether tl_tcp_flight_take() would do.
static inline bool tl_tcp_has_flight(const struct tl_tcp *c)
{
	return c->ring != NULL || tl_tcp_flights_of(c)->free != NULL;
}

// ---- tcp_isn.c

// A keyed hash of word; of the addresses and ports of a connection.
uint64_t tl_tcp_hash(const uint64_t secret[2], uint64_t word);
uint64_t tl_tcp_hash_key(const struct tl_net *net, const uint64_t secret[2], struct tl_tcp_key key);

uint32_t tl_tcp_isn(struct tl_net *net, struct tl_tcp_key key);

// ---- tcp_cookie.c

// Answer the SYN that c, which is nobody, has taken.
void tl_tcp_cookie_send(struct tl_net *net, struct tl_tcp *c, uint32_t peer_isn);
// Whether seg acknowledges a cookie of ours.
bool tl_tcp_cookie_check(const struct tl_net *net, struct tl_tcp_key key, const struct tl_tcp_seg *seg);
// c is as it would be in SYN-RECEIVED, had we remembered.
void tl_tcp_cookie_open(struct tl_tcp *c, const struct tl_tcp_seg *seg);

// ---- tcp_ready_dp.c

// The frame is the connection's, up to the TCP header: all others will be like it.
void tl_tcp_ready_learn(struct tl_tcp *c, const uint8_t *frame);
// HOT. Whether the next segment may leave by the ready header. After all that changes c.
void tl_tcp_ready_refresh(struct tl_tcp *c);
// The connection is established: what options its segments have is known.
void tl_tcp_ready_options(struct tl_tcp *c);

// HOT. Not before the next look.
static inline void tl_tcp_ready_stop(struct tl_tcp *c)
{
	c->ready.bytes = 0;
	c->ready.few = 0;
}

// ---- tcp_output_dp.c

// HOT. The long way of tl_tcp_send_held().
int tl_tcp_send_slow(struct tl_tcp *c, const uint8_t *data, uint32_t len);

// HOT. What the next header shall advertise.
struct tl_tcp_offer tl_tcp_offer(const struct tl_tcp *c, uint8_t shift);

// HOT. Bytes from seq to snd_nxt were sent: timers, and what is in flight.
void tl_tcp_account_sent(struct tl_tcp *c, uint32_t seq);

// HOT. Copy a message into the send ring.
void tl_tcp_ring_put(struct tl_tcp *c, uint32_t seq, const uint8_t *data, uint32_t len);

// HOT. Bytes that both windows allow beyond snd_nxt.
uint32_t tl_tcp_usable(const struct tl_tcp *c);

// HOT. One segment with the present ACK and window. False: no mbuf, or no room in the queue.
bool tl_tcp_transmit(struct tl_tcp *c, const struct tl_tcp_out *out);

// HOT. Send what is queued and the windows allow, FIN included.
void tl_tcp_output(struct tl_tcp *c);

// HOT. A bare ACK, or one later if there is no mbuf now, or no room.
void tl_tcp_send_ack(struct tl_tcp *c);

// HOT. Whether the window reopened so far that the peer must hear of it (RFC 9293, section 3.8.6.2.2).
bool tl_tcp_window_reopened(const struct tl_tcp *c);

// Our SYN, with the peer's acknowledged in SYN-RECEIVED; without and with the timer for the next.
void tl_tcp_transmit_syn(struct tl_tcp *c);
void tl_tcp_send_syn(struct tl_tcp *c);
void tl_tcp_send_rst(struct tl_tcp *c);
// A segment from seq on once more, of at most that many bytes; returns the sequence numbers it took, 0 without an mbuf.
uint32_t tl_tcp_retransmit(struct tl_tcp *c, uint32_t seq, uint32_t most);
// The persist timer ran out: a byte for the shut window, or what fits one that is slightly open.
void tl_tcp_probe_window(struct tl_tcp *c);
// A segment to make the peer speak: a new one, or the last (RFC 8985, section 7.3).
void tl_tcp_probe_tail(struct tl_tcp *c);
void tl_tcp_send_keepalive(struct tl_tcp *c);
// RST in answer to a segment that belongs to no connection (RFC 9293, section 3.10.7.1).
void tl_tcp_refuse(struct tl_net *net, const struct tl_tcp_seg *seg);

// HOT. Come back to c at the end of the burst, or with the next tick.
static inline void tl_tcp_pend(struct tl_tcp *c)
{
	if (c->pending)
		return;
	c->pending = true;
	c->net->tcp_pending = true;
	TAILQ_INSERT_TAIL(&c->net->tcp->pending, c, pending_link);
}

// ---- tcp_stamp.c: timestamps (RFC 7323)

#define TL_TCP_STAMP_LEN 12
#define TL_TCP_STAMP_WORD UINT32_C(0x0101080a)
#define TL_TCP_STAMP_SHIFT 20 // our clock ticks every 1.05 ms (section 5.4: 1 ms to 1 s)

// The option, padded as nearly everybody does.
struct tl_tcp_stamp_option {
	uint32_t word_be;	    // NOP, NOP, kind, length
	uint32_t stamp_be, echo_be; // TSval, TSecr
} __attribute__((packed));

// Same for the same addresses and ports, so that a peer's TIME-WAIT knows old from new (section 7.1).
uint32_t tl_tcp_stamp_offset(const struct tl_net *net, struct tl_tcp_key key);

// HOT. Our clock now (TSval).
static inline uint32_t tl_tcp_stamp_now(const struct tl_tcp *c)
{
	return (uint32_t)(c->net->now_ns >> TL_TCP_STAMP_SHIFT) + c->stamp_offset;
}

// HOT. The peer's timestamp is the one to echo from now on.
static inline void tl_tcp_stamp_take(struct tl_tcp *c, uint32_t stamp)
{
	c->stamp_recent = stamp;
	c->recent_at = tl_tcp_stamp_now(c);
}

// The timestamps of a segment whose options do not begin with them as usual.
void tl_tcp_stamp_find(struct tl_tcp_seg *seg);

// A segment with an older timestamp than TS.Recent: whether it counts all the same, for TS.Recent has aged (section
// 5.5).
bool tl_tcp_stamp_aged(const struct tl_tcp *c);

// Take the round trip that the TSecr of an ACK tells, if it can be.
void tl_tcp_stamp_sample(struct tl_tcp *c, const struct tl_tcp_seg *seg);

// ---- tcp_wheel.c

// A deadline of c, before due_ns.
void tl_tcp_timer_arm(struct tl_tcp *c, uint64_t deadline_ns);
// Hang c on the wheel for its earliest deadline.
void tl_tcp_wheel_insert(struct tl_tcp *c);
void tl_tcp_timers_stop(struct tl_tcp *c);

// ---- tcp_timer.c

// Do what is due, and hang c up for what is next.
void tl_tcp_wake(struct tl_tcp *c);
void tl_tcp_keepalive_start(struct tl_tcp *c);
void tl_tcp_rtt_sample(struct tl_tcp *c, uint64_t rtt_ns);
uint64_t tl_tcp_rto_ns(const struct tl_tcp *c); // backed off

// HOT. How long the retransmission timer waits: if all seems well only until a probe may be due (RFC 8985,
// section 7.2).
static inline uint64_t tl_tcp_loss_timeout_ns(const struct tl_tcp *c)
{
	if (TL_UNLIKELY(c->trouble != 0))
		return tl_tcp_rto_ns(c);
	return c->pto_ns;
}

// HOT. Mostly a store: the wheel hears of it only when c must wake earlier than it would.
static inline void tl_tcp_timer_set(struct tl_tcp *c, enum tl_tcp_timer timer, uint64_t after_ns)
{
	uint64_t deadline_ns = c->net->now_ns + after_ns;

	c->deadline_ns[timer] = deadline_ns;
	if (TL_UNLIKELY(deadline_ns < c->due_ns))
		tl_tcp_timer_arm(c, deadline_ns);
}

static inline void tl_tcp_timer_stop(struct tl_tcp *c, enum tl_tcp_timer timer)
{
	c->deadline_ns[timer] = TL_TCP_TIMER_OFF;
}

static inline bool tl_tcp_timer_is_set(const struct tl_tcp *c, enum tl_tcp_timer timer)
{
	return c->deadline_ns[timer] != TL_TCP_TIMER_OFF;
}

// ---- tcp_cc.c: RFC 5681, 6582, and 6675 for what RACK finds

void tl_tcp_cc_start(struct tl_tcp *c);
// snd_una advanced by acked bytes. Whether the retransmission timer starts anew.
bool tl_tcp_cc_acked(struct tl_tcp *c, uint32_t acked);
void tl_tcp_cc_dup_ack(struct tl_tcp *c); // without SACK
// With SACK, when something may be lost: what is goes again.
void tl_tcp_cc_repair(struct tl_tcp *c);
// A tail probe repaired a loss that nothing else showed.
void tl_tcp_cc_probe_repaired(struct tl_tcp *c);
void tl_tcp_cc_timeout(struct tl_tcp *c);
// What is in flight did not fit the path: all of it goes again from snd_una, though it is no sign of congestion.
void tl_tcp_cc_resend(struct tl_tcp *c);
// RFC 5681, section 4.1: after a pause the ACKs that would clock a large window out are gone.
uint32_t tl_tcp_cc_after_pause(const struct tl_tcp *c); // what cwnd will be
void tl_tcp_cc_idle(struct tl_tcp *c);

// ---- tcp_pmtu.c

// The segments get as small as ICMP claimed.
void tl_tcp_pmtu_believe(struct tl_tcp *c);

// ---- tcp_ooo.c

static inline uint32_t tl_tcp_held_end(const struct tl_tcp_held *held)
{
	return held->seq + held->len + held->fin;
}

// Keep a segment that came too early, if there is room.
void tl_tcp_ooo_hold(struct tl_tcp *c, const struct tl_tcp_seg *seg);
// The next held segment whose turn it is, trimmed to rcv_nxt; the caller frees its mbuf. False: none.
bool tl_tcp_ooo_next(struct tl_tcp *c, struct tl_tcp_held *out);
void tl_tcp_ooo_purge(struct tl_tcp *c);

// ---- tcp_rack.c

// The clock moves once per burst. What is sent again gets times of its own, some ns ahead, for the order must be known.
static inline uint64_t tl_tcp_since_ns(const struct tl_tcp *c, uint64_t at_ns)
{
	return c->net->now_ns > at_ns ? c->net->now_ns - at_ns : 0;
}

// Bytes from..to-1 are sent now, and some of them were before.
void tl_tcp_sent_again(struct tl_tcp *c, uint32_t from, uint32_t to);

// HOT. Bytes from..to-1 are sent now; before snd_max moves.
static inline void tl_tcp_sent_note(struct tl_tcp *c, uint32_t from, uint32_t to)
{
	if (TL_UNLIKELY(c->ring == NULL)) // our FIN, while all is lent: the RTO alone watches it
		return;
	struct tl_tcp_sent *last = &c->sent[(c->sent_first + c->n_sent - 1u) & (TL_TCP_SENT_MAX - 1)];
	uint64_t now_ns = tl_max_u64(c->net->now_ns, c->again_ns);

	if (TL_UNLIKELY(from != c->snd_max)) {
		tl_tcp_sent_again(c, from, to);
	} else if (c->n_sent > 0 && last->at_ns == now_ns && !last->again) {
		last->to = to;
	} else if (TL_UNLIKELY(c->n_sent == TL_TCP_SENT_MAX)) {
		*last = (struct tl_tcp_sent){.at_ns = now_ns, .to = to, .again = true};
	} else {
		c->sent[(c->sent_first + c->n_sent++) & (TL_TCP_SENT_MAX - 1)] =
			(struct tl_tcp_sent){.at_ns = now_ns, .to = to};
	}
}

// seg acknowledges a part of a run.
void tl_tcp_rack_acked(
	struct tl_tcp *c, const struct tl_tcp_sent *run, struct tl_tcp_range part, const struct tl_tcp_seg *seg);
// A block of seg's SACK tells something new; after what seg acknowledges.
void tl_tcp_rack_sacked(struct tl_tcp *c, const struct tl_tcp_range *block, const struct tl_tcp_seg *seg);
// The peer tells of what came twice: we should have waited longer.
void tl_tcp_rack_dsack(struct tl_tcp *c);
// A recovery is over.
void tl_tcp_rack_recovered(struct tl_tcp *c);
void tl_tcp_rack_detect_loss(struct tl_tcp *c, struct tl_tcp_lost *out);

// ---- tcp_sack.c

// HOT when segments are held. Blocks for what came twice and for what is held beyond rcv_nxt, as many as fit into room,
// as an option into buf; returns its length, a multiple of 4, or 0.
#define TL_TCP_SACK_MAX (4 + 8 * TL_TCP_SACK_BLOCKS)
uint8_t tl_tcp_sack_write(const struct tl_tcp *c, uint32_t room, uint8_t buf[TL_TCP_SACK_MAX]);

// The blocks of an ACK that is acceptable. True: they tell something new.
bool tl_tcp_sack_input(struct tl_tcp *c, struct tl_tcp_seg *seg);
// snd_una advanced.
void tl_tcp_sack_advance(struct tl_tcp *c);
// When snd_nxt has gone back: on over what the peer holds.
void tl_tcp_sack_skip(struct tl_tcp *c);
// Bytes below snd_nxt that the peer holds.
uint32_t tl_tcp_sacked_bytes(const struct tl_tcp *c);
// Bytes from..to-1 came twice.
void tl_tcp_dsack(struct tl_tcp *c, uint32_t from, uint32_t to);
// So did what is held of from..to-1: tell the first part of it without a gap (RFC 2883, section 4.2), unless another
// D-SACK is due.
void tl_tcp_dsack_held(struct tl_tcp *c, uint32_t from, uint32_t to);

// ---- tcp_opts.c

void tl_tcp_options_parse(const struct tl_tcp_hdr *hdr, struct tl_tcp_options *out);
// The options of our SYN, but for timestamps, which go before them in every segment, into buf; returns their length, a
// multiple of 4.
#define TL_TCP_OPTIONS_MAX 40
uint8_t tl_tcp_options_write(const struct tl_tcp *c, uint8_t buf[TL_TCP_OPTIONS_MAX]);
// What the peer's SYN says about its MSS, window scale, SACK and timestamps.
void tl_tcp_options_apply(struct tl_tcp *c, const struct tl_tcp_hdr *peer_syn);
