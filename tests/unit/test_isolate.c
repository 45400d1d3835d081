// SPDX-License-Identifier: BSD-3-Clause
// Isolated ports: the kernel's interface of a device, and the frames that are copied from it.

#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <string.h>

#include <rte_flow.h>

#include <tl_test.h>
#include <tl_units.h>

#include "port_priv.h"

#define FRAME_MAX 128

static const struct tl_ip6 own6 = {{0x20, 0x01, 0x0d, 0xb8, [15] = 1}};
static const struct tl_ip6 group6 = {{0xff, 0x02, [15] = 1}};

struct frame {
	uint8_t bytes[FRAME_MAX];
	uint32_t len;
};

static struct frame frame_of(uint16_t type, uint32_t len)
{
	struct frame f = {.bytes = {0x01, 0x00, 0x5e, [12] = (uint8_t)(type >> 8), (uint8_t)type}, .len = len};

	return f;
}

static struct frame ip4(uint8_t proto, uint32_t dst_be)
{
	struct frame f = frame_of(TL_ETHERTYPE_IPV4, 60);

	f.bytes[14] = 0x45;
	f.bytes[23] = proto;
	memcpy(f.bytes + 30, &dst_be, sizeof(dst_be));
	return f;
}

// Build an ICMPv6 message, behind a hop-by-hop header if it is one of MLD.
static struct frame icmp6(uint8_t type, bool hop_by_hop, const struct tl_ip6 *dst)
{
	struct frame f = frame_of(TL_ETHERTYPE_IPV6, 100);

	f.bytes[14] = 0x60;
	f.bytes[20] = hop_by_hop ? 0 : 58;
	memcpy(f.bytes + 38, dst, sizeof(*dst));
	f.bytes[54] = hop_by_hop ? 58 : type;
	if (hop_by_hop)
		f.bytes[62] = type;
	return f;
}

static bool is_copied(const struct tl_port_cfg *cfg, const struct frame *f)
{
	char text[TL_COPIES_FILTER];
	struct bpf_program program;
	pcap_t *pcap = pcap_open_dead(DLT_EN10MB, 65535);

	tl_copies_filter(cfg, text);
	CU_ASSERT_EQUAL_FATAL(pcap_compile(pcap, &program, text, 1, PCAP_NETMASK_UNKNOWN), 0);
	bool copied = bpf_filter(program.bf_insns, f->bytes, f->len, f->len) != 0;
	pcap_freecode(&program);
	pcap_close(pcap);
	return copied;
}

static void expect_copied(const struct tl_port_cfg *cfg, struct frame f, bool wanted)
{
	CU_ASSERT_EQUAL(is_copied(cfg, &f), wanted);
}

TL_TEST("address resolution and group membership are copied")
{
	const struct tl_port_cfg cfg = {.ip_be = 0x0100000a, .ip6 = own6};
	static const uint8_t discovery[] = {133, 134, 135, 136, 137}, listener[] = {130, 131, 132, 143};

	expect_copied(&cfg, frame_of(TL_ETHERTYPE_ARP, 60), true);
	expect_copied(&cfg, ip4(TL_IPPROTO_IGMP, 0x010000e0), true);
	for (size_t i = 0; i < TL_ARRAY_LEN(discovery); i++)
		expect_copied(&cfg, icmp6(discovery[i], false, &group6), true);
	for (size_t i = 0; i < TL_ARRAY_LEN(listener); i++)
		expect_copied(&cfg, icmp6(listener[i], true, &group6), true);
}

TL_TEST("frames of rules, and of the kernel, are not copied")
{
	const struct tl_port_cfg cfg = {.ip_be = 0x0100000a, .ip6 = own6};

	expect_copied(&cfg, ip4(TL_IPPROTO_IGMP, 0x0100000a), false); // by the rule of the address
	expect_copied(&cfg, icmp6(136, false, &own6), false);
	expect_copied(&cfg, ip4(TL_IPPROTO_UDP, 0x010101ef), false);
	expect_copied(&cfg, ip4(TL_IPPROTO_ICMP, 0x0900000a), false);
	expect_copied(&cfg, icmp6(128, false, &group6), false);
	expect_copied(&cfg, icmp6(144, true, &group6), false);
}

TL_TEST("a port without ip6 copies none of it")
{
	const struct tl_port_cfg cfg = {.ip_be = 0x0100000a};

	expect_copied(&cfg, icmp6(135, false, &group6), false);
	expect_copied(&cfg, frame_of(TL_ETHERTYPE_ARP, 60), true);
}

TL_TEST("the kernel interface of a net_tap is its remote")
{
	static const struct {
		const char *device, *iface; // NULL: none
	} known[] = {{"vdev:net_tap0,iface=t0,remote=eth7", "eth7"}, {"vdev:net_tap0,remote=eth7,mac=fixed", "eth7"},
		{"vdev:net_tap0,iface=t0", NULL}, {"vdev:net_ring0,remote=eth7", NULL}, {"eth7", NULL},
		{"pcap:a,remote=b", NULL}};
	char name[TL_PORT_IFACE_CHARS];

	for (size_t i = 0; i < TL_ARRAY_LEN(known); i++) {
		struct tl_port_spec spec;
		CU_ASSERT_EQUAL_FATAL(tl_port_spec_parse(known[i].device, &spec, NULL), 0);
		CU_ASSERT_EQUAL(tl_port_kernel_iface(&spec, name), known[i].iface != NULL);
		if (known[i].iface != NULL)
			CU_ASSERT_STRING_EQUAL(name, known[i].iface);
	}
}

// ---- the device

static int isolated, answer;

int rte_flow_isolate(uint16_t port_id, int set, struct rte_flow_error *error)
{
	isolated += set;
	error->message = answer != 0 ? "not this one" : NULL;
	return answer;
}

// No address to resolve: no socket, for nobody would read it. A replay sends as well.
TL_TEST("a port without an address is isolated without copies")
{
	static struct tl_port port;

	port.cfg.tx_queues = 1;
	CU_ASSERT_EQUAL_FATAL(tl_port_spec_parse("vdev:net_tap0,remote=eth7", &port.cfg.spec, NULL), 0);
	isolated = answer = 0;
	CU_ASSERT_EQUAL(tl_isolate_device(&port, NULL), 0);
	CU_ASSERT_EQUAL(isolated, 1);
	CU_ASSERT_STRING_EQUAL(port.copies.iface, "eth7");
	CU_ASSERT_PTR_NULL(tl_port_copies(&port));
}

TL_TEST("a driver that does not isolate is an error")
{
	static struct tl_port port;
	struct tl_err err = {""};

	CU_ASSERT_EQUAL_FATAL(tl_port_spec_parse("vdev:net_tap0,remote=eth7", &port.cfg.spec, NULL), 0);
	answer = -ENOTSUP;
	CU_ASSERT_EQUAL(tl_isolate_device(&port, &err), -ENOTSUP);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "does not isolate flows (not this one): omit \"isolate\""));
}

int main(void)
{
	return tl_test_run("isolate");
}
