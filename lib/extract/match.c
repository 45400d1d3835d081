// SPDX-License-Identifier: BSD-3-Clause
// Which slabs may hold what is asked for, and which records are it.

#include "extract_priv.h"

bool extract_match_row(const struct tl_extract_cfg *cfg, const struct tl_index_row *row)
{
	bool host = cfg->n_hosts == 0, port = cfg->n_ports == 0;

	if (row->last_ns < cfg->from_ns || row->first_ns >= cfg->to_ns)
		return false;
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

bool extract_match_record(const struct extract *extract, const struct extract_record *record, uint16_t linktype)
{
	const struct tl_extract_cfg *cfg = extract->cfg;
	bool looks_inside = cfg->n_hosts != 0 || cfg->n_ports != 0 || extract->filter != NULL;
	struct tl_index_keys keys;

	if (record->ts_ns < cfg->from_ns || record->ts_ns >= cfg->to_ns)
		return false;
	if (!looks_inside)
		return true;
	if (linktype != TL_PCAPNG_LINKTYPE_ETHERNET)
		return false;
	if (cfg->n_hosts != 0 || cfg->n_ports != 0) {
		tl_index_keys(record->data, record->cap_bytes, &keys);
		if (!has_host(cfg, &keys) || !has_port(cfg, &keys))
			return false;
	}
	return extract->filter == NULL ||
	       tl_filter_match_bytes(extract->filter, record->data, record->cap_bytes, record->wire_bytes);
}
