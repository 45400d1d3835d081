// SPDX-License-Identifier: BSD-3-Clause
// Trust of a virtual function, read from rtnetlink(7) replies in the layout of rtnl_fill_vfinfo() of Linux
// (net/core/rtnetlink.c).

#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include <tl_test.h>

#include "doctor_facts.h"

#define ANSWER_BYTES 1024
#define NOT_TOLD UINT32_MAX

struct answer {
	_Alignas(NLMSG_ALIGNTO) uint8_t bytes[ANSWER_BYTES];
	size_t used;
};

static size_t put(struct answer *to, unsigned short type, const void *data, size_t bytes)
{
	size_t at = to->used;
	struct rtattr head = {.rta_len = (unsigned short)RTA_LENGTH(bytes), .rta_type = type};

	memcpy(to->bytes + at, &head, sizeof(head));
	memcpy(to->bytes + at + RTA_LENGTH(0), data, bytes);
	to->used += RTA_SPACE(bytes);
	return at;
}

static void close_nest(struct answer *to, size_t at)
{
	unsigned short bytes = (unsigned short)(to->used - at);

	memcpy(to->bytes + at, &bytes, sizeof(bytes));
}

static void set_length(struct answer *to, size_t bytes)
{
	struct nlmsghdr head = {.nlmsg_len = (uint32_t)bytes, .nlmsg_type = RTM_NEWLINK};

	memcpy(to->bytes, &head, sizeof(head));
}

// Build the reply for an interface with n functions that have these settings.
static struct answer answer_with(const uint32_t *settings, uint32_t n)
{
	struct answer to = {.used = NLMSG_LENGTH(sizeof(struct ifinfomsg))};
	uint8_t mac[36] = {2};

	put(&to, IFLA_IFNAME, "ens1f0", 7);
	put(&to, IFLA_NUM_VF, &n, sizeof(n));
	size_t list = put(&to, IFLA_VFINFO_LIST | NLA_F_NESTED, "", 0);
	for (uint32_t vf = 0; vf < n; vf++) {
		struct ifla_vf_trust trust = {.vf = vf, .setting = settings[vf]};
		size_t info = put(&to, IFLA_VF_INFO, "", 0);
		put(&to, IFLA_VF_MAC, mac, sizeof(mac));
		put(&to, IFLA_VF_SPOOFCHK, &trust, sizeof(trust)); // same layout
		put(&to, IFLA_VF_TRUST, &trust, sizeof(trust));
		close_nest(&to, info);
	}
	close_nest(&to, list);
	set_length(&to, to.used);
	return to;
}

TL_TEST("each virtual function has the trust setting of its own entry")
{
	struct answer answer = answer_with((const uint32_t[]){0, 1, 0}, 3);

	for (uint32_t vf = 0; vf < 3; vf++) {
		struct tl_fact_num trust = tl_vf_trust(answer.bytes, answer.used, vf);
		CU_ASSERT_TRUE(trust.known);
		CU_ASSERT_EQUAL(trust.value, vf == 1);
	}
	CU_ASSERT_FALSE(tl_vf_trust(answer.bytes, answer.used, 3).known);
}

TL_TEST("trust is unknown if the driver does not report it")
{
	struct answer answer = answer_with((const uint32_t[]){NOT_TOLD, 1}, 2);
	struct answer none = answer_with(NULL, 0);

	CU_ASSERT_FALSE(tl_vf_trust(answer.bytes, answer.used, 0).known);
	CU_ASSERT_TRUE(tl_vf_trust(answer.bytes, answer.used, 1).known);
	CU_ASSERT_FALSE(tl_vf_trust(none.bytes, none.used, 0).known);
	CU_ASSERT_FALSE(tl_vf_trust(none.bytes, 0, 0).known);
}

TL_TEST("a truncated reply is not read past its end")
{
	struct answer whole = answer_with((const uint32_t[]){1, 1}, 2);

	for (size_t bytes = 0; bytes < whole.used; bytes++) {
		uint8_t *cut = malloc(bytes + 1); // exact size, for the sanitizer
		set_length(&whole, bytes);
		memcpy(cut, whole.bytes, bytes);
		CU_ASSERT_FALSE(tl_vf_trust(cut, bytes, 1).known);
		CU_ASSERT_FALSE(tl_vf_trust(cut, bytes > 0 ? bytes - 1 : 0, 1).known);
		free(cut);
	}
}

TL_TEST("a reply of another type counts as unknown")
{
	struct answer answer = answer_with((const uint32_t[]){1}, 1);
	struct nlmsghdr head = {.nlmsg_len = (uint32_t)answer.used, .nlmsg_type = NLMSG_ERROR};

	memcpy(answer.bytes, &head, sizeof(head));
	CU_ASSERT_FALSE(tl_vf_trust(answer.bytes, answer.used, 0).known);
}

int main(void)
{
	return tl_test_run("doctor_vf");
}
