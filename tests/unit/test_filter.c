// SPDX-License-Identifier: BSD-3-Clause
// Filters on whole, snapped and segmented frames; native code and libpcap's interpreter agree; messages for invalid
// expressions.

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_mbuf.h>
#if __has_include(<rte_bpf.h>) // a DPDK without it builds filters without a bpf
#include <rte_bpf.h>
#else
#define rte_bpf_exec(bpf, m) 0
#endif

#include <tl_err.h>
#include <tl_random.h>
#include <tl_sanitizer.h>

#include "filter_priv.h"
#include "tl_test.h"
#include "tl_test_eal.h"

#define FRAME_MAX 1600
#define FRAMES (TL_SANITIZED ? 5000u : 20000u)
#define SEGMENTS_MAX 6

// 192.0.2.1:1000 -> 239.1.1.1:5000, UDP, 4 bytes "ping", padded to 60.
static const uint8_t udp_frame[60] = {0x01, 0x00, 0x5e, 0x01, 0x01, 0x01, 0x02, 0, 0, 0, 0, 1, 0x08, 0x00, 0x45, 0, 0,
	32, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 239, 1, 1, 1, 0x03, 0xe8, 0x13, 0x88, 0, 12, 0, 0, 'p', 'i', 'n',
	'g'};

static struct rte_mempool *pool;

// Make an mbuf of the first len bytes; the bytes up to room follow its end in the same block.
static struct rte_mbuf *make_segment(const uint8_t *bytes, uint32_t len, uint32_t room)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	memcpy(rte_pktmbuf_mtod(m, uint8_t *), bytes, room);
	m->data_len = (uint16_t)len;
	m->pkt_len = len;
	return m;
}

static struct tl_filter *make_filter(const char *expression)
{
	struct tl_filter *filter = NULL;
	struct tl_err err = {.text = ""};

	if (tl_filter_create(expression, &filter, &err) != 0)
		printf("# %s\n", err.text);
	CU_ASSERT_PTR_NOT_NULL_FATAL(filter);
	return filter;
}

static bool passes(const char *expression, const uint8_t *data, uint32_t len, uint32_t wire_bytes)
{
	struct tl_filter *filter = make_filter(expression);
	struct rte_mbuf *m = make_segment(data, len, len);
	bool pass = tl_filter_match(filter, m, wire_bytes);

	rte_pktmbuf_free(m);
	tl_filter_destroy(filter);
	return pass;
}

static bool udp_passes(const char *expression)
{
	return passes(expression, udp_frame, sizeof(udp_frame), sizeof(udp_frame));
}

TL_TEST("matching frames pass")
{
	CU_ASSERT_TRUE(udp_passes("udp"));
	CU_ASSERT_TRUE(udp_passes("udp and dst host 239.1.1.1 and dst port 5000"));
	CU_ASSERT_TRUE(udp_passes("ether multicast"));
	CU_ASSERT_TRUE(udp_passes("udp[8] = 0x70"));
}

TL_TEST("frames that do not match are rejected")
{
	CU_ASSERT_FALSE(udp_passes("tcp"));
	CU_ASSERT_FALSE(udp_passes("udp and dst port 5001"));
	CU_ASSERT_FALSE(udp_passes("ip6"));
	CU_ASSERT_FALSE(udp_passes("vlan"));
}

TL_TEST("VLAN tags match `vlan`, and filters without it do not see their payload")
{
	uint8_t tagged[64];

	memcpy(tagged, udp_frame, 12);
	memcpy(tagged + 12, (uint8_t[]){0x81, 0x00, 0x00, 0x07}, 4);
	memcpy(tagged + 16, udp_frame + 12, sizeof(udp_frame) - 12);
	CU_ASSERT_TRUE(passes("vlan 7 and udp dst port 5000", tagged, sizeof(tagged), sizeof(tagged)));
	CU_ASSERT_FALSE(passes("vlan 8", tagged, sizeof(tagged), sizeof(tagged)));
	CU_ASSERT_FALSE(passes("udp dst port 5000", tagged, sizeof(tagged), sizeof(tagged)));
}

TL_TEST("an empty expression passes everything")
{
	CU_ASSERT_TRUE(udp_passes(""));
	CU_ASSERT_TRUE(passes("", udp_frame, 1, 1));
	CU_ASSERT_TRUE(passes("", udp_frame, 0, 0));
}

TL_TEST("a field beyond the captured bytes does not match")
{
	CU_ASSERT_FALSE(passes("udp dst port 5000", udp_frame, 36, sizeof(udp_frame)));
	CU_ASSERT_FALSE(passes("ip", udp_frame, 13, 60));
	CU_ASSERT_FALSE(passes("ip", udp_frame, 0, 0));
}

