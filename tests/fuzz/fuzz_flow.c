// SPDX-License-Identifier: BSD-3-Clause
// Fuzz the flow parser with frames: the flow is read within the bytes, and a prefix of them has the same flow or none.
// Where flows are those of innermost packets, a frame without a tunnel has the same flow. Without a table the hash is
// the same.

#include <stdlib.h>

#include <tl_encap.h>

#include "flow_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct tl_flow_bucket buckets[4];
	static struct tl_flow_table table = {.buckets = buckets,
		.bucket_mask = 3,
		.hash.key = {11, 13, 17, 19, 23, 29},
		.cutoff_bytes = 1024,
		.idle_ticks = 1};
	struct tl_flow_id whole, cut;
	struct tl_encap encap;
	static uint64_t now_ns;

	tl_flow_identify(&table, data, (uint32_t)size, &whole);
	tl_flow_identify(&table, data, (uint32_t)size / 2, &cut);
	require(cut.print == 0 || (cut.print == whole.print && cut.syn == whole.syn));
	require(tl_flow_print(&table.hash, false, data, (uint32_t)size) == whole.print);
	tl_flow_source_print(&table.hash, false, data, (uint32_t)size);
	tl_flow_source_print(&table.hash, true, data, (uint32_t)size);
	require(whole.print != 0 || (!whole.syn && tl_flow_keep(&table, &whole, (uint32_t)size, now_ns)));
	tl_flow_keep(&table, &whole, (uint32_t)size, now_ns);
	for (unsigned i = 0; i < TL_FLOW_WAYS; i++)
		require((buckets[whole.print & 3].entry[i].used_bytes & ~TL_FLOW_SYN) <= table.cutoff_bytes);
	table.tunnels = TL_ENCAP_UDP_PORTS;
	tl_flow_identify(&table, data, (uint32_t)size, &cut);
	table.tunnels = 0;
	require(tl_flow_print(&table.hash, true, data, (uint32_t)size) == cut.print);
	tl_encap_parse(data, (uint32_t)size, &encap);
	require(encap.tunnels != 0 || (cut.print == whole.print && cut.syn == whole.syn));
	bool has_inner = encap.tunnels != 0 && cut.print != 0;
	uint16_t words;
	require((tl_flow_inner_hash(&table.hash, data, (uint32_t)size, &words) != 0) == has_inner);
	now_ns += 10 * TL_NS_PER_MS;
	return 0;
}
