// SPDX-License-Identifier: BSD-3-Clause
// Cut a byte stream into frames of one fixed size, regardless of its segmentation.

#include <tl_client_msg.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int tl_client_framer_init(struct tl_client_framer *framer, size_t frame_bytes)
{
	*framer = (struct tl_client_framer){.partial = malloc(frame_bytes), .frame_bytes = frame_bytes};
	return framer->partial == NULL ? -ENOMEM : 0;
}

void tl_client_framer_fini(struct tl_client_framer *framer)
{
	free(framer->partial);
	*framer = (struct tl_client_framer){0};
}

void tl_client_framer_reset(struct tl_client_framer *framer)
{
	framer->have_bytes = 0;
}

const uint8_t *tl_client_framer_next(struct tl_client_framer *framer, const uint8_t **data, size_t *len)
{
	const uint8_t *begin = *data;
	size_t take = tl_min_u64(framer->frame_bytes - framer->have_bytes, *len);

	*data += take;
	*len -= take;
	if (take == framer->frame_bytes)
		return begin;
	memcpy(framer->partial + framer->have_bytes, begin, take);
	framer->have_bytes += take;
	if (framer->have_bytes < framer->frame_bytes)
		return NULL;
	framer->have_bytes = 0;
	return framer->partial;
}
