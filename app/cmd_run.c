// SPDX-License-Identifier: BSD-3-Clause
// tapline run: run the appliance of a configuration.

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_config.h>
#include <tl_err.h>
#include <tl_log.h>
#include <tl_options.h>

#include "app.h"
#include "appliance.h"
#include "check.h"
#include "finish.h"
#include "latency_dir.h"
#include "manifest.h"

struct options {
	bool check, explain, json, fail_on_loss;
	uint64_t duration_ns;
	const char *config, *latency_dir, *user;
};

static const struct tl_option options[] = {
	{"check", 0, NULL,
		"check the configuration only, and print how long each recording's buffer lasts at line rate if the disk stalls",
		TL_INTO(FLAG, struct options, check)},
	{"explain", 0, NULL,
		"like --check, and explain the choices for each port: receive method, CPUs, idle mode of the lcores, flow rules, class "
		"trees, classes of recordings",
		TL_INTO(FLAG, struct options, explain)},
	{"duration", 0, "S", "end after S seconds (a decimal fraction is allowed)",
		TL_INTO(SECONDS, struct options, duration_ns, "--duration takes a number of seconds greater than 0", 1,
			UINT64_MAX)},
	{"fail-on-loss", 0, NULL, "exit 1 if a frame was lost, even though it was counted",
		TL_INTO(FLAG, struct options, fail_on_loss)},
	{"latency", 0, "DIR",
		"write a latency report per echo to DIR: NAME.json, .html, .hgrm and, with \"samples\", .csv; and of sent frames stamped by the NIC: PORT-probes.json, PORT-replies.json",
		.choices = TL_CHOICES_DIRECTORY, TL_INTO(TEXT, struct options, latency_dir)},
	{"user", 0, "NAME", "switch to this user when the ports are open (process.user)",
		TL_INTO(TEXT, struct options, user)},
	{"json", 0, NULL, "print the results as one JSON object on stdout, the tables on stderr",
		TL_INTO(FLAG, struct options, json)},
	TL_OPTION_HELP,
};

const struct tl_command tl_run_command = {
	.name = "run",
	.summary = "run an appliance from a configuration",
	.usage = "run CONFIG.json [--json] [--duration S] [--fail-on-loss] [--latency DIR] [--user NAME]\n"
		 "run --check|--explain CONFIG.json [--json]",
	.about =
		"Runs the echoes, recordings and replays of CONFIG.json until SIGINT or SIGTERM, then drains, closes the files and prints\n"
		"the latency table and the loss ledger.",
	.words = TL_CHOICES_FILE,
	TL_OPTIONS(options),
};

// Return -1 to continue, else an exit status.
static int parse(int argc, char **argv, struct options *o)
{
	int status = tl_set_options(&tl_run_command, argc, argv, NULL, o);

	if (status >= 0)
		return status;
	if (optind + 1 != argc)
		return tl_misuse(&tl_run_command,
			optind == argc ? "which configuration? give its file" : "one configuration at a time", NULL);
	o->config = argv[optind];
	o->check |= o->explain;
	return -1;
}

// Set the user of the command line, which overrides the configuration's.
static void set_user(struct tl_config *config, const char *user)
{
	free(config->process.user);
	config->process.user = strdup(user);
}

static bool writes_to_stdout(const struct tl_config *config)
{
	for (uint32_t i = 0; i < config->n_captures; i++)
		if (strcmp(config->captures[i].path, "-") == 0)
			return true;
	return false;
}

static int run(const struct options *o, const struct tl_config *config)
{
	json_t *manifest = o->latency_dir != NULL ? tl_manifest_create("") : NULL;

	if (o->latency_dir != NULL && manifest == NULL) {
		tl_error("no memory for the reports of --latency");
		return TL_EXIT_FAILED;
	}
	if (manifest != NULL)
		tl_manifest_add_input(manifest, o->config);
	int status = tl_run_and_report(config,
		&(struct tl_appliance_opts){.duration_ns = o->duration_ns,
			.end_with_input = config->n_echoes == 0,
			.progress = true,
			.probe = true,
			.latency_dir = o->latency_dir,
			.manifest = manifest},
		&(struct tl_finish_opts){
			.json = o->json, .to_stderr = writes_to_stdout(config), .fail_on_loss = o->fail_on_loss});
	json_decref(manifest);
	return status;
}

int tl_cmd_run(int argc, char **argv)
{
	struct options o = {0};
	struct tl_config *config;
	struct tl_err err;

	int status = parse(argc, argv, &o);
	if (status >= 0)
		return status;
	tl_appliance_block_signals();
	if (tl_config_load(o.config, &config, &err) != 0) {
		tl_error("%s", err.text);
		return TL_EXIT_USAGE;
	}
	if (o.user != NULL)
		set_user(config, o.user);
	if (o.latency_dir != NULL && config->n_echoes == 0)
		status = tl_misuse(&tl_run_command, "--latency: no echo in", o.config);
	else if (!o.check && o.latency_dir != NULL &&
		 tl_latency_dir_make(o.latency_dir, config->process.user, &err) != 0)
		status = tl_misuse(&tl_run_command, err.text, NULL);
	else if (o.check)
		status = tl_check(config, o.explain, o.json);
	else
		status = run(&o, config);
	tl_config_free(config);
	return status;
}
