// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// delay: replies that leave later than at once: an impairment for tests. A message is copied into a block of its echo
// and waits in the wheel of its host, one per send queue. At its time it is given to UDP or TCP.
//
// Waiting bytes of a TCP echo keep their room in the send buffer (tl_tcp_reserve()), so its window shrinks as without a
// delay, and they fit when they are due. Messages of one connection keep their order.
//
// Threads: the lcore of the host; init and fini on main. Memory: allocated in init.

#include "echo_priv.h"

#include <tl_wheel.h>

#define DELAY_POINTS 1024 // intervals of the table of delays, equally probable
#define DELAY_BLOCK_BYTES 2048
#define DELAY_BYTES_MAX UINT16_MAX // of a message: longer than a datagram

// Messages that keep their order: a connection of a TCP echo, or all of MCAST_TO_TCP.
struct delay_stream {
	struct tl_echo *echo;
	struct tl_tcp *conn; // NULL: MCAST_TO_TCP
	struct delay_stream *next_free;
	uint64_t last_ns; // time of the latest message
	uint32_t life;	  // number of the connection: messages of earlier ones have no connection
	uint32_t waiting; // messages of this life
	bool ended;	  // the peer sent FIN: close after the last message
};

// A message, or a further part of one.
struct delay_block {
	struct tl_wheel_node wait;
	struct delay_block *next; // part of the message, or of the free list
	struct tl_echo *echo;
	struct delay_stream *stream; // NULL: UDP
	uint64_t received_ns;
	uint32_t life; // of the stream
	uint32_t len;  // of the whole message
	uint32_t src_ip_be;
	struct tl_ip6 src_ip6; // set: instead of src_ip_be, whose number may be reassigned meanwhile
	uint16_t src_port_be;
	uint8_t data[];
};
#define DELAY_DATA_BYTES (DELAY_BLOCK_BYTES - (uint32_t)sizeof(struct delay_block))

struct tl_echo_delay {
	struct delay_block *free;
	uint32_t n_free;
	uint64_t random;
	struct delay_stream all;	     // MCAST_TO_TCP
	struct delay_stream *free_stream;    // TCP
	uint64_t after_ns[DELAY_POINTS + 1]; // quantiles of the delay
	struct tl_hist lateness;
	void *blocks, *streams;
};

struct tl_echo_delays {
	struct tl_wheel wheel;
	uint8_t whole[DELAY_BYTES_MAX]; // a message of several blocks
};

// delay.c: allocate for the echoes that have a delay. Return 0, or -ENOMEM with a message.
int tl_delays_init(struct tl_echo_host *host, int socket_id, struct tl_err *err);
void tl_delays_fini(struct tl_echo_host *host); // also after a failed init

// delay_table.c: fill the quantiles of a delay.
void tl_delay_fill(uint64_t after_ns[DELAY_POINTS + 1], const struct tl_echo_cfg *cfg);

// delay_dp.c: callbacks of the stack. The context of the last two is the stream of a connection.
void tl_delay_mcast_datagram(void *echo, const struct tl_udp_datagram *datagram);
void tl_delay_udp_datagram(void *echo, const struct tl_udp_datagram *datagram);
void tl_delay_tcp_data(void *stream, struct tl_tcp *c, const uint8_t *data, uint32_t len);
void tl_delay_peer_closed(void *stream, struct tl_tcp *c);

// delay_dp.c: begin and end the stream of a connection; its waiting messages then have no connection.
void tl_delay_stream_open(struct tl_echo *echo, struct tl_tcp *c);
void tl_delay_stream_close(struct delay_stream *stream);

// delay_dp.c: functions of the service. The end drops what still waits.
uint16_t tl_delay_poll(void *host, uint64_t mono_ns);
uint64_t tl_delay_next_ns(void *host);
void tl_delay_end(void *host);
