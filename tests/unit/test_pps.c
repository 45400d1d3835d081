// SPDX-License-Identifier: BSD-3-Clause
// Rates of interfaces: recorded texts of the kernel and of drivers, and differences between two samples.

#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <unistd.h>

#include <pps.h>
#include <tl_err.h>

#include "tl_test.h"
#include "tl_test_tree.h"

static char dir[] = "/tmp/tapline-test-pps-XXXXXX";
static struct tl_tree tree;

static void put(const char *name, const char *text)
{
	tl_test_put_bytes(dir, name, text, strlen(text));
}

// ---- rtnetlink

static _Alignas(8) char dump[8192];
static size_t dump_bytes;

static void put_part(struct nlmsghdr *message, unsigned short type, const void *data, size_t bytes)
{
	struct rtattr *part = (void *)((char *)message + NLMSG_ALIGN(message->nlmsg_len));

	part->rta_type = type;
	part->rta_len = (unsigned short)RTA_LENGTH(bytes);
	memcpy(RTA_DATA(part), data, bytes);
	message->nlmsg_len = (uint32_t)(NLMSG_ALIGN(message->nlmsg_len) + RTA_ALIGN(part->rta_len));
}

// Append an interface; its counters are rx, 2 rx, 3 rx in the order of the struct.
static struct nlmsghdr *put_link(const char *name, int index, unsigned flags, uint64_t rx, size_t stats_bytes)
{
	struct nlmsghdr *message = (void *)(dump + dump_bytes);
	uint64_t stats[64];

	for (unsigned i = 0; i < 64; i++)
		stats[i] = rx * (i + 1);
	*message = (struct nlmsghdr){.nlmsg_type = RTM_NEWLINK, .nlmsg_len = NLMSG_LENGTH(sizeof(struct ifinfomsg))};
	*(struct ifinfomsg *)NLMSG_DATA(message) = (struct ifinfomsg){.ifi_index = index, .ifi_flags = flags};
	put_part(message, IFLA_IFNAME, name, strlen(name) + 1);
	put_part(message, IFLA_STATS64, stats, stats_bytes);
	dump_bytes += NLMSG_ALIGN(message->nlmsg_len);
	return message;
}

static void make_dump(void)
{
	dump_bytes = 0;
	put_link("lo", 1, IFF_UP | IFF_LOOPBACK, 7, sizeof(struct rtnl_link_stats64));
	put_link("eth0", 2, IFF_UP, 1000, sizeof(struct rtnl_link_stats64));
	put_link("eth1", 3, 0, 10, sizeof(struct rtnl_link_stats64));
	put_link("eth2", 4, IFF_UP, 5, 64 * sizeof(uint64_t)); // from a kernel with more counters
}

TL_TEST("by default all interfaces that are up except loopback are selected")
{
	struct pps_sample sample = {0};

	make_dump();
	CU_ASSERT_EQUAL(pps_take_links(dump, dump_bytes, &(struct pps_want){0}, &sample), 0);
	CU_ASSERT_EQUAL_FATAL(sample.n, 2);
	CU_ASSERT_STRING_EQUAL(sample.ifaces[0].name, "eth0");
	CU_ASSERT_EQUAL(sample.ifaces[0].index, 2);
	static const uint64_t places[PPS_N_COUNTERS] = {[PPS_RX_PKTS] = 1,
		[PPS_TX_PKTS] = 2,
		[PPS_RX_BYTES] = 3,
		[PPS_TX_BYTES] = 4,
		[PPS_RX_DROPPED] = 7,
		[PPS_TX_DROPPED] = 8,
		[PPS_RX_FIFO] = 15,
		[PPS_RX_MISSED] = 16};
	for (unsigned i = 0; i < PPS_N_COUNTERS; i++)
		CU_ASSERT_EQUAL(sample.ifaces[0].total.value[i], 1000 * places[i]);
	CU_ASSERT_STRING_EQUAL(sample.ifaces[1].name, "eth2");
	CU_ASSERT_EQUAL(sample.ifaces[1].total.value[PPS_RX_MISSED], 80);
	pps_sample_free(&sample);
}

