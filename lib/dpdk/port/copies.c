// SPDX-License-Identifier: BSD-3-Clause
// Frames that an isolated port copies from the kernel's interface: ARP, neighbour discovery, IGMP and MLD. The kernel
// receives them as well and answers for its own addresses.

#include "port_priv.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <tl_units.h>

#define SLOT_BYTES 2048u // longer frames are cut: none of these is
#define SLOTS 512u
#define BLOCK_BYTES (64u << 10)
#define SNAPLEN 65535
#define SETTLE_MS 1000

// ---- filter

// ICMPv6 messages: neighbour discovery (RFC 4861), multicast listener queries and reports, behind a hop-by-hop header
// (RFC 2710, RFC 3810). Unicast to the port's own addresses is left to its rules.
void tl_copies_filter(const struct tl_port_cfg *cfg, char filter[TL_COPIES_FILTER])
{
	char ip[TL_IPV4_TEXT], ip6[TL_IPV6_TEXT];
	size_t used = (size_t)snprintf(
		filter, TL_COPIES_FILTER, "arp or (igmp and not dst host %s)", tl_format_ipv4(cfg->ip_be, ip));

	if (tl_ip6_is_set(&cfg->ip6))
		snprintf(filter + used, TL_COPIES_FILTER - used,
			" or (ip6 and not dst host %s and ((ip6[6] = 58 and ip6[40] >= 133 and ip6[40] <= 137) or "
			"(ip6[6] = 0 and ip6[40] = 58 and (ip6[48] = 143 or (ip6[48] >= 130 and ip6[48] <= 132)))))",
			tl_format_ipv6(&cfg->ip6, ip6));
}

_Static_assert(sizeof(struct sock_filter) == sizeof(struct bpf_insn), "libpcap's instructions are the kernel's");

static int attach_filter(const struct tl_port *port, struct tl_err *err)
{
	char text[TL_COPIES_FILTER];
	struct bpf_program program;
	int rc = 0;

	tl_copies_filter(&port->cfg, text);
	pcap_t *pcap = pcap_open_dead(DLT_EN10MB, SNAPLEN);
	if (pcap == NULL)
		return tl_fail(err, -ENOMEM, "port %s: out of memory", port->name);
	if (pcap_compile(pcap, &program, text, 1, PCAP_NETMASK_UNKNOWN) != 0) {
		rc = tl_fail(err, -EINVAL, "port %s: filter '%s': %s", port->name, text, pcap_geterr(pcap));
	} else {
		struct sock_fprog kernels = {
			.len = (unsigned short)program.bf_len, .filter = (struct sock_filter *)program.bf_insns};
		const struct tl_packet_option option = {
			"a filter", SOL_SOCKET, SO_ATTACH_FILTER, &kernels, sizeof(kernels)};
		rc = tl_packet_set_options(port, port->copies.sockets.fd[0], &option, 1, err);
		pcap_freecode(&program);
	}
	pcap_close(pcap);
	return rc;
}

// ---- socket and ring

int tl_copies_open(struct tl_port *port, struct tl_err *err)
{
	const struct tpacket_req3 request = {.tp_block_size = BLOCK_BYTES,
		.tp_block_nr = SLOTS * SLOT_BYTES / BLOCK_BYTES,
		.tp_frame_size = SLOT_BYTES,
		.tp_frame_nr = SLOTS};
	struct tl_port_copies *copies = &port->copies;
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	void *ring;

	if (fd < 0)
		return tl_fail(err, -errno, "port %s: no AF_PACKET socket (%s): are you root (CAP_NET_RAW)?",
			port->name, strerror(errno));
	copies->sockets.fd[copies->sockets.n++] = fd;
	int rc = tl_packet_make_ring(port, fd, TPACKET_V2, &request, &ring, err);
	if (rc != 0)
		return rc;
	copies->slots = (struct tl_slot_queue){
		.ring = ring, .pool = port->pool, .slots = SLOTS, .slot_bytes = SLOT_BYTES, .fd = -1};
	copies->rxq = (struct tl_rxq){.burst = tl_slot_burst,
		.frame_max = UINT32_MAX,
		.port_id = port->port_id,
		.source = TL_TS_TSC,
		.wait_fd = fd,
		.clock = port->cfg.clock,
		.port = port,
		.backend = &copies->slots};
	rc = tl_packet_bind(port, fd, copies->iface, false, err);
	if (rc == 0)
		tl_kernel_open_spare(&copies->sockets);
	return rc;
}

