// SPDX-License-Identifier: BSD-3-Clause
// tapline replay: parse the command line.

#include "app.h"
#include "replay_args.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tl_replay_playlist.h>
#include <tl_units.h>

#define MTU_DEFAULT 1500
#define DURATION_NS_MAX (100 * UINT64_C(31557600) * TL_NS_PER_S) // 100 years

static const struct tl_option options[] = {
	{"port", 'i', "PORT",
		"port to send from: a kernel interface (eth0), xdp:INTERFACE, a PCI address (0000:3b:00.0) or vdev:DEVARGS",
		'i', .choices = TL_CHOICES_INTERFACE},
	{"second-port", 'I', "PORT", "a second port, for the frames of the other side: see --split", 'I',
		.choices = TL_CHOICES_INTERFACE},
	{"split", 0, "RULE",
		"frames that -i sends, and -I the others: epb (recorded as outbound), interface[:N], mac:MAC[,MAC...] (source "
		"addresses), filter:EXPRESSION, or clients",
		'x'},
	{"speed", 0, "X", "multiple of the recorded speed, 0.01 to 100 (default 1)", 's'},
	{"rate", 0, "RATE",
		"send evenly, not at the recorded times: 1000pps, 2.5Mpps, 100Mbps (bits on the wire) or 40% of the line "
		"rate",
		'r'},
	{"line-rate", 0, NULL, "send as fast as the port accepts frames, not at the recorded times", 'L'},
	{"burst", 0, "N:TIME", "send N frames at once, and the next N after TIME, not at the recorded times", 'b'},
	{"one-by-one", 0, NULL, "send a frame per line of standard input (Enter), until its end", 'o'},
	{"loops", 0, "N", "number of times to play the files (default 1)", 'l'},
	{"merge", 0, NULL, "send the frames of all files in the order of their times", 'G'},
	{"max-gap", 0, "TIME", "shorten longer gaps between recorded times to this", 'g'},
	{"start-at", 0, "TIME", "send the first frame at this time", 'S'},
	{"max-late", 0, "TIME", "fail if a frame was passed to the driver later than this after its due time", 'M'},
	{"timing", 0, "CLOCK",
		"send frames at their due times by the processor's TSC (tsc, default), by the NIC's clock (nic), or by that if the "
		"NIC has scheduled sending (auto)",
		.choices = "tsc nic auto", TL_INTO(TEXT, struct tl_replay_args, timing_text)},
	{"on-underrun", 0, "ACTION",
		"when frames were read after they were due: keep the due times and catch up (keep, default), or move them by the "
		"time lost (shift)",
		.choices = "keep shift", TL_INTO(TEXT, struct tl_replay_args, underrun_text)},
	{"wire-stamps", 0, NULL,
		"measure lateness up to the wire, too, by stamps of sent frames, up to 50 a second: the NIC's, or the kernel's for an interface",
		TL_INTO(FLAG, struct tl_replay_args, wire_stamps)},
	{"mtu", 0, "BYTES",
		"MTU of a PCI or virtual device, 576 to 9600 (default 1500); kernel interfaces have their own", 'm'},
	{"mtu-action", 0, "ACTION",
		"for frames above the MTU: drop (default), cut, or fragment (IPv4 without DF, others are dropped)", 'a',
		.choices = "drop cut fragment"},
	{"shape", 0, "FILE[:NAME]",
		"send through a class tree: an entry of the configuration's section `shape`, or the shape of a configuration",
		.choices = TL_CHOICES_FILE, TL_INTO(TEXT, struct tl_replay_args, shape)},
	{"lcore", 0, "CPU", "send from this CPU (default: an isolated one, or another than the first)", 'c'},
	{.help = "Edits of sent frames"},
	{"map", 0, "FROM=TO",
		"replace a prefix of IP addresses: 10.0.0.0/8=192.168.0.0/16; may be repeated, the first match applies",
		'P'},
	{"map-port", 0, "FROM=TO", "replace ports: 80=8080, 5000-5099=6000; may be repeated", 'p'},
	{"per-loop", 0, "RANGE+N",
		"add N per loop to addresses or ports: 10.1.0.0/16+1, 40000-49999+100; may be repeated", '+'},
	{"src-mac", 0, "MAC", "source address of all frames", 'A'},
	{"dst-mac", 0, "MAC", "destination address of all frames", 'D'},
	{"vlan", 0, "EDIT", "add:ID, set:ID (of tagged frames), or strip: the outermost VLAN tag", 'v'},
	{"ttl", 0, "N", "TTL or hop limit of all packets, 1 to 255", 'T'},
	{"dscp", 0, "N", "DSCP of all packets, 0 to 63", 'd'},
	{.help = "TCP sessions to a server, instead of frames"},
	{"sessions", 0, "TARGET",
		"replay the client side of each TCP session against this address, ADDRESS:PORT or [IPV6]:PORT (default: the "
		"recorded port)",
		TL_INTO(TEXT, struct tl_replay_args, sessions.target)},
	{"from", 0, "ADDRESS/BITS",
		"own address on PORT, or range FIRST-LAST, with the length of its prefix; of the target's family",
		TL_INTO(TEXT, struct tl_replay_args, sessions.from)},
	{"gateway", 0, "ADDRESS", "router to a target outside the prefix",
		TL_INTO(TEXT, struct tl_replay_args, sessions.gateway)},
	{"scale", 0, "N", "play each session N times, each on its own connection (default 1)",
		TL_INTO(NUMBER, struct tl_replay_args, sessions.scale, "--scale takes 1 to 10000", 1,
			TL_SESSIONS_SCALE_MAX)},
	{"wait", 0, "FOR",
		"wait before the client's next bytes: for the recorded number of reply bytes (bytes, default), or for the "
		"recorded time (time)",
		.choices = "bytes time", TL_INTO(TEXT, struct tl_replay_args, sessions.wait)},
	{"compare", 0, "WHAT", "compare replies with the recorded ones: by bytes (default), or by length only",
		.choices = "bytes length", TL_INTO(TEXT, struct tl_replay_args, sessions.compare)},
	{"timeout", 0, "SECONDS", "reset a session after this time without progress (default 10)",
		TL_INTO(SECONDS, struct tl_replay_args, sessions.timeout_ns, "--timeout takes 0.001 to 86400",
			TL_NS_PER_MS, 86400 * TL_NS_PER_S)},
	{"at-a-time", 0, "N", "connections and UDP flows in progress at a time (default 1024)",
		TL_INTO(NUMBER, struct tl_replay_args, sessions.at_a_time, "--at-a-time takes 1 to 4096", 1,
			TL_SESSIONS_AT_A_TIME_MAX)},
	{"udp", 0, NULL, "play UDP flows too: datagrams of the client, and as many answers as recorded",
		TL_INTO(FLAG, struct tl_replay_args, sessions.udp)},
	{"any-vlan", 0, NULL, "take frames with the same addresses and ports as one session, whatever their VLANs",
		TL_INTO(FLAG, struct tl_replay_args, sessions.any_vlan)},
	{"follow", 0, NULL,
		"FILE is the directory of a running recording with rotation: play the sessions of each file as it is completed, until "
		"SIGINT or SIGTERM",
		TL_INTO(FLAG, struct tl_replay_args, sessions.follow)},
	{"backlog", 0, "N", "with --follow: sessions that may wait for a connection; others are dropped (default 4096)",
		TL_INTO(NUMBER, struct tl_replay_args, sessions.backlog, "--backlog takes 1 to 1000000", 1,
			TL_SESSIONS_BACKLOG_MAX)},
	{"opaque", 0, NULL, "play TLS sessions too, with the recorded bytes",
		TL_INTO(FLAG, struct tl_replay_args, sessions.opaque)},
	{.help = "Other options"},
	{"control", 0, "PATH", "listen there for `tapline control` and `tapline status` (a socket)", 'C',
		.choices = TL_CHOICES_FILE},
	{"take", 0, NULL, "allow xdp: on the interface of the default route or of the login", 't'},
	{"json", 0, NULL, "print the results as one JSON object", 'j'},
	TL_OPTION_HELP,
};

