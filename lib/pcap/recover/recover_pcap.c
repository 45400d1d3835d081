// SPDX-License-Identifier: BSD-3-Clause
// Scan of a recording in classic pcap. Its records do not locate slabs, so everything after the first incomplete record
// is lost; the writer writes such files in order.

#include "recover_priv.h"

#define NANOSECONDS_MAX 999999999u

// File systems return zeros for pages never written.
static bool is_whole_header(const uint32_t header[4])
{
	bool zeros = (header[0] | header[1] | header[2] | header[3]) == 0;

	return header[1] <= NANOSECONDS_MAX && header[2] <= header[3] && header[2] <= FRAME_BYTES_MAX && !zeros;
}

// Size of the record at the offset; 0: incomplete.
static int64_t take_record(struct scan *scan, uint64_t offset)
{
	uint32_t header[TL_PCAP_RECORD_BYTES / 4], len;
	int rc = 0;

	const uint8_t *p = recover_view(scan, offset, TL_PCAP_RECORD_BYTES + FRAME_BYTES_MAX, &len, &rc);
	if (p == NULL || len < TL_PCAP_RECORD_BYTES)
		return rc;
	memcpy(header, p, sizeof(header));
	return is_whole_header(header) && header[2] <= len - TL_PCAP_RECORD_BYTES ? TL_PCAP_RECORD_BYTES + header[2]
										  : 0;
}

int recover_scan_pcap(struct scan *scan, uint64_t *out_end)
{
	uint64_t at = TL_PCAP_HEADER_BYTES;
	int64_t n = 1;

	while (at < scan->io->size_bytes && (n = take_record(scan, at)) > 0) {
		scan->report->records_kept++;
		at += (uint64_t)n;
	}
	*out_end = at;
	return n < 0 ? (int)n : 0;
}
