// SPDX-License-Identifier: BSD-3-Clause
// tl_pcap_next(): returns the frames of either format, and stores the final result.

#include "reader_priv.h"

int tl_pcap_next(struct tl_pcap_reader *reader, struct tl_pcap_frame *out, struct tl_err *err)
{
	if (TL_LIKELY(reader->ended == 1)) {
		int rc = reader->next(reader, out);
		if (TL_LIKELY(rc == 1))
			return 1;
		reader->ended = rc;
	}
	return reader->ended == 0 ? 0 : tl_pcap_report(reader, err);
}