TL_TEST("named interfaces are selected, up or down")
{
	const char *names[] = {"eth1", "lo"};
	struct pps_want want = {.n = 2, .names = names};
	struct pps_sample sample = {0};

	make_dump();
	CU_ASSERT_EQUAL(pps_take_links(dump, dump_bytes, &want, &sample), 0);
	CU_ASSERT_EQUAL_FATAL(sample.n, 2);
	CU_ASSERT_STRING_EQUAL(sample.ifaces[0].name, "lo");
	CU_ASSERT_STRING_EQUAL(sample.ifaces[1].name, "eth1");
	pps_sample_free(&sample);
}

TL_TEST("the end of a dump and its error are detected")
{
	struct pps_sample sample = {0};
	struct nlmsghdr *message = (void *)dump;

	*message = (struct nlmsghdr){.nlmsg_type = NLMSG_DONE, .nlmsg_len = NLMSG_LENGTH(4)};
	CU_ASSERT_EQUAL(pps_take_links(dump, NLMSG_LENGTH(4), &(struct pps_want){0}, &sample), 1);
	*message = (struct nlmsghdr){.nlmsg_type = NLMSG_ERROR, .nlmsg_len = NLMSG_LENGTH(sizeof(struct nlmsgerr))};
	((struct nlmsgerr *)NLMSG_DATA(message))->error = -EPERM;
	CU_ASSERT_EQUAL(pps_take_links(dump, message->nlmsg_len, &(struct pps_want){0}, &sample), -EPERM);
	*message = (struct nlmsghdr){.nlmsg_type = RTM_NEWLINK, .nlmsg_len = NLMSG_LENGTH(4)};
	CU_ASSERT_EQUAL(pps_take_links(dump, message->nlmsg_len, &(struct pps_want){0}, &sample), -EPROTO);
	CU_ASSERT_EQUAL(sample.n, 0);
}

// ---- ethtool

// Parse the output of `ethtool -S`.
static void take_text(struct pps_iface *iface, const char *text)
{
	char name[64];
	unsigned long long value;
	int chars;

	*iface = (struct pps_iface){0};
	while (sscanf(text, " %63[^\n]%n", name, &chars) == 1) {
		char *colon = strrchr(name, ':');
		CU_ASSERT_PTR_NOT_NULL_FATAL(colon);
		value = strtoull(colon + 1, NULL, 10);
		*colon = '\0';
		pps_take_stat(iface, name, value);
		text += chars;
	}
}

