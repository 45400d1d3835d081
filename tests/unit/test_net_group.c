// SPDX-License-Identifier: BSD-3-Clause
// Datagrams to groups of both families, on the fast path: their outcome is that of the slow path, which a frame takes
// whose destination MAC is not the group's.

#include "net_priv.h"
#include "tl_test_host.h"

#define VID 5
#define UDP_PORT 5000
#define STRANGERS 5000 // more than the address book has entries
#define IP6(...)                                                                                                       \
	{                                                                                                              \
		{                                                                                                      \
			__VA_ARGS__                                                                                    \
		}                                                                                                      \
	}

static const struct tl_ip6 US6 = IP6(0x20, 1, 0xd, 0xb8, [15] = 1);
static const struct tl_ip6 SENDERS6[] = {
	IP6(0x20, 1, 0xd, 0xb8, [15] = 2), IP6(0x20, 1, 0xd, 0xb8, [15] = 3), IP6(0xfe, 0x80, [15] = 4), IP6([15] = 1)};
static const struct tl_ip6 GROUPS6[] = {IP6(0xff, 5, [15] = 1), IP6(0xff, 5, [15] = 2), IP6(0xff, 5, [15] = 3)};
static const uint32_t SENDERS[] = {IP(192, 0, 2, 2), IP(192, 0, 2, 3), IP(198, 51, 100, 4), IP(127, 0, 0, 1)};
static const uint32_t GROUPS[] = {IP(239, 1, 1, 1), IP(239, 1, 1, 2), IP(239, 1, 1, 3)};

static struct host *start6(uint16_t vlan)
{
	struct host *h = calloc(1, sizeof(*h));
	struct tl_net_cfg cfg = usual_cfg(h);

	cfg.vlan = vlan;
	cfg.ip6 = US6;
	cfg.ip6_bits = 64;
	return start_cfg(h, &cfg);
}

// Bind the first group from any source, the second from the first sender alone; the third is joined by nobody.
static void open_ports(struct host *h, struct heard *heard)
{
	(void)open_udp(h, GROUPS[0], 0, UDP_PORT, heard);
	(void)open_udp(h, GROUPS[1], SENDERS[0], UDP_PORT, heard);
	(void)open_udp(h, tl_net_ip6(h->net, &GROUPS6[0]), 0, UDP_PORT, heard);
	(void)open_udp(h, tl_net_ip6(h->net, &GROUPS6[1]), tl_net_ip6(h->net, &SENDERS6[0]), UDP_PORT, heard);
}

// ---- frames

static const uint32_t IP_LEN[] = {TL_IPV4_LEN, TL_IPV6_LEN};

// Set the checksums of an untagged frame.
static void fix(struct frame *f, bool is_ip6)
{
	uint8_t *l3 = f->bytes + TL_ETHER_LEN, *l4 = l3 + IP_LEN[is_ip6];
	struct tl_ipv4_hdr *ip = (struct tl_ipv4_hdr *)l3;
	const struct tl_ipv6_hdr *ip6 = (const struct tl_ipv6_hdr *)l3;
	uint16_t len = get16(l4 + 4);

	if (!is_ip6)
		tl_wire_ipv4_finish(ip);
	put16(l4 + 6, 0);
	if (l4 + len > f->bytes + f->len)
		return;
	uint32_t pseudo = is_ip6 ? tl_cksum_pseudo6(&ip6->src, &ip6->dst, TL_IPPROTO_UDP, len)
				 : tl_cksum_pseudo(ip->src_be, ip->dst_be, TL_IPPROTO_UDP, len);
	uint16_t cksum_be = tl_cksum_finish(tl_cksum_add(pseudo, l4, len));
	memcpy(l4 + 6, &cksum_be, sizeof(cksum_be));
}

