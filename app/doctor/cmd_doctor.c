// SPDX-License-Identifier: BSD-3-Clause
// tapline doctor: check this host for Tapline, and report causes and remedies.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include <tl_config.h>
#include <tl_doctor.h>
#include <tl_err.h>
#include <tl_log.h>
#include <tl_options.h>

#include "app.h"
#include "doctor_facts.h"
#include "results.h"
#include "self_test.h"

struct options {
	const char *config, *root;
	bool json, script, measure;
	struct tl_self_test test; // n is 0: no self-test
};

static const struct tl_option options[] = {
	{"config", 'c', "CONFIG", "check the requirements of this configuration (default: general checks)",
		.choices = TL_CHOICES_FILE, TL_INTO(TEXT, struct options, config)},
	{"self-test", 0, "PORT",
		"send frames from PORT to PORT2 and back over a cable, or from PORT to itself, and check the received frames",
		.choices = TL_CHOICES_PCI, TL_INTO(TEXT, struct options, test.devices[0])},
	{"loopback", 0, NULL, "with --self-test: use PORT's own loopback mode, if its driver has one",
		TL_INTO(FLAG, struct options, test.loopback)},
	{"report", 0, "FILE", "with --self-test: write the results as JSON", .choices = TL_CHOICES_FILE,
		TL_INTO(TEXT, struct options, test.report)},
	{"json", 0, NULL, "print the results as one JSON object", TL_INTO(FLAG, struct options, json)},
	{"fix-script", 0, NULL, "print a shell script with the fixes that need no reboot; read it before you run it",
		TL_INTO(FLAG, struct options, script)},
	{"root", 0, "DIR", "read sysfs, procfs and files below DIR: a copy of another host's",
		.choices = TL_CHOICES_DIRECTORY, TL_INTO(TEXT, struct options, root)},
	{"measure-disk", 0, NULL, "write to the disks of the recordings, up to 2 s each, to measure their speed",
		TL_INTO(FLAG, struct options, measure)},
	TL_OPTION_HELP,
};

const struct tl_command tl_doctor_command = {
	.name = "doctor",
	.summary = "check a host, and propose fixes",
	.usage = "doctor [-c CONFIG] [--json | --fix-script] [--root DIR] [--measure-disk]\n"
		 "doctor --self-test PORT [PORT2] [--loopback] [--report FILE] [--json]",
	.about =
		"Checks this host, and prints a verdict for each setting that matters to Tapline, with the reason and a remedy.\n"
		"It changes nothing and needs no root; unreadable settings are \"unknown\".\n\n"
		"With --self-test it sends frames at full speed on one port, or on two joined by a cable: use a dedicated wire.",
	.after = "Exit status: 0 no check failed, 1 a check failed, 2 the call or the configuration was wrong.",
	.words = TL_CHOICES_PCI,
	TL_OPTIONS(options),
};

// Return the name of an option that conflicts with --self-test, or NULL.
static const char *misuse_of_test(const struct options *o)
{
	if (o->test.n == 0)
		return o->test.loopback || o->test.report != NULL ? "--loopback and --report go with --self-test"
								  : NULL;
	if (o->config != NULL || o->script || o->measure || strcmp(o->root, "/") != 0)
		return "--self-test goes with --loopback, --report and --json only";
	if (o->test.loopback && o->test.n > 1)
		return "--loopback is of one port: PORT2 is one too many";
	if (o->test.n > 1 && strcmp(o->test.devices[0], o->test.devices[1]) == 0)
		return "PORT and PORT2 are the same: name one for a loopback plug";
	return NULL;
}

// Return an exit status, or -1 to continue.
static int parse(int argc, char **argv, struct options *o)
{
	int status = tl_set_options(&tl_doctor_command, argc, argv, NULL, o);

	if (status >= 0)
		return status;
	o->test.n = o->test.devices[0] != NULL;
	if (o->test.n != 0 && optind < argc)
		o->test.devices[o->test.n++] = argv[optind++];
	o->test.json = o->json;
	const char *wrong = misuse_of_test(o);
	if (wrong != NULL)
		return tl_misuse(&tl_doctor_command, wrong, NULL);
	if (optind < argc)
		wrong = "doctor takes options only; a configuration follows -c";
	else if (o->json && o->script)
		wrong = "--json or --fix-script, not both";
	else if (o->measure && o->config == NULL)
		wrong = "--measure-disk needs -c CONFIG, which names the recordings";
	return wrong != NULL ? tl_misuse(&tl_doctor_command, wrong, NULL) : -1;
}

static int print(const struct options *o, const struct tl_doctor_report *report, const struct tl_facts *facts)
{
	if (o->json)
		return tl_results_json(tl_doctor_json(report, facts), stdout);
	if (o->script)
		tl_doctor_print_script(report, facts, stdout);
	else
		tl_doctor_print(report, facts, isatty(STDOUT_FILENO), stdout);
	return tl_results_flush(stdout);
}

static int examine(const struct options *o, const struct tl_tree *tree, const struct tl_config *config)
{
	struct tl_doctor_report *report = malloc(sizeof(*report));
	struct tl_facts *facts = malloc(sizeof(*facts));
	int status = TL_EXIT_FAILED;

	if (report != NULL && facts != NULL) {
		tl_doctor_gather(tree, config, o->measure, facts);
		tl_doctor_judge(facts, report);
		if (print(o, report, facts) == 0 && report->counts[TL_VERDICT_FAIL] == 0)
			status = TL_EXIT_OK;
	}
	free(facts);
	free(report);
	return status;
}

int tl_cmd_doctor(int argc, char **argv)
{
	struct options o = {.root = "/"};
	struct tl_config *config = NULL;
	struct tl_tree tree;
	struct tl_err err;
	int status = parse(argc, argv, &o);

	if (status >= 0)
		return status;
	if (o.test.n != 0)
		return tl_self_test(&o.test);
	if (o.config != NULL && tl_config_load(o.config, &config, &err) != 0) {
		tl_error("%s", err.text);
		return TL_EXIT_USAGE;
	}
	int rc = tl_tree_open(o.root, &tree);
	if (rc == 0) {
		status = examine(&o, &tree, config);
		tl_tree_close(&tree);
	} else {
		tl_error("--root %s: %s", o.root, strerror(-rc));
		status = TL_EXIT_USAGE;
	}
	tl_config_free(config);
	return status;
}