TL_TEST("queues are identified by driver-specific counter names")
{
	static const char *const texts[] = {
		// ixgbe
		"rx_packets: 99\n rx_pkts_nic: 99\n rx_missed_errors: 9\n tx_queue_0_packets: 5\n tx_queue_0_bytes: 300\n"
		"rx_queue_0_packets: 1\n rx_queue_0_bytes: 60\n rx_queue_1_packets: 2\n rx_queue_1_bytes: 120\n rx_pb_0_pxon: 7\n",
		// i40e
		"rx_unicast: 99\n tx-0.packets: 5\n tx-0.bytes: 300\n rx-0.packets: 1\n rx-0.bytes: 60\n rx-1.packets: 2\n"
		"rx-1.bytes: 120\n port.rx_bytes: 9\n port.rx_size_64: 9\n",
		// sfc
		"tx-0.tx_packets: 5\n tx-0.tx_bytes: 300\n rx-0.rx_packets: 1\n rx-0.rx_bytes: 60\n rx-1.rx_packets: 2\n"
		"rx-1.rx_bytes: 120\n rx_noskb_drops: 9\n",
		// mlx5
		"rx_packets: 99\n rx_csum_none: 8\n rx0_packets: 1\n rx0_bytes: 60\n rx0_csum_complete: 1\n rx0_xdp_drop: 4\n"
		"rx1_packets: 2\n rx1_bytes: 120\n tx0_packets: 5\n tx0_bytes: 300\n tx0_cqes: 3\n rx_prio0_packets: 99\n"
		"rx_vport_unicast_packets: 99\n ch0_events: 4\n",
		// ena
		"rx_drops: 9\n queue_0_tx_cnt: 5\n queue_0_tx_bytes: 300\n queue_0_rx_cnt: 1\n queue_0_rx_bytes: 60\n"
		"queue_1_rx_cnt: 2\n queue_1_rx_bytes: 120\n queue_0_rx_rx_copybreak_pkt: 4\n",
		// bnxt_en
		"[0]: rx_ucast_packets: 1\n [0]: rx_mcast_packets: 0\n [0]: rx_ucast_bytes: 20\n [0]: rx_bcast_bytes: 40\n"
		"[0]: tx_ucast_packets: 3\n [0]: tx_mcast_packets: 2\n [0]: tx_ucast_bytes: 300\n [0]: tpa_packets: 9\n"
		"[1]: rx_bcast_packets: 2\n [1]: rx_mcast_bytes: 120\n rx_total_discard_pkts: 9\n",
		// mana
		"rx_0_packets: 1\n rx_0_bytes: 60\n rx_0_xdp_drop: 9\n rx_1_packets: 2\n rx_1_bytes: 120\n tx_0_packets: 5\n"
		"tx_0_bytes: 300\n tx_cq_err: 1\n",
		// veth, which has no counter of sent frames per queue
		"peer_ifindex: 2\n rx_queue_0_xdp_packets: 1\n rx_queue_0_xdp_bytes: 60\n rx_queue_0_xdp_drops: 8\n"
		"rx_queue_1_xdp_packets: 2\n rx_queue_1_xdp_bytes: 120\n tx_queue_0_xdp_xmit: 3\n",
	};
	struct pps_iface iface;

	for (size_t i = 0; i < TL_ARRAY_LEN(texts); i++) {
		take_text(&iface, texts[i]);
		CU_ASSERT_EQUAL(iface.n_queues, 2);
		CU_ASSERT_EQUAL(iface.queues[0].value[PPS_RX_PKTS], 1);
		CU_ASSERT_EQUAL(iface.queues[0].value[PPS_RX_BYTES], 60);
		CU_ASSERT_EQUAL(iface.queues[1].value[PPS_RX_PKTS], 2);
		CU_ASSERT_EQUAL(iface.queues[1].value[PPS_RX_BYTES], 120);
		CU_ASSERT_FALSE(pps_knows(&iface.queues[1], PPS_TX_PKTS));
		CU_ASSERT_EQUAL(iface.queues[0].value[PPS_RX_DROPPED], 0);
		if (i + 1 == TL_ARRAY_LEN(texts))
			continue;
		CU_ASSERT_EQUAL(iface.queues[0].value[PPS_TX_PKTS], 5);
		CU_ASSERT_EQUAL(iface.queues[0].value[PPS_TX_BYTES], 300);
	}
}

TL_TEST("drops of queues are summed")
{
	struct pps_iface iface;

	take_text(&iface,
		"rx_queue_0_drops: 4\n rx2_dropped: 3\n rx3_drops: 1\n rx4_buff_alloc_err: 2\n rx4_wqe_err: 5\n");
	CU_ASSERT_EQUAL(iface.n_queues, 5);
	CU_ASSERT_EQUAL(iface.queues[0].value[PPS_RX_DROPPED], 4);
	CU_ASSERT_EQUAL(iface.queues[1].known, 0);
	CU_ASSERT_EQUAL(iface.queues[2].value[PPS_RX_DROPPED], 3);
	CU_ASSERT_EQUAL(iface.queues[3].value[PPS_RX_DROPPED], 1);
	CU_ASSERT_EQUAL(iface.queues[4].value[PPS_RX_DROPPED], 7);
}