// 4294967290 + 14 wraps to 8 in 32 bits, an offset within the frame.
TL_TEST("an offset does not wrap into the frame")
{
	uint8_t frame[60];

	memcpy(frame, udp_frame, sizeof(frame));
	memcpy(frame + 26, (uint8_t[]){0xff, 0xff, 0xff, 0xfa}, 4);
	CU_ASSERT_FALSE(passes("ip[ip[12:4]] = 0", frame, sizeof(frame), sizeof(frame)));
	memcpy(frame + 26, (uint8_t[]){0, 0, 0, 1}, 4);
	CU_ASSERT_TRUE(passes("ip[ip[12:4]] = 0", frame, sizeof(frame), sizeof(frame)));
}

TL_TEST("length terms use the original length")
{
	CU_ASSERT_TRUE(passes("greater 1000", udp_frame, sizeof(udp_frame), 1400));
	CU_ASSERT_FALSE(passes("greater 1000", udp_frame, sizeof(udp_frame), 999));
	CU_ASSERT_TRUE(passes("less 60", udp_frame, 40, 60));
	CU_ASSERT_FALSE(passes("less 50", udp_frame, 40, 60));
	CU_ASSERT_TRUE(passes("len = 60", udp_frame, 60, 60));
}

TL_TEST("an invalid expression is refused with libpcap's reason")
{
	struct tl_filter *filter = NULL;
	struct tl_err err = {.text = ""};

	CU_ASSERT_EQUAL(tl_filter_create("udp and and", &filter, &err), -EINVAL);
	CU_ASSERT_PTR_NULL(filter);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "udp and and"));
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "syntax error"));
	CU_ASSERT_EQUAL(tl_filter_check("udp and tcp", &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "rejects all packets"));
	CU_ASSERT_EQUAL(tl_filter_create("port 70000", &filter, NULL), -EINVAL);
	CU_ASSERT_EQUAL(tl_filter_check("port 7000", &err), 0);
}

TL_TEST("a refusal gives the position of the error")
{
	static const struct {
		const char *expression, *reason, *wrong; // wrong: the expression from the error on
	} table[] = {
		{"tcp port port", "syntax error", "port"},
		{"udp and and tcp", "syntax error", "and tcp"},
		{"udp and", "syntax error", ""},
		{"tcp and (udp", "syntax error", ""},
		{"tcp and (udp))", "syntax error", ")"},
		{"tcp dst port 80 or or udp", "syntax error", "or udp"},
		{"foo", "syntax error", "foo"},
		{"ip and foo and udp", "syntax error", "foo and udp"},
		{"greater udp", "syntax error", "udp"},
		{"ip[0", "syntax error", ""},
		{"ether[0]== and ip", "syntax error", "and ip"},
		{"(tcp[tcpflags] & (tcp-syn|tcp-fin) = tcp port", "syntax error", "port"},
		{"not not not", "syntax error", ""},
		{"src or dst dst", "syntax error", "dst"},
		{"ether host 1:2:3:4:5", "thernet address", "1:2:3:4:5"},
		{"net 10.0.0.0 mask udp", "syntax error", "udp"},
		{"ip and port 70000 and udp", "port number 70000", "70000 and udp"},
		{"tcp port 80 and port nosuchport or ip", "unknown port 'nosuchport'", "nosuchport or ip"},
		{"net 10.0.0.1/8 and tcp", "non-network bits", "8 and tcp"},
		{"ip host 1:2:3:4:5:6", "1:2:3:4:5:6", "1:2:3:4:5:6"},
	};

	for (size_t i = 0; i < TL_ARRAY_LEN(table); i++) {
		struct tl_err err = {.text = ""};
		const char *expression = table[i].expression, *wrong = table[i].wrong;
		char place[64] = ", at its end";
		if (*wrong != '\0')
			snprintf(place, sizeof(place), ", at character %zu: '%s'",
				strlen(expression) - strlen(wrong) + 1, wrong);
		CU_ASSERT_EQUAL(tl_filter_check(expression, &err), -EINVAL);
		bool right = strstr(err.text, table[i].reason) != NULL && strstr(err.text, place) != NULL;
		if (!right)
			printf("# %s; not%s\n", err.text, place);
		CU_ASSERT(right);
	}
}

TL_TEST("an error in a long expression has its reason and position")
{
	char expression[6000] = "ip";
	struct tl_err err = {.text = ""};

	while (strlen(expression) < sizeof(expression) - 32)
		strcat(expression, " or tcp port 80");
	size_t wrong = strlen(expression) + 1;
	strcat(expression, " port");
	CU_ASSERT_EQUAL(tl_filter_check(expression, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "syntax error"));
	char place[64];
	snprintf(place, sizeof(place), "at character %zu: 'port'", wrong + 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, place));
	memset(expression, '(', sizeof(expression) - 1);
	CU_ASSERT_EQUAL(tl_filter_check(expression, &err), -EINVAL);
}

