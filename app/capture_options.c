// SPDX-License-Identifier: BSD-3-Clause
// Options of `tapline capture`: convert a command line to the configuration of `tapline run`.

#include "capture_options.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include <tl_err.h>
#include <tl_options.h>

#include "app.h"

enum value_kind { AS_TEXT, AS_NUMBER };

// Configuration key set by an option.
struct meaning {
	const char *section; // configuration section; for a list, its only entry: "capture.trigger"
	const char *key;
	enum value_kind kind;
	const char *is; // JSON value of an option without an argument
};

#define MEANS(...)                                                                                                     \
	.meaning = &(const struct meaning)                                                                             \
	{                                                                                                              \
		__VA_ARGS__                                                                                            \
	}

#define PORT_KEY .section = "ports", .key
#define CAPTURE_KEY .section = "capture", .key
#define TRIGGER_KEY .section = "capture.trigger", .key

static const struct tl_option options[] = {
	{"port", 'i', "PORT", "port to record", .choices = TL_CHOICES_INTERFACE, MEANS(PORT_KEY = "device")},
	{"write", 'w', "FILE", "output file; -: stdout, with the results on stderr; null: discards, to measure",
		.choices = TL_CHOICES_FILE, MEANS(CAPTURE_KEY = "path")},
	{"buffer", 0, "SIZE", "memory between the port and the disk, per receive queue (default 64M)",
		MEANS(CAPTURE_KEY = "buffer_bytes")},
	{"control", 0, "PATH", "create a control socket for `tapline status` and `tapline control`",
		.choices = TL_CHOICES_FILE, MEANS(.section = "control", .key = "socket")},
	{"count", 0, "N", "end after N recorded frames",
		TL_INTO(NUMBER, struct tl_capture_options, count, "is not a whole number from 1", 1, INT64_MAX)},
	{"cutoff-bytes", 0, "SIZE", "record the first SIZE of each flow (1K..1G), count the rest",
		MEANS(CAPTURE_KEY = "cutoff_bytes")},
	{"cutoff-flows", 0, "N", "flows that --cutoff-bytes tracks at a time, per receive queue (default 1M)",
		MEANS(CAPTURE_KEY = "cutoff_flows")},
	{"direction", 0, "DIR", "record rx (received frames), tx (sent frames) or both (default)",
		.choices = "rx tx both", MEANS(CAPTURE_KEY = "direction")},
	{"duration", 0, "S", "end after S seconds",
		TL_INTO(SECONDS, struct tl_capture_options, run.duration_ns,
			"is not a number of seconds greater than 0", 1, UINT64_MAX)},
	{"fail-on-loss", 0, NULL, "exit 1 if a frame was lost, even though it was counted",
		TL_INTO(FLAG, struct tl_capture_options, finish.fail_on_loss)},
	{"fsync", 0, "WHEN", "force a file to the disk: never, close, or auto (default): close in a ring of --rotate",
		.choices = "auto never close", MEANS(CAPTURE_KEY = "fsync")},
	{"index", 0, NULL, "write an index FILE.tlx for `tapline extract` (default with --rotate* and triggers)",
		MEANS(CAPTURE_KEY = "index", .is = "true")},
	{"no-index", 0, NULL, "write no index", MEANS(CAPTURE_KEY = "index", .is = "false")},
	{"inner", 0, NULL, "apply filter, cut-off and index to the innermost packets, behind VLAN tags and tunnels",
		MEANS(CAPTURE_KEY = "inner", .is = "true")},
	{"io", 0, "HOW", "write with io_uring (default) or pwrite", .choices = "io_uring pwrite",
		MEANS(CAPTURE_KEY = "io")},
	{"json", 0, NULL, "print the results as one JSON object",
		TL_INTO(FLAG, struct tl_capture_options, finish.json)},
	{"no-promisc", 0, NULL, "leave promiscuous mode as it is", MEANS(PORT_KEY = "promisc", .is = "false")},
	{"order", 0, "HOW", "order of frames: arrival (default), per receive queue; time, of all queues",
		.choices = "arrival time", MEANS(CAPTURE_KEY = "order")},
	{"order-window", 0, "MS", "longest wait of --order time for late frames (default 100)",
		MEANS(CAPTURE_KEY = "order_window_ms", .kind = AS_NUMBER)},
	{"format", 0, "FORMAT", "write pcapng (default) or pcap-ns", .choices = "pcapng pcap-ns",
		MEANS(CAPTURE_KEY = "format")},
	{"compress", 0, "HOW", "compression: none (default) or zstd", .choices = "none zstd",
		MEANS(CAPTURE_KEY = "compress")},
	{"compress-level", 0, "N", "level of zstd, 1 (fast, default) to 19",
		MEANS(CAPTURE_KEY = "compress_level", .kind = AS_NUMBER)},
	{"compress-threads", 0, "N", "number of compressing threads (default 1)",
		MEANS(CAPTURE_KEY = "compress_threads", .kind = AS_NUMBER)},
	{"digest", 0, "HOW", "checksums for `tapline verify`: none (default), crc32c or sha256",
		.choices = "none crc32c sha256", MEANS(CAPTURE_KEY = "digest")},
	{"queues", 0, "N", "receive queues, one CPU each (default 1)",
		MEANS(PORT_KEY = "rx_queues", .kind = AS_NUMBER)},
	{"snaplen", 0, "N", "record at most N bytes of each frame (14..262144)",
		MEANS(CAPTURE_KEY = "snaplen", .kind = AS_NUMBER)},
	{"timestamps", 0, "SOURCE", "source of timestamps: auto (default), tsc, nic-rx, kernel or file",
		.choices = "auto tsc nic-rx kernel file", MEANS(PORT_KEY = "timestamps")},
	{"take", 0, NULL, "allow xdp: on the interface of the default route or of the login",
		MEANS(PORT_KEY = "take", .is = "true")},
	{"user", 0, "NAME", "switch to this user when the port is open", MEANS(.section = "process", .key = "user")},
	TL_OPTION_HELP,
	{.help = "Several files: FILE may contain %Y %m %d %H %M %S %j %y %s %F %T, in UTC; a name in use gets a number.\n"
		 "With one of the first three options no file is overwritten, and a file is named FILE.part until it is\n"
		 "complete."},
	{"rotate", 0, "SIZE", "begin a new file before this one would be larger (at least 4M)",
		MEANS(CAPTURE_KEY = "rotate_bytes")},
	{"rotate-seconds", 0, "S", "begin a new file at multiples of S since 1970: 3600 is every full hour",
		MEANS(CAPTURE_KEY = "rotate_seconds", .kind = AS_NUMBER)},
	{"rotate-packets", 0, "N", "begin a new file before this one would have more frames",
		MEANS(CAPTURE_KEY = "rotate_packets", .kind = AS_NUMBER)},
	{"keep-files", 0, "N", "remove the oldest file if there are more than N (at least 2)",
		MEANS(CAPTURE_KEY = "keep_files", .kind = AS_NUMBER)},
	{"keep-bytes", 0, "SIZE", "remove the oldest file if all are larger (at least 8M and twice --rotate)",
		MEANS(CAPTURE_KEY = "keep_bytes")},
	{"min-free", 0, "SIZE", "remove the oldest file if less disk space is free",
		MEANS(CAPTURE_KEY = "min_free_bytes")},
	{"on-full", 0, "WHAT",
		"on a full disk: pause (default): drop and count frames until there is space; recycle: remove the oldest file",
		.choices = "pause recycle", MEANS(CAPTURE_KEY = "on_full")},
	{.help = "Record around triggers only: SIGUSR1, `tapline control trigger`, or one of the last two options."},
	{"mode", 0, "MODE",
		"continuous (default): record all; trigger: record the time around each trigger to a new file",
		.choices = "continuous trigger", MEANS(CAPTURE_KEY = "mode")},
	{"store", 0, "WHERE", "hold data in memory (default), or in files: a ring, from which files are saved",
		.choices = "memory files", MEANS(TRIGGER_KEY = "store")},
	{"pre-seconds", 0, "S", "time to save before a trigger (default 10; limited by the buffer)",
		MEANS(TRIGGER_KEY = "pre_seconds", .kind = AS_NUMBER)},
	{"pre-bytes", 0, "SIZE", "limit of the data saved before a trigger", MEANS(TRIGGER_KEY = "pre_bytes")},
	{"post-seconds", 0, "S", "time to save after a trigger (default 10)",
		MEANS(TRIGGER_KEY = "post_seconds", .kind = AS_NUMBER)},
	{"trigger", 0, "FILTER", "trigger on a frame that matches FILTER", MEANS(TRIGGER_KEY = "filter")},
	{"trigger-on-drop", 0, NULL, "trigger on a lost frame", MEANS(TRIGGER_KEY = "on_drop", .is = "true")},
};

