// SPDX-License-Identifier: BSD-3-Clause
// The stacks of a player, one per address.

#include "player_priv.h"

#include <errno.h>

// Stack of a frame: by its IPv4 destination, or the address asked for by ARP.
static struct tl_net *net_of(const struct tl_player *player, const struct tl_pkt *pkt)
{
	uint32_t i = tl_be32(pkt->dst_be) - tl_be32(player->cfg.first_be);

	return player->cfg.nets[i < player->cfg.n_nets ? i : 0];
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
		tl_net_input(net_of(player, &burst->pkt[i]), one);
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

	for (uint32_t i = 0; i < player->cfg.n_nets; i++)
		all &= tl_net_resolve(player->cfg.nets[i], player->cfg.target_be) != -EAGAIN;
	return all;
}

void tl_player_sent(struct tl_player *player)
{
	for (uint32_t i = 0; i < player->cfg.n_nets; i++)
		tl_net_sent(player->cfg.nets[i]);
}