static struct frame datagram(
	bool is_ip6, const struct tl_ip6 *src6, uint32_t src_be, unsigned group, uint16_t port, uint16_t len)
{
	struct frame f = {.len = (uint16_t)(TL_ETHER_LEN + IP_LEN[is_ip6] + TL_UDP_LEN + len)};
	uint8_t *l3 = f.bytes + TL_ETHER_LEN, *l4 = l3 + IP_LEN[is_ip6];
	const struct tl_ipv4_hdr ip = {.version_ihl = 0x45,
		.total_len_be = tl_be16(TL_IPV4_LEN + TL_UDP_LEN + len),
		.ttl = 1,
		.proto = TL_IPPROTO_UDP,
		.src_be = src_be,
		.dst_be = GROUPS[group]};
	const struct tl_ipv6_hdr ip6 = {.version_be = tl_be32(UINT32_C(6) << 28),
		.payload_len_be = tl_be16(TL_UDP_LEN + len),
		.next = TL_IPPROTO_UDP,
		.hop_limit = 1,
		.src = *src6,
		.dst = GROUPS6[group]};

	if (is_ip6) {
		tl_wire_mcast_mac6(&GROUPS6[group], f.bytes);
		memcpy(l3, &ip6, sizeof(ip6));
	} else {
		tl_wire_mcast_mac(GROUPS[group], f.bytes);
		memcpy(l3, &ip, sizeof(ip));
	}
	memcpy(f.bytes + TL_ETHER_ADDR_LEN, PEER_MAC, TL_ETHER_ADDR_LEN);
	put16(f.bytes + 12, is_ip6 ? TL_ETHERTYPE_IPV6 : TL_ETHERTYPE_IPV4);
	put16(l4, 4000);
	put16(l4 + 2, port);
	put16(l4 + 4, TL_UDP_LEN + len);
	for (unsigned i = 0; i < len; i++)
		l4[TL_UDP_LEN + i] = (uint8_t)rand();
	fix(&f, is_ip6);
	return f;
}

static struct frame in_vlan(struct frame f, unsigned tci)
{
	f = tagged(f);
	put16(f.bytes + 12, TL_ETHERTYPE_VLAN);
	put16(f.bytes + 14, tci);
	return f;
}

// A datagram, mostly good.
static struct frame any_datagram(uint16_t vlan)
{
	static const uint16_t lens[] = {16, 0, 1, 7, 8, 31, 64, 65, 300};
	bool is_ip6 = rand() % 2;
	unsigned sender = rand() % 8 < 6 ? (unsigned)rand() % 2 : (unsigned)rand() % TL_ARRAY_LEN(SENDERS);
	unsigned group = rand() % 8 < 6 ? (unsigned)rand() % 2 : 2;
	struct frame f = datagram(is_ip6, &SENDERS6[sender], SENDERS[sender], group,
		(uint16_t)(UDP_PORT + (rand() % 16 == 0)), lens[(unsigned)rand() % TL_ARRAY_LEN(lens)]);

	if (rand() % 4 == 0) {
		uint32_t most = f.len - 12 < 60 ? f.len - 12u : 60; // not the MAC addresses, and seldom the payload
		f.bytes[12 + (unsigned)rand() % most] ^= (uint8_t)(1u << rand() % 8);
		if (rand() % 2 == 0)
			fix(&f, is_ip6);
	}
	if (rand() % 16 == 0)
		put16(f.bytes + TL_ETHER_LEN + IP_LEN[is_ip6] + 6, 0); // no checksum
	if (rand() % 32 == 0)
		return vlan != 0 ? f : in_vlan(f, VID);
	return vlan != 0 ? in_vlan(f, vlan ^ (rand() % 16 == 0 ? 1u << rand() % 16 : 0)) : f;
}

// ---- one outcome

// Input some frames at once; return the number of those whose sum the fast path noted, at most one per call.
static bool give_some(struct host *h, const struct frame *frames, uint16_t n, bool is_slow)
{
	struct tl_burst burst = {.n = n, .mono_ns = h->now_ns};

	for (uint16_t i = 0; i < n; i++) {
		struct frame f = frames[i];
		if (is_slow)
			memcpy(f.bytes, OUR_MAC, sizeof(OUR_MAC));
		burst.pkts[i] = wrap(&f);
		tl_wire_parse(rte_pktmbuf_mtod(burst.pkts[i], uint8_t *), burst.pkts[i]->data_len, &burst.pkt[i]);
	}
	tl_net_input(h->net, &burst);
	rte_pktmbuf_free_bulk(burst.pkts, n);
	return h->net->summed.data != NULL;
}

