// SPDX-License-Identifier: BSD-3-Clause
// Open the resources of a replay: files, DPDK, the port, the filter.

#include "replay_session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include <tl_ctl.h>
#include <tl_log.h>
#include <tl_place.h>
#include <tl_timesync.h>

#include "hugepages.h"
#include "manifest.h"
#include "plan.h"
#include "start.h"
#include "stop.h"

#define MIB (UINT64_C(1) << 20)
#define BASE_MB 320	       // 128 for EAL and drivers; frames ahead, their mbufs, and those held by the port
#define AHEAD_BYTES (64 * MIB) // size of the frames decoded ahead
#define AHEAD_PKTS_MIN 1024
#define AHEAD_PKTS_MAX 32768
#define LINK_NS (10 * TL_NS_PER_S)
#define LINK_SLICE_NS (100 * TL_NS_PER_MS) // between looks at the stop request
#define DRAIN_NS (60 * TL_NS_PER_S)	   // for frames in a class tree at the end

static int plan_port(struct tl_replay_session *s, struct tl_replay_port *port, struct tl_err *err)
{
	const struct tl_replay_args *args = s->args;
	struct tl_port_cfg *cfg = &port->cfg;

	*cfg = (struct tl_port_cfg){.name = port == s->ports ? "replay" : "replay2",
		.rx_queues = 1,
		.tx_queues = 1,
		.mtu = (uint16_t)args->mtu,
		.take = args->take,
		.rx_only = true,
		.timestamps = TL_TS_AUTO,
		.ptp = args->wire_stamps,
		.send_at = args->timing != TL_REPLAY_TIMING_TSC,
		.socket_id = SOCKET_ID_ANY};
	int rc = tl_port_spec_parse(port->device, &cfg->spec, err);
	if (rc != 0)
		return rc;
	bool interface = tl_port_traits(&cfg->spec)->interface;
	if (!tl_port_traits(&cfg->spec)->sends)
		return tl_fail(err, -EINVAL,
			"%s: cannot send to a file: vdev:net_pcap0,tx_pcap=FILE writes one (with the driver's times)",
			port->device);
	if (interface && args->has_mtu)
		return tl_fail(err, -EINVAL, "--mtu: an interface has its own: `ip link set %s mtu %" PRIu64 "`",
			cfg->spec.arg, args->mtu);
	if (interface)
		cfg->mtu = TL_ETHER_MIN_FRAME; // no larger MTU is needed
	return tl_port_check(cfg, err);
}

static int plan_ports(struct tl_replay_session *s, struct tl_err *err)
{
	int rc = 0;

	for (; rc == 0 && s->n_ports < TL_REPLAY_PORTS && s->args->devices[s->n_ports] != NULL; s->n_ports++) {
		s->ports[s->n_ports].device = s->results.ports[s->n_ports].device = s->args->devices[s->n_ports];
		rc = plan_port(s, &s->ports[s->n_ports], err);
	}
	s->results.n_ports = s->n_ports;
	if (rc == 0 && s->n_ports == 2 && strcmp(s->ports[0].cfg.spec.arg, s->ports[1].cfg.spec.arg) == 0)
		return tl_fail(err, -EINVAL, "-I %s: this is the port of -i: give another", s->ports[1].device);
	return rc;
}

// Choose the sending lcore's CPU, as `capture` does.
static int plan_lcore(struct tl_replay_session *s, struct tl_err *err)
{
	struct tl_config *config = calloc(1, sizeof(*config));
	struct tl_place place;

	if (config != NULL) {
		config->n_ports = 1;
		config->eal.main_lcore = tl_plan_first_cpu();
		config->ports[0].device = s->ports[0].cfg.spec.text;
		config->ports[0].rx_queues = 1;
		config->ports[0].lcores[0] = TL_CONFIG_LCORE_AUTO;
	}
	struct tl_facts *facts = config != NULL ? tl_plan_facts(config) : NULL;
	if (facts != NULL) {
		tl_place_choose(config, facts, &place);
		s->lcore = s->args->lcore != TL_REPLAY_ANY_LCORE ? (uint32_t)s->args->lcore : place.cpus[0];
	}
	int rc = facts != NULL ? 0 : tl_fail(err, -ENOMEM, "not enough memory");
	free(facts);
	free(config);
	return rc;
}

// Return the number of frames read ahead: no more than short files have, which start in half of the time then.
static uint32_t frames_ahead(uint32_t frame_limit, uint64_t most)
{
	uint32_t n = AHEAD_PKTS_MAX;

	while (n > AHEAD_PKTS_MIN && ((uint64_t)n * frame_limit > AHEAD_BYTES || n / 2 >= most))
		n /= 2;
	return n;
}