TL_TEST("names that only resemble a queue's are ignored")
{
	struct pps_iface iface;

	take_text(&iface,
		"rx_queue__packets: 1\n rx_queue_0_packet: 1\n rx_queue_0_packetss: 1\n rx_queue_0_: 1\n rx_queue_999999_packets: 1\n"
		"rx_queue_256_packets: 1\n rx_queue_0_csum_err: 1\n rx0_: 1\n rx_queue_0_packets x: 1\n");
	CU_ASSERT_EQUAL(iface.n_queues, 0);
	take_text(&iface, "rx_queue_255_packets: 1\n");
	CU_ASSERT_EQUAL(iface.n_queues, 256);
}

// ---- /proc

TL_TEST("softirqs are assigned to CPUs, on old kernels by line order")
{
	static struct pps_sample sample;

	put("sys/devices/system/cpu/online", "0,2\n");
	put("proc/net/softnet_stat", // Linux 6.1, CPU 1 is offline
		"00000010 00000001 00000002 00000000 00000000 00000000 00000000 00000000 00000000 00000004 00000000 00000000 00000000\n"
		"0000ff00 00000000 00000003 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000002\n");
	sample = (struct pps_sample){0};
	pps_read_softnet(&tree, &sample);
	CU_ASSERT_EQUAL_FATAL(sample.n_cpus, 2);
	CU_ASSERT_EQUAL(sample.cpus[0].row.value[PPS_PROCESSED], 16);
	CU_ASSERT_EQUAL(sample.cpus[0].row.value[PPS_BACKLOG_DROPPED], 1);
	CU_ASSERT_EQUAL(sample.cpus[0].row.value[PPS_SQUEEZED], 2);
	CU_ASSERT_EQUAL(sample.cpus[0].row.value[PPS_RPS], 4);
	CU_ASSERT_EQUAL(sample.cpus[1].cpu, 2);
	CU_ASSERT_EQUAL(sample.cpus[1].row.value[PPS_PROCESSED], 0xff00);

	put("proc/net/softnet_stat", // Linux 3.10: no CPU column
		"00000001 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000\n"
		"00000002 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000\n"
		"00000003 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000\n");
	sample = (struct pps_sample){0};
	pps_read_softnet(&tree, &sample);
	CU_ASSERT_EQUAL_FATAL(sample.n_cpus, 2); // the third line has no CPU
	CU_ASSERT_EQUAL(sample.cpus[1].cpu, 2);
	CU_ASSERT_EQUAL(sample.cpus[1].row.value[PPS_PROCESSED], 2);

	put("proc/net/softnet_stat", "\n1 2\nnonsense\n");
	sample = (struct pps_sample){0};
	pps_read_softnet(&tree, &sample);
	CU_ASSERT_EQUAL(sample.n_cpus, 0);
}

static void put_irq(unsigned number, const char *effective, const char *allowed)
{
	char path[64];

	snprintf(path, sizeof(path), "proc/irq/%u/effective_affinity_list", number);
	put(path, effective);
	snprintf(path, sizeof(path), "proc/irq/%u/smp_affinity_list", number);
	put(path, allowed);
}

static const char interrupts[] =
	"           CPU0       CPU2       \n"
	" 40:          5          0  IR-PCI-MSI 524288-edge      eth0\n"
	" 41:         12          3  IR-PCI-MSI 524289-edge      eth0-TxRx-0\n"
	" 42:          0          7  IR-PCI-MSI 524290-edge      eth0-TxRx-11\n"
	" 50:          1          1  IR-PCI-MSI 524291-edge      mlx5_async0@pci:0000:5e:00.0\n"
	" 51:          1          1  IR-PCI-MSI 524292-edge      mlx5_comp3@pci:0000:5e:00.0\n"
	" 52:          1          1  IR-PCI-MSI 524293-edge      ens192-rxtx-2\n"
	" 53:          1          1  IR-PCI-MSI 524294-edge      mana_q3@pci:7870:00:00.0\n"
	" 54:          1          1  IR-PCI-MSI 524295-edge      eth1_rxq4\n"
	" 55:          1          1  IR-PCI-MSI 524296-edge      eth1_txq4\n"
	" 60:          0          2  PCI-MSIX-0000:00:03.0   1-edge      virtio2-input.1\n"
	" 61:          0          2  PCI-MSIX-0000:00:03.0   2-edge      virtio2-output.1\n"
	"NMI:          0          0   Non-maskable interrupts\n";

