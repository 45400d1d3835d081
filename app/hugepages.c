// SPDX-License-Identifier: BSD-3-Clause
// Read the free hugepages, and add up the memory need of a configuration.

#include "hugepages.h"

#include <string.h>

#include <tl_config_setting.h>
#include <tl_flow.h>
#include <tl_port.h>

#include "appliance.h"
#include "doctor_facts.h"
#include "replays.h"
#include "police.h"
#include "start.h"

#define MIB (UINT64_C(1) << 20)
#define BASE_BYTES (128 * MIB) // EAL, drivers, tables of the stack
#define MELLANOX 0x15b3
#define ECHO_BYTES (460u << 10) // its distributions: docs/echo.md, "many echoes"
#define CONNECTION_BYTES 730	// docs/config.md, echo[].max_connections

bool tl_hugepages_suffice(uint32_t memory_mb)
{
	struct tl_fact_num total_mb = {0}, free_mb = {0};
	struct tl_tree tree;

	if (tl_restarted() || tl_tree_open("", &tree) != 0)
		return false;
	tl_gather_hugepages(&tree, &total_mb, &free_mb);
	tl_tree_close(&tree);
	return free_mb.value >= memory_mb;
}

static uint64_t recording_bytes(const struct tl_config *config, const struct tl_config_capture *capture)
{
	uint32_t queues = config->ports[capture->port].rx_queues;
	struct tl_capture_cfg cfg = tl_appliance_capture_cfg(capture);
	uint64_t queue_bytes = capture->buffer_bytes + tl_police_bytes(capture);

	if (capture->cutoff_bytes != 0)
		queue_bytes += (uint64_t)capture->cutoff_flows * TL_FLOW_ENTRY_BYTES;
	uint32_t recorded = 0;
	for (uint32_t q = 0; q < queues; q++)
		recorded += tl_config_records(&config->ports[capture->port], q);
	return queue_bytes * recorded + tl_capture_recode_bytes(&cfg, queues);
}

static uint64_t echo_bytes(const struct tl_config_echo *echo)
{
	if (echo->mode == TL_ECHO_KIND_UDP)
		return ECHO_BYTES;
	if (echo->mode == TL_ECHO_KIND_MCAST_TO_TCP)
		return ECHO_BYTES + echo->send_buffer_bytes;
	return ECHO_BYTES + (uint64_t)echo->max_connections * CONNECTION_BYTES +
	       tl_min_u64(echo->send_buffers, echo->max_connections) * echo->send_buffer_bytes;
}

static uint64_t packet_bytes(const struct tl_config *config, const struct tl_facts *facts, uint32_t port)
{
	const struct tl_config_port *from = &config->ports[port];
	const struct tl_fact_num *vendor = &facts->wanted.port_vendors[port];
	struct tl_port_cfg cfg = {.rx_queues = (uint16_t)from->rx_queues,
		.mtu = (uint16_t)from->mtu,
		.rx_descriptors = (uint16_t)from->rx_descriptors,
		.tx_descriptors = (uint16_t)from->tx_descriptors};

	if (tl_port_spec_parse(from->device, &cfg.spec, NULL) != 0)
		return 0;
	for (uint32_t i = 0; i < config->n_echoes; i++)
		if (config->echoes[i].port == port)
			cfg.tx_queues = cfg.rx_queues;
	if (tl_config_replay_from(config, port) != NULL)
		cfg.tx_queues = 1;
	return tl_port_memory_bytes(&cfg, vendor->known && vendor->value == MELLANOX);
}

// Return the memory for frames read ahead and in class trees, or for the stacks of sessions.
static uint64_t replay_bytes(const struct tl_config *config, uint32_t port)
{
	uint64_t bytes = TL_REPLAY_MEMORY_BYTES;

	if (tl_config_sessions_from(config, port) != NULL)
		return TL_SESSIONS_MEMORY_BYTES;
	for (uint32_t i = 0; i < config->n_shapes; i++)
		if (config->shapes[i].port == port)
			bytes += tl_replay_tree_bytes(config->shapes[i].frames, config->shapes[i].mtu);
	return bytes;
}

void tl_memory_need(const struct tl_config *config, const struct tl_facts *facts, struct tl_memory_need *out)
{
	*out = (struct tl_memory_need){.base_bytes = BASE_BYTES};
	for (uint32_t i = 0; i < config->n_ports; i++)
		out->port_bytes[i] = packet_bytes(config, facts, i);
	for (uint32_t i = 0; i < config->n_captures; i++)
		out->port_bytes[config->captures[i].port] += recording_bytes(config, &config->captures[i]);
	for (uint32_t i = 0; i < config->n_echoes; i++)
		out->port_bytes[config->echoes[i].port] += echo_bytes(&config->echoes[i]);
	for (uint32_t i = 0; i < config->n_replays; i++)
		out->port_bytes[config->replays[i].port] += replay_bytes(config, config->replays[i].port);
}

uint64_t tl_memory_need_mb(const struct tl_memory_need *need)
{
	uint64_t bytes = need->base_bytes;

	for (uint32_t i = 0; i < TL_CONFIG_PORTS_MAX; i++)
		bytes += need->port_bytes[i];
	return (bytes + MIB - 1) / MIB;
}

static uint32_t node_index(int node, uint32_t otherwise)
{
	return node >= 0 && node < TL_EAL_NODES_MAX ? (uint32_t)node : otherwise;
}

void tl_memory_spread(const struct tl_config *config, const struct tl_facts *facts, const struct tl_place *place,
	uint32_t node_mb[TL_EAL_NODES_MAX])
{
	uint32_t home = node_index(tl_place_node_of(facts, config->eal.main_lcore), 0);
	uint32_t left_mb = config->eal.memory_mb;
	struct tl_memory_need need;

	tl_memory_need(config, facts, &need);
	uint64_t all_mb = tl_memory_need_mb(&need);
	memset(node_mb, 0, TL_EAL_NODES_MAX * sizeof(*node_mb));
	for (uint32_t i = 0; i < config->n_ports; i++) {
		uint64_t share_mb = need.port_bytes[i] / MIB * config->eal.memory_mb / all_mb;
		node_mb[node_index(place->nodes[i], home)] += (uint32_t)share_mb;
		left_mb -= (uint32_t)share_mb;
	}
	node_mb[home] += left_mb;
}
