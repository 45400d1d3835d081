// SPDX-License-Identifier: BSD-3-Clause
// DPDK: a thread polls rte_eth_rx_burst() and never sleeps. On AF_PACKET and AF_XDP the driver reads the kernel's
// rings, and the poll replaces wake-ups only; on a bound NIC (nic.c) it reads the NIC's. The source in memory has no
// kernel below it: 512 frames of a file in memory, copied to mbufs again and again. Without hugepages, so that none has
// to be reserved, and none can be left behind.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/if_packet.h>
#include <linux/if_xdp.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <tl_eal.h>

#include "ladder_priv.h"

#define BURST 64
#define MEMORY_MB 128
#define MBUFS 8191
#define MEMORY_FRAMES 512u
#define SLOT_BYTES 2048u
#define FDS_MAX 1024

struct lane {
	struct tl_eal *eal;
	const char *device; // NULL: not created
	struct rte_mempool *pool;
	uint16_t port;
	bool started;
	int file_fd;
	int socket_level; // of the driver's socket; 0: it has none
	uint64_t drops;
};

static void close_lane(void *arg)
{
	struct lane *lane = arg;

	if (lane->started)
		(void)rte_eth_dev_stop(lane->port);
	if (lane->device != NULL)
		(void)rte_eal_hotplug_remove("vdev", lane->device);
	rte_mempool_free(lane->pool);
	if (lane->eal != NULL)
		tl_eal_fini(lane->eal);
	if (lane->file_fd >= 0)
		close(lane->file_fd);
}

// Write a pcap file of numbered frames (magic, version 2.4, snaplen, Ethernet) to memory. Return its descriptor or
// -errno.
static int make_file(uint32_t size_bytes)
{
	const uint32_t header[] = {0xa1b2c3d4, 4u << 16 | 2, 0, 0, 65535, 1}, record[] = {0, 0, size_bytes, size_bytes};
	uint8_t frame[TL_LADDER_SIZE_MAX], mac[6] = {2};
	int fd = memfd_create("tapline-ladder", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	tl_ladder_frame(frame, size_bytes, mac, mac);
	bool ok = write(fd, header, sizeof(header)) == (ssize_t)sizeof(header);
	for (uint32_t i = 0; i < MEMORY_FRAMES && ok; i++) {
		tl_ladder_number(frame, i, 0);
		ok = write(fd, record, sizeof(record)) == (ssize_t)sizeof(record) &&
		     write(fd, frame, size_bytes) == (ssize_t)size_bytes;
	}
	if (!ok)
		close(fd);
	return ok ? fd : -EIO;
}

static int create_device(struct lane *lane, int mode, const struct tl_ladder_cfg *cfg, struct tl_err *err)
{
	static const char *const names[] = {"net_af_packet0", "net_af_xdp0", "net_pcap0"};
	char args[160];

	if (mode == LADDER_DPDK_MEMORY && (lane->file_fd = make_file(cfg->size_bytes)) < 0)
		return tl_fail(err, lane->file_fd, "memfd_create: %s", strerror(-lane->file_fd));
	if (mode == LADDER_DPDK_PACKET)
		snprintf(args, sizeof(args), "iface=%s,blocksz=65536,framesz=%u,framecnt=%u", cfg->ifname, SLOT_BYTES,
			cfg->buffer_bytes / SLOT_BYTES);
	else if (mode == LADDER_DPDK_XDP)
		snprintf(args, sizeof(args), "iface=%s", cfg->ifname);
	else
		snprintf(args, sizeof(args), "rx_pcap=/proc/self/fd/%d,infinite_rx=1", lane->file_fd);
	int rc = rte_eal_hotplug_add("vdev", names[mode], args);
	if (rc != 0)
		return tl_fail(err, rc, "DPDK could not create %s with \"%s\": %s", names[mode], args, strerror(-rc));
	lane->device = names[mode];
	lane->socket_level = mode == LADDER_DPDK_PACKET ? SOL_PACKET : mode == LADDER_DPDK_XDP ? SOL_XDP : 0;
	return 0;
}

static bool is_packet(int fd)
{
	int domain = 0;
	socklen_t bytes = sizeof(domain);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) == 0 && domain == AF_PACKET;
}

