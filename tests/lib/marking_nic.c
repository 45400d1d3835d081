// SPDX-License-Identifier: BSD-3-Clause
// Emulate an E810 whose flow rules mark frames, on net_pcap: preloaded, it interposes between the program and DPDK.
//
//   LD_PRELOAD=BUILD/tests/libmarking_nic.so tapline run … "vdev:net_ice0,rx_pcap=FILE"
//
// The program takes the device for an E810 by its name. The device compares destination (IPv4), protocol, and port, if
// the rule has one; it marks and counts matching frames, without steering them. With MARKING_NIC=refuse it refuses
// rules with a mark, as a driver may.

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_flow.h>
#include <rte_ip.h>
#include <rte_udp.h>

#define RULES_MAX 16

// Next definition behind this library.
#define REAL(function) ((typeof(&(function)))dlsym(RTLD_NEXT, #function))

struct rte_flow {
	bool used;
	uint8_t proto;
	rte_be32_t dst_ip;
	rte_be16_t dst_port; // 0: any
	uint32_t mark;	     // 0: none
	uint64_t hits;
};

static struct rte_flow flows[RULES_MAX];

// ---- the device

static const char *backend(const char *name, char buf[64])
{
	if (strncmp(name, "net_ice", 7) != 0)
		return name;
	snprintf(buf, 64, "net_pcap%s", name + 7);
	return buf;
}

int rte_eal_hotplug_add(const char *bus, const char *name, const char *args)
{
	char buf[64];

	return REAL(rte_eal_hotplug_add)(bus, backend(name, buf), args);
}

int rte_eal_hotplug_remove(const char *bus, const char *name)
{
	char buf[64];

	return REAL(rte_eal_hotplug_remove)(bus, backend(name, buf));
}

int rte_eth_dev_get_port_by_name(const char *name, uint16_t *port_id)
{
	char buf[64];

	return REAL(rte_eth_dev_get_port_by_name)(backend(name, buf), port_id);
}

// ---- frames

static bool matches(const struct rte_flow *flow, const struct rte_mbuf *m)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(const void *)(eth + 1);
	const struct rte_udp_hdr *l4 =
		(const struct rte_udp_hdr *)(const void *)(ip + 1); // TCP has its ports there, too

	return flow->used && eth->ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV4) && ip->next_proto_id == flow->proto &&
	       ip->dst_addr == flow->dst_ip && (flow->dst_port == 0 || l4->dst_port == flow->dst_port);
}

static uint16_t on_receive(
	uint16_t port_id, uint16_t queue, struct rte_mbuf **pkts, uint16_t n, uint16_t size, void *ctx)
{
	for (uint16_t i = 0; i < n; i++)
		for (unsigned f = 0; f < RULES_MAX; f++) {
			if (!matches(&flows[f], pkts[i]))
				continue;
			flows[f].hits++;
			if (flows[f].mark == 0)
				continue;
			pkts[i]->ol_flags |= RTE_MBUF_F_RX_FDIR | RTE_MBUF_F_RX_FDIR_ID;
			pkts[i]->hash.fdir.hi = flows[f].mark;
		}
	return n;
}

int rte_eth_dev_start(uint16_t port_id)
{
	(void)rte_eth_add_rx_callback(port_id, 0, on_receive, NULL);
	return REAL(rte_eth_dev_start)(port_id);
}

// ---- rules

// Read a rule of the program. Return false for others, such as that of its probe.
static bool read_rule(
	const struct rte_flow_item pattern[], const struct rte_flow_action actions[], struct rte_flow *out)
{
	if (pattern[0].type != RTE_FLOW_ITEM_TYPE_ETH || pattern[1].type != RTE_FLOW_ITEM_TYPE_IPV4 ||
		(pattern[2].type != RTE_FLOW_ITEM_TYPE_UDP && pattern[2].type != RTE_FLOW_ITEM_TYPE_TCP))
		return false;
	const struct rte_flow_item_ipv4 *ip = pattern[1].spec;
	const struct rte_flow_item_udp *udp = pattern[2].spec; // TCP has its ports there, too

	*out = (struct rte_flow){.used = true,
		.proto = pattern[2].type == RTE_FLOW_ITEM_TYPE_UDP ? 17 : 6,
		.dst_ip = ip->hdr.dst_addr,
		.dst_port = udp->hdr.dst_port};
	for (; actions->type != RTE_FLOW_ACTION_TYPE_END; actions++)
		if (actions->type == RTE_FLOW_ACTION_TYPE_MARK)
			out->mark = ((const struct rte_flow_action_mark *)actions->conf)->id;
	return true;
}

int rte_flow_validate(uint16_t port_id, const struct rte_flow_attr *attr, const struct rte_flow_item pattern[],
	const struct rte_flow_action actions[], struct rte_flow_error *error)
{
	struct rte_flow rule;

	return read_rule(pattern, actions, &rule) ? 0 : -EINVAL;
}

struct rte_flow *rte_flow_create(uint16_t port_id, const struct rte_flow_attr *attr,
	const struct rte_flow_item pattern[], const struct rte_flow_action actions[], struct rte_flow_error *error)
{
	const char *mode = getenv("MARKING_NIC");
	struct rte_flow rule;

	if (!read_rule(pattern, actions, &rule) || (rule.mark != 0 && mode != NULL && strcmp(mode, "refuse") == 0)) {
		error->message = "no marks today";
		return NULL;
	}
	for (unsigned i = 0; i < RULES_MAX; i++)
		if (!flows[i].used) {
			flows[i] = rule;
			return &flows[i];
		}
	return NULL;
}

int rte_flow_destroy(uint16_t port_id, struct rte_flow *flow, struct rte_flow_error *error)
{
	flow->used = false;
	return 0;
}

int rte_flow_flush(uint16_t port_id, struct rte_flow_error *error)
{
	memset(flows, 0, sizeof(flows));
	return 0;
}

int rte_flow_query(uint16_t port_id, struct rte_flow *flow, const struct rte_flow_action *action, void *data,
	struct rte_flow_error *error)
{
	*(struct rte_flow_query_count *)data = (struct rte_flow_query_count){.hits_set = 1, .hits = flow->hits};
	return 0;
}
