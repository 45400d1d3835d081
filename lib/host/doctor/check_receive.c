// SPDX-License-Identifier: BSD-3-Clause
// Checks of the kernel's receive path: interrupts of queues, RPS and XPS, rings, interrupt moderation
// (Documentation/networking/scaling.rst).

#include "doctor_priv.h"

#include <inttypes.h>

#define CPUS_TEXT 128
#define RX_USECS_MOST 10

// True if the kernel's driver receives: not where DPDK has the queues, through vfio or beside it. The finding states
// it.
static bool is_received_by_kernel(const struct tl_fact_port *port, struct tl_finding *f)
{
	if (!port->interface.known)
		return false;
	if (port->interface.text[0] != '\0' && !(port->pci && port->configured))
		return true;
	tl_found(f, TL_VERDICT_OK, "%s: DPDK has its queues", port->name);
	return false;
}

// Return the CPUs of the card's node; without nodes all.
static struct tl_fact_cpus cpus_of_node(const struct tl_facts *facts, const struct tl_fact_port *port)
{
	for (uint32_t i = 0; i < facts->n_nodes && port->node.known; i++)
		if ((int64_t)facts->nodes[i].id == port->node.value && facts->nodes[i].cpus.known)
			return tl_cpus_both(&facts->nodes[i].cpus, &facts->cpu.online);
	return facts->cpu.online;
}

// True for a CPU that polls: the main lcore sleeps, and may take interrupts.
static bool is_taken(const struct tl_facts *facts, uint32_t cpu)
{
	return tl_cpus_has(&facts->wanted.workers, cpu);
}

// Return the cores of CPUs that poll, whose siblings are left idle.
static struct tl_fact_cpus taken_cores(const struct tl_facts *facts)
{
	struct tl_fact_cpus taken = {0};

	for (uint32_t cpu = 0; cpu < TL_FACT_CPUS_MAX; cpu++)
		if (is_taken(facts, cpu))
			tl_cpus_add(&taken, facts->cpu.core_of[cpu]);
	return taken;
}

// Return a CPU of each core of the card's node that has no worker.
static struct tl_fact_cpus free_cores(const struct tl_facts *facts, const struct tl_fact_port *port)
{
	struct tl_fact_cpus cpus = cpus_of_node(facts, port), taken = taken_cores(facts), cores = {.known = cpus.known};

	for (uint32_t cpu = 0; cpu < TL_FACT_CPUS_MAX; cpu++) {
		uint32_t core = facts->cpu.core_of[cpu];
		if (tl_cpus_has(&cpus, cpu) && !tl_cpus_has(&taken, core) && !tl_cpus_has(&cores, core))
			tl_cpus_add(&cores, tl_cpus_has(&cpus, core) ? core : cpu);
	}
	return cores;
}

static uint32_t count_cpus(const struct tl_fact_cpus *cpus)
{
	uint32_t n = 0;

	for (uint32_t cpu = 0; cpu < TL_FACT_CPUS_MAX; cpu++)
		n += tl_cpus_has(cpus, cpu);
	return n;
}

struct placement {
	uint32_t n, unrouted, on_workers, elsewhere, crowded;
};

// Return the number of interrupts that could move from a free core with several to one without.
static uint32_t count_movable(
	const struct tl_facts *facts, const struct tl_fact_cpus *cores, const uint16_t on_core[TL_FACT_CPUS_MAX])
{
	uint32_t spare = 0, empty = 0;

	for (uint32_t cpu = 0; cpu < TL_FACT_CPUS_MAX; cpu++) {
		if (!tl_cpus_has(cores, cpu))
			continue;
		uint32_t n = on_core[facts->cpu.core_of[cpu]];
		spare += n > 1 ? n - 1 : 0;
		empty += n == 0;
	}
	return spare < empty ? spare : empty;
}

// Count the interrupts that are in a wrong place. A core is crowded that has more than its share of them, or several
// while a free one has none.
static struct placement place_of(const struct tl_facts *facts, const struct tl_fact_port *port)
{
	struct tl_fact_cpus node = cpus_of_node(facts, port), cores = free_cores(facts, port),
			    taken = taken_cores(facts);
	struct placement place = {.n = (uint32_t)port->queue_irqs.value};
	uint32_t n_cores = count_cpus(&cores), share = n_cores > 0 ? (place.n + n_cores - 1) / n_cores : place.n;
	uint16_t on_core[TL_FACT_CPUS_MAX] = {0};

