// SPDX-License-Identifier: BSD-3-Clause
// A kernel interface that also sends: a ring whose slots are filled by the test in place of the kernel, and a socket
// pair in place of the interface.

#include <errno.h>
#include <linux/if_packet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_mbuf.h>

#include <tl_clock.h>
#include <tl_test.h>
#include <tl_test_eal.h>

#include "port_priv.h"

#define SLOTS 128u
#define SLOT_BYTES 2048u
#define MBUFS 200u
#define FRAME_MAX 1522
#define FRAME_OFFSET 80 // after the slot's header: addresses, and room for a tag
#define STATUS_TAGGED (TP_STATUS_VLAN_VALID | TP_STATUS_VLAN_TPID_VALID)
#define SEND_BUFFER 4608 // the kernel's minimum
#define LONG_BYTES 12000 // more than that

static struct tl_clock *test_clock;
static struct rte_mempool *pool;

struct rig {
	uint8_t *ring;
	struct tl_slot_queue slots;
	struct tl_rxq rx;
	struct tl_txq tx;
	struct tl_burst burst;
	struct tl_burst sent;
	uint32_t filling; // the slot being filled
	int wire;	  // the other end
	uint64_t recorded;
};

static struct rig rig;

static void record(void *ctx, struct tl_burst *sent)
{
	rig.recorded += sent->n;
}

static void rig_begin(void)
{
	int fds[2];
	const int bytes = SEND_BUFFER;

	memset(&rig, 0, sizeof(rig));
	rig.ring = calloc(SLOTS, SLOT_BYTES);
	CU_ASSERT_PTR_NOT_NULL_FATAL(rig.ring);
	CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, fds), 0);
	CU_ASSERT_EQUAL(setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)), 0);
	rig.wire = fds[1];
	rig.slots = (struct tl_slot_queue){
		.ring = rig.ring, .pool = pool, .slots = SLOTS, .slot_bytes = SLOT_BYTES, .fd = fds[0]};
	rig.rx = (struct tl_rxq){.burst = tl_slot_burst,
		.frame_max = FRAME_MAX,
		.source = TL_TS_KERNEL,
		.clock = test_clock,
		.backend = &rig.slots};
	rig.tx = (struct tl_txq){.flush_fn = tl_slot_flush,
		.send = tl_slot_send,
		.sent = &rig.sent,
		.on_sent = record,
		.clock = test_clock,
		.backend = &rig.slots};
}

static void rig_end(void)
{
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(pool), 0);
	close(rig.slots.fd);
	close(rig.wire);
	free(rig.ring);
}

static struct tpacket2_hdr *slot(uint32_t i)
{
	return (struct tpacket2_hdr *)(rig.ring + (size_t)(i % SLOTS) * SLOT_BYTES);
}

// Put a frame of len bytes of value into the next slot.
static void kernel_puts(uint32_t len, uint8_t value, struct tpacket2_hdr as, uint8_t pkttype)
{
	struct tpacket2_hdr *h = slot(rig.filling++);
	const struct sockaddr_ll from = {.sll_pkttype = pkttype};

	as.tp_mac = FRAME_OFFSET;
	as.tp_snaplen = len;
	as.tp_len = as.tp_len != 0 ? as.tp_len : len;
	as.tp_status |= TP_STATUS_USER;
	memcpy((uint8_t *)h + TPACKET_ALIGN(sizeof(*h)), &from, sizeof(from));
	memset((uint8_t *)h + FRAME_OFFSET, value, len);
	*h = as;
}

static void kernel_puts_plain(uint32_t len, uint8_t value)
{
	kernel_puts(len, value, (struct tpacket2_hdr){0}, PACKET_HOST);
}

static uint16_t receive(void)
{
	return rig.rx.burst(&rig.rx, &rig.burst);
}

static void free_burst(void)
{
	rte_pktmbuf_free_bulk(rig.burst.pkts, rig.burst.n);
}

static const uint8_t *frame(uint16_t i)
{
	return rte_pktmbuf_mtod(rig.burst.pkts[i], const uint8_t *);
}

static struct rte_mbuf *mbuf_of(uint16_t len, uint8_t value)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	m->data_len = len;
	m->pkt_len = len;
	memset(rte_pktmbuf_mtod(m, void *), value, len);
	return m;
}

