// SPDX-License-Identifier: BSD-3-Clause
// Path MTU discovery (RFC 1191, 8201). ICMP messages can be forged: they are accepted only as RFC 5927 allows.

#include "tcp_loss.h"
#include "tcp_output.h"
#include "tcp_seg.h"
#include "tcp_table.h"

#define PATH_MTU_MIN 296   // smallest useful value of the table in RFC 1191
#define PATH_MTU_MIN6 1280 // RFC 8200, section 5

// Next lower plateau, for routers that report no MTU (RFC 1191, section 7).
static uint16_t plateau_below(uint16_t bytes)
{
	static const uint16_t PLATEAUS[] = {32000, 17914, 8166, 4352, 2002, 1492, 1006, 508};

	for (unsigned i = 0; i < TL_ARRAY_LEN(PLATEAUS); i++) {
		if (PLATEAUS[i] < bytes)
			return PLATEAUS[i];
	}
	return PATH_MTU_MIN;
}

static uint16_t path_mtu_min(uint32_t dst_be)
{
	return tl_ip_is6(dst_be) ? PATH_MTU_MIN6 : PATH_MTU_MIN;
}

static uint16_t mss_for(const struct tl_tcp *c, uint16_t mtu)
{
	return mtu - tl_ip_len(c->key.peer_be) - TL_TCP_LEN - (c->stamped ? TL_TCP_STAMP_LEN : 0);
}

void tl_tcp_pmtu_believe(struct tl_tcp *c)
{
	c->mss = c->claimed_mss;
	c->claimed_mss = 0;
	c->mss_proven = false;
	tl_count(&c->net->stats.tcp_path_mtu_drops, 1);
}

// Accept a claim at once if no segment of the current size was ever acknowledged. Otherwise a segment must be lost
// first: the retransmission timer accepts the claim, an ACK of a full segment rejects it (RFC 5927, section 7.2).
static void take_claim(struct tl_tcp *c, uint16_t mss)
{
	if (mss >= c->mss || (c->claimed_mss != 0 && mss >= c->claimed_mss))
		return;
	c->claimed_mss = mss;
	if (c->mss_proven)
		return;
	tl_tcp_pmtu_believe(c);
	tl_tcp_cc_resend(c);
	tl_tcp_output(c);
}

void tl_tcp_too_big(struct tl_net *net, uint32_t dst_be, uint16_t src_port_be, uint16_t dst_port_be, uint32_t seq,
	uint16_t mtu, uint16_t was_bytes)
{
	struct tl_tcp *c = tl_tcp_find(net, tl_tcp_key(dst_be, dst_port_be, src_port_be));

	tl_tcp_settle(net);
	if (c == NULL || c->state < TL_TCPS_ESTABLISHED || c->state == TL_TCPS_TIME_WAIT)
		return;
	if (tl_seq_lt(seq, c->snd_una) || !tl_seq_lt(seq, c->snd_max)) // RFC 5927, section 4.1
		return;
	if (mtu == 0)
		mtu = plateau_below(was_bytes);
	if (mtu >= was_bytes) // implausible
		return;
	take_claim(c, mss_for(c, mtu < path_mtu_min(dst_be) ? path_mtu_min(dst_be) : mtu));
	tl_tcp_ready_refresh(c);
}
