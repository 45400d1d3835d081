// SPDX-License-Identifier: BSD-3-Clause
// Functions outside the hot path: header fields set once.

#include <tl_wire.h>

void tl_wire_ipv4_finish(struct tl_ipv4_hdr *ip)
{
	ip->cksum_be = 0;
	ip->cksum_be = tl_cksum_finish(tl_cksum_add(0, ip, sizeof(*ip)));
}

void tl_wire_mcast_mac(uint32_t group_be, uint8_t mac[TL_ETHER_ADDR_LEN])
{
	uint32_t group = tl_be32(group_be);

	mac[0] = 0x01;
	mac[1] = 0x00;
	mac[2] = 0x5e;
	mac[3] = (uint8_t)((group >> 16) & 0x7f); // 23 of 28 bits: 32 groups share an address
	mac[4] = (uint8_t)(group >> 8);
	mac[5] = (uint8_t)group;
}

void tl_wire_mcast_mac6(const struct tl_ip6 *group, uint8_t mac[TL_ETHER_ADDR_LEN])
{
	mac[0] = 0x33;
	mac[1] = 0x33;
	memcpy(mac + 2, group->byte + 12, 4);
}