// ---- native code against libpcap's interpreter

// Each filter passes some of the frames below and rejects some, except the first, which passes all.
static const char *const native_filters[] = {"", "ip", "ip6", "arp", "tcp", "udp", "icmp", "ip6 and tcp",
	"udp port 5001", "udp dst port 5001", "port 80 or port 443", "portrange 5000-5010", "tcp[13] & 2 != 0",
	"tcp[13] & 0x12 = 0x12", "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0", "tcp[tcpflags] = tcp-ack", "ether multicast",
	"ether broadcast", "ip multicast", "ip6 multicast", "host 192.0.2.1", "src net 192.0.2.0/24",
	"dst net 224.0.0.0/4", "not host 192.0.2.1", "net 192.0.0.0/8 and not port 53", "host 2001:db8::1",
	"ip6 net 2001:db8::/32", "vlan", "vlan 7", "vlan and udp", "vlan 7 and vlan 8", "vlan and ip6 and tcp",
	"ether host 02:00:00:00:00:01", "ether src 02:00:00:00:00:01 and ip", "ether proto 0x88cc", "ip proto 2",
	"ip[6:2] & 0x1fff != 0", "ip[6] & 0x20 != 0", "ip[0] & 0xf > 5", "ip[8] < 5", "len > 100", "greater 1000",
	"less 60", "len = 0 or udp", "ether[len - 1] = 0", "tcp[((tcp[12] & 0xf0) >> 2):4] = 0x47455420",
	"udp[8:4] = 0xfffffffa", "ip[ip[12:4]] & 1 = 0", "ether[ether[14] & 0xf + 20:2] > 0x8000",
	"ether[0:4] & 0x80000000 != 0", "ether[6:4] > 0x90000000", "ip[16:4] >= 0xe0000000", "ip[2:2] > len",
	"ether[14] + ether[15] > 200", "ether[20] * ether[21] > 1000", "ip[2:2] / 7 = 10", "ip[2:2] % 13 = 5",
	"ether[20] / ether[21] > 1", "ether[20] % ether[21] = 1", "-ether[20] = 0xffffffff",
	"ether[20] ^ ether[21] = 0x55", "ether[20] | 0xf0 = 0xf5", "ether[20:4] << 3 > 0x1000",
	"ether[20:4] >> 9 & 3 = 2", "icmp[icmptype] = icmp-echo", "ip and (tcp[4:4] > udp[4:2] or ip[4:2] = ip[6:2])",
	"sctp or igmp or pim", "llc", "pppoes", "mpls 100"};

struct subject {
	struct tl_filter *filter;
	struct bpf_program reference;
	uint32_t passed, refused;
};

static uint64_t random_state;

static uint32_t random_below(uint32_t n)
{
	return (uint32_t)(tl_random_next(&random_state) >> 32) % n;
}

static bool one_in(uint32_t n)
{
	return random_below(n) == 0;
}

static void put16(uint8_t *to, uint32_t value)
{
	to[0] = (uint8_t)(value >> 8);
	to[1] = (uint8_t)value;
}

// Ports, and header fields of TCP, UDP or ICMP that the filters read.
static void put_transport(uint8_t *to, uint8_t protocol)
{
	static const uint16_t ports[] = {53, 80, 443, 5000, 5001, 5010, 65535};
	static const uint8_t flags[] = {0x02, 0x12, 0x10, 0x11, 0x01, 0x04, 0x18};

	put16(to, ports[random_below(TL_ARRAY_LEN(ports))]);
	put16(to + 2, ports[random_below(TL_ARRAY_LEN(ports))]);
	if (protocol == 6) {
		uint32_t words = one_in(4) ? random_below(16) : 5;
		to[12] = (uint8_t)(words << 4);
		to[13] = flags[random_below(TL_ARRAY_LEN(flags))];
		if (one_in(4))
			memcpy(to + words * 4, "GET ", 4);
	} else if (protocol == 17 && one_in(4)) {
		memcpy(to + 8, (uint8_t[]){0xff, 0xff, 0xff, 0xfa}, 4);
	} else if (protocol == 1) {
		to[0] = one_in(2) ? 8 : 0;
	}
}

static uint8_t some_protocol(void)
{
	static const uint8_t protocols[] = {6, 6, 6, 17, 17, 17, 1, 2, 103, 132, 0, 44, 58};

	return protocols[random_below(TL_ARRAY_LEN(protocols))];
}

