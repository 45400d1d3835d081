// SPDX-License-Identifier: BSD-3-Clause
// IPv6 of a host: addresses and neighbours, ICMPv6, groups, UDP, and rejected frames. TCP over IPv6 is covered by the
// tests of TCP.

#include <tl_units.h>

#include "tl_test_host.h"

#define DAD_NS (1200 * TL_NS_PER_MS)

static struct tl_ip6 ip6(const char *text)
{
	struct tl_ip6 ip;

	if (tl_parse_ipv6(text, &ip) != 0)
		exit(1);
	return ip;
}

#define US6 "2001:db8::1"
#define OUR_LOCAL "fe80::ff:fe00:1" // derived from OUR_MAC
#define PEER6 "2001:db8::2"
#define PEER_LOCAL "fe80::2"
#define GATEWAY6 "2001:db8::fe"
#define FAR6 "2001:db8:1::7"
#define GROUP6 "ff05::1234"
#define OUR_SOLICITED "ff02::1:ff00:1"
#define HOP_LIMIT 7
#define DSCP 46

// ---- the host

static struct host *start_untried(void)
{
	struct host *h = calloc(1, sizeof(*h));
	struct tl_net_cfg cfg = usual_cfg(h);

	cfg.ip6 = ip6(US6);
	cfg.ip6_bits = 64;
	cfg.gateway6 = ip6(GATEWAY6);
	cfg.ttl = HOP_LIMIT;
	cfg.dscp = DSCP;
	return host_start(h, &cfg, 1000 * SECOND, collect);
}

static void pass_slowly(struct host *h, uint64_t ns)
{
	for (uint64_t end_ns = h->now_ns + ns; h->now_ns < end_ns;)
		pass(h, 10 * TL_NS_PER_MS);
}

static struct host *start6(void)
{
	struct host *h = start_untried();

	tl_net_announce(h->net, h->now_ns);
	pass_slowly(h, DAD_NS);
	clear(h);
	return h;
}

// ---- frames

static void fix_cksum6(struct frame *f, uint16_t l4_off)
{
	uint8_t *ip = f->bytes + 14, *l4 = f->bytes + l4_off;
	uint16_t len = (uint16_t)(54 + get16(ip + 4) - l4_off);
	uint8_t proto = l4_off == 54 ? ip[6] : f->bytes[54];
	unsigned at = proto == 6 ? 16 : proto == 17 ? 6 : 2;
	uint32_t sum = proto + len;

	for (unsigned i = 8; i < 40; i += 2)
		sum += get16(ip + i);
	put16(l4 + at, 0);
	uint16_t cksum = ref_cksum(sum, l4, len);
	put16(l4 + at, cksum == 0 && proto == 17 ? 0xffff : cksum);
}

static struct frame frame6(
	uint8_t next, uint8_t hop_limit, const char *src, const char *dst, const void *payload, uint16_t len)
{
	struct frame f = {.len = (uint16_t)(54 + len)};
	struct tl_ip6 from = ip6(src), to = ip6(dst);
	uint8_t *ip = f.bytes + 14;

	memcpy(f.bytes, OUR_MAC, 6);
	if (to.byte[0] == 0xff) {
		memcpy(f.bytes, "\x33\x33", 2);
		memcpy(f.bytes + 2, to.byte + 12, 4);
	}
	memcpy(f.bytes + 6, PEER_MAC, 6);
	memcpy(f.bytes + 12, "\x86\xdd\x60", 3);
	put16(ip + 4, len);
	ip[6] = next;
	ip[7] = hop_limit;
	memcpy(ip + 8, &from, 16);
	memcpy(ip + 24, &to, 16);
	memcpy(ip + 40, payload, len);
	if (next == 6 || next == 17 || next == 58)
		fix_cksum6(&f, 54);
	if (f.len < 60)
		f.len = 60;
	return f;
}

static struct frame udp6(const char *src, const char *dst, uint16_t dst_port, const char *text)
{
	uint8_t l4[200] = {0x13, 0x88};
	uint16_t len = (uint16_t)strlen(text);

	put16(l4 + 2, dst_port);
	put16(l4 + 4, 8 + len);
	memcpy(l4 + 8, text, len);
	return frame6(17, 64, src, dst, l4, 8 + len);
}

