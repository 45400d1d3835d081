// SPDX-License-Identifier: BSD-3-Clause
// Run the chosen rungs, both protocols and each size, in the order of the ladder.

#include "bench_echo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_log.h>

#include <tl_port.h>

#include "echo_priv.h"

#define REFUSED_NO_NIC                                                                                                 \
	"no NIC is given: bind one (tapline bind), name its port with -i, and a port wired to it, for the client, with --peer"

static const struct tl_bench_echo_rung others[] = {
	{"testpmd", NULL, "DPDK's own forwarder",
		.never =
			"it returns whole frames (icmpecho, macswap, 5tswap) and has no TCP, so no connection to return "
			"bytes through"},
	{"tapline", "epoll",
		"its own stack on AF_PACKET: receives from a ring without system calls, one to send; polls during gaps of traffic, sleeps when it stops",
		.device = TL_BENCH_APP_IF, .idle = "auto"},
	{"tapline-poll", "epoll-busy", "the same, without sleep", .device = TL_BENCH_APP_IF, .idle = "poll"},
	{"tapline-xdp", "tapline", "AF_XDP instead of AF_PACKET: no skb for received frames",
		.device = "xdp:" TL_BENCH_APP_IF, .idle = "auto"},
	{"tapline-xdp-poll", "tapline-poll", "AF_XDP, without sleep", .device = "xdp:" TL_BENCH_APP_IF, .idle = "poll"},
	{"tapline-nic", NULL,
		"the NIC's driver in user space, without sleep: no kernel on this side. The client is Tapline's, on another port: not comparable with the rows above",
		.idle = "poll", .nic = true},
};

// Fill in all rungs. Return their number.
static unsigned all_rungs(struct tl_bench_echo_rung out[TL_BENCH_ECHO_RUNGS_MAX])
{
	unsigned n;
	const struct tl_relay *relays = tl_relays(&n);

	n = (unsigned)tl_min_u64(n, TL_BENCH_ECHO_RUNGS_MAX - TL_ARRAY_LEN(others));
	for (unsigned i = 0; i < n; i++)
		out[i] = (struct tl_bench_echo_rung){
			.name = relays[i].name, .than = relays[i].than, .why = relays[i].why, .relay = &relays[i]};
	memcpy(out + n, others, sizeof(others));
	return n + (unsigned)TL_ARRAY_LEN(others);
}

bool tl_bench_echo_known(const char *names)
{
	struct tl_bench_echo_rung rungs[TL_BENCH_ECHO_RUNGS_MAX];
	const char *known[TL_BENCH_ECHO_RUNGS_MAX];
	unsigned n = all_rungs(rungs);

	for (unsigned i = 0; i < n; i++)
		known[i] = rungs[i].name;
	return tl_bench_known(names, known, n);
}

const char *tl_bench_echo_protocol_name(enum tl_bench_echo_protocol protocol)
{
	return protocol == TL_BENCH_ECHO_UDP_TCP ? "udp-tcp" : "tcp-tcp";
}

double tl_bench_echo_bulk_pps(const struct tl_bench_echo_row *row)
{
	if (row->bulk.elapsed_ns == 0)
		return 0;
	return (double)row->bulk.received * (double)TL_NS_PER_S / (double)row->bulk.elapsed_ns;
}

// Run the client once against the rung. A relay serves one connection, and the appliance would take seconds to
// connect to the next client: both restart. Accepting one takes it no time.
static int run_once(struct echo_rig *rig, struct tl_bench_echo_row *row, bool bulk, struct tl_err *err)
{
	int rc = echo_rung_start(rig, row, err);

	if (rc == 0)
		rc = echo_client(rig, row, bulk, bulk ? &row->bulk : &row->paced, err);
	if (rc != 0 || row->rung->relay != NULL || row->protocol == TL_BENCH_ECHO_UDP_TCP)
		echo_rung_stop(rig, row->rung);
	return rc;
}