static void put_ip4(uint8_t *to)
{
	static const uint8_t addresses[][4] = {{192, 0, 2, 1}, {192, 0, 2, 77}, {10, 0, 0, 1}, {239, 1, 1, 1},
		{255, 255, 255, 250}, {255, 255, 255, 255}, {0, 0, 0, 9}};
	static const uint16_t fragments[] = {0, 0, 0, 0x4000, 0x2000, 0x2010, 0x0010};
	uint32_t words = one_in(4) ? random_below(16) : 5;

	to[0] = (uint8_t)(0x40 | words);
	put16(to + 2, one_in(2) ? random_below(FRAME_MAX) : random_below(100));
	put16(to + 6, fragments[random_below(TL_ARRAY_LEN(fragments))]);
	to[8] = (uint8_t)random_below(65);
	to[9] = some_protocol();
	memcpy(to + 12, addresses[random_below(TL_ARRAY_LEN(addresses))], 4);
	memcpy(to + 16, addresses[random_below(TL_ARRAY_LEN(addresses))], 4);
	put_transport(to + words * 4, to[9]);
}

static void put_ip6(uint8_t *to)
{
	static const uint8_t prefixes[][4] = {{0x20, 0x01, 0x0d, 0xb8}, {0xff, 0x02, 0, 0}, {0xfe, 0x80, 0, 0}};

	to[0] = 0x60;
	to[6] = some_protocol();
	for (int i = 0; i < 2; i++) {
		uint8_t *address = to + 8 + 16 * i;
		memset(address, 0, 16);
		memcpy(address, prefixes[random_below(TL_ARRAY_LEN(prefixes))], 4);
		address[15] = (uint8_t)(1 + random_below(2));
	}
	put_transport(to + 40, to[6]);
}

// Build FRAME_MAX bytes: random ones, preceded by headers that the filters test.
static void make_frame(uint8_t *frame)
{
	static const uint8_t macs[][6] = {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}, {1, 0, 0x5e, 1, 1, 1},
		{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, {0xf2, 0xf0, 0, 0, 0, 3}, {0x33, 0x33, 0, 0, 0, 1}};
	static const uint16_t others[] = {0x0806, 0x88cc, 0x8864, 0x8847, 0x0026, 0x9000};
	uint8_t *at = frame + 12;

	for (uint32_t i = 0; i < FRAME_MAX; i++)
		frame[i] = one_in(4) ? 0 : (uint8_t)random_below(256);
	if (one_in(10))
		return;
	memcpy(frame, macs[random_below(TL_ARRAY_LEN(macs))], 6);
	memcpy(frame + 6, macs[random_below(TL_ARRAY_LEN(macs))], 6);
	for (uint32_t tags = one_in(3) ? 1 + random_below(2) : 0; tags > 0; tags--, at += 4) {
		put16(at, one_in(3) ? 0x88a8 : 0x8100);
		put16(at + 2, 6 + random_below(3));
	}
	uint32_t kind = random_below(8);
	put16(at, kind < 4 ? 0x0800 : kind < 6 ? 0x86dd : others[random_below(TL_ARRAY_LEN(others))]);
	if (kind < 4)
		put_ip4(at + 2);
	else if (kind < 6)
		put_ip6(at + 2);
	else if (kind == 6)
		memcpy(at + 2, (uint8_t[]){0, 6, 0x41, 0}, 4); // MPLS label 100, bottom of the stack
}

// Build the frame in one segment, or split it at random into several, including empty ones. The bytes after each
// segment are those that follow in the frame.
static struct rte_mbuf *make_chain(const uint8_t *frame, uint32_t len)
{
	uint32_t segments = one_in(2) ? 1 : 2 + random_below(SEGMENTS_MAX - 1);
	struct rte_mbuf *head = NULL;
	uint32_t at = 0;

	for (uint32_t left = segments; left > 0; left--) {
		uint32_t rest = len - at;
		uint32_t part =
			left == 1 ? rest : random_below((one_in(2) ? (uint32_t)tl_min_u64(rest, 40) : rest) + 1);
		struct rte_mbuf *m = make_segment(frame + at, part, FRAME_MAX - at);
		if (head == NULL)
			head = m;
		else
			CU_ASSERT_EQUAL_FATAL(rte_pktmbuf_chain(head, m), 0);
		at += part;
	}
	return head;
}

