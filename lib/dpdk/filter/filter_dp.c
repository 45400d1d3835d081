// SPDX-License-Identifier: BSD-3-Clause
// Filter match of one frame.

#include "filter_priv.h"

#include <rte_mbuf.h>

#define FRAME_MAX 262144 // libpcap's maximum

// clang's check of indirect calls needs a signature before the callee, which native code lacks.
#ifdef __clang__
#define CALLS_UNMARKED __attribute__((no_sanitize("function")))
#else
#define CALLS_UNMARKED
#endif

// Linearize the frame for libpcap.
static __rte_noinline bool interpret_chain(
	const struct tl_filter *filter, const struct rte_mbuf *m, uint32_t wire_bytes)
{
	uint8_t copy[FRAME_MAX];
	uint32_t len = m->pkt_len < FRAME_MAX ? m->pkt_len : FRAME_MAX;
	const uint8_t *data = rte_pktmbuf_read(m, 0, len, copy);

	return tl_filter_match_bytes(filter, data, len, wire_bytes);
}

static bool interpret(const struct tl_filter *filter, const struct rte_mbuf *m, uint32_t wire_bytes)
{
	if (TL_UNLIKELY(m->pkt_len != m->data_len))
		return interpret_chain(filter, m, wire_bytes);
	if (filter->inner != NULL)
		return tl_filter_match_inner(filter->inner, m, wire_bytes);
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
	return bpf_filter(filter->program.bf_insns, data, wire_bytes, m->data_len) != 0;
}

// Native code has a single length, the mbuf's.
CALLS_UNMARKED bool tl_filter_match(const struct tl_filter *filter, const struct rte_mbuf *m, uint32_t wire_bytes)
{
	bool has_length = !filter->reads_length || m->pkt_len == wire_bytes;

	if (TL_LIKELY(filter->native != NULL && has_length))
		return filter->native((void *)(uintptr_t)m) != 0;
	return interpret(filter, m, wire_bytes);
}