// mac: link-layer address option; NULL: none.
static struct frame nd(
	uint8_t type, uint8_t flags, const char *src, const char *dst, const char *target, const uint8_t *mac)
{
	uint8_t l4[32] = {type, 0, 0, 0, flags};
	struct tl_ip6 ip = ip6(target);

	memcpy(l4 + 8, &ip, 16);
	l4[24] = type == 135 ? 1 : 2;
	l4[25] = 1;
	if (mac != NULL)
		memcpy(l4 + 26, mac, 6);
	return frame6(58, 255, src, dst, l4, mac != NULL ? 32 : 24);
}

static struct frame ping6(const char *src, const char *dst)
{
	static const uint8_t l4[] = {128, 0, 0, 0, 0xab, 0xcd, 0, 7, 'h', 'e', 'l', 'l', 'o'};

	return frame6(58, 64, src, dst, l4, sizeof(l4));
}

static struct frame mld(const char *src, const char *dst, const void *message, uint16_t len)
{
	uint8_t payload[100] = {58, 0, 5, 2, 0, 0, 1, 0};

	memcpy(payload + 8, message, len);
	struct frame f = frame6(0, 1, src, dst, payload, 8 + len);
	fix_cksum6(&f, 62);
	return f;
}

// ---- sent frames

static bool is_ip6(const struct frame *f, const uint8_t *mac, const char *src, const char *dst, uint8_t next)
{
	struct frame copy = *f;
	struct tl_ip6 from = ip6(src), to = ip6(dst);
	const uint8_t *ip = f->bytes + 14;

	fix_cksum6(&copy, next == 0 ? 62 : 54);
	return f->len >= 60 && memcmp(&copy, f, sizeof(copy)) == 0 && get16(f->bytes + 12) == 0x86dd && ip[6] == next &&
	       (mac == NULL || memcmp(f->bytes, mac, 6) == 0) && memcmp(f->bytes + 6, OUR_MAC, 6) == 0 &&
	       memcmp(ip + 8, &from, 16) == 0 && memcmp(ip + 24, &to, 16) == 0;
}

static bool is_nd(const struct frame *f, uint8_t type, uint8_t flags, const char *src, const char *dst,
	const char *target, const uint8_t *mac)
{
	struct tl_ip6 ip = ip6(target);
	bool has_option = get16(f->bytes + 18) == 32;

	return is_ip6(f, mac, src, dst, 58) && f->bytes[21] == 255 && f->bytes[54] == type && f->bytes[58] == flags &&
	       memcmp(f->bytes + 62, &ip, 16) == 0 && has_option == (strcmp(src, "::") != 0) &&
	       (!has_option || memcmp(f->bytes + 80, OUR_MAC, 6) == 0);
}

static const struct frame *find_sent(const struct host *h, uint8_t next, uint8_t type)
{
	for (unsigned i = 0; i < h->n_sent; i++) {
		const struct frame *f = &h->sent[i];
		if (get16(f->bytes + 12) == 0x86dd && f->bytes[20] == next && f->bytes[next == 0 ? 62 : 54] == type)
			return f;
	}
	return NULL;
}

static bool answers(struct host *h, const struct frame *f)
{
	clear(h);
	give(h, f);
	return h->n_sent > 0;
}

// ---- our addresses

TL_TEST("addresses are probed, then announced")
{
	struct host *h = start_untried();
	struct frame ping = ping6(PEER6, US6);
	unsigned tried = 0, told = 0;

	tl_net_announce(h->net, h->now_ns);
	pass(h, TL_NS_PER_MS);
	for (unsigned i = 0; i < h->n_sent; i++) {
		tried += is_nd(&h->sent[i], 135, 0, "::", OUR_SOLICITED, US6, (const uint8_t *)"\x33\x33\xff\0\0\1");
		tried += is_nd(&h->sent[i], 135, 0, "::", OUR_SOLICITED, OUR_LOCAL, NULL);
	}
	CU_ASSERT_EQUAL(tried, 2);
	CU_ASSERT(!answers(h, &ping)); // still tentative
	clear(h);
	pass_slowly(h, 5 * SECOND);
	for (unsigned i = 0; i < h->n_sent; i++)
		told += is_nd(&h->sent[i], 136, 0x20, US6, "ff02::1", US6, (const uint8_t *)"\x33\x33\0\0\0\1");
	CU_ASSERT_EQUAL(told, 3);
	CU_ASSERT_EQUAL(counter(h, "nd_advertisements_tx"), 6);
	CU_ASSERT_EQUAL(counter(h, "nd_duplicate_addresses"), 0);
	stop(h);
}

