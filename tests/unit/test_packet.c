// SPDX-License-Identifier: BSD-3-Clause
// Receive ring of a kernel interface, with blocks filled by the test in place of the kernel.

#include <linux/if_packet.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include <tl_clock.h>
#include <tl_test.h>
#include <tl_test_eal.h>

#include "port_priv.h"

#define BLOCKS 4u
#define FRAME_MAX 1522
#define FRAME_OFFSET 96 // after the frame's header: addresses, and room for a tag
#define STATUS_TAGGED (TP_STATUS_VLAN_VALID | TP_STATUS_VLAN_TPID_VALID)

static struct tl_clock *test_clock;

struct rig {
	uint8_t *ring;
	struct tl_packet_queue packet;
	struct tl_rxq q;
	struct tl_burst burst;
	uint32_t filling; // the block being filled
	uint32_t fill_pkts;
	uint8_t *fill_at;
};

static struct rig rig;

static void rig_begin(void)
{
	memset(&rig, 0, sizeof(rig));
	rig.ring = calloc(BLOCKS, TL_PACKET_BLOCK_BYTES);
	CU_ASSERT_PTR_NOT_NULL_FATAL(rig.ring);
	tl_packet_init(&rig.packet, rig.ring, BLOCKS);
	rig.q = (struct tl_rxq){.burst = tl_packet_burst,
		.free = tl_packet_free,
		.frame_max = FRAME_MAX,
		.clock = test_clock,
		.backend = &rig.packet};
}

static void rig_end(void)
{
	free(rig.ring);
}

static struct tpacket_hdr_v1 *filling_head(void)
{
	uint8_t *block = rig.ring + (size_t)rig.filling * TL_PACKET_BLOCK_BYTES;

	return &((struct tpacket_block_desc *)block)->hdr.bh1;
}

// Put a frame of len bytes of value into the block being filled.
static void kernel_puts(uint32_t len, uint8_t value, struct tpacket3_hdr as, uint8_t pkttype)
{
	if (rig.fill_pkts++ == 0) {
		rig.fill_at = rig.ring + (size_t)rig.filling * TL_PACKET_BLOCK_BYTES + 48;
		filling_head()->offset_to_first_pkt = 48;
	}
	struct sockaddr_ll from = {.sll_pkttype = pkttype};
	as.tp_mac = FRAME_OFFSET;
	as.tp_snaplen = len;
	as.tp_len = as.tp_len != 0 ? as.tp_len : len;
	as.tp_next_offset = (uint32_t)tl_align_up(FRAME_OFFSET + len, 8);
	memcpy(rig.fill_at, &as, sizeof(as));
	memcpy(rig.fill_at + TPACKET_ALIGN(sizeof(as)), &from, sizeof(from));
	memset(rig.fill_at + FRAME_OFFSET, value, len);
	rig.fill_at += as.tp_next_offset;
}

static void kernel_puts_plain(uint32_t len, uint8_t value)
{
	kernel_puts(len, value, (struct tpacket3_hdr){0}, PACKET_HOST);
}

static void kernel_retires_block(void)
{
	filling_head()->num_pkts = rig.fill_pkts;
	filling_head()->block_status = TP_STATUS_USER;
	rig.filling = (rig.filling + 1) % BLOCKS;
	rig.fill_pkts = 0;
}

static bool is_kernels(uint32_t block)
{
	uint8_t *head = rig.ring + (size_t)block * TL_PACKET_BLOCK_BYTES;

	return ((struct tpacket_block_desc *)head)->hdr.bh1.block_status == TP_STATUS_KERNEL;
}

static uint16_t receive(void)
{
	return rig.q.burst(&rig.q, &rig.burst);
}

static void free_burst(void)
{
	tl_rxq_free(&rig.q, &rig.burst);
}

static uint8_t first_byte(uint16_t i)
{
	return *rte_pktmbuf_mtod(rig.burst.pkts[i], uint8_t *);
}

// ----

TL_TEST("frames arrive in bursts, and a block is returned when all are freed")
{
	rig_begin();
	for (unsigned i = 0; i < TL_BURST + 10; i++)
		kernel_puts_plain(60, (uint8_t)i);
	CU_ASSERT_EQUAL(receive(), 0);
	kernel_retires_block();
	CU_ASSERT_EQUAL(receive(), TL_BURST);
	CU_ASSERT_EQUAL(first_byte(63), 63);
	free_burst();
	CU_ASSERT_EQUAL(receive(), 10);
	CU_ASSERT_EQUAL(first_byte(9), TL_BURST + 9);
	CU_ASSERT_EQUAL(rig.burst.pkts[9]->pkt_len, 60);
	CU_ASSERT_FALSE(is_kernels(0));
	free_burst();
	CU_ASSERT_FALSE(is_kernels(0));
	CU_ASSERT_EQUAL(receive(), 0);
	CU_ASSERT(is_kernels(0));
	CU_ASSERT_EQUAL(rig.q.stats.rx_pkts, TL_BURST + 10);
	CU_ASSERT_EQUAL(rig.q.stats.rx_bytes, (TL_BURST + 10) * 60);
	rig_end();
}

