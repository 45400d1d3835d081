// SPDX-License-Identifier: BSD-3-Clause
// inner(...) in filters: native code, libpcap's interpreter, and frames in several segments.

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_mbuf.h>

#include <tl_err.h>

#include "filter_priv.h"
#include "tl_test.h"
#include "tl_test_eal.h"

#define VXLAN_INNER 50 // offset of the inner frame in the outer one
#define PACKET_LEN 32

static struct rte_mempool *pool;

// 10.0.0.1:1000 -> 10.0.0.2:5000, UDP, "ping".
static const uint8_t packet[PACKET_LEN] = {0x45, 0, 0, 32, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x03,
	0xe8, 0x13, 0x88, 0, 12, 0, 0, 'p', 'i', 'n', 'g'};

struct frame {
	uint8_t bytes[128];
	uint32_t len;
};

static void append(struct frame *f, const void *bytes, uint32_t len)
{
	memcpy(f->bytes + f->len, bytes, len);
	f->len += len;
}

static void append_ether(struct frame *f, uint16_t type)
{
	append(f, (uint8_t[]){2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, (uint8_t)(type >> 8), (uint8_t)type}, 14);
}

// Write an IPv4 header 192.0.2.1 -> 192.0.2.2 in front of this many bytes.
static void append_ip(struct frame *f, uint8_t proto, uint32_t around)
{
	append(f,
		(uint8_t[]){
			0x45, 0, 0, (uint8_t)(20 + around), 0, 0, 0, 0, 64, proto, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2},
		20);
}

static struct frame plain_frame(void)
{
	struct frame f = {.len = 0};

	append_ether(&f, 0x0800);
	append(&f, packet, sizeof(packet));
	return f;
}

static struct frame vlan_frame(void)
{
	struct frame f = {.len = 0};

	append_ether(&f, 0x8100);
	append(&f, (uint8_t[]){0, 7, 8, 0}, 4);
	append(&f, packet, sizeof(packet));
	return f;
}

static struct frame vxlan_frame(uint16_t inner_type)
{
	struct frame f = {.len = 0};

	append_ether(&f, 0x0800);
	append_ip(&f, 17, 16 + 14 + PACKET_LEN);
	append(&f, (uint8_t[]){0xc0, 0, 0x12, 0xb5, 0, 16 + 14 + PACKET_LEN, 0, 0, 8, 0, 0, 0, 0, 0, 5, 0}, 16);
	append_ether(&f, inner_type);
	append(&f, packet, sizeof(packet));
	return f;
}

static struct frame gre_frame(void)
{
	struct frame f = {.len = 0};

	append_ether(&f, 0x0800);
	append_ip(&f, 47, 4 + PACKET_LEN);
	append(&f, (uint8_t[]){0, 0, 8, 0}, 4);
	append(&f, packet, sizeof(packet));
	return f;
}

// Make an mbuf of one segment, or of two split at this byte.
static struct rte_mbuf *make_mbuf(const struct frame *f, uint32_t cut)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool), *tail;

	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	uint32_t first = cut != 0 ? cut : f->len;
	memcpy(rte_pktmbuf_append(m, (uint16_t)first), f->bytes, first);
	if (cut == 0)
		return m;
	tail = rte_pktmbuf_alloc(pool);
	CU_ASSERT_PTR_NOT_NULL_FATAL(tail);
	memcpy(rte_pktmbuf_append(tail, (uint16_t)(f->len - cut)), f->bytes + cut, f->len - cut);
	CU_ASSERT_EQUAL_FATAL(rte_pktmbuf_chain(m, tail), 0);
	return m;
}