_Static_assert(TL_ARRAY_LEN(options) < TL_OPTIONS_MAX, "the tables made from it have room");

const struct tl_command tl_capture_command = {
	.name = "capture",
	.summary = "record a port to a pcapng file",
	.usage = "capture -i PORT -w FILE [options] [FILTER]",
	.about =
		"Records the frames of PORT that pass FILTER (tcpdump's syntax) to FILE, pcapng with nanoseconds, until SIGINT or\n"
		"SIGTERM, and prints the loss ledger. SIGHUP begins a new file, SIGUSR1 is a trigger.\n"
		"\n"
		"PORT: a kernel interface (eth0), xdp:INTERFACE, pcap:FILE, a PCI address (0000:3b:00.0) or vdev:DEVARGS.",
	TL_OPTIONS(options),
	.until_word = true, // the filter's words are not parsed as options
};

static int misuse(const char *what)
{
	return tl_misuse(&tl_capture_command, what, NULL);
}

// ---- from options to JSON

static json_t *value_of(const struct meaning *meaning, const char *text)
{
	json_t *number = NULL;

	if (meaning->is != NULL)
		return json_loads(meaning->is, JSON_DECODE_ANY, NULL);
	if (meaning->kind == AS_NUMBER)
		number = json_loads(text, JSON_DECODE_ANY, NULL);
	if (json_is_integer(number))
		return number;
	json_decref(number);
	return json_string(text); // a non-number is rejected with the text as given
}

