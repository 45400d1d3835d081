// SPDX-License-Identifier: BSD-3-Clause
// Set-up of the policers of a host.

#include "police.h"

#include <errno.h>

#include <rte_malloc.h>

static int police_init(struct tl_echo *echo, const struct tl_policer_cfg *cfg, int socket_id, struct tl_err *err)
{
	struct tl_echo_police *police = rte_zmalloc_socket("tl_police", sizeof(*police), TL_CACHE_LINE, socket_id);

	echo->police = police;
	if (police == NULL)
		return tl_fail(err, -ENOMEM, "echo %s: no memory for its policer; raise \"memory_mb\"", echo->name);
	police->msgs[TL_METER_GREEN] = &echo->stats.green_msgs;
	police->msgs[TL_METER_YELLOW] = &echo->stats.yellow_msgs;
	police->msgs[TL_METER_RED] = &echo->stats.red_msgs;
	int rc = tl_policer_init(&police->policer, cfg, err);
	return rc == 0 ? 0 : tl_fail_at(err, rc, "echo %s: police", echo->name);
}

int tl_echo_police_init(struct tl_echo_host *host, const struct tl_echo_cfg *echoes, int socket_id, struct tl_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < host->n_echoes && rc == 0; i++)
		if (echoes[i].police != NULL)
			rc = police_init(&host->echoes[i], echoes[i].police, socket_id, err);
	return rc;
}

void tl_echo_police_fini(struct tl_echo_host *host)
{
	for (uint32_t i = 0; i < host->n_echoes; i++)
		rte_free(host->echoes[i].police);
}