// Return true if the frame matches; check that all engines agree.
static bool passes(const char *expression, const struct frame *f, uint32_t wire_bytes)
{
	struct tl_filter *filter = NULL;
	struct tl_err err = {.text = ""};

	if (tl_filter_create(expression, &filter, &err) != 0)
		printf("# %s\n", err.text);
	CU_ASSERT_PTR_NOT_NULL_FATAL(filter);
	bool pass = tl_filter_match_bytes(filter, f->bytes, f->len, wire_bytes);
	for (uint32_t cut = 0; cut < f->len; cut++) {
		struct rte_mbuf *m = make_mbuf(f, cut);
		CU_ASSERT_EQUAL(tl_filter_match(filter, m, wire_bytes), pass);
		rte_pktmbuf_free(m);
	}
	tl_filter_destroy(filter);
	return pass;
}

static bool all_pass(const char *expression)
{
	struct frame frames[] = {plain_frame(), vlan_frame(), vxlan_frame(0x0800), gre_frame()};
	unsigned passed = 0;

	for (size_t i = 0; i < TL_ARRAY_LEN(frames); i++)
		passed += passes(expression, &frames[i], frames[i].len);
	CU_ASSERT(passed == 0 || passed == TL_ARRAY_LEN(frames));
	return passed != 0;
}

TL_TEST("an inner packet is found behind any header, and a plain frame is its own inner packet")
{
	CU_ASSERT_TRUE(all_pass("inner(udp dst port 5000 and src host 10.0.0.1)"));
	CU_ASSERT_TRUE(all_pass("inner ( udp[8:4] = 0x70696e67 )"));
	CU_ASSERT_TRUE(all_pass("inner((tcp or udp) and (port 5000))"));
	CU_ASSERT_FALSE(all_pass("inner(host 192.0.2.1)"));
	CU_ASSERT_FALSE(all_pass("inner(tcp)"));
	CU_ASSERT_TRUE(all_pass("not inner(tcp)"));
	CU_ASSERT_FALSE(all_pass("inner(ip6)"));
}

TL_TEST("inner(...) combines with terms on the outer frame")
{
	struct frame vxlan = vxlan_frame(0x0800), gre = gre_frame();
	const char *both = "udp port 4789 and inner(port 5000)", *either = "inner(tcp) or ip proto 47";

	CU_ASSERT_TRUE(passes(both, &vxlan, vxlan.len));
	CU_ASSERT_FALSE(passes(both, &gre, gre.len));
	CU_ASSERT_FALSE(passes("udp port 4789 and not inner(port 5000)", &vxlan, vxlan.len));
	CU_ASSERT_TRUE(passes(either, &gre, gre.len));
	CU_ASSERT_FALSE(passes(either, &vxlan, vxlan.len));
	CU_ASSERT_TRUE(passes("(inner(tcp) or inner(udp)) and src host 192.0.2.1", &gre, gre.len));
	CU_ASSERT_FALSE(
		passes("inner(udp) and inner(port 5000) and inner(host 10.0.0.1) and inner(tcp)", &gre, gre.len));
	CU_ASSERT_TRUE(
		passes("inner(udp) and inner(port 5000) and inner(host 10.0.0.1) and not inner(tcp)", &gre, gre.len));
}

TL_TEST("a frame without an inner packet matches no inner term")
{
	struct frame arp = vxlan_frame(0x0806), cut = gre_frame();

	cut.len -= PACKET_LEN - 8;
	CU_ASSERT_FALSE(passes("inner(len >= 0)", &arp, arp.len));
	CU_ASSERT_TRUE(passes("not inner(len >= 0)", &arp, arp.len));
	CU_ASSERT_FALSE(passes("inner(port 5000)", &cut, cut.len));
	cut.len = 9;
	CU_ASSERT_FALSE(passes("inner(len >= 0)", &cut, 60));
}

TL_TEST("an inner length excludes padding")
{
	struct frame gre = gre_frame();
	uint32_t whole = gre.len;

	CU_ASSERT_TRUE(passes("inner(len = 32)", &gre, whole));
	gre.len += 6; // padding
	CU_ASSERT_TRUE(passes("inner(len = 32)", &gre, gre.len));
	gre.len = whole - 4; // truncated
	CU_ASSERT_TRUE(passes("inner(len = 32)", &gre, whole));
}

