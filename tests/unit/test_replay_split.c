// SPDX-License-Identifier: BSD-3-Clause
// Side of a frame: the rule as text, and each rule on frames of a file in memory.

#include "replay_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tl_extract_source.h>
#include <tl_filter.h>
#include <tl_test.h>
#include <tl_test_eal.h>
#include <tl_wire.h>

static struct tl_err err;
static struct replay_split split;

// ---- the rule as text

static int parse(const char *text, struct tl_replay_split *out)
{
	return tl_replay_split_parse(text, out, &err);
}

TL_TEST("rules are parsed")
{
	struct tl_replay_split rule;

	CU_ASSERT_TRUE(parse("epb", &rule) == 0 && rule.by == TL_REPLAY_BY_EPB);
	CU_ASSERT_TRUE(parse("clients", &rule) == 0 && rule.by == TL_REPLAY_BY_CLIENTS);
	CU_ASSERT_TRUE(parse("interface", &rule) == 0 && rule.by == TL_REPLAY_BY_INTERFACE && rule.interface_id == 0);
	CU_ASSERT_TRUE(parse("interface:7", &rule) == 0 && rule.interface_id == 7);
	CU_ASSERT_TRUE(parse("filter:tcp src port 80", &rule) == 0 && rule.by == TL_REPLAY_BY_FILTER);
	CU_ASSERT_STRING_EQUAL(rule.filter, "tcp src port 80");
	CU_ASSERT_EQUAL_FATAL(parse("mac:02:00:00:00:00:01,02:00:00:00:00:0a", &rule), 0);
	CU_ASSERT_TRUE(rule.by == TL_REPLAY_BY_MAC && rule.n_macs == 2 && rule.macs[1][5] == 0x0a);
}

TL_TEST("wrong rules are refused")
{
	static const char *const wrong[] = {"", "ep", "epb:1", "clients:", "interface:", "interface:x", "interface:-1",
		"mac", "mac:", "mac:02:00:00:00:00", "mac:02:00:00:00:00:01,", "mac:02:00:00:00:00:01:02:03", "filter",
		"filter:", "mac:02:00:00:00:00:01 ,02:00:00:00:00:02"};
	struct tl_replay_split rule;
	char many[TL_REPLAY_SPLIT_MACS * 18 + 32] = "mac:02:00:00:00:00:01";

	for (size_t i = 0; i < TL_ARRAY_LEN(wrong); i++)
		CU_ASSERT_EQUAL(parse(wrong[i], &rule), -EINVAL);
	for (unsigned i = 1; i < TL_REPLAY_SPLIT_MACS; i++)
		strcat(many, ",02:00:00:00:00:01");
	CU_ASSERT_EQUAL(parse(many, &rule), 0);
	strcat(many, ",02:00:00:00:00:01");
	CU_ASSERT_EQUAL(parse(many, &rule), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "at most 64"));
}

// ---- frames

static void begin(const char *text)
{
	struct tl_replay_split rule = {0};
	struct tl_filter *filter = NULL;

	CU_ASSERT_EQUAL_FATAL(parse(text, &rule), 0);
	if (rule.filter != NULL)
		CU_ASSERT_EQUAL_FATAL(tl_filter_create_plain(rule.filter, &filter, &err), 0);
	struct tl_replay_cfg cfg = {.split = &rule, .split_filter = filter};
	memset(&split, 0, sizeof(split));
	CU_ASSERT_EQUAL_FATAL(replay_split_init(&split, &cfg, &err), 0);
}

static void end(void)
{
	tl_filter_destroy((struct tl_filter *)(uintptr_t)split.filter);
	replay_split_fini(&split);
}