// Return true if all engines agree.
static bool judge(struct subject *s, const uint8_t *frame, struct rte_mbuf *m, uint32_t wire_bytes)
{
	const struct bpf_insn *program = s->reference.bf_insns;
	bool expected = bpf_filter(program, frame, wire_bytes, m->pkt_len) != 0;
	bool agree = tl_filter_match(s->filter, m, wire_bytes) == expected;

	s->passed += expected;
	s->refused += !expected;
	if (s->filter->bpf != NULL) {
		bool uncut = bpf_filter(program, frame, m->pkt_len, m->pkt_len) != 0;
		agree = agree && (rte_bpf_exec(s->filter->bpf, m) != 0) == uncut;
		agree = agree && tl_filter_match(s->filter, m, m->pkt_len) == uncut;
	}
	return agree;
}

static void open_subject(struct subject *s, const char *expression)
{
	pcap_t *pcap = pcap_open_dead(DLT_EN10MB, 65535);

	CU_ASSERT_PTR_NOT_NULL_FATAL(pcap);
	*s = (struct subject){.filter = make_filter(expression)};
	CU_ASSERT_EQUAL_FATAL(pcap_compile(pcap, &s->reference, expression, 1, PCAP_NETMASK_UNKNOWN), 0);
	pcap_close(pcap);
}

static void close_subject(struct subject *s)
{
	pcap_freecode(&s->reference);
	tl_filter_destroy(s->filter);
}

// Run all filters on the same frames. Return the number of verdicts that differ.
static uint32_t compare(struct subject *subjects, const char *const *expressions, uint32_t n, uint32_t frames)
{
	uint32_t differences = 0;
	uint8_t frame[FRAME_MAX];

	random_state = 20240229;
	for (uint32_t i = 0; i < frames; i++) {
		make_frame(frame);
		uint32_t len = one_in(2) ? random_below(81) : random_below(FRAME_MAX + 1);
		uint32_t wire_bytes = one_in(3) ? len + random_below(FRAME_MAX) : len;
		struct rte_mbuf *m = make_chain(frame, len);
		for (uint32_t f = 0; f < n; f++) {
			if (judge(&subjects[f], frame, m, wire_bytes))
				continue;
			if (differences++ < 10)
				printf("# '%s' on frame %u: %u of %u bytes in %u segments\n", expressions[f], i, len,
					wire_bytes, m->nb_segs);
		}
		rte_pktmbuf_free(m);
	}
	return differences;
}

static bool has_native_code(void)
{
	struct tl_filter *filter = make_filter("udp");
	bool native = strcmp(tl_filter_engine(filter), "jit") == 0;

	tl_filter_destroy(filter);
	return native;
}

// Fewer frames for this filter.
static void compare_native(const char *expression)
{
	const char *const expressions[] = {expression};
	struct subject subject;

	open_subject(&subject, expression);
	CU_ASSERT(!has_native_code() || strcmp(tl_filter_engine(subject.filter), "jit") == 0);
	CU_ASSERT_EQUAL(compare(&subject, expressions, 1, FRAMES / 20), 0);
	CU_ASSERT(subject.passed > 0 && subject.refused > 0);
	close_subject(&subject);
}

TL_TEST("native code and the interpreters of DPDK and libpcap agree on 20000 frames")
{
	static struct subject subjects[TL_ARRAY_LEN(native_filters)];
	bool native = has_native_code();

	for (uint32_t i = 0; i < TL_ARRAY_LEN(subjects); i++) {
		open_subject(&subjects[i], native_filters[i]);
		if (native && strcmp(tl_filter_engine(subjects[i].filter), "jit") != 0) {
			printf("# '%s': %s\n", native_filters[i], tl_filter_engine(subjects[i].filter));
			CU_FAIL("a filter that should be native is not");
		}
	}
	CU_ASSERT_EQUAL(compare(subjects, native_filters, TL_ARRAY_LEN(subjects), FRAMES), 0);
	for (uint32_t i = 0; i < TL_ARRAY_LEN(subjects); i++) {
		struct subject *s = &subjects[i];
		if (s->passed == 0 || (i > 0 && s->refused == 0)) {
			printf("# '%s' passed %u, refused %u\n", native_filters[i], s->passed, s->refused);
			CU_FAIL("a filter that does not tell frames apart");
		}
		close_subject(s);
	}
}

#define PORTS "port 1000 or port 1001 or port 1002 or port 1003 or port 1004 or port 1005 or port 1006"