TL_TEST("interrupts are read with CPU, count and queue")
{
	static struct pps_iface eth0 = {.name = "eth0"}, eth1 = {.name = "eth1"}, none = {.name = "eth9"};

	for (unsigned number = 40; number < 43; number++) {
		char path[64];
		snprintf(path, sizeof(path), "sys/class/net/eth0/device/msi_irqs/%u", number);
		put(path, "msix\n");
	}
	put_irq(41, "2\n", "0-3\n");
	put("proc/irq/42/smp_affinity_list", "0,2\n"); // a kernel without effective affinity
	pps_read_irqs(&tree, interrupts, &eth0);
	CU_ASSERT_EQUAL_FATAL(eth0.n_irqs, 3);
	CU_ASSERT_EQUAL(eth0.irqs[0].number, 40);
	CU_ASSERT_EQUAL(eth0.irqs[0].queue, -1);
	CU_ASSERT_STRING_EQUAL(eth0.irqs[0].cpus, "");
	CU_ASSERT_STRING_EQUAL(eth0.irqs[1].name, "eth0-TxRx-0");
	CU_ASSERT_EQUAL(eth0.irqs[1].queue, 0);
	CU_ASSERT_EQUAL(eth0.irqs[1].count, 15);
	CU_ASSERT_STRING_EQUAL(eth0.irqs[1].cpus, "2");
	CU_ASSERT_STRING_EQUAL(eth0.irqs[1].allowed, "0-3");
	CU_ASSERT_EQUAL(eth0.irqs[2].queue, 11);
	CU_ASSERT_STRING_EQUAL(eth0.irqs[2].cpus, "0,2");

	put("sys/class/net/eth1/device/irq", "51\n"); // one interrupt, without MSI
	pps_read_irqs(&tree, interrupts, &eth1);
	CU_ASSERT_EQUAL_FATAL(eth1.n_irqs, 1);
	CU_ASSERT_EQUAL(eth1.irqs[0].queue, 3);
	for (unsigned number = 52; number < 56; number++) {
		char path[16];
		snprintf(path, sizeof(path), "%u\n", number);
		put("sys/class/net/eth1/device/irq", path);
		eth1.n_irqs = 0;
		pps_read_irqs(&tree, interrupts, &eth1);
		CU_ASSERT_EQUAL(eth1.irqs[0].queue, number < 55 ? (int)number - 50 : -1);
	}
	eth1.n_irqs = 0;
	put("sys/class/net/eth1/device/irq", "50\n");
	pps_read_irqs(&tree, NULL, &eth1);
	CU_ASSERT_FALSE(eth1.irqs[0].counted);
	CU_ASSERT_EQUAL(eth1.irqs[0].queue, -1);
	pps_read_irqs(&tree, interrupts, &none);
	CU_ASSERT_EQUAL(none.n_irqs, 0);
	put("sys/class/net/eth0/ifindex", "7\n");
	eth0.n_irqs = 0;
	eth0.index = 6;
	pps_read_irqs(&tree, interrupts, &eth0); // in a different network namespace
	CU_ASSERT_EQUAL(eth0.n_irqs, 0);
	eth0.index = 7;
	pps_read_irqs(&tree, interrupts, &eth0);
	CU_ASSERT_EQUAL(eth0.n_irqs, 3);
}

