// SPDX-License-Identifier: BSD-3-Clause
// Side of a frame: the port that sends it.

#include "replay_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_hash.h>

#include <tl_filter.h>
#include <tl_units.h>

// ---- the rule as text

static int parse_macs(const char *text, struct tl_replay_split *out)
{
	char mac[18];

	for (const char *at = text;; at++) {
		size_t chars = strcspn(at, ",");
		if (chars >= sizeof(mac) || out->n_macs == TL_REPLAY_SPLIT_MACS)
			return -EINVAL;
		memcpy(mac, at, chars);
		mac[chars] = '\0';
		if (tl_parse_mac(mac, out->macs[out->n_macs++]) != 0)
			return -EINVAL;
		at += chars;
		if (*at == '\0')
			return 0;
	}
}

static int parse_interface(const char *text, struct tl_replay_split *out)
{
	uint64_t number;

	if (tl_parse_u64(text, 0, UINT32_MAX, &number) != 0)
		return -EINVAL;
	out->interface_id = (uint32_t)number;
	return 0;
}

static int parse_filter(const char *text, struct tl_replay_split *out)
{
	out->filter = text;
	return *text != '\0' ? 0 : -EINVAL;
}

int tl_replay_split_parse(const char *text, struct tl_replay_split *out, struct tl_err *err)
{
	static const struct {
		const char *name;
		enum tl_replay_split_by by;
		bool alone; // takes no argument, or has a default
		int (*parse)(const char *text, struct tl_replay_split *out);
	} rules[] = {
		{"epb", TL_REPLAY_BY_EPB, true, NULL},
		{"interface", TL_REPLAY_BY_INTERFACE, true, parse_interface},
		{"mac", TL_REPLAY_BY_MAC, false, parse_macs},
		{"filter", TL_REPLAY_BY_FILTER, false, parse_filter},
		{"clients", TL_REPLAY_BY_CLIENTS, true, NULL},
	};
	size_t chars = strcspn(text, ":");

	*out = (struct tl_replay_split){0};
	for (size_t i = 0; i < TL_ARRAY_LEN(rules); i++) {
		if (strlen(rules[i].name) != chars || memcmp(text, rules[i].name, chars) != 0)
			continue;
		out->by = rules[i].by;
		if (text[chars] == '\0' ? rules[i].alone
					: rules[i].parse != NULL && rules[i].parse(text + chars + 1, out) == 0)
			return 0;
	}
	return tl_fail(err, -EINVAL,
		"no rule: epb, interface, interface:N, mac:MAC[,MAC...] (at most %d), filter:EXPRESSION or clients",
		TL_REPLAY_SPLIT_MACS);
}

// ---- clients and servers

enum { UNKNOWN = -1 };

static int side_of(const struct replay_split *split, const struct tl_ip6 *host)
{
	void *side;

	return rte_hash_lookup_data(split->hosts, host, &side) >= 0 ? (int)(uintptr_t)side : UNKNOWN;
}