TL_TEST("the ring wraps")
{
	rig_begin();
	for (unsigned round = 0; round < 3 * BLOCKS + 1; round++) {
		CU_ASSERT_EQUAL(receive(), 0);
		CU_ASSERT_EQUAL(receive(), 0);
		kernel_puts_plain(60, (uint8_t)round);
		kernel_retires_block();
		CU_ASSERT_EQUAL(receive(), 1);
		CU_ASSERT_EQUAL(first_byte(0), round);
		free_burst();
	}
	rig_end();
}

// The kernel may hand over an empty block.
TL_TEST("an empty block is returned")
{
	rig_begin();
	kernel_retires_block();
	CU_ASSERT_EQUAL(receive(), 0);
	kernel_puts_plain(60, 7);
	kernel_retires_block();
	CU_ASSERT_EQUAL(receive(), 1);
	CU_ASSERT_EQUAL(first_byte(0), 7);
	CU_ASSERT(is_kernels(0));
	free_burst();
	rig_end();
}

TL_TEST("a referenced frame stays intact, and the port does not reuse its block")
{
	rig_begin();
	for (unsigned i = 0; i < 3; i++)
		kernel_puts_plain(60, (uint8_t)(10 + i));
	kernel_retires_block();
	CU_ASSERT_EQUAL(receive(), 3);
	struct rte_mbuf *kept = rig.burst.pkts[1];
	rte_mbuf_refcnt_update(kept, 1);
	free_burst();
	kernel_puts_plain(60, 99);
	kernel_retires_block();
	CU_ASSERT_EQUAL(receive(), 0);
	CU_ASSERT_EQUAL(receive(), 0);
	CU_ASSERT_FALSE(is_kernels(0));
	CU_ASSERT_EQUAL(*rte_pktmbuf_mtod(kept, uint8_t *), 11);
	rte_pktmbuf_free(kept);
	CU_ASSERT_EQUAL(receive(), 1);
	CU_ASSERT_EQUAL(first_byte(0), 99);
	CU_ASSERT(is_kernels(0));
	free_burst();
	rig_end();
}

TL_TEST("frames freed as those of a pool return to the port, too")
{
	rig_begin();
	kernel_puts_plain(60, 1);
	kernel_puts_plain(65550, 2);
	kernel_retires_block();
	CU_ASSERT_EQUAL(receive(), 2);
	rte_pktmbuf_free_bulk(rig.burst.pkts, rig.burst.n);
	kernel_puts_plain(60, 3);
	kernel_retires_block();
	CU_ASSERT_EQUAL(receive(), 1);
	CU_ASSERT_EQUAL(first_byte(0), 3);
	free_burst();
	rig_end();
}

TL_TEST("time and direction are taken from the kernel")
{
	struct tpacket3_hdr at = {.tp_sec = 4000000000u, .tp_nsec = 999999999};

	rig_begin();
	kernel_puts_plain(60, 0);
	kernel_puts(60, 1, at, PACKET_OUTGOING);
	kernel_puts(60, 2, at, PACKET_OTHERHOST);
	kernel_retires_block();
	CU_ASSERT_EQUAL(receive(), 3);
	CU_ASSERT_EQUAL(rig.burst.sent, 2);
	CU_ASSERT_EQUAL(rig.burst.ts_ns[1], UINT64_C(4000000000999999999));
	free_burst();
	kernel_puts_plain(60, 0);
	kernel_retires_block();
	CU_ASSERT_EQUAL(receive(), 1);
	CU_ASSERT_EQUAL(rig.burst.sent, 0);
	free_burst();
	rig_end();
}

TL_TEST("with source tsc the time is that of the poll")
{
	rig_begin();
	rig.q.burst = tl_packet_polled_burst;
	kernel_puts(60, 1, (struct tpacket3_hdr){.tp_sec = 5}, PACKET_OUTGOING);
	kernel_puts_plain(60, 2);
	kernel_retires_block();
	CU_ASSERT_EQUAL(receive(), 2);
	CU_ASSERT_EQUAL(rig.burst.sent, 1);
	CU_ASSERT_EQUAL(rig.burst.ts_ns[0], tl_clock_wall_ns(test_clock, rig.burst.tsc));
	CU_ASSERT_EQUAL(rig.burst.ts_ns[1], rig.burst.ts_ns[0]);
	free_burst();
	rig_end();
}