TL_TEST("after link up, addresses and groups are announced again")
{
	struct host *h = start6();
	struct heard heard = {0};
	struct tl_ip6 group = ip6(GROUP6);
	unsigned told = 0;

	(void)open_udp(h, tl_net_ip6(h->net, &group), 0, 5000, &heard);
	pass_slowly(h, 10 * SECOND);
	uint64_t reports = counter(h, "mld_reports_tx");
	clear(h);
	tl_net_announce_again(h->net, h->now_ns);
	pass_slowly(h, 5 * SECOND);
	for (unsigned i = 0; i < h->n_sent; i++)
		told += is_nd(&h->sent[i], 136, 0x20, US6, "ff02::1", US6, (const uint8_t *)"\x33\x33\0\0\0\1");
	CU_ASSERT_EQUAL(told, 3);
	CU_ASSERT_EQUAL(counter(h, "mld_reports_tx"), reports + 2);
	stop(h);
}

TL_TEST("a configured neighbour is never solicited")
{
	struct host *h = calloc(1, sizeof(*h));
	const struct tl_net_neighbour neighbour = {.ip6 = ip6(PEER6), .mac = {2, 0, 0, 0, 0x77, 1}};
	struct tl_net_cfg cfg = usual_cfg(h);
	struct tl_ip6 peer = ip6(PEER6);
	struct heard heard = {0};

	cfg.ip6 = ip6(US6);
	cfg.ip6_bits = 64;
	cfg.neighbours = &neighbour;
	cfg.n_neighbours = 1;
	(void)start_cfg(h, &cfg);
	tl_net_announce(h->net, h->now_ns);
	pass_slowly(h, 10 * SECOND);
	struct tl_udp *udp = open_udp(h, 0, 0, 5000, &heard);
	uint64_t asked = counter(h, "nd_solicitations_tx");
	clear(h);
	CU_ASSERT_EQUAL(tl_udp_send(udp, tl_net_ip6(h->net, &peer), PORT(9), "hi", 2), 0);
	tl_txq_flush(&h->tx);
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 1);
	CU_ASSERT_EQUAL(memcmp(h->sent[0].bytes, neighbour.mac, 6), 0);
	CU_ASSERT_EQUAL(counter(h, "nd_solicitations_tx"), asked);
	stop(h);
}

static void gives_way_to(struct frame claim)
{
	struct host *h = start_untried();
	struct frame ping = ping6(PEER6, US6);
	struct frame datagram = udp6(PEER6, US6, 5000, "x");
	struct tl_ip6 peer = ip6(PEER6);
	struct heard heard = {0};
	struct tl_tcp *c;
	int closed = -1;

	(void)open_udp(h, 0, 0, 5000, &heard);
	tl_net_announce(h->net, h->now_ns);
	pass(h, TL_NS_PER_MS);
	give(h, &claim);
	pass_slowly(h, DAD_NS);
	CU_ASSERT_EQUAL(counter(h, "nd_duplicate_addresses"), 1);
	CU_ASSERT(!answers(h, &ping));
	CU_ASSERT(counts_as(h, "drop_not_ours_pkts", &datagram));
	CU_ASSERT_EQUAL(tl_tcp_connect(h->net, tl_net_ip6(h->net, &peer), PORT(7), &NOTE_CLOSED, &closed, NULL, &c),
		-EHOSTUNREACH);
	stop(h);
}

TL_TEST("an address that another host uses or probes is not used")
{
	gives_way_to(nd(136, 0x20, US6, "ff02::1", US6, PEER_MAC));
	gives_way_to(nd(135, 0, "::", OUR_SOLICITED, US6, NULL));
}

TL_TEST("a conflicting claim is counted, and a probe is answered")
{
	struct host *h = start6();
	struct frame claim = nd(136, 0x20, US6, "ff02::1", US6, PEER_MAC);
	struct frame tries = nd(135, 0, "::", OUR_SOLICITED, US6, NULL);
	struct frame own = claim, ping = ping6(PEER6, US6);

	memcpy(own.bytes + 6, OUR_MAC, 6);
	give(h, &own); // looped back
	CU_ASSERT_EQUAL(counter(h, "nd_conflicts_pkts"), 0);
	give(h, &claim);
	CU_ASSERT_EQUAL(counter(h, "nd_conflicts_pkts"), 1);
	CU_ASSERT(answers(h, &tries)); // must not use a duplicate address
	CU_ASSERT(is_nd(&h->sent[0], 136, 0x20, US6, "ff02::1", US6, NULL));
	CU_ASSERT(answers(h, &ping));
	stop(h);
}

// ---- neighbours