// True if both ports heard the same last datagram, with the same addresses.
static bool heard_same(const struct host *a, const struct heard *at_a, const struct host *b, const struct heard *at_b)
{
	const struct tl_udp_datagram *x = &at_a->last, *y = &at_b->last;
	struct tl_ip6 src_x = {0}, src_y = {0}, dst_x = {0}, dst_y = {0};

	if (at_a->count != at_b->count || x->len != y->len || x->src_port_be != y->src_port_be)
		return false;
	if (!tl_net_ip6_of(a->net, x->src_ip_be, &src_x) && x->src_ip_be != y->src_ip_be)
		return false;
	(void)tl_net_ip6_of(b->net, y->src_ip_be, &src_y);
	(void)tl_net_ip6_of(a->net, x->dst_ip_be, &dst_x);
	(void)tl_net_ip6_of(b->net, y->dst_ip_be, &dst_y);
	return memcmp(at_a->payload, at_b->payload, x->len) == 0 && tl_ip6_equal(&src_x, &src_y) &&
	       tl_ip6_equal(&dst_x, &dst_y) && (tl_ip_is6(x->dst_ip_be) || x->dst_ip_be == y->dst_ip_be);
}

static void check_outcomes(uint16_t vlan)
{
	struct host *fast = start6(vlan), *slow = start6(vlan);
	struct heard at_fast = {0}, at_slow = {0};
	unsigned n_fast = 0, n_slow = 0;

	open_ports(fast, &at_fast);
	open_ports(slow, &at_slow);
	for (unsigned i = 0; i < 20000; i++) {
		struct frame f[4];
		uint16_t n = i % 4 == 0 ? (uint16_t)(1 + rand() % 4) : 1;
		for (uint16_t k = 0; k < n; k++)
			f[k] = any_datagram(vlan);
		n_fast += give_some(fast, f, n, false);
		n_slow += give_some(slow, f, n, true);
		if (memcmp(&fast->net->stats, &slow->net->stats, sizeof(fast->net->stats)) != 0 ||
			!heard_same(fast, &at_fast, slow, &at_slow)) {
			printf("# step %u\n", i);
			CU_FAIL("another outcome");
			break;
		}
	}
	CU_ASSERT(partition_holds(fast));
	CU_ASSERT(at_fast.count > 8000);
	CU_ASSERT(n_fast > 4000);
	CU_ASSERT(n_slow < n_fast / 4); // it notes the sums of long datagrams only
	clear(fast);
	clear(slow);
	stop(fast);
	stop(slow);
}

TL_TEST("the fast path processes a multicast datagram like the slow path")
{
	check_outcomes(0);
}

TL_TEST("the fast path processes a multicast datagram in a VLAN like the slow path")
{
	check_outcomes(VID);
}

// ---- IPv6

static struct frame from(const struct tl_ip6 *sender)
{
	return datagram(true, sender, 0, 0, UDP_PORT, 16);
}

// A sender is known from its second datagram on.
static bool is_fast(struct host *h, const struct frame *f)
{
	(void)give_some(h, f, 1, false);
	return give_some(h, f, 1, false);
}

TL_TEST("a UDP datagram over IPv6 without a checksum is dropped even if its sum is correct")
{
	struct host *h = start6(0);
	struct heard heard = {0};
	struct frame f = from(&SENDERS6[0]);
	uint8_t *l4 = f.bytes + TL_ETHER_LEN + TL_IPV6_LEN;

	open_ports(h, &heard);
	CU_ASSERT(is_fast(h, &f));
	memcpy(l4 + TL_UDP_LEN, l4 + 6, 2); // the payload makes the sum right without a checksum
	put16(l4 + 6, 0);
	put16(l4 + TL_UDP_LEN, 0);
	fix(&f, true);
	memcpy(l4 + TL_UDP_LEN, l4 + 6, 2);
	put16(l4 + 6, 0);
	CU_ASSERT(counts_as(h, "drop_cksum_pkts", &f));
	CU_ASSERT_EQUAL(heard.count, 2);
	stop(h);
}

