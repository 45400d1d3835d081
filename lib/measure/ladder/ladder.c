// SPDX-License-Identifier: BSD-3-Clause
// Table of all rungs, and the frames that the sender sends.

#include "ladder_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <stdlib.h>

static const char socket_drops[] = "tp_drops of PACKET_STATISTICS";
static const char xdp_drops[] = "rx_dropped and rx_ring_full of XDP_STATISTICS";

static const struct tl_ladder_rung rungs[] = {
	{"udp", NULL,
		"the whole stack per datagram: routing, socket lookup, an skb, a wake-up, a system call and a copy",
		"SK_MEMINFO_DROPS of the socket", &ladder_udp, .fanout = TL_LADDER_ALONE, .addressed = true},
	{"recv", "udp",
		"no IP and no UDP, but a clone of the skb, and still a lock, a wake-up, a system call and a copy per frame",
		socket_drops, &ladder_recv, .fanout = TL_LADDER_ALONE},
	{"recv-fanout-hash", "recv",
		"recv on a thread per CPU, chosen by the hash of the flow; each socket has a queue and a lock of its own",
		socket_drops, &ladder_recv, .fanout = PACKET_FANOUT_HASH},
	{"recvmmsg", "recv", "up to 64 frames per system call; the skb, the lock and the copy of each frame remain",
		socket_drops, &ladder_recvmmsg, .fanout = TL_LADDER_ALONE},
	{"io_uring", "recvmmsg",
		"one multishot request instead of calls: completions in shared memory; skb, lock and copy remain",
		socket_drops, &ladder_uring, .fanout = TL_LADDER_ALONE},
	{"io_uring-zc", "io_uring",
		"the NIC writes the payload to memory of the program: no copy; Linux does this for TCP only", "none",
		&ladder_uring_zc, .fanout = TL_LADDER_ALONE, .takes = true},
	{"ring-v2", "recvmmsg",
		"the softirq copies into a ring that the program has mapped: no call and no second copy, a slot of fixed size per frame",
		socket_drops, &ladder_ring2, .fanout = TL_LADDER_ALONE},
	{"ring-v3", "ring-v2", "frames packed into blocks: one status word and one wake-up per block", socket_drops,
		&ladder_ring3, .fanout = TL_LADDER_ALONE},
	{"ring-v3-copy", "ring-v3",
		"the same, and each frame is kept: copied whole into memory of the program, as a pcap record",
		socket_drops, &ladder_ring3_copy, .fanout = TL_LADDER_ALONE},
	{"pcap", "ring-v3", "libpcap, which reads such a ring; a callback per frame", "ps_drop of libpcap",
		&ladder_pcap, .mode = LADDER_BUFFERED, .fanout = TL_LADDER_ALONE},
	{"pcap-dump", "pcap", "what tcpdump -w does: pcap_dump() to /dev/null, by the buffer of stdio",
		"ps_drop of libpcap", &ladder_pcap, .mode = LADDER_DUMP, .fanout = TL_LADDER_ALONE},
	{"pcap-immediate", "pcap",
		"a ring of fixed slots (V2) that wakes the program for each frame: less latency, more wake-ups",
		"ps_drop of libpcap", &ladder_pcap, .mode = LADDER_IMMEDIATE, .fanout = TL_LADDER_ALONE},
	{"ring-v3-hash", "ring-v3", "a ring and a thread per CPU, chosen by the hash of the flow", socket_drops,
		&ladder_ring3, .fanout = PACKET_FANOUT_HASH},
	{"ring-v3-cpu", "ring-v3",
		"a ring and a thread per CPU, chosen by the CPU of the softirq; without RSS all frames go to one",
		socket_drops, &ladder_ring3, .fanout = PACKET_FANOUT_CPU},
	{"ring-v3-queue", "ring-v3",
		"a ring and a thread per CPU, chosen by the receive queue; one queue feeds one thread", socket_drops,
		&ladder_ring3, .fanout = PACKET_FANOUT_QM},
	{"ring-v3-rnd", "ring-v3", "a ring and a thread per CPU, chosen at random: even load, flows are split",
		socket_drops, &ladder_ring3, .fanout = PACKET_FANOUT_RND},
	{"ring-v3-rollover", "ring-v3", "one thread until its ring is full, then the next", socket_drops, &ladder_ring3,
		.fanout = PACKET_FANOUT_ROLLOVER},
	{"ring-v3-cbpf", "ring-v3",
		"a ring and a thread per CPU, chosen by a classic BPF program that reads the source port", socket_drops,
		&ladder_ring3, .fanout = PACKET_FANOUT_CBPF},
	{"ring-v3-ebpf", "ring-v3-cbpf", "the same choice by an eBPF program", socket_drops, &ladder_ring3,
		.fanout = PACKET_FANOUT_EBPF},
	{"xdp-skb", "ring-v3",
		"AF_XDP after the driver: the frame is redirected before the stack, and copied to memory of the program",
		xdp_drops, &ladder_xdp, .mode = LADDER_XDP_SKB, .fanout = TL_LADDER_ALONE, .takes = true},
	{"xdp-copy", "xdp-skb", "AF_XDP in the driver: the program decides before an skb is made; one copy remains",
		xdp_drops, &ladder_xdp, .mode = LADDER_XDP_COPY, .fanout = TL_LADDER_ALONE, .takes = true},
	{"xdp-zerocopy", "xdp-copy", "the NIC writes to memory of the program: no copy", xdp_drops, &ladder_xdp,
		.mode = LADDER_XDP_ZEROCOPY, .fanout = TL_LADDER_ALONE, .takes = true},
	{"xdp-busy", "xdp-copy", "the thread runs the receive routine of the driver itself, and never sleeps",
		xdp_drops, &ladder_xdp, .mode = LADDER_XDP_BUSY, .fanout = TL_LADDER_ALONE, .polls = true,
		.takes = true},
	{"dpdk-af_packet", "ring-v2",
		"DPDK's driver on such a ring: polls instead of wake-ups, and a second copy, to an mbuf",
		"tp_drops of the driver's socket", &ladder_dpdk, .mode = LADDER_DPDK_PACKET, .fanout = TL_LADDER_ALONE,
		.polls = true, .forgets = true},
	{"dpdk-af_xdp", "xdp-copy",
		"DPDK's driver on AF_XDP: polls, and its mbufs are the memory that the kernel writes to",
		"rx_dropped and rx_ring_full of the driver's socket", &ladder_dpdk, .mode = LADDER_DPDK_XDP,
		.fanout = TL_LADDER_ALONE, .polls = true, .takes = true},
	{"dpdk-memory", "dpdk-af_packet",
		"no kernel below the driver: frames copied from memory to mbufs show the cost of the loop",
		"none: it creates a frame when the loop polls", &ladder_dpdk, .mode = LADDER_DPDK_MEMORY,
		.fanout = TL_LADDER_ALONE, .polls = true, .own_source = true},
	{"dpdk-nic", "dpdk-memory",
		"the NIC writes the frames to mbufs itself: no copy, but descriptors to read, and frames that are not in the cache",
		"the drop counters of the NIC's driver", &ladder_nic, .fanout = TL_LADDER_ALONE, .polls = true,
		.nic = true},
};

