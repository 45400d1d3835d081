// SPDX-License-Identifier: BSD-3-Clause
// ARP: asking, answering, remembering, announcing and defending.

#include "net_priv.h"
#include "tl_test_host.h"

TL_TEST("an ARP request for our address is answered")
{
	struct host *h = start();
	struct frame request = arp_frame(BROADCAST, 1, PEER_MAC, PEER, NO_MAC, US);
	struct frame want = arp_frame(PEER_MAC, 2, OUR_MAC, US, PEER_MAC, PEER);

	CU_ASSERT(counts_as(h, "rx_arp_pkts", &request));
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 1);
	CU_ASSERT(is_arp(&h->sent[0], &want));
	CU_ASSERT_EQUAL(counter(h, "arp_replies_tx"), 1);
	stop(h);
}

TL_TEST("an ARP probe is answered without storing its sender")
{
	struct host *h = start();
	struct frame probe = arp_frame(BROADCAST, 1, PEER_MAC, 0, NO_MAC, US);
	struct frame want = arp_frame(PEER_MAC, 2, OUR_MAC, US, PEER_MAC, 0);

	give(h, &probe);
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 1);
	CU_ASSERT(is_arp(&h->sent[0], &want));
	stop(h);
}

TL_TEST("ARP for other hosts, unsolicited replies and other hardware types are not learned")
{
	struct host *h = start();
	struct heard heard = {0};
	struct tl_udp *udp = open_udp(h, 0, 0, 5000, &heard);
	struct frame for_another = arp_frame(BROADCAST, 1, PEER_MAC, PEER, NO_MAC, IP(192, 0, 2, 9));
	struct frame unasked = arp_reply(PEER_MAC, PEER);
	struct frame off_link = arp_frame(BROADCAST, 1, PEER_MAC, FAR_AWAY, NO_MAC, US);
	struct frame odd = arp_frame(BROADCAST, 1, PEER_MAC, PEER, NO_MAC, US);
	struct frame group_mac = arp_frame(BROADCAST, 1, BROADCAST, PEER, NO_MAC, US);

	odd.bytes[15] = 6; // IEEE 802 networks
	give(h, &for_another);
	give(h, &unasked);
	CU_ASSERT(counts_as(h, "drop_malformed_pkts", &odd));
	give(h, &group_mac);
	CU_ASSERT_EQUAL(h->n_sent, 0);
	give(h, &off_link);
	CU_ASSERT_EQUAL(h->n_sent, 1); // the reply
	clear(h);
	CU_ASSERT_EQUAL(say(udp, PEER, "x"), 0);
	clear(h);
	CU_ASSERT_EQUAL(counter(h, "arp_requests_tx"), 1); // still unknown
	CU_ASSERT(partition_holds(h));
	stop(h);
}

TL_TEST("a frame to an unknown neighbour is queued until the ARP reply")
{
	struct host *h = start();
	struct heard heard = {0};
	struct tl_udp *udp = open_udp(h, 0, 0, 5000, &heard);
	struct frame reply = arp_reply(PEER_MAC, PEER);

	CU_ASSERT_EQUAL(say(udp, PEER, "hello"), 0);
	tl_txq_flush(&h->tx);
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 1);
	CU_ASSERT(is_request(&h->sent[0], BROADCAST, PEER));
	give(h, &reply);
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 2);
	CU_ASSERT(is_udp(&h->sent[1], PEER_MAC, PEER, "hello"));
	CU_ASSERT_EQUAL(say(udp, PEER, "again"), 0);
	tl_txq_flush(&h->tx);
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 3);
	CU_ASSERT(is_udp(&h->sent[2], PEER_MAC, PEER, "again"));
	CU_ASSERT_EQUAL(counter(h, "arp_unresolved_pkts"), 0);
	stop(h);
}

