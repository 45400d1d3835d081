// SPDX-License-Identifier: BSD-3-Clause
// tapline extract: copy selected frames out of recordings.

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include <tl_err.h>
#include <tl_extract.h>
#include <tl_json.h>
#include <tl_log.h>
#include <tl_options.h>
#include <tl_units.h>

#include "app.h"
#include "extract_share.h"
#include "results.h"

#define DEFAULT_RATE "200M"
#define PROGRESS_NS (2 * TL_NS_PER_S)
#define IOPRIO_WHO_PROCESS 1 // linux/ioprio.h is not available everywhere
#define IOPRIO_IDLE (3 << 13)

struct options {
	struct tl_extract_cfg cfg;
	char filter[4096];
	bool reindex, json;
	uint64_t now_ns;
	struct tl_extract_share share;
	uint64_t progress_ns; // time of the next message
};

static const struct tl_option options[] = {
	{"write", 'w', "OUT", "output file; -: stdout, with the results on stderr", .choices = TL_CHOICES_FILE,
		TL_INTO(TEXT, struct options, cfg.out)},
	{"from", 0, "T", "not before T", 'f'},
	{"to", 0, "T", "before T", 't'},
	{"host", 0, "A", "from or to this IPv4 or IPv6 address; repeated: or this one", 'H'},
	{"port", 0, "P", "from or to this TCP, UDP or SCTP port; repeated: or this one", 'p'},
	{"inner", 0, NULL, "apply hosts, ports and FILTER to the innermost packet, behind VLAN tags and tunnels",
		TL_INTO(FLAG, struct options, cfg.inner)},
	{"decap", 0, NULL, "write the innermost packet: an Ethernet frame without VLAN tags, or an IP packet",
		TL_INTO(FLAG, struct options, cfg.decap)},
	{"rate", 0, "SIZE", "limit of bytes read per second (default " DEFAULT_RATE "); 0: no limit",
		TL_INTO(SIZE, struct options, cfg.rate_bytes, "--rate takes a size")},
	{"share", 0, "NAME", "read at the rate that the recordings of an appliance leave in this \"share\" of a disk",
		TL_INTO(TEXT, struct options, share.name)},
	{"socket", 0, "PATH", "control socket of that appliance (default " TL_DEFAULT_SOCKET ")",
		.choices = TL_CHOICES_FILE, TL_INTO(TEXT, struct options, share.socket)},
	{"no-index", 0, NULL, "read whole files", TL_INTO(FLAG, struct options, cfg.no_index)},
	{"reindex", 0, NULL, "recreate the index of each recording, and extract nothing",
		TL_INTO(FLAG, struct options, reindex)},
	{"json", 0, NULL, "print the results as one JSON object", TL_INTO(FLAG, struct options, json)},
	TL_OPTION_HELP,
};

const struct tl_command tl_extract_command = {
	.name = "extract",
	.summary = "copy packets out of recordings",
	.usage = "extract DIR|FILE... [options] [FILTER] -w OUT\n"
		 "extract DIR|FILE... --reindex",
	.about =
		"Copies the packets that match all conditions from recordings, or other pcapng and pcap files, to OUT, pcapng.\n"
		"FILTER, in tcpdump's syntax, begins with the first word that names no file. An index (FILE.tlx) restricts reading\n"
		"to the parts of a recording with possible matches.",
	.after =
		"T: 2026-11-21T04:25:16.123456789Z (always UTC; the end may be omitted), @SECONDS since 1970, or -60s: 60 s ago.",
	.words = TL_CHOICES_FILE,
	TL_OPTIONS(options),
};

// ---- options

static const char *add_host(struct tl_extract_cfg *cfg, const char *value)
{
	if (cfg->n_hosts == TL_EXTRACT_HOSTS_MAX)
		return "--host can be given 64 times";
	return tl_index_parse_addr(value, &cfg->hosts[cfg->n_hosts++]) == 0 ? NULL
									    : "--host takes an IPv4 or IPv6 address";
}

