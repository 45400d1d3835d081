// SPDX-License-Identifier: BSD-3-Clause
// A host on the wire: ICMP, UDP, and an account of every frame.

#include "net_priv.h"
#include "tl_test_host.h"

#include <tl_random.h>

// ---- ICMP

static bool is_echo_of(const struct frame *reply, const struct frame *request)
{
	uint16_t total = get16(request->bytes + 16);
	struct frame want = *request;

	memcpy(want.bytes, PEER_MAC, 6);
	memcpy(want.bytes + 6, OUR_MAC, 6);
	memcpy(want.bytes + 18, reply->bytes + 18, 2); // the IP ID is arbitrary
	put16(want.bytes + 20, 0x4000);
	memcpy(want.bytes + 26, request->bytes + 30, 4);
	memcpy(want.bytes + 30, request->bytes + 26, 4);
	want.bytes[34] = 0;
	fix_cksums(&want);
	return reply->len == want.len && 14 + total <= want.len && memcmp(reply->bytes, want.bytes, want.len) == 0;
}

TL_TEST("an echo request of any size is answered with identical bytes")
{
	static const uint16_t sizes[] = {0, 1, 2, 17, 18, 19, 56, 57, 1471, 1472};
	struct host *h = start();

	introduce(h, PEER_MAC, PEER);
	for (size_t i = 0; i < TL_ARRAY_LEN(sizes); i++) {
		struct frame request = ping(US, sizes[i]);
		clear(h);
		CU_ASSERT(counts_as(h, "rx_icmp_pkts", &request));
		CU_ASSERT_EQUAL_FATAL(h->n_sent, 1);
		CU_ASSERT(is_echo_of(&h->sent[0], &request));
	}
	CU_ASSERT_EQUAL(counter(h, "icmp_replies_tx"), TL_ARRAY_LEN(sizes));
	stop(h);
}

TL_TEST("an echo request to a broadcast or multicast address is not answered")
{
	struct host *h = start();
	struct heard heard = {0};
	struct frame to_broadcast = ping(IP(192, 0, 2, 255), 8);
	struct frame to_all = ping(UINT32_MAX, 8);
	struct frame to_group = ping(GROUP, 8);
	struct frame in_broadcast = ping(US, 8);

	introduce(h, PEER_MAC, PEER);
	(void)open_udp(h, GROUP, 0, 5000, &heard);
	memcpy(to_broadcast.bytes, BROADCAST, 6);
	memcpy(to_all.bytes, BROADCAST, 6);
	memcpy(in_broadcast.bytes, BROADCAST, 6);
	CU_ASSERT(counts_as(h, "drop_not_ours_pkts", &to_broadcast));
	CU_ASSERT(counts_as(h, "drop_not_ours_pkts", &to_all));
	CU_ASSERT(counts_as(h, "drop_not_ours_pkts", &in_broadcast));
	CU_ASSERT(counts_as(h, "rx_icmp_pkts", &to_group));
	CU_ASSERT_EQUAL(h->n_sent, 0);
	CU_ASSERT_EQUAL(counter(h, "icmp_replies_tx"), 0);
	stop(h);
}

TL_TEST("an echo request larger than the MTU is not answered")
{
	struct host *h = start_with(576, 0);
	struct frame fits = ping(US, 548);
	struct frame over = ping(US, 549);

	introduce(h, PEER_MAC, PEER);
	give(h, &fits);
	CU_ASSERT_EQUAL(h->n_sent, 1);
	CU_ASSERT(counts_as(h, "rx_icmp_pkts", &over));
	CU_ASSERT_EQUAL(h->n_sent, 1);
	stop(h);
}

TL_TEST("an echo request from an invalid source is not answered")
{
	struct host *h = start();
	struct frame request = ping(US, 8);

	memcpy(request.bytes + 26, &(uint32_t){FAR_AWAY}, 4);
	fix_cksums(&request);
	CU_ASSERT(counts_as(h, "rx_icmp_pkts", &request));
	CU_ASSERT_EQUAL(h->n_sent, 0);
	CU_ASSERT_EQUAL(counter(h, "icmp_replies_tx"), 0);
	stop(h);
}