TL_TEST("only the latest frame is queued")
{
	struct host *h = start();
	struct heard heard = {0};
	struct tl_udp *udp = open_udp(h, 0, 0, 5000, &heard);
	struct frame reply = arp_reply(PEER_MAC, PEER);

	(void)say(udp, PEER, "first");
	(void)say(udp, PEER, "second");
	(void)say(udp, PEER, "third");
	give(h, &reply);
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 2); // one request, one datagram
	CU_ASSERT(is_udp(&h->sent[1], PEER_MAC, PEER, "third"));
	CU_ASSERT_EQUAL(counter(h, "arp_unresolved_pkts"), 2);
	stop(h);
}

TL_TEST("an unanswered address is requested three times at intervals of 1 s, then fails")
{
	struct host *h = start();
	struct heard heard = {0};
	struct tl_udp *udp = open_udp(h, 0, 0, 5000, &heard);

	(void)say(udp, PEER, "lost");
	tl_txq_flush(&h->tx);
	for (unsigned ms = 1; ms < 3000; ms++) {
		pass(h, TL_NS_PER_MS);
		CU_ASSERT_EQUAL_FATAL(h->n_sent, 1 + ms / 1000);
	}
	CU_ASSERT_EQUAL(counter(h, "arp_unresolved_pkts"), 0);
	pass(h, TL_NS_PER_MS);
	CU_ASSERT_EQUAL(counter(h, "arp_unresolved_pkts"), 1);
	pass(h, 10 * SECOND);
	CU_ASSERT_EQUAL(h->n_sent, 3);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(rte_mempool_lookup(POOL)), h->in_use);
	(void)say(udp, PEER, "once more");
	tl_txq_flush(&h->tx);
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 4);
	CU_ASSERT(is_request(&h->sent[3], BROADCAST, PEER));
	stop(h);
}

TL_TEST("an unanswered ARP ends a TCP handshake as unreachable")
{
	struct host *h = start();
	struct tl_tcp *c = NULL;
	int reason = -1;

	CU_ASSERT_EQUAL_FATAL(tl_tcp_connect(h->net, PEER, PORT(80), &NOTE_CLOSED, &reason, NULL, &c), 0);
	for (unsigned ms = 0; ms < 2999; ms++)
		pass(h, TL_NS_PER_MS);
	CU_ASSERT_EQUAL(reason, -1);
	pass(h, TL_NS_PER_MS);
	CU_ASSERT_EQUAL(reason, TL_TCP_UNREACHABLE);
	stop(h);
}

TL_TEST("a host that requested our MAC is not requested")
{
	struct host *h = start();
	struct heard heard = {0};
	struct tl_udp *udp = open_udp(h, 0, 0, 5000, &heard);

	introduce(h, PEER_MAC, PEER);
	(void)say(udp, PEER, "hi");
	tl_txq_flush(&h->tx);
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 1);
	CU_ASSERT(is_udp(&h->sent[0], PEER_MAC, PEER, "hi"));
	stop(h);
}

TL_TEST("a neighbour in use is polled by unicast before it expires")
{
	struct host *h = start();
	struct heard heard = {0};
	struct tl_udp *udp = open_udp(h, 0, 0, 5000, &heard);
	struct frame reply = arp_reply(PEER_MAC, PEER);
	uint32_t generation = h->net->arp_generation;

	introduce(h, PEER_MAC, PEER);
	(void)say(udp, PEER, "hi");
	clear(h);
	for (unsigned round = 0; round < 5; round++) {
		pass(h, 57 * SECOND - 1);
		CU_ASSERT_EQUAL(h->n_sent, 0);
		pass(h, 1);
		CU_ASSERT_EQUAL_FATAL(h->n_sent, 1);
		CU_ASSERT(is_request(&h->sent[0], PEER_MAC, PEER));
		give(h, &reply);
		clear(h);
	}
	(void)say(udp, PEER, "hi");
	tl_txq_flush(&h->tx);
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 1);
	CU_ASSERT(is_udp(&h->sent[0], PEER_MAC, PEER, "hi"));
	CU_ASSERT_EQUAL(h->net->arp_generation, generation);
	stop(h);
}