const struct tl_command tl_replay_command = {
	.name = "replay",
	.summary = "send recorded frames again, at their recorded times",
	.usage = "replay FILE... -i PORT [options] [FILTER]\n"
		 "replay FILE... -i PORT --sessions TARGET --from ADDRESS/BITS [options] [FILTER]",
	.about =
		"Sends the frames of recordings, or other pcapng and pcap files, one file after the other. FILE may be a directory, a\n"
		"quoted pattern, or @LIST, a text file of names: its files are played in the order of time. The due time of each frame\n"
		"is computed from the first frame's. Frames are passed to the driver as soon as possible after it, never before.\n"
		"FILTER, in tcpdump's syntax, selects frames; it begins with the first word that names no file.\n"
		"\n"
		"Every record ends in exactly one counter of the results.\n"
		"\n"
		"With --sessions Tapline's TCP stack plays the TCP sessions of the recordings, and compares the replies of the target\n"
		"with the recorded ones.",
	.after =
		"TIME of --max-gap and --max-late: 500ns, 20us, 1.5ms, 2s. TIME of --start-at: 2026-11-21T04:25:16Z (always UTC) or\n"
		"@SECONDS since 1970.\n"
		"\n"
		"Keys in the terminal: space pauses and resumes, + and - change the speed, [ and ] or the arrows seek by 10 s, q ends.",
	.words = TL_CHOICES_FILE,
	TL_OPTIONS(options),
};

