// SPDX-License-Identifier: BSD-3-Clause
// Neighbour table under unsolicited traffic: kept and evicted entries.

#include <errno.h>

#include "arp_priv.h"
#include "tl_test_tcp_host.h"

#define FLOOD 3000 // senders, for a table of 1024

// Return a nonexistent host at the end of the prefix.
static void write_source(uint8_t *frame, uint16_t n)
{
	const uint8_t tail[] = {(uint8_t)(n >> 8), (uint8_t)n};
	uint16_t l4_len = TL_TCP_LEN;

#ifdef TEST_IP6
	struct tl_ipv6_hdr *ip = (struct tl_ipv6_hdr *)(frame + TL_ETHER_LEN);
	memcpy(ip->src.byte + 14, tail, sizeof(tail));
	uint32_t sum = tl_cksum_pseudo6(&ip->src, &ip->dst, TL_IPPROTO_TCP, l4_len);
#else
	struct tl_ipv4_hdr *ip = (struct tl_ipv4_hdr *)(frame + TL_ETHER_LEN);
	memcpy((uint8_t *)&ip->src_be + 2, tail, sizeof(tail));
	tl_wire_ipv4_finish(ip);
	uint32_t sum = tl_cksum_pseudo(ip->src_be, ip->dst_be, TL_IPPROTO_TCP, l4_len);
#endif
	struct tl_tcp_hdr *tcp = (struct tl_tcp_hdr *)(ip + 1);
	tcp->cksum_be = 0;
	tcp->cksum_be = tl_cksum_finish(tl_cksum_add(sum, tcp, l4_len));
}

// SYNs from nonexistent hosts of our prefix, each of which needs an ARP request.
static void flood(struct host *h, uint16_t first, unsigned n)
{
	h->net->cfg.mask_be = IP(255, 255, 0, 0);
	for (unsigned i = 0; i < n; i++) {
		struct rte_mbuf *m = segment(h, S, PEERS, 0, NULL, 0, "", 0);
		write_source(rte_pktmbuf_mtod(m, uint8_t *), (uint16_t)(first + i));
		give_frame(h->net, m, h->now_ns);
		rte_pktmbuf_free(m);
		tl_txq_flush(&h->tx);
	}
}

// Receive ARP requests from as many hosts as the table holds.
static void crowd(struct host *h)
{
	h->net->cfg.mask_be = IP(255, 255, 0, 0);
	for (unsigned i = 0; i < TL_NET_NEIGHBOURS; i++)
		introduce(h, (uint8_t)(0x40 + i / 256), (uint8_t)i);
}

static const struct tl_arp_entry *entry_of(const struct host *h, uint32_t ip_be)
{
	return tl_arp_find(h->net->arp, ip_be);
}

// Send by the ready header, as an echo does.
static void send_at_once(struct host *h, struct app *app)
{
	uint8_t data[16];

	for (uint32_t i = 0; i < sizeof(data); i++)
		data[i] = byte_at(app->c->snd_end + i);
	CU_ASSERT_EQUAL(tl_tcp_send_held(app->c, data, sizeof(data)), TL_TCP_SENT);
	tl_txq_flush(&h->tx);
	tl_net_sent(h->net);
}

TL_TEST("a flood of spoofed hosts evicts no neighbour of a live connection")
{
	struct app app = {0};
	struct host *h = start();

	accept_peer(h, &app);
	crowd(h);
	h->introduced = false; // no host replies
	for (unsigned i = 0; i < 50; i++) {
		flood(h, (uint16_t)(0x1000 + i * FLOOD / 50), FLOOD / 50);
		send_at_once(h, &app);
		SENDS(h, P | A, OURS + 1 + 16 * i, PEERS + 1, 16);
		give(h, A, PEERS + 1, OURS + 1 + 16 * (i + 1), 0);
		pass(h, MS);
	}
	CU_ASSERT_EQUAL(entry_of(h, PEER)->state, TL_ARP_RESOLVED);
	stop(h);
	app_free(&app);
}

TL_TEST("a flood of spoofed hosts evicts no neighbour of an active open")
{
	struct app app = {0};
	struct host *h = start_with(8, 65536, 1500, false);

	crowd(h);
	call(h, &app, NULL);
	flood(h, 0x1000, FLOOD);
	introduce_peer(h);
	SENDS(h, S, OURS, 0, 0); // it was waiting for ARP
	stop(h);
	app_free(&app);
}

TL_TEST("a flood of spoofed hosts evicts no resolved and recently used neighbour")
{
	struct host *h = start();

	flood(h, 0x1000, FLOOD);
	CU_ASSERT_EQUAL(tl_net_resolve(h->net, PEER), 0);
	stop(h);
}

TL_TEST("a host that requests our MAC during a flood is stored")
{
	struct app app = {0};
	struct host *h = start_with(8, 65536, 1500, false);

	flood(h, 0x1000, FLOOD);
	introduce_peer(h);
	CU_ASSERT_EQUAL(tl_net_resolve(h->net, PEER), 0);
	stop(h);
	app_free(&app);
}

