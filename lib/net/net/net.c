// SPDX-License-Identifier: BSD-3-Clause
// A host: set-up, timers, counters, tear-down.

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_malloc.h>
#include <rte_mbuf.h>

#include <tl_err.h>
#include <tl_mcast.h>
#include <tl_random.h>
#include <tl_secret.h>

#include "net_priv.h"

#define TTL_DEFAULT 64 // RFC 1700
#define PORTS_DEFAULT 16
#define GROUPS_DEFAULT 64 // of mcast

int tl_net_secret(struct tl_net *net, uint64_t *words, uint32_t n)
{
	if (net->cfg.seed == 0)
		return tl_secret_fill(words, n * sizeof(words[0]));
	for (uint32_t i = 0; i < n; i++)
		words[i] = tl_random_next(&net->rng);
	return 0;
}

static bool is_power_of_two(uint32_t n)
{
	return n != 0 && (n & (n - 1)) == 0;
}

static bool is_prefix_mask(uint32_t mask_be)
{
	uint32_t host_bits = ~tl_be32(mask_be);

	return mask_be != 0 && (host_bits & (host_bits + 1)) == 0;
}

static bool is_host_mac(const uint8_t mac[TL_ETHER_ADDR_LEN])
{
	static const uint8_t none[TL_ETHER_ADDR_LEN];

	return (mac[0] & 1) == 0 && memcmp(mac, none, sizeof(none)) != 0;
}

static uint32_t broadcast_be(uint32_t ip_be, uint32_t mask_be)
{
	return tl_be32(~mask_be) > 1 ? ip_be | ~mask_be : UINT32_MAX;
}

static bool is_host_ip(uint32_t ip_be, uint32_t mask_be)
{
	const struct tl_net at = {.broadcast_be = broadcast_be(ip_be, mask_be)};

	return ip_be != 0 && !tl_ipv4_is_mcast(ip_be) && !tl_ip_is_broadcast(&at, ip_be);
}

static bool is_good_ip6(const struct tl_net_cfg *cfg)
{
	if (!tl_ip6_is_set(&cfg->ip6))
		return !tl_ip6_is_set(&cfg->gateway6);
	return tl_ip6_is_host(&cfg->ip6) && cfg->ip6_bits >= 1 && cfg->ip6_bits <= 128 && cfg->mtu >= 1280 &&
	       !tl_ip6_equal(&cfg->ip6, &cfg->gateway6) &&
	       (tl_ip6_is_host(&cfg->gateway6) || !tl_ip6_is_set(&cfg->gateway6));
}

static int check_cfg(const struct tl_net_cfg *cfg, struct tl_err *err)
{
	uint32_t tag_len = cfg->vlan != 0 ? TL_VLAN_LEN : 0;
	uint32_t need_bytes = RTE_PKTMBUF_HEADROOM + TL_ETHER_LEN + tag_len + cfg->mtu;
	const struct {
		bool ok;
		const char *need;
	} rules[] = {
		{is_host_mac(cfg->mac),
			"the port needs a unicast MAC address; lo and tunnels have none: use an Ethernet interface"},
		{cfg->ip_be == 0 || is_prefix_mask(cfg->mask_be), "the netmask must be a prefix of 1 to 32 bits"},
		{is_host_ip(cfg->ip_be, cfg->mask_be) || (cfg->ip_be == 0 && tl_ip6_is_set(&cfg->ip6)),
			"the IP address must be a host's"},
		{cfg->gateway_be != cfg->ip_be || cfg->ip_be == 0, "the gateway must be another host"},
		{is_good_ip6(cfg),
			"the IPv6 address and gateway must be those of two hosts, the prefix 1 to 128 bits, the MTU at least 1280"},
		{cfg->dscp < 64, "the DSCP must be 0 to 63"},
		{cfg->vlan <= 4094, "the VLAN must be 1 to 4094, or 0 for none"},
		{cfg->mtu >= 576 && cfg->mtu <= 9600, "the MTU must be 576 to 9600"},
		{rte_pktmbuf_data_room_size(cfg->pool) >= need_bytes, "the mbufs must hold a frame of the MTU"},
		{cfg->neighbour_entries >= 16 && cfg->neighbour_entries <= TL_NET_NEIGHBOURS_MAX,
			"neighbour_entries must be 16 to 65536"},
		{cfg->n_neighbours <= cfg->neighbour_entries / 2,
			"at most half of the neighbour entries can be configured"},
		{cfg->max_conns >= 1 && cfg->max_conns <= TL_NET_CONNS_MAX, "max_conns must be 1 to 2097152"},
		{cfg->groups <= TL_NET_GROUPS_MAX, "groups must be at most 16384"},
		{cfg->udp_ports <= TL_NET_UDP_MAX, "udp_ports must be at most 4096"},
		{cfg->listeners <= UINT16_MAX, "listeners must be at most 65535"},
		{is_power_of_two(cfg->send_buffer_bytes) && cfg->send_buffer_bytes >= 4096 &&
				cfg->send_buffer_bytes <= 16 << 20,
			"the send buffer must be a power of two from 4 KiB to 16 MiB"},
	};

	for (size_t i = 0; i < TL_ARRAY_LEN(rules); i++) {
		if (!rules[i].ok)
			return tl_fail(err, -EINVAL, "net %s: %s", cfg->name, rules[i].need);
	}
	return 0;
}

