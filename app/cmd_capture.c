// SPDX-License-Identifier: BSD-3-Clause
// tapline capture: record a port; build the configuration of `tapline run` from the command line.

#include <stdlib.h>

#include "app.h"
#include "appliance.h"
#include "capture_options.h"
#include "finish.h"
#include "hugepages.h"
#include "plan.h"

static void set_memory(struct tl_config *config)
{
	static const struct tl_facts unknown;
	struct tl_facts *facts = tl_plan_facts(config);
	struct tl_memory_need need;

	tl_memory_need(config, facts != NULL ? facts : &unknown, &need);
	free(facts);
	config->eal.main_lcore = tl_plan_first_cpu();
	config->eal.memory_mb = (uint32_t)tl_memory_need_mb(&need);
	config->eal.huge = tl_hugepages_suffice(config->eal.memory_mb);
	config->eal.huge_optional = true;
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