TL_TEST("solicitations for our addresses are answered, from neighbours only")
{
	struct host *h = start6();
	struct frame ask = nd(135, 0, PEER6, OUR_SOLICITED, US6, PEER_MAC);
	struct frame probe = nd(135, 0, PEER_LOCAL, OUR_LOCAL, OUR_LOCAL, NULL);
	struct frame other = nd(135, 0, PEER6, OUR_SOLICITED, "2001:db8::ff00:1", PEER_MAC);
	struct frame routed = ask;

	CU_ASSERT(answers(h, &ask));
	CU_ASSERT(is_nd(&h->sent[0], 136, 0x60, US6, PEER6, US6, PEER_MAC));
	CU_ASSERT(answers(h, &probe));
	CU_ASSERT(is_nd(&h->sent[0], 136, 0x60, OUR_LOCAL, PEER_LOCAL, OUR_LOCAL, PEER_MAC));
	CU_ASSERT(!answers(h, &other));
	routed.bytes[21] = 254;
	CU_ASSERT(!answers(h, &routed));
	CU_ASSERT_EQUAL(counter(h, "rx_nd_pkts"), 4);
	stop(h);
}

TL_TEST("an unknown neighbour is solicited, and probed when it may be unreachable")
{
	struct host *h = start6();
	struct tl_ip6 peer = ip6(PEER6);
	struct heard heard = {0};
	struct tl_udp *udp = open_udp(h, 0, 0, 5000, &heard);
	struct frame answer = nd(136, 0x60, PEER6, US6, PEER6, PEER_MAC);
	struct frame bare = nd(136, 0x60, PEER6, US6, PEER6, NULL);

	CU_ASSERT_EQUAL(say(udp, tl_net_ip6(h->net, &peer), "hello"), 0);
	tl_txq_flush(&h->tx);
	CU_ASSERT_EQUAL_FATAL(h->n_sent, 1);
	CU_ASSERT(is_nd(&h->sent[0], 135, 0, US6, "ff02::1:ff00:2", PEER6, (const uint8_t *)"\x33\x33\xff\0\0\2"));
	CU_ASSERT(!answers(h, &bare)); // no MAC option
	CU_ASSERT(answers(h, &answer));
	CU_ASSERT(is_ip6(&h->sent[0], PEER_MAC, US6, PEER6, 17));
	clear(h);
	CU_ASSERT_EQUAL(say(udp, tl_net_ip6(h->net, &peer), "again"), 0);
	tl_txq_flush(&h->tx);
	CU_ASSERT(is_ip6(&h->sent[0], PEER_MAC, US6, PEER6, 17));
	CU_ASSERT_EQUAL(memcmp(h->sent[0].bytes + 62, "again", 5), 0);
	clear(h);
	pass_slowly(h, 31 * SECOND); // may be unreachable by now
	CU_ASSERT(find_sent(h, 58, 135) != NULL && is_nd(find_sent(h, 58, 135), 135, 0, US6, PEER6, PEER6, PEER_MAC));
	stop(h);
}

// RFC 4861, section 7.2.5.
TL_TEST("only the Override flag changes a known MAC address")
{
	struct host *h = start6();
	struct tl_ip6 peer = ip6(PEER6);
	struct heard heard = {0};
	struct tl_udp *udp = open_udp(h, 0, 0, 5000, &heard);
	struct frame first = nd(136, 0x60, PEER6, US6, PEER6, PEER_MAC);
	struct frame gentle = nd(136, 0x00, PEER6, "ff02::1", PEER6, OTHER_MAC);
	struct frame firm = nd(136, 0x20, PEER6, "ff02::1", PEER6, OTHER_MAC);
	uint32_t peer_be = tl_net_ip6(h->net, &peer);

	(void)say(udp, peer_be, "x");
	give(h, &first);
	give(h, &gentle);
	clear(h);
	(void)say(udp, peer_be, "x");
	tl_txq_flush(&h->tx);
	CU_ASSERT(is_ip6(&h->sent[0], PEER_MAC, US6, PEER6, 17));
	pass_slowly(h, 6 * SECOND); // probed again
	CU_ASSERT(find_sent(h, 58, 135) != NULL && is_nd(find_sent(h, 58, 135), 135, 0, US6, PEER6, PEER6, PEER_MAC));
	give(h, &firm);
	clear(h);
	(void)say(udp, peer_be, "x");
	tl_txq_flush(&h->tx);
	CU_ASSERT(is_ip6(&h->sent[0], OTHER_MAC, US6, PEER6, 17));
	stop(h);
}