	for (uint32_t i = 0; i < place.n; i++) {
		const struct tl_fact_num *cpu = &port->irqs[i].cpu;
		if (!cpu->known || cpu->value < 0 || cpu->value >= TL_FACT_CPUS_MAX) {
			place.unrouted++;
			continue;
		}
		place.on_workers += tl_cpus_has(&taken, facts->cpu.core_of[cpu->value]);
		place.elsewhere += !tl_cpus_has(&node, (uint32_t)cpu->value);
		place.crowded += ++on_core[facts->cpu.core_of[cpu->value]] > share;
	}
	uint32_t movable = place.unrouted == 0 ? count_movable(facts, &cores, on_core) : 0;
	place.crowded = place.crowded > movable ? place.crowded : movable;
	return place;
}

static bool is_misplaced(const struct placement *place)
{
	return place->on_workers + place->elsewhere + place->crowded > 0;
}

static void judge_irqs_of(const struct tl_facts *facts, const struct tl_fact_port *port, struct tl_finding *f)
{
	const char *name = port->interface.text;

	if (!is_received_by_kernel(port, f))
		return;
	if (!port->queue_irqs.known || port->queue_irqs.value == 0 || !facts->cpu.online.known) {
		tl_found(f, TL_VERDICT_UNKNOWN, "%s: no interrupt is known to be of a receive queue", name);
		return;
	}
	struct placement place = place_of(facts, port);
	if (is_misplaced(&place))
		tl_found(f, TL_VERDICT_WARN,
			"%s: of %u interrupts %u on cores of workers, %u not on the card's node, %u too many on their core",
			name, place.n, place.on_workers, place.elsewhere, place.crowded);
	else if (place.unrouted > 0)
		tl_found(f, TL_VERDICT_UNKNOWN, "%s: of %u interrupts %u go to several CPUs, or to unknown ones", name,
			place.n, place.unrouted);
	else
		tl_found(
			f, TL_VERDICT_OK, "%s: %u interrupts, spread over the cores of the card's node", name, place.n);
}

static uint32_t next_cpu(const struct tl_fact_cpus *cpus, uint32_t cpu)
{
	do
		cpu = (cpu + 1) % TL_FACT_CPUS_MAX;
	while (!tl_cpus_has(cpus, cpu));
	return cpu;
}

// Place the interrupts of each port with misplaced ones, one per core, and those of the next port on the next cores.
static void print_irq_steps(const struct tl_facts *facts, FILE *out)
{
	uint32_t cpu = TL_FACT_CPUS_MAX - 1;

	for (uint32_t p = 0; p < facts->n_ports; p++) {
		const struct tl_fact_port *port = &facts->ports[p];
		struct tl_fact_cpus cores = free_cores(facts, port);
		struct placement place = place_of(facts, port);
		if (!is_misplaced(&place) || !is_received_by_kernel(port, &(struct tl_finding){0}))
			continue;
		if (tl_cpus_is_empty(&cores))
			fprintf(out, "# %s: no core of its node is without a worker\n", port->interface.text);
		for (uint32_t i = 0; i < place.n && !tl_cpus_is_empty(&cores); i++) {
			cpu = next_cpu(&cores, cpu);
			fprintf(out, "set_to /proc/irq/%u/smp_affinity_list %u\n", port->irqs[i].number, cpu);
		}
	}
}

static void judge_rps_of(const struct tl_facts *facts, const struct tl_fact_port *port, struct tl_finding *f)
{
	struct tl_fact_cpus node = cpus_of_node(facts, port), away = tl_cpus_minus(&port->rps, &node), taken = {0};
	char text[CPUS_TEXT];

	if (!is_received_by_kernel(port, f))
		return;
	for (uint32_t cpu = 0; cpu < TL_FACT_CPUS_MAX; cpu++)
		if (tl_cpus_has(&port->rps, cpu) && is_taken(facts, cpu))
			tl_cpus_add(&taken, cpu);
	if (!port->rps.known)
		tl_found(f, TL_VERDICT_UNKNOWN, "%s: could not be read", port->interface.text);
	else if (taken.known)
		tl_found(f, TL_VERDICT_WARN, "%s: goes to workers: CPUs %s", port->interface.text,
			tl_cpus_format(&taken, text, sizeof(text)));
	else if (away.known && !tl_cpus_is_empty(&away))
		tl_found(f, TL_VERDICT_WARN, "%s: goes to CPUs %s of another node", port->interface.text,
			tl_cpus_format(&away, text, sizeof(text)));
	else
		tl_found(f, TL_VERDICT_OK, "%s: %s", port->interface.text,
			tl_cpus_is_empty(&port->rps) ? "off" : tl_cpus_format(&port->rps, text, sizeof(text)));
}

