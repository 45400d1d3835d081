// SPDX-License-Identifier: BSD-3-Clause
// Port backed by a kernel interface: own AF_PACKET sockets, each with a ring that the kernel fills block by block
// (TPACKET_V3), or slot by slot (TPACKET_V2) where the port also sends (slot.c).

#include "port_priv.h"

#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/net_tstamp.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_malloc.h>

#include <tl_log.h>

// A recording must survive a stalled core: 64 MiB are 440 000 short frames, a third of a second at 1.3 million per
// second, the rate of a veth.
#define RING_BLOCKS 256u
#define RING_BYTES ((size_t)RING_BLOCKS * TL_PACKET_BLOCK_BYTES)
#define RETIRE_MS 4 // a block with frames reaches user space after this, full or not, at the latest after twice this
#define FRAME_BYTES 2048 // of the V3 ring: required by the kernel, but without effect in a ring of blocks
#ifndef PACKET_FANOUT_FLAG_IGNORE_OUTGOING
#define PACKET_FANOUT_FLAG_IGNORE_OUTGOING 0x4000
#endif

int tl_packet_set_options(
	const struct tl_port *port, int fd, const struct tl_packet_option *options, unsigned n, struct tl_err *err)
{
	for (unsigned i = 0; i < n; i++)
		if (setsockopt(fd, options[i].level, options[i].name, options[i].value, options[i].len) != 0)
			return tl_fail(err, -errno, "port %s: AF_PACKET on %s: %s: %s", port->name, port->cfg.spec.arg,
				options[i].what, strerror(errno));
	return 0;
}

// Have the kernel stamp frames on arrival: without SO_TIMESTAMPNS it stamps them when it copies them, separately for
// each socket.
int tl_packet_make_ring(
	struct tl_port *port, int fd, int version, const struct tpacket_req3 *request, void **ring, struct tl_err *err)
{
	const int on = 1, room = TL_PACKET_TAG_BYTES, stamps = SOF_TIMESTAMPING_SOFTWARE;
	const struct tl_packet_option options[] = {
		{"the ring's version", SOL_PACKET, PACKET_VERSION, &version, sizeof(version)},
		{"room for VLAN tags", SOL_PACKET, PACKET_RESERVE, &room, sizeof(room)},
		{"time stamps", SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)},
		{"time stamps in the ring", SOL_PACKET, PACKET_TIMESTAMP, &stamps, sizeof(stamps)},
		{"a ring", SOL_PACKET, PACKET_RX_RING, request, sizeof(*request)},
	};
	int rc = tl_packet_set_options(port, fd, options, TL_ARRAY_LEN(options), err);

	if (rc != 0)
		return rc;
	size_t bytes = (size_t)request->tp_block_size * request->tp_block_nr;
	*ring = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*ring == MAP_FAILED)
		return tl_fail(err, -errno, "port %s: cannot map the ring of %s: %s", port->name, port->cfg.spec.arg,
			strerror(errno));
	return 0;
}

int tl_packet_bind(const struct tl_port *port, int fd, const char *iface, bool with_sent, struct tl_err *err)
{
	const struct sockaddr_ll address = {
		.sll_family = AF_PACKET, .sll_protocol = tl_be16(ETH_P_ALL), .sll_ifindex = (int)if_nametoindex(iface)};
	const int on = 1;

	// Kernels before 4.20 lack the option, and deliver the host's own frames.
	if (!with_sent)
		(void)setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on));
	if (!tl_kernel_refuse_packets(fd) || bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
		return tl_fail(err, -errno, "port %s: cannot listen on %s: %s", port->name, iface, strerror(errno));
	return 0;
}

static int bind_socket(struct tl_port *port, int fd, struct tl_err *err)
{
	const char *iface = port->cfg.spec.arg;
	const struct packet_mreq promisc = {.mr_ifindex = (int)if_nametoindex(iface), .mr_type = PACKET_MR_PROMISC};
	const struct tl_packet_option option = {
		"promiscuous mode", SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promisc, sizeof(promisc)};
	int rc = tl_packet_bind(port, fd, iface, !port->cfg.rx_only, err);

	return rc == 0 && port->cfg.promisc ? tl_packet_set_options(port, fd, &option, 1, err) : rc;
}

