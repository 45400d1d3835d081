// SPDX-License-Identifier: BSD-3-Clause
// The echo's roles with stage stamps: two stamps before each send call, all bookkeeping after it.

#include "echo_priv.h"

#include <string.h>

#include <rte_mbuf.h>

void tl_echo_staged_rx(void *ctx, struct tl_burst *burst)
{
	struct tl_echo_host *host = ctx;

	if (host->steer != NULL) {
		tl_echo_steered_rx(host, burst);
	} else if (TL_UNLIKELY(burst->n > 1)) {
		tl_echo_input(host, burst, burst, 0);
	} else {
		tl_echo_parse_at(burst, 0);
		tl_echo_stamp(&host->staged.parsed_tsc);
		tl_net_input(host->net, burst);
		tl_echo_stamp(&host->staged.ready_tsc);
	}
}

// ---- frames of an echo

static bool is_group6(const struct tl_echo_cfg *cfg, const struct tl_ipv6_hdr *ip)
{
	return tl_ip6_equal(&ip->dst, &cfg->group6) &&
	       (!tl_ip6_is_set(&cfg->source6) || tl_ip6_equal(&ip->src, &cfg->source6));
}

static bool is_group(const struct tl_echo_cfg *cfg, const uint8_t *frame, const struct tl_pkt *pkt)
{
	if (tl_ip6_is_set(&cfg->group6))
		return pkt->kind == TL_PKT_IP6 && is_group6(cfg, tl_wire_ip6(frame, pkt));
	uint32_t n_groups = cfg->n_groups != 0 ? cfg->n_groups : 1;
	return pkt->kind == TL_PKT_UDP && tl_be32(pkt->dst_be) - tl_be32(cfg->group_be) < n_groups &&
	       (cfg->source_be == 0 || pkt->src_be == cfg->source_be);
}

static bool is_for(const struct tl_echo_cfg *cfg, const uint8_t *frame, const struct tl_pkt *pkt)
{
	uint8_t kind = pkt->kind == TL_PKT_IP6 ? pkt->ip6_kind : pkt->kind;

	switch (cfg->kind) {
	case TL_ECHO_KIND_TCP:
		return kind == TL_PKT_TCP && pkt->dst_port_be == cfg->listen_port_be && pkt->payload_len != 0;
	case TL_ECHO_KIND_UDP:
		return kind == TL_PKT_UDP && pkt->dst_port_be == cfg->listen_port_be;
	default:
		return kind == TL_PKT_UDP && pkt->dst_port_be == cfg->udp_port_be && is_group(cfg, frame, pkt);
	}
}

uint64_t tl_echo_own_frames(const struct tl_echo *echo, const struct tl_burst *burst)
{
	uint64_t own = 0;

	for (uint16_t i = 0; i < burst->n; i++)
		if (is_for(&echo->cfg, rte_pktmbuf_mtod(burst->pkts[i], const uint8_t *), &burst->pkt[i]))
			own |= UINT64_C(1) << i;
	return own;
}

// ---- after the send call

// Record the wire time of each frame; return the longest. Frames from another lcore have no stamps.
static uint64_t record_wire(struct tl_echo *echo, const struct tl_burst *burst, bool handed)
{
	struct tl_echo_stages *stages = echo->stages;
	uint64_t own = tl_echo_own_frames(echo, burst);
	uint64_t poll_ns = tl_clock_wall_ns(echo->host->clock, burst->tsc);
	uint64_t longest = TL_TAIL_UNKNOWN;

	for (; own != 0; own &= own - 1) {
		unsigned i = (unsigned)__builtin_ctzll(own);
		if (handed || (burst->unstamped >> i & 1) != 0) {
			tl_count(&stages->unstamped_pkts, 1);
			continue;
		}
		if (TL_UNLIKELY(burst->ts_ns[i] > poll_ns)) {
			tl_count(&stages->after_poll_pkts, 1);
			continue;
		}
		uint64_t wire_ns = poll_ns - burst->ts_ns[i];
		tl_hist_record(&stages->hist[TL_STAGE_WIRE], wire_ns);
		longest = longest == TL_TAIL_UNKNOWN ? wire_ns : tl_max_u64(longest, wire_ns);
	}
	return longest;
}

// Split the residence time at the marks, so that the stages add up to it. A full queue was sent before the stack had
// finished: marks are limited to the send call.
static void split_stages(const struct tl_echo_host *host, const struct tl_burst *burst, uint64_t stage_ns[TL_STAGES])
{
	const struct tl_txq *tx = host->tx;
	const uint64_t marks[] = {[TL_STAGE_PARSE] = host->staged.parsed_tsc,
		[TL_STAGE_STACK] = host->staged.ready_tsc,
		[TL_STAGE_QUEUE] = tx->begin_tsc};
	uint64_t mark_tsc = burst->tsc, before_ns = 0;

	for (int i = TL_STAGE_PARSE; i <= TL_STAGE_QUEUE; i++) {
		mark_tsc = tl_max_u64(mark_tsc, tl_min_u64(marks[i], tx->begin_tsc));
		uint64_t at_ns = tl_clock_span_ns(host->clock, mark_tsc - burst->tsc);
		stage_ns[i] = at_ns - before_ns;
		before_ns = at_ns;
	}
	stage_ns[TL_STAGE_TX_CALL] = tl_clock_span_ns(host->clock, tx->end_tsc - tx->begin_tsc);
}