TL_TEST("an unresponsive neighbour expires after 60 s and changes the generation")
{
	struct host *h = start();
	struct heard heard = {0};
	struct tl_udp *udp = open_udp(h, 0, 0, 5000, &heard);
	uint32_t generation = h->net->arp_generation;

	introduce(h, PEER_MAC, PEER);
	(void)say(udp, PEER, "hi");
	clear(h);
	for (unsigned s = 1; s < 60; s++)
		pass(h, SECOND);
	CU_ASSERT_EQUAL(h->n_sent, 3); // probes at 57, 58 and 59 s
	CU_ASSERT_EQUAL(h->net->arp_generation, generation);
	clear(h);
	(void)say(udp, PEER, "still there");
	tl_txq_flush(&h->tx);
	CU_ASSERT(is_udp(&h->sent[0], PEER_MAC, PEER, "still there"));
	clear(h);
	pass(h, SECOND);
	CU_ASSERT_NOT_EQUAL(h->net->arp_generation, generation);
	(void)say(udp, PEER, "gone");
	tl_txq_flush(&h->tx);
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 1);
	CU_ASSERT(is_request(&h->sent[0], BROADCAST, PEER));
	stop(h);
}

TL_TEST("an unused neighbour expires without a request")
{
	struct host *h = start();

	introduce(h, PEER_MAC, PEER);
	for (unsigned s = 1; s <= 61; s++)
		pass(h, SECOND);
	CU_ASSERT_EQUAL(h->n_sent, 0);
	stop(h);
}

TL_TEST("a neighbour's new MAC address is used at once and changes the generation")
{
	struct host *h = start();
	struct heard heard = {0};
	struct tl_udp *udp = open_udp(h, 0, 0, 5000, &heard);
	struct frame announcement = arp_frame(BROADCAST, 1, OTHER_MAC, PEER, NO_MAC, PEER);
	uint32_t generation = h->net->arp_generation;

	introduce(h, PEER_MAC, PEER);
	introduce(h, PEER_MAC, PEER);
	CU_ASSERT_EQUAL(h->net->arp_generation, generation);
	give(h, &announcement);
	CU_ASSERT_EQUAL(h->net->arp_generation, generation + 1);
	(void)say(udp, PEER, "hi");
	tl_txq_flush(&h->tx);
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 1);
	CU_ASSERT(is_udp(&h->sent[0], OTHER_MAC, PEER, "hi"));
	stop(h);
}

TL_TEST("the address is announced twice at an interval of 2 s")
{
	struct host *h = start();

	h->now_ns += 5 * SECOND; // no tick
	tl_net_announce(h->net, h->now_ns);
	tl_txq_flush(&h->tx);
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 1);
	CU_ASSERT(is_request(&h->sent[0], BROADCAST, US));
	pass(h, 2 * SECOND - 1);
	CU_ASSERT_EQUAL(h->n_sent, 1);
	pass(h, 1);
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 2);
	CU_ASSERT(is_request(&h->sent[1], BROADCAST, US));
	pass(h, 10 * SECOND);
	CU_ASSERT_EQUAL(h->n_sent, 2);
	stop(h);
}

TL_TEST("an address conflict is answered once in 10 s")
{
	struct host *h = start();
	struct frame rival = arp_frame(BROADCAST, 1, OTHER_MAC, US, NO_MAC, US);
	struct frame own = arp_frame(BROADCAST, 1, OUR_MAC, US, NO_MAC, US);

	give(h, &own); // reflected by the network
	CU_ASSERT_EQUAL(h->n_sent, 0);
	give(h, &rival);
	give(h, &rival);
	pass(h, 10 * SECOND - 1);
	give(h, &rival);
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 1);
	CU_ASSERT(is_request(&h->sent[0], BROADCAST, US));
	pass(h, 1);
	give(h, &rival);
	CU_ASSERT_EQUAL(h->n_sent, 2);
	CU_ASSERT_EQUAL(counter(h, "arp_conflicts_pkts"), 4);
	stop(h);
}

