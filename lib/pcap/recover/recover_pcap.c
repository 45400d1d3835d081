// SPDX-License-Identifier: BSD-3-Clause
// Scan of a recording in classic pcap. Its records do not locate slabs, so everything after the first incomplete record
// is lost; the writer writes such files in order. A file grows with its records, so one that ends with the file is
// whole. Before bytes that were lost and read back as zeros, the zeros at the end of a record may be lost bytes, too.

#include "recover_priv.h"

#include <string.h>

#define NANOSECONDS_MAX 999999999u
#define SECTOR_BYTES 512u // smallest unit of a disk: written whole, or not at all

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

// Check the last record, which ends at this offset, before the end of the file. Return 1 if there are only zeros from
// the start of its last sector to the end of the one with the next header: they may be its own, or lost bytes. 0: the
// sector was written.
static int may_be_torn(struct scan *scan, uint64_t end)
{
	static const uint8_t zeros[2 * SECTOR_BYTES];
	uint64_t from = (end - 1) / SECTOR_BYTES * SECTOR_BYTES;
	uint64_t to = tl_align_up(end + TL_PCAP_RECORD_BYTES, SECTOR_BYTES);
	uint32_t len;
	int rc = 0;

	const uint8_t *p = recover_view(scan, from, (uint32_t)(to - from), &len, &rc);
	return p == NULL ? rc : memcmp(p, zeros, len) == 0;
}

int recover_scan_pcap(struct scan *scan, uint64_t *out_end)
{
	struct tl_recover_report *report = scan->report;
	uint64_t at = TL_PCAP_HEADER_BYTES, last = at;
	int64_t n = 1;

	while (at < scan->io->size_bytes && (n = take_record(scan, at)) > 0) {
		report->records_kept++;
		last = at;
		at += (uint64_t)n;
	}
	if (n == 0 && (n = may_be_torn(scan, at)) == 1) {
		report->records_kept--;
		report->doubtful_records = 1;
		report->doubtful_at = at = last;
	}
	*out_end = at;
	return n < 0 ? (int)n : 0;
}