int tl_replay_parse_ns(const char *text, uint64_t *out_ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"ns", 1}, {"us", TL_NS_PER_US}, {"ms", TL_NS_PER_MS}, {"s", TL_NS_PER_S}};
	size_t digits = strspn(text, "0123456789"), number = digits + strspn(text + digits, "0123456789.");
	char whole[32], part[32];
	uint64_t part_ns; // of a second

	if (number >= sizeof(whole))
		return -EINVAL;
	snprintf(whole, sizeof(whole), "%.*s", (int)digits, text);
	snprintf(part, sizeof(part), "0%.*s", (int)(number - digits), text + digits);
	if (tl_parse_seconds(part, &part_ns) != 0)
		return -EINVAL;
	for (size_t i = 0; i < TL_ARRAY_LEN(units); i++) {
		if (strcmp(text + number, units[i].name) != 0)
			continue;
		if (tl_parse_u64(whole, 0, DURATION_NS_MAX / units[i].ns, out_ns) != 0)
			return -EINVAL;
		*out_ns = *out_ns * units[i].ns + part_ns * units[i].ns / TL_NS_PER_S;
		return 0;
	}
	return -EINVAL;
}

// ---- options

// Note an option that sets the pacing; given again it replaces its value.
static void set_pace(struct tl_replay_args *a, int id)
{
	a->paces_differ |= a->pace_option != 0 && a->pace_option != id;
	a->pace_option = id;
}

static const char *set_rate(struct tl_replay_args *a, const char *value)
{
	struct tl_replay_pacing ignored = {0};

	set_pace(a, 'r');
	a->rate = value; // parsed again once the line rate is known
	return tl_replay_parse_rate(value, TL_NS_PER_S, &ignored) == 0
		       ? NULL
		       : "no rate such as 1000pps, 2.5Mpps, 100Mbps or 40%";
}

static const char *set_burst(struct tl_replay_args *a, const char *value)
{
	const char *colon = strchr(value, ':');
	char number[24];

	set_pace(a, 'b');
	a->pacing.pace = TL_REPLAY_BURSTS;
	if (colon != NULL && (size_t)(colon - value) < sizeof(number)) {
		memcpy(number, value, (size_t)(colon - value));
		number[colon - value] = '\0';
		if (tl_parse_u64(number, 1, UINT32_MAX, &a->pacing.burst_pkts) == 0 &&
			tl_replay_parse_ns(colon + 1, &a->pacing.burst_gap_ns) == 0)
			return NULL;
	}
	return "no burst such as 32:1ms";
}

static const char *set_start(struct tl_replay_args *a, const char *value)
{
	if (*value == '-' || tl_parse_time(value, a->now_ns, &a->start_ns) != 0)
		return "no time such as 2026-11-21T04:25:16Z or @1795235116";
	return a->start_ns > a->now_ns ? NULL : "--start-at is past";
}

static const char *set_mtu_action(struct tl_replay_args *a, const char *value)
{
	static const char *const names[] = {
		[TL_REPLAY_MTU_DROP] = "drop", [TL_REPLAY_MTU_CUT] = "cut", [TL_REPLAY_MTU_FRAGMENT] = "fragment"};

	for (size_t i = 0; i < TL_ARRAY_LEN(names); i++) {
		if (strcmp(value, names[i]) != 0)
			continue;
		a->mtu_action = (enum tl_replay_mtu)i;
		return NULL;
	}
	return "--mtu-action takes drop, cut or fragment";
}

static const char *set_number(const char *value, uint64_t min, uint64_t max, int *out, const char *wrong)
{
	uint64_t number;

	if (tl_parse_u64(value, min, max, &number) != 0)
		return wrong;
	*out = (int)number;
	return NULL;
}

