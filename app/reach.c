// SPDX-License-Identifier: BSD-3-Clause
// Classes behind others that match all their frames.

#include "reach.h"

#include <errno.h>

#include <tl_err.h>
#include <tl_filter.h>

int tl_reach_add(struct tl_reach *reach, const char *name, const char *match, struct tl_err *err)
{
	if (reach->n == TL_REACH_MAX)
		return 0;
	for (uint32_t i = 0; i < reach->n; i++)
		if (tl_filter_covers(reach->of[i].match, match))
			return tl_fail(err, -EINVAL,
				"class %s: unreachable: the class %s matches all its frames first; put it before that one, or "
				"remove it",
				name, reach->of[i].name);
	reach->of[reach->n].name = name;
	reach->of[reach->n++].match = match;
	return 0;
}
