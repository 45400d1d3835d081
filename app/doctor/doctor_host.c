// SPDX-License-Identifier: BSD-3-Clause
// Gather facts about clocks and DPDK.

#include "doctor_facts.h"

#include <stdio.h>
#include <string.h>
#include <sys/timex.h>

#include <tl_doctor.h>
#include <tl_eal_about.h>

void tl_gather_time(const struct tl_tree *tree, struct tl_facts *facts)
{
	struct timex clock = {0};

	facts->time.clocksource =
		tl_tree_line(tree, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
	if (!tree->live || adjtimex(&clock) < 0) // read-only: no modes are set
		return;
	facts->time.synchronized = tl_fact_is((clock.status & STA_UNSYNC) == 0);
	facts->time.max_error_us = tl_fact_is(clock.maxerror);
}

// ---- DPDK

// Parse a library name: "libibverbs.so.1.14.44.0" belongs to rdma-core 44.
static void look_library(void *ctx, const char *name)
{
	struct tl_fact_num *version = ctx;
	unsigned major;

	if (sscanf(name, "libibverbs.so.1.%*u.%u", &major) == 1 && (int64_t)major > version->value)
		version->value = major;
}

static struct tl_fact_num read_rdma_core(const struct tl_tree *tree)
{
	static const char *const dirs[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib"};
	struct tl_fact_num version = {0};

	for (size_t i = 0; i < TL_ARRAY_LEN(dirs); i++)
		if (tl_tree_each(tree, dirs[i], look_library, &version) == 0)
			version.known = true;
	return version;
}

// Look for dir/librte_net_ixgbe.so.23.0: the directory's name has the same suffix as the files.
static struct tl_fact_num has_pmd(const struct tl_tree *tree, const char *dir, const struct tl_fact_port *port)
{
	const char *pmd =
		port->vendor.known && port->device.known ? tl_doctor_pmd(port->vendor.value, port->device.value) : NULL;
	const char *abi = strrchr(dir, '-');

	if (pmd == NULL || abi == NULL)
		return (struct tl_fact_num){0};
	return tl_fact_is(tl_tree_exists(tree, "%s/librte_%s.so.%s", dir, pmd, abi + 1));
}

// Check whether DPDK is built with IEEE 1588 support. No library reports it; distribution packages lack it.
static struct tl_fact_num is_for_ieee1588(const char *driver_dir)
{
	if (tl_eal_built_ieee1588())
		return tl_fact_is(1);
	return strncmp(driver_dir, "/usr/lib/", 9) == 0 ? tl_fact_is(0) : (struct tl_fact_num){0};
}

void tl_gather_dpdk(const struct tl_tree *tree, struct tl_facts *facts)
{
	struct tl_fact_text *dir = &facts->dpdk.driver_dir;
	char built[64];

	facts->dpdk.built = tl_fact_says(tl_eal_version_built(built, sizeof(built)));
	facts->dpdk.running = tl_fact_says(tl_eal_version_running());
	facts->dpdk.rdma_core = read_rdma_core(tree);
	dir->known = tl_eal_driver_dir(dir->text, sizeof(dir->text)) == 0 && tl_tree_exists(tree, "%s", dir->text);
	facts->dpdk.ieee1588 = is_for_ieee1588(dir->text);
	for (uint32_t i = 0; i < facts->n_ports && dir->known; i++)
		facts->ports[i].pmd_present = has_pmd(tree, dir->text, &facts->ports[i]);
}
