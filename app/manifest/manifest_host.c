// SPDX-License-Identifier: BSD-3-Clause
// Collect host facts for a manifest from the facts gathered for `doctor`.

#include "manifest_host.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include <tl_eal_about.h>
#include <tl_json.h>

#include "doctor_facts.h"

#define CPUS_TEXT 1024
#define LINE_BYTES 8192

static json_t *text_or_null(const struct tl_fact_text *text)
{
	return text->known ? tl_json_string(text->text) : json_null();
}

// Return a CPU list such as "0-3,8"; "" is no CPU.
static json_t *cpus_or_null(const struct tl_fact_cpus *cpus)
{
	char text[CPUS_TEXT];

	if (!cpus->known)
		return json_null();
	return json_string(tl_cpus_is_empty(cpus) ? "" : tl_cpus_format(cpus, text, sizeof(text)));
}

// Return "Linux 6.1.0-18-amd64 #1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1 (2024-02-01) x86_64".
static json_t *kernel_json(const struct tl_tree *tree)
{
	struct tl_fact_text type = tl_tree_line(tree, "/proc/sys/kernel/ostype");
	struct tl_fact_text release = tl_tree_line(tree, "/proc/sys/kernel/osrelease");
	struct tl_fact_text version = tl_tree_line(tree, "/proc/sys/kernel/version");
	struct utsname name;

	if (!type.known || !release.known)
		return json_null();
	bool machine = tree->live && uname(&name) == 0;
	return json_sprintf(
		"%s %s %s%s%s", type.text, release.text, version.text, machine ? " " : "", machine ? name.machine : "");
}

// Return the rest of a file's line with this beginning; null if there is none.
static json_t *line_after(const char *text, const char *begin)
{
	char line[LINE_BYTES];

	return text != NULL && tl_line_after(text, begin, line, sizeof(line)) ? tl_json_string(line) : json_null();
}

static void put_cpus(json_t *host, const struct tl_tree *tree, const struct tl_facts *facts)
{
	char *cpuinfo = tl_tree_text(tree, "/proc/cpuinfo");
	struct tl_fact_num hypervisor = tl_cpuinfo_hypervisor(cpuinfo);

	json_object_set_new(host, "cpu_model", line_after(cpuinfo, TL_CPUINFO_MODEL));
	json_object_set_new(host, "microcode", line_after(cpuinfo, "microcode\t:"));
	json_object_set_new(host, "hypervisor", hypervisor.known ? json_boolean(hypervisor.value) : json_null());
	json_object_set_new(host, "cpus_online", cpus_or_null(&facts->cpu.online));
	json_object_set_new(host, "cpus_allowed", cpus_or_null(&facts->cpu.allowed));
	json_object_set_new(host, "cpus_isolated", cpus_or_null(&facts->cpu.isolated));
	json_object_set_new(host, "cpus_nohz_full", cpus_or_null(&facts->cpu.nohz_full));
	json_object_set_new(host, "cpus_rcu_nocbs", cpus_or_null(&facts->cpu.rcu_nocbs));
	json_object_set_new(host, "governor", text_or_null(&facts->cpu.governor));
	free(cpuinfo);
}

json_t *tl_manifest_host(const struct tl_tree *tree)
{
	struct tl_facts *facts = calloc(1, sizeof(*facts));
	json_t *host = facts != NULL ? json_object() : NULL;

	if (host != NULL) {
		tl_gather_cpus(tree, facts);
		tl_gather_workers(tree, facts);
		tl_gather_time(tree, facts);
		json_object_set_new(host, "kernel", kernel_json(tree));
		put_cpus(host, tree, facts);
		json_object_set_new(host, "clocksource", text_or_null(&facts->time.clocksource));
		json_object_set_new(host, "dpdk", tl_json_string(tl_eal_version_running()));
	}
	free(facts);
	return host != NULL ? host : json_null();
}
