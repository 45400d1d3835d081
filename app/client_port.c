// SPDX-License-Identifier: BSD-3-Clause
// Start DPDK and a port for the client, and report the port's counters at the end.

#include "client_port.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <rte_random.h>

#include <tl_dclient.h>
#include <tl_eal.h>
#include <tl_log.h>
#include <tl_metrics.h>

#include "hugepages.h"
#include "plan.h"
#include "start.h"

#define MEMORY_MB 256
#define NIC_LINK_NS (10 * TL_NS_PER_S)
#define LINK_NS TL_NS_PER_S // a virtual device has link up after the other side's reply

struct tl_app_client_port {
	struct tl_eal *eal;
	struct tl_clock *clock;
	struct tl_port *port;
	struct tl_dclient *host;
	struct tl_metrics metrics;
	struct tl_snapshot snapshot; // last snapshot
};

// ---- the port's stamps

static enum tl_ts_source wanted_source(enum tl_client_timestamps timestamps)
{
	static const enum tl_ts_source sources[] = {[TL_CLIENT_STAMPS_AUTO] = TL_TS_AUTO,
		[TL_CLIENT_STAMPS_USER] = TL_TS_AUTO,
		[TL_CLIENT_STAMPS_KERNEL] = TL_TS_KERNEL,
		[TL_CLIENT_STAMPS_NIC] = TL_TS_NIC_RX,
		[TL_CLIENT_STAMPS_TSC] = TL_TS_TSC};

	return sources[timestamps];
}

// Determine the available stamps of the port. Departures are stamped by the TSC, or by the clock of the arrival stamps:
// only arrival stamps converted to the same clock can be paired with them.
static enum tl_client_timestamps timestamps_of(const struct tl_port *port)
{
	struct tl_port_stamps stamps;

	tl_port_stamps(port, &stamps);
	if (stamps.source == TL_TS_KERNEL)
		return TL_CLIENT_STAMPS_KERNEL;
	if (stamps.source == TL_TS_TSC && stamps.has_bound)
		return TL_CLIENT_STAMPS_TSC;
	if (stamps.source == TL_TS_NIC_RX && stamps.has_bound)
		return TL_CLIENT_STAMPS_NIC;
	tl_warn("no wire_rtt: arrivals are stamped by %s, whose clock cannot be compared with that of departures",
		tl_ts_source_name(stamps.source));
	return TL_CLIENT_STAMPS_USER;
}

// Report the available stamps to a user who requested NIC stamps.
static void print_departures(
	const struct tl_port *port, const struct tl_client_port *wanted, const struct tl_client_cfg *cfg)
{
	const char *device = tl_port_config(port)->spec.text;

	if (cfg->mode == TL_CLIENT_TCP)
		tl_info("departures are stamped by tsc: TCP segments have no send time");
	else if (cfg->burst > 1)
		tl_info("departures are stamped by tsc: the messages of a burst cannot leave at one time");
	else if (wanted->lead_us == 0)
		tl_info("departures are stamped by tsc: --lead is 0");
	else if (!tl_port_sends_at(port))
		tl_info("departures are stamped by tsc: %s has no scheduled sending (a ConnectX-6 Dx has with PORT,tx_pp=500)",
			device);
}

// ---- opening and closing

static int start_eal(struct tl_app_client_port *p, const struct tl_client_port *wanted, const struct tl_port_spec *spec,
	struct tl_err *err)
{
	bool any = wanted->lcore == TL_CLIENT_ANY_LCORE;
	const char *pci = spec->text;
	const struct tl_eal_cfg cfg = {.huge = tl_hugepages_suffice(MEMORY_MB),
		.memory_mb = MEMORY_MB,
		.main_lcore = any ? tl_plan_first_cpu() : (uint32_t)wanted->lcore,
		.pci = &pci,
		.n_pci = tl_port_traits(spec)->nic};
	cpu_set_t cpu;

	int rc = tl_start_dpdk(&cfg, true, &p->eal, &p->clock, err);
	if (rc != 0)
		return rc;
	CPU_ZERO(&cpu);
	CPU_SET(cfg.main_lcore, &cpu);
	if (!any && sched_setaffinity(0, sizeof(cpu), &cpu) != 0)
		return tl_fail(err, -errno, "--lcore %u: not in the CPU affinity mask of this process", cfg.main_lcore);
	return 0;
}

static int start_port(struct tl_app_client_port *p, struct tl_port_cfg *cfg, struct tl_err *err)
{
	cfg->clock = p->clock;
	int rc = tl_port_open(cfg, &p->port, err);
	if (rc == 0)
		rc = tl_port_start(p->port, err);
	if (rc != 0)
		return rc;
	uint64_t wait_ns = tl_port_traits(&cfg->spec)->nic ? NIC_LINK_NS : LINK_NS;
	if (!tl_port_await_link(p->port, wait_ns))
		return tl_fail(
			err, -ENETDOWN, "--port %s has no link: check the cable and the other side", cfg->spec.text);
	return 0;
}

