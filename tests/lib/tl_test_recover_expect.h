// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Expectations on an image after recovery, for all formats.

#include "tl_test.h"
#include "tl_test_recover.h"

static inline void expect_refused(const void *bytes, uint32_t size, int code, const char *why)
{
	struct image image;
	struct tl_recover_report report;
	struct tl_err err;

	image_init(&image, bytes, size);
	CU_ASSERT_EQUAL(image_recover(&image, &report, &err), code);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, why));
	CU_ASSERT_EQUAL(image.steps, 0);
	tl_recover_report_fini(&report);
	free(image.bytes);
}

static inline uint32_t count_statistics(const uint8_t *bytes, uint64_t size)
{
	uint32_t n = 0, block[2];

	for (uint64_t at = 0; at < size; at += block[1]) {
		memcpy(block, bytes + at, sizeof(block));
		CU_ASSERT_TRUE_FATAL(block[1] >= 12);
		n += block[0] == TL_PCAPNG_ISB;
	}
	return n;
}

// Expect that a second recovery finds all records and changes nothing.
static inline void expect_whole(struct image *image, uint32_t records)
{
	struct tl_recover_report again;
	struct tl_err err;

	CU_ASSERT_EQUAL(image_recover(image, &again, &err), 0);
	CU_ASSERT_FALSE(again.changed);
	CU_ASSERT_EQUAL(image->steps, 0);
	CU_ASSERT_EQUAL(again.records_kept, records);
	tl_recover_report_fini(&again);
}

// Kill a recovery after each step, with the next step omitted or torn, and expect the same file from the next recovery
// as from an uninterrupted one. Return the number of steps of a recovery.
static inline uint32_t expect_same_when_killed(const void *bytes, uint64_t size)
{
	struct tl_recover_report report;
	struct image whole, image;
	struct tl_err err;

	image_init(&whole, bytes, size);
	CU_ASSERT_EQUAL(image_recover(&whole, &report, &err), 0);
	uint32_t steps = whole.steps;
	tl_recover_report_fini(&report);
	for (uint32_t i = 0; i < 2 * steps; i++) {
		image_init(&image, bytes, size);
		image.killed = i / 2 + 1;
		image.tears = i % 2 == 1;
		CU_ASSERT_EQUAL(image_recover(&image, &report, &err), -EIO);
		tl_recover_report_fini(&report);
		image.killed = 0;
		CU_ASSERT_EQUAL(image_recover(&image, &report, &err), 0);
		CU_ASSERT_TRUE(image_same(&image, &whole));
		tl_recover_report_fini(&report);
		free(image.bytes);
	}
	free(whole.bytes);
	return steps;
}