// If several stacks share an address, the first one replies.
TL_TEST("a follower learns and sends nothing")
{
	struct host *h = start();
	struct frame request = arp_frame(BROADCAST, 1, PEER_MAC, PEER, NO_MAC, US),
		     conflict = arp_frame(BROADCAST, 1, OTHER_MAC, US, NO_MAC, GATEWAY);
	struct heard heard = {0};

	tl_net_destroy(h->net);
	struct tl_net_cfg cfg = usual_cfg(h);
	struct tl_err err;
	cfg.is_follower = true;
	CU_ASSERT_EQUAL_FATAL(tl_net_create(&cfg, &h->net, &err), 0);
	struct tl_udp *udp = open_udp(h, 0, 0, 5000, &heard);
	tl_net_announce(h->net, h->now_ns);
	pass(h, 3 * SECOND);
	give(h, &request);
	give(h, &conflict);
	CU_ASSERT_EQUAL(h->n_sent, 0);
	CU_ASSERT_EQUAL(counter(h, "arp_conflicts_pkts"), 0);
	CU_ASSERT_EQUAL(say(udp, PEER, "hi"), 0);
	tl_txq_flush(&h->tx);
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 1);
	CU_ASSERT(is_udp(&h->sent[0], PEER_MAC, PEER, "hi"));
	stop(h);
}

static void fill_table(struct host *h)
{
	uint8_t mac[6] = {2, 0, 0, 1, 0, 0};

	h->net->cfg.mask_be = IP(255, 255, 0, 0);
	for (unsigned i = 0; i < 256; i++) {
		mac[5] = (uint8_t)i;
		introduce(h, mac, IP(192, 0, 3, i));
	}
}

TL_TEST("an unsolicited host evicts no entry of a full table")
{
	struct host *h = start();
	struct heard heard = {0};
	struct tl_udp *udp = open_udp(h, 0, 0, 5000, &heard);

	fill_table(h);
	introduce(h, PEER_MAC, PEER);
	for (unsigned i = 0; i < 256; i++)
		(void)say(udp, IP(192, 0, 3, i), "hi");
	CU_ASSERT_EQUAL(counter(h, "arp_requests_tx"), 0);
	(void)say(udp, PEER, "hi");
	CU_ASSERT_EQUAL(counter(h, "arp_requests_tx"), 1);
	stop(h);
}

TL_TEST("a full table evicts the least used neighbour")
{
	struct host *h = start();
	struct heard heard = {0};
	struct tl_udp *udp = open_udp(h, 0, 0, 5000, &heard);
	struct frame reply = arp_reply(PEER_MAC, PEER);
	uint32_t generation = h->net->arp_generation;

	fill_table(h);
	for (unsigned i = 0; i < 256; i++)
		(void)say(udp, IP(192, 0, 3, i), "hi");
	pass(h, 1);
	for (unsigned i = 0; i < 256; i++) {
		if (i != 100 && i != 200)
			(void)say(udp, IP(192, 0, 3, i), "hi");
	}
	(void)say(udp, PEER, "hi");
	(void)say(udp, IP(192, 0, 2, 3), "hi");
	CU_ASSERT_EQUAL(h->net->arp_generation, generation + 2);
	clear(h);
	for (unsigned i = 0; i < 256; i++) {
		if (i != 100 && i != 200)
			(void)say(udp, IP(192, 0, 3, i), "hi");
	}
	CU_ASSERT_EQUAL(counter(h, "arp_requests_tx"), 2);
	clear(h);
	give(h, &reply);
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 1);
	CU_ASSERT(is_udp(&h->sent[0], PEER_MAC, PEER, "hi"));
	stop(h);
}

TL_TEST("hosts outside the prefix take no entry")
{
	struct host *h = start();
	struct heard heard = {0};
	struct tl_udp *udp = open_udp(h, 0, 0, 5000, &heard);

	for (unsigned i = 0; i < 256; i++)
		introduce(h, OTHER_MAC, IP(198, 51, 100, i));
	introduce(h, PEER_MAC, PEER);
	(void)say(udp, PEER, "hi");
	CU_ASSERT_EQUAL(counter(h, "arp_requests_tx"), 0);
	stop(h);
}