TL_TEST("echo replies and source quench are ignored")
{
	struct host *h = start();
	struct frame reply = ping(US, 8);
	struct frame quench = ping(US, 40);

	introduce(h, PEER_MAC, PEER);
	reply.bytes[34] = 0;
	fix_cksums(&reply);
	quench.bytes[34] = 4;
	fix_cksums(&quench);
	CU_ASSERT(counts_as(h, "rx_icmp_pkts", &reply));
	CU_ASSERT(counts_as(h, "rx_icmp_pkts", &quench));
	CU_ASSERT_EQUAL(h->n_sent, 0);
	stop(h);
}

// An ICMP destination unreachable from the peer that quotes len bytes of the IP packet in f.
static struct frame icmp_unreachable(uint8_t code, const struct frame *f, uint16_t len)
{
	uint8_t l4[FRAME_MAX] = {3, code};

	memcpy(l4 + 8, f->bytes + 14, len);
	return ip_frame(1, PEER, US, l4, 8 + len);
}

TL_TEST("an unreachable with an intact quote ends a handshake, a damaged quote is ignored")
{
	struct host *h = start();
	struct tl_tcp *c = NULL;
	int reason = -1;

	introduce(h, PEER_MAC, PEER);
	CU_ASSERT_EQUAL_FATAL(tl_tcp_connect(h->net, PEER, PORT(80), &NOTE_CLOSED, &reason, NULL, &c), 0);
	tl_txq_flush(&h->tx);
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 1);
	struct frame syn = h->sent[0];
	struct frame wrong[6] = {syn, syn, syn, syn, syn, syn};
	wrong[0].bytes[14] = 0x65;  // not IPv4
	wrong[1].bytes[14] = 0x44;  // header too short
	wrong[2].bytes[14] = 0x4f;  // header longer than the quote
	wrong[3].bytes[23] = 17;    // not TCP
	wrong[4].bytes[29] ^= 0x80; // not from us
	wrong[5].bytes[21] |= 0x01; // not a first fragment
	for (unsigned i = 0; i < TL_ARRAY_LEN(wrong); i++) {
		struct frame f = icmp_unreachable(3, &wrong[i], 28);
		CU_ASSERT(counts_as(h, "rx_icmp_pkts", &f));
		CU_ASSERT_EQUAL(reason, -1);
	}
	for (uint16_t len = 0; len < 28; len++) {
		struct frame f = icmp_unreachable(3, &syn, len);
		CU_ASSERT(counts_as(h, "rx_icmp_pkts", &f));
		CU_ASSERT_EQUAL(reason, -1);
	}
	struct frame quench = icmp_unreachable(3, &syn, 28);
	quench.bytes[34] = 4;
	fix_cksums(&quench);
	CU_ASSERT(counts_as(h, "rx_icmp_pkts", &quench));
	CU_ASSERT_EQUAL(reason, -1);
	struct frame whole = icmp_unreachable(3, &syn, 28);
	CU_ASSERT(counts_as(h, "rx_icmp_pkts", &whole));
	CU_ASSERT_EQUAL(reason, TL_TCP_UNREACHABLE);
	stop(h);
}

// ---- UDP

TL_TEST("a unicast datagram is delivered to its port")
{
	struct host *h = start();
	struct heard heard = {0};
	struct frame f = udp_frame(PEER, US, 5000, "to you");

	(void)open_udp(h, 0, 0, 5000, &heard);
	CU_ASSERT(counts_as(h, "rx_udp_pkts", &f));
	CU_ASSERT_EQUAL(heard.count, 1);
	CU_ASSERT_EQUAL(heard.last.len, 6);
	CU_ASSERT_EQUAL(memcmp(heard.payload, "to you", 6), 0);
	CU_ASSERT_EQUAL(heard.last.src_port_be, PORT(0x1388));
	CU_ASSERT_EQUAL(heard.last.src_ip_be, PEER);
	CU_ASSERT_EQUAL(heard.last.dst_ip_be, US);
	stop(h);
}

