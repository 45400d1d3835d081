// SPDX-License-Identifier: BSD-3-Clause
// tapline capture: records a port; the configuration of `tapline run` made from a command line.

#include <tl_flow.h>

#include "app.h"
#include "appliance.h"
#include "capture_options.h"
#include "finish.h"
#include "hugepages.h"
#include "plan.h"

#define MEMORY_MB 160 // beside the buffers and flows: EAL, mbufs

static void set_memory(struct tl_config *config)
{
	const struct tl_config_capture *capture = &config->captures[0];
	uint64_t queue_bytes = capture->buffer_bytes;

	if (capture->cutoff_bytes != 0)
		queue_bytes += (uint64_t)capture->cutoff_flows * TL_FLOW_ENTRY_BYTES;
	struct tl_capture_cfg cfg = tl_appliance_capture_cfg(capture);
	uint64_t bytes =
		queue_bytes * config->ports[0].rx_queues + tl_capture_recode_bytes(&cfg, config->ports[0].rx_queues);
	config->eal.main_lcore = tl_plan_first_cpu();
	config->eal.memory_mb = (uint32_t)(MEMORY_MB + (bytes >> 20));
	config->eal.huge = tl_hugepages_free_mb() >= config->eal.memory_mb;
}

int tl_capture_run(struct tl_capture_options *o)
{
	tl_appliance_block_signals();
	set_memory(o->config);
	int status = tl_run_and_report(o->config, &o->run, &o->finish);
	tl_config_free(o->config);
	return status;
}

int tl_cmd_capture(int argc, char **argv)
{
	struct tl_capture_options o;
	int status = tl_capture_options_parse(argc, argv, &o);

	return status >= 0 ? status : tl_capture_run(&o);
}
