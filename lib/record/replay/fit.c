// SPDX-License-Identifier: BSD-3-Clause
// Frames above the MTU of the port: cut, fragmented or dropped.

#include "replay_priv.h"

#include <tl_fit.h>

uint32_t replay_limit(const struct replay_reader *r, uint16_t type)
{
	return r->cfg->outs[r->out].frame_limit + (type == TL_ETHERTYPE_VLAN ? TL_VLAN_LEN : 0);
}

// Put the fragments into the ring, and count a frame of which a seek does not pass all. Return their number, 0: the
// frame must not be fragmented. The frame itself lies in scratch, whose second half takes the fragments.
static uint64_t put_fragments(struct replay_reader *r, uint64_t ts_ns, uint32_t bytes, uint32_t limit)
{
	uint8_t *fragment = r->scratch + REPLAY_SCRATCH;
	struct tl_fit fit;
	uint64_t n = 0;
	bool any = false;

	if (!tl_fit_begin(&fit, r->scratch, bytes, limit))
		return 0;
	for (; (bytes = tl_fit_next(&fit, fragment)) != 0; n++)
		any |= replay_put(r, ts_ns, fragment, bytes);
	tl_count(&r->fragmented_pkts, any);
	return n;
}

bool replay_fit(struct replay_reader *r, const struct tl_pcap_frame *frame)
{
	if (r->scratch == NULL || frame->cap_bytes > REPLAY_SCRATCH - TL_EDIT_GROWTH)
		return false;
	uint32_t bytes = replay_copy(r, frame, r->scratch);
	const struct tl_ether_hdr *ether = (const void *)r->scratch;
	uint32_t limit = replay_limit(r, tl_be16(ether->type_be));
	if (r->cfg->mtu_action == TL_REPLAY_MTU_CUT) {
		tl_fit_cut(r->scratch, bytes, limit);
		tl_count(&r->cut_pkts, replay_put(r, frame->ts_ns, r->scratch, limit));
		return true;
	}
	uint64_t n = put_fragments(r, frame->ts_ns, bytes, limit);
	if (n == 0)
		return false;
	tl_count(&r->ledger.added_pkts, n - 1);
	return true;
}
