// SPDX-License-Identifier: BSD-3-Clause
// Colour of a received message, before its echo.

#include "police.h"

// Colour a message. Return whether it was dropped.
static bool police_drops(struct tl_echo *echo, uint32_t len)
{
	struct tl_echo_police *police = echo->police;
	enum tl_meter_colour colour = tl_policer_colour(&police->policer, tl_net_now(echo->host->net), len);

	tl_count(police->msgs[colour], 1);
	if (TL_LIKELY(!tl_policer_drops(&police->policer, colour)))
		return false;
	tl_count(&echo->stats.received_msgs, 1);
	tl_count(&echo->stats.received_bytes, len);
	tl_count(&echo->stats.drop_police_msgs, 1);
	return true;
}

void tl_echo_policed_mcast_datagram(void *ctx, const struct tl_udp_datagram *d)
{
	struct tl_echo *echo = ctx;

	if (!police_drops(echo, d->len))
		echo->police->mcast(echo, d);
}

void tl_echo_policed_udp_datagram(void *ctx, const struct tl_udp_datagram *d)
{
	struct tl_echo *echo = ctx;

	if (!police_drops(echo, d->len))
		echo->police->udp(echo, d);
}
