// SPDX-License-Identifier: BSD-3-Clause
// List of the files that ended damaged.

#include "replay_priv.h"

#include <stdio.h>

void replay_damages_add(
	struct replay_damages *damages, const char *path, uint64_t loop, uint64_t offset, const struct tl_err *err)
{
	tl_count(&damages->count, 1);
	if (damages->n == TL_REPLAY_DAMAGES_MAX)
		return;
	struct tl_replay_damage *damage = &damages->list[damages->n++];
	*damage = (struct tl_replay_damage){.path = path, .loop = loop, .offset = offset};
	snprintf(damage->text, sizeof(damage->text), "%s", err->text);
}