TL_TEST("a multicast datagram is delivered only from its configured source")
{
	struct host *h = start();
	struct heard heard = {0};
	struct frame wanted = udp_frame(PEER, GROUP, 5000, "feed");
	struct frame other_source = udp_frame(IP(192, 0, 2, 3), GROUP, 5000, "feed");
	struct frame same_mac = udp_frame(PEER, IP(239, 129, 2, 3), 5000, "feed");
	struct frame other_port = udp_frame(PEER, GROUP, 5002, "feed");
	struct frame unicast = udp_frame(PEER, US, 5000, "feed");

	(void)open_udp(h, GROUP, PEER, 5000, &heard);
	CU_ASSERT(counts_as(h, "rx_udp_pkts", &wanted));
	CU_ASSERT_EQUAL(heard.count, 1);
	CU_ASSERT_EQUAL(heard.last.dst_ip_be, GROUP);
	CU_ASSERT(counts_as(h, "drop_not_ours_pkts", &other_source));
	CU_ASSERT_EQUAL(memcmp(same_mac.bytes, wanted.bytes, 6), 0);
	CU_ASSERT(counts_as(h, "drop_not_ours_pkts", &same_mac));
	CU_ASSERT(counts_as(h, "drop_udp_no_port_pkts", &other_port));
	CU_ASSERT(counts_as(h, "drop_udp_no_port_pkts", &unicast));
	CU_ASSERT_EQUAL(heard.count, 1);
	stop(h);
}

TL_TEST("only unicast sources may send to a group, regardless of earlier senders")
{
	static const uint32_t others[] = {0, US, IP(127, 0, 0, 1), GROUP, IP(192, 0, 2, 255), UINT32_MAX};
	struct host *h = start();
	struct heard heard = {0};
	struct frame wanted = udp_frame(PEER, GROUP, 5000, "feed");

	(void)open_udp(h, GROUP, 0, 5000, &heard);
	for (unsigned round = 1; round < 3; round++) {
		for (unsigned i = 0; i < TL_ARRAY_LEN(others); i++) {
			struct frame other = udp_frame(others[i], GROUP, 5000, "feed");
			CU_ASSERT_FALSE(counts_as(h, "rx_udp_pkts", &other));
		}
		CU_ASSERT(counts_as(h, "rx_udp_pkts", &wanted));
		CU_ASSERT_EQUAL(heard.count, round);
	}
	stop(h);
}

TL_TEST("ports on one group keep their own sources")
{
	struct host *h = start();
	struct heard one = {0}, any = {0};
	struct frame from_peer = udp_frame(PEER, GROUP, 5000, "a");
	struct frame from_other = udp_frame(IP(192, 0, 2, 3), GROUP, 5000, "b");

	(void)open_udp(h, GROUP, PEER, 5000, &one);
	struct tl_udp *second = open_udp(h, GROUP, 0, 5000, &any);
	give(h, &from_peer);
	give(h, &from_other);
	CU_ASSERT_EQUAL(one.count, 1);
	CU_ASSERT_EQUAL(any.count, 2);
	tl_udp_close(second);
	CU_ASSERT(counts_as(h, "drop_not_ours_pkts", &from_other));
	CU_ASSERT(counts_as(h, "rx_udp_pkts", &from_peer));
	stop(h);
}

static void hear_group(void *ctx, const struct tl_udp_datagram *datagram)
{
	++*(unsigned *)ctx;
}

TL_TEST("ports share the groups in which their ranges overlap")
{
	struct host *h = start();
	unsigned wide = 0, narrow = 0;
	struct tl_udp *first, *second;
	struct frame below = udp_frame(PEER, IP(239, 1, 1, 255), 5000, "a"),
		     low = udp_frame(PEER, IP(239, 1, 2, 0), 5000, "b");
	struct frame both = udp_frame(PEER, IP(239, 1, 2, 9), 5000, "c"),
		     high = udp_frame(PEER, IP(239, 1, 2, 10), 5000, "d");
	struct frame other = udp_frame(IP(192, 0, 2, 3), IP(239, 1, 2, 9), 5000, "e");

	CU_ASSERT_EQUAL_FATAL(
		tl_udp_open_groups(h->net, IP(239, 1, 2, 0), 10, PEER, PORT(5000), hear_group, &wide, &first), 0);
	for (unsigned round = 1; round < 3; round++) { // the second one without the other port
		CU_ASSERT_EQUAL_FATAL(
			tl_udp_open_groups(h->net, IP(239, 1, 2, 9), 2, PEER, PORT(5000), hear_group, &narrow, &second),
			0);
		CU_ASSERT_FALSE(counts_as(h, "rx_udp_pkts", &below));
		CU_ASSERT(counts_as(h, "rx_udp_pkts", &low));
		CU_ASSERT(counts_as(h, "rx_udp_pkts", &both));
		CU_ASSERT(counts_as(h, "rx_udp_pkts", &high));
		CU_ASSERT_FALSE(counts_as(h, "rx_udp_pkts", &other));
		CU_ASSERT_EQUAL(wide, 3 * round - 1);
		CU_ASSERT_EQUAL(narrow, 2 * round);
		tl_udp_close(second);
		CU_ASSERT(counts_as(h, "rx_udp_pkts", &both));
		CU_ASSERT_FALSE(counts_as(h, "rx_udp_pkts", &high));
		CU_ASSERT_EQUAL(wide, 3 * round);
	}
	stop(h);
}