TL_TEST("a virtio NIC uses the interrupts of its parent device")
{
	static struct pps_iface eth2 = {.name = "eth2"};
	char link[sizeof(dir) + 64];

	put("sys/devices/0000:00:03.0/msi_irqs/60", "msix\n");
	put("sys/devices/0000:00:03.0/msi_irqs/61", "msix\n");
	put("sys/devices/0000:00:03.0/virtio2/uevent", "");
	put("sys/class/net/eth2/mtu", "1500\n");
	snprintf(link, sizeof(link), "%s/sys/class/net/eth2/device", dir);
	CU_ASSERT_EQUAL(symlink("../../../devices/0000:00:03.0/virtio2", link), 0);
	pps_read_irqs(&tree, interrupts, &eth2);
	CU_ASSERT_EQUAL_FATAL(eth2.n_irqs, 2);
	CU_ASSERT_EQUAL(eth2.irqs[0].queue, 1);
	CU_ASSERT_EQUAL(eth2.irqs[1].queue, -1); // a transmit queue
}

// ---- differences

static struct pps_row row_of(uint64_t pkts, uint64_t bytes)
{
	struct pps_row row = {0};

	pps_count(&row, PPS_RX_PKTS, pkts);
	pps_count(&row, PPS_RX_BYTES, bytes);
	return row;
}

TL_TEST("a wrap of a 32-bit counter is continued")
{
	struct pps_row before = row_of(100, UINT32_MAX - 9), now = row_of(105, 20), out;

	CU_ASSERT(pps_row_since(&before, &now, &out));
	CU_ASSERT_EQUAL(out.value[PPS_RX_PKTS], 5);
	CU_ASSERT_EQUAL(out.value[PPS_RX_BYTES], 30);
	CU_ASSERT_FALSE(pps_knows(&out, PPS_TX_PKTS));
	before = row_of(100, (1ull << 40) + 5), now = row_of(105, (1ull << 40) + 4);
	CU_ASSERT_FALSE(pps_row_since(&before, &now, &out)); // none, with 32-bit counters
}

TL_TEST("reset counters have no difference")
{
	struct pps_row before = row_of(4000000000, 4200000000), now = row_of(5, 300), out;

	CU_ASSERT_FALSE(pps_row_since(&before, &now, &out));
	before = row_of(100, 6000), now = row_of(100, 500);
	CU_ASSERT_FALSE(pps_row_since(&before, &now, &out));
}

static struct pps_iface *add(struct pps_sample *sample, const char *name, uint32_t index, uint64_t pkts)
{
	struct pps_iface *iface = pps_add_iface(sample, name);

	CU_ASSERT_PTR_NOT_NULL_FATAL(iface);
	iface->index = index;
	iface->total = row_of(pkts, 60 * pkts);
	iface->n_queues = 2;
	iface->queues[0] = row_of(pkts / 4, 15 * pkts);
	iface->queues[1] = row_of(pkts - pkts / 4, 45 * pkts);
	iface->n_irqs = 1;
	iface->irqs[0] = (struct pps_irq){.number = 41, .queue = 0, .counted = true, .count = pkts / 2};
	return iface;
}

TL_TEST("added, removed and re-created interfaces have no rates")
{
	static struct pps_sample before, now, diff;

	before = (struct pps_sample){.time_ns = 1000000000};
	now = (struct pps_sample){.time_ns = 3000000000};
	add(&before, "same", 2, 1000);
	add(&before, "made-again", 3, 1000);
	add(&before, "reset", 4, 1000);
	add(&before, "went", 5, 1000)->state = PPS_OK;
	add(&before, "back", 6, 0)->state = PPS_GONE;
	add(&now, "same", 2, 1400);
	add(&now, "made-again", 7, 2000);
	add(&now, "reset", 4, 10);
	add(&now, "went", 0, 0)->state = PPS_GONE;
	add(&now, "back", 8, 10);
	add(&now, "new", 9, 10);
	CU_ASSERT_EQUAL_FATAL(pps_since(&before, &now, &diff), 0);
	static const enum pps_state states[] = {PPS_OK, PPS_NEW, PPS_RESET, PPS_GONE, PPS_NEW, PPS_NEW};
	for (size_t i = 0; i < 6; i++) {
		CU_ASSERT_EQUAL(diff.ifaces[i].state, states[i]);
		CU_ASSERT(i == 0 || i == 3 || diff.ifaces[i].total.known == 0);
	}
	CU_ASSERT_EQUAL(diff.time_ns, 2000000000);
	CU_ASSERT_EQUAL(diff.ifaces[0].total.value[PPS_RX_PKTS], 400);
	CU_ASSERT_EQUAL(diff.ifaces[0].queues[1].value[PPS_RX_PKTS], 300);
	CU_ASSERT_EQUAL(diff.ifaces[0].irqs[0].count, 200);
	CU_ASSERT_EQUAL(now.ifaces[0].total.value[PPS_RX_PKTS], 1400);
	pps_sample_free(&before);
	pps_sample_free(&now);
	pps_sample_free(&diff);
}