TL_TEST("off-link hosts are reached through the gateway")
{
	struct host *h = start6();
	struct tl_ip6 far = ip6(FAR6);
	struct heard heard = {0};
	struct tl_udp *udp = open_udp(h, 0, 0, 5000, &heard);
	struct frame answer = nd(136, 0x60, GATEWAY6, US6, GATEWAY6, OTHER_MAC);

	CU_ASSERT_EQUAL(say(udp, tl_net_ip6(h->net, &far), "hello"), 0);
	tl_txq_flush(&h->tx);
	CU_ASSERT(is_nd(&h->sent[0], 135, 0, US6, "ff02::1:ff00:fe", GATEWAY6, NULL));
	CU_ASSERT(answers(h, &answer));
	CU_ASSERT(is_ip6(&h->sent[0], OTHER_MAC, US6, FAR6, 17));
	stop(h);
}

// ---- ICMPv6, UDP

TL_TEST("echo requests are answered from the address of their scope with the port's hop limit and DSCP")
{
	static const char *const cases[][4] = {
		// from, to, answered from
		{PEER6, US6, US6},
		{PEER_LOCAL, OUR_LOCAL, OUR_LOCAL},
		{PEER_LOCAL, "ff02::1", OUR_LOCAL},
		{PEER6, "ff02::1", US6},
	};
	struct host *h = start6();
	struct frame ask = nd(135, 0, PEER6, OUR_SOLICITED, US6, PEER_MAC);
	struct frame ask_local = nd(135, 0, PEER_LOCAL, OUR_LOCAL, OUR_LOCAL, PEER_MAC);

	give(h, &ask);
	give(h, &ask_local);
	for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
		struct frame ping = ping6(cases[i][0], cases[i][1]);
		CU_ASSERT_FATAL(answers(h, &ping));
		CU_ASSERT(is_ip6(&h->sent[0], PEER_MAC, cases[i][2], cases[i][0], 58));
		CU_ASSERT_EQUAL(h->sent[0].bytes[54], 129);
		CU_ASSERT_EQUAL(get16(h->sent[0].bytes + 14), 0x6000 | DSCP << 6);
		CU_ASSERT_EQUAL(h->sent[0].bytes[21], HOP_LIMIT);
		CU_ASSERT_EQUAL(memcmp(h->sent[0].bytes + 58, ping.bytes + 58, 9), 0);
	}
	CU_ASSERT_EQUAL(counter(h, "icmp6_replies_tx"), 4);
	struct frame group = ping6(PEER6, OUR_SOLICITED), nobody = ping6("::", US6);
	CU_ASSERT(!answers(h, &group) && !answers(h, &nobody));
	stop(h);
}

TL_TEST("datagrams are delivered by port, scope, group and source")
{
	struct host *h = start6();
	struct heard unicast = {0}, group = {0}, picky = {0};
	struct tl_ip6 group_ip = ip6(GROUP6), picky_ip = ip6("ff05::99"), source = ip6(PEER6);
	struct tl_ip6 src;
	struct frame f;

	(void)open_udp(h, 0, 0, 5000, &unicast);
	(void)open_udp(h, tl_net_ip6(h->net, &group_ip), 0, 5000, &group);
	(void)open_udp(h, tl_net_ip6(h->net, &picky_ip), tl_net_ip6(h->net, &source), 5000, &picky);
	f = udp6(PEER6, US6, 5000, "one");
	CU_ASSERT(counts_as(h, "rx_udp_pkts", &f));
	CU_ASSERT(tl_net_ip6_of(h->net, unicast.last.src_ip_be, &src) && tl_ip6_equal(&src, &source));
	f = udp6(PEER_LOCAL, OUR_LOCAL, 5000, "two");
	CU_ASSERT(counts_as(h, "rx_udp_pkts", &f));
	f = udp6(PEER6, GROUP6, 5000, "three");
	CU_ASSERT(counts_as(h, "rx_udp_pkts", &f));
	f = udp6(PEER6, "ff05::99", 5000, "four");
	CU_ASSERT(counts_as(h, "rx_udp_pkts", &f));
	f = udp6("2001:db8::3", "ff05::99", 5000, "from another");
	CU_ASSERT(counts_as(h, "drop_not_ours_pkts", &f));
	f = udp6(PEER6, "ff05::1235", 5000, "not joined");
	CU_ASSERT(counts_as(h, "drop_not_ours_pkts", &f));
	f = udp6(PEER6, OUR_LOCAL, 5000, "the wrong scope");
	CU_ASSERT(counts_as(h, "drop_not_ours_pkts", &f));
	CU_ASSERT_EQUAL(unicast.count, 2);
	CU_ASSERT_EQUAL(group.count, 1);
	CU_ASSERT_EQUAL(picky.count, 1);
	stop(h);
}