TL_TEST("a port may be closed from its own callback")
{
	struct host *h = start();
	struct heard heard = {0};
	struct frame unicast = udp_frame(PEER, US, 5000, "x");
	struct frame group = udp_frame(PEER, GROUP, 5000, "x");

	heard.close = open_udp(h, 0, 0, 5000, &heard); // closed by its own callback
	CU_ASSERT(counts_as(h, "rx_udp_pkts", &unicast));
	CU_ASSERT(counts_as(h, "drop_udp_no_port_pkts", &unicast));
	heard.close = open_udp(h, GROUP, 0, 5000, &heard);
	CU_ASSERT(counts_as(h, "rx_udp_pkts", &group));
	CU_ASSERT(counts_as(h, "drop_not_ours_pkts", &group));
	CU_ASSERT_EQUAL(heard.count, 2);
	stop(h);
}

TL_TEST("a sent datagram has the expected bytes")
{
	static const uint8_t want[] = {0x02, 0, 0, 0, 0, 2, 0x02, 0, 0, 0, 0, 1, 0x08, 0x00, // Ethernet
		0x45, 0, 0, 31, 0, 0, 0x40, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2,     // IPv4
		0x13, 0x88, 0x13, 0x89, 0, 11, 0, 0, 'a', 'b', 'c'};
	struct host *h = start();
	struct heard heard = {0};
	struct tl_udp *udp = open_udp(h, 0, 0, 5000, &heard);
	struct frame f = {.len = 60};

	introduce(h, PEER_MAC, PEER);
	CU_ASSERT_EQUAL(say(udp, PEER, "abc"), 0);
	tl_txq_flush(&h->tx);
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 1);
	memcpy(f.bytes, want, sizeof(want));
	fix_cksums(&f);
	CU_ASSERT_EQUAL(h->sent[0].len, f.len);
	CU_ASSERT_EQUAL(memcmp(h->sent[0].bytes, f.bytes, f.len), 0);
	stop(h);
}

TL_TEST("datagrams and segments have the TTL and DSCP of the port")
{
	struct host *h = calloc(1, sizeof(*h));
	struct tl_net_cfg cfg = usual_cfg(h);
	struct heard heard = {0};
	struct tl_tcp *c = NULL;
	int reason = 0;

	cfg.ttl = 7;
	cfg.dscp = 46;
	start_cfg(h, &cfg);
	introduce(h, PEER_MAC, PEER);
	struct tl_udp *udp = open_udp(h, 0, 0, 5000, &heard);
	CU_ASSERT_EQUAL(say(udp, PEER, "abc"), 0);
	CU_ASSERT_EQUAL(say(udp, GROUP, "abc"), 0);
	CU_ASSERT_EQUAL(tl_tcp_connect(h->net, PEER, PORT(80), &NOTE_CLOSED, &reason, NULL, &c), 0);
	tl_txq_flush(&h->tx);
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 3);
	for (unsigned i = 0; i < 3; i++) {
		struct frame f = h->sent[i];
		fix_cksums(&f);
		CU_ASSERT_EQUAL(f.bytes[15], 46 << 2);
		CU_ASSERT_EQUAL(f.bytes[22], i == 1 ? 1 : 7); // that of a group stays 1
		CU_ASSERT_EQUAL(memcmp(f.bytes, h->sent[i].bytes, f.len), 0);
	}
	stop(h);
}

