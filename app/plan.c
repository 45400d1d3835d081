// SPDX-License-Identifier: BSD-3-Clause
// Checks a configuration against this host and hands out CPUs.

#include "plan.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>

#include <tl_capture.h>
#include <tl_err.h>
#include <tl_filter.h>
#include <tl_log.h>
#include <tl_writer.h>

static int plan_ports(const struct tl_config *config, struct tl_plan *plan, struct tl_err *err)
{
	for (uint32_t i = 0; i < config->n_ports; i++) {
		const struct tl_config_port *port = &config->ports[i];
		struct tl_port_spec *spec = &plan->specs[i];
		int rc = tl_port_spec_parse(port->device, spec, err);

		if (rc != 0)
			return tl_fail_at(err, rc, "%s: $.ports[%u].device", config->file, i);
		if (spec->kind == TL_PORT_PCI)
			plan->pci[plan->n_pci++] = spec->text;
		bool software = spec->kind == TL_PORT_KERNEL || spec->kind == TL_PORT_XDP || spec->kind == TL_PORT_FILE;
		if (port->ptp && software)
			return tl_fail(err, -ENOTSUP,
				"%s: $.ports[%u].%s: a NIC that DPDK drives stamps replies and PTP frames, %s does not: "
				"give a PCI address as \"device\", or remove the key",
				config->file, i,
				port->reply_stamps_per_s != 0 ? "reply_stamps_per_s" : "ptp_probes_per_s",
				port->device);
		plan->adaptive[i] = port->idle == TL_IDLE_ADAPTIVE || (port->idle == TL_IDLE_AUTO && software);
	}
	return 0;
}

static bool same_group(const struct tl_config_echo *a, const struct tl_config_echo *b)
{
	return a->port == b->port && a->mode == TL_ECHO_MCAST_TO_TCP && b->mode == a->mode &&
	       tl_config_share_a_group(a, b);
}

// One lcore owns a group: an echo goes where it is told, else where another of its group is, else where the turn is.
static uint32_t plan_queue(const struct tl_config *config, const struct tl_plan *plan, uint32_t index, uint32_t *turn)
{
	const struct tl_config_echo *echo = &config->echoes[index];
	uint32_t queue = echo->queue;

	for (uint32_t i = 0; i < config->n_echoes && queue == TL_CONFIG_QUEUE_AUTO; i++)
		if (same_group(echo, &config->echoes[i]))
			queue = config->echoes[i].queue;
	for (uint32_t i = 0; i < index && queue == TL_CONFIG_QUEUE_AUTO; i++)
		if (same_group(echo, &config->echoes[i]))
			queue = plan->echo_queues[i];
	return queue != TL_CONFIG_QUEUE_AUTO ? queue : (*turn)++ % config->ports[echo->port].rx_queues;
}

static void plan_echoes(const struct tl_config *config, struct tl_plan *plan)
{
	uint32_t turns[TL_CONFIG_PORTS_MAX] = {0};

	for (uint32_t i = 0; i < config->n_echoes; i++) {
		uint32_t port = config->echoes[i].port;
		plan->echo_queues[i] = (uint16_t)plan_queue(config, plan, i, &turns[port]);
		plan->has_echo[port] = true;
	}
}

// Whether each kind of port can have the source that is wanted; only the device knows more.
static int plan_timestamps(const struct tl_config *config, struct tl_plan *plan, struct tl_err *err)
{
	static const enum tl_ts_source sources[] = {[TL_CONFIG_TIMESTAMPS_AUTO] = TL_TS_AUTO,
		[TL_CONFIG_TIMESTAMPS_TSC] = TL_TS_TSC,
		[TL_CONFIG_TIMESTAMPS_NIC_RX] = TL_TS_NIC_RX,
		[TL_CONFIG_TIMESTAMPS_KERNEL] = TL_TS_KERNEL,
		[TL_CONFIG_TIMESTAMPS_FILE] = TL_TS_FILE};

	for (uint32_t i = 0; i < config->n_ports; i++) {
		plan->timestamps[i] = sources[config->ports[i].timestamps];
		int rc = tl_port_check_stamps(&(struct tl_port_cfg){.name = config->ports[i].name,
						      .spec = plan->specs[i],
						      .tx_queues = plan->has_echo[i] ? 1 : 0,
						      .timestamps = plan->timestamps[i]},
			err);
		if (rc != 0)
			return tl_fail_at(err, rc, "%s: $.ports[%u].timestamps", config->file, i);
	}
	return 0;
}