TL_TEST("an ended connection releases its neighbour")
{
	struct app app = {0};
	struct host *h = start();

	accept_peer(h, &app);
	CU_ASSERT_EQUAL(entry_of(h, PEER)->users, 1);
	CU_ASSERT_PTR_EQUAL(entry_of(h, PEER)->queue, &h->net->arp->kept);
	give(h, R, PEERS + 1, 0, 0);
	CU_ASSERT_EQUAL(app.closed, 1);
	CU_ASSERT_EQUAL(entry_of(h, PEER)->users, 0);
	CU_ASSERT_PTR_EQUAL(entry_of(h, PEER)->queue, &h->net->arp->resolved);
	stop(h);
	app_free(&app);
}

TL_TEST("a connection in TIME-WAIT holds no neighbour")
{
	struct app app = {0};
	struct host *h = start();

	accept_peer(h, &app);
	hang_up(h, &app);
	for (unsigned i = 0; i < 2; i++) { // the second FIN is answered by a new header
		h->net->arp_generation++;
		forget(h);
		give(h, F | A, PEERS + 1, OURS + 2, 0);
		SENDS(h, A, OURS + 2, PEERS + 2, 0);
		CU_ASSERT_EQUAL(app.closed, 1);
		CU_ASSERT_EQUAL(entry_of(h, PEER)->users, 0);
	}
	stop(h);
	app_free(&app);
}

TL_TEST("a half-open connection holds no neighbour")
{
	struct app app = {0};
	struct host *h = start();

	(void)hear(h, &app, NULL);
	give_syn(h, 0, PEERS, 0);
	CU_ASSERT_EQUAL(entry_of(h, PEER)->users, 0);
	give(h, A, PEERS + 1, OURS + 1, 0);
	CU_ASSERT_EQUAL(entry_of(h, PEER)->users, 1);
	stop(h);
	app_free(&app);
}

// Fill the table with neighbours of other connections: the first is in the place of the peer.
static uint32_t keep_all_but_peer(struct host *h)
{
	uint32_t first_be = host_be(h->net, 77);

	crowd(h);
	for (unsigned i = 0; i < TL_NET_NEIGHBOURS; i++) {
		uint32_t ip_be = h->net->arp->entry[i].ip_be;
		if (ip_be != PEER)
			CU_ASSERT_EQUAL(tl_arp_use(h->net, ip_be), ip_be);
	}
	CU_ASSERT_EQUAL(tl_arp_use(h->net, first_be), first_be);
	CU_ASSERT_PTR_NULL(entry_of(h, PEER));
	return first_be;
}

TL_TEST("a connection that finds the table full keeps its neighbour when there is room")
{
	struct app app = {0};
	struct host *h = start();

	(void)hear(h, &app, NULL);
	give_syn(h, 0, PEERS, 0);
	uint32_t first_be = keep_all_but_peer(h);
	h->introduced = false;
	give(h, A, PEERS + 1, OURS + 1, 0);
	CU_ASSERT_EQUAL_FATAL(app.opened, 1);
	CU_ASSERT_PTR_NULL(entry_of(h, PEER));
	tl_arp_unuse(h->net, first_be);
	forget(h);
	say(&app, 100);
	introduce_peer(h);
	SENDS(h, P | A, OURS + 1, PEERS + 1, 100);
	CU_ASSERT_PTR_NOT_NULL_FATAL(entry_of(h, PEER));
	CU_ASSERT_EQUAL(entry_of(h, PEER)->users, 1);
	CU_ASSERT_PTR_EQUAL(entry_of(h, PEER)->queue, &h->net->arp->kept);
	give(h, R, PEERS + 1, 0, 0);
	CU_ASSERT_EQUAL(entry_of(h, PEER)->users, 0);
	stop(h);
	app_free(&app);
}

TL_TEST("an unreachable neighbour of a connection is requested again with the next segment")
{
	struct app app = {0};
	struct host *h = start();

	accept_peer(h, &app);
	h->introduced = false;
	pass(h, 70 * SECOND);
	CU_ASSERT_EQUAL(entry_of(h, PEER)->state, TL_ARP_PENDING);
	CU_ASSERT_EQUAL(entry_of(h, PEER)->deadline_ns, TL_ARP_NO_DEADLINE);
	unsigned asked = h->n_arp;
	forget(h);
	say(&app, 100);
	CU_ASSERT_EQUAL(h->n_arp, asked + 1);
	SILENT(h);
	introduce_peer(h);
	SENDS(h, P | A, OURS + 1, PEERS + 1, 100);
	CU_ASSERT_EQUAL(entry_of(h, PEER)->users, 1);
	stop(h);
	app_free(&app);
}

TL_TEST("a handshake with an unresponsive host ends, and leaves no entry")
{
	struct app app = {0};
	struct host *h = start_with(8, 65536, 1500, false);

	call(h, &app, NULL);
	pass(h, 3 * SECOND);
	CU_ASSERT_EQUAL(app.closed, 1);
	CU_ASSERT_EQUAL(app.reason, TL_TCP_UNREACHABLE);
	CU_ASSERT_PTR_NULL(entry_of(h, PEER));
	stop(h);
	app_free(&app);
}

int main(void)
{
	tl_test_eal_start();
	return tl_test_run("neighbours");
}
