// SPDX-License-Identifier: BSD-3-Clause
// Options of `tapline replay --sessions`.

#include "replay_args.h"

#include <string.h>

#define AT_A_TIME_DEFAULT 1024
#define TIMEOUT_NS_DEFAULT (10 * TL_NS_PER_S)

static bool is_in_prefix(const struct tl_sessions_args *s, uint32_t ip_be)
{
	return ((ip_be ^ s->ip_be) & s->mask_be) == 0;
}

static bool is_own(const struct tl_sessions_args *s, uint32_t ip_be)
{
	return tl_be32(ip_be) - tl_be32(s->ip_be) < s->addresses;
}

// Parse ADDRESS/BITS or FIRST-LAST/BITS.
static const char *parse_from(struct tl_sessions_args *s)
{
	static const char wrong[] = "--from takes an address, or a range of up to 64, and the length of their prefix: "
				    "192.0.2.1/24 or 192.0.2.10-192.0.2.19/24";
	const char *dash = strchr(s->from, '-');
	char first[TL_IPV4_TEXT];
	uint32_t last_be;

	if (tl_parse_ipv4_prefix(dash != NULL ? dash + 1 : s->from, &last_be, &s->mask_be) != 0)
		return wrong;
	s->ip_be = last_be;
	if (dash != NULL) {
		size_t len = (size_t)(dash - s->from);
		if (len >= sizeof(first))
			return wrong;
		memcpy(first, s->from, len);
		first[len] = '\0';
		if (tl_parse_ipv4(first, &s->ip_be) != 0)
			return wrong;
	}
	uint32_t beyond = tl_be32(last_be) - tl_be32(s->ip_be);
	s->addresses = beyond + 1;
	return beyond < TL_SESSIONS_ADDRESSES_MAX && is_in_prefix(s, last_be) ? NULL : wrong;
}

static const char *parse_addresses(struct tl_sessions_args *s)
{
	if (tl_parse_ipv4(s->target, &s->target_be) != 0 &&
		tl_parse_endpoint(s->target, &s->target_be, &s->target_port_be) != 0)
		return "--sessions takes the target's address, such as 192.0.2.7 or 192.0.2.7:8080 (IPv4)";
	if (s->from == NULL)
		return "--sessions needs an address of its own on PORT: give --from ADDRESS/BITS";
	const char *wrong = parse_from(s);
	if (wrong != NULL)
		return wrong;
	if (s->gateway != NULL && (tl_parse_ipv4(s->gateway, &s->gateway_be) != 0 || !is_in_prefix(s, s->gateway_be) ||
					  is_own(s, s->gateway_be)))
		return "--gateway takes another address in the prefix of --from";
	if (is_own(s, s->target_be))
		return "the target is an address of --from: give --from one that no other host has";
	if (s->gateway_be == 0 && !is_in_prefix(s, s->target_be))
		return "the target is not in the prefix of --from: give another, or a --gateway";
	return NULL;
}

static const char *parse_words(struct tl_sessions_args *s)
{
	if (s->wait != NULL && strcmp(s->wait, "time") == 0)
		s->waits_for = TL_PLAYER_TIME;
	else if (s->wait != NULL && strcmp(s->wait, "bytes") != 0)
		return "--wait takes bytes or time";
	s->lengths_only = s->compare != NULL && strcmp(s->compare, "length") == 0;
	if (s->compare != NULL && !s->lengths_only && strcmp(s->compare, "bytes") != 0)
		return "--compare takes bytes or length";
	return NULL;
}

static bool is_given(const struct tl_sessions_args *s)
{
	return s->from != NULL || s->gateway != NULL || s->wait != NULL || s->compare != NULL || s->scale != 0 ||
	       s->at_a_time != 0 || s->timeout_ns != 0 || s->opaque;
}

// True if an option was given that is about frames, not sessions.
static bool has_frame_options(const struct tl_replay_args *a)
{
	return a->split_text != NULL || a->control != NULL || tl_edit_is_set(&a->edit) || a->merge || a->loops != 1 ||
	       a->start_ns != 0 || a->max_late_ns != UINT64_MAX || a->pacing.max_gap_ns != UINT64_MAX ||
	       a->rate != NULL || a->one_by_one || a->pacing.pace == TL_REPLAY_BURSTS || a->has_mtu ||
	       a->mtu_action != TL_REPLAY_MTU_DROP || a->lcore != TL_REPLAY_ANY_LCORE;
}

const char *tl_sessions_check(struct tl_replay_args *args)
{
	struct tl_sessions_args *s = &args->sessions;

	if (s->target == NULL)
		return is_given(s) ? "--from, --gateway, --scale, --wait, --compare, --timeout, --at-a-time and "
				     "--opaque go with --sessions"
				   : NULL;
	if (has_frame_options(args) || args->paces > 1)
		return "--sessions goes with --speed or --line-rate, --take and --json, and with no other option of "
		       "frames";
	s->scale = s->scale != 0 ? s->scale : 1;
	s->at_a_time = s->at_a_time != 0 ? s->at_a_time : AT_A_TIME_DEFAULT;
	s->timeout_ns = s->timeout_ns != 0 ? s->timeout_ns : TIMEOUT_NS_DEFAULT;
	const char *wrong = parse_addresses(s);
	return wrong != NULL ? wrong : parse_words(s);
}
