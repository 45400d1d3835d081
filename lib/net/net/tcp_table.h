// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The connections of a net: slots, demultiplexing, listeners, and the start and end of a connection (tcp_table.c).
//
// Threads: the lcore that owns the net; tl_tcp_init() and tl_tcp_fini() on main.

#include "tcp_wheel.h"

#define TL_TCP_SPARE 4 // slots for connections opened from within the callback that ends another

struct tl_tcp_listener {
	struct tl_net *net;
	const struct tl_tcp_ops *ops;
	void *ctx;
	struct tl_tcp_opts opts;
	uint32_t max_conns, conns;    // conns: without those in TIME-WAIT
	uint32_t half_open;	      // part of conns
	uint16_t port_be;	      // 0: free slot
	struct tl_tcp_listener *next; // in its bucket
};

TAILQ_HEAD(tl_tcp_queue, tl_tcp);

// Blocks of one size, last in, first out.
struct tl_tcp_pool {
	void *memory;
	void *free; // a free block begins with the address of the next
};

// Independent random words: none can be derived from another.
struct tl_tcp_secrets {
	uint64_t hash[TL_TCP_KEY_SEEDS], hash6[TL_TCP_KEY_SEEDS]; // seeds of the hash tables
	uint64_t isn[2], stamp[2], cookie[2], port[2];		  // keys of tl_tcp_hash()
};

// A segment sent by the ready header whose bookkeeping is deferred.
struct tl_tcp_note {
	struct tl_tcp *c;
	const uint8_t *data; // not in the send ring yet
	uint32_t seq, len;
};

struct tl_tcp_table {
	struct tl_tcp **bucket, **bucket6; // of each family
	uint32_t bucket_mask, bucket6_mask;
	uint32_t depth; // nested calls into TCP; at 0 dead connections are reaped
	struct tl_tcp_secrets secrets;
	struct tl_tcp_queue pending;
	uint32_t ooo_held, ooo_max;	    // mbufs held in all ooo queues
	struct tl_tcp_listener *listener;   // net->cfg.listeners
	struct tl_tcp_listener **listening; // buckets, by port
	uint32_t listening_mask;
	struct tl_tcp *conns;
	struct tl_tcp_pool flights; // ring, sent and sacked of a connection
	struct tl_tcp_pool owned;   // the same for connections with opts.own_buffer
	struct tl_tcp_pool held;    // ooo of a connection
	struct tl_tcp_queue idle, half_open, connecting, dead, time_wait;
	uint32_t n_half_open, half_open_max;
	uint64_t cookies_ns;		   // time of the last SYN cookie
	struct tl_tcp *cookie_conn;	   // scratch connection that sends a SYN cookie
	uint32_t live, waiting;		   // connections in use; in TIME-WAIT
	struct tl_tcp_note note[TL_BURST]; // net->n_notes of them
	uint64_t ports_drawn;
	bool isn_fixed; // for tests: ISNs are isn_next
	uint32_t isn_next;
	bool closing; // tl_tcp_fini() runs
	struct tl_tcp_wheel wheel;
	struct tl_wheel paced; // paced connections by the departure times of their next segments
};

// ---- demultiplexing

// HOT. Buckets of an IPv4 connection, and of one over IPv6 by the peer's address: no segment finds a connection of the
// other family.
static inline struct tl_tcp **tl_tcp_bucket4(const struct tl_tcp_table *table, struct tl_tcp_key key)
{
	return &table->bucket[tl_tcp_key_hash(table->secrets.hash, key) & table->bucket_mask];
}

static inline struct tl_tcp **tl_tcp_bucket6(
	const struct tl_tcp_table *table, const struct tl_ip6 *peer, uint32_t ports_be)
{
	return &table->bucket6[tl_tcp_key_hash6(table->secrets.hash6, peer, ports_be) & table->bucket6_mask];
}

// HOT. Connection with that key in a bucket; NULL: none.
static inline struct tl_tcp *tl_tcp_find_in(struct tl_tcp *const *bucket, struct tl_tcp_key key)
{
	struct tl_tcp *c = *bucket;

	while (c != NULL && !tl_tcp_key_equal(c->key, key))
		c = c->hash_next;
	return c;
}