// The ID of an unfragmented packet is unused (RFC 6864, section 4.1); a counter or a random sequence would leak
// information.
TL_TEST("the IP ID is constant")
{
	struct host *h = start();
	struct heard heard = {0};
	struct tl_tcp *c = NULL;
	int reason = 0;

	introduce(h, PEER_MAC, PEER);
	struct tl_udp *udp = open_udp(h, 0, 0, 5000, &heard);
	for (unsigned i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(say(udp, i == 2 ? GROUP : PEER, "abc"), 0);
	CU_ASSERT_EQUAL(tl_tcp_connect(h->net, PEER, PORT(80), &NOTE_CLOSED, &reason, NULL, &c), 0);
	tl_txq_flush(&h->tx);
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 4);
	for (unsigned i = 0; i < h->n_sent; i++) {
		CU_ASSERT_EQUAL(h->sent[i].bytes[18], 0);
		CU_ASSERT_EQUAL(h->sent[i].bytes[19], 0);
		CU_ASSERT_EQUAL(h->sent[i].bytes[20], 0x40); // DF
	}
	stop(h);
}

TL_TEST("a computed UDP checksum of 0 is sent as all ones")
{
	struct host *h = start();
	struct heard heard = {0};
	struct tl_udp *udp = open_udp(h, 0, 0, 5000, &heard);
	uint8_t payload[2] = {0, 0};

	introduce(h, PEER_MAC, PEER);
	CU_ASSERT_EQUAL(tl_udp_send(udp, PEER, PORT(5001), payload, 2), 0);
	tl_txq_flush(&h->tx);
	memcpy(payload, h->sent[0].bytes + 40, 2); // the checksum of zeros brings the sum to all ones
	CU_ASSERT_EQUAL(tl_udp_send(udp, PEER, PORT(5001), payload, 2), 0);
	tl_txq_flush(&h->tx);
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 2);
	CU_ASSERT_EQUAL(get16(h->sent[1].bytes + 40), 0xffff);
	stop(h);
}

TL_TEST("a datagram to a group has the group's MAC and TTL 1")
{
	struct host *h = start();
	struct heard heard = {0};
	struct tl_udp *udp = open_udp(h, 0, 0, 5000, &heard);

	CU_ASSERT_EQUAL(say(udp, GROUP, "feed"), 0);
	tl_txq_flush(&h->tx);
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 1);
	CU_ASSERT(is_udp(&h->sent[0], (uint8_t[]){1, 0, 0x5e, 1, 2, 3}, GROUP, "feed"));
	CU_ASSERT_EQUAL(h->sent[0].bytes[22], 1); // TTL
	stop(h);
}

TL_TEST("send refuses a datagram that is too long, unreachable or without an mbuf")
{
	static const uint32_t nobody[] = {FAR_AWAY, US, 0, UINT32_MAX, IP(192, 0, 2, 255)};
	static const uint8_t payload[2000];
	struct host *h = start();
	struct heard heard = {0};
	struct tl_udp *udp = open_udp(h, 0, 0, 5000, &heard);
	struct rte_mempool *pool = rte_mempool_lookup(POOL);
	struct rte_mbuf *all[POOL_SIZE + 1];
	unsigned n = 0;

	introduce(h, PEER_MAC, PEER);
	CU_ASSERT_EQUAL(tl_udp_send(udp, PEER, PORT(1), payload, MTU - 28), 0);
	CU_ASSERT_EQUAL(tl_udp_send(udp, PEER, PORT(1), payload, MTU - 27), -EMSGSIZE);
	for (size_t i = 0; i < TL_ARRAY_LEN(nobody); i++) {
		h->net->cfg.gateway_be = i == 0 ? 0 : GATEWAY;
		CU_ASSERT_EQUAL(tl_udp_send(udp, nobody[i], PORT(1), payload, 1), -EHOSTUNREACH);
	}
	tl_txq_flush(&h->tx);
	while (n < TL_ARRAY_LEN(all) && (all[n] = rte_pktmbuf_alloc(pool)) != NULL)
		n++;
	CU_ASSERT_EQUAL(tl_udp_send(udp, PEER, PORT(1), payload, 1), -ENOBUFS);
	CU_ASSERT_EQUAL(counter(h, "nombuf"), 1);
	while (n > 0)
		rte_pktmbuf_free(all[--n]);
	CU_ASSERT_EQUAL(h->n_sent, 1);
	stop(h);
}

