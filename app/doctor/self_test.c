// SPDX-License-Identifier: BSD-3-Clause
// Self-test of a NIC: set-up, progress, results.

#include "self_test.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <tl_eal.h>
#include <tl_err.h>
#include <tl_json.h>
#include <tl_log.h>
#include <tl_selftest.h>

#include "app.h"
#include "hugepages.h"
#include "plan.h"
#include "results.h"
#include "start.h"
#include "stop.h"

#define MEMORY_MB 512
#define FORMAT 1 // version of the report
#define LINK_WAIT_NS (10 * TL_NS_PER_S)
#define SILENCE_NS (2 * TL_NS_PER_S)
#define RATE_NS (300 * TL_NS_PER_MS)

struct session {
	const struct tl_self_test *wanted;
	struct tl_port_cfg cfg[TL_SELFTEST_PORTS];
	struct tl_eal *eal;
	struct tl_clock *clock;
	struct tl_port *ports[TL_SELFTEST_PORTS];
	bool huge;
	struct tl_selftest_result result;
	uint64_t begin_ns;
};

// ---- set-up

static int plan_port(struct session *s, unsigned i, struct tl_err *err)
{
	static const char *const names[] = {"first", "second"};
	struct tl_port_cfg *cfg = &s->cfg[i];

	*cfg = (struct tl_port_cfg){.name = names[i],
		.rx_queues = TL_SELFTEST_RX_QUEUES,
		.fewer_queues = true,
		.loopback = s->wanted->loopback,
		.tx_queues = 1,
		.mtu = 1500,
		.promisc = true,
		.ptp = true,
		.rx_only = true,
		.timestamps = TL_TS_AUTO,
		.socket_id = SOCKET_ID_ANY};
	int rc = tl_port_spec_parse(s->wanted->devices[i], &cfg->spec, err);
	if (rc == 0 && !tl_port_traits(&cfg->spec)->sends)
		rc = tl_fail(err, -EINVAL, "--self-test %s: cannot send to a file", s->wanted->devices[i]);
	if (rc == 0 && tl_port_traits(&cfg->spec)->interface)
		cfg->rx_queues = 1; // the kernel's spreading is not a NIC's
	return rc == 0 ? tl_port_check(cfg, err) : rc;
}

static int start_eal(struct session *s, struct tl_err *err)
{
	const char *pci[TL_SELFTEST_PORTS];
	unsigned n_pci = 0;

	for (unsigned i = 0; i < s->wanted->n; i++)
		if (tl_port_traits(&s->cfg[i].spec)->nic)
			pci[n_pci++] = s->cfg[i].spec.text;
	s->huge = tl_hugepages_suffice(MEMORY_MB);
	const struct tl_eal_cfg cfg = {
		.huge = s->huge, .memory_mb = MEMORY_MB, .main_lcore = tl_plan_first_cpu(), .pci = pci, .n_pci = n_pci};
	return tl_start_dpdk(&cfg, true, &s->eal, &s->clock, err);
}

static int open_ports(struct session *s, struct tl_err *err)
{
	int rc = 0;

	for (unsigned i = 0; i < s->wanted->n && rc == 0; i++)
		rc = plan_port(s, i, err);
	if (rc == 0)
		rc = start_eal(s, err);
	for (unsigned i = 0; i < s->wanted->n && rc == 0; i++) {
		s->cfg[i].clock = s->clock;
		rc = tl_port_open(&s->cfg[i], &s->ports[i], err);
	}
	for (unsigned i = 0; i < s->wanted->n && rc == 0 && !tl_stop_requested(); i++)
		rc = tl_port_start(s->ports[i], err);
	for (unsigned i = 0; i < s->wanted->n && rc == 0; i++)
		tl_port_begin_account(s->ports[i]);
	return rc;
}

static void close_ports(struct session *s)
{
	for (unsigned i = s->wanted->n; i-- > 0;) {
		if (s->ports[i] != NULL && tl_port_torn_out(s->ports[i]))
			tl_eal_abandon(s->eal);
		tl_port_close(s->ports[i]);
	}
	tl_clock_destroy(s->clock);
	tl_eal_fini(s->eal);
}

// ---- results

static void show_progress(void *ctx, const struct tl_selftest_check *check)
{
	(void)ctx;
	tl_info("port %u to port %u: checking %s", check->from, check->to, check->id);
}