// ---- rejected frames, and the account

static struct frame with_extension(uint8_t type, const uint8_t extension[8])
{
	struct frame f = udp6(PEER6, US6, 5000, "x");
	uint8_t payload[8 + 9];

	memcpy(payload, extension, 8);
	payload[0] = 17;
	memcpy(payload + 8, f.bytes + 54, 9);
	return frame6(type, 64, PEER6, US6, payload, sizeof(payload));
}

TL_TEST("every reason to drop has its counter")
{
	struct frame good = udp6(PEER6, US6, 5000, "x"), unsummed = good, wrong = good, cut = good, other = good;
	struct frame tcp_group = frame6(6, 64, PEER6, GROUP6, tcp_frame(80, 2, "").bytes + 34, 20);

	memset(unsummed.bytes + 60, 0, 2);
	wrong.bytes[62] ^= 1;
	put16(cut.bytes + 18, 60);
	other.bytes[20] = 47;
	const struct {
		const char *counter;
		struct frame f;
	} cases[] = {
		{"rx_udp_pkts", good},
		{"rx_udp_pkts", with_extension(0, (uint8_t[8]){0, 0, 1, 4})},
		{"rx_udp_pkts", with_extension(60, (uint8_t[8]){0, 0, 0x1e, 4})}, // unknown, may be skipped
		{"rx_udp_pkts", with_extension(43, (uint8_t[8]){0, 0, 4, 0})},
		{"drop_other_pkts", with_extension(60, (uint8_t[8]){0, 0, 0x9e, 4})}, // unknown, not to be skipped
		{"drop_other_pkts", with_extension(43, (uint8_t[8]){0, 0, 0, 0})},    // RFC 5095
		{"drop_other_pkts", with_extension(43, (uint8_t[8]){0, 0, 4, 1})},
		{"drop_malformed_pkts", with_extension(60, (uint8_t[8]){0, 0, 1, 5})},
		{"drop_malformed_pkts", with_extension(60, (uint8_t[8]){0, 9, 1, 4})},
		{"drop_fragment_pkts", with_extension(44, (uint8_t[8]){0, 0, 0, 1})},
		{"drop_other_pkts", other},
		{"drop_malformed_pkts", cut},
		{"drop_malformed_pkts", udp6("ff02::7", US6, 5000, "x")},
		{"drop_malformed_pkts", udp6("::", US6, 5000, "x")},
		{"drop_malformed_pkts", udp6("::1", US6, 5000, "x")},
		{"drop_not_ours_pkts", udp6(US6, US6, 5000, "x")},
		{"drop_not_ours_pkts", udp6(PEER6, GATEWAY6, 5000, "x")},
		{"drop_not_ours_pkts", tcp_group},
		{"drop_cksum_pkts", wrong},
		{"drop_cksum_pkts", unsummed},
		{"drop_udp_no_port_pkts", udp6(PEER6, US6, 5001, "x")},
		{"rx_icmp6_pkts", ping6(PEER6, US6)},
		{"rx_nd_pkts", nd(135, 0, PEER6, OUR_SOLICITED, US6, PEER_MAC)},
		{"rx_tcp_pkts", frame6(6, 64, PEER6, US6, tcp_frame(80, 2, "").bytes + 34, 20)},
	};
	struct host *h = start6();
	struct heard heard = {0};
	struct tl_ip6 group = ip6(GROUP6);

	(void)open_udp(h, 0, 0, 5000, &heard);
	(void)open_udp(h, tl_net_ip6(h->net, &group), 0, 5000, &heard);
	for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
		if (!counts_as(h, cases[i].counter, &cases[i].f)) {
			printf("# case %zu: not %s\n", i, cases[i].counter);
			CU_FAIL("wrong counter");
		}
	}
	CU_ASSERT_EQUAL(heard.count, 4);
	stop(h);
}

// Send from more hosts than the neighbour table has entries.
static void crowd(struct host *h)
{
	for (unsigned i = 0; i < 5000; i++) {
		char src[TL_IPV6_TEXT];
		snprintf(src, sizeof(src), "2001:db8::1:%x", i + 1);
		struct frame f = udp6(src, US6, 5000, "x");
		give(h, &f);
	}
}

TL_TEST("unknown senders do not fill the address table")
{
	struct host *h = start6();
	struct heard heard = {0};

	(void)open_udp(h, 0, 0, 5000, &heard);
	crowd(h);
	CU_ASSERT_EQUAL(heard.count, 5000);
	stop(h);
}

