// SPDX-License-Identifier: BSD-3-Clause
// A host in a VLAN (IEEE 802.1Q): it tags its frames, and ignores other VLANs.

#include <tl_test_nic.h>

#include "net_priv.h"
#include "tl_test_host.h"

#define VID 5

static struct host *begin(void)
{
	struct host *h = calloc(1, sizeof(*h));
	struct tl_net_cfg cfg = usual_cfg(h);

	cfg.vlan = VID;
	cfg.reassemble = true;
	return start_cfg(h, &cfg);
}

static struct frame tag(struct frame f, unsigned tpid, unsigned tci)
{
	f = tagged(f);
	put16(f.bytes + 12, tpid);
	put16(f.bytes + 14, tci);
	return f;
}

static struct frame in_vlan(struct frame f)
{
	return tag(f, 0x8100, VID);
}

// Return true if the frame has exactly our tag; out is the frame without it.
static bool untag(const struct frame *f, struct frame *out)
{
	*out = *f;
	out->len = f->len - 4;
	memmove(out->bytes + 12, f->bytes + 16, f->len - 16u);
	return f->len >= 64 && get16(f->bytes + 12) == 0x8100 && get16(f->bytes + 14) == VID &&
	       get16(f->bytes + 16) != 0x8100;
}

static void meet(struct host *h)
{
	struct frame request = in_vlan(arp_frame(BROADCAST, 1, PEER_MAC, PEER, NO_MAC, US));

	give(h, &request);
	clear(h);
}

TL_TEST("ARP is tagged in both directions")
{
	struct host *h = begin();
	struct frame request = in_vlan(arp_frame(BROADCAST, 1, PEER_MAC, PEER, NO_MAC, US)), f;
	struct frame reply = arp_frame(PEER_MAC, 2, OUR_MAC, US, PEER_MAC, PEER);

	tl_net_announce(h->net, h->now_ns);
	tl_txq_flush(&h->tx);
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 1);
	CU_ASSERT(untag(&h->sent[0], &f));
	CU_ASSERT(is_request(&f, BROADCAST, US));
	clear(h);
	CU_ASSERT(counts_as(h, "rx_arp_pkts", &request));
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 1);
	CU_ASSERT(untag(&h->sent[0], &f));
	CU_ASSERT(is_arp(&f, &reply));
	stop(h);
}

TL_TEST("datagrams and echo replies are tagged at unchanged length")
{
	struct host *h = begin();
	struct heard heard = {0};
	struct tl_udp *udp = open_udp(h, 0, 0, 5000, &heard);
	struct frame request = in_vlan(ping(US, 1472)), datagram = in_vlan(udp_frame(PEER, US, 5000, "hello")), f;

	meet(h);
	CU_ASSERT(counts_as(h, "rx_icmp_pkts", &request));
	CU_ASSERT(counts_as(h, "rx_udp_pkts", &datagram));
	CU_ASSERT_EQUAL(memcmp(heard.payload, "hello", 5), 0);
	CU_ASSERT_EQUAL(say(udp, PEER, "world"), 0);
	tl_txq_flush(&h->tx);
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 2);
	CU_ASSERT_EQUAL(h->sent[0].len, 18 + 1500); // the tag does not count towards the MTU
	CU_ASSERT(untag(&h->sent[0], &f) && is_ip(&f, PEER_MAC, PEER, 1));
	CU_ASSERT(untag(&h->sent[1], &f) && is_udp(&f, PEER_MAC, PEER, "world"));
	stop(h);
}

// A frame held for ARP is tagged once, when it is sent.
TL_TEST("a frame queued for ARP is tagged once")
{
	struct host *h = begin();
	struct heard heard = {0};
	struct tl_udp *udp = open_udp(h, 0, 0, 5000, &heard);
	struct frame reply = in_vlan(arp_reply(PEER_MAC, PEER)), f;

	CU_ASSERT_EQUAL(say(udp, PEER, "patience"), 0);
	clear(h);
	give(h, &reply);
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 1);
	CU_ASSERT(untag(&h->sent[0], &f) && is_udp(&f, PEER_MAC, PEER, "patience"));
	stop(h);
}

