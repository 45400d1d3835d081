// SPDX-License-Identifier: BSD-3-Clause
// Host and port facts of a self-test report.

#include "self_test.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <tl_eal_about.h>
#include <tl_err.h>
#include <tl_family.h>
#include <tl_selftest.h>

#include "doctor_facts.h"
#include "family.h"

#define PCI "/sys/bus/pci/devices/%s"

// ---- host

static void count_node(void *ctx, const char *name)
{
	*(int *)ctx += strncmp(name, "node", 4) == 0 && name[4] >= '0' && name[4] <= '9';
}

json_t *tl_self_test_host(const struct tl_tree *tree, bool hugepages)
{
	char *cpuinfo = tl_tree_text(tree, "/proc/cpuinfo");
	char model[128] = "", built[64];
	struct utsname kernel = {0};
	int nodes = 0;

	(void)uname(&kernel);
	(void)tl_tree_each(tree, "/sys/devices/system/node", count_node, &nodes);
	if (cpuinfo != NULL)
		(void)tl_line_after(cpuinfo, TL_CPUINFO_MODEL, model, sizeof(model));
	json_t *host = json_pack("{s:s, s:s, s:s, s:i, s:i, s:b, s:b, s:s, s:s}", "kernel", kernel.release, "machine",
		kernel.machine, "cpu", model, "cpus", (int)sysconf(_SC_NPROCESSORS_ONLN), "numa_nodes", nodes,
		"virtual", tl_cpuinfo_hypervisor(cpuinfo).value != 0, "hugepages", hugepages, "dpdk_built",
		tl_eal_version_built(built, sizeof(built)), "dpdk_running", tl_eal_version_running());
	free(cpuinfo);
	return host;
}

// ---- a port

static json_t *number(struct tl_fact_num fact)
{
	return fact.known ? json_integer((json_int_t)fact.value) : json_null();
}

static json_t *pci_json(const struct tl_tree *tree, const char *address)
{
	struct tl_fact_port slot = {0};

	if (!tl_tree_exists(tree, PCI, address))
		return json_null();
	tl_gather_slot(tree, address, &slot);
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "vendor",
		number(tl_tree_hex(tree, PCI "/vendor", address)), "device",
		number(tl_tree_hex(tree, PCI "/device", address)), "subsystem_vendor",
		number(tl_tree_hex(tree, PCI "/subsystem_vendor", address)), "subsystem_device",
		number(tl_tree_hex(tree, PCI "/subsystem_device", address)), "numa_node",
		number(tl_tree_num(tree, PCI "/numa_node", address)), "width", number(slot.width), "max_width",
		number(slot.max_width), "mega_transfers_per_s", number(slot.mts), "max_mega_transfers_per_s",
		number(slot.max_mts));
}

static void add_difference(void *list, const char *text)
{
	json_array_append_new(list, json_string(text));
}

// Add the family documented for the driver, and the port's deviations from it.
static void add_family(const struct tl_port *port, json_t *json)
{
	struct tl_family_facts facts;
	struct tl_family family;
	char dir[PATH_MAX];
	struct tl_err err;
	bool known = tl_port_family_facts(port, &facts) && tl_family_directory(dir, sizeof(dir)) &&
		     tl_family_find(dir, facts.pmd, &family, &err) == 0;
	json_t *differs = json_array();

	if (known)
		(void)tl_family_compare(&family, &facts, add_difference, differs);
	json_object_set_new(json, "family", known ? json_string(family.name) : json_null());
	json_object_set_new(json, "differs", differs);
}

json_t *tl_self_test_port(const struct tl_tree *tree, struct tl_port *port)
{
	const struct tl_port_spec *spec = &tl_port_config(port)->spec;
	json_t *json = tl_selftest_port_json(port);

	if (json == NULL)
		return NULL;
	json_object_set_new(json, "pci", tl_port_traits(spec)->nic ? pci_json(tree, spec->arg) : json_null());
	add_family(port, json);
	return json;
}