TL_TEST("inner packets are found for other link types")
{
	struct frame gre = gre_frame();
	struct tl_filter_links *links;
	struct tl_err err;

	CU_ASSERT_EQUAL_FATAL(tl_filter_links_create("inner(port 5000) and host 192.0.2.1", &links, &err), 0);
	CU_ASSERT_EQUAL(tl_filter_links_match(links, 101, gre.bytes + 14, gre.len - 14, gre.len - 14, &err), 1);
	CU_ASSERT_EQUAL(tl_filter_links_match(links, 1, gre.bytes, gre.len, gre.len, &err), 1);
	CU_ASSERT_EQUAL(tl_filter_links_match(links, 101, packet, sizeof(packet), sizeof(packet), &err), 0);
	tl_filter_links_destroy(links);
}

TL_TEST("only the whole word before a parenthesis is parsed as inner(...)")
{
	CU_ASSERT_TRUE(tl_filter_has_inner("udp and inner(tcp)"));
	CU_ASSERT_TRUE(tl_filter_has_inner("not(inner \t(tcp))"));
	CU_ASSERT_FALSE(tl_filter_has_inner("host inner"));
	CU_ASSERT_FALSE(tl_filter_has_inner("host my-inner (tcp)"));
	CU_ASSERT_FALSE(tl_filter_has_inner("host inner.example (tcp)"));
}

TL_TEST("an error gives the position in the whole expression")
{
	static const struct {
		const char *expression, *reason, *place;
	} table[] = {
		{"udp and inner(tcp port port)", "syntax error", "at character 24: 'port)'"},
		{"inner(tcp) and and udp", "syntax error", "at character 16: 'and udp'"},
		{"inner(port 70000)", "port number 70000", "at character 12: '70000)'"},
		{"inner(tcp and udp)", "rejects all packets", ""},
		{"inner(tcp) and ip and ip6", "rejects all packets", ""},
		{"ip or inner(tcp", "no closing bracket", "at character 7"},
		{"ip or inner( )", "needs an expression", "at character 7"},
		{"inner(inner(tcp))", "syntax error", "at character 7: 'inner(tcp))'"},
		{"inner(ether host 1:2:3:4:5:6)", "ethernet addresses", ""},
		{"inner(ip) or inner(ip) or inner(ip) or inner(ip) or inner(ip)", "more than 4", "at character 53"},
	};

	for (size_t i = 0; i < TL_ARRAY_LEN(table); i++) {
		struct tl_err err = {.text = ""};
		CU_ASSERT_EQUAL(tl_filter_check(table[i].expression, &err), -EINVAL);
		bool right = strstr(err.text, table[i].reason) != NULL && strstr(err.text, table[i].place) != NULL &&
			     strstr(err.text, table[i].expression) != NULL;
		if (!right)
			printf("# %s; not %s %s\n", err.text, table[i].reason, table[i].place);
		CU_ASSERT(right);
	}
}

TL_TEST("the filter is native if all parts are")
{
	static const struct {
		const char *expression, *like;
	} table[] = {{"inner(tcp) and udp", "udp"}, {"inner(ip protochain 6) and udp", "ip protochain 6"},
		{"inner(tcp) and ip protochain 6", "ip protochain 6"}};
	struct tl_filter *filter, *like;

	for (size_t i = 0; i < TL_ARRAY_LEN(table); i++) {
		CU_ASSERT_EQUAL_FATAL(tl_filter_create(table[i].expression, &filter, NULL), 0);
		CU_ASSERT_EQUAL_FATAL(tl_filter_create(table[i].like, &like, NULL), 0);
		CU_ASSERT_STRING_EQUAL(tl_filter_engine(filter), tl_filter_engine(like));
		tl_filter_destroy(filter);
		tl_filter_destroy(like);
	}
}

int main(void)
{
	tl_test_eal_start();
	pool = rte_pktmbuf_pool_create("test_filter_inner", 63, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	return pool == NULL ? 1 : tl_test_run("filter_inner");
}