static struct tl_ip6 stranger(unsigned i)
{
	return (struct tl_ip6)IP6(
		0x20, 1, 0xd, 0xb8, [12] = 1, [13] = (uint8_t)(i >> 16), [14] = (uint8_t)(i >> 8), [15] = (uint8_t)i);
}

static bool is_from(const struct host *h, const struct heard *heard, const struct tl_ip6 *sender)
{
	struct tl_ip6 ip;

	return tl_net_ip6_of(h->net, heard->last.src_ip_be, &ip) && tl_ip6_equal(&ip, sender);
}

// Others take all free numbers meanwhile. The number of the first sender belongs to the second port, too.
TL_TEST("the cached sender of a group keeps its entry")
{
	struct host *h = start6(0);
	struct heard heard = {0};
	struct frame f = from(&SENDERS6[1]);

	open_ports(h, &heard);
	CU_ASSERT(is_fast(h, &f));
	for (unsigned i = 0; i < STRANGERS; i++) {
		struct tl_ip6 ip = stranger(i);
		CU_ASSERT(tl_net_ip6_passing(h->net, &ip) != 0);
	}
	CU_ASSERT(give_some(h, &f, 1, false));
	CU_ASSERT(is_from(h, &heard, &SENDERS6[1]));
	stop(h);
}

TL_TEST("the latest sender of a group is cached")
{
	struct host *h = start6(0);
	struct heard heard = {0};

	open_ports(h, &heard);
	for (unsigned i = 0; i < STRANGERS; i++) {
		struct tl_ip6 ip = stranger(i);
		struct frame f = from(&ip);
		CU_ASSERT(!give_some(h, &f, 1, false) && is_from(h, &heard, &ip));
		CU_ASSERT(give_some(h, &f, 1, false) && is_from(h, &heard, &ip));
	}
	stop(h);
}

TL_TEST("a closed port releases its sender entry and receives no datagram")
{
	struct host *h = start6(0);
	struct heard heard = {0};
	uint32_t group_be = tl_net_ip6(h->net, &GROUPS6[0]);

	for (unsigned i = 0; i < STRANGERS; i++) {
		struct tl_ip6 ip = stranger(i);
		struct frame f = from(&ip);
		struct tl_udp *udp = open_udp(h, group_be, 0, UDP_PORT, &heard);
		CU_ASSERT(!give_some(h, &f, 1, false) && is_from(h, &heard, &ip));
		CU_ASSERT(give_some(h, &f, 1, false));
		tl_udp_close(udp);
		CU_ASSERT(!give_some(h, &f, 1, false));
	}
	CU_ASSERT_EQUAL(heard.count, 2 * STRANGERS);
	clear(h);
	stop(h);
}

// Each of two ports gets each datagram.
TL_TEST("two ports on one group both receive each datagram")
{
	struct host *h = start6(0);
	struct heard one = {0}, two = {0};
	struct frame f = from(&SENDERS6[0]);

	(void)open_udp(h, tl_net_ip6(h->net, &GROUPS6[0]), 0, UDP_PORT, &one);
	CU_ASSERT(is_fast(h, &f));
	(void)open_udp(h, tl_net_ip6(h->net, &GROUPS6[0]), tl_net_ip6(h->net, &SENDERS6[0]), UDP_PORT, &two);
	CU_ASSERT(!is_fast(h, &f));
	CU_ASSERT_EQUAL(one.count, 4);
	CU_ASSERT_EQUAL(two.count, 2);
	stop(h);
}

// The group admits all senders for the sake of the second port.
TL_TEST("a port of one source receives no other sender of its group, not even one seen before")
{
	struct host *h = start6(0);
	struct heard picky = {0}, all = {0};
	uint32_t group_be = tl_net_ip6(h->net, &GROUPS6[0]);
	struct frame f = from(&SENDERS6[1]);

	(void)open_udp(h, group_be, tl_net_ip6(h->net, &SENDERS6[0]), UDP_PORT, &picky);
	(void)open_udp(h, group_be, 0, UDP_PORT + 1, &all);
	CU_ASSERT(!is_fast(h, &f));
	CU_ASSERT(counts_as(h, "drop_udp_no_port_pkts", &f));
	CU_ASSERT_EQUAL(picky.count, 0);
	stop(h);
}

int main(void)
{
	return test_host_run("net_group");
}
