// SPDX-License-Identifier: BSD-3-Clause
// Filters: which frames pass, on whole and cut frames, and what a user is told about a bad expression.

#include <errno.h>
#include <string.h>

#include <tl_err.h>
#include <tl_filter.h>

#include "tl_test.h"

// 192.0.2.1:1000 -> 239.1.1.1:5000, UDP, 4 bytes "ping", padded to 60.
static const uint8_t udp_frame[60] = {0x01, 0x00, 0x5e, 0x01, 0x01, 0x01, 0x02, 0, 0, 0, 0, 1, 0x08, 0x00, 0x45, 0, 0,
	32, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 239, 1, 1, 1, 0x03, 0xe8, 0x13, 0x88, 0, 12, 0, 0, 'p', 'i', 'n',
	'g'};

static bool passes(const char *expression, const uint8_t *data, uint32_t len, uint32_t wire_bytes)
{
	struct tl_filter *filter = NULL;
	struct tl_err err = {.text = ""};

	CU_ASSERT_EQUAL_FATAL(tl_filter_create(expression, &filter, &err), 0);
	bool pass = tl_filter_match(filter, data, len, wire_bytes);
	tl_filter_destroy(filter);
	return pass;
}

static bool udp_passes(const char *expression)
{
	return passes(expression, udp_frame, sizeof(udp_frame), sizeof(udp_frame));
}

static void matching_frames_pass(void)
{
	CU_ASSERT_TRUE(udp_passes("udp"));
	CU_ASSERT_TRUE(udp_passes("udp and dst host 239.1.1.1 and dst port 5000"));
	CU_ASSERT_TRUE(udp_passes("ether multicast"));
	CU_ASSERT_TRUE(udp_passes("udp[8] = 0x70"));
}

static void other_frames_do_not(void)
{
	CU_ASSERT_FALSE(udp_passes("tcp"));
	CU_ASSERT_FALSE(udp_passes("udp and dst port 5001"));
	CU_ASSERT_FALSE(udp_passes("ip6"));
	CU_ASSERT_FALSE(udp_passes("vlan"));
}

static void vlan_tags_are_seen(void)
{
	uint8_t tagged[64];

	memcpy(tagged, udp_frame, 12);
	memcpy(tagged + 12, (uint8_t[]){0x81, 0x00, 0x00, 0x07}, 4);
	memcpy(tagged + 16, udp_frame + 12, sizeof(udp_frame) - 12);
	CU_ASSERT_TRUE(passes("vlan 7 and udp dst port 5000", tagged, sizeof(tagged), sizeof(tagged)));
	CU_ASSERT_FALSE(passes("vlan 8", tagged, sizeof(tagged), sizeof(tagged)));
	CU_ASSERT_FALSE(passes("udp dst port 5000", tagged, sizeof(tagged), sizeof(tagged)));
}

static void an_empty_expression_passes_everything(void)
{
	CU_ASSERT_TRUE(udp_passes(""));
	CU_ASSERT_TRUE(passes("", udp_frame, 1, 1));
}

static void a_field_beyond_the_bytes_does_not_match(void)
{
	CU_ASSERT_FALSE(passes("udp dst port 5000", udp_frame, 36, sizeof(udp_frame)));
	CU_ASSERT_FALSE(passes("ip", udp_frame, 13, 60));
	CU_ASSERT_FALSE(passes("ip", udp_frame, 0, 0));
}

static void length_means_length_on_the_wire(void)
{
	CU_ASSERT_TRUE(passes("greater 1000", udp_frame, sizeof(udp_frame), 1400));
	CU_ASSERT_FALSE(passes("greater 1000", udp_frame, sizeof(udp_frame), 999));
	CU_ASSERT_TRUE(passes("less 60", udp_frame, 40, 60));
}

static void a_bad_expression_is_refused_with_its_reason(void)
{
	struct tl_filter *filter = NULL;
	struct tl_err err = {.text = ""};

	CU_ASSERT_EQUAL(tl_filter_create("udp and and", &filter, &err), -EINVAL);
	CU_ASSERT_PTR_NULL(filter);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "udp and and"));
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "syntax error"));
	CU_ASSERT_EQUAL(tl_filter_create("udp and tcp", &filter, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "rejects all packets"));
	CU_ASSERT_EQUAL(tl_filter_create("port 70000", &filter, NULL), -EINVAL);
}

int main(void)
{
	static const struct tl_test tests[] = {
		{"matching frames pass", matching_frames_pass},
		{"other frames do not", other_frames_do_not},
		{"VLAN tags are seen, and hide what they carry from filters that do not name them", vlan_tags_are_seen},
		{"an empty expression passes everything", an_empty_expression_passes_everything},
		{"a field beyond the captured bytes does not match", a_field_beyond_the_bytes_does_not_match},
		{"a length in a filter is the length on the wire", length_means_length_on_the_wire},
		{"a bad expression is refused with libpcap's reason", a_bad_expression_is_refused_with_its_reason},
	};

	return tl_test_main("filter", tests, TL_ARRAY_LEN(tests));
}