TL_TEST("open refuses ports that are invalid, in use or too many")
{
	struct host *h = start();
	struct heard heard = {0};
	struct tl_udp *udp = NULL;

	CU_ASSERT_EQUAL(tl_udp_open(h->net, 0, 0, 0, hear, &heard, &udp), -EINVAL);
	CU_ASSERT_EQUAL(tl_udp_open(h->net, 0, 0, PORT(1), NULL, &heard, &udp), -EINVAL);
	CU_ASSERT_EQUAL(tl_udp_open(h->net, 0, PEER, PORT(1), hear, &heard, &udp), -EINVAL);
	CU_ASSERT_EQUAL(tl_udp_open(h->net, PEER, 0, PORT(1), hear, &heard, &udp), -EINVAL);
	for (unsigned i = 0; i < 16; i++)
		(void)open_udp(h, i % 2 == 0 ? GROUP : 0, 0, 6000 + i, &heard);
	CU_ASSERT_EQUAL(tl_udp_open(h->net, 0, 0, PORT(6001), hear, &heard, &udp), -EADDRINUSE);
	CU_ASSERT_EQUAL(tl_udp_open(h->net, GROUP, 0, PORT(6000), hear, &heard, &udp), -EADDRINUSE);
	CU_ASSERT_EQUAL(tl_udp_open(h->net, 0, 0, PORT(1), hear, &heard, &udp), -ENOSPC);
	stop(h);
}

// ---- rejected frames, and the account

static struct frame spoil(struct frame f, unsigned at, uint8_t with)
{
	f.bytes[at] ^= with;
	return f;
}

static struct frame from(struct frame f, uint32_t src)
{
	memcpy(f.bytes + 26, &src, 4);
	fix_cksums(&f);
	return f;
}

TL_TEST("every reason to drop has its counter")
{
	struct frame good = udp_frame(PEER, US, 5000, "x");
	struct frame fragment = good;
	struct frame runt = good;
	struct frame cut = good;
	struct frame ipv6 = good;
	struct frame ipv6_group = good;
	struct frame stub = good;
	struct frame gre = ip_frame(47, PEER, US, "12345678", 8);
	struct frame tcp_group = ip_frame(6, PEER, GROUP, tcp_frame(80, 2, "").bytes + 34, 20);
	fragment.bytes[20] = 0x20;
	fix_cksums(&fragment);
	runt.len = 13;
	cut.len = 30;
	stub.len = 3;
	struct frame stub_of_tag = tagged(good);
	stub_of_tag.len = 17;
	memcpy(ipv6.bytes + 12, "\x86\xdd", 2); // to a host without IPv6
	memcpy(ipv6_group.bytes, "\x33\x33", 2);
	memcpy(ipv6_group.bytes + 12, "\x86\xdd", 2);
	const struct {
		const char *counter;
		struct frame f;
	} cases[] = {
		{"rx_udp_pkts", good},
		{"drop_other_pkts", ipv6},
		{"drop_other_pkts", gre},
		{"drop_not_ours_pkts", spoil(good, 5, 0x40)},		     // MAC
		{"drop_not_ours_pkts", spoil(good, 0, 0x01)},		     // some multicast MAC
		{"drop_not_ours_pkts", udp_frame(PEER, GATEWAY, 5000, "x")}, // IP
		{"drop_not_ours_pkts", from(good, US)},
		{"drop_other_pkts", ipv6_group},
		{"drop_not_ours_pkts", tcp_group},
		{"drop_malformed_pkts", runt},
		{"drop_malformed_pkts", spoil(runt, 5, 0x40)},
		{"drop_malformed_pkts", stub},
		{"drop_malformed_pkts", cut},
		{"drop_malformed_pkts", from(good, 0)},
		{"drop_malformed_pkts", from(good, GROUP)},
		{"drop_malformed_pkts", from(good, IP(127, 0, 0, 1))},
		{"drop_malformed_pkts", from(good, IP(192, 0, 2, 255))},
		{"drop_malformed_pkts", from(good, UINT32_MAX)},
		{"drop_cksum_pkts", spoil(good, 22, 1)}, // IP
		{"drop_cksum_pkts", spoil(good, 42, 1)}, // UDP
		{"drop_cksum_pkts", spoil(ping(US, 8), 45, 1)},
		{"drop_cksum_pkts", spoil(tcp_frame(80, 2, "x"), 54, 1)},
		{"drop_cksum_pkts", spoil(igmp_query(PEER, IP(224, 0, 0, 1), 0), 40, 1)},
		{"drop_fragment_pkts", fragment},
		{"drop_vlan_pkts", tagged(good)},
		{"drop_malformed_pkts", stub_of_tag},
		{"drop_udp_no_port_pkts", udp_frame(PEER, US, 5001, "x")},
		{"drop_udp_no_port_pkts", udp_frame(PEER, US, 0, "x")},
		{"rx_tcp_pkts", tcp_frame(80, 2, "")},
	};
	struct host *h = start();
	struct heard heard = {0};

	(void)open_udp(h, 0, 0, 5000, &heard);
	(void)open_udp(h, GROUP, 0, 5000, &heard);
	for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
		if (!counts_as(h, cases[i].counter, &cases[i].f)) {
			printf("# case %zu: not %s\n", i, cases[i].counter);
			CU_FAIL("wrong counter");
		}
	}
	CU_ASSERT_EQUAL(heard.count, 1);
	stop(h);
}