// Set an edit. Return NULL, or an error text.
static const char *set_edit(struct tl_replay_args *a, int id, const char *value)
{
	static const char no_mac[] = "no MAC address such as 02:00:00:00:00:01";
	struct tl_edit *e = &a->edit;

	switch (id) {
	case 'P':
		return tl_edit_add_map(e, value, &a->wrong) == 0 ? NULL : a->wrong.text;
	case 'p':
		return tl_edit_add_ports(e, value, &a->wrong) == 0 ? NULL : a->wrong.text;
	case '+':
		return tl_edit_add_step(e, value, &a->wrong) == 0 ? NULL : a->wrong.text;
	case 'v':
		return tl_edit_set_vlan(e, value, &a->wrong) == 0 ? NULL : a->wrong.text;
	case 'A':
		e->set_src_mac = true;
		return tl_parse_mac(value, e->src_mac) == 0 ? NULL : no_mac;
	case 'D':
		e->set_dst_mac = true;
		return tl_parse_mac(value, e->dst_mac) == 0 ? NULL : no_mac;
	case 'T':
		return set_number(value, 1, 255, &e->ttl, "--ttl takes 1 to 255");
	default:
		return set_number(value, 0, 63, &e->dscp, "--dscp takes 0 to 63");
	}
}

// Return NULL, or an error text.
static const char *set(void *ctx, int id, const char *value)
{
	static const char no_duration[] = "no time of at most 100 years such as 500ns, 20us, 1.5ms or 2s";
	struct tl_replay_args *a = ctx;

	switch (id) {
	case 'i':
		a->devices[0] = value;
		return NULL;
	case 'I':
		a->devices[1] = value;
		return NULL;
	case 'x':
		a->split_text = value;
		return tl_replay_split_parse(value, &a->split, &a->wrong) == 0 ? NULL : a->wrong.text;
	case 's':
		set_pace(a, id);
		return tl_replay_parse_speed(value, &a->pacing.speed) == 0 ? NULL : "--speed takes 0.01 to 100";
	case 'r':
		return set_rate(a, value);
	case 'l':
		return tl_parse_u64(value, 1, UINT32_MAX, &a->loops) == 0 ? NULL : "--loops takes a number from 1";
	case 'g':
		return tl_replay_parse_ns(value, &a->pacing.max_gap_ns) == 0 ? NULL : no_duration;
	case 'S':
		return set_start(a, value);
	case 'M':
		return tl_replay_parse_ns(value, &a->max_late_ns) == 0 ? NULL : no_duration;
	case 'm':
		a->has_mtu = true;
		return tl_parse_u64(value, 576, 9600, &a->mtu) == 0 ? NULL : "--mtu takes 576 to 9600";
	case 'c':
		return tl_parse_u64(value, 0, 1023, &a->lcore) == 0 ? NULL : "--lcore takes a CPU from 0 to 1023";
	case 'a':
		return set_mtu_action(a, value);
	case 't':
		a->take = true;
		return NULL;
	case 'j':
		a->json = true;
		return NULL;
	case 'C':
		a->control = value;
		return NULL;
	case 'G':
		a->merge = true;
		return NULL;
	case 'L':
	case 'o':
		set_pace(a, id);
		a->one_by_one = id == 'o';
		a->pacing.pace = TL_REPLAY_LINE;
		return NULL;
	case 'b':
		return set_burst(a, value);
	default:
		return set_edit(a, id, value);
	}
}

// Split the words into file names and the filter. Return NULL, or an error text.
static const char *set_words(struct tl_replay_args *a, int n, char **words)
{
	size_t used = 0;

	a->words = words;
	while ((int)a->n_words < n && tl_replay_playlist_is_word(words[a->n_words]))
		a->n_words++;
	for (int i = (int)a->n_words; i < n && used < sizeof(a->filter); i++)
		used += (size_t)snprintf(
			a->filter + used, sizeof(a->filter) - used, "%s%s", used != 0 ? " " : "", words[i]);
	return used >= sizeof(a->filter) ? "the filter is too long" : NULL;
}

int tl_replay_explain_filter(const char *filter, int rc, struct tl_err *err)
{
	static const char *const marks[] = {"/", ".pcap", ".cap", ".zst"};
	size_t word = strcspn(filter, " ");

	for (size_t i = 0; rc != 0 && i < TL_ARRAY_LEN(marks); i++) {
		const char *mark = strstr(filter, marks[i]);
		if (mark != NULL && mark < filter + word)
			return tl_fail_at(err, rc, "%.*s: no such file, so the filter begins there", (int)word, filter);
	}
	return rc;
}