TL_TEST("membership reports are tagged")
{
	static const uint8_t all_v3_routers[] = {0x01, 0x00, 0x5e, 0x00, 0x00, 0x16};
	struct host *h = begin();
	struct heard heard = {0};
	struct frame to_group = in_vlan(udp_frame(PEER, GROUP, 5000, "to all")), f;

	(void)open_udp(h, GROUP, 0, 5000, &heard);
	for (unsigned ms = 0; ms < 3000; ms++)
		pass(h, TL_NS_PER_MS);
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 2);
	CU_ASSERT(untag(&h->sent[0], &f) && is_ip(&f, all_v3_routers, IP(224, 0, 0, 22), 2));
	CU_ASSERT(counts_as(h, "rx_udp_pkts", &to_group));
	stop(h);
}

#define LONG_TEXT "the sum of a payload of more than sixty-four bytes is noted by the fast paths, and by nothing else"

// A datagram to a group with the port's tag takes the fast path, at any priority; with any other tag it does not.
TL_TEST("a datagram with the port's tag, and no other, takes the fast path")
{
	struct host *h = begin();
	struct heard heard = {0};
	struct frame plain = udp_frame(PEER, GROUP, 5000, LONG_TEXT);
	const struct frame wrong[] = {tag(plain, 0x8100, VID + 1), tag(plain, 0x8100, 0), tag(plain, 0x88a8, VID),
		tag(plain, 0x8100, 0x100 | VID), tag(tag(plain, 0x8100, VID), 0x8100, VID)};
	struct frame good = tag(plain, 0x8100, 0xf000 | VID);

	(void)open_udp(h, GROUP, 0, 5000, &heard);
	CU_ASSERT(counts_as(h, "rx_udp_pkts", &good));
	CU_ASSERT_EQUAL(h->net->summed.len, strlen(LONG_TEXT));
	for (size_t i = 0; i < TL_ARRAY_LEN(wrong); i++) {
		struct frame f = wrong[i];
		CU_ASSERT(counts_as(h, "drop_vlan_pkts", &f));
		CU_ASSERT(h->net->summed.data == NULL);
	}
	CU_ASSERT(counts_as(h, "drop_untagged_pkts", &plain));
	CU_ASSERT_EQUAL(heard.count, 1);
	stop(h);
	h = start();
	(void)open_udp(h, GROUP, 0, 5000, &heard);
	CU_ASSERT(counts_as(h, "drop_vlan_pkts", &good)); // on a port without a VLAN
	CU_ASSERT(counts_as(h, "rx_udp_pkts", &plain));
	stop(h);
}

// Return the segment that follows the four bytes of ack, a tagged frame.
static struct frame next_text(struct frame ack, unsigned vid)
{
	struct frame f;

	(void)untag(&ack, &f);
	memcpy(f.bytes + 54, LONG_TEXT, strlen(LONG_TEXT));
	f.len = (uint16_t)(54 + strlen(LONG_TEXT));
	put16(f.bytes + 16, 40 + (unsigned)strlen(LONG_TEXT));
	put16(f.bytes + 40, get16(f.bytes + 40) + 4u);
	fix_cksums(&f);
	return tag(f, 0x8100, vid);
}