// Remember an address that has no side yet; groups and broadcast have none.
static void learn(struct replay_split *split, const struct tl_ip6 *host, unsigned side)
{
	static const struct tl_ip6 broadcast = {{[10] = 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
	bool group = host->byte[0] == 0xff || (host->byte[0] == 0 && (host->byte[12] & 0xf0) == 0xe0) ||
		     memcmp(host, &broadcast, sizeof(broadcast)) == 0;

	if (!group && side_of(split, host) == UNKNOWN &&
		rte_hash_add_key_data(split->hosts, host, (void *)(uintptr_t)side) != 0) // NOLINT
		tl_count(&split->unknown_hosts, 1);
}

static struct tl_ip6 mapped(uint32_t address_be)
{
	struct tl_ip6 host = {{[10] = 0xff, 0xff}};

	memcpy(&host.byte[12], &address_be, sizeof(address_be));
	return host;
}

// Get the addresses of a packet. False: it has none.
static bool get_hosts(const uint8_t *frame, const struct tl_pkt *pkt, struct tl_ip6 *src, struct tl_ip6 *dst)
{
	if (pkt->kind == TL_PKT_IP6) {
		*src = tl_wire_ip6(frame, pkt)->src;
		*dst = tl_wire_ip6(frame, pkt)->dst;
		return pkt->ip6_kind != TL_PKT_BAD;
	}
	*src = mapped(pkt->src_be);
	*dst = mapped(pkt->dst_be);
	return (pkt->src_be | pkt->dst_be) != 0;
}

static int side_by_clients(struct replay_split *split, const struct tl_pcap_frame *frame)
{
	struct tl_ip6 src, dst;
	struct tl_pkt pkt;
	int side;

	tl_wire_parse(frame->data, frame->cap_bytes, &pkt);
	if (!get_hosts(frame->data, &pkt, &src, &dst))
		return UNKNOWN;
	uint8_t kind = pkt.kind == TL_PKT_IP6 ? pkt.ip6_kind : pkt.kind;
	bool syn = kind == TL_PKT_TCP && (pkt.tcp_flags & (TL_TCP_SYN | TL_TCP_RST)) == TL_TCP_SYN;
	if (syn) {
		side = (pkt.tcp_flags & TL_TCP_ACK) != 0;
		learn(split, &src, (unsigned)side);
		learn(split, &dst, (unsigned)!side);
		return side_of(split, &src);
	}
	if ((side = side_of(split, &src)) != UNKNOWN)
		return side;
	if ((side = side_of(split, &dst)) != UNKNOWN)
		side = !side;
	else if (kind == TL_PKT_UDP)
		side = 0;
	else
		return UNKNOWN;
	learn(split, &src, (unsigned)side);
	learn(split, &dst, (unsigned)!side);
	return side_of(split, &src);
}

// ---- the other rules

static int side_by_epb(uint32_t flags)
{
	switch (flags & TL_PCAPNG_DIRECTION) {
	case TL_PCAPNG_OUTBOUND:
		return 0;
	case TL_PCAPNG_INBOUND:
		return 1;
	default:
		return UNKNOWN;
	}
}

static bool has_mac(const struct tl_replay_split *rule, const uint8_t *mac)
{
	for (uint32_t i = 0; i < rule->n_macs; i++)
		if (memcmp(rule->macs[i], mac, TL_ETHER_ADDR_LEN) == 0)
			return true;
	return false;
}

static int decide(struct replay_split *split, const struct tl_pcap_frame *frame, const struct tl_pcap_reader *reader)
{
	struct tl_pcap_origin origin;

	switch (split->rule.by) {
	case TL_REPLAY_BY_EPB:
		tl_pcap_get_origin(reader, &origin);
		return side_by_epb(origin.flags);
	case TL_REPLAY_BY_INTERFACE:
		tl_pcap_get_origin(reader, &origin);
		return origin.interface_id != split->rule.interface_id;
	case TL_REPLAY_BY_MAC:
		return !has_mac(&split->rule, ((const struct tl_ether_hdr *)frame->data)->src);
	case TL_REPLAY_BY_FILTER:
		return !tl_filter_match_bytes(split->filter, frame->data, frame->cap_bytes, frame->wire_bytes);
	case TL_REPLAY_BY_CLIENTS:
		return side_by_clients(split, frame);
	case TL_REPLAY_BY_NOTHING:
		break;
	}
	return 0;
}

unsigned replay_side(struct replay_split *split, const struct tl_pcap_frame *frame, const struct tl_pcap_reader *reader)
{
	int side = decide(split, frame, reader);

	tl_count(&split->undecided_pkts, side == UNKNOWN);
	return side == 1;
}

// ---- set-up

int replay_split_init(struct replay_split *split, const struct tl_replay_cfg *cfg, struct tl_err *err)
{
	const struct rte_hash_parameters hosts = {.name = "replay",
		.entries = TL_REPLAY_SPLIT_HOSTS,
		.key_len = sizeof(struct tl_ip6),
		.socket_id = cfg->socket_id};

	if (cfg->split != NULL)
		split->rule = *cfg->split;
	split->filter = cfg->split_filter;
	if (split->rule.by != TL_REPLAY_BY_CLIENTS)
		return 0;
	split->hosts = rte_hash_create(&hosts);
	return split->hosts != NULL ? 0
				    : tl_fail(err, -ENOMEM, "no memory for the addresses of --split clients (%s)",
					      rte_strerror(rte_errno));
}

void replay_split_restart(struct replay_split *split)
{
	if (split->hosts != NULL)
		rte_hash_reset(split->hosts);
}

void replay_split_fini(struct replay_split *split)
{
	rte_hash_free(split->hosts);
}