TL_TEST("timeouts are measured from the time of the burst")
{
	struct host *h = start();
	struct heard heard = {0};
	struct tl_udp *udp = open_udp(h, 0, 0, 5000, &heard);

	h->now_ns += 10 * SECOND; // no tick
	introduce(h, PEER_MAC, PEER);
	(void)say(udp, PEER, "hi");
	clear(h);
	pass(h, 57 * SECOND - 1);
	CU_ASSERT_EQUAL(h->n_sent, 0);
	pass(h, 1);
	CU_ASSERT_EQUAL(h->n_sent, 1);
	stop(h);
}

TL_TEST("an announcement is sent on time despite other timers")
{
	struct host *h = start();
	struct heard heard = {0};
	struct tl_udp *udp = open_udp(h, 0, 0, 5000, &heard);

	(void)say(udp, PEER, "hi");
	pass(h, SECOND);
	pass(h, SECOND);
	tl_net_announce(h->net, h->now_ns);
	pass(h, SECOND); // the neighbour entry expires
	CU_ASSERT_EQUAL(counter(h, "arp_unresolved_pkts"), 1);
	CU_ASSERT_EQUAL(h->n_sent, 3 + 1);
	pass(h, SECOND);
	CU_ASSERT_EQUAL(h->n_sent, 3 + 2);
	stop(h);
}

TL_TEST("frames queued for more neighbours than the table holds are counted and freed")
{
	struct host *h = start();
	struct heard heard = {0};
	struct tl_udp *udp = open_udp(h, 0, 0, 5000, &heard);

	h->net->cfg.mask_be = IP(255, 255, 0, 0);
	for (unsigned i = 0; i < 300; i++)
		(void)say(udp, IP(192, 0, 4 + i / 256, i % 256), "hi");
	clear(h);
	CU_ASSERT_EQUAL(counter(h, "arp_requests_tx"), 300);
	CU_ASSERT_EQUAL(counter(h, "arp_unresolved_pkts"), 300 - 256);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(rte_mempool_lookup(POOL)), h->in_use + 256);
	stop(h); // frees held frames
}

TL_TEST("hosts outside the prefix are reached through the gateway")
{
	struct host *h = start_with(MTU, GATEWAY);
	struct heard heard = {0};
	struct tl_udp *udp = open_udp(h, 0, 0, 5000, &heard);
	struct frame reply = arp_reply(OTHER_MAC, GATEWAY);

	(void)say(udp, FAR_AWAY, "hi");
	tl_txq_flush(&h->tx);
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 1);
	CU_ASSERT(is_request(&h->sent[0], BROADCAST, GATEWAY));
	give(h, &reply);
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 2);
	CU_ASSERT(is_udp(&h->sent[1], OTHER_MAC, FAR_AWAY, "hi"));
	stop(h);
}

TL_TEST("a neighbour can be requested before any frame is sent to it")
{
	struct host *h = start();
	struct frame reply = arp_reply(PEER_MAC, PEER);

	CU_ASSERT_EQUAL(tl_net_resolve(h->net, PEER), -EAGAIN);
	CU_ASSERT_EQUAL(tl_net_resolve(h->net, PEER), -EAGAIN);
	tl_txq_flush(&h->tx);
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 1); // one request
	CU_ASSERT(is_request(&h->sent[0], BROADCAST, PEER));
	give(h, &reply);
	CU_ASSERT_EQUAL(tl_net_resolve(h->net, PEER), 0);
	CU_ASSERT_EQUAL(h->n_sent, 1);
	CU_ASSERT_EQUAL(tl_net_resolve(h->net, US), -EHOSTUNREACH);
	stop(h);
}

