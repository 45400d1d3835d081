// SPDX-License-Identifier: BSD-3-Clause
// Fuzz recovery: accepted pcapng becomes a sequence of complete blocks, a second recovery changes nothing, an
// interrupted one ends in the same file, and rejected files stay unchanged.

#include <tl_test_recover.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
	if (!truth)
		abort();
}

static bool is_pcapng(const struct image *image)
{
	uint32_t type = 0;

	memcpy(&type, image->bytes, image->size < sizeof(type) ? image->size : sizeof(type));
	return type == TL_PCAPNG_SHB;
}

// Return the number of records.
static uint64_t walk(const struct image *image)
{
	uint64_t records = 0;
	uint32_t head[2], tail;

	for (uint64_t at = 0; at < image->size; at += head[1]) {
		require(image->size - at >= 12);
		memcpy(head, image->bytes + at, sizeof(head));
		require(head[1] >= 12 && head[1] % 4 == 0 && head[1] <= image->size - at);
		memcpy(&tail, image->bytes + at + head[1] - 4, sizeof(tail));
		require(tail == head[1]);
		records += head[0] == TL_PCAPNG_EPB;
	}
	return records;
}

static int recover(struct image *image, uint64_t *out_records)
{
	struct tl_recover_report report;
	struct tl_err err;

	int rc = image_recover(image, &report, &err);
	if (rc != 0)
		require(image->killed != 0 || image->steps == 0);
	else
		require(report.changed == (image->steps != 0));
	*out_records = report.records_kept;
	tl_recover_report_fini(&report);
	return rc;
}

static void kill_once(const uint8_t *data, size_t size, const struct image *whole, uint32_t step)
{
	struct image image;
	uint64_t records;

	image_init(&image, data, size);
	image.killed = step / 2 + 1;
	image.tears = step % 2 == 1;
	require(recover(&image, &records) != 0);
	image.killed = 0;
	require(recover(&image, &records) == 0);
	require(image_same(&image, whole));
	free(image.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image image;
	uint64_t records, again;

	image_init(&image, data, size);
	if (recover(&image, &records) == 0) {
		uint32_t steps = 2 * image.steps;
		require(!is_pcapng(&image) || walk(&image) == records);
		for (uint32_t i = 0; i < 4 && steps != 0; i++)
			kill_once(data, size, &image, (data[size / 2] + i * 7) % steps);
		require(recover(&image, &again) == 0 && image.steps == 0 && again == records);
	}
	free(image.bytes);
	return 0;
}
