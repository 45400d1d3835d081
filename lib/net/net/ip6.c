// SPDX-License-Identifier: BSD-3-Clause
// Set-up of IPv6: own addresses, address book, multicast listener.

#include <errno.h>

#include <rte_malloc.h>

#include <tl_mcast.h>

#include "net_priv.h"

#define KEPT_MAX 4096 // numbers that are never released
#define PASSING 256   // for packets in transit
#define MLD_HEADERS (TL_IPV6_LEN + 8)

static const struct tl_ip6 ALL_NODES = {{0xff, 0x02, [15] = 1}};

// RFC 4291, appendix A: fe80::/64 and the MAC as a modified EUI-64.
static struct tl_ip6 link_local(const uint8_t mac[TL_ETHER_ADDR_LEN])
{
	return (struct tl_ip6){
		{0xfe, 0x80, 0, 0, 0, 0, 0, 0, mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]}};
}

static struct tl_ip6_own own_address(const struct tl_ip6 *ip)
{
	struct tl_ip6_own own = {
		.ip = *ip, .solicited = {{0xff, 0x02, [11] = 1, [12] = 0xff}}, .state = TL_IP6_TENTATIVE};

	memcpy(own.solicited.byte + 13, ip->byte + 13, 3);
	return own;
}

static int init_book(struct tl_net *net, struct tl_ip6_host *ip6)
{
	uint64_t seed[2];
	uint32_t n = net->cfg.max_conns + net->cfg.neighbour_entries + KEPT_MAX + net->cfg.udp_ports + PASSING;
	void *memory = rte_malloc_socket("tl_ip6", tl_ip6_book_bytes(n), TL_CACHE_LINE, net->cfg.socket_id);

	if (memory == NULL)
		return -ENOMEM;
	int rc = tl_net_secret(net, seed, TL_ARRAY_LEN(seed));
	if (rc != 0) {
		rte_free(memory);
		return rc;
	}
	tl_ip6_book_init(&ip6->book, memory, n, seed);
	return 0;
}

static int init_mld(struct tl_net *net, struct tl_ip6_host *ip6)
{
	struct tl_mcast_cfg cfg = {
		.send = tl_mld_send,
		.send_ctx = net,
		.book = &ip6->book,
		.msg_max_bytes = net->cfg.mtu - MLD_HEADERS,
		.groups = net->cfg.groups,
	};
	int rc = tl_net_secret(net, &cfg.seed, 1);

	return rc == 0 ? tl_mcast_create(&cfg, &ip6->mld) : rc;
}

int tl_ip6_init(struct tl_net *net)
{
	const struct tl_net_cfg *cfg = &net->cfg;
	struct tl_ip6 local = link_local(cfg->mac);

	if (!tl_ip6_is_set(&cfg->ip6))
		return 0;
	struct tl_ip6_host *ip6 = rte_zmalloc_socket("tl_ip6", sizeof(*ip6), TL_CACHE_LINE, cfg->socket_id);
	if (ip6 == NULL)
		return -ENOMEM;
	net->ip6 = ip6;
	int rc = init_book(net, ip6);
	if (rc != 0)
		return rc;
	ip6->prefix_bits = cfg->ip6_bits;
	ip6->deadline_ns = UINT64_MAX;
	ip6->own[0] = own_address(&cfg->ip6);
	if (!tl_ip6_is_link_local(&cfg->ip6))
		ip6->own[1] = own_address(&local);
	ip6->all_nodes_be = tl_net_ip6(net, &ALL_NODES);
	if (tl_ip6_is_set(&cfg->gateway6))
		ip6->gateway_be = tl_net_ip6(net, &cfg->gateway6);
	return init_mld(net, ip6);
}

void tl_ip6_fini(struct tl_net *net)
{
	if (net->ip6 == NULL)
		return;
	tl_mcast_destroy(net->ip6->mld);
	rte_free(net->ip6->book.entry);
	rte_free(net->ip6);
	net->ip6 = NULL;
}

uint32_t tl_net_ip6(struct tl_net *net, const struct tl_ip6 *ip)
{
	struct tl_ip6_host *ip6 = net->ip6;

	if (ip6 == NULL || ip6->n_kept == KEPT_MAX)
		return 0;
	uint32_t number_be = tl_ip6_number(&ip6->book, ip);
	if (number_be != 0) {
		tl_ip6_ref(&ip6->book, number_be);
		ip6->n_kept++;
	}
	return number_be;
}

bool tl_net_ip6_of(const struct tl_net *net, uint32_t ip_be, struct tl_ip6 *out)
{
	if (net->ip6 == NULL || !tl_ip_is6(ip_be) || ip_be >> 8 > net->ip6->book.n)
		return false;
	*out = *tl_ip6_of(&net->ip6->book, ip_be);
	return true;
}

struct tl_ip6_own *tl_ip6_find_own(struct tl_net *net, const struct tl_ip6 *ip)
{
	for (unsigned i = 0; i < TL_ARRAY_LEN(net->ip6->own); i++) {
		struct tl_ip6_own *own = &net->ip6->own[i];
		if (own->state != TL_IP6_NONE && tl_ip6_equal(&own->ip, ip))
			return own;
	}
	return NULL;
}