TL_TEST("a chain of mbufs is refused")
{
	struct host *h = start();
	struct heard heard = {0};
	struct frame f = udp_frame(PEER, US, 5000, "x");
	struct rte_mbuf *m = wrap(&f);

	(void)open_udp(h, 0, 0, 5000, &heard);
	CU_ASSERT_EQUAL(rte_pktmbuf_chain(m, wrap(&f)), 0);
	give_mbuf(h, m);
	CU_ASSERT_EQUAL(counter(h, "drop_segmented_pkts"), 1);
	CU_ASSERT_EQUAL(heard.count, 0);
	CU_ASSERT(partition_holds(h));
	stop(h);
}

TL_TEST("the NIC's checksum flag is used for UDP and TCP only")
{
	struct host *h = start();
	struct heard heard = {0};
	struct frame bad_udp = spoil(udp_frame(PEER, US, 5000, "x"), 42, 1);
	struct frame bad_ping = spoil(ping(US, 8), 45, 1);
	struct frame no_cksum = udp_frame(PEER, US, 5000, "x");
	struct rte_mbuf *m = wrap(&bad_udp);

	(void)open_udp(h, 0, 0, 5000, &heard);
	m->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	give_mbuf(h, m);
	CU_ASSERT_EQUAL(heard.count, 1);
	m = wrap(&bad_udp);
	m->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_NONE;
	give_mbuf(h, m);
	m = wrap(&bad_ping);
	m->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	give_mbuf(h, m);
	CU_ASSERT_EQUAL(counter(h, "drop_cksum_pkts"), 2);
	put16(no_cksum.bytes + 40, 0);
	CU_ASSERT(counts_as(h, "rx_udp_pkts", &no_cksum));
	stop(h);
}

static void mutate(struct frame *f, uint64_t *rng)
{
	for (unsigned edits = tl_random_next(rng) % 4; edits > 0; edits--)
		f->bytes[tl_random_next(rng) % 64] = (uint8_t)tl_random_next(rng);
	if (tl_random_next(rng) % 8 == 0)
		f->len = (uint16_t)(tl_random_next(rng) % (f->len + 1));
	if (tl_random_next(rng) % 2 == 0)
		fix_cksums(f);
}

TL_TEST("each of 100 000 mutated frames ends in exactly one counter")
{
	struct host *h = start_with(MTU, GATEWAY);
	struct heard heard = {0};
	struct tl_tcp_listener *listener = NULL;
	int reason = -1;
	uint64_t rng = 20240229;
	struct frame syn = tcp_frame(80, 2, "");
	const struct frame seeds[] = {
		arp_frame(BROADCAST, 1, PEER_MAC, PEER, NO_MAC, US),
		arp_reply(PEER_MAC, PEER),
		ping(US, 33),
		icmp_unreachable(1, &syn, 28),
		udp_frame(PEER, US, 5000, "unicast"),
		udp_frame(FAR_AWAY, GROUP, 5000, "multicast"),
		igmp_query(PEER, IP(224, 0, 0, 1), 0),
		igmp_query(PEER, GROUP, GROUP),
		syn,
		tcp_frame(80, 0x18, "some data"),
		tagged(ping(US, 5)),
	};

	(void)open_udp(h, 0, 0, 5000, &heard);
	(void)open_udp(h, GROUP, 0, 5000, &heard);
	CU_ASSERT_EQUAL(tl_tcp_listen(h->net, PORT(80), 8, &NOTE_CLOSED, &reason, NULL, &listener), 0);
	for (unsigned i = 0; i < 100000; i++) {
		struct frame f = seeds[tl_random_next(&rng) % TL_ARRAY_LEN(seeds)];
		mutate(&f, &rng);
		give(h, &f);
		if (i % 16 == 0)
			pass(h, tl_random_next(&rng) % (50 * TL_NS_PER_MS));
		if (!partition_holds(h)) {
			CU_FAIL("a frame went astray");
			break;
		}
		h->n_sent = 0;
	}
	CU_ASSERT_EQUAL(counter(h, "in_pkts"), 100000);
	static const char *const reached[] = {"rx_arp_pkts", "rx_icmp_pkts", "rx_igmp_pkts", "rx_udp_pkts",
		"rx_tcp_pkts", "drop_other_pkts", "drop_not_ours_pkts", "drop_malformed_pkts", "drop_cksum_pkts",
		"drop_fragment_pkts", "drop_vlan_pkts", "drop_udp_no_port_pkts"};
	for (size_t i = 0; i < TL_ARRAY_LEN(reached); i++)
		CU_ASSERT(counter(h, reached[i]) > 0);
	stop(h);
}