static void record(struct tl_echo *echo, const struct tl_burst *burst, const uint64_t stage_ns[TL_STAGES])
{
	struct tl_echo_host *host = echo->host;
	struct tl_echo_stages *stages = echo->stages;
	uint64_t n = echo->pending_msgs;
	uint64_t stay_ns = stage_ns[TL_STAGE_PARSE] + stage_ns[TL_STAGE_STACK] + stage_ns[TL_STAGE_QUEUE];
	uint64_t gap_ns = tl_echo_poll_gap_ns(host, burst);

	for (int i = TL_STAGE_PARSE; i < TL_STAGES; i++)
		tl_hist_record_n(&stages->hist[i], stage_ns[i], n);
	if (gap_ns != TL_TAIL_UNKNOWN)
		tl_hist_record_n(&stages->poll_gap, gap_ns, n);
	if (stages->samples != NULL)
		tl_tail_samples_add(
			stages->samples, &(struct tl_tail_sample){.time_ns = tl_clock_wall_ns(host->clock, burst->tsc),
						 .residence_ns = stay_ns,
						 .poll_gap_ns = gap_ns,
						 .msgs = n});
	if (stages->sent.msgs == 0) {
		stages->next_sent = host->staged.sent;
		host->staged.sent = echo;
	}
	stages->sent.msgs += n;
	stages->sent.stay_ns = stay_ns;
	memcpy(stages->sent.stage_ns, stage_ns, sizeof(stages->sent.stage_ns));
}

static void record_pending(struct tl_echo *echo, const struct tl_burst *burst, const uint64_t stage_ns[TL_STAGES])
{
	if (echo->pending_msgs != 0 && echo->stages != NULL)
		record(echo, burst, stage_ns);
}

void tl_echo_stage_part(struct tl_echo_host *host, const struct tl_burst *burst)
{
	uint64_t stage_ns[TL_STAGES] = {0};

	if (TL_UNLIKELY(host->tx->begin_tsc < burst->tsc || host->tx->n != 0))
		return;
	split_stages(host, burst, stage_ns);
	for (uint32_t i = 0; host->n_echoes <= TL_ECHO_FEW && i < host->n_echoes; i++)
		record_pending(&host->echoes[i], burst, stage_ns);
	for (struct tl_echo *e = host->pending; host->n_echoes > TL_ECHO_FEW && e != &host->echoes[host->n_echoes];
		e = e->next_pending)
		record_pending(e, burst, stage_ns);
}

// Do what is due once per burst. Its last messages stayed longest.
static void end_burst(struct tl_echo *echo, const struct tl_burst *burst, bool handed)
{
	struct tl_echo_sent *sent = &echo->stages->sent;

	sent->stage_ns[TL_STAGE_WIRE] = echo->host->stamped ? record_wire(echo, burst, handed) : TL_TAIL_UNKNOWN;
	if (TL_UNLIKELY(sent->stay_ns > echo->stages->outlier_ns))
		tl_echo_note_outlier(echo, burst);
	sent->msgs = 0;
}

static void after_tx(struct tl_echo_host *host, struct tl_burst *burst, bool handed)
{
	if (TL_UNLIKELY(host->staged.open))
		tl_echo_complete_outliers(host, burst);
	tl_echo_stage_part(host, burst);
	for (; host->staged.sent != NULL; host->staged.sent = host->staged.sent->stages->next_sent)
		end_burst(host->staged.sent, burst, handed);
	tl_echo_after_tx(host, burst);
	if (host->staged.has_tail)
		tl_echo_keep_burst(host, burst);
}

void tl_echo_staged_after_tx(void *ctx, struct tl_burst *burst)
{
	after_tx(ctx, burst, false);
}

uint16_t tl_echo_staged_poll(void *ctx, uint64_t mono_ns)
{
	struct tl_echo_host *host = ctx;
	struct tl_burst *handed = tl_steer_take(host->steer, mono_ns);

	if (handed == NULL)
		return 0;
	tl_echo_stamp(&host->staged.parsed_tsc);
	tl_echo_input(host, handed, handed, handed->n);
	tl_txq_flush(host->tx);
	after_tx(host, handed, true);
	rte_pktmbuf_free_bulk(handed->pkts, handed->n);
	return handed->n;
}