TL_TEST("an expression covers one whose frames all match it, as far as the optimizer sees")
{
	static const struct {
		const char *first, *second;
		bool covers;
	} rows[] = {{"tcp", "tcp port 22", true}, {"tcp port 22", "port 22 and tcp", true},
		{"udp", "udp src port 7", true}, {"tcp or udp", "udp", true}, {"ip or not ip", "", true},
		{" ", "arp", true}, {"", "", true}, {"tcp port 22", "tcp", false}, {"tcp", "udp", false},
		{"tcp", "", false}, {"tcp", "tcp or arp", false}, {"vlan 5", "vlan 5 and tcp", false},
		{"tcp", "vlan 5 and tcp", false}, {"tcp", "mpls and tcp", false}, {"udp", "inner(udp port 7)", false},
		{"no such", "tcp", false}, {"tcp", "no such", false}, {PORTS, "port 1005", true},
		{PORTS, PORTS, false}};

	for (size_t i = 0; i < TL_ARRAY_LEN(rows); i++) {
		bool covers = tl_filter_covers(rows[i].first, rows[i].second);
		CU_ASSERT_EQUAL(covers, rows[i].covers);
		if (covers != rows[i].covers)
			printf("# '%s' and '%s': %d\n", rows[i].first, rows[i].second, covers);
	}
}

TL_TEST("an expression excludes one of which it matches no frame, behind tags, too")
{
	static const struct {
		const char *first, *second;
		bool excludes;
	} rows[] = {{"ether proto 0x8100", "udp dst port 53", true},
		{"ether proto 0x8100", "host 10.0.0.1 or ip6", true}, {"ether proto 0x8100", "vlan 5 and udp", false},
		{"ether proto 0x8100", "udp or vlan 5", false}, {"ether proto 0x8100", "len > 100", false},
		{"ip or ip6", "vlan 5 and udp", true}, {"ip or ip6", "udp or vlan 5", false},
		{"ip or ip6", "udp", false}, {"ip or ip6", "arp", true}, {"ip or ip6", "no such", false},
		{"ip or ip6", "inner(arp)", false}, {"vlan", "udp", false},
		{"vlan and ip", "ether proto 0x8100", false}, {"arp", PORTS " or " PORTS, false}};

	for (size_t i = 0; i < TL_ARRAY_LEN(rows); i++) {
		bool excludes = tl_filter_excludes(rows[i].first, rows[i].second);
		CU_ASSERT_EQUAL(excludes, rows[i].excludes);
		if (excludes != rows[i].excludes)
			printf("# '%s' and '%s': %d\n", rows[i].first, rows[i].second, excludes);
	}
}

// Count the frames of the second filter that do not match the first one.
static uint32_t count_uncovered(const struct subject *first, const struct subject *second)
{
	uint32_t uncovered = 0;
	uint8_t frame[FRAME_MAX];

	random_state = 20261124;
	for (uint32_t i = 0; i < FRAMES / 20; i++) {
		make_frame(frame);
		uint32_t len = random_below(one_in(2) ? 81 : FRAME_MAX + 1);
		uncovered += bpf_filter(second->reference.bf_insns, frame, len, len) != 0 &&
			     bpf_filter(first->reference.bf_insns, frame, len, len) == 0;
	}
	return uncovered;
}

TL_TEST("each frame of a covered expression matches the one that covers it")
{
	static struct subject subjects[TL_ARRAY_LEN(native_filters)];
	uint32_t pairs = 0, n = TL_ARRAY_LEN(subjects);

	for (uint32_t i = 0; i < n; i++)
		open_subject(&subjects[i], native_filters[i]);
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t k = 0; k < n; k++) {
			if (i == k || !tl_filter_covers(native_filters[i], native_filters[k]))
				continue;
			pairs++;
			if (count_uncovered(&subjects[i], &subjects[k]) == 0)
				continue;
			printf("# '%s' does not cover '%s'\n", native_filters[i], native_filters[k]);
			CU_FAIL("a filter is taken to cover another one");
		}
	}
	CU_ASSERT(pairs >= n); // the empty one covers most, "ip" the protocols over it
	for (uint32_t i = 0; i < n; i++)
		close_subject(&subjects[i]);
}

// DPDK's x86 JIT crashes on the converted program of this filter.
TL_TEST("tcp[13] & 2 != 0 matches the flag, although DPDK's compiler would crash")
{
	uint8_t frame[60];

	memcpy(frame, udp_frame, sizeof(frame));
	frame[14 + 9] = 6;
	for (int flags = 0; flags < 256; flags++) {
		frame[14 + 20 + 13] = (uint8_t)flags;
		CU_ASSERT_EQUAL(passes("tcp[13] & 2 != 0", frame, sizeof(frame), sizeof(frame)), (flags & 2) != 0);
	}
}

// With this one its verdict is wrong on half of the frames.
TL_TEST("ether multicast tests the group bit, although DPDK's compiler would test another")
{
	uint8_t frame[60];

	memcpy(frame, udp_frame, sizeof(frame));
	for (int first = 0; first < 256; first++) {
		frame[0] = (uint8_t)first;
		CU_ASSERT_EQUAL(passes("ether multicast", frame, sizeof(frame), sizeof(frame)), (first & 1) != 0);
	}
}

