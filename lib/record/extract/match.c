// SPDX-License-Identifier: BSD-3-Clause
// Selection of slabs and records.

#include "extract_priv.h"

#include <errno.h>

#include <tl_encap.h>

bool extract_match_row(const struct tl_extract_cfg *cfg, const struct tl_index_row *row)
{
	bool host = cfg->n_hosts == 0, port = cfg->n_ports == 0;

	if (row->last_ns < cfg->from_ns || row->first_ns >= cfg->to_ns)
		return false;
	if (cfg->inner && !row->inner)
		return true;
	for (uint32_t i = 0; i < cfg->n_hosts && !host; i++)
		host = tl_index_may_have_addr(row, &cfg->hosts[i]);
	for (uint32_t i = 0; i < cfg->n_ports && !port; i++)
		port = tl_index_may_have_port(row, cfg->ports[i]);
	return host && port;
}

static bool has_host(const struct tl_extract_cfg *cfg, const struct tl_index_keys *keys)
{
	for (uint32_t i = 0; i < cfg->n_hosts && keys->has_addrs; i++)
		if (tl_index_same_addr(&cfg->hosts[i], &keys->addr[0]) ||
			tl_index_same_addr(&cfg->hosts[i], &keys->addr[1]))
			return true;
	return cfg->n_hosts == 0;
}

static bool has_port(const struct tl_extract_cfg *cfg, const struct tl_index_keys *keys)
{
	for (uint32_t i = 0; i < cfg->n_ports && keys->has_ports; i++)
		if (cfg->ports[i] == keys->port[0] || cfg->ports[i] == keys->port[1])
			return true;
	return cfg->n_ports == 0;
}

static void inner_keys(const struct tl_pcapng_packet *packet, enum tl_link link, struct tl_index_keys *out)
{
	struct tl_encap encap;

	tl_encap_parse_link(link, packet->data, packet->cap_bytes, &encap);
	tl_index_keys_network(encap.ethertype, packet->data + encap.network_off, encap.end - encap.network_off, out);
}

static bool has_keys(const struct tl_extract_cfg *cfg, const struct tl_pcapng_packet *packet, enum tl_link link)
{
	struct tl_link_hdr header;
	struct tl_index_keys keys;

	if (cfg->n_hosts == 0 && cfg->n_ports == 0)
		return true;
	if (cfg->inner)
		inner_keys(packet, link, &keys);
	else if (link == TL_LINK_ETHERNET)
		tl_index_keys(packet->data, packet->cap_bytes, &keys);
	else if (tl_link_parse(link, packet->data, packet->cap_bytes, &header))
		tl_index_keys_network(header.ethertype, packet->data + header.network_off,
			packet->cap_bytes - header.network_off, &keys);
	else
		return false;
	return has_host(cfg, &keys) && has_port(cfg, &keys);
}

static bool passes_filter(struct extract *extract, const struct tl_pcapng_packet *packet, uint16_t linktype)
{
	if (extract->filter == NULL)
		return true;
	int rc = tl_filter_links_match(
		extract->filter, linktype, packet->data, packet->cap_bytes, packet->wire_bytes, &extract->lacking);
	if (rc < 0)
		extract->lacking_rc = tl_fail_at(&extract->lacking, rc, "%.300s: link type %s (%u)", extract->path,
			tl_filter_linktype_name(linktype), linktype);
	return rc > 0;
}

bool extract_match_record(struct extract *extract, const struct tl_pcapng_packet *packet, uint16_t linktype)
{
	const struct tl_extract_cfg *cfg = extract->cfg;
	bool looks_inside = cfg->n_hosts != 0 || cfg->n_ports != 0 || extract->filter != NULL;
	enum tl_link link = tl_link_of(linktype);

	if (packet->ts_ns < cfg->from_ns || packet->ts_ns >= cfg->to_ns)
		return false;
	if (!looks_inside)
		return true;
	if (link == TL_LINKS) {
		extract->lacking_rc = tl_fail(&extract->lacking, -ENOTSUP,
			"%.200s: packets of link type %s (%u) cannot be looked into: extract them by time alone; these "
			"can: %s",
			extract->path, tl_filter_linktype_name(linktype), linktype, tl_link_names());
		return false;
	}
	return has_keys(cfg, packet, link) && passes_filter(extract, packet, linktype);
}