// Read a sent frame: its length, and its first byte. 0: none.
static size_t wire_has(uint8_t *first)
{
	uint8_t bytes[LONG_BYTES];
	ssize_t n = recv(rig.wire, bytes, sizeof(bytes), 0);

	*first = n > 0 ? bytes[0] : 0;
	return n > 0 ? (size_t)n : 0;
}

// ---- received frames

TL_TEST("a frame is visible at once, and its slot is returned after the copy")
{
	rig_begin();
	CU_ASSERT_EQUAL(receive(), 0);
	kernel_puts_plain(60, 7);
	CU_ASSERT_EQUAL(receive(), 1);
	CU_ASSERT_EQUAL(slot(0)->tp_status, TP_STATUS_KERNEL);
	kernel_puts_plain(1514, 8);
	CU_ASSERT_EQUAL(frame(0)[59], 7);
	CU_ASSERT_EQUAL(rig.burst.pkts[0]->pkt_len, 60);
	free_burst();
	CU_ASSERT_EQUAL(receive(), 1);
	CU_ASSERT_EQUAL(frame(0)[1513], 8);
	CU_ASSERT_EQUAL(rig.burst.pkts[0]->data_len, 1514);
	free_burst();
	CU_ASSERT_EQUAL(rig.rx.stats.rx_pkts, 2);
	CU_ASSERT_EQUAL(rig.rx.stats.rx_bytes, 1574);
	rig_end();
}

TL_TEST("the ring wraps, in bursts")
{
	rig_begin();
	for (uint32_t round = 0; round < 5; round++) {
		for (uint32_t i = 0; i < TL_BURST + 10; i++)
			kernel_puts_plain(60, (uint8_t)(round + i));
		CU_ASSERT_EQUAL(receive(), TL_BURST);
		CU_ASSERT_EQUAL(frame(63)[0], (uint8_t)(round + 63));
		free_burst();
		CU_ASSERT_EQUAL(receive(), 10);
		CU_ASSERT_EQUAL(frame(9)[0], (uint8_t)(round + TL_BURST + 9));
		free_burst();
	}
	CU_ASSERT_EQUAL(rig.rx.stats.rx_pkts, 5 * (TL_BURST + 10));
	rig_end();
}

TL_TEST("a frame without an mbuf waits in its slot")
{
	struct rte_mbuf *all[MBUFS];
	unsigned n = 0;

	rig_begin();
	while (n < MBUFS && (all[n] = rte_pktmbuf_alloc(pool)) != NULL)
		n++;
	kernel_puts_plain(60, 1);
	CU_ASSERT_EQUAL(receive(), 0);
	CU_ASSERT_EQUAL(slot(0)->tp_status, TP_STATUS_USER);
	rte_pktmbuf_free_bulk(all, n);
	CU_ASSERT_EQUAL(receive(), 1);
	CU_ASSERT_EQUAL(frame(0)[0], 1);
	free_burst();
	rig_end();
}

TL_TEST("time and direction are taken from the kernel")
{
	const struct tpacket2_hdr at = {.tp_sec = 4000000000u, .tp_nsec = 999999999};

	rig_begin();
	kernel_puts_plain(60, 0);
	kernel_puts(60, 1, at, PACKET_OUTGOING);
	kernel_puts(60, 2, at, PACKET_OTHERHOST);
	CU_ASSERT_EQUAL(receive(), 3);
	CU_ASSERT_EQUAL(rig.burst.sent, 2);
	CU_ASSERT_EQUAL(rig.burst.ts_ns[1], UINT64_C(4000000000999999999));
	free_burst();
	kernel_puts_plain(60, 0);
	CU_ASSERT_EQUAL(receive(), 1);
	CU_ASSERT_EQUAL(rig.burst.sent, 0);
	free_burst();
	rig_end();
}

TL_TEST("with source tsc the time is that of the poll")
{
	rig_begin();
	rig.rx.source = TL_TS_TSC;
	kernel_puts(60, 1, (struct tpacket2_hdr){.tp_sec = 5}, PACKET_HOST);
	kernel_puts(60, 1, (struct tpacket2_hdr){.tp_sec = 6}, PACKET_HOST);
	CU_ASSERT_EQUAL(receive(), 2);
	CU_ASSERT_EQUAL(rig.burst.ts_ns[0], tl_clock_wall_ns(test_clock, rig.burst.tsc));
	CU_ASSERT_EQUAL(rig.burst.ts_ns[1], rig.burst.ts_ns[0]);
	free_burst();
	rig_end();
}