// Read the send granularity from mlx5's devargs, where the NIC requires it for scheduled sending (ConnectX-6 Dx).
static uint64_t send_grain_ns(const struct tl_port_spec *spec)
{
	const char *grain = strstr(spec->text, ",tx_pp=");

	return grain != NULL ? (uint64_t)llabs(strtoll(grain + strlen(",tx_pp="), NULL, 10)) : 0; // negative: in a test
}

static int make_host(struct tl_app_client_port *p, const struct tl_client_port *wanted, struct tl_err *err)
{
	const struct tl_dclient_cfg cfg = {.port = p->port,
		.clock = p->clock,
		.ip_be = wanted->ip_be,
		.mask_be = wanted->mask_be,
		.gateway_be = wanted->gateway_be,
		.vlan = (uint16_t)wanted->vlan,
		.lead_ns = wanted->lead_us * TL_NS_PER_US,
		.send_grain_ns = send_grain_ns(&tl_port_config(p->port)->spec),
		.seed = rte_rand()};

	p->metrics = (struct tl_metrics){
		.start_ns = tl_clock_now_ns(p->clock), .clock = p->clock, .n_ports = 1, .ports = {p->port}};
	return tl_dclient_create(&cfg, &p->host, err);
}

static int start(
	struct tl_app_client_port *p, const struct tl_client_port *wanted, struct tl_port_cfg *port, struct tl_err *err)
{
	int rc = start_eal(p, wanted, &port->spec, err);
	if (rc == 0)
		rc = start_port(p, port, err);
	return rc == 0 ? make_host(p, wanted, err) : rc;
}

int tl_app_client_port_open(const struct tl_client_port *wanted, struct tl_client_cfg *cfg,
	struct tl_app_client_port **out, struct tl_err *err)
{
	struct tl_port_cfg port = {.name = "client",
		.rx_queues = 1,
		.tx_queues = 1,
		.mtu = 1500,
		.take = wanted->take,
		.rx_only = true,
		.timestamps = wanted_source(cfg->timestamps),
		.send_at = wanted->lead_us != 0 && cfg->mode != TL_CLIENT_TCP,
		.tx_checksums = true,
		.socket_id = SOCKET_ID_ANY};

	int rc = tl_port_spec_parse(wanted->device, &port.spec, err);
	if (rc == 0 && !tl_port_traits(&port.spec)->sends)
		rc = tl_fail(err, -EINVAL, "--port %s: cannot send to a file", wanted->device);
	if (rc == 0)
		rc = tl_port_check_stamps(&port, err);
	if (rc == 0)
		rc = tl_port_check(&port, err);
	if (rc != 0)
		return rc;
	struct tl_app_client_port *p = calloc(1, sizeof(*p));
	if (p == NULL)
		return tl_fail(err, -ENOMEM, "not enough memory");
	rc = start(p, wanted, &port, err);
	if (rc != 0) {
		tl_app_client_port_close(p);
		return rc;
	}
	if (cfg->timestamps == TL_CLIENT_STAMPS_NIC)
		print_departures(p->port, wanted, cfg);
	if (cfg->timestamps != TL_CLIENT_STAMPS_USER)
		cfg->timestamps = timestamps_of(p->port);
	cfg->transport = &tl_dclient_ops;
	cfg->transport_ctx = p->host;
	*out = p;
	return 0;
}

void tl_app_client_port_close(struct tl_app_client_port *p)
{
	if (p == NULL)
		return;
	tl_dclient_destroy(p->host);
	if (p->port != NULL && tl_port_torn_out(p->port))
		tl_eal_abandon(p->eal);
	tl_port_close(p->port);
	tl_clock_destroy(p->clock);
	tl_eal_fini(p->eal);
	free(p);
}

// ---- the account

bool tl_app_client_port_end(struct tl_app_client_port *p)
{
	tl_dclient_end(p->host);
	tl_metrics_snapshot(&p->metrics, true, &p->snapshot);
	p->snapshot.n_net[0] = tl_net_counters(tl_dclient_net(p->host), p->snapshot.net[0], TL_REPORT_COUNTERS);
	return tl_report_ledger_ok(&p->snapshot);
}

int tl_app_client_port_json(const struct tl_app_client_port *p, json_t *results)
{
	static const char *const keys[] = {"port", "net", "ledger_ok"};
	json_t *account = tl_report_json(&p->snapshot);
	int ret = account != NULL ? 0 : -1;

	for (size_t i = 0; i < TL_ARRAY_LEN(keys) && ret == 0; i++)
		ret = json_object_set(results, keys[i], json_object_get(account, keys[i]));
	json_decref(account);
	return ret;
}

void tl_app_client_port_print(const struct tl_app_client_port *p, FILE *out)
{
	fputc('\n', out);
	tl_report_ledger_text(out, &p->snapshot);
}