// Return the object of "list.object"; create it if it is missing.
static json_t *section_of(json_t *root, const char *section)
{
	size_t chars = strcspn(section, ".");
	char name[32];

	snprintf(name, sizeof(name), "%.*s", (int)chars, section);
	json_t *found = json_object_get(root, name);
	if (found == NULL && json_object_set_new(root, name, json_object()) == 0)
		found = json_object_get(root, name);
	if (json_is_array(found))
		found = json_array_get(found, 0);
	return section[chars] == '\0' ? found : section_of(found, section + chars + 1);
}

// Return NULL, or an error text.
static const char *set(const struct meaning *meaning, const char *text, json_t *root)
{
	// Text that is not UTF-8 has no JSON form.
	return json_object_set_new(section_of(root, meaning->section), meaning->key, value_of(meaning, text)) == 0
		       ? NULL
		       : "is not UTF-8";
}

// Join the rest of the command line with spaces as a filter, as tcpdump does.
static bool set_filter(json_t *root, int argc, char **argv)
{
	char filter[4096] = "";
	size_t used = 0;

	for (int i = optind; i < argc && used < sizeof(filter); i++)
		used += (size_t)snprintf(filter + used, sizeof(filter) - used, "%s%s", i > optind ? " " : "", argv[i]);
	return used == 0 || (used < sizeof(filter) && json_object_set_new(section_of(root, "capture"), "filter",
							      json_string(filter)) == 0);
}

// Return -1 to continue, else an exit status.
static int read_options(int argc, char **argv, json_t *root, struct tl_capture_options *o)
{
	struct tl_options_reader reader;
	const struct tl_option *option;
	char what[256];

	tl_options_begin(&reader, &tl_capture_command, argc, argv);
	while ((option = tl_options_next(&reader)) != NULL) {
		const char *wrong = option->into != NULL ? tl_options_store(option->into, optarg, o)
							 : set(option->meaning, optarg, root);
		if (wrong == NULL)
			continue;
		snprintf(what, sizeof(what), "--%s: %.100s %s", option->name, optarg, wrong);
		return misuse(what);
	}
	if (reader.status >= 0)
		return reader.status;
	if (json_object_get(section_of(root, "ports"), "device") == NULL)
		return misuse("which port? give -i PORT");
	if (json_object_get(section_of(root, "capture"), "path") == NULL)
		return misuse("where to? give -w FILE");
	return set_filter(root, argc, argv) ? -1 : misuse("the filter is too long, or not UTF-8");
}

// ---- from JSON to the configuration

static int load(const json_t *root, struct tl_config **out)
{
	struct tl_config_option names[TL_OPTIONS_MAX] = {{.key = "filter", .option = "FILTER"}};
	char texts[TL_OPTIONS_MAX][32];
	size_t n = 1;
	struct tl_err err;

	for (size_t i = 0; i < TL_ARRAY_LEN(options); i++) {
		const struct meaning *meaning = options[i].meaning;
		if (meaning == NULL)
			continue;
		snprintf(texts[n], sizeof(texts[n]), "--%s", options[i].name);
		names[n] = (struct tl_config_option){.key = meaning->key, .option = texts[n]};
		n++;
	}
	return tl_config_load_options(root, names, n, out, &err) == 0 ? -1 : misuse(err.text);
}

int tl_capture_options_parse(int argc, char **argv, struct tl_capture_options *out)
{
	json_t *root =
		json_loads("{\"ports\": [{\"name\": \"port0\"}], \"capture\": [{\"port\": \"port0\"}]}", 0, NULL);

	*out = (struct tl_capture_options){.run = {.expire = true, .end_with_input = true, .progress = true}};
	int status = root == NULL ? misuse("out of memory") : read_options(argc, argv, root, out);
	if (status < 0)
		status = load(root, &out->config);
	json_decref(root);
	if (status >= 0)
		return status;
	if (out->count != 0 && out->config->captures[0].mode == TL_CONFIG_MODE_TRIGGER) {
		tl_config_free(out->config);
		return misuse("--count: which frames are recorded is up to the triggers; give --duration");
	}
	out->config->captures[0].count = out->count;
	out->finish.to_stderr = strcmp(out->config->captures[0].path, "-") == 0;
	return -1;
}