// Join the sockets of several queues: the kernel distributes flows over them. Never with PACKET_FANOUT_FLAG_DEFRAG,
// which reassembles fragments. The first socket gets a number that no group has.
static int join_group(struct tl_port *port, int fd, uint16_t queue, struct tl_err *err)
{
	int type = PACKET_FANOUT_HASH | (port->cfg.rx_only ? PACKET_FANOUT_FLAG_IGNORE_OUTGOING : 0);
	int group = 0;
	socklen_t len = sizeof(group);

	if (port->cfg.rx_queues == 1)
		return 0;
	if (queue == 0)
		type |= PACKET_FANOUT_FLAG_UNIQUEID;
	else if (getsockopt(port->sockets.fd[0], SOL_PACKET, PACKET_FANOUT, &group, &len) != 0)
		return tl_fail(err, -errno, "port %s: no PACKET_FANOUT group", port->name);
	group = (group & UINT16_MAX) | type << 16;
	const struct tl_packet_option option = {"several queues", SOL_PACKET, PACKET_FANOUT, &group, sizeof(group)};
	return tl_packet_set_options(port, fd, &option, 1, err);
}

static bool sends(const struct tl_port *port)
{
	return port->cfg.tx_queues != 0;
}

static int open_blocks(struct tl_port *port, uint16_t queue, int fd, struct tl_err *err)
{
	const struct tpacket_req3 request = {.tp_block_size = TL_PACKET_BLOCK_BYTES,
		.tp_block_nr = RING_BLOCKS,
		.tp_frame_size = FRAME_BYTES,
		.tp_frame_nr = (unsigned)(RING_BYTES / FRAME_BYTES),
		.tp_retire_blk_tov = RETIRE_MS};
	struct tl_packet_queue *p =
		rte_zmalloc_socket("tl_packet_queue", sizeof(*p), TL_CACHE_LINE, port->cfg.socket_id);
	void *ring;

	if (p == NULL)
		return tl_fail(err, -ENOMEM, "port %s: out of memory", port->name);
	port->rxq[queue].backend = p;
	int rc = tl_packet_make_ring(port, fd, TPACKET_V3, &request, &ring, err);
	if (rc == 0)
		tl_packet_init(p, ring, RING_BLOCKS);
	return rc;
}

static int open_queue(struct tl_port *port, uint16_t queue, struct tl_err *err)
{
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	bool by_poll = port->cfg.timestamps == TL_TS_TSC;
	uint16_t (*blocks)(struct tl_rxq *, struct tl_burst *) = by_poll ? tl_packet_polled_burst : tl_packet_burst;

	if (fd < 0)
		return tl_fail(err, -errno, "port %s: no AF_PACKET socket (%s): are you root (CAP_NET_RAW)?",
			port->name, strerror(errno));
	port->sockets.fd[port->sockets.n++] = fd;
	port->rxq[queue] = (struct tl_rxq){.burst = sends(port) ? tl_slot_burst : blocks,
		.free = sends(port) ? NULL : tl_packet_free,
		.frame_max = tl_kernel_frame_max(port->cfg.spec.arg),
		.port_id = port->port_id,
		.queue_id = queue,
		.source = by_poll ? TL_TS_TSC : TL_TS_KERNEL,
		.wait_fd = fd,
		.gathers = !sends(port),
		.clock = port->cfg.clock,
		.port = port};
	int rc = sends(port) ? tl_slot_open(port, queue, fd, err) : open_blocks(port, queue, fd, err);
	if (rc == 0)
		rc = bind_socket(port, fd, err);
	return rc == 0 ? join_group(port, fd, queue, err) : rc;
}

static int make_pool(struct tl_port *port, struct tl_err *err)
{
	uint32_t room = RTE_MAX(tl_kernel_frame_bytes(&port->cfg), (uint32_t)TL_PORT_ROOM_MIN);

	return sends(port) ? tl_port_make_pool(port, room, TL_BURST, TL_BURST, err) : 0;
}

static void fill_txqs(struct tl_port *port)
{
	for (uint16_t i = 0; i < port->cfg.tx_queues; i++)
		port->txq[i] = (struct tl_txq){.port_id = port->port_id,
			.queue_id = i,
			.early_pkts = TL_SLOT_EARLY_PKTS,
			.flush_fn = tl_slot_flush,
			.send = tl_slot_send,
			.sent = &port->sent[i],
			.clock = port->cfg.clock,
			.backend = port->rxq[i].backend};
}

