// SPDX-License-Identifier: BSD-3-Clause
// The stacks of a player, one per address.

#include "player_priv.h"

#include <errno.h>
#include <string.h>

#define SOLICITED_BITS 24 // of an address, in its solicited-node group (RFC 4291, section 2.7.1)

static bool is_ip6(const struct tl_player *player)
{
	return tl_ip6_is_set(&player->cfg.target6);
}

void player_nets_name_target(struct tl_player *player)
{
	for (uint32_t i = 0; i < player->cfg.n_nets; i++)
		player->targets_be[i] =
			is_ip6(player) ? tl_net_ip6(player->cfg.nets[i], &player->cfg.target6) : player->cfg.target_be;
}

static uint32_t last_word(const struct tl_ip6 *ip)
{
	uint32_t word_be;

	memcpy(&word_be, ip->byte + 12, sizeof(word_be));
	return tl_be32(word_be);
}

// Place of an IPv6 destination in the range; of a solicited-node group by the end of the address.
static uint32_t place6_of(const struct tl_player *player, const struct tl_ip6 *dst)
{
	uint32_t beyond = last_word(dst) - last_word(&player->cfg.first6);

	if (tl_ip6_is_mcast(dst))
		return dst->byte[11] == 1 && dst->byte[12] == 0xff
			       ? beyond << (32 - SOLICITED_BITS) >> (32 - SOLICITED_BITS)
			       : 0;
	return memcmp(dst, &player->cfg.first6, 12) == 0 ? beyond : 0;
}

// Stack of a frame: by its destination, or the address asked for by ARP; the first one for others.
static struct tl_net *net_of(const struct tl_player *player, const struct tl_burst *burst, uint16_t i)
{
	const struct tl_pkt *pkt = &burst->pkt[i];
	uint32_t place = tl_be32(pkt->dst_be) - tl_be32(player->cfg.first_be);

	if (pkt->kind == TL_PKT_IP6)
		place = place6_of(player, &tl_wire_ip6(rte_pktmbuf_mtod(burst->pkts[i], uint8_t *), pkt)->dst);
	return player->cfg.nets[place < player->cfg.n_nets ? place : 0];
}

void player_nets_input(struct tl_player *player, struct tl_burst *burst)
{
	struct tl_burst *one = &player->one;

	if (player->cfg.n_nets == 1) {
		tl_net_input(player->cfg.nets[0], burst);
		return;
	}
	one->n = 1;
	one->tsc = burst->tsc;
	one->mono_ns = burst->mono_ns;
	for (uint16_t i = 0; i < burst->n; i++) {
		one->pkts[0] = burst->pkts[i];
		one->pkt[0] = burst->pkt[i];
		tl_net_input(net_of(player, burst, i), one);
	}
}

void player_nets_tick(struct tl_player *player, uint64_t mono_ns)
{
	for (uint32_t i = 0; i < player->cfg.n_nets; i++)
		tl_net_tick(player->cfg.nets[i], mono_ns);
}

bool player_nets_resolved(struct tl_player *player)
{
	bool all = true;

	// An IPv6 address is not usable during the detection of duplicates.
	for (uint32_t i = 0; i < player->cfg.n_nets; i++) {
		int rc = tl_net_resolve(player->cfg.nets[i], player->targets_be[i]);
		all &= rc == 0 || (rc == -EHOSTUNREACH && !is_ip6(player));
	}
	return all;
}

void tl_player_sent(struct tl_player *player)
{
	for (uint32_t i = 0; i < player->cfg.n_nets; i++)
		tl_net_sent(player->cfg.nets[i]);
}