// Make a packet of 60 bytes from 10.0.0.src to 10.0.0.dst, or an IPv6 one from fd00::src to fd00::dst.
static unsigned side_of(uint8_t proto, uint8_t tcp_flags, uint32_t src, uint32_t dst)
{
	uint8_t frame[TL_ETHER_LEN + TL_IPV4_LEN + TL_TCP_LEN + 6] = {0};
	struct tl_ipv4_hdr *ip = (void *)(frame + TL_ETHER_LEN);
	struct tl_tcp_hdr *tcp = (void *)(frame + TL_ETHER_LEN + TL_IPV4_LEN);

	((struct tl_ether_hdr *)frame)->type_be = tl_be16(TL_ETHERTYPE_IPV4);
	*ip = (struct tl_ipv4_hdr){.version_ihl = 0x45,
		.total_len_be = tl_be16(TL_IPV4_LEN + TL_TCP_LEN),
		.ttl = 64,
		.proto = proto,
		.src_be = tl_be32(src),
		.dst_be = tl_be32(dst)};
	tl_wire_ipv4_finish(ip);
	if (proto == TL_IPPROTO_TCP)
		*tcp = (struct tl_tcp_hdr){.data_off = 0x50, .flags = tcp_flags};
	else if (proto == TL_IPPROTO_UDP)
		((struct tl_udp_hdr *)tcp)->len_be = tl_be16(TL_UDP_LEN);
	return replay_side(&split,
		&(struct tl_pcap_frame){.data = frame, .cap_bytes = sizeof(frame), .wire_bytes = sizeof(frame)}, NULL);
}

static unsigned arp_side(uint32_t sender, uint32_t target)
{
	uint8_t frame[TL_ETHER_LEN + TL_ARP_LEN] = {0};

	((struct tl_ether_hdr *)frame)->type_be = tl_be16(TL_ETHERTYPE_ARP);
	*(struct tl_arp_hdr *)(frame + TL_ETHER_LEN) = (struct tl_arp_hdr){.hw_type_be = tl_be16(1),
		.proto_be = tl_be16(TL_ETHERTYPE_IPV4),
		.hw_len = TL_ETHER_ADDR_LEN,
		.proto_len = 4,
		.sender_ip_be = tl_be32(sender),
		.target_ip_be = tl_be32(target)};
	return replay_side(&split,
		&(struct tl_pcap_frame){.data = frame, .cap_bytes = sizeof(frame), .wire_bytes = sizeof(frame)}, NULL);
}

static unsigned side6_of(uint8_t tcp_flags, uint8_t src, uint8_t dst)
{
	uint8_t frame[TL_ETHER_LEN + TL_IPV6_LEN + TL_TCP_LEN] = {0};
	struct tl_ipv6_hdr *ip = (void *)(frame + TL_ETHER_LEN);

	((struct tl_ether_hdr *)frame)->type_be = tl_be16(TL_ETHERTYPE_IPV6);
	*ip = (struct tl_ipv6_hdr){.version_be = tl_be32(UINT32_C(6) << 28),
		.payload_len_be = tl_be16(TL_TCP_LEN),
		.next = TL_IPPROTO_TCP,
		.src = {{0xfd, [15] = src}},
		.dst = {{0xfd, [15] = dst}}};
	*(struct tl_tcp_hdr *)(frame + TL_ETHER_LEN + TL_IPV6_LEN) =
		(struct tl_tcp_hdr){.data_off = 0x50, .flags = tcp_flags};
	return replay_side(&split,
		&(struct tl_pcap_frame){.data = frame, .cap_bytes = sizeof(frame), .wire_bytes = sizeof(frame)}, NULL);
}

#define NET(host) (UINT32_C(0x0a000000) + (host))

