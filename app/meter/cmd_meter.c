// SPDX-License-Identifier: BSD-3-Clause
// tapline meter: parse the command line.

#include <stdio.h>

#include <tl_rates.h>
#include <tl_units.h>

#include "app.h"
#include "meter_args.h"

#define OVERHEAD_MAX 1000

static const struct tl_option options[] = {
	{"port", 'i', "PORT",
		"meter the frames that a port receives: a kernel interface (eth0), xdp:INTERFACE, a PCI address (0000:3b:00.0) or "
		"vdev:DEVARGS",
		.choices = TL_CHOICES_INTERFACE, TL_INTO(TEXT, struct tl_meter_args, device)},
	{"duration", 0, "S", "with -i: end after S seconds",
		TL_INTO(SECONDS, struct tl_meter_args, duration_ns,
			"--duration takes a number of seconds from 0.001 to 1e9", TL_NS_PER_MS,
			UINT64_C(1000000000) * TL_NS_PER_S)},
	{"count", 0, "N", "with -i: end after N frames",
		TL_INTO(NUMBER, struct tl_meter_args, count, "--count takes a whole number from 1", 1, UINT64_MAX)},
	{"take", 0, NULL, "allow -i xdp: on the interface of the default route or of the login",
		TL_INTO(FLAG, struct tl_meter_args, take)},
	{"cir", 0, "RATE", "committed information rate", 'c'},
	{"cbs", 0, "SIZE", "committed burst size: of the bucket filled at --cir", 'b'},
	{"ebs", 0, "SIZE",
		"excess burst size: of the bucket that gets the overflow of the first (RFC 2697), or is filled at --eir",
		'e'},
	{"eir", 0, "RATE", "excess information rate: of a second bucket that fills independently (RFC 4115)", 'E'},
	{"pir", 0, "RATE", "peak information rate, not below --cir (RFC 2698)", 'p'},
	{"pbs", 0, "SIZE", "peak burst size: of the bucket filled at --pir", 'P'},
	{"aware", 0, NULL,
		"frames arrive with the colour of their DSCP: AFx2 yellow, AFx3 red, others green (RFC 2597)",
		TL_INTO(FLAG, struct tl_meter_args, aware)},
	{"shape", 0, NULL, "a shaper instead of a policer: frames wait for their tokens",
		TL_INTO(FLAG, struct tl_meter_args, shape)},
	{"limit", 0, "SIZE", "with --shape: longest queue; frames beyond it are dropped (default: no limit)", 'l'},
	{"overhead", 0, "BYTES",
		"added to the length of each frame, 0 to 1000 (default 0: without FCS); 4: FCS; 24: bytes on the wire",
		TL_INTO(NUMBER, struct tl_meter_args, overhead_bytes, "--overhead takes 0 to 1000", 0, OVERHEAD_MAX)},
	{"json", 0, NULL, "print the results as one JSON object", TL_INTO(FLAG, struct tl_meter_args, json)},
	{"html", 0, "FILE", "write the report as a self-contained page", TL_INTO(TEXT, struct tl_meter_args, html),
		.choices = TL_CHOICES_FILE},
	{"csv", 0, "FILE", "write every frame with its colour, for each setting",
		TL_INTO(TEXT, struct tl_meter_args, csv), .choices = TL_CHOICES_FILE},
	TL_OPTION_HELP,
};