TL_TEST("new and reset queues have no rates")
{
	static struct pps_sample before, now, diff;

	before = now = (struct pps_sample){.n_cpus = 1};
	add(&before, "eth0", 2, 1000)->n_queues = 1;
	before.ifaces[0].queues[1].known = 0;
	add(&now, "eth0", 2, 1400)->queues[0] = row_of(1, 60);
	CU_ASSERT_EQUAL_FATAL(pps_since(&before, &now, &diff), 0);
	CU_ASSERT_EQUAL(diff.ifaces[0].state, PPS_OK);
	CU_ASSERT_EQUAL(diff.ifaces[0].queues[0].known, 0);
	CU_ASSERT_EQUAL(diff.ifaces[0].queues[1].known, 0);
	CU_ASSERT_EQUAL(pps_imbalance(&diff.ifaces[0]), 0);
	pps_sample_free(&before);
	pps_sample_free(&now);
	pps_sample_free(&diff);
}

TL_TEST("imbalance is the ratio of the busiest queue to the mean")
{
	static struct pps_iface iface;

	iface.n_queues = 5;
	for (uint32_t i = 0; i < 4; i++)
		iface.queues[i] = row_of(100, 6000);
	CU_ASSERT_DOUBLE_EQUAL(pps_imbalance(&iface), 1, 1e-9); // the fifth is ignored
	iface.queues[2] = row_of(300, 18000);
	CU_ASSERT_DOUBLE_EQUAL(pps_imbalance(&iface), 2, 1e-9);
	for (uint32_t i = 0; i < 4; i++)
		iface.queues[i] = row_of(i == 0 ? 5 : 0, 0);
	CU_ASSERT_DOUBLE_EQUAL(pps_imbalance(&iface), 4, 1e-9);
	iface.queues[0] = row_of(0, 0);
	CU_ASSERT_EQUAL(pps_imbalance(&iface), 0);
	iface.n_queues = 1;
	iface.queues[0] = row_of(5, 0);
	CU_ASSERT_EQUAL(pps_imbalance(&iface), 0);
}

// ---- an appliance

