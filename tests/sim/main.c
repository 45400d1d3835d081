// SPDX-License-Identifier: BSD-3-Clause
// Network simulator: run seeds; for each failed one print the command that runs it alone.

#include <getopt.h>

#include <rte_mbuf.h>

#define TL_TEST_EAL_MB "768"
#include "tl_test_eal.h"

#include "sim.h"

#define POOL "sim"
#define POOL_MBUFS 16383
#define MTU_MAX 9000
#define SHOWN_MAX 5 // failures printed

static const char *const WORLDS[] = {[SIM_PAIR] = "pair", [SIM_REPAIR] = "repair", [SIM_PEER] = "peer"};
static const char *const WITHOUT[] = {
	"", [SIM_WITHOUT_RTO] = "rto", [SIM_WITHOUT_FAST] = "fast", [SIM_WITHOUT_PROBE] = "probe"};

struct call {
	int world, without;
	uint64_t first, last;
	bool trace;
};

static void usage(FILE *to)
{
	fprintf(to, "usage: tcp_sim [options] pair|repair|peer\n"
		    "  pair    two stacks over a wire with every fault\n"
		    "  repair  two stacks, losses that must be repaired without a timeout\n"
		    "  peer    a stack and a scripted peer that misbehaves\n"
		    "  --seeds N              seeds 1 to N, 1000 if not said\n"
		    "  --seed N               only this one\n"
		    "  --trace                a line per segment\n"
		    "  --without rto|fast|probe  the stack without it: some seeds must fail\n");
}

static int find(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(names[i], name) == 0)
			return (int)i;
	}
	usage(stderr);
	exit(2);
}

static uint64_t number(const char *text)
{
	char *rest;
	uint64_t n = strtoull(text, &rest, 10);

	if (*rest == '\0' && n > 0)
		return n;
	usage(stderr);
	exit(2);
}

static void read_call(struct call *call, int argc, char **argv)
{
	static const struct option options[] = {{"seeds", required_argument, NULL, 'n'},
		{"seed", required_argument, NULL, 's'}, {"trace", no_argument, NULL, 't'},
		{"without", required_argument, NULL, 'w'}, {"help", no_argument, NULL, 'h'}, {0}};
	int option;

	*call = (struct call){.first = 1, .last = 1000};
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'n') {
			call->last = number(optarg);
		} else if (option == 's') {
			call->first = number(optarg);
			call->last = call->first;
		} else if (option == 't') {
			call->trace = true;
		} else if (option == 'w') {
			call->without = find(WITHOUT, TL_ARRAY_LEN(WITHOUT), optarg);
		} else {
			usage(option == 'h' ? stdout : stderr);
			exit(option == 'h' ? 0 : 2);
		}
	}
	call->world = find(WORLDS, TL_ARRAY_LEN(WORLDS), optind == argc - 1 ? argv[optind] : "");
}

static void start(struct sim_run *run, const struct call *call)
{
	tl_test_eal_start();
	run->without = (enum sim_without)call->without;
	run->trace = call->trace;
	run->text = sim_text_create();
	run->wire = aligned_alloc(TL_CACHE_LINE, sizeof(*run->wire));
	run->pool = rte_pktmbuf_pool_create(
		POOL, POOL_MBUFS, 0, 0, RTE_PKTMBUF_HEADROOM + TL_ETHER_LEN + MTU_MAX, SOCKET_ID_ANY);
	if (run->text == NULL || run->wire == NULL || run->pool == NULL) {
		fprintf(stderr, "no memory\n");
		exit(1);
	}
}

static uint64_t run_seeds(struct sim_run *run, const struct call *call)
{
	struct sim_scenario sc;
	uint64_t failed = 0;

	for (uint64_t seed = call->first; seed <= call->last; seed++) {
		sim_draw(&sc, (enum sim_world)call->world, seed);
		run->quiet = failed >= SHOWN_MAX || (call->without != SIM_WITH_ALL && !call->trace);
		if (call->trace)
			sim_describe(&sc);
		if (sim_one(run, &sc))
			continue;
		failed++;
		if (!run->quiet)
			printf("#   again: tcp_sim %s --seed %lu --trace\n", WORLDS[call->world], (unsigned long)seed);
	}
	return failed;
}

static void print_totals(const struct sim_totals *totals)
{
	const struct {
		const char *name;
		uint64_t n;
	} all[] = {{"segments", totals->segments}, {"lost", totals->lost}, {"doubled", totals->doubled},
		{"delayed", totals->delayed}, {"overtaken", totals->overtaken}, {"damaged", totals->damaged},
		{"retransmits", totals->retransmits}, {"timeouts", totals->timeouts},
		{"tail probes", totals->tail_probes}, {"window probes", totals->window_probes},
		{"out of order", totals->out_of_order}, {"challenge ACKs", totals->challenges}};

	printf("#");
	for (size_t i = 0; i < TL_ARRAY_LEN(all); i++)
		printf("%s %lu %s", i == 0 ? "" : ",", (unsigned long)all[i].n, all[i].name);
	printf("\n");
}

int main(int argc, char **argv)
{
	struct sim_run run = {0};
	struct call call;

	read_call(&call, argc, argv);
	start(&run, &call);
	uint64_t failed = run_seeds(&run, &call), all = call.last - call.first + 1;
	bool ok = call.without == SIM_WITH_ALL ? failed == 0 : failed > 0;
	printf("%s - sim: %s", ok ? "ok" : "not ok", WORLDS[call.world]);
	if (call.without != SIM_WITH_ALL)
		printf(" without %s: its lack is seen, by %lu of %lu seeds\n", WITHOUT[call.without],
			(unsigned long)failed, (unsigned long)all);
	else
		printf(": %lu of %lu seeds end as they should\n", (unsigned long)(all - failed), (unsigned long)all);
	print_totals(&run.totals);
	free(run.wire);
	free(run.text);
	return !ok;
}
