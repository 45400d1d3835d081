// SPDX-License-Identifier: BSD-3-Clause
// Time that a recording's buffer covers.

#include <tl_capture.h>

#define FCS_BYTES 4
#define GAP_BYTES 20 // preamble, start of frame, gap between frames (IEEE 802.3 clause 4.4.2)

struct tl_capture_coverage tl_capture_cover(
	uint64_t buffer_bytes, uint32_t snaplen, uint32_t frame_bytes, uint64_t line_bps)
{
	uint32_t stored_bytes = snaplen == 0 || snaplen > frame_bytes ? frame_bytes : snaplen;
	uint32_t record_bytes = tl_pcapng_epb_bytes(stored_bytes, 0, 0);
	double pps = (double)line_bps / (8.0 * (frame_bytes + FCS_BYTES + GAP_BYTES));
	double bytes_per_s = pps * record_bytes;

	return (struct tl_capture_coverage){.record_bytes = record_bytes,
		.bytes_per_s = (uint64_t)bytes_per_s,
		.ns = (uint64_t)((double)buffer_bytes * (double)TL_NS_PER_S / bytes_per_s)};
}