static int init_parts(struct tl_net *net)
{
	struct tl_mcast_cfg mcast = {
		.send = tl_igmp_send,
		.send_ctx = net,
		.ip_be = net->cfg.ip_be,
		.msg_max_bytes = net->cfg.mtu - TL_IGMP_IP_LEN,
		.groups = net->cfg.groups,
	};
	int rc = tl_arp_init(net);

	if (rc == 0)
		rc = tl_frag_init(net);
	if (rc == 0)
		rc = tl_net_secret(net, &mcast.seed, 1);
	if (rc == 0)
		rc = tl_mcast_create(&mcast, &net->mcast);
	if (rc == 0)
		rc = tl_udp_init(net);
	if (rc == 0)
		rc = tl_ip6_init(net);
	if (rc == 0)
		rc = tl_arp_add_static(net);
	if (rc == 0)
		rc = tl_tcp_init(net);
	return rc;
}

static struct tl_net_cfg with_defaults(const struct tl_net_cfg *cfg)
{
	struct tl_net_cfg full = *cfg;

	if (cfg->ttl == 0)
		full.ttl = TTL_DEFAULT;
	if (cfg->neighbour_entries == 0)
		full.neighbour_entries = TL_NET_NEIGHBOURS;
	if (cfg->pool_users == 0)
		full.pool_users = 1;
	if (cfg->udp_ports == 0)
		full.udp_ports = PORTS_DEFAULT;
	if (cfg->udp_binds == 0)
		full.udp_binds = full.udp_ports + (cfg->groups != 0 ? cfg->groups : GROUPS_DEFAULT);
	if (cfg->listeners == 0)
		full.listeners = PORTS_DEFAULT;
	return full;
}

int tl_net_create(const struct tl_net_cfg *wanted, struct tl_net **out, struct tl_err *err)
{
	const struct tl_net_cfg full = with_defaults(wanted), *cfg = &full;
	int rc = check_cfg(cfg, err);
	if (rc != 0)
		return rc;

	struct tl_net *net = rte_zmalloc_socket("tl_net", sizeof(*net), TL_CACHE_LINE, cfg->socket_id);
	if (net == NULL)
		return tl_fail(err, -ENOMEM, "net %s: no memory on NUMA node %d", cfg->name, cfg->socket_id);
	net->cfg = *cfg;
	snprintf(net->name, sizeof(net->name), "%s", cfg->name);
	net->cfg.name = net->name;
	memcpy((uint8_t *)&net->mac_bits + 2, cfg->mac, sizeof(cfg->mac));
	net->tag_be = tl_be32((uint32_t)TL_ETHERTYPE_VLAN << 16 | cfg->vlan);
	net->broadcast_be = broadcast_be(cfg->ip_be, cfg->mask_be);
	net->rng = cfg->seed;
	tl_net_choose_input(net);
	rc = init_parts(net);
	if (rc != 0) {
		tl_net_destroy(net);
		return tl_fail(err, rc,
			"net %s: %s; give DPDK more memory or lower max_conns (%u) or the send buffers (of %u bytes)",
			cfg->name, strerror(-rc), cfg->max_conns, cfg->send_buffer_bytes);
	}
	net->cfg.neighbours = NULL;
	*out = net;
	return 0;
}