TL_TEST("a stripped tag is restored between addresses and EtherType")
{
	static const uint8_t tagged[] = {5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 0x88, 0xa8, 0xe0, 0x07, 5, 5, 5};
	static const uint8_t plain_tpid[] = {5, 5, 0x81, 0x00, 0x00, 0x00, 5, 5};
	const struct tpacket2_hdr with_tpid = {
		.tp_status = STATUS_TAGGED, .tp_vlan_tci = 0xe007, .tp_vlan_tpid = 0x88a8};
	const struct tpacket2_hdr without = {.tp_status = TP_STATUS_VLAN_VALID};

	rig_begin();
	kernel_puts(60, 5, with_tpid, PACKET_HOST);
	kernel_puts(60, 5, without, PACKET_HOST); // tag 0 counts
	kernel_puts_plain(60, 6);
	CU_ASSERT_EQUAL(receive(), 3);
	CU_ASSERT_EQUAL(rig.burst.pkts[0]->pkt_len, 64);
	CU_ASSERT_EQUAL(rig.burst.wire_bytes[0], 64);
	CU_ASSERT_EQUAL(memcmp(frame(0), tagged, sizeof(tagged)), 0);
	CU_ASSERT_EQUAL(frame(0)[63], 5);
	CU_ASSERT_EQUAL(memcmp(frame(1) + 10, plain_tpid, sizeof(plain_tpid)), 0);
	CU_ASSERT_EQUAL(rig.burst.pkts[2]->pkt_len, 60);
	CU_ASSERT_EQUAL(rig.rx.stats.altered_pkts, 0);
	free_burst();
	rig_end();
}

TL_TEST("frames that differ from the wire are counted")
{
	rig_begin();
	kernel_puts_plain(FRAME_MAX, 1);
	kernel_puts_plain(FRAME_MAX + 1, 2);
	kernel_puts(100, 3, (struct tpacket2_hdr){.tp_len = 1000}, PACKET_HOST);
	CU_ASSERT_EQUAL(receive(), 3);
	CU_ASSERT_EQUAL(rig.rx.stats.altered_pkts, 2);
	CU_ASSERT_EQUAL(rig.burst.wire_bytes[2], 1000);
	CU_ASSERT_EQUAL(rig.burst.pkts[2]->pkt_len, 100);
	free_burst();
	rig_end();
}

// ---- sent frames

TL_TEST("pushed frames are sent in order and recorded")
{
	uint8_t first;

	rig_begin();
	tl_txq_push(&rig.tx, mbuf_of(60, 1));
	tl_txq_push(&rig.tx, mbuf_of(1000, 2));
	tl_txq_flush(&rig.tx);
	CU_ASSERT(wire_has(&first) == 60 && first == 1);
	CU_ASSERT(wire_has(&first) == 1000 && first == 2);
	CU_ASSERT_EQUAL(rig.tx.tx_pkts, 2);
	CU_ASSERT_EQUAL(rig.tx.tx_bytes, 1060);
	CU_ASSERT_EQUAL(rig.tx.delayed_tx_pkts, 0);
	CU_ASSERT(rig.tx.begin_tsc != 0 && rig.tx.end_tsc >= rig.tx.begin_tsc);
	tl_txq_record_sent(&rig.tx);
	CU_ASSERT_EQUAL(rig.recorded, 2);
	rig_end();
}

TL_TEST("frames not yet accepted by the kernel wait and are counted once")
{
	unsigned arrived = 0;
	uint8_t first;

	rig_begin();
	for (unsigned i = 0; i < TL_BURST - 1; i++)
		tl_txq_push(&rig.tx, mbuf_of(500, (uint8_t)(1 + i)));
	tl_txq_flush(&rig.tx);
	CU_ASSERT(rig.tx.n > 0 && rig.tx.n < TL_BURST - 1);
	uint16_t waiting = rig.tx.n;
	for (unsigned i = 0; i < 3; i++)
		tl_txq_flush(&rig.tx);
	CU_ASSERT_EQUAL(rig.tx.n, waiting);
	CU_ASSERT_EQUAL(rig.tx.delayed_tx_pkts, waiting);
	while (arrived < TL_BURST - 1 && wire_has(&first) == 500) {
		arrived++;
		CU_ASSERT_EQUAL(first, arrived);
		tl_txq_flush(&rig.tx);
	}
	CU_ASSERT_EQUAL(arrived, TL_BURST - 1);
	CU_ASSERT_EQUAL(rig.tx.delayed_tx_pkts, waiting);
	CU_ASSERT_EQUAL(rig.tx.drop_tx_pkts, 0);
	tl_txq_record_sent(&rig.tx);
	CU_ASSERT_EQUAL(rig.recorded, TL_BURST - 1);
	rig_end();
}