TL_TEST("x86-64 has native code")
{
#ifdef RTE_ARCH_X86_64
	struct tl_filter *filter = make_filter("udp");
	const char *engine = tl_filter_engine(filter);

	if (strcmp(engine, "jit") != 0)
		printf("# no native code here: %s\n", engine);
	CU_ASSERT(strcmp(engine, "jit") == 0 || strstr(engine, "without libpcap") != NULL);
	tl_filter_destroy(filter);
#endif
}

TL_TEST("a filter without native code is interpreted, with a reason")
{
	const char *const expressions[] = {"ip6 protochain 17", "ip protochain 6", "ether[20] << ether[21] > 100",
		"ether[20:4] >> (ether[21] & 63) = 0", "ether[4294967295] = 0 or udp"};
	static const char *const reasons[] = {"loops", "loops", "shifts", "shifts", "beyond"};
	struct subject subjects[TL_ARRAY_LEN(reasons)];
	bool native = has_native_code();

	for (uint32_t i = 0; i < TL_ARRAY_LEN(reasons); i++) {
		open_subject(&subjects[i], expressions[i]);
		const char *engine = tl_filter_engine(subjects[i].filter);
		CU_ASSERT_PTR_EQUAL(strstr(engine, "bpf_filter: "), engine);
		if (native && strstr(engine, reasons[i]) == NULL) {
			printf("# '%s': %s\n", expressions[i], engine);
			CU_FAIL("not the reason");
		}
	}
	CU_ASSERT_EQUAL(compare(subjects, expressions, TL_ARRAY_LEN(reasons), FRAMES / 4), 0);
	for (uint32_t i = 0; i < TL_ARRAY_LEN(reasons); i++)
		close_subject(&subjects[i]);
}

// Longer than the range of a jump with an 8-bit offset.
TL_TEST("a filter of a thousand terms is native too")
{
	static char text[64000] = "udp port 5001 or tcp[13] & 2 != 0";

	for (int i = 0; i < 1000; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " or ip[%d:4] = %d", i % 50, 100000 + i);
	compare_native(text);
}

// Two paths through each term make 1000^3 paths through all: DPDK checks the program before it compiles it, and must
// not walk the paths one by one.
TL_TEST("a filter with a billion paths loads at once")
{
	static char text[4096] = "ip";

	for (int i = 0; i < 30; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " and (ip[%d] & %d = 0 or ip[%d] > 9)",
			20 + i, 1 << (i % 8), 60 + i);
	compare_native(text);
}

// A division has its own exit, for a divisor of 0. At some distances from the other exits, in bytes of code, DPDK's JIT
// would jump to a wrong address.
TL_TEST("an early return works at any distance, although DPDK's compiler misses some")
{
	char text[512];

	for (uint32_t i = 0; i < 60; i++) {
		snprintf(text, sizeof(text), "%sether[20] / ether[21]", i % 2 != 0 ? "-" : "");
		for (uint32_t terms = i / 2; terms > 0; terms--)
			strcat(text, terms % 2 != 0 ? " + 3" : " - 2");
		strcat(text, " > 8");
		compare_native(text);
	}
}

// A snapped frame has two lengths: both engines filter by the original one.
TL_TEST("length terms on bytes use the original length")
{
	struct tl_filter *filter = make_filter("len == 1400");

	CU_ASSERT_TRUE(tl_filter_match_bytes(filter, udp_frame, sizeof(udp_frame), 1400));
	CU_ASSERT_FALSE(tl_filter_match_bytes(filter, udp_frame, sizeof(udp_frame), sizeof(udp_frame)));
	tl_filter_destroy(filter);
}

TL_TEST("an offset beyond any frame falls back to the interpreter")
{
	struct tl_filter *filter = make_filter("ether[1000000000] = 0");

	CU_ASSERT_PTR_NOT_NULL(strstr(tl_filter_engine(filter), "beyond the end of any frame"));
	CU_ASSERT_FALSE(tl_filter_match_bytes(filter, udp_frame, sizeof(udp_frame), sizeof(udp_frame)));
	tl_filter_destroy(filter);
}