// Return the option that has this name, with _ for -; NULL: there is none.
static const struct tl_option *find_key(const char *key)
{
	char name[32];

	snprintf(name, sizeof(name), "%s", key);
	for (char *p = name; *p != '\0'; p++)
		*p = *p == '_' ? '-' : *p;
	for (size_t i = 0; i < TL_ARRAY_LEN(options); i++)
		if (options[i].name != NULL && strcmp(options[i].name, name) == 0)
			return &options[i];
	return NULL;
}

const char *tl_replay_set_key(struct tl_replay_args *args, const char *key, const char *value)
{
	const struct tl_option *option = find_key(key);

	if (option == NULL || (option->value != NULL) != (value != NULL))
		return "no such option of `tapline replay`";
	return option->into != NULL ? tl_options_store(option->into, value, args) : set(args, option->id, value);
}

// Check --on-underrun. Return NULL, or an error text.
static const char *check_underrun(const struct tl_replay_args *a)
{
	if (a->underrun_text == NULL || strcmp(a->underrun_text, "keep") == 0)
		return NULL;
	if (strcmp(a->underrun_text, "shift") != 0)
		return "--on-underrun takes keep or shift";
	return a->pacing.pace == TL_REPLAY_LINE
		       ? "--on-underrun shift needs due times: frames that are sent at once have none"
		       : NULL;
}

bool tl_replay_shifts(const struct tl_replay_args *args)
{
	return args->underrun_text != NULL && strcmp(args->underrun_text, "shift") == 0;
}

const char *tl_replay_check(const struct tl_replay_args *a)
{
	bool line = a->pacing.pace == TL_REPLAY_LINE;

	if (a->n_words == 0)
		return "which recordings? name files that exist";
	if (a->devices[0] == NULL)
		return "where to? give -i PORT";
	if ((a->devices[1] == NULL) != (a->split_text == NULL))
		return "-I PORT and --split RULE go together: the rule chooses the port of a frame";
	if (a->paces_differ)
		return "--speed, --rate, --burst, --line-rate and --one-by-one exclude each other";
	if ((a->rate != NULL || a->pacing.pace != TL_REPLAY_RECORDED) && a->pacing.max_gap_ns != UINT64_MAX)
		return "--max-gap is of recorded times: use it with these, or with --speed";
	if (line && a->max_late_ns != UINT64_MAX)
		return "--max-late needs due times: frames that are sent at once have none";
	if (a->wire_stamps && (line || a->shape != NULL))
		return "--wire-stamps are of frames that leave at due times: not with --line-rate, --one-by-one and --shape";
	if (a->shape != NULL && a->devices[1] != NULL)
		return "--shape is for one port: leave out -I and --split";
	if (a->edit.n_steps != 0 && a->loops == 1)
		return "--per-loop needs --loops: the first loop is sent without increments";
	return check_underrun(a);
}

void tl_replay_args_init(struct tl_replay_args *args)
{
	struct timespec now;

	*args = (struct tl_replay_args){.loops = 1,
		.max_late_ns = UINT64_MAX,
		.mtu = MTU_DEFAULT,
		.lcore = TL_REPLAY_ANY_LCORE,
		.pacing = {.pace = TL_REPLAY_RECORDED, .speed = TL_REPLAY_MILLION, .max_gap_ns = UINT64_MAX}};
	clock_gettime(CLOCK_REALTIME, &now);
	args->now_ns = (uint64_t)now.tv_sec * TL_NS_PER_S + (uint64_t)now.tv_nsec;
	tl_edit_init(&args->edit);
}

int tl_cmd_replay(int argc, char **argv)
{
	struct tl_replay_args a;

	tl_replay_args_init(&a);
	int status = tl_set_options(&tl_replay_command, argc, argv, set, &a);
	if (status >= 0)
		return status;
	const char *wrong = set_words(&a, argc - optind, argv + optind);
	if (wrong == NULL)
		wrong = tl_replay_check(&a);
	if (wrong == NULL)
		wrong = tl_replay_check_timing(&a);
	if (wrong == NULL)
		wrong = tl_sessions_check(&a);
	if (wrong != NULL)
		return tl_misuse(&tl_replay_command, wrong, NULL);
	return a.sessions.target != NULL ? tl_sessions_main(&a) : tl_replay_run(&a);
}