// The handshake with and without the ready header, with the MSS of the untagged MTU.
TL_TEST("TCP is tagged, its MSS follows the MTU, and data takes the fast path")
{
	struct host *h = begin();
	struct tl_tcp_listener *listener;
	int reason = -1;
	struct frame syn = in_vlan(tcp_frame(80, 2, "")), ack, f;

	CU_ASSERT_EQUAL(tl_tcp_listen(h->net, PORT(80), 8, &NOTE_CLOSED, &reason, NULL, &listener), 0);
	meet(h);
	CU_ASSERT(counts_as(h, "rx_tcp_pkts", &syn));
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 1);
	CU_ASSERT(untag(&h->sent[0], &f) && is_ip(&f, PEER_MAC, PEER, 6));
	CU_ASSERT_EQUAL(f.bytes[47], 0x12);
	CU_ASSERT_EQUAL(memcmp(f.bytes + 54, "\x02\x04\x05\xb4", 4), 0); // 1460
	ack = tcp_frame(80, 0x10, "");
	put16(ack.bytes + 40, 0x1001);
	uint32_t acked = ((uint32_t)get16(f.bytes + 38) << 16 | get16(f.bytes + 40)) + 1;
	put16(ack.bytes + 42, acked >> 16);
	put16(ack.bytes + 44, acked & 0xffff);
	ack.bytes[47] = 0x18;
	memcpy(ack.bytes + 54, "data", 4);
	put16(ack.bytes + 16, 44);
	fix_cksums(&ack);
	ack = in_vlan(ack);
	clear(h);
	CU_ASSERT(counts_as(h, "rx_tcp_pkts", &ack));
	CU_ASSERT_EQUAL(counter(h, "tcp_established"), 1);
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 1);
	CU_ASSERT(untag(&h->sent[0], &f) && is_ip(&f, PEER_MAC, PEER, 6));
	struct frame other = next_text(ack, VID + 1), next = next_text(ack, VID);
	CU_ASSERT(counts_as(h, "drop_vlan_pkts", &other));
	CU_ASSERT(counts_as(h, "rx_tcp_pkts", &next));
	CU_ASSERT_EQUAL(h->net->summed.len, strlen(LONG_TEXT)); // on the fast path
	CU_ASSERT_EQUAL(counter(h, "tcp_out_of_order_pkts"), 0);
	stop(h);
}

TL_TEST("tagged fragments are reassembled")
{
	struct host *h = begin();
	struct frame whole = udp_frame(PEER, US, 9, "one two three");
	struct frame f = whole;

	put16(f.bytes + 20, 0x2000);
	put16(f.bytes + 16, 20 + 16);
	put16(f.bytes + 24, 0);
	put16(f.bytes + 24, ref_cksum(0, f.bytes + 14, 20));
	struct frame first = in_vlan(f);
	memcpy(f.bytes + 34, whole.bytes + 34 + 16, 5);
	put16(f.bytes + 20, 2);
	put16(f.bytes + 16, 20 + 5);
	put16(f.bytes + 24, 0);
	put16(f.bytes + 24, ref_cksum(0, f.bytes + 14, 20));
	struct frame last = in_vlan(f);
	CU_ASSERT(counts_as(h, "rx_frag_pkts", &first));
	CU_ASSERT(counts_as(h, "rx_frag_pkts", &last));
	CU_ASSERT_EQUAL(counter(h, "frag_no_port"), 1); // the checksum was valid
	stop(h);
}

TL_TEST("untagged frames, other VLANs and second tags are not answered")
{
	const struct frame good = ping(US, 8);
	const struct {
		const char *counter;
		struct frame f;
	} cases[] = {
		{"rx_icmp_pkts", tag(good, 0x8100, VID)},
		{"rx_icmp_pkts", tag(good, 0x8100, 0xe000 | VID)}, // priority
		{"rx_icmp_pkts", tag(good, 0x8100, 0x1000 | VID)}, // drop eligible
		{"drop_untagged_pkts", good},
		{"drop_untagged_pkts", arp_frame(BROADCAST, 1, PEER_MAC, PEER, NO_MAC, US)},
		{"drop_vlan_pkts", tag(good, 0x8100, VID + 1)},
		{"drop_vlan_pkts", tag(good, 0x8100, 0)},
		{"drop_vlan_pkts", tag(good, 0x8100, 0x100 | VID)},
		{"drop_vlan_pkts", tag(good, 0x88a8, VID)}, // a service VLAN
		{"drop_vlan_pkts", tag(tag(good, 0x8100, VID), 0x8100, VID)},
		{"drop_vlan_pkts", tag(tag(good, 0x8100, VID), 0x88a8, VID)},
	};
	struct host *h = begin();

	meet(h);
	for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
		clear(h);
		if (!counts_as(h, cases[i].counter, &cases[i].f)) {
			printf("# case %zu: not %s\n", i, cases[i].counter);
			CU_FAIL("wrong counter");
		}
		CU_ASSERT_EQUAL(h->n_sent, cases[i].counter[0] == 'r');
	}
	stop(h);
}