TL_TEST("the first SYN distinguishes a client from a server")
{
	begin("clients");
	CU_ASSERT_EQUAL(side_of(TL_IPPROTO_TCP, TL_TCP_SYN, NET(1), NET(2)), 0);
	CU_ASSERT_EQUAL(side_of(TL_IPPROTO_TCP, TL_TCP_SYN | TL_TCP_ACK, NET(2), NET(1)), 1);
	CU_ASSERT_EQUAL(side_of(TL_IPPROTO_TCP, TL_TCP_ACK, NET(1), NET(2)), 0);
	CU_ASSERT_EQUAL(side_of(TL_IPPROTO_TCP, TL_TCP_ACK, NET(2), NET(1)), 1);
	// The recording began after the SYN.
	CU_ASSERT_EQUAL(side_of(TL_IPPROTO_TCP, TL_TCP_SYN | TL_TCP_ACK, NET(4), NET(3)), 1);
	CU_ASSERT_EQUAL(side_of(TL_IPPROTO_TCP, TL_TCP_ACK, NET(3), NET(4)), 0);
	// A server that is also a client keeps its side.
	CU_ASSERT_EQUAL(side_of(TL_IPPROTO_TCP, TL_TCP_SYN, NET(2), NET(5)), 1);
	CU_ASSERT_EQUAL(split.undecided_pkts, 0);
	CU_ASSERT_EQUAL(side6_of(TL_TCP_SYN, 1, 2), 0);
	CU_ASSERT_EQUAL(side6_of(TL_TCP_ACK, 2, 1), 1);
	end();
}

TL_TEST("without a SYN the other end of a packet tells, or UDP")
{
	begin("clients");
	CU_ASSERT_EQUAL(side_of(TL_IPPROTO_TCP, TL_TCP_ACK, NET(1), NET(2)), 0);
	CU_ASSERT_EQUAL(side_of(TL_IPPROTO_ICMP, 0, NET(2), NET(1)), 0);
	CU_ASSERT_EQUAL(arp_side(NET(2), NET(1)), 0);
	CU_ASSERT_EQUAL(split.undecided_pkts, 3);
	CU_ASSERT_EQUAL(side_of(TL_IPPROTO_UDP, 0, NET(1), NET(9)), 0);
	CU_ASSERT_EQUAL(side_of(TL_IPPROTO_UDP, 0, NET(9), NET(1)), 1);
	CU_ASSERT_EQUAL(arp_side(NET(2), NET(1)), 1); // resolves a client
	CU_ASSERT_EQUAL(side_of(TL_IPPROTO_TCP, TL_TCP_ACK, NET(2), NET(7)), 1);
	CU_ASSERT_EQUAL(side_of(TL_IPPROTO_UDP, 0, NET(8), NET(9)), 0); // sends to a server
	CU_ASSERT_EQUAL(split.undecided_pkts, 3);
	end();
}

TL_TEST("a group and the broadcast address are on no side")
{
	begin("clients");
	CU_ASSERT_EQUAL(side_of(TL_IPPROTO_UDP, 0, NET(1), UINT32_C(0xef000001)), 0);
	CU_ASSERT_EQUAL(side_of(TL_IPPROTO_UDP, 0, NET(1), UINT32_MAX), 0);
	CU_ASSERT_EQUAL(side_of(TL_IPPROTO_TCP, TL_TCP_SYN | TL_TCP_ACK, NET(2), NET(1)), 1);
	CU_ASSERT_EQUAL(side_of(TL_IPPROTO_UDP, 0, NET(2), UINT32_MAX), 1);
	CU_ASSERT_EQUAL(side_of(TL_IPPROTO_ICMP, 0, NET(3), UINT32_C(0xef000001)), 0);
	CU_ASSERT_EQUAL(split.undecided_pkts, 1);
	end();
}

TL_TEST("each loop decides anew")
{
	begin("clients");
	CU_ASSERT_EQUAL(side_of(TL_IPPROTO_TCP, TL_TCP_SYN | TL_TCP_ACK, NET(2), NET(1)), 1);
	replay_split_restart(&split);
	CU_ASSERT_EQUAL(side_of(TL_IPPROTO_TCP, TL_TCP_ACK, NET(2), NET(1)), 0);
	CU_ASSERT_EQUAL(split.undecided_pkts, 1);
	end();
}

TL_TEST("frames of addresses beyond the limit are undecided, and counted")
{
	begin("clients");
	for (uint32_t i = 0; i < 2 * TL_REPLAY_SPLIT_HOSTS; i++)
		(void)side_of(TL_IPPROTO_TCP, TL_TCP_SYN | TL_TCP_ACK, NET(2 * i), NET(2 * i + 1));
	CU_ASSERT_TRUE(split.unknown_hosts > 0);
	CU_ASSERT_TRUE(split.undecided_pkts > TL_REPLAY_SPLIT_HOSTS);
	CU_ASSERT_EQUAL(side_of(TL_IPPROTO_TCP, TL_TCP_ACK, NET(0), NET(1)), 1);
	end();
}