// ---- the instance

TL_TEST("create names the invalid value")
{
	static struct host nobody;
	struct tl_net_cfg good = usual_cfg(&nobody);
	struct tl_net_cfg bad[14];
	struct tl_net *net = NULL;

	for (size_t i = 0; i < TL_ARRAY_LEN(bad); i++)
		bad[i] = good;
	bad[0].mac[0] = 1;
	memset(bad[1].mac, 0, 6);
	bad[2].mask_be = 0;
	bad[3].mask_be = IP(255, 0, 255, 0);
	bad[4].ip_be = 0;
	bad[5].ip_be = GROUP;
	bad[6].ip_be = IP(192, 0, 2, 255);
	bad[7].gateway_be = good.ip_be;
	bad[8].mtu = 575;
	bad[9].mtu = 9601;
	bad[10].mtu = 2048; // over the pool's room
	bad[11].max_conns = 0;
	bad[12].max_conns = TL_NET_CONNS_MAX + 1;
	bad[13].send_buffer_bytes = 5000;
	for (size_t i = 0; i < TL_ARRAY_LEN(bad); i++) {
		struct tl_err err = {0};
		CU_ASSERT_EQUAL(tl_net_create(&bad[i], &net, &err), -EINVAL);
		CU_ASSERT_PTR_NULL(net);
		CU_ASSERT_EQUAL(strncmp(err.text, "net t0: ", 8), 0);
	}
	tl_net_destroy(NULL);
}

TL_TEST("counters are written up to max")
{
	struct host *h = start();
	struct tl_counter some[3] = {{0}};

	CU_ASSERT_EQUAL(tl_net_counters(h->net, some, 2), 2);
	CU_ASSERT_STRING_EQUAL(some[0].name, "in_pkts");
	CU_ASSERT_PTR_NULL(some[2].name);
	CU_ASSERT_EQUAL(tl_net_counters(h->net, some, 0), 0);
	stop(h);
}

TL_TEST("a burst of 64 is processed completely")
{
	struct host *h = start();
	struct heard heard = {0};
	struct tl_burst burst = {.n = TL_BURST, .mono_ns = h->now_ns};

	(void)open_udp(h, 0, 0, 5000, &heard);
	introduce(h, PEER_MAC, PEER);
	for (unsigned i = 0; i < TL_BURST; i++) {
		struct frame f = i % 2 == 0 ? ping(US, (uint16_t)i) : udp_frame(PEER, US, 5000, "x");
		burst.pkts[i] = wrap(&f);
		tl_wire_parse(rte_pktmbuf_mtod(burst.pkts[i], uint8_t *), burst.pkts[i]->data_len, &burst.pkt[i]);
	}
	tl_net_input(h->net, &burst);
	CU_ASSERT_EQUAL(h->n_sent, 0); // the caller flushes
	tl_txq_flush(&h->tx);
	CU_ASSERT_EQUAL(h->n_sent, TL_BURST / 2);
	CU_ASSERT_EQUAL(heard.count, TL_BURST / 2);
	rte_pktmbuf_free_bulk(burst.pkts, burst.n);
	stop(h);
}

int main(void)
{
	return test_host_run("net");
}
