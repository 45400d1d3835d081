// SPDX-License-Identifier: BSD-3-Clause
// Reads /proc for free hugepages, and adds up what a configuration takes.

#include "hugepages.h"

#include <stdio.h>

#include <tl_flow.h>

#include "appliance.h"

#define MEMORY_MB 160	     // EAL, mbufs
#define CONNECTION_BYTES 730 // docs/config.md, echo[].max_connections

uint64_t tl_hugepages_free_mb(void)
{
	FILE *meminfo = fopen("/proc/meminfo", "re");
	unsigned long long free_pages = 0, page_kb = 0;
	char line[256];

	if (meminfo == NULL)
		return 0;
	while (fgets(line, sizeof(line), meminfo) != NULL) {
		(void)sscanf(line, "HugePages_Free: %llu", &free_pages);
		(void)sscanf(line, "Hugepagesize: %llu kB", &page_kb);
	}
	fclose(meminfo);
	return free_pages * page_kb / 1024;
}

static uint64_t recording_bytes(const struct tl_config *config, const struct tl_config_capture *capture)
{
	uint32_t queues = config->ports[capture->port].rx_queues;
	struct tl_capture_cfg cfg = tl_appliance_capture_cfg(capture);
	uint64_t queue_bytes = capture->buffer_bytes;

	if (capture->cutoff_bytes != 0)
		queue_bytes += (uint64_t)capture->cutoff_flows * TL_FLOW_ENTRY_BYTES;
	return queue_bytes * queues + tl_capture_recode_bytes(&cfg, queues);
}

static uint64_t echo_bytes(const struct tl_config_echo *echo)
{
	if (echo->mode == TL_ECHO_UDP)
		return 0;
	if (echo->mode == TL_ECHO_MCAST_TO_TCP)
		return echo->send_buffer_bytes;
	return (uint64_t)echo->max_connections * CONNECTION_BYTES +
	       tl_min_u64(echo->send_buffers, echo->max_connections) * echo->send_buffer_bytes;
}

uint64_t tl_hugepages_need_mb(const struct tl_config *config)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < config->n_captures; i++)
		bytes += recording_bytes(config, &config->captures[i]);
	for (uint32_t i = 0; i < config->n_echoes; i++)
		bytes += echo_bytes(&config->echoes[i]);
	return MEMORY_MB + (bytes >> 20);
}
