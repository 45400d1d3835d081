// SPDX-License-Identifier: BSD-3-Clause
// Fuzz the capture file reader and the HEAD decoder: every frame and its description lie within the bytes, and the end
// is final.

#include <stdlib.h>

#include <tl_err.h>
#include <tl_pcapfile.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
	if (!truth)
		abort();
}

static void look_at_more(const struct tl_pcap_reader *reader, const uint8_t *data, size_t size)
{
	struct tl_pcap_option option;
	struct tl_pcap_origin origin;
	struct tl_pcap_more more;
	uint32_t at = 0;

	tl_pcap_get_more(reader, &more);
	tl_pcap_get_origin(reader, &origin);
	require(origin.interface_id == more.interface_id);
	while (tl_pcap_next_option(more.options, more.options_bytes, more.swapped, &at, &option) == 1)
		require(option.value >= data && option.len <= (size_t)(data + size - option.value));
	require(more.name == NULL || more.name_bytes <= (size_t)((const char *)data + size - more.name));
	require(more.description == NULL ||
		more.description_bytes <= (size_t)((const char *)data + size - more.description));
}

static void walk(struct tl_pcap_reader *reader, const uint8_t *data, size_t size)
{
	struct tl_pcap_frame frame;
	struct tl_err err;
	int rc;

	while ((rc = tl_pcap_next(reader, &frame, &err)) == 1) {
		require(frame.data >= data && frame.data <= data + size);
		require(frame.cap_bytes <= (size_t)(data + size - frame.data));
		require(frame.cap_bytes <= frame.wire_bytes);
		look_at_more(reader, data, size);
	}
	require(tl_pcap_next(reader, &frame, NULL) == rc);
}

// A clock block can be written back unchanged.
static void look_at_clock(void *ctx, const uint8_t *block, uint32_t bytes)
{
	struct tl_pcapng_clock clock;

	(void)ctx;
	if (tl_pcapng_get_clock(block, bytes, &clock) != 0)
		return;
	struct tl_pcapng_clock_record *records = calloc(clock.records + 1, sizeof(*records));
	uint32_t size = TL_PCAPNG_CLOCK_BYTES + clock.records * TL_PCAPNG_CLOCK_RECORD_BYTES;
	uint8_t *again = malloc(size);
	require(records != NULL && again != NULL && size <= bytes);
	for (uint32_t i = 0; i < clock.records; i++)
		records[i] = tl_pcapng_get_clock_record(block, i);
	require(tl_pcapng_put_clock(again, size, &clock, records) == size);
	require(memcmp(again, block, size - 4) == 0); // the reader checks the trailing length
	free(again);
	free(records);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tl_pcap_reader *reader;
	struct tl_pcapng_head head;
	struct tl_err err;

	if (tl_pcapng_get_head(data, size < UINT32_MAX ? (uint32_t)size : UINT32_MAX, &head) == 0)
		require(head.used_bytes >= TL_PCAPNG_HEAD_BYTES);
	look_at_clock(NULL, data, size < UINT32_MAX ? (uint32_t)size : UINT32_MAX);
	if (tl_pcap_open_memory(data, size, "input", &reader, &err) != 0)
		return 0;
	tl_pcap_watch(reader, TL_PCAPNG_CLOCK, look_at_clock, NULL);
	walk(reader, data, size);
	tl_pcap_close(reader);
	return 0;
}
