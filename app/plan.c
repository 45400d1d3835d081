// SPDX-License-Identifier: BSD-3-Clause
// Check a configuration against this host.

#include "plan.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>

#include <tl_capture.h>
#include <tl_err.h>
#include <tl_filter.h>
#include <tl_log.h>
#include <tl_writer.h>

#include "doctor_facts.h"
#include "hugepages.h"
#include "police.h"
#include "replays.h"
#include "shaping.h"

static int plan_ports(const struct tl_config *config, struct tl_plan *plan, struct tl_err *err)
{
	for (uint32_t i = 0; i < config->n_ports; i++) {
		const struct tl_config_port *port = &config->ports[i];
		struct tl_port_spec *spec = &plan->specs[i];
		int rc = tl_port_spec_parse(port->device, spec, err);

		if (rc != 0)
			return tl_fail_at(err, rc, "%s: $.ports[%u].device", config->file, i);
		if (tl_port_traits(spec)->nic)
			plan->pci[plan->n_pci++] = spec->text;
		if (port->ptp && !tl_port_is_drivers(spec))
			return tl_fail(err, -ENOTSUP,
				"%s: $.ports[%u].%s: a NIC that DPDK drives stamps replies and PTP frames, %s does not: "
				"give a PCI address as \"device\", or remove the key",
				config->file, i,
				port->reply_stamps_per_s != 0 ? "reply_stamps_per_s" : "ptp_probes_per_s",
				port->device);
	}
	return 0;
}

static bool same_group(const struct tl_config_echo *a, const struct tl_config_echo *b)
{
	return a->port == b->port && a->mode == TL_ECHO_KIND_MCAST_TO_TCP && b->mode == a->mode &&
	       tl_config_share_a_group(a, b);
}

// Return the next queue in turn whose lcore may own echoes; one does.
static uint32_t next_queue(const struct tl_config_port *port, uint32_t *turn)
{
	uint32_t queue;

	do
		queue = (*turn)++ % port->rx_queues;
	while (!tl_config_answers(port, queue));
	return queue;
}

// Return the queue of an echo. One lcore owns a group: use the configured queue, else that of another echo of the
// group, else the next one in turn.
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
	return queue != TL_CONFIG_QUEUE_AUTO ? queue : next_queue(&config->ports[echo->port], turn);
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

static void plan_replays(const struct tl_config *config, struct tl_plan *plan)
{
	for (uint32_t p = 0; p < config->n_ports; p++)
		plan->has_replay[p] = tl_config_replay_from(config, p) != NULL;
}

// List the rules of a port: those of the configuration; of an isolated port also derived ones. Return their number, or
// -errno with a message.
static int list_rules(const struct tl_config *config, struct tl_plan *plan, uint32_t port,
	const struct tl_rules_family *family, struct tl_err *err)
{
	const struct tl_config_port *cfg = &config->ports[port];
	char iface[TL_PORT_IFACE_CHARS];

	plan->flow_rules[port] = cfg->flow_rules;
	if (!cfg->isolate)
		return (int)cfg->n_flow_rules;
	plan->flow_rules[port] = plan->isolated[port];
	if (family == NULL || !family->isolates || !tl_port_kernel_iface(&plan->specs[port], iface))
		return tl_fail(err, -ENOTSUP,
			"%s:%u: $.ports[%u].isolate: the driver of \"%s\" does not leave frames to the kernel: net_mlx5 "
			"does beside its interface, and net_tap with remote=INTERFACE",
			config->file, cfg->isolate_line, port, cfg->device);
	int n = tl_rules_isolate(config, port, plan->echo_queues, plan->isolated[port]);
	return n >= 0 ? n
		      : tl_fail(err, n, "%s:%u: $.ports[%u].isolate: more than %d rules are needed", config->file,
				cfg->isolate_line, port, TL_RULES_MAX);
}

// Plan the flow rules of each port, by the driver that its device will probably have.
static int plan_rules(const struct tl_config *config, struct tl_plan *plan, struct tl_err *err)
{
	for (uint32_t i = 0; i < config->n_ports; i++) {
		const struct tl_rules_family *family = NULL;
		uint32_t at = 0;
		uint16_t device;
		char driver[64];
		if (tl_port_expected_driver(&plan->specs[i], driver, sizeof(driver), &device))
			family = tl_rules_family(driver, device);
		int n = list_rules(config, plan, i, family, err);
		if (n < 0)
			return n;
		int rc = tl_rules_plan(family, plan->flow_rules[i], (uint32_t)n, &plan->rules[i], &at, err);
		if (rc != 0)
			return tl_fail_at(err, rc, "%s:%u: $.ports[%u].flow_rules[%u]", config->file,
				plan->flow_rules[i][at].line, i, at);
	}
	return 0;
}