TL_TEST("a configured neighbour is never requested or changed")
{
	struct host *h = calloc(1, sizeof(*h));
	const struct tl_net_neighbour neighbour = {.ip_be = PEER, .mac = {2, 0, 0, 0, 0x77, 1}};
	struct tl_net_cfg cfg = usual_cfg(h);
	struct heard heard = {0};

	cfg.neighbours = &neighbour;
	cfg.n_neighbours = 1;
	(void)start_cfg(h, &cfg);
	struct tl_udp *udp = open_udp(h, 0, 0, 5000, &heard);
	struct frame claim = arp_frame(BROADCAST, 1, OTHER_MAC, PEER, NO_MAC, US);
	give(h, &claim);
	fill_table(h);
	pass(h, 200 * SECOND);
	clear(h);
	(void)say(udp, PEER, "hi");
	tl_txq_flush(&h->tx);
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 1);
	CU_ASSERT(is_udp(&h->sent[0], neighbour.mac, PEER, "hi"));
	CU_ASSERT_EQUAL(counter(h, "arp_requests_tx"), 0);
	stop(h);
}

TL_TEST("with all entries in use by connections, frames for other hosts are counted and freed")
{
	struct host *h = calloc(1, sizeof(*h));
	struct tl_net_cfg cfg = usual_cfg(h);
	struct heard heard = {0};
	struct tl_tcp *c[16];
	int reason[16];

	cfg.neighbour_entries = 16;
	cfg.mask_be = IP(255, 255, 0, 0);
	(void)start_cfg(h, &cfg);
	struct tl_udp *udp = open_udp(h, 0, 0, 5000, &heard);
	for (unsigned i = 0; i < 16; i++)
		CU_ASSERT_EQUAL(
			tl_tcp_connect(h->net, IP(192, 0, 3, i + 1), PORT(80), &NOTE_CLOSED, &reason[i], NULL, &c[i]),
			0);
	clear(h);
	CU_ASSERT_EQUAL(say(udp, PEER, "hi"), 0);
	CU_ASSERT_EQUAL(counter(h, "arp_table_full_pkts"), 1);
	CU_ASSERT_EQUAL(counter(h, "arp_requests_tx"), 16);
	tl_tcp_abort(c[3]);
	CU_ASSERT_EQUAL(say(udp, PEER, "hi"), 0);
	CU_ASSERT_EQUAL(counter(h, "arp_table_full_pkts"), 1);
	CU_ASSERT_EQUAL(counter(h, "arp_requests_tx"), 17);
	stop(h);
}

TL_TEST("frames queued for neighbours take at most a quarter of the pool across all stacks")
{
	struct host *h = calloc(1, sizeof(*h));
	struct tl_net_cfg cfg = usual_cfg(h);
	struct heard heard = {0};
	const unsigned part = POOL_SIZE / 4 / 2;

	cfg.neighbour_entries = 1024;
	cfg.mask_be = IP(255, 255, 0, 0);
	cfg.pool_users = 2;
	(void)start_cfg(h, &cfg);
	struct tl_udp *udp = open_udp(h, 0, 0, 5000, &heard);
	for (unsigned i = 0; i < 1000; i++) {
		CU_ASSERT_EQUAL(say(udp, IP(192, 0, 4 + i / 256, i % 256), "hi"), 0);
		clear(h);
	}
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(rte_mempool_lookup(POOL)), h->in_use + part);
	CU_ASSERT_EQUAL(counter(h, "arp_table_full_pkts"), 1000 - part);
	stop(h);
}

TL_TEST("after link up the address is announced again, twice")
{
	struct host *h = start();

	tl_net_announce(h->net, h->now_ns);
	pass(h, 2 * SECOND);
	pass(h, 10 * SECOND);
	clear(h);
	tl_net_announce_again(h->net, h->now_ns);
	tl_txq_flush(&h->tx);
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 1);
	CU_ASSERT(is_request(&h->sent[0], BROADCAST, US));
	pass(h, 2 * SECOND);
	CU_ASSERT_EQUAL(h->n_sent, 2);
	stop(h);
}

int main(void)
{
	return test_host_run("net_arp");
}
