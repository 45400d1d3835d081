// SPDX-License-Identifier: BSD-3-Clause
// Rate of an extraction, granted by a running appliance ten times per second. If the appliance ends, that of --rate.

#include "extract_share.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <jansson.h>

#include <tl_base.h>
#include <tl_ctl.h>
#include <tl_err.h>
#include <tl_log.h>
#include <tl_units.h>

#define ASK_NS (100 * TL_NS_PER_MS)
#define WAIT_NS (10 * TL_NS_PER_MS)
#define CREDIT_BYTES (INT64_C(1) << 20) // largest credit beside that of a request's interval

// Without a rate the reader may have all that is left. A limit without bound is none.
static uint64_t most_bytes(const struct tl_extract_share *s)
{
	return s->rate_bytes != 0 ? s->rate_bytes : UINT64_C(1) << 41;
}

static int ask(struct tl_extract_share *s, struct tl_err *err)
{
	char command[128], *answer;

	snprintf(command, sizeof(command), "share %s %" PRIu64 " %" PRIu64, s->name,
		tl_min_u64(most_bytes(s), UINT64_C(1) << 41) * 8, s->read_bytes);
	int rc = tl_ctl_ask(s->socket, command, &answer, err);
	if (rc != 0)
		return rc;
	json_t *json = json_loads(answer, 0, NULL);
	const char *error = json_string_value(json_object_get(json, "error"));
	const json_t *limit = json_object_get(json, "limit_bps");
	if (json_is_integer(limit))
		s->limit_bytes = tl_min_u64((uint64_t)json_integer_value(limit) / 8, most_bytes(s));
	else
		rc = tl_fail(err, error != NULL ? -ENOENT : -EINVAL, "%s: no share: %s", s->socket,
			error != NULL ? error : "invalid reply: is the appliance of another version?");
	json_decref(json);
	free(answer);
	return rc;
}

// A request that was not answered in time, by a busy appliance or one that ends, is repeated.
static void ask_if_due(struct tl_extract_share *s, uint64_t now_ns)
{
	struct tl_err err;

	if (now_ns < s->ask_ns)
		return;
	s->ask_ns = now_ns + ASK_NS;
	int rc = ask(s, &err);
	if (rc != -ECONNREFUSED && rc != -ENOENT)
		return;
	tl_warn("%s: continuing at the rate of --rate", err.text);
	s->ask_ns = UINT64_MAX;
	s->limit_bytes = most_bytes(s);
}

static void earn(struct tl_extract_share *s, uint64_t now_ns)
{
	unsigned __int128 earned = (unsigned __int128)s->limit_bytes * (now_ns - s->earned_ns) / TL_NS_PER_S;
	int64_t room = (int64_t)(s->limit_bytes / 10) + CREDIT_BYTES - s->credit_bytes;

	s->earned_ns = now_ns;
	s->credit_bytes += room < 0 || earned > (uint64_t)room ? room : (int64_t)earned;
}

int tl_extract_share_join(struct tl_extract_share *s, struct tl_err *err)
{
	s->earned_ns = tl_mono_ns();
	return ask(s, err);
}

void tl_extract_share_pace(struct tl_extract_share *s, uint64_t read_bytes)
{
	s->credit_bytes -= (int64_t)(read_bytes - s->read_bytes);
	s->read_bytes = read_bytes;
	for (;;) {
		uint64_t now_ns = tl_mono_ns();
		earn(s, now_ns); // at the rate that held until now
		ask_if_due(s, now_ns);
		if (s->credit_bytes > 0)
			return;
		nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
	}
}
