// SPDX-License-Identifier: BSD-3-Clause
// Timestamps (RFC 7323): the parts that are not needed per segment. The rest is in tcp_input_dp.c and tcp_output_dp.c.

#include "tcp_secret.h"
#include "tcp_seg.h"
#include "tcp_table.h"
#include "tcp_wheel.h"

#define AGED_TICKS (UINT32_C(24 * 86400) * 954) // 24 days (section 5.5)

uint32_t tl_tcp_stamp_offset(const struct tl_net *net, struct tl_tcp_key key)
{
	return (uint32_t)tl_tcp_hash_key(net, net->tcp->secrets.stamp, key);
}

void tl_tcp_stamp_find(struct tl_tcp_seg *seg)
{
	struct tl_tcp_options options;

	tl_tcp_options_parse(seg->hdr, &options);
	seg->stamped = options.has_stamp;
	seg->stamp = options.stamp;
	seg->echo = options.echo;
	seg->more_options = true;
}

bool tl_tcp_stamp_aged(const struct tl_tcp *c)
{
	return tl_tcp_stamp_now(c) - c->recent_at > AGED_TICKS;
}

// Ignore echoes from the future or from before the connection. An echo of the current tick may be a tick old.
void tl_tcp_stamp_sample(struct tl_tcp *c, uint32_t echo)
{
	uint32_t ticks = tl_tcp_stamp_now(c) - echo;

	if (ticks <= TL_TCP_RTO_MAX_NS >> TL_TCP_STAMP_SHIFT)
		tl_tcp_rtt_sample(c, (uint64_t)(ticks > 0 ? ticks : 1) << TL_TCP_STAMP_SHIFT);
}