// Return the largest number of frames that files of this size can have, read once; UINT64_MAX: unknown.
static uint64_t most_pkts(const struct tl_replay_session *s)
{
	return s->files.packed == 0 && s->args->loops == 1 ? s->files.bytes / (TL_PCAP_RECORD_BYTES + TL_ETHER_LEN)
							   : UINT64_MAX;
}

static void plan_replay(struct tl_replay_session *s)
{
	const struct tl_replay_args *args = s->args;
	uint32_t frame_limit = 0;

	s->cfg = (struct tl_replay_cfg){.name = s->name,
		.paths = (const char *const *)s->files.paths,
		.n_paths = s->files.n,
		.bytes = s->files.packed == 0 ? s->files.bytes : 0,
		.first_ns = args->merge ? s->files.first_ns : NULL,
		.loops = args->loops,
		.pacing = args->pacing,
		.mtu_action = args->mtu_action,
		.gated = args->one_by_one,
		.underrun = tl_replay_shifts(args) ? TL_REPLAY_SHIFT : TL_REPLAY_KEEP,
		.n_outs = s->n_ports,
		.split = &args->split,
		.split_filter = s->split_filter,
		.filter = s->filter,
		.edit = &args->edit,
		.clock = s->clock,
		.socket_id = tl_port_config(s->ports[0].port)->socket_id,
		.late_ns = args->max_late_ns != UINT64_MAX ? args->max_late_ns : TL_REPLAY_LATE_NS,
		.drain_ns = DRAIN_NS};
	for (unsigned i = 0; i < s->n_ports; i++) {
		struct tl_replay_out *out = &s->cfg.outs[i];
		out->txq = tl_port_txq(s->ports[i].port, 0);
		out->frame_limit = tl_port_frame_limit(s->ports[i].port);
		out->held_pkts = tl_port_tx_descriptors(&s->ports[i].cfg);
		out->nic = s->by_nic ? &s->ports[i].nic : NULL;
		out->shape = s->ports[i].shape;
		out->shape_pkts = s->ports[i].shape_pkts;
		out->stamp = s->ports[i].sync != NULL ? tl_timesync_tx_stamp(s->ports[i].sync) : NULL;
		frame_limit = RTE_MAX(frame_limit, out->frame_limit);
	}
	s->cfg.ahead_pkts = frames_ahead(frame_limit, most_pkts(s));
}

int tl_replay_start_dpdk(const struct tl_eal_cfg *cfg, const struct tl_replay_playlist *files, struct tl_eal **eal,
	struct tl_clock **clock, struct tl_err *err)
{
	int rc = tl_start_dpdk(cfg, !files->once, eal, clock, err);

	if (rc != 0 && cfg->huge && files->once)
		tl_warn("no second start without hugepages: the list of files is from a pipe, which cannot be read again");
	return rc;
}

static int start_eal(struct tl_replay_session *s, struct tl_err *err)
{
	const char *pci[TL_REPLAY_PORTS];
	uint32_t memory_mb = BASE_MB + (uint32_t)(tl_replay_shape_bytes(s) / MIB);
	struct tl_eal_cfg cfg = {.main_lcore = tl_plan_first_cpu(), .lcores = &s->lcore, .n_lcores = 1, .pci = pci};

	for (unsigned i = 0; i < s->n_ports; i++) {
		const struct tl_port_cfg *port = &s->ports[i].cfg;
		memory_mb += (uint32_t)(tl_port_memory_bytes(port, true) / MIB);
		if (tl_port_traits(&port->spec)->nic)
			pci[cfg.n_pci++] = port->spec.text;
	}
	cfg.huge = tl_hugepages_suffice(memory_mb);
	cfg.memory_mb = memory_mb;
	int rc = tl_replay_start_dpdk(&cfg, &s->files, &s->eal, &s->clock, err);
	if (rc == 0 && cfg.main_lcore == s->lcore)
		tl_warn("CPU %u is the only one: the sending lcore and the reader take turns on it", s->lcore);
	return rc;
}

void tl_replay_note_port(struct tl_replay_port *port, struct tl_replay_port_results *results)
{
	struct tl_port_link link;

	tl_port_link(port->port, &link);
	port->link_known = link.known;
	results->speed_bps = tl_port_speed_bps(port->port);
	results->hw_known = tl_port_sent(port->port, &port->hw_before);
}