TL_TEST("ports of an appliance are found by name or device")
{
	json_t *status = json_loads(
		"{\"ports\": [{\"name\": \"a\", \"device\": \"0000:3b:00.0\", \"rx_pkts\": 10, \"rx_bytes\": 600, \"tx_pkts\": 3,"
		" \"drop_nic_pkts\": 4, \"drop_nombuf_pkts\": 1, \"drop_error_pkts\": 2, \"drop_tx_pkts\": 8, \"queues\": ["
		"{\"queue\": 0, \"rx_pkts\": 7, \"drop_nic_pkts\": null}, {\"queue\": 1, \"rx_pkts\": 3, \"drop_nic_pkts\": 4}]},"
		"{\"name\": \"b\", \"device\": \"eth0\", \"rx_pkts\": -1}, {\"name\": 5}, 6]}",
		0, NULL);
	const char *names[] = {"a", "eth0"};
	struct pps_sample sample = {0};

	CU_ASSERT_PTR_NOT_NULL_FATAL(status);
	pps_take_ports(status, &(struct pps_want){.n = 1, .names = names}, &sample);
	CU_ASSERT_EQUAL_FATAL(sample.n, 1);
	CU_ASSERT_STRING_EQUAL(sample.ifaces[0].name, "a");
	CU_ASSERT_EQUAL(sample.ifaces[0].total.value[PPS_RX_DROPPED], 3);
	CU_ASSERT_EQUAL(sample.ifaces[0].total.value[PPS_RX_MISSED], 4);
	CU_ASSERT_EQUAL(sample.ifaces[0].total.value[PPS_TX_DROPPED], 8);
	CU_ASSERT_FALSE(pps_knows(&sample.ifaces[0].total, PPS_TX_BYTES));
	CU_ASSERT_EQUAL(sample.ifaces[0].n_queues, 2);
	CU_ASSERT_EQUAL(sample.ifaces[0].queues[1].value[PPS_RX_PKTS], 3);
	CU_ASSERT_FALSE(pps_knows(&sample.ifaces[0].queues[0], PPS_RX_MISSED));
	pps_sample_free(&sample);
	pps_add_iface(&sample, "eth0"); // the kernel's interface
	pps_take_ports(status, &(struct pps_want){0}, &sample);
	CU_ASSERT_EQUAL_FATAL(sample.n, 2);
	CU_ASSERT_STRING_EQUAL(sample.ifaces[1].name, "0000:3b:00.0");
	CU_ASSERT_EQUAL(sample.ifaces[0].total.known, 0);
	pps_take_ports(NULL, &(struct pps_want){0}, &sample);
	CU_ASSERT_EQUAL(sample.n, 2);
	pps_sample_free(&sample);
	json_decref(status);
}

// ---- output

TL_TEST("text and JSON contain the rates")
{
	static struct pps_sample before, now, diff;
	char *page = NULL;
	size_t size;

	before = (struct pps_sample){.time_ns = 0, .n_cpus = 1};
	now = (struct pps_sample){
		.time_ns = 2000000000, .n_cpus = 1, .cpus = {{.row = {.known = 7, .value = {10, 2, 4}}}}};
	before.cpus[0].row.known = 7;
	add(&before, "eth0", 2, 1000);
	add(&now, "eth0", 2, 5000);
	CU_ASSERT_EQUAL_FATAL(pps_since(&before, &now, &diff), 0);
	json_t *json = pps_json(&diff);
	const json_t *eth0 = json_array_get(json_object_get(json, "interfaces"), 0);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(eth0, "rx_pkts")), 4000);
	CU_ASSERT_DOUBLE_EQUAL(json_real_value(json_object_get(eth0, "rx_pps")), 2000, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(json_real_value(json_object_get(eth0, "rx_bps")), 960000, 1e-6);
	CU_ASSERT(json_is_null(json_object_get(eth0, "tx_pps")));
	CU_ASSERT_DOUBLE_EQUAL(json_real_value(json_object_get(eth0, "imbalance")), 1.5, 1e-6);
	json_decref(json);
	FILE *out = open_memstream(&page, &size);
	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	pps_print(out, &diff);
	fclose(out);
	static const char *const lines[] = {"eth0                 2.00k      960k         -",
		"  queue 1            1.50k      720k         -", "75.0 %\n", "  imbalance 1.50 ",
		"  irq 41        1.00k/s  cpu ?  queue 0",
		"cpu 0                    5         1         2         -\n"};
	for (size_t i = 0; i < TL_ARRAY_LEN(lines); i++)
		CU_ASSERT_PTR_NOT_NULL(strstr(page, lines[i]));
	free(page);
	pps_sample_free(&before);
	pps_sample_free(&now);
	pps_sample_free(&diff);
}

int main(void)
{
	char remove[sizeof(dir) + 16];

	if (mkdtemp(dir) == NULL || tl_tree_open(dir, &tree) != 0)
		return 1;
	int status = tl_test_run("pps");
	tl_tree_close(&tree);
	snprintf(remove, sizeof(remove), "rm -rf %s", dir);
	return system(remove) == 0 ? status : 1;
}