TL_TEST("a stripped tag is restored between addresses and EtherType")
{
	static const uint8_t tagged[] = {5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 0x88, 0xa8, 0xe0, 0x07, 5, 5, 5};
	static const uint8_t plain_tpid[] = {5, 5, 0x81, 0x00, 0x00, 0x00, 5, 5};
	struct tpacket3_hdr with_tpid = {
		.tp_status = STATUS_TAGGED, .hv1 = {.tp_vlan_tci = 0xe007, .tp_vlan_tpid = 0x88a8}};
	struct tpacket3_hdr without = {.tp_status = TP_STATUS_VLAN_VALID};

	rig_begin();
	kernel_puts(60, 5, with_tpid, PACKET_HOST);
	kernel_puts(60, 5, without, PACKET_HOST); // tag 0 counts
	kernel_puts_plain(60, 6);
	kernel_retires_block();
	CU_ASSERT_EQUAL(receive(), 3);
	CU_ASSERT_EQUAL(rig.burst.pkts[0]->pkt_len, 64);
	CU_ASSERT_EQUAL(rig.burst.wire_bytes[0], 64);
	CU_ASSERT_EQUAL(memcmp(rte_pktmbuf_mtod(rig.burst.pkts[0], uint8_t *), tagged, sizeof(tagged)), 0);
	CU_ASSERT_EQUAL(memcmp(rte_pktmbuf_mtod(rig.burst.pkts[1], uint8_t *) + 10, plain_tpid, sizeof(plain_tpid)), 0);
	CU_ASSERT_EQUAL(rig.burst.pkts[2]->pkt_len, 60);
	CU_ASSERT_EQUAL(rig.q.stats.altered_pkts, 0);
	free_burst();
	rig_end();
}

TL_TEST("frames that differ from the wire are counted")
{
	rig_begin();
	kernel_puts_plain(FRAME_MAX, 1);
	kernel_puts_plain(FRAME_MAX + 1, 2);
	kernel_puts(100, 3, (struct tpacket3_hdr){.tp_len = 1000}, PACKET_HOST);
	kernel_retires_block();
	CU_ASSERT_EQUAL(receive(), 3);
	CU_ASSERT_EQUAL(rig.q.stats.altered_pkts, 2);
	CU_ASSERT_EQUAL(rig.burst.wire_bytes[2], 1000);
	CU_ASSERT_EQUAL(rig.burst.pkts[2]->pkt_len, 100);
	free_burst();
	rig_end();
}

static uint32_t count_bytes(const struct rte_mbuf *m, uint8_t value)
{
	uint32_t n = 0;

	for (; m != NULL; m = m->next)
		for (uint16_t i = 0; i < m->data_len; i++)
			n += rte_pktmbuf_mtod(m, const uint8_t *)[i] == value;
	return n;
}

// The mbufs are plain again after the free.
TL_TEST("frames too long for one mbuf are chained")
{
	rig_begin();
	for (unsigned i = 0; i < 3; i++)
		kernel_puts_plain(65550, (uint8_t)(1 + i));
	for (unsigned i = 0; i < TL_BURST; i++)
		kernel_puts_plain(60, 9);
	kernel_retires_block();
	uint16_t n = receive();
	CU_ASSERT(n > 3);
	for (uint16_t i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(rig.burst.pkts[i]->pkt_len, 65550);
		CU_ASSERT_EQUAL(rig.burst.pkts[i]->nb_segs, 2);
		CU_ASSERT_EQUAL(count_bytes(rig.burst.pkts[i], (uint8_t)(1 + i)), 65550);
	}
	free_burst();
	CU_ASSERT_EQUAL(n + receive(), 3 + TL_BURST);
	for (uint16_t i = 0; i < rig.burst.n; i++)
		CU_ASSERT(rig.burst.pkts[i]->nb_segs == 1 && rig.burst.pkts[i]->next == NULL);
	free_burst();
	kernel_puts_plain(TL_PACKET_BLOCK_BYTES - 4096, 4);
	kernel_retires_block();
	CU_ASSERT_EQUAL(receive(), 1);
	CU_ASSERT_EQUAL(count_bytes(rig.burst.pkts[0], 4), TL_PACKET_BLOCK_BYTES - 4096);
	free_burst();
	rig_end();
}

int main(void)
{
	tl_test_eal_start();
	test_clock = tl_clock_create();
	return tl_test_run("packet");
}