static int measure(struct echo_rig *rig, struct tl_bench_echo_row *row)
{
	struct tl_err err = {.text = ""};
	int rc = 0;

	tl_info("%s, %s, %u bytes", row->rung->name, tl_bench_echo_protocol_name(row->protocol), row->size_bytes);
	const char *why = row->rung->nic && rig->cfg->port == NULL ? REFUSED_NO_NIC : row->rung->never;
	if (why != NULL) {
		snprintf(row->refused, sizeof(row->refused), "%s", why);
		return 0;
	}
	if (row->size_bytes <= TL_BENCH_ECHO_DATAGRAM)
		rc = run_once(rig, row, false, &err);
	if (rc == 0)
		rc = run_once(rig, row, true, &err);
	row->hugepages = rig->hugepages;
	if (rc != 0 && rc != -EINTR)
		snprintf(row->refused, sizeof(row->refused), "%s", err.text);
	return rc == -EINTR ? rc : 0;
}

static int run_rung(struct echo_rig *rig, const struct tl_bench_echo_rung *rung, struct tl_bench_echo_result *result)
{
	int rc = 0;

	for (unsigned p = 0; p < TL_BENCH_ECHO_PROTOCOLS && rc == 0; p++) {
		for (unsigned i = 0; i < rig->cfg->n_sizes && rc == 0; i++) {
			uint32_t size = rig->cfg->sizes[i];
			struct tl_bench_echo_row row = {
				.rung = rung, .protocol = p, .size_bytes = size, .message_bytes = size};
			if (p == TL_BENCH_ECHO_UDP_TCP)
				row.message_bytes = (uint32_t)tl_min_u64(size, TL_BENCH_ECHO_DATAGRAM);
			rc = measure(rig, &row);
			if (rc == 0)
				result->rows[result->n_rows++] = row;
		}
		if (rig->process.pid != 0)
			echo_rung_stop(rig, rung);
	}
	return rc;
}

// A kernel interface has rungs already, on the private pair.
static int check_ports(const struct tl_bench_echo_cfg *cfg, struct tl_err *err)
{
	struct tl_port_spec spec;

	int rc = cfg->port != NULL ? tl_port_spec_parse(cfg->port, &spec, err) : 0;
	if (rc == 0 && cfg->port != NULL && !tl_port_is_drivers(&spec))
		return tl_fail(err, -EINVAL,
			"--interface %s: give a PCI address or vdev:DEVARGS; the rungs of the kernel run on a private pair",
			cfg->port);
	return rc == 0 && cfg->peer != NULL ? tl_port_spec_parse(cfg->peer, &spec, err) : rc;
}

int tl_bench_echo(const struct tl_bench_echo_cfg *cfg, struct tl_bench_echo_result *result, struct tl_err *err)
{
	struct echo_rig rig = {.cfg = cfg};
	unsigned n = all_rungs(result->rungs);

	if (check_ports(cfg, err) != 0)
		return -EINVAL;

	result->rows = calloc((size_t)n * TL_BENCH_ECHO_PROTOCOLS * cfg->n_sizes, sizeof(result->rows[0]));
	if (result->rows == NULL || sched_getaffinity(0, sizeof(rig.cpus), &rig.cpus) != 0)
		return tl_fail(err, -ENOMEM, "not enough memory");
	result->seconds = cfg->seconds;
	result->port = cfg->port;
	result->peer = cfg->peer;
	result->cpus = (uint32_t)CPU_COUNT(&rig.cpus);
	int rc = tl_bench_rig_begin(&rig.rig, cfg->stop, err);
	for (unsigned i = 0; i < n && rc == 0; i++)
		if (tl_bench_lists(cfg->rungs, result->rungs[i].name))
			rc = run_rung(&rig, &result->rungs[i], result);
	tl_bench_rig_end(&rig.rig);
	result->interrupted = rc == -EINTR;
	return rc == -EINTR ? 0 : rc;
}

void tl_bench_echo_free(struct tl_bench_echo_result *result)
{
	free(result->rows);
	result->rows = NULL;
}