static void judge_xps_of(const struct tl_facts *facts, const struct tl_fact_port *port, struct tl_finding *f)
{
	struct tl_fact_cpus left = tl_cpus_minus(&facts->cpu.online, &port->xps);
	char text[CPUS_TEXT];

	if (!is_received_by_kernel(port, f))
		return;
	if (!left.known)
		tl_found(f, TL_VERDICT_UNKNOWN, "%s: could not be read, or it has one queue", port->interface.text);
	else if (tl_cpus_is_empty(&port->xps) || tl_cpus_is_empty(&left))
		tl_found(f, TL_VERDICT_OK, "%s: %s", port->interface.text,
			tl_cpus_is_empty(&port->xps) ? "off" : "each CPU has a queue");
	else
		tl_found(f, TL_VERDICT_WARN, "%s: CPUs %s have no queue", port->interface.text,
			tl_cpus_format(&left, text, sizeof(text)));
}

static void judge_rings_of(const struct tl_fact_port *port, struct tl_finding *f)
{
	if (!is_received_by_kernel(port, f))
		return;
	if (!port->ring_rx.known || !port->ring_rx_max.known)
		tl_found(f, TL_VERDICT_UNKNOWN, "%s: not reported by the driver", port->interface.text);
	else
		tl_found(f, port->ring_rx.value < port->ring_rx_max.value ? TL_VERDICT_WARN : TL_VERDICT_OK,
			"%s: %" PRIi64 " of %" PRIi64 " descriptors", port->interface.text, port->ring_rx.value,
			port->ring_rx_max.value);
}

static void judge_moderation_of(const struct tl_fact_port *port, struct tl_finding *f)
{
	if (!is_received_by_kernel(port, f))
		return;
	if (!port->adaptive.known || !port->rx_usecs.known)
		tl_found(f, TL_VERDICT_UNKNOWN, "%s: not reported by the driver", port->interface.text);
	else if (port->adaptive.value)
		tl_found(f, TL_VERDICT_WARN, "%s: adaptive", port->interface.text);
	else
		tl_found(f, port->rx_usecs.value > RX_USECS_MOST ? TL_VERDICT_WARN : TL_VERDICT_OK,
			"%s: %" PRIi64 " us", port->interface.text, port->rx_usecs.value);
}

static const struct tl_check checks[] = {
	{"receive.irqs", TL_CAN_WARN,
		"The CPU that takes a queue's interrupt receives its frames: on another node each is fetched over the link between sockets, on a worker's core the worker waits or shares it, and queues on one core share its speed.",
		"Write one CPU per core of the card's node, without those of workers, to /proc/irq/N/smp_affinity_list of its queues.",
		"# One interrupt per core of the card's node:", .judge_port = judge_irqs_of,
		.print_steps = print_irq_steps},
	{"receive.rps", TL_CAN_WARN,
		"RPS hands frames to the CPUs in its masks: to a worker's it brings softirqs, to another node's the frames cross the link between sockets.",
		"Write 0, or a mask of CPUs of the card's node without workers, to /sys/class/net/INTERFACE/queues/rx-N/rps_cpus.",
		.judge_port = judge_rps_of},
	{"receive.xps", TL_CAN_WARN,
		"CPUs that no mask of XPS has send through queues that other CPUs have, and wait for their locks.",
		"Put each CPU into a mask of /sys/class/net/INTERFACE/queues/tx-N/xps_cpus.",
		.judge_port = judge_xps_of},
	{"receive.rings", TL_CAN_WARN,
		"A short ring overruns while the softirq of its CPU waits: the kernel counts such frames as missed.",
		"ethtool -G INTERFACE rx N, with the maximum that ethtool -g shows.",
		.judge_interface = judge_rings_of},
	{"receive.moderation", TL_CAN_WARN,
		"A NIC that holds interrupts back delays frames by as much, and their kernel time stamps; adaptive ones by the load.",
		"ethtool -C INTERFACE adaptive-rx off rx-usecs 0", .judge_interface = judge_moderation_of},
};

const struct tl_check_group tl_doctor_receive = {checks, TL_ARRAY_LEN(checks)};
