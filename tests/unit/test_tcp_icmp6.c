// SPDX-License-Identifier: BSD-3-Clause
// Effects of ICMPv6 on a connection: the path MTU (RFC 8201) within the limits of RFC 5927, and soft errors. The limits
// are covered by the tests of ICMP.

#define TEST_IP6
#include "tl_test_tcp_host.h"

// Receive Packet Too Big for our segment at seq of len bytes.
static void give_icmp6(struct host *h, uint8_t type, uint8_t code, uint32_t mtu, uint32_t seq, uint16_t len)
{
	uint8_t frame[TL_ETHER_LEN + TL_IPV6_LEN + TL_ICMP_LEN + TL_IPV6_LEN + 8] = {
		2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd};
	struct tl_ipv6_hdr *ip = (struct tl_ipv6_hdr *)(frame + TL_ETHER_LEN);
	struct tl_icmp_hdr *icmp = (struct tl_icmp_hdr *)(ip + 1);
	struct tl_ipv6_hdr *quoted = (struct tl_ipv6_hdr *)(icmp + 1);
	const uint16_t icmp_len = TL_ICMP_LEN + TL_IPV6_LEN + 8;
	const uint16_t ports_be[] = {h->our_port, h->peer_port};
	const uint32_t seq_be = tl_be32(seq);

	*ip = (struct tl_ipv6_hdr){tl_be32(6u << 28), tl_be16(icmp_len), 58, 64, host_ip6(9), host_ip6(1)};
	*quoted = (struct tl_ipv6_hdr){
		tl_be32(6u << 28), tl_be16(TL_TCP_LEN + len), TL_IPPROTO_TCP, 64, host_ip6(1), host_ip6(2)};
	memcpy(quoted + 1, ports_be, sizeof(ports_be));
	memcpy((uint8_t *)(quoted + 1) + sizeof(ports_be), &seq_be, sizeof(seq_be));
	*icmp = (struct tl_icmp_hdr){.type = type, .code = code, .rest_be = tl_be32(mtu)};
	icmp->cksum_be =
		tl_cksum_finish(tl_cksum_add(tl_cksum_pseudo6(&ip->src, &ip->dst, 58, icmp_len), icmp, icmp_len));
	give_raw(h, frame, sizeof(frame));
}

static void too_big(struct host *h, uint32_t mtu, uint32_t seq)
{
	give_icmp6(h, 2, 0, mtu, seq, MSS);
}

static struct host *start_talking(struct app *app)
{
	struct host *h = start();

	accept_peer(h, app);
	say(app, 2 * MSS);
	forget(h);
	return h;
}

TL_TEST("a smaller MTU is accepted, and segments that did not fit are retransmitted")
{
	struct app app = {0};
	struct host *h = start_talking(&app);

	too_big(h, 1400, OURS + 1);
	SENDS(h, A, OURS + 1, PEERS + 1, 1340);
	SENDS(h, A, OURS + 1 + 1340, PEERS + 1, 1340);
	SENDS(h, A | P, OURS + 1 + 2 * 1340, PEERS + 1, 2 * MSS - 2 * 1340);
	CU_ASSERT_EQUAL(h->net->stats.tcp_path_mtu_drops, 1);
	stop(h);
}

TL_TEST("a path MTU below 1280 is not accepted")
{
	static const uint32_t mtus[] = {68, 576, 1279, 1280};

	for (unsigned i = 0; i < TL_ARRAY_LEN(mtus); i++) {
		struct app app = {0};
		struct host *h = start_talking(&app);
		too_big(h, mtus[i], OURS + 1);
		CU_ASSERT_EQUAL(app.c->mss, 1280 - TL_IPV6_LEN - TL_TCP_LEN);
		stop(h);
	}
}

TL_TEST("a report about data not in flight, or that would have fit, is ignored")
{
	struct app app = {0};
	struct host *h = start_talking(&app);

	too_big(h, 1400, OURS);		      // acknowledged
	too_big(h, 1400, OURS + 1 + 2 * MSS); // never sent
	too_big(h, 0, OURS + 1);
	too_big(h, 1520, OURS + 1); // it fits
	too_big(h, 65536 + 1300, OURS + 1);
	h->peer_port = PORT(40001);
	too_big(h, 1400, OURS + 1); // unknown connection
	SILENT(h);
	CU_ASSERT_EQUAL(app.c->mss, MSS);
	stop(h);
}