static json_t *to_json(const struct session *s)
{
	uint64_t ns = tl_clock_mono_ns(s->clock, rte_rdtsc()) - s->begin_ns;
	const unsigned *counts = s->result.counts;
	json_t *ports = json_array();
	struct tl_tree tree;
	char time_text[32];
	time_t now = time(NULL);
	struct tm utc;

	if (tl_tree_open("/", &tree) != 0)
		return NULL;
	for (unsigned i = 0; i < s->wanted->n; i++)
		json_array_append_new(ports, tl_self_test_port(&tree, s->ports[i]));
	strftime(time_text, sizeof(time_text), "%FT%TZ", gmtime_r(&now, &utc));
	json_t *json = json_pack("{s:i, s:s, s:s, s:f, s:b, s:o, s:o, s:o, s:I, s:i, s:i, s:i}", "self_test", FORMAT,
		"tapline", TL_VERSION, "ended", time_text, "seconds", (double)ns / 1e9, "loopback", s->wanted->loopback,
		"host", tl_self_test_host(&tree, s->huge), "ports", ports, "checks",
		tl_selftest_checks_json(&s->result), "foreign_pkts", (json_int_t)s->result.foreign_pkts, "pass",
		(int)counts[TL_SELFTEST_PASS], "fail", (int)counts[TL_SELFTEST_FAIL], "not_available",
		(int)counts[TL_SELFTEST_NOT_AVAILABLE]);
	tl_tree_close(&tree);
	return json;
}

static void print_table(const struct session *s)
{
	const unsigned *counts = s->result.counts;

	for (unsigned i = 0; i < s->wanted->n; i++)
		printf("port %u  %s\n", i, s->wanted->devices[i]);
	for (unsigned i = 0; i < s->result.n; i++) {
		const struct tl_selftest_check *check = &s->result.checks[i];
		if (i == 0 || check->from != check[-1].from)
			printf("\nfrom port %u to port %u\n", check->from, check->to);
		printf("  %-14s %-11s %s\n", tl_selftest_verdict_name(check->verdict), check->id, check->text);
	}
	printf("\n%u pass, %u fail, %u not available\n", counts[TL_SELFTEST_PASS], counts[TL_SELFTEST_FAIL],
		counts[TL_SELFTEST_NOT_AVAILABLE]);
}

// Save the report; remove the file if it cannot be written completely.
static int save(const char *path, json_t *json)
{
	FILE *file = fopen(path, "we");

	if (file == NULL) {
		tl_error("--report %s: %s", path, strerror(errno));
		json_decref(json);
		return -errno;
	}
	int rc = tl_results_json(json, file);
	if (fclose(file) != 0 && rc == 0) {
		rc = -errno;
		tl_error("--report %s: %s", path, strerror(errno));
	}
	if (rc != 0)
		(void)unlink(path);
	return rc;
}

static int show(const struct session *s)
{
	int rc = 0;

	if (s->wanted->report != NULL)
		rc = save(s->wanted->report, to_json(s));
	if (rc == 0 && s->wanted->json)
		return tl_results_json(to_json(s), stdout);
	if (rc == 0) {
		print_table(s);
		rc = tl_results_flush(stdout);
	}
	return rc;
}

// ---- the complete self-test

static int run(struct session *s, struct tl_err *err)
{
	struct tl_selftest_cfg cfg = {.ports = {s->ports[0], s->ports[1]},
		.n_ports = s->wanted->n,
		.clock = s->clock,
		.link_wait_ns = LINK_WAIT_NS,
		.silence_ns = SILENCE_NS,
		.rate_ns = RATE_NS,
		.stop = tl_stop_on_signals(),
		.progress = show_progress};

	if (getrandom(&cfg.run, sizeof(cfg.run), 0) != sizeof(cfg.run))
		cfg.run = (uint32_t)getpid();
	s->begin_ns = tl_clock_mono_ns(s->clock, rte_rdtsc());
	return tl_selftest_run(&cfg, &s->result, err);
}

static int check_report(const char *path, struct tl_err *err)
{
	char copy[PATH_MAX];

	if (path == NULL)
		return 0;
	snprintf(copy, sizeof(copy), "%s", path);
	if (access(dirname(copy), W_OK) != 0)
		return tl_fail(err, -EINVAL, "--report %s: %s", path, strerror(errno));
	return 0;
}

static int status_of(int rc)
{
	return rc == -ENOMEM || rc == -EINTR ? TL_EXIT_FAILED : TL_EXIT_USAGE;
}

int tl_self_test(const struct tl_self_test *wanted)
{
	struct session *s = calloc(1, sizeof(*s));
	struct tl_err err;
	int status = TL_EXIT_FAILED;

	if (s == NULL) {
		tl_error("not enough memory");
		return TL_EXIT_FAILED;
	}
	s->wanted = wanted;
	tl_stop_on_signals();
	int rc = check_report(wanted->report, &err);
	if (rc == 0)
		rc = open_ports(s, &err);
	if (rc == 0)
		rc = run(s, &err);
	if (rc != 0) {
		tl_error("self-test: %s", err.text);
		status = status_of(rc);
	} else if (show(s) == 0 && s->result.counts[TL_SELFTEST_FAIL] == 0) {
		status = TL_EXIT_OK;
	}
	tl_selftest_fini(&s->result);
	close_ports(s);
	free(s);
	return status;
}
