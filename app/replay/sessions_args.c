// SPDX-License-Identifier: BSD-3-Clause
// Options of `tapline replay --sessions`.

#include "replay_args.h"

#include <string.h>

#define AT_A_TIME_DEFAULT 1024
#define BACKLOG_DEFAULT 4096
#define TIMEOUT_NS_DEFAULT (10 * TL_NS_PER_S)

static bool is_in_prefix(const struct tl_sessions_args *s, uint32_t ip_be)
{
	return ((ip_be ^ s->ip_be) & s->mask_be) == 0;
}

static bool is_own(const struct tl_sessions_args *s, uint32_t ip_be)
{
	return tl_be32(ip_be) - tl_be32(s->ip_be) < s->addresses;
}

// False for addresses of the network, of broadcast and of groups. A prefix of 31 bits or more has hosts only (RFC
// 3021).
static bool is_host(const struct tl_sessions_args *s, uint32_t ip_be)
{
	bool is_edge = (ip_be & ~s->mask_be) == 0 || (ip_be | s->mask_be) == UINT32_MAX;

	return ip_be != 0 && ip_be != UINT32_MAX && !tl_ipv4_is_mcast(ip_be) && (!is_edge || tl_be32(~s->mask_be) <= 1);
}

// Parse ADDRESS/BITS or FIRST-LAST/BITS.
static const char *parse_from(struct tl_sessions_args *s)
{
	static const char wrong[] =
		"--from takes an address of the target's family, IPv4, or a range of up to 64, and the "
		"length of their prefix: 192.0.2.1/24 or 192.0.2.10-192.0.2.19/24";
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
	if (beyond >= TL_SESSIONS_ADDRESSES_MAX || !is_in_prefix(s, last_be))
		return wrong;
	return is_host(s, s->ip_be) && is_host(s, last_be)
		       ? NULL
		       : "--from takes addresses of hosts: not that of the network, of broadcast or of a group";
}

// ---- IPv6

struct tl_ip6 tl_sessions_ip6(const struct tl_sessions_args *args, uint32_t number)
{
	struct tl_ip6 ip = args->ip6;
	uint32_t word_be;

	memcpy(&word_be, ip.byte + 12, sizeof(word_be));
	word_be = tl_be32(tl_be32(word_be) + number);
	memcpy(ip.byte + 12, &word_be, sizeof(word_be));
	return ip;
}

static bool is_own6(const struct tl_sessions_args *s, const struct tl_ip6 *ip)
{
	for (uint32_t i = 0; i < s->addresses; i++) {
		struct tl_ip6 own = tl_sessions_ip6(s, i);
		if (tl_ip6_equal(&own, ip))
			return true;
	}
	return false;
}

static bool is_in_prefix6(const struct tl_sessions_args *s, const struct tl_ip6 *ip)
{
	return tl_ip6_same_prefix(ip, &s->ip6, s->bits6);
}

// Copy the text without its last characters. Return false if it does not fit.
static bool copy_part(const char *text, size_t chars, char part[TL_IPV6_TEXT])
{
	if (chars >= TL_IPV6_TEXT)
		return false;
	memcpy(part, text, chars);
	part[chars] = '\0';
	return true;
}

// Parse ADDRESS, [ADDRESS] or [ADDRESS]:PORT.
static bool parse_target6(struct tl_sessions_args *s)
{
	size_t chars = strlen(s->target);
	char inner[TL_IPV6_TEXT];

	if (tl_parse_ipv6(s->target, &s->target6) == 0 ||
		tl_parse_endpoint6(s->target, &s->target6, &s->target_port_be) == 0)
		return true;
	return chars > 2 && s->target[0] == '[' && s->target[chars - 1] == ']' &&
	       copy_part(s->target + 1, chars - 2, inner) && tl_parse_ipv6(inner, &s->target6) == 0;
}

static const char *parse_from6(struct tl_sessions_args *s)
{
	static const char wrong[] =
		"--from takes an address of the target's family, IPv6, or a range of up to 64, and the "
		"length of their prefix: 2001:db8::1/64 or 2001:db8::10-2001:db8::19/64";
	const char *dash = strchr(s->from, '-');
	char first[TL_IPV6_TEXT];
	struct tl_ip6 last;

	if (tl_parse_ipv6_prefix(dash != NULL ? dash + 1 : s->from, &last, &s->bits6) != 0)
		return wrong;
	s->ip6 = last;
	if (dash != NULL &&
		(!copy_part(s->from, (size_t)(dash - s->from), first) || tl_parse_ipv6(first, &s->ip6) != 0))
		return wrong;
	s->addresses = TL_SESSIONS_ADDRESSES_MAX;
	for (uint32_t i = 0; i < TL_SESSIONS_ADDRESSES_MAX; i++) {
		struct tl_ip6 own = tl_sessions_ip6(s, i);
		if (!tl_ip6_equal(&own, &last))
			continue;
		s->addresses = i + 1;
		return tl_ip6_is_host(&s->ip6) && tl_ip6_is_host(&last) && is_in_prefix6(s, &last) ? NULL : wrong;
	}
	return wrong;
}