static int check_filters(const struct tl_config *config, struct tl_err *err)
{
	for (uint32_t i = 0; i < config->n_captures; i++) {
		if (config->captures[i].filter == NULL || config->captures[i].filter[0] == '\0')
			continue;
		int rc = tl_filter_check(config->captures[i].filter, err);
		if (rc != 0)
			return tl_fail_at(err, rc, "%s: $.capture[%u].filter", config->file, i);
	}
	return 0;
}

static int check_triggers(const struct tl_config *config, struct tl_err *err)
{
	for (uint32_t i = 0; i < config->n_captures; i++) {
		const struct tl_config_capture *capture = &config->captures[i];
		const char *filter = capture->trigger.filter;
		if (capture->mode != TL_CONFIG_MODE_TRIGGER)
			continue;
		int rc = filter != NULL && filter[0] != '\0' ? tl_filter_check(filter, err) : 0;
		if (rc != 0)
			return tl_fail_at(err, rc, "%s: $.capture[%u].trigger.filter", config->file, i);
		uint64_t most_seconds = tl_capture_hold_seconds(capture->buffer_bytes);
		if (capture->trigger.store == TL_CONFIG_STORE_MEMORY && capture->trigger.pre_seconds > most_seconds)
			return tl_fail(err, -EINVAL,
				"%s: $.capture[%u].trigger.pre_seconds: \"buffer_bytes\" of %" PRIu64 " hold %" PRIu64
				" s at most; give fewer seconds, or 1.4 MiB more for each",
				config->file, i, capture->buffer_bytes, most_seconds);
	}
	return 0;
}

static int check_paths(const struct tl_config *config, struct tl_err *err)
{
	for (uint32_t i = 0; i < config->n_captures; i++) {
		int rc = tl_writer_check_path(config->captures[i].path, err);
		if (rc != 0)
			return tl_fail_at(err, rc, "%s: $.capture[%u].path", config->file, i);
	}
	return 0;
}

static bool cpu_is_named(const struct tl_config *config, uint32_t cpu)
{
	for (uint32_t p = 0; p < config->n_ports; p++)
		for (uint32_t q = 0; q < config->ports[p].rx_queues; q++)
			if (config->ports[p].lcores[q] == cpu)
				return true;
	return false;
}

// The next CPU after *last that this process may use and nobody has named; the main lcore's when there is none.
static uint32_t next_cpu(const struct tl_config *config, const cpu_set_t *allowed, uint32_t *last)
{
	for (uint32_t cpu = *last + 1; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, allowed) || cpu == config->eal.main_lcore || cpu_is_named(config, cpu))
			continue;
		*last = cpu;
		return cpu;
	}
	*last = CPU_SETSIZE;
	return config->eal.main_lcore;
}

bool tl_plan_cpus(const struct tl_config *config, const cpu_set_t *allowed, struct tl_plan *plan)
{
	uint32_t last = UINT32_MAX; // + 1 is CPU 0
	bool shared = false;

	for (uint32_t p = 0; p < config->n_ports; p++) {
		plan->first[p] = plan->n_lcores;
		for (uint32_t q = 0; q < config->ports[p].rx_queues; q++) {
			uint32_t cpu = config->ports[p].lcores[q];
			if (cpu == TL_CONFIG_LCORE_AUTO)
				cpu = next_cpu(config, allowed, &last);
			if (cpu == config->eal.main_lcore) {
				shared = true;
				plan->adaptive[p] = true; // polling would starve the control thread
			}
			plan->cpus[plan->n_lcores++] = cpu;
		}
	}
	return shared;
}

static void plan_cpus(const struct tl_config *config, struct tl_plan *plan)
{
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		CPU_ZERO(&allowed);
	if (tl_plan_cpus(config, &allowed, plan))
		tl_warn("there are fewer CPUs than receive queues: some share CPU %u with the control thread, and will lose "
			"frames under load",
			config->eal.main_lcore);
}

int tl_plan_make(const struct tl_config *config, struct tl_plan *out, struct tl_err *err)
{
	*out = (struct tl_plan){0};
	int rc = plan_ports(config, out, err);
	if (rc == 0)
		rc = check_filters(config, err);
	if (rc == 0)
		rc = check_triggers(config, err);
	if (rc == 0)
		rc = check_paths(config, err);
	if (rc == 0) {
		plan_echoes(config, out);
		rc = plan_timestamps(config, out, err);
	}
	if (rc == 0)
		plan_cpus(config, out);
	return rc;
}

uint32_t tl_plan_first_cpu(void)
{
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return 0;
	for (uint32_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed))
			return cpu;
	return 0;
}