const struct tl_command tl_meter_command = {
	.name = "meter",
	.summary = "compute the effect of a policer or shaper on recorded or received traffic",
	.usage = "meter FILE... --cir RATE --cbs SIZE [--ebs SIZE] [options]\n"
		 "meter FILE... --cir RATE --cbs SIZE --eir RATE --ebs SIZE [options]\n"
		 "meter FILE... --cir RATE --cbs SIZE --pir RATE --pbs SIZE [options]\n"
		 "meter FILE... --cir RATE --cbs SIZE --shape [--limit SIZE] [options]\n"
		 "meter -i PORT [--duration S] [--count N] --cir RATE --cbs SIZE [options]",
	.about =
		"Colours the frames of recordings, or other pcapng and pcap files, one file after the other, by their recorded times:\n"
		"green frames conform, yellow ones exceed the committed burst, red ones violate the contract. With --shape frames\n"
		"are delayed instead: green ones were sent at once, yellow ones were delayed, red ones were dropped.\n"
		"\n"
		"With -i the frames are those that a port receives, by their arrival times, until a limit or SIGINT.\n"
		"\n"
		"Rates, bursts and --limit may be repeated: each combination is a setting, 16 at most.",
	.after =
		"Units are those of tc(8). RATE: bit (or none), kbit, mbit, gbit, tbit per second in powers of 1000; kibit and so on in\n"
		"powers of 1024; bps, kbps and so on: bytes per second. SIZE: b (or none), k, m, g, t in powers of 1024, also as kb or\n"
		"KiB; kbit, mbit, gbit: so many bits, in powers of 1024.",
	.words = TL_CHOICES_FILE,
	TL_OPTIONS(options),
};

// Return NULL, or an error text.
static const char *set(void *ctx, int id, const char *value)
{
	struct tl_meter_args *a = ctx;
	const struct {
		int id;
		const char *name;
		int (*parse)(const char *text, uint64_t *out, struct tl_err *err);
		struct tl_meter_values *values;
	} rows[] = {{'c', "--cir", tl_parse_rate, &a->cir}, {'p', "--pir", tl_parse_rate, &a->pir},
		{'E', "--eir", tl_parse_rate, &a->eir}, {'b', "--cbs", tl_parse_size, &a->cbs},
		{'e', "--ebs", tl_parse_size, &a->ebs}, {'P', "--pbs", tl_parse_size, &a->pbs},
		{'l', "--limit", tl_parse_size, &a->limit}};

	for (size_t i = 0; i < TL_ARRAY_LEN(rows); i++) {
		struct tl_meter_values *values = rows[i].values;
		if (rows[i].id != id)
			continue;
		if (values->n == TL_METER_SETTINGS_MAX)
			return "an option may be given 16 times at most";
		int rc = rows[i].parse(value, &values->value[values->n++], &a->err);
		if (rc == 0)
			return NULL;
		tl_fail_at(&a->err, rc, "%s", rows[i].name);
		return a->err.text;
	}
	return NULL;
}

// Check combinations of options. Return NULL, or an error text.
static const char *check(const struct tl_meter_args *a)
{
	if (a->n_paths == 0 && a->device == NULL)
		return "which recordings? name files, or a port with -i";
	if (a->n_paths != 0 && a->device != NULL)
		return "-i takes the place of files: give one or the other";
	if (a->device == NULL && (a->duration_ns != 0 || a->count != 0 || a->take))
		return "--duration, --count and --take are of -i";
	if (a->cir.n == 0 || a->cbs.n == 0)
		return "which contract? give --cir RATE and --cbs SIZE";
	if (a->shape && (a->ebs.n + a->eir.n + a->pir.n + a->pbs.n != 0))
		return "--shape has one bucket: it goes without --ebs, --eir, --pir and --pbs";
	if (a->shape && a->aware)
		return "--aware is of a policer: a shaper has no colours";
	if (!a->shape && a->limit.n != 0)
		return "--limit is of the queue of --shape";
	if (a->ebs.n + a->eir.n != 0 && a->pir.n + a->pbs.n != 0)
		return "--ebs and --eir are of an excess bucket, --pir and --pbs of a peak bucket: give one or the other";
	if (a->eir.n != 0 && a->ebs.n == 0)
		return "--eir needs the size of its bucket, --ebs";
	if ((a->pir.n == 0) != (a->pbs.n == 0))
		return "--pir and --pbs go together";
	return NULL;
}

int tl_cmd_meter(int argc, char **argv)
{
	struct tl_meter_args a = {0};
	int status = tl_set_options(&tl_meter_command, argc, argv, set, &a);

	if (status >= 0)
		return status;
	a.paths = (const char *const *)(argv + optind);
	a.n_paths = (size_t)(argc - optind);
	const char *wrong = check(&a);
	return wrong != NULL ? tl_misuse(&tl_meter_command, wrong, NULL) : tl_meter_run(&a);
}