// The driver's socket is in a fanout group.
static int ignore_sent(const struct lane *lane, struct tl_err *err)
{
	int rc = 0;

	for (int fd = 3; fd < FDS_MAX && lane->socket_level == SOL_PACKET && rc == 0; fd++)
		if (is_packet(fd))
			rc = ladder_ignore_sent(fd, err);
	return rc;
}

static int start_port(struct lane *lane, struct tl_err *err)
{
	const struct rte_eth_conf conf = {.rxmode.mq_mode = RTE_ETH_MQ_RX_NONE};
	int rc = rte_eth_dev_get_port_by_name(lane->device, &lane->port);

	lane->pool = rte_pktmbuf_pool_create("ladder", MBUFS, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (lane->pool == NULL)
		return tl_fail(err, -ENOMEM, "DPDK has no memory for %d mbufs", MBUFS);
	if (rc == 0)
		rc = rte_eth_dev_configure(lane->port, 1, 1, &conf);
	if (rc == 0)
		rc = rte_eth_rx_queue_setup(lane->port, 0, 2048, SOCKET_ID_ANY, NULL, lane->pool);
	if (rc == 0)
		rc = rte_eth_tx_queue_setup(lane->port, 0, 2048, SOCKET_ID_ANY, NULL);
	if (rc == 0)
		rc = rte_eth_dev_start(lane->port);
	lane->started = rc == 0;
	return rc == 0 ? 0 : tl_fail(err, rc, "DPDK could not start %s: %s", lane->device, strerror(-rc));
}

static int open_lane(void *arg, const struct tl_ladder_rung *rung, const struct tl_ladder_cfg *cfg, struct tl_err *err)
{
	const struct tl_eal_cfg eal = {.memory_mb = MEMORY_MB, .main_lcore = cfg->cpu};
	struct lane *lane = arg;

	lane->file_fd = -1;
	int rc = tl_eal_init(&eal, &lane->eal, err);
	if (rc == 0)
		rc = create_device(lane, rung->mode, cfg, err);
	if (rc == 0)
		rc = ignore_sent(lane, err);
	return rc == 0 ? start_port(lane, err) : rc;
}

static int receive(void *arg, struct tl_ladder_sink *sink, const atomic_bool *stop)
{
	struct lane *lane = arg;
	struct rte_mbuf *frames[BURST];

	int rc = rte_thread_register(); // an lcore's number, for the pool's cache
	if (rc != 0)
		return -EAGAIN;
	while (!atomic_load_explicit(stop, memory_order_relaxed)) {
		uint64_t begin_ns = tl_ladder_now_ns();
		uint16_t n = rte_eth_rx_burst(lane->port, 0, frames, BURST);
		if (n == 0)
			continue;
		for (uint16_t i = 0; i < n; i++)
			tl_ladder_take(sink, rte_pktmbuf_mtod(frames[i], const void *), rte_pktmbuf_pkt_len(frames[i]));
		rte_pktmbuf_free_bulk(frames, n);
		tl_count(&sink->busy_ns, tl_ladder_now_ns() - begin_ns);
	}
	rte_thread_unregister();
	return 0;
}

// The drivers do not count what their socket drops: find it among the descriptors.
static uint64_t dropped(void *arg)
{
	struct lane *lane = arg;
	uint64_t total = 0;

	for (int fd = 3; fd < FDS_MAX && lane->socket_level == SOL_XDP; fd++) {
		struct xdp_statistics stats = {0};
		socklen_t bytes = sizeof(stats);
		if (getsockopt(fd, SOL_XDP, XDP_STATISTICS, &stats, &bytes) == 0)
			total += stats.rx_dropped + stats.rx_ring_full;
	}
	for (int fd = 3; fd < FDS_MAX && lane->socket_level == SOL_PACKET; fd++)
		(void)ladder_packet_drops(fd, &lane->drops);
	return total + lane->drops;
}

const struct tl_ladder_ops ladder_dpdk = {sizeof(struct lane), open_lane, NULL, receive, dropped, close_lane};
