// SPDX-License-Identifier: BSD-3-Clause
// Neighbour lookup for frames without a template.

#include <string.h>

#include "arp_priv.h"
#include "net_priv.h"

bool tl_arp_lookup(struct tl_net *net, uint32_t next_hop_be, uint8_t mac[TL_ETHER_ADDR_LEN])
{
	struct tl_arp_entry *e = tl_arp_find(net->arp, next_hop_be);

	if (TL_UNLIKELY(e == NULL || e->state != TL_ARP_RESOLVED))
		return false;
	e->wanted = true;
	if (e->queue == &net->arp->resolved && TAILQ_NEXT(e, link) != NULL) { // least recently used first
		TAILQ_REMOVE(e->queue, e, link);
		TAILQ_INSERT_TAIL(e->queue, e, link);
	}
	memcpy(mac, e->mac, TL_ETHER_ADDR_LEN);
	return true;
}
