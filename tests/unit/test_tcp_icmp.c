// SPDX-License-Identifier: BSD-3-Clause
// Effects of ICMP on a connection: the path MTU (RFC 1191) within the limits of RFC 5927, and none otherwise.

#include "tl_test_tcp_host.h"

// Receive "fragmentation needed" for our segment at seq of len bytes.
static void give_icmp(struct host *h, uint8_t type, uint8_t code, uint16_t mtu, uint32_t seq, uint16_t len)
{
	uint8_t frame[TL_ETHER_LEN + TL_IPV4_LEN + TL_ICMP_LEN + TL_IPV4_LEN + 8] = {
		2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0};
	struct tl_ipv4_hdr *ip = (struct tl_ipv4_hdr *)(frame + TL_ETHER_LEN);
	struct tl_icmp_hdr *icmp = (struct tl_icmp_hdr *)(ip + 1);
	struct tl_ipv4_hdr *quoted = (struct tl_ipv4_hdr *)(icmp + 1);
	const uint16_t ports_be[] = {h->our_port, h->peer_port};
	const uint32_t seq_be = tl_be32(seq);

	*ip = (struct tl_ipv4_hdr){.version_ihl = 0x45,
		.total_len_be = tl_be16(sizeof(frame) - TL_ETHER_LEN),
		.ttl = 64,
		.proto = TL_IPPROTO_ICMP,
		.src_be = IP(192, 0, 2, 9),
		.dst_be = IP(192, 0, 2, 1)};
	tl_wire_ipv4_finish(ip);
	*quoted = (struct tl_ipv4_hdr){.version_ihl = 0x45,
		.total_len_be = tl_be16(TL_IPV4_LEN + TL_TCP_LEN + len),
		.proto = TL_IPPROTO_TCP,
		.src_be = IP(192, 0, 2, 1),
		.dst_be = PEER};
	memcpy(quoted + 1, ports_be, sizeof(ports_be));
	memcpy((uint8_t *)(quoted + 1) + sizeof(ports_be), &seq_be, sizeof(seq_be));
	*icmp = (struct tl_icmp_hdr){.type = type, .code = code, .rest_be = tl_be32(mtu)};
	icmp->cksum_be = tl_cksum_finish(tl_cksum_add(0, icmp, TL_ICMP_LEN + TL_IPV4_LEN + 8));
	give_raw(h, frame, sizeof(frame));
}

static void too_big(struct host *h, uint16_t mtu, uint32_t seq, uint16_t len)
{
	give_icmp(h, 3, 4, mtu, seq, len);
}

TL_TEST("the first smaller MTU is accepted, and segments that did not fit are retransmitted")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	say(&app, 2 * MSS);
	forget(h);
	uint32_t ssthresh = app.c->ssthresh;
	too_big(h, 1000, OURS + 1, MSS);
	SENDS(h, A, OURS + 1, PEERS + 1, 960);
	SENDS(h, A, OURS + 1 + 960, PEERS + 1, 960);
	SENDS(h, A, OURS + 1 + 2 * 960, PEERS + 1, 960);
	SENDS(h, A | P, OURS + 1 + 3 * 960, PEERS + 1, 2 * MSS - 3 * 960);
	SILENT(h);
	CU_ASSERT_EQUAL(app.c->ssthresh, ssthresh); // no sign of congestion
	CU_ASSERT_EQUAL(h->net->stats.tcp_path_mtu_drops, 1);
	too_big(h, 1000, OURS + 1 + MSS, MSS); // the other segment was too big as well: no new information
	too_big(h, 1200, OURS + 1, MSS);
	SILENT(h);
	give(h, A, PEERS + 1, OURS + 1 + 2 * MSS, 0);
	CU_ASSERT_EQUAL(tl_tcp_room(app.c), 65536);
	say(&app, 2 * MSS);
	CU_ASSERT_EQUAL(next_sent(h)->len, 960);
	stop(h);
}

TL_TEST("a report without an MTU selects the next lower plateau")
{
	static const uint16_t was[] = {MSS, 1452, 900, 400}, becomes[] = {1492 - 40, 1006 - 40, 508 - 40, 296 - 40};

	for (unsigned i = 0; i < 4; i++) {
		struct host *h = start();
		struct app app = {0};
		accept_peer(h, &app);
		app.c->mss = was[i];
		say(&app, was[i]);
		too_big(h, 0, OURS + 1, was[i]);
		CU_ASSERT_EQUAL(app.c->mss, becomes[i]);
		stop(h);
	}
}

