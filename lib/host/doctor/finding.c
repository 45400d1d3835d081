// SPDX-License-Identifier: BSD-3-Clause
// Functions common to all judges: construction of a finding.

#include "doctor_priv.h"

#include <stdarg.h>
#include <string.h>

#define CPUS_TEXT 128
#define VENDOR_MELLANOX 0x15b3

// Convert the content of a path or file to one line of ASCII.
static void make_printable(char *text)
{
	for (; *text != '\0'; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

void tl_found(struct tl_finding *finding, enum tl_verdict verdict, const char *fmt, ...)
{
	size_t used = strlen(finding->read), room = sizeof(finding->read) - used;
	va_list args;

	if (used == 0 || verdict > finding->verdict)
		finding->verdict = verdict;
	if (used > 0) {
		snprintf(finding->read + used, room, "; ");
		used = strlen(finding->read);
		room = sizeof(finding->read) - used;
	}
	va_start(args, fmt);
	int wanted = vsnprintf(finding->read + used, room, fmt, args);
	va_end(args);
	if (wanted >= (int)room)
		memcpy(finding->read + sizeof(finding->read) - 4, "...", 4);
	make_printable(finding->read + used);
}

bool tl_found_workers(const struct tl_facts *facts, struct tl_finding *finding)
{
	if (facts->wanted.workers.known)
		return true;
	tl_found(finding, TL_VERDICT_UNKNOWN,
		facts->wanted.configured ? "no CPU is known to be left for workers"
					 : "which CPUs poll is not known: no configuration, and none is isolated");
	return false;
}

void tl_found_workers_in(const struct tl_facts *facts, struct tl_finding *finding, const struct tl_fact_cpus *set)
{
	char set_text[CPUS_TEXT], out_text[CPUS_TEXT];

	if (!set->known || !tl_found_workers(facts, finding))
		return;
	struct tl_fact_cpus out = tl_cpus_minus(&facts->wanted.workers, set);
	tl_cpus_format(set, set_text, sizeof(set_text));
	if (tl_cpus_is_empty(&out))
		tl_found(finding, TL_VERDICT_OK, "CPUs %s", set_text);
	else
		tl_found(finding, TL_VERDICT_WARN, "CPUs %s, without %s", set_text,
			tl_cpus_format(&out, out_text, sizeof(out_text)));
}

bool tl_port_is_bifurcated(const struct tl_fact_port *port)
{
	return port->vendor.known && port->vendor.value == VENDOR_MELLANOX;
}

bool tl_port_needs_vfio(const struct tl_fact_port *port)
{
	return port->pci && port->configured && port->vendor.known && !tl_port_is_bifurcated(port);
}