static struct frame tcp6_from(const char *src, uint8_t flags, uint32_t seq, uint32_t ack, const char *text)
{
	uint8_t l4[100] = {0x9c, 0x40, 0, 80, [12] = 0x50, flags, 0x10};

	put16(l4 + 4, seq >> 16);
	put16(l4 + 6, seq);
	put16(l4 + 8, ack >> 16);
	put16(l4 + 10, ack);
	memcpy(l4 + 20, text, strlen(text));
	return frame6(6, 64, src, US6, l4, (uint16_t)(20 + strlen(text)));
}

static void note_data(void *ctx, struct tl_tcp *c, const uint8_t *data, uint32_t len)
{
	*(unsigned *)ctx += len;
}

static void ignore_closed(void *ctx, struct tl_tcp *c, enum tl_tcp_reason reason)
{
}

TL_TEST("a connection keeps its peer's entry among many unknown senders")
{
	static const struct tl_tcp_ops ops = {.data = note_data, .closed = ignore_closed};
	struct host *h = start6();
	struct frame ask = nd(135, 0, GATEWAY6, OUR_SOLICITED, US6, PEER_MAC);
	struct frame syn = tcp6_from("2001:db8:1::77", TL_TCP_SYN, 1000, 0, "");
	struct tl_tcp_listener *listener;
	unsigned got = 0;

	CU_ASSERT_EQUAL_FATAL(tl_tcp_listen(h->net, PORT(80), 4, &ops, &got, NULL, &listener), 0);
	give(h, &ask);
	CU_ASSERT_FATAL(answers(h, &syn));
	CU_ASSERT_FATAL(is_ip6(&h->sent[0], PEER_MAC, US6, "2001:db8:1::77", 6));
	uint32_t iss = (uint32_t)get16(h->sent[0].bytes + 58) << 16 | get16(h->sent[0].bytes + 60);
	struct frame ack = tcp6_from("2001:db8:1::77", TL_TCP_ACK, 1001, iss + 1, "");
	struct frame data = tcp6_from("2001:db8:1::77", TL_TCP_ACK, 1001, iss + 1, "hello");
	give(h, &ack);
	crowd(h);
	give(h, &data);
	CU_ASSERT_EQUAL(got, 5);
	stop(h);
}

// ---- MLD

// RFC 3590: a report sent from the unspecified address is repeated from the link-local one.
TL_TEST("groups reported from the unspecified address are reported again")
{
	struct host *h = start_untried();
	unsigned from_none = 0, from_local = 0;

	tl_net_announce(h->net, h->now_ns);
	pass_slowly(h, 4 * SECOND);
	for (unsigned i = 0; i < h->n_sent; i++) {
		from_none += is_ip6(&h->sent[i], NULL, "::", "ff02::16", 0);
		from_local += is_ip6(&h->sent[i], NULL, OUR_LOCAL, "ff02::16", 0);
	}
	CU_ASSERT_EQUAL(from_local, 2);
	CU_ASSERT_EQUAL(counter(h, "mld_reports_tx"), from_none + from_local);
	stop(h);
}

TL_TEST("joins are reported by MLDv2")
{
	struct host *h = start6();
	struct heard heard = {0};
	struct tl_ip6 group = ip6(GROUP6), picky = ip6("ff05::99"), source = ip6(PEER6);
	uint8_t macs[8][6];

	(void)open_udp(h, tl_net_ip6(h->net, &group), 0, 5000, &heard);
	pass_slowly(h, 3 * SECOND);
	const struct frame *f = find_sent(h, 0, 143);
	CU_ASSERT_FATAL(f != NULL);
	CU_ASSERT(is_ip6(f, (const uint8_t *)"\x33\x33\0\0\0\x16", OUR_LOCAL, "ff02::16", 0));
	CU_ASSERT_EQUAL(f->bytes[21], 1);
	CU_ASSERT_EQUAL(memcmp(f->bytes + 54, "\x3a\0\x05\x02\0\0", 6), 0);
	CU_ASSERT_EQUAL(get16(f->bytes + 68), 1);
	CU_ASSERT_EQUAL(f->bytes[70], 4); // CHANGE_TO_EXCLUDE_MODE
	CU_ASSERT_EQUAL(memcmp(f->bytes + 74, &group, 16), 0);
	clear(h);
	(void)open_udp(h, tl_net_ip6(h->net, &picky), tl_net_ip6(h->net, &source), 5000, &heard);
	pass_slowly(h, 3 * SECOND);
	f = find_sent(h, 0, 143);
	CU_ASSERT_FATAL(f != NULL);
	CU_ASSERT_EQUAL(f->bytes[70], 5); // ALLOW_NEW_SOURCES
	CU_ASSERT_EQUAL(get16(f->bytes + 72), 1);
	CU_ASSERT_EQUAL(memcmp(f->bytes + 74, &picky, 16), 0);
	CU_ASSERT_EQUAL(memcmp(f->bytes + 90, &source, 16), 0);
	CU_ASSERT_EQUAL(tl_net_group_macs(h->net, macs, 8), 5); // 224.0.0.1, ff02::1, our solicited-node group, two
	CU_ASSERT_EQUAL(memcmp(macs[1], "\x33\x33\0\0\0\1", 6), 0);
	stop(h);
}