TL_TEST("a report about data not in flight, or that would have fit, is ignored")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	say(&app, 2 * MSS);
	forget(h);
	too_big(h, 1000, OURS, MSS);		   // acknowledged
	too_big(h, 1000, OURS + 1 + 2 * MSS, MSS); // never sent
	too_big(h, 1000, OURS + 1, 100);	   // fits the MTU
	too_big(h, 1500, OURS + 1, MSS);
	h->peer_port = PORT(40001);
	too_big(h, 1000, OURS + 1, MSS); // unknown connection
	SILENT(h);
	CU_ASSERT_EQUAL(app.c->mss, MSS);
	h->peer_port = PEER_PORT;
	too_big(h, 20, OURS + 1, MSS); // below the minimum
	CU_ASSERT_EQUAL(app.c->mss, 256);
	stop(h);
}

// RFC 5927, section 7.2: after full segments were acknowledged, one must be lost before the message is accepted.
TL_TEST("after full segments were acknowledged a smaller MTU is accepted only after a loss")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	say(&app, 2 * MSS);
	give(h, A, PEERS + 1, OURS + 1 + 2 * MSS, 0);
	say(&app, 2 * MSS);
	forget(h);
	too_big(h, 1000, OURS + 1 + 2 * MSS, MSS);
	SILENT(h);
	give(h, A, PEERS + 1, OURS + 1 + 4 * MSS, 0); // proves the message false
	CU_ASSERT_EQUAL(app.c->claimed_mss, 0);
	say(&app, 2 * MSS);
	forget(h);
	too_big(h, 1000, OURS + 1 + 4 * MSS, MSS);
	CU_ASSERT_EQUAL(app.c->mss, MSS);
	pass(h, 205 * MS); // no ACK: the message may be true
	SENDS(h, A, OURS + 1 + 4 * MSS, PEERS + 1, 960);
	CU_ASSERT_EQUAL(app.c->mss, 960);
	stop(h);
}

TL_TEST("timestamps are included when segments are sized for the path")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	app.c->stamped = true;
	app.c->mss = MSS - 12;
	say(&app, 2 * MSS);
	too_big(h, 1000, OURS + 1, MSS);
	CU_ASSERT_EQUAL(app.c->mss, 948);
	stop(h);
}

TL_TEST("ICMP errors do not end an established connection")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	say(&app, 10);
	forget(h);
	for (uint8_t type = 3; type <= 18; type++) {
		for (uint8_t code = 0; code < 16; code++) {
			if (type != 8 && (type != 3 || code != 4))
				give_icmp(h, type, code, 0, OURS + 1, 10);
		}
	}
	CU_ASSERT_EQUAL(app.closed, 0);
	CU_ASSERT(in_state(&app, "ESTABLISHED"));
	SILENT(h);
	stop(h);
}

// RFC 6633.
TL_TEST("source quench is ignored")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	say(&app, 2 * MSS);
	uint32_t cwnd = app.c->cwnd;
	forget(h);
	give_icmp(h, 4, 0, 0, OURS + 1, MSS);
	CU_ASSERT_EQUAL(app.c->cwnd, cwnd);
	CU_ASSERT_FALSE(app.c->soft_error);
	SILENT(h);
	stop(h);
}

TL_TEST("a soft error in the handshake is reported at its timeout")
{
	static const uint8_t soft[][2] = {{3, 0}, {3, 1}, {3, 5}, {11, 0}, {12, 0}, {3, 4}};

	for (unsigned i = 0; i < TL_ARRAY_LEN(soft); i++) {
		struct host *h = start();
		struct app app = {0};
		call(h, &app, NULL);
		give_icmp(h, soft[i][0], soft[i][1], 500, OURS, 0);
		CU_ASSERT_EQUAL(app.closed, 0);
		pass(h, 11 * SECOND);
		CU_ASSERT_EQUAL(app.reason, soft[i][1] == 4 ? TL_TCP_TIMEOUT : TL_TCP_UNREACHABLE);
		stop(h);
	}
}

int main(void)
{
	tl_test_eal_start();
	return tl_test_run("tcp_icmp");
}