// Check that each kind of port supports the configured stamp source; device limits show later.
static int plan_timestamps(const struct tl_config *config, const struct tl_plan *plan, struct tl_err *err)
{
	for (uint32_t i = 0; i < config->n_ports; i++) {
		int rc = tl_port_check_stamps(&(struct tl_port_cfg){.name = config->ports[i].name,
						      .spec = plan->specs[i],
						      .tx_queues = tl_plan_tx_queues(config, plan, i),
						      .timestamps = config->ports[i].timestamps},
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

struct tl_facts *tl_plan_facts(const struct tl_config *config)
{
	struct tl_facts *facts = calloc(1, sizeof(*facts));
	struct tl_tree tree;

	if (facts == NULL || tl_tree_open("", &tree) != 0)
		return facts;
	tl_gather_nodes(&tree, facts);
	tl_gather_cpus(&tree, facts);
	tl_gather_cores(&tree, facts);
	tl_gather_places(&tree, config, facts);
	tl_tree_close(&tree);
	return facts;
}

static int plan_places(const struct tl_config *config, struct tl_plan *plan, struct tl_err *err)
{
	struct tl_facts *facts = tl_plan_facts(config);

	if (facts == NULL)
		return tl_fail(err, -ENOMEM, "not enough memory");
	tl_place_choose(config, facts, &plan->place);
	tl_memory_spread(config, facts, &plan->place, plan->node_mb);
	free(facts);
	return 0;
}

static void warn_of_places(const struct tl_config *config, const struct tl_plan *plan)
{
	for (uint32_t p = 0; p < config->n_ports; p++) {
		const struct tl_config_port *port = &config->ports[p];
		if (plan->place.disturbed[p] != 0)
			tl_warn("$.ports[%u].lcores: \"auto\" found no other CPU for %u of %u queues of port %s than one that "
				"takes interrupts of a NIC: move them (/proc/irq/N/smp_affinity_list), or isolate CPUs",
				p, plan->place.disturbed[p], port->rx_queues, port->name);
		if (plan->place.shared[p] != 0)
			tl_warn("$.ports[%u].lcores: no CPU is left for %u of %u queues of port %s: they share CPU %u with the "
				"control thread and sleep between bursts%s, and will lose frames under load; use fewer "
				"\"rx_queues\", or let this process use more CPUs",
				p, plan->place.shared[p], port->rx_queues, port->name, config->eal.main_lcore,
				port->idle == TL_IDLE_POLL ? ", in spite of \"idle\": \"poll\"" : "");
	}
	for (uint32_t i = 0; i < config->n_replays; i++)
		if (plan->place.cpus[plan->place.n_lcores + i] == config->eal.main_lcore)
			tl_warn("$.replay[%u]: no CPU is left for the replay %s: it shares CPU %u with the control thread, and its "
				"frames will be late; let this process use more CPUs",
				i, config->replays[i].name, config->eal.main_lcore);
}

int tl_plan_make(const struct tl_config *config, struct tl_plan *out, struct tl_err *err)
{
	*out = (struct tl_plan){0};
	int rc = plan_ports(config, out, err);

	plan_echoes(config, out);
	plan_replays(config, out);
	if (rc == 0)
		rc = plan_rules(config, out, err);
	if (rc == 0)
		rc = check_filters(config, err);
	if (rc == 0)
		rc = check_triggers(config, err);
	if (rc == 0)
		rc = tl_police_check_all(config, err);
	if (rc == 0)
		rc = tl_shaping_check(config, err);
	if (rc == 0)
		rc = tl_replays_check(config, err);
	if (rc == 0)
		rc = check_paths(config, err);
	if (rc == 0)
		rc = plan_timestamps(config, out, err);
	if (rc == 0)
		rc = plan_places(config, out, err);
	for (uint32_t p = 0; p < config->n_ports && rc == 0; p++)
		out->idle[p] =
			tl_place_idle(config, &out->place, p, !tl_port_is_drivers(&out->specs[p]), out->has_echo[p]);
	if (rc == 0)
		warn_of_places(config, out);
	return rc;
}

const char *tl_plan_role(const struct tl_config *config, const struct tl_plan *plan, uint32_t port, uint32_t queue)
{
	bool answers = plan->has_echo[port] && tl_config_answers(&config->ports[port], queue), records = false;

	for (uint32_t i = 0; i < config->n_captures; i++)
		records |= config->captures[i].port == port && tl_config_records(&config->ports[port], queue);
	if (answers && records)
		return "both";
	return answers ? "echo" : records ? "record" : "none";
}

uint16_t tl_plan_tx_queues(const struct tl_config *config, const struct tl_plan *plan, uint32_t port)
{
	return plan->has_echo[port] ? (uint16_t)config->ports[port].rx_queues : plan->has_replay[port];
}

bool tl_plan_hands_over_inner(const struct tl_config *config, uint32_t port)
{
	bool has_capture = false;
	uint32_t recorded = 0;

	for (uint32_t i = 0; i < config->n_captures; i++)
		has_capture |= config->captures[i].port == port;
	for (uint32_t q = 0; q < config->ports[port].rx_queues; q++)
		recorded += tl_config_records(&config->ports[port], q);
	return config->ports[port].rss == TL_CONFIG_RSS_INNER && has_capture && recorded > 1;
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