const struct tl_ladder_rung *tl_ladder_rungs(unsigned *n)
{
	*n = TL_ARRAY_LEN(rungs);
	return rungs;
}

int tl_ladder_open(
	const struct tl_ladder_rung *rung, const struct tl_ladder_cfg *cfg, void **out_lane, struct tl_err *err)
{
	void *lane = calloc(1, rung->ops->lane_bytes);

	if (lane == NULL)
		return tl_fail(err, -ENOMEM, "not enough memory");
	int rc = rung->ops->open(lane, rung, cfg, err);
	if (rc == 0)
		*out_lane = lane;
	else
		tl_ladder_close(rung, lane);
	return rc;
}

void tl_ladder_close(const struct tl_ladder_rung *rung, void *lane)
{
	rung->ops->close(lane);
	free(lane);
}

static void put16(uint8_t *to, uint32_t value)
{
	to[0] = (uint8_t)(value >> 8);
	to[1] = (uint8_t)value;
}

static void put32(uint8_t *to, uint32_t value)
{
	put16(to, value >> 16);
	put16(to + 2, value);
}

// RFC 791 section 3.1: the ones' complement sum of the header.
static uint32_t header_checksum(const uint8_t ip[20])
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < 20; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	return ~(sum + (sum >> 16)) & 0xffff;
}

void tl_ladder_frame(uint8_t *frame, uint32_t size_bytes, const uint8_t to[6], const uint8_t from[6])
{
	uint8_t *ip = frame + 14, *udp = ip + 20;

	memset(frame, 0, size_bytes);
	memcpy(frame, to, 6);
	memcpy(frame + 6, from, 6);
	put16(frame + 12, 0x0800);
	ip[0] = 0x45;
	put16(ip + 2, size_bytes - 14);
	ip[8] = 64;
	ip[9] = 17;
	put32(ip + 12, TL_LADDER_TX_IP);
	put32(ip + 16, TL_LADDER_RX_IP);
	put16(ip + 10, header_checksum(ip));
	put16(udp, 0x4000); // source port; checksum 0: none (RFC 768)
	put16(udp + 2, TL_LADDER_UDP_PORT);
	put16(udp + 4, size_bytes - 34);
	tl_ladder_number(frame, 0, 0);
}