static int packet_open(struct tl_port *port, struct tl_err *err)
{
	int rc = tl_port_check(&port->cfg, err);

	port->port_id = RTE_MAX_ETHPORTS; // not a device of DPDK
	snprintf(port->multicast, sizeof(port->multicast), "none");
	if (rc == 0 && port->cfg.tx_queues > port->cfg.rx_queues) // each sends on the socket of a receive queue
		rc = tl_fail(err, -EINVAL, "port %s: at most as many send as receive queues", port->name);
	if (rc == 0)
		rc = tl_kernel_mac(&port->cfg, port->mac, err);
	if (rc == 0)
		rc = make_pool(port, err);
	for (uint16_t q = 0; q < port->cfg.rx_queues && rc == 0; q++)
		rc = open_queue(port, q, err);
	if (rc == 0)
		tl_kernel_open_spare(&port->sockets);
	if (rc == 0)
		fill_txqs(port);
	port->speed_bps = tl_port_expected_bps(&port->cfg.spec);
	return rc;
}

static int packet_start(struct tl_port *port, struct tl_err *err)
{
	tl_kernel_admit_packet(&port->sockets);
	return 0;
}

static bool packet_quiesce(struct tl_port *port)
{
	return tl_kernel_quiesce_packet(&port->sockets);
}

// True if the interface was removed: its socket is then bound to none.
static bool is_gone(const struct tl_port *port)
{
	struct sockaddr_ll address;
	socklen_t len = sizeof(address);

	return getsockname(port->sockets.fd[0], (struct sockaddr *)&address, &len) == 0 && address.sll_ifindex < 0;
}

static bool packet_ended(const struct tl_port *port, struct tl_err *err)
{
	if (!is_gone(port))
		return false;
	if (err != NULL)
		tl_fail(err, -ENODEV,
			"port %s: interface %s is gone: it was removed, or moved to another network namespace%s",
			port->name, port->cfg.spec.arg, sends(port) ? "" : "; frames received until then are recorded");
	return true;
}

// Read socket errors: an interface that goes down leaves one, and poll() returns at once until it is read.
static void look_for_errors(const struct tl_port *port)
{
	bool down = false;

	for (unsigned i = 0; i < port->sockets.n; i++) {
		int error = 0;
		socklen_t len = sizeof(error);
		down |= getsockopt(port->sockets.fd[i], SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error == ENETDOWN;
	}
	if (down && !is_gone(port))
		tl_warn("port %s: interface %s is down: reception resumes when it is up (`ip link set %s up`)",
			port->name, port->cfg.spec.arg, port->cfg.spec.arg);
}

static void packet_sample(struct tl_port *port, struct tl_port_stats *out)
{
	look_for_errors(port);
	tl_kernel_sample_packet(&port->sockets);
	*out = (struct tl_port_stats){.hw_seen_pkts = port->sockets.seen, .verified = true};
	tl_port_socket_drops(port, out);
}

// A port without an echo has no groups. The membership ends with the socket.
static int packet_set_groups(struct tl_port *port, const uint8_t (*macs)[TL_ETHER_ADDR_LEN], uint32_t n)
{
	const struct packet_mreq all = {
		.mr_ifindex = (int)if_nametoindex(port->cfg.spec.arg), .mr_type = PACKET_MR_ALLMULTI};
	int fd = port->sockets.fd[0];

	if (!sends(port))
		return -ENOTSUP;
	if (!port->cfg.promisc && !port->allmulti &&
		setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof(all)) != 0)
		return -errno;
	port->allmulti = !port->cfg.promisc;
	snprintf(port->multicast, sizeof(port->multicast), "%s", port->allmulti ? "all multicast" : "promiscuous");
	return 0;
}

static void close_blocks(struct tl_packet_queue *p)
{
	if (p != NULL && p->ring != NULL)
		munmap(p->ring, RING_BYTES);
	rte_free(p);
}

static void packet_close(struct tl_port *port)
{
	for (uint16_t q = 0; q < port->cfg.rx_queues; q++) {
		if (sends(port))
			tl_slot_close(port->rxq[q].backend);
		else
			close_blocks(port->rxq[q].backend);
	}
	tl_kernel_close_spare(&port->sockets);
	for (unsigned i = 0; i < port->sockets.n; i++)
		close(port->sockets.fd[i]);
}

void tl_packet_init(struct tl_packet_queue *p, void *ring, uint32_t blocks)
{
	p->ring = ring;
	p->blocks = blocks;
	for (unsigned i = 0; i < TL_PACKET_VIEWS; i++) {
		p->views[i] = (struct rte_mbuf){.buf_len = UINT16_MAX, .nb_segs = 1, .port = RTE_MBUF_PORT_INVALID};
		rte_mbuf_refcnt_set(&p->views[i], 1);
	}
}

const struct tl_port_ops tl_port_packet_ops = {
	.open = packet_open,
	.start = packet_start,
	.quiesce = packet_quiesce,
	.ended = packet_ended,
	.sample = packet_sample,
	.set_groups = packet_set_groups,
	.close = packet_close,
};