// An IPv4 packet that quotes the internal number of an IPv6 peer as its destination does not affect that peer.
TL_TEST("the index of an IPv6 address is not valid as an IPv4 address")
{
	struct app app = {0};
	struct host *h = start_talking(&app);
	uint8_t frame[TL_ETHER_LEN + TL_IPV4_LEN + TL_ICMP_LEN + TL_IPV4_LEN + 8] = {
		2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0};
	struct tl_ipv4_hdr *ip = (struct tl_ipv4_hdr *)(frame + TL_ETHER_LEN);
	struct tl_icmp_hdr *icmp = (struct tl_icmp_hdr *)(ip + 1);
	struct tl_ipv4_hdr *quoted = (struct tl_ipv4_hdr *)(icmp + 1);
	const struct {
		uint16_t src_port, dst_port;
		uint32_t seq_be;
	} l4 = {h->our_port, h->peer_port, tl_be32(OURS + 1)};

	*ip = (struct tl_ipv4_hdr){.version_ihl = 0x45,
		.total_len_be = tl_be16(sizeof(frame) - TL_ETHER_LEN),
		.ttl = 64,
		.proto = TL_IPPROTO_ICMP,
		.src_be = host_ip(9),
		.dst_be = host_ip(1)};
	tl_wire_ipv4_finish(ip);
	*quoted = (struct tl_ipv4_hdr){.version_ihl = 0x45,
		.total_len_be = tl_be16(1500),
		.proto = TL_IPPROTO_TCP,
		.src_be = host_ip(1),
		.dst_be = PEER};
	memcpy(quoted + 1, &l4, sizeof(l4));
	*icmp = (struct tl_icmp_hdr){.type = 3, .code = 4, .rest_be = tl_be32(1400)};
	icmp->cksum_be = tl_cksum_finish(tl_cksum_add(0, icmp, TL_ICMP_LEN + TL_IPV4_LEN + 8));
	give_raw(h, frame, sizeof(frame));
	CU_ASSERT_EQUAL(h->net->stats.rx_icmp_pkts, 1);
	CU_ASSERT_EQUAL(app.c->mss, MSS);
	stop(h);
}

TL_TEST("unreachable is a hard error only in the handshake and for some codes")
{
	static const struct {
		uint8_t type, code;
		bool hard;
	} cases[] = {
		{1, 0, false}, {1, 1, false}, {1, 3, false}, {1, 4, true}, {3, 0, false}, {4, 0, false}, {4, 1, true}};

	for (unsigned i = 0; i < TL_ARRAY_LEN(cases); i++) {
		struct host *h = start();
		struct app calling = {0}, talking = {0};
		call(h, &calling, NULL);
		give_icmp6(h, cases[i].type, cases[i].code, 0, OURS, 0);
		CU_ASSERT_EQUAL(calling.closed, cases[i].hard);
		pass(h, 11 * SECOND);
		CU_ASSERT_EQUAL(calling.closed, 1);
		CU_ASSERT_EQUAL(calling.reason, TL_TCP_UNREACHABLE);
		stop(h);
		h = start_talking(&talking);
		give_icmp6(h, cases[i].type, cases[i].code, 0, OURS + 1, MSS);
		CU_ASSERT_EQUAL(talking.closed, 0);
		stop(h);
	}
}

TL_TEST("acknowledged data confirms the neighbour (RFC 4861, section 7.3.1)")
{
	for (unsigned talks = 0; talks < 2; talks++) {
		struct app app = {0};
		struct host *h = start();
		accept_peer(h, &app);
		uint64_t asked = h->net->stats.nd_solicitations_tx;
		for (unsigned s = 0; s < 40; s++) {
			if (talks) {
				say(&app, 1);
				give(h, A, PEERS + 1, app.c->snd_max, 0);
			}
			pass(h, SECOND);
		}
		CU_ASSERT_EQUAL(h->net->stats.nd_solicitations_tx > asked, !talks);
		stop(h);
	}
}

int main(void)
{
	tl_test_eal_start();
	return tl_test_run("tcp_icmp6");
}
