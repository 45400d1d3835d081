// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// test_datagrams: a target of UDP flows, which answers as the recording does: "re:" and the datagram.

#include "tl_test_player.h"

static struct tl_udp *udp_server;
static unsigned answers_left;
static uint16_t udp_peers_be[64]; // source ports of the datagrams
static unsigned udp_heard;

static inline void on_datagram(void *ctx, const struct tl_udp_datagram *d)
{
	struct sim *sim = ctx;
	char answer[64];

	strncat(sim->heard, (const char *)d->payload, d->len);
	udp_peers_be[udp_heard++ % TL_ARRAY_LEN(udp_peers_be)] = d->src_port_be;
	if (answers_left == 0)
		return;
	answers_left--;
	snprintf(answer, sizeof(answer), sim->habit == LIES ? "Re:%.*s" : "re:%.*s", (int)d->len,
		(const char *)d->payload);
	if (sim->habit == STOPS_SHORT)
		answer[3] = '\0';
	CU_ASSERT(tl_udp_send(udp_server, d->src_ip_be, d->src_port_be, answer, (uint16_t)strlen(answer)) >= 0);
}

static inline void udp_listen(struct sim *sim, unsigned answers)
{
	answers_left = answers;
	udp_heard = 0;
	CU_ASSERT_EQUAL(tl_udp_open(sim->net[1], 0, 0, tl_be16(80), on_datagram, sim, &udp_server), 0);
}