int tl_copies_start(struct tl_port *port, struct tl_err *err)
{
	struct tl_kernel_sockets *sockets = &port->copies.sockets;

	if (sockets->n == 0)
		return 0;
	tl_kernel_sample_packet(sockets);
	sockets->seen = 0;
	sockets->dropped[0] = 0;
	return attach_filter(port, err);
}

void tl_copies_sample(struct tl_port *port, struct tl_port_stats *out)
{
	struct tl_kernel_sockets *sockets = &port->copies.sockets;

	if (sockets->n == 0)
		return;
	tl_kernel_sample_packet(sockets);
	out->hw_seen_pkts += sockets->seen;
	out->drop_nic_pkts += sockets->dropped[0];
	out->drops_by_queue &= sockets->dropped[0] == 0;
}

void tl_copies_quiesce(struct tl_port *port)
{
	struct tl_port_copies *copies = &port->copies;

	if (copies->sockets.n == 0 || !tl_kernel_quiesce_packet(&copies->sockets))
		return;
	tl_kernel_sample_packet(&copies->sockets);
	for (unsigned ms = 0; ms < SETTLE_MS; ms++) {
		uint64_t taken = tl_count_read(&copies->rxq.stats.rx_pkts) + copies->sockets.dropped[0];
		if (taken >= copies->sockets.seen)
			return;
		usleep(1000);
	}
}

void tl_copies_close(struct tl_port *port)
{
	struct tl_port_copies *copies = &port->copies;

	if (copies->sockets.n == 0)
		return;
	tl_kernel_close_spare(&copies->sockets);
	if (copies->slots.ring != NULL)
		munmap(copies->slots.ring, SLOTS * SLOT_BYTES);
	close(copies->sockets.fd[0]);
	copies->sockets.n = 0;
}

// ---- groups

static int change_group(const struct tl_port *port, int change, const uint8_t *mac)
{
	struct packet_mreq group = {.mr_ifindex = (int)if_nametoindex(port->copies.iface),
		.mr_type = PACKET_MR_MULTICAST,
		.mr_alen = TL_ETHER_ADDR_LEN};

	memcpy(group.mr_address, mac, TL_ETHER_ADDR_LEN);
	return setsockopt(port->copies.sockets.fd[0], SOL_PACKET, change, &group, sizeof(group)) == 0 ? 0 : -errno;
}

static int receive_all_groups(const struct tl_port *port)
{
	const struct packet_mreq all = {
		.mr_ifindex = (int)if_nametoindex(port->copies.iface), .mr_type = PACKET_MR_ALLMULTI};

	return setsockopt(port->copies.sockets.fd[0], SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof(all)) == 0
		       ? 0
		       : -errno;
}

// The memberships end with the socket. New ones precede the end of the old: a group in both is never left.
int tl_copies_set_groups(struct tl_port *port, const uint8_t (*macs)[TL_ETHER_ADDR_LEN], uint32_t n)
{
	struct tl_port_copies *copies = &port->copies;
	int rc = copies->sockets.n != 0 ? 0 : -ENOTSUP;

	if (n > TL_PORT_GROUPS_MAX)
		return rc == 0 ? receive_all_groups(port) : rc;
	for (uint32_t i = 0; i < n && rc == 0; i++)
		rc = change_group(port, PACKET_ADD_MEMBERSHIP, macs[i]);
	for (uint32_t i = 0; i < copies->n_groups && rc == 0; i++)
		(void)change_group(port, PACKET_DROP_MEMBERSHIP, copies->groups[i]);
	if (rc != 0)
		return rc;
	memcpy(copies->groups, macs, n * sizeof(copies->groups[0]));
	copies->n_groups = n;
	snprintf(port->multicast, sizeof(port->multicast), "kernel's interface");
	return 0;
}