TL_TEST("source MACs and filters choose the side")
{
	uint8_t bytes[TL_ETHER_MIN_FRAME] = {[6] = 2, [11] = 5};
	struct tl_pcap_frame frame = {.data = bytes, .cap_bytes = sizeof(bytes), .wire_bytes = sizeof(bytes)};

	begin("mac:02:00:00:00:00:04,02:00:00:00:00:05");
	CU_ASSERT_EQUAL(replay_side(&split, &frame, NULL), 0);
	bytes[11] = 6;
	CU_ASSERT_EQUAL(replay_side(&split, &frame, NULL), 1);
	end();
	begin("filter:ether src 02:00:00:00:00:05");
	CU_ASSERT_EQUAL(replay_side(&split, &frame, NULL), 1);
	bytes[11] = 5;
	CU_ASSERT_EQUAL(replay_side(&split, &frame, NULL), 0);
	end();
	CU_ASSERT_EQUAL(split.undecided_pkts, 0);
}

// ---- records

static uint8_t file[8 << 20];
static uint32_t file_bytes;

static void add(uint32_t interface_id, uint32_t flags)
{
	const struct tl_pcapng_epb epb = {
		.interface_id = interface_id, .cap_bytes = 1000, .wire_bytes = 1000, .flags = flags};

	tl_pcapng_put_epb(file + file_bytes, &epb);
	file_bytes += tl_pcapng_epb_bytes(1000, flags, 0);
}

// Write a file of several windows: interfaces 0 and 1 in turn, and inbound, outbound, unknown.
static void save(const char *path)
{
	file_bytes = tl_pcapng_put_shb(file, sizeof(file), &(struct tl_pcapng_shb){0});
	for (unsigned i = 0; i < 2; i++)
		file_bytes += tl_pcapng_put_idb(
			file + file_bytes, sizeof(file) - file_bytes, &(struct tl_pcapng_idb){.name = "a"});
	for (uint32_t i = 0; i < 6000; i++)
		add(i % 2, i % 3 == 0 ? TL_PCAPNG_INBOUND : i % 3 == 1 ? TL_PCAPNG_OUTBOUND : 0);
	FILE *out = fopen(path, "wb");
	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	CU_ASSERT_EQUAL(fwrite(file, 1, file_bytes, out), file_bytes);
	fclose(out);
}

static void expect_sides(const char *path, const char *rule, unsigned (*expected)(uint32_t i))
{
	struct tl_extract_source source;
	struct tl_pcap_frame frame;
	unsigned wrong = 0;

	begin(rule);
	CU_ASSERT_EQUAL_FATAL(tl_extract_source_open(&source, path, &err), 0);
	for (uint32_t i = 0; tl_extract_source_next(&source, &frame, &err) == 1; i++)
		wrong += replay_side(&split, &frame, source.reader) != expected(i);
	tl_extract_source_close(&source);
	CU_ASSERT_EQUAL(wrong, 0);
	end();
}

static unsigned inbound(uint32_t i)
{
	return i % 3 == 0;
}

static unsigned second_interface(uint32_t i)
{
	return i % 2;
}

static unsigned first_interface(uint32_t i)
{
	return i % 2 == 0;
}

TL_TEST("epb_flags and interfaces of records choose the side, in each window of a file")
{
	char path[] = "/tmp/tapline-test-split-XXXXXX";

	close(mkstemp(path));
	save(path);
	expect_sides(path, "epb", inbound);
	CU_ASSERT_EQUAL(split.undecided_pkts, 2000);
	expect_sides(path, "interface", second_interface);
	expect_sides(path, "interface:1", first_interface);
	unlink(path);
}

int main(void)
{
	tl_test_eal_start();
	return tl_test_run("replay_split");
}