bool tl_replay_await_link(struct tl_port *port)
{
	for (uint64_t ns = 0; ns < LINK_NS && !tl_stop_requested(); ns += LINK_SLICE_NS)
		if (tl_port_await_link(port, LINK_SLICE_NS))
			return true;
	return tl_stop_requested();
}

static int start_port(struct tl_replay_session *s, struct tl_replay_port *p, struct tl_replay_port_results *results,
	struct tl_err *err)
{
	p->cfg.clock = s->clock;
	int rc = tl_port_open(&p->cfg, &p->port, err);
	if (rc == 0)
		rc = tl_port_start(p->port, err);
	if (rc != 0)
		return rc;
	if (!tl_replay_await_link(p->port))
		return tl_fail(err, -ENETDOWN, "%s has no link: check the cable and the other side", p->device);
	tl_replay_note_port(p, results);
	return 0;
}

static int start_ports(struct tl_replay_session *s, struct tl_err *err)
{
	int rc = 0;

	for (unsigned i = 0; i < s->n_ports && rc == 0; i++)
		rc = start_port(s, &s->ports[i], &s->results.ports[i], err);
	return rc;
}

int tl_replay_make_filters(struct tl_replay_session *s, struct tl_err *err)
{
	const struct tl_replay_args *args = s->args;
	int rc = args->filter[0] != '\0' ? tl_filter_create(args->filter, &s->filter, err) : 0;

	if (rc == 0 && args->split.filter != NULL)
		rc = tl_filter_create(args->split.filter, &s->split_filter, err);
	return rc;
}

int tl_replay_make(struct tl_replay_session *s, struct tl_err *err)
{
	plan_replay(s);
	s->results.pacing = &s->cfg.pacing;
	if (s->args->rate != NULL &&
		tl_replay_parse_rate(s->args->rate, s->results.ports[0].speed_bps, &s->cfg.pacing) == -ENODATA)
		return tl_fail(err, -EINVAL, "--rate %s: %s reports no line rate: give bps", s->args->rate,
			s->ports[0].device);
	return tl_replay_create(&s->cfg, &s->replay, err);
}

static int list_files(struct tl_replay_session *s, struct tl_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < s->args->n_words && rc == 0; i++)
		rc = tl_replay_playlist_add(&s->files, s->args->words[i], err);
	return rc == 0 ? tl_replay_playlist_finish(&s->files, s->args->merge, err) : rc;
}

int tl_replay_open(struct tl_replay_session *s, struct tl_err *err)
{
	s->manifest = tl_manifest_create(""); // before EAL narrows this process's affinity mask
	if (s->manifest == NULL)
		return tl_fail(err, -ENOMEM, "not enough memory");
	int rc = list_files(s, err);
	if (rc == 0)
		rc = tl_replay_load_shape(s, err);
	if (rc == 0 && s->args->control != NULL)
		rc = tl_ctl_check(s->args->control, err);
	if (rc == 0 && s->args->filter[0] != '\0')
		rc = tl_replay_explain_filter(s->args->filter, tl_filter_check(s->args->filter, err), err);
	if (rc == 0 && s->args->split.filter != NULL && (rc = tl_filter_check(s->args->split.filter, err)) != 0)
		tl_fail_at(err, rc, "--split filter");
	if (rc == 0)
		rc = plan_ports(s, err);
	if (rc == 0)
		rc = plan_lcore(s, err);
	if (rc == 0)
		rc = start_eal(s, err);
	if (rc == 0)
		rc = start_ports(s, err);
	if (rc == 0)
		rc = tl_replay_make_shape(s, err);
	if (rc == 0)
		rc = tl_replay_choose_timing(s, err);
	if (rc == 0)
		tl_replay_open_stamps(s);
	if (rc == 0)
		rc = tl_replay_make_filters(s, err);
	if (rc == 0)
		rc = tl_replay_make(s, err);
	return rc;
}

void tl_replay_close(struct tl_replay_session *s)
{
	json_decref(s->manifest);
	tl_replay_close_stamps(s);
	tl_replay_drop_shape(s);
	for (unsigned i = 0; i < s->n_ports; i++)
		if (s->ports[i].port != NULL && tl_port_torn_out(s->ports[i].port))
			tl_eal_abandon(s->eal);
	for (unsigned i = 0; i < s->n_ports; i++)
		tl_port_close(s->ports[i].port);
	tl_replay_destroy(s->replay); // after the ports have released its mbufs
	tl_filter_destroy(s->filter);
	tl_filter_destroy(s->split_filter);
	tl_clock_destroy(s->clock);
	tl_eal_fini(s->eal);
	tl_replay_playlist_free(&s->files);
}