void tl_net_destroy(struct tl_net *net)
{
	if (net == NULL)
		return;
	if (net->tcp != NULL)
		tl_tcp_fini(net);
	tl_mcast_destroy(net->mcast);
	tl_frag_fini(net);
	tl_arp_fini(net);
	tl_ip6_fini(net);
	tl_udp_fini(net);
	rte_pktmbuf_free(net->spare);
	rte_free(net);
}

void tl_net_announce(struct tl_net *net, uint64_t mono_ns)
{
	tl_net_sent(net); // allocates the spare mbuf
	net->now_ns = mono_ns;
	tl_arp_announce(net);
	tl_nd_announce(net);
}

void tl_net_announce_again(struct tl_net *net, uint64_t mono_ns)
{
	tl_tcp_settle(net);
	net->now_ns = mono_ns;
	tl_arp_announce(net);
	tl_nd_announce_again(net);
	tl_mcast_report_again(net->mcast, mono_ns);
	if (net->ip6 != NULL)
		tl_mcast_report_again(net->ip6->mld, mono_ns);
}

void tl_net_tick(struct tl_net *net, uint64_t mono_ns)
{
	tl_tcp_settle(net);
	net->now_ns = mono_ns;
	tl_arp_tick(net);
	tl_frag_tick(net);
	if (mono_ns >= tl_mcast_next_deadline(net->mcast))
		tl_mcast_tick(net->mcast, mono_ns);
	if (net->ip6 != NULL) {
		if (mono_ns >= tl_mcast_next_deadline(net->ip6->mld))
			tl_mcast_tick(net->ip6->mld, mono_ns);
		tl_nd_tick(net);
	}
	tl_tcp_tick(net);
	(void)tl_tcp_pace(net, mono_ns);
}

unsigned tl_net_counters(const struct tl_net *net, struct tl_counter *out, unsigned max)
{
	const struct tl_counter all[] = {
#define X(field) {#field, tl_count_read(&net->stats.field)},
		TL_NET_COUNTERS(X)
#undef X
	};
	unsigned n = (unsigned)tl_min_u64(max, TL_ARRAY_LEN(all));

	memcpy(out, all, n * sizeof(*out));
	if (n < max)
		n += (unsigned)tl_min_u64(max - n, tl_mcast_counters(net->mcast, out + n, max - n));
	if (n < max && net->ip6 != NULL)
		n += (unsigned)tl_min_u64(max - n, tl_mcast_counters(net->ip6->mld, out + n, max - n));
	return n;
}

unsigned tl_net_group_macs(const struct tl_net *net, uint8_t (*out)[TL_ETHER_ADDR_LEN], unsigned max)
{
	uint32_t group_be[TL_PORT_GROUPS_MAX];
	unsigned n4 = tl_mcast_groups(net->mcast, group_be, TL_PORT_GROUPS_MAX), n6 = 0;

	for (unsigned i = 0; i < n4 && i < max && i < TL_PORT_GROUPS_MAX; i++)
		tl_wire_mcast_mac(group_be[i], out[i]);
	if (net->ip6 != NULL)
		n6 = tl_mcast_groups(net->ip6->mld, group_be, TL_PORT_GROUPS_MAX);
	for (unsigned i = 0; i < n6 && n4 + i < max; i++)
		tl_wire_mcast_mac6(tl_ip6_of(&net->ip6->book, group_be[i]), out[n4 + i]);
	return n4 + n6;
}