// Bucket, and connection, of a peer of either family: see tl_ip6_book.h.
struct tl_tcp **tl_tcp_bucket_of6(const struct tl_net *net, struct tl_tcp_key key);

static inline struct tl_tcp **tl_tcp_bucket(const struct tl_net *net, struct tl_tcp_key key)
{
	return tl_ip_is6(key.peer_be) ? tl_tcp_bucket_of6(net, key) : tl_tcp_bucket4(net->tcp, key);
}

static inline struct tl_tcp *tl_tcp_find(const struct tl_net *net, struct tl_tcp_key key)
{
	return tl_tcp_find_in(tl_tcp_bucket(net, key), key);
}

// RFC 6691: the MTU less fixed headers, options or not.
static inline uint16_t tl_tcp_link_mss(const struct tl_net *net, struct tl_tcp_key key)
{
	return net->cfg.mtu - tl_ip_len(key.peer_be) - TL_TCP_LEN;
}

// Bracket every call into TCP that may end a connection with enter and leave: slots are reused only after the outermost
// leave, so no caller up the stack holds a pointer to a reused slot.
static inline void tl_tcp_enter(struct tl_tcp_table *table)
{
	table->depth++;
}

// Free the slots of dead connections.
void tl_tcp_reap(struct tl_tcp_table *table);

static inline void tl_tcp_leave(struct tl_tcp_table *table)
{
	if (--table->depth == 0 && TL_UNLIKELY(!TAILQ_EMPTY(&table->dead)))
		tl_tcp_reap(table);
}

// Allocate a connection with key and options, in the hash table, in state CLOSED; evicts the oldest in TIME-WAIT.
// NULL: all are in use.
struct tl_tcp *tl_tcp_take(struct tl_net *net, struct tl_tcp_key key, const struct tl_tcp_ops *ops, void *ctx,
	const struct tl_tcp_opts *opts);

// Pin the next hop in the neighbour table unless it is: for an active open, or after the peer has answered. Nothing
// happens without room.
void tl_tcp_keep_hop(struct tl_tcp *c);

// Put c into the half-open list of its listener; into the list of active opens.
void tl_tcp_half_open(struct tl_tcp *c);
void tl_tcp_connecting(struct tl_tcp *c);
// Remove c from either.
void tl_tcp_opening_end(struct tl_tcp *c);
// Evict the listener's oldest half-open connection. False: it has none.
bool tl_tcp_half_open_evict(struct tl_tcp_listener *listener);
// Reset the scratch connection, in no list, that answers one SYN with a cookie.
struct tl_tcp *tl_tcp_cookie_conn(struct tl_net *net, struct tl_tcp_key key, const struct tl_tcp_opts *opts);

// Set the initial send sequence number.
void tl_tcp_start_sequence(struct tl_tcp *c, uint32_t iss);

// End the connection; calls closed() if the application has it.
void tl_tcp_end(struct tl_tcp *c, enum tl_tcp_reason reason);

// Call closed() and keep the address pair occupied for 2 MSL.
void tl_tcp_enter_time_wait(struct tl_tcp *c);

// Bucket of a listener, and the listener of a port; NULL: none.
static inline struct tl_tcp_listener **tl_tcp_listening(const struct tl_tcp_table *table, uint16_t port_be)
{
	return &table->listening[tl_be16(port_be) & table->listening_mask];
}
struct tl_tcp_listener *tl_tcp_find_listener(struct tl_tcp_table *table, uint16_t port_be);

// A free local port for the peer, network order; 0: none.
uint16_t tl_tcp_local_port(struct tl_net *net, uint32_t peer_be, uint16_t peer_port_be);

// HOT. Schedule c for the end of the burst, or for the next tick.
static inline void tl_tcp_pend(struct tl_tcp *c)
{
	if (c->pending)
		return;
	c->pending = true;
	c->net->tcp_pending = true;
	TAILQ_INSERT_TAIL(&c->net->tcp->pending, c, pending_link);
}