static const char *add_port(struct tl_extract_cfg *cfg, const char *value)
{
	uint64_t port;

	if (cfg->n_ports == TL_EXTRACT_PORTS_MAX)
		return "--port can be given 64 times";
	if (tl_parse_u64(value, 0, UINT16_MAX, &port) != 0)
		return "--port takes a number from 0 to 65535";
	cfg->ports[cfg->n_ports++] = (uint16_t)port;
	return NULL;
}

// Return NULL, or an error text.
static const char *set(void *ctx, int id, const char *value)
{
	static const char no_time[] = "no time such as 2026-11-21T04:25:16Z, @1795235116 or -60s";
	struct options *o = ctx;

	if (id == 'H')
		return add_host(&o->cfg, value);
	if (id == 'p')
		return add_port(&o->cfg, value);
	return tl_parse_time(value, o->now_ns, id == 'f' ? &o->cfg.from_ns : &o->cfg.to_ns) == 0 ? NULL : no_time;
}

static const char *make_inner(struct options *o)
{
	char text[sizeof(o->filter)];

	if ((size_t)snprintf(text, sizeof(text), "inner(%s)", o->filter) >= sizeof(text))
		return "the filter is too long";
	memcpy(o->filter, text, sizeof(text));
	return NULL;
}

// Split the words into file names and the filter. Return NULL, or an error text.
static const char *set_words(struct options *o, int n, char **words)
{
	struct stat status;
	size_t used = 0;

	o->cfg.paths = (const char *const *)words;
	while ((int)o->cfg.n_paths < n && stat(words[o->cfg.n_paths], &status) == 0)
		o->cfg.n_paths++;
	for (int i = (int)o->cfg.n_paths; i < n && used < sizeof(o->filter); i++)
		used += (size_t)snprintf(
			o->filter + used, sizeof(o->filter) - used, "%s%s", used != 0 ? " " : "", words[i]);
	if (used >= sizeof(o->filter))
		return "the filter is too long";
	if (used != 0)
		o->cfg.filter = o->filter;
	return used != 0 && o->cfg.inner ? make_inner(o) : NULL;
}

// Check combinations of options. Return NULL, or an error text.
static const char *check(const struct options *o)
{
	if (o->cfg.n_paths == 0)
		return "which recordings? name files or directories that exist";
	if (!o->reindex && o->cfg.out == NULL)
		return "where to? give -w OUT";
	if (o->reindex && (o->cfg.out != NULL || o->cfg.filter != NULL || o->cfg.decap))
		return "--reindex extracts nothing: it takes files and directories that exist, --inner and --rate";
	if (!o->reindex && o->cfg.inner && o->cfg.n_hosts == 0 && o->cfg.n_ports == 0 && o->cfg.filter == NULL)
		return "--inner: of what? give --host, --port or a filter";
	if (o->cfg.from_ns >= o->cfg.to_ns)
		return "--from is not before --to";
	return NULL;
}

// Return -1 to continue, else an exit status.
static int parse(int argc, char **argv, struct options *o)
{
	int status = tl_set_options(&tl_extract_command, argc, argv, set, o);

	if (status >= 0)
		return status;
	const char *wrong = set_words(o, argc - optind, argv + optind);
	if (wrong == NULL)
		wrong = check(o);
	return wrong != NULL ? tl_misuse(&tl_extract_command, wrong, NULL) : -1;
}

// ---- results

static void show_progress(void *ctx, const struct tl_extract_stats *stats)
{
	struct options *o = ctx;
	uint64_t now_ns = tl_mono_ns();
	char read[32], total[32];

	if (o->share.name != NULL)
		tl_extract_share_pace(&o->share, stats->bytes_read);
	if (now_ns < o->progress_ns)
		return;
	o->progress_ns = now_ns + PROGRESS_NS;
	tl_info("read %s, so far of %s in %" PRIu64 " files, %" PRIu64 " packets match",
		tl_format_bytes(stats->bytes_read, read, sizeof(read)),
		tl_format_bytes(stats->bytes_total, total, sizeof(total)), stats->files, stats->records_matched);
}