// The socket rejects frames longer than its buffer with EMSGSIZE, as a packet socket those longer than the MTU.
TL_TEST("a frame that the kernel rejects is dropped without blocking others")
{
	uint8_t first;

	rig_begin();
	tl_txq_push(&rig.tx, mbuf_of(60, 1));
	tl_txq_push(&rig.tx, mbuf_of(LONG_BYTES, 9));
	tl_txq_push(&rig.tx, mbuf_of(60, 2));
	tl_txq_flush(&rig.tx);
	CU_ASSERT_EQUAL(rig.tx.n, 0);
	CU_ASSERT(wire_has(&first) == 60 && first == 1);
	CU_ASSERT(wire_has(&first) == 60 && first == 2);
	CU_ASSERT_EQUAL(rig.tx.tx_pkts, 2);
	CU_ASSERT_EQUAL(rig.tx.tx_bytes, 120);
	CU_ASSERT_EQUAL(rig.tx.drop_tx_pkts, 1);
	tl_txq_record_sent(&rig.tx);
	CU_ASSERT_EQUAL(rig.recorded, 2);
	rig_end();
}

// Append a segment to a frame of which sent frames are not recorded.
static struct rte_mbuf *joined(struct rte_mbuf *first, struct rte_mbuf *next)
{
	CU_ASSERT_EQUAL(rte_pktmbuf_chain(first, next), 0);
	return first;
}

TL_TEST("a frame in two parts is sent as one, and one in more is dropped")
{
	uint8_t bytes[3000];

	rig_begin();
	rig.tx.on_sent = NULL;
	tl_txq_push(&rig.tx, joined(mbuf_of(1000, 1), mbuf_of(500, 2)));
	tl_txq_push(&rig.tx, joined(mbuf_of(10, 3), joined(mbuf_of(10, 4), mbuf_of(10, 5))));
	tl_txq_push(&rig.tx, mbuf_of(60, 6));
	tl_txq_flush(&rig.tx);
	CU_ASSERT_EQUAL(recv(rig.wire, bytes, sizeof(bytes), 0), 1500);
	CU_ASSERT(bytes[0] == 1 && bytes[999] == 1 && bytes[1000] == 2 && bytes[1499] == 2);
	CU_ASSERT_EQUAL(recv(rig.wire, bytes, sizeof(bytes), 0), 60);
	CU_ASSERT_EQUAL(rig.tx.tx_pkts, 2);
	CU_ASSERT_EQUAL(rig.tx.tx_bytes, 1560);
	CU_ASSERT_EQUAL(rig.tx.drop_tx_pkts, 1);
	rig_end();
}

TL_TEST("frames wait while the kernel accepts none")
{
	rig_begin();
	shutdown(rig.wire, SHUT_RD); // EPIPE
	tl_txq_push(&rig.tx, mbuf_of(60, 1));
	tl_txq_flush(&rig.tx);
	CU_ASSERT_EQUAL(rig.tx.n, 1);
	CU_ASSERT_EQUAL(rig.tx.delayed_tx_pkts, 1);
	tl_txq_drop_waiting(&rig.tx);
	CU_ASSERT_EQUAL(rig.tx.drop_tx_pkts, 1);
	rig_end();
}

int main(void)
{
	tl_test_eal_start();
	test_clock = tl_clock_create();
	pool = rte_pktmbuf_pool_create("slots", MBUFS, 0, 0, LONG_BYTES + RTE_PKTMBUF_HEADROOM, SOCKET_ID_ANY);
	if (test_clock == NULL || pool == NULL)
		return EXIT_FAILURE;
	return tl_test_run("slot");
}