static const char *parse_addresses6(struct tl_sessions_args *s)
{
	const char *wrong = parse_from6(s);

	if (wrong != NULL)
		return wrong;
	if (s->gateway != NULL && (tl_parse_ipv6(s->gateway, &s->gateway6) != 0 || !tl_ip6_is_host(&s->gateway6) ||
					  (!is_in_prefix6(s, &s->gateway6) && !tl_ip6_is_link_local(&s->gateway6)) ||
					  is_own6(s, &s->gateway6)))
		return "--gateway takes another IPv6 address in the prefix of --from, or a link-local one";
	if (!tl_ip6_is_host(&s->target6) || tl_ip6_is_link_local(&s->target6))
		return "--sessions takes the address of a host, and not a link-local one";
	if (is_own6(s, &s->target6))
		return "the target is an address of --from: give --from one that no other host has";
	if (s->gateway == NULL && !is_in_prefix6(s, &s->target6))
		return "the target is not in the prefix of --from: give another, or a --gateway";
	return NULL;
}

// ---- options

static const char *parse_addresses(struct tl_sessions_args *s)
{
	s->is_ip6 = parse_target6(s);
	if (!s->is_ip6 && tl_parse_ipv4(s->target, &s->target_be) != 0 &&
		tl_parse_endpoint(s->target, &s->target_be, &s->target_port_be) != 0)
		return "--sessions takes the target's address, such as 192.0.2.7, 192.0.2.7:8080, 2001:db8::7 or "
		       "[2001:db8::7]:8080";
	if (s->from == NULL)
		return "--sessions needs an address of its own on PORT: give --from ADDRESS/BITS";
	if (s->is_ip6)
		return parse_addresses6(s);
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
	       s->at_a_time != 0 || s->timeout_ns != 0 || s->opaque || s->udp || s->any_vlan || s->follow ||
	       s->backlog != 0;
}

// Return the edits that are not the VLAN of the own frames.
static struct tl_edit other_edits(const struct tl_replay_args *a)
{
	struct tl_edit edit = a->edit;

	if (edit.vlan == TL_EDIT_VLAN_ADD)
		edit.vlan = TL_EDIT_VLAN_KEEP;
	return edit;
}

static const char *set_vlan(struct tl_sessions_args *s, const struct tl_edit *edit)
{
	if (edit->vlan != TL_EDIT_VLAN_ADD)
		return NULL;
	s->vlan = edit->vlan_id;
	return s->vlan != 0 ? NULL : "--vlan add:ID takes 1 to 4094 with --sessions";
}

// True if an option was given that is about frames, not sessions.
static bool has_frame_options(const struct tl_replay_args *a)
{
	struct tl_edit edits = other_edits(a);

	return a->split_text != NULL || a->control != NULL || tl_edit_is_set(&edits) || a->merge || a->loops != 1 ||
	       a->start_ns != 0 || a->max_late_ns != UINT64_MAX || a->rate != NULL || a->one_by_one ||
	       a->pacing.pace == TL_REPLAY_BURSTS || a->has_mtu || a->mtu_action != TL_REPLAY_MTU_DROP ||
	       a->timing_text != NULL || a->underrun_text != NULL || a->wire_stamps || a->shape != NULL ||
	       a->lcore != TL_REPLAY_ANY_LCORE;
}

const char *tl_sessions_check(struct tl_replay_args *args)
{
	struct tl_sessions_args *s = &args->sessions;

	if (s->target == NULL)
		return is_given(s) ? "--from, --gateway, --scale, --wait, --compare, --timeout, --at-a-time, --udp, "
				     "--any-vlan, --opaque, --follow and --backlog go with --sessions"
				   : NULL;
	if (has_frame_options(args) || args->paces_differ)
		return "--sessions goes with --speed and --max-gap, or --line-rate, --vlan add:ID, --take and --json, and with no other "
		       "option of frames";
	if (s->follow && args->n_words != 1)
		return "--follow takes one FILE: the directory of a recording";
	if (s->backlog != 0 && !s->follow)
		return "--backlog goes with --follow";
	s->backlog = s->backlog != 0 ? s->backlog : BACKLOG_DEFAULT;
	s->scale = s->scale != 0 ? s->scale : 1;
	s->at_a_time = s->at_a_time != 0 ? s->at_a_time : AT_A_TIME_DEFAULT;
	s->timeout_ns = s->timeout_ns != 0 ? s->timeout_ns : TIMEOUT_NS_DEFAULT;
	const char *wrong = parse_addresses(s);
	if (wrong == NULL)
		wrong = set_vlan(s, &args->edit);
	return wrong != NULL ? wrong : parse_words(s);
}