static const char *counter_of_stripped(struct host *h, struct frame f, uint16_t tci)
{
	static const char *const names[] = {"rx_icmp_pkts", "drop_vlan_pkts", "drop_untagged_pkts"};
	uint64_t before[TL_ARRAY_LEN(names)];
	struct rte_mbuf *m = wrap(&f);

	for (size_t i = 0; i < TL_ARRAY_LEN(names); i++)
		before[i] = counter(h, names[i]);
	m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
	m->vlan_tci = tci;
	give_mbuf(h, m);
	for (size_t i = 0; i < TL_ARRAY_LEN(names); i++) {
		if (counter(h, names[i]) == before[i] + 1)
			return names[i];
	}
	return "none";
}

// A device may strip the tag and store it in the mbuf.
TL_TEST("a stripped tag is treated like one in the frame")
{
	struct host *h = begin(), *untagged = start();
	struct frame f;

	meet(h);
	CU_ASSERT_STRING_EQUAL(counter_of_stripped(h, ping(US, 8), 0xa000 | VID), "rx_icmp_pkts");
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 1);
	CU_ASSERT(untag(&h->sent[0], &f) && is_ip(&f, PEER_MAC, PEER, 1));
	CU_ASSERT_STRING_EQUAL(counter_of_stripped(h, ping(US, 8), VID + 1), "drop_vlan_pkts");
	CU_ASSERT_STRING_EQUAL(counter_of_stripped(h, in_vlan(ping(US, 8)), VID), "drop_vlan_pkts"); // double-tagged
	CU_ASSERT_STRING_EQUAL(counter_of_stripped(untagged, ping(US, 8), VID), "drop_vlan_pkts");
	stop(h);
	stop(untagged);
}

static unsigned nic_sums;

static void collect_from_nic(struct tl_txq *q)
{
	nic_sums += nic_sum_all(q);
	collect(q);
}

TL_TEST("checksum offload includes the tag, for either family")
{
	static const uint16_t lens[] = {200, 201, 1400, 120};
	const struct tl_ip6 group = {{0xff, 5, [15] = 9}};
	uint8_t payload[1400];
	struct host *h = calloc(1, sizeof(*h));
	struct tl_net_cfg cfg = usual_cfg(h);
	struct heard heard = {0};

	cfg.vlan = VID;
	cfg.ip6 = (struct tl_ip6){{0x20, 0x01, 0x0d, 0xb8, [15] = 1}};
	cfg.ip6_bits = 64;
	start_cfg(h, &cfg);
	meet(h);
	struct tl_udp *udp = open_udp(h, 0, 0, 5000, &heard);
	h->tx.flush_fn = collect_from_nic;
	h->tx.checksums = true;
	memset(payload, 0xa5, sizeof(payload));
	nic_sums = 0;
	for (unsigned i = 0; i < TL_ARRAY_LEN(lens); i++) {
		CU_ASSERT_EQUAL(tl_udp_send(udp, PEER, PORT(5001), payload, lens[i]), 0);
		CU_ASSERT_EQUAL(tl_udp_send(udp, tl_net_ip6(h->net, &group), PORT(5001), payload, lens[i]), 0);
	}
	tl_txq_flush(&h->tx);
	CU_ASSERT_EQUAL(nic_sums, 6); // the last two are short
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 8);
	for (unsigned i = 0; i < h->n_sent; i++) {
		struct tl_pkt pkt;
		tl_wire_parse(h->sent[i].bytes, h->sent[i].len, &pkt);
		CU_ASSERT_EQUAL(pkt.kind, i % 2 == 0 ? TL_PKT_UDP : TL_PKT_IP6);
		CU_ASSERT_EQUAL(pkt.payload_len, lens[i / 2]);
		CU_ASSERT(tl_wire_l4_cksum_ok(h->sent[i].bytes, &pkt));
	}
	stop(h);
}

int main(void)
{
	return test_host_run("net_vlan");
}