static int print_json(FILE *out, const struct tl_extract_stats *stats)
{
	const struct tl_counter rows[] = {{"files", stats->files}, {"files_indexed", stats->files_indexed},
		{"files_unindexed", stats->files_unindexed}, {"files_gone", stats->files_gone},
		{"files_incomplete", stats->files_incomplete}, {"slabs_total", stats->slabs_total},
		{"slabs_read", stats->slabs_read}, {"slabs_damaged", stats->slabs_damaged},
		{"records_damaged", stats->records_damaged}, {"areas_damaged", stats->areas_damaged},
		{"bytes_damaged", stats->bytes_damaged}, {"bytes_total", stats->bytes_total},
		{"bytes_read", stats->bytes_read}, {"records_read", stats->records_read},
		{"records_matched", stats->records_matched}, {"records_peeled", stats->records_peeled},
		{"written_bytes", stats->written_bytes}};
	json_t *json = json_object();

	tl_json_put_counters(json, rows, TL_ARRAY_LEN(rows));
	return tl_results_json(json, out);
}

static int print_results(const struct options *o, const struct tl_extract_stats *stats)
{
	FILE *out = o->cfg.out != NULL && strcmp(o->cfg.out, "-") == 0 ? stderr : stdout;
	char read[32], total[32], written[32];

	if (!o->reindex && stats->files_unindexed != 0)
		tl_info("recordings without a good index, read whole: %" PRIu64
			"; `tapline extract --reindex` makes one",
			stats->files_unindexed);
	if (o->json)
		return print_json(out, stats);
	tl_format_bytes(stats->bytes_read, read, sizeof(read));
	tl_format_bytes(stats->bytes_total, total, sizeof(total));
	tl_format_bytes(stats->written_bytes, written, sizeof(written));
	if (o->reindex)
		fprintf(out, "%" PRIu64 " of %" PRIu64 " files indexed: %" PRIu64 " slabs, %" PRIu64 " packets, %s\n",
			stats->files_indexed, stats->files, stats->slabs_read, stats->records_matched, written);
	else
		fprintf(out, "%" PRIu64 " packets, %s, from %" PRIu64 " files; read %s of %s\n", stats->records_matched,
			written, stats->files, read, total);
	return tl_results_flush(out);
}

// Let the share limit the reads, if there is one.
static int join_share(struct options *o, struct tl_err *err)
{
	if (o->share.name == NULL)
		return 0;
	o->share.rate_bytes = o->cfg.rate_bytes;
	o->cfg.rate_bytes = 0;
	return tl_extract_share_join(&o->share, err);
}

// Lower the CPU and disk priority below a recording's.
static void give_way(void)
{
	(void)setpriority(PRIO_PROCESS, 0, 19);
	(void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_IDLE);
}

int tl_cmd_extract(int argc, char **argv)
{
	struct options o = {.cfg = {.to_ns = UINT64_MAX, .progress = show_progress},
		.share = {.socket = TL_DEFAULT_SOCKET},
		.progress_ns = tl_mono_ns() + PROGRESS_NS};
	struct tl_extract_stats stats;
	struct timespec now;
	struct tl_err err;

	clock_gettime(CLOCK_REALTIME, &now);
	o.now_ns = (uint64_t)now.tv_sec * TL_NS_PER_S + (uint64_t)now.tv_nsec;
	tl_parse_bytes(DEFAULT_RATE, &o.cfg.rate_bytes);
	o.cfg.ctx = &o;
	int status = parse(argc, argv, &o);
	if (status >= 0)
		return status;
	if (join_share(&o, &err) != 0) {
		tl_error("%s", err.text);
		return TL_EXIT_USAGE;
	}
	give_way();
	int rc = o.reindex ? tl_extract_reindex(&o.cfg, &stats, &err) : tl_extract_run(&o.cfg, &stats, &err);
	if (rc != 0)
		tl_error("%s", err.text);
	if (rc == -EINVAL && stats.files == 0)
		return TL_EXIT_USAGE;
	int printed = print_results(&o, &stats);
	return rc != 0 || printed != 0 ? TL_EXIT_FAILED : TL_EXIT_OK;
}