// Count the sent frames in MLDv1 format since the last clear.
static bool reported_to(const struct host *h, const struct tl_ip6 *group)
{
	for (unsigned i = 0; i < h->n_sent; i++)
		if (h->sent[i].bytes[62] == 131 && memcmp(h->sent[i].bytes + 70, group, sizeof(*group)) == 0)
			return true;
	return false;
}

TL_TEST("queries are answered after a random delay, MLDv1 queries in MLDv1")
{
	uint8_t v2[28] = {130, 0, 0, 0, 0x03, 0xe8, [24] = 2, [25] = 125};
	uint8_t v1[24] = {130, 0, 0, 0, 0x03, 0xe8}, report[24] = {131};
	struct host *h = start6();
	struct heard heard = {0};
	struct tl_ip6 group = ip6(GROUP6);
	struct tl_udp *udp = open_udp(h, tl_net_ip6(h->net, &group), 0, 5000, &heard);

	pass_slowly(h, 3 * SECOND);
	clear(h);
	struct frame routed = mld(PEER6, "ff02::1", v2, sizeof(v2)), ask = mld(PEER_LOCAL, "ff02::1", v2, sizeof(v2));
	struct frame older = mld(PEER_LOCAL, "ff02::1", v1, sizeof(v1));
	struct frame far = ask, quiet = ask;
	far.bytes[21] = 2;
	quiet.bytes[56] = 1;				 // padding instead of Router Alert
	CU_ASSERT(counts_as(h, "rx_mld_pkts", &routed)); // not from a link-local address
	CU_ASSERT(counts_as(h, "rx_mld_pkts", &far));
	CU_ASSERT(counts_as(h, "rx_mld_pkts", &quiet));
	pass_slowly(h, 2 * SECOND);
	CU_ASSERT(find_sent(h, 0, 143) == NULL);
	give(h, &ask);
	CU_ASSERT(find_sent(h, 0, 143) == NULL); // delayed
	pass_slowly(h, 1010 * TL_NS_PER_MS);
	CU_ASSERT_FATAL(find_sent(h, 0, 143) != NULL);
	CU_ASSERT_EQUAL(get16(find_sent(h, 0, 143)->bytes + 68), 2);
	CU_ASSERT_EQUAL(find_sent(h, 0, 143)->bytes[70], 2); // MODE_IS_EXCLUDE
	clear(h);
	memcpy(v2 + 8, &group, 16);
	ask = mld(PEER_LOCAL, GROUP6, v2, sizeof(v2)); // group-specific
	give(h, &ask);
	pass_slowly(h, 1010 * TL_NS_PER_MS);
	CU_ASSERT_FATAL(find_sent(h, 0, 143) != NULL);
	CU_ASSERT_EQUAL(get16(find_sent(h, 0, 143)->bytes + 68), 1);
	CU_ASSERT_EQUAL(memcmp(find_sent(h, 0, 143)->bytes + 74, &group, 16), 0);
	clear(h);
	memcpy(report + 8, &group, 16);
	struct frame routed_report = mld(PEER_LOCAL, GROUP6, report, sizeof(report));
	routed_report.bytes[56] = 1; // no Router Alert
	give(h, &older);
	give(h, &routed_report); // suppresses no report
	pass_slowly(h, 1010 * TL_NS_PER_MS);
	CU_ASSERT(find_sent(h, 0, 143) == NULL && reported_to(h, &group));
	tl_udp_close(udp);
	pass_slowly(h, SECOND);
	const struct frame *done = find_sent(h, 0, 132);
	CU_ASSERT(done != NULL && is_ip6(done, NULL, OUR_LOCAL, "ff02::2", 0) &&
		  memcmp(done->bytes + 70, &group, 16) == 0);
	CU_ASSERT_EQUAL(counter(h, "mld_queries_rx"), 3);
	stop(h);
}

int main(void)
{
	return test_host_run("ip6");
}