// Match the IPv4 packet of udp_frame behind the header of a link type; libpcap may reject the expression.
static int passes_link(
	const char *expression, uint32_t linktype, const uint8_t *header, uint32_t header_bytes, struct tl_err *err)
{
	struct tl_filter_links *links = NULL;
	uint8_t frame[96];
	uint32_t len = header_bytes + sizeof(udp_frame) - 14;

	memcpy(frame, header, header_bytes);
	memcpy(frame + header_bytes, udp_frame + 14, sizeof(udp_frame) - 14);
	CU_ASSERT_EQUAL_FATAL(tl_filter_links_create(expression, &links, err), 0);
	int rc = tl_filter_links_match(links, linktype, frame, len, len, err);
	CU_ASSERT_EQUAL(tl_filter_links_match(links, linktype, frame, len, len, err), rc);
	CU_ASSERT_EQUAL(tl_filter_links_match(links, 1, udp_frame, sizeof(udp_frame), sizeof(udp_frame), err) < 0,
		tl_filter_links_add(links, 1, err) != 0);
	tl_filter_links_destroy(links);
	return rc;
}

TL_TEST("a filter is compiled for the link type of its frames")
{
	static const uint8_t sll[16] = {0, 4, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0};
	static const uint8_t sll2[20] = {8, 0, 0, 0, 0, 0, 0, 3, 0, 1, 4, 6, 1, 2, 3, 4, 5, 6};
	static const uint8_t little[] = {2, 0, 0, 0}, big[] = {0, 0, 0, 2};
	static const struct {
		uint32_t linktype;
		const uint8_t *header;
		uint32_t bytes;
	} of[] = {{0, little, 4}, {0, big, 4}, {108, big, 4}, {101, sll, 0}, {228, sll, 0}, {113, sll, sizeof(sll)},
		{276, sll2, sizeof(sll2)}};
	struct tl_err err = {.text = ""};

	for (size_t i = 0; i < TL_ARRAY_LEN(of); i++) {
		const uint8_t *header = of[i].header;
		CU_ASSERT_EQUAL(passes_link("udp dst port 5000", of[i].linktype, header, of[i].bytes, &err), 1);
		CU_ASSERT_EQUAL(passes_link("udp src port 5000", of[i].linktype, header, of[i].bytes, &err), 0);
		CU_ASSERT_EQUAL(passes_link("ip and host 192.0.2.1", of[i].linktype, header, of[i].bytes, &err), 1);
	}
	CU_ASSERT_EQUAL(passes_link("outbound", 113, sll, sizeof(sll), &err), 1);
	CU_ASSERT_EQUAL(passes_link("outbound", 276, sll2, sizeof(sll2), &err), 1);
	CU_ASSERT_EQUAL(passes_link("ifindex 3", 276, sll2, sizeof(sll2), &err), 1); // invalid for Ethernet
}

// AF_INET6 is 24 in files of NetBSD and OpenBSD, 28 of FreeBSD, 30 of macOS, in the byte order of that host.
TL_TEST("a filter accepts every address family number of IPv6")
{
	static const uint8_t families[] = {24, 28, 30};
	struct tl_err err = {.text = ""};
	uint8_t frame[4 + 40 + 8] = {
		[4] = 0x60, [4 + 5] = 8, [4 + 6] = 17, [4 + 7] = 64, [44 + 2] = 5000 >> 8, [44 + 3] = 5000 & 255};

	for (size_t i = 0; i < 3 * TL_ARRAY_LEN(families); i++) {
		struct tl_filter_links *links = NULL;
		uint32_t linktype = i % 3 == 2 ? 108 : 0;
		memset(frame, 0, 4);
		frame[i % 3 == 0 ? 0 : 3] = families[i / 3];
		CU_ASSERT_EQUAL_FATAL(tl_filter_links_create("udp dst port 5000", &links, &err), 0);
		CU_ASSERT_EQUAL(tl_filter_links_match(links, linktype, frame, sizeof(frame), sizeof(frame), &err), 1);
		tl_filter_links_destroy(links);
	}
}

TL_TEST("fields that a link type lacks are refused")
{
	struct tl_filter_links *links = NULL;
	struct tl_err err = {.text = ""};

	CU_ASSERT_EQUAL(passes_link("ether host 1:2:3:4:5:6", 101, udp_frame, 0, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "ethernet addresses"));
	CU_ASSERT_EQUAL(tl_filter_links_create("tcp pork 1", &links, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "at character 5"));
	CU_ASSERT_STRING_EQUAL(tl_filter_linktype_name(101), "RAW");
	CU_ASSERT_STRING_EQUAL(tl_filter_linktype_name(276), "LINUX_SLL2");
	CU_ASSERT_STRING_EQUAL(tl_filter_linktype_name(40000), "?");
}

int main(void)
{
	tl_test_eal_start();
	pool = rte_pktmbuf_pool_create("filter", 64, 0, 0, RTE_PKTMBUF_HEADROOM + 2048, 0);
	if (pool == NULL) {
		printf("# no memory for the mbufs\n");
		return 1;
	}
	return tl_test_run("filter");
}
