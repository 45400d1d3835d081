// SPDX-License-Identifier: BSD-3-Clause
// Hot queries: next deadline, and the group filter.

#include "mcast_priv.h"

uint64_t tl_mcast_next_deadline(const struct tl_mcast *m)
{
	return m->deadline_ns;
}

static bool includes_source(const struct membership *member, uint32_t source_be)
{
	for (unsigned i = 0; i < member->source_count; i++) {
		if (member->source[i].ip_be == source_be)
			return member->source[i].refs != 0;
	}
	return false;
}

bool tl_mcast_accepts(const struct tl_mcast *m, uint32_t group_be, uint32_t source_be)
{
	uint32_t place = mcast_place(m, group_be);
	if (place == 0)
		return false;
	const struct membership *member = &m->member[place - 1];
	return member->any_refs != 0 || includes_source(member, source_be);
}
