// SPDX-License-Identifier: BSD-3-Clause
// tapline bind, tapline unbind: bind NICs to DPDK drivers and return them to the kernel.

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tl_err.h>
#include <tl_log.h>
#include <tl_options.h>
#include <tl_pci.h>

#include "app.h"

#define DEVICES_MAX 32
#define LIST_FORMAT "%-13s %-10s %-16s %-7s %-5s %s\n"

struct options {
	const char *root;
	bool list, persist, without_iommu, dry_run;
};

#define COMMON_OPTIONS                                                                                                 \
	{"dry-run", 0, NULL, "print what would be done, and do nothing", TL_INTO(FLAG, struct options, dry_run)},      \
		{"root", 0, "DIR", "use the /sys, /proc, /run and /etc below DIR", .choices = TL_CHOICES_DIRECTORY,    \
			TL_INTO(TEXT, struct options, root)},                                                          \
		TL_OPTION_HELP

static const struct tl_option bind_options[] = {
	{"list", 0, NULL, "list the NICs of this host, and their drivers", TL_INTO(FLAG, struct options, list)},
	{"persist", 0, NULL, "also bind at every boot (a udev rule)", TL_INTO(FLAG, struct options, persist)},
	{"no-iommu", 0, NULL, "accept NICs without an IOMMU, which can write to all memory",
		TL_INTO(FLAG, struct options, without_iommu)},
	COMMON_OPTIONS,
};

static const struct tl_option unbind_options[] = {
	COMMON_OPTIONS,
};

const struct tl_command tl_bind_command = {
	.name = "bind",
	.summary = "bind NICs for DPDK",
	.usage = "bind PCI... [--persist] [--no-iommu] [--dry-run]\n"
		 "bind --list",
	.about =
		"Moves NICs from the kernel's driver to vfio-pci, for DPDK. PCI is an address such as 0000:3b:00.0. All NICs are\n"
		"checked before the first is changed. Refused are the interface of the default route or of your login, also below a\n"
		"bond, bridge or VLAN; a NIC with a device in its IOMMU group that would keep its kernel driver; and Mellanox NICs,\n"
		"which DPDK uses with their kernel driver. All are bound, or none. `tapline unbind` returns them.",
	.words = TL_CHOICES_PCI,
	TL_OPTIONS(bind_options),
};

const struct tl_command tl_unbind_command = {
	.name = "unbind",
	.summary = "return NICs to the kernel",
	.usage = "unbind PCI... [--dry-run]",
	.about = "Returns NICs to their drivers before `tapline bind`, and removes the settings of bind --persist.",
	.words = TL_CHOICES_PCI,
	TL_OPTIONS(unbind_options),
};

static bool has_host(const char *root)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/sys", root);
	return access(path, F_OK) == 0;
}

// Return -1 to continue, else an exit status.
static int parse(int argc, char **argv, const struct tl_command *command, struct options *options)
{
	*options = (struct options){.root = ""};
	int status = tl_set_options(command, argc, argv, NULL, options);
	if (status >= 0)
		return status;
	int words = argc - optind;
	if (!has_host(options->root)) {
		tl_error("--root: no directory %s/sys: name a directory with sys, proc, run and etc of a host",
			options->root);
		return TL_EXIT_USAGE;
	}
	if (options->list && words == 0)
		return -1;
	if (options->list || words < 1 || words > DEVICES_MAX) {
		tl_error("%s (see `tapline %s --help`)",
			options->list ? "--list takes no address"
			: words == 0  ? "which NIC? give its PCI address"
				      : "at most 32 NICs at a time",
			argv[0]);
		return TL_EXIT_USAGE;
	}
	if (geteuid() != 0 && !options->dry_run && *options->root == '\0') {
		tl_error("%s needs root (with --dry-run it does not)", argv[0]);
		return TL_EXIT_USAGE;
	}
	return -1;
}

// Print the error, and return the exit status of the program.
static int end_with(int status, const struct tl_err *err)
{
	tl_error("%s", err->text);
	return status;
}

// ---- list

static int print_nic(void *ctx, const struct tl_pci_device *d)
{
	char id[16], group[16] = "-", node[16] = "-", netdevs[160] = "";

	snprintf(id, sizeof(id), "%04x:%04x", d->vendor, d->device);
	if (d->iommu_group >= 0)
		snprintf(group, sizeof(group), "%d", d->iommu_group);
	if (d->numa_node >= 0)
		snprintf(node, sizeof(node), "%d", d->numa_node);
	for (unsigned i = 0; i < d->n_netdevs; i++)
		snprintf(netdevs + strlen(netdevs), sizeof(netdevs) - strlen(netdevs), "%s%s", i != 0 ? "," : "",
			d->netdevs[i]);
	printf(LIST_FORMAT, d->address, id, d->driver[0] != '\0' ? d->driver : "-", group, node, netdevs);
	++*(unsigned *)ctx;
	return 0;
}

static int list(const char *root)
{
	unsigned found = 0;

	printf(LIST_FORMAT, "ADDRESS", "ID", "DRIVER", "IOMMU", "NUMA", "INTERFACE");
	if (tl_pci_each_nic(root, print_nic, &found) < 0 || found == 0)
		tl_info("this host has no PCI network device");
	return TL_EXIT_OK;
}

// ---- binding

static void print_plan(const struct tl_pci_plan *plan)
{
	printf("# %s: %s", plan->device.address, plan->device.driver[0] != '\0' ? plan->device.driver : "no driver");
	printf(plan->n_steps != 0 ? " -> %s\n" : ": nothing to do\n", plan->want != NULL ? plan->want : "its driver");
	for (unsigned i = 0; i < plan->n_steps; i++) {
		const struct tl_pci_step *step = &plan->steps[i];
		printf("echo %s > %s  # %s\n", step->text[0] == '\n' ? "" : step->text, step->path, step->why);
	}
}

// Load vfio-pci if it is missing. Under a test root no module is loaded.
static int load_driver(const char *root, struct tl_err *err)
{
	char path[PATH_MAX];
	char *const command[] = {(char *)"modprobe", (char *)TL_PCI_DRIVER, NULL};
	pid_t pid;
	int status = -1;

	snprintf(path, sizeof(path), "%s/sys/bus/pci/drivers/" TL_PCI_DRIVER, root);
	if (access(path, F_OK) == 0)
		return 0;
	if (*root == '\0' && posix_spawnp(&pid, command[0], NULL, NULL, command, environ) == 0)
		(void)waitpid(pid, &status, 0);
	if (status == 0 && access(path, F_OK) == 0)
		return 0;
	return tl_fail(err, -ENOENT,
		"the kernel has no driver " TL_PCI_DRIVER ": `modprobe " TL_PCI_DRIVER
		"` must work; the module comes with the kernel's package");
}

static void print_done(const struct tl_pci_plan *plan)
{
	const struct tl_pci_device *d = &plan->device;

	printf("%s: %s -> %s", d->address, d->driver[0] != '\0' ? d->driver : "no driver",
		plan->want != NULL ? plan->want : "the kernel's choice");
	for (unsigned i = 0; i < d->n_netdevs; i++)
		printf(", interface %s removed", d->netdevs[i]);
	printf("\n");
}

static void print_bound(const struct tl_pci_plan *plan)
{
	if (plan->n_steps != 0)
		print_done(plan);
	else
		printf("%s: is with " TL_PCI_DRIVER " already\n", plan->device.address);
}

static int persist(const struct options *options, const char *address, struct tl_err *err)
{
	char self[PATH_MAX], arguments[64];
	ssize_t chars = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (chars <= 0)
		return tl_fail(err, -errno, "cannot read /proc/self/exe (%s)", strerror(errno));
	self[chars] = '\0';
	snprintf(arguments, sizeof(arguments), "bind %.*s%s", TL_PCI_ADDRESS_CHARS - 1, address,
		options->without_iommu ? " --no-iommu" : "");
	return tl_pci_persist(options->root, address, self, arguments, err);
}

static int bind_one(const struct options *options, const struct tl_pci_plan *plan, struct tl_err *err)
{
	if (plan->n_steps == 0)
		return 0;
	int rc = tl_pci_remember(options->root, &plan->device, err);
	if (rc == 0 && (rc = tl_pci_execute(options->root, plan, err)) != 0)
		tl_pci_forget(options->root, plan->device.address);
	return rc;
}

// Undo the binding. A NIC that cannot be returned stays recorded, for unbind.
static void unbind_again(const struct options *options, const struct tl_pci_plan *plan)
{
	const struct tl_pci_device *d = &plan->device;
	struct tl_err err;

	if (plan->n_steps == 0)
		return;
	if (tl_pci_undo(options->root, plan, &err) != 0) {
		tl_error("%s", err.text);
		return;
	}
	tl_pci_forget(options->root, d->address);
	tl_error("%s is with %s again: the NICs of a call are all bound, or none", d->address,
		d->driver[0] != '\0' ? d->driver : "no driver");
}

// Bind all NICs or none. Return an exit status.
static int bind_plans(const struct options *options, const struct tl_pci_plan *plans, unsigned n)
{
	unsigned bound = 0, persistent = 0;
	struct tl_err err;
	int rc = load_driver(options->root, &err);

	for (; bound < n && rc == 0; bound += rc == 0)
		rc = bind_one(options, &plans[bound], &err);
	for (; options->persist && persistent < n && rc == 0; persistent++) // a failed write may be partial
		rc = persist(options, plans[persistent].device.address, &err);
	if (rc == 0)
		return TL_EXIT_OK;
	tl_error("%s", err.text);
	while (persistent-- > 0) // a NIC bound earlier may have its rule already
		if (plans[persistent].n_steps != 0)
			(void)tl_pci_unpersist(options->root, plans[persistent].device.address);
	while (bound-- > 0)
		unbind_again(options, &plans[bound]);
	return TL_EXIT_FAILED;
}

static int bind_all(const struct options *options, char *const *addresses, unsigned n)
{
	const struct tl_pci_wish wish = {options->root, addresses, n, options->without_iommu};
	struct tl_pci_plan plans[DEVICES_MAX];
	struct tl_err err;

	for (unsigned i = 0; i < n; i++)
		if (tl_pci_plan_bind(&wish, i, &plans[i], &err) != 0)
			return end_with(TL_EXIT_USAGE, &err);
	if (options->without_iommu)
		tl_warn("without an IOMMU a NIC can write to all memory of this host");
	for (unsigned i = 0; i < n && options->dry_run; i++)
		print_plan(&plans[i]);
	if (options->dry_run)
		return TL_EXIT_OK;
	int status = bind_plans(options, plans, n);
	for (unsigned i = 0; i < n && status == TL_EXIT_OK; i++)
		print_bound(&plans[i]);
	return status;
}

static int plan_back(const struct options *options, const char *address, struct tl_pci_plan *plan,
	char former[TL_PCI_NAME_CHARS], struct tl_err *err)
{
	char full[TL_PCI_ADDRESS_CHARS];

	former[0] = '\0';
	if (tl_pci_parse_address(address, full, err) == 0)
		(void)tl_pci_recall(options->root, full, former);
	return tl_pci_plan_unbind(options->root, address, former, plan, err);
}

static int unbind_all(const struct options *options, char *const *addresses, unsigned n)
{
	struct tl_pci_plan plans[DEVICES_MAX];
	char former[DEVICES_MAX][TL_PCI_NAME_CHARS];
	struct tl_err err;

	for (unsigned i = 0; i < n; i++)
		if (plan_back(options, addresses[i], &plans[i], former[i], &err) != 0)
			return end_with(TL_EXIT_USAGE, &err);
	for (unsigned i = 0; i < n && options->dry_run; i++)
		print_plan(&plans[i]);
	if (options->dry_run && tl_pci_began_noiommu(options->root))
		printf("# the last NIC without an IOMMU switches vfio's no-IOMMU mode off\n");
	for (unsigned i = 0; i < n && !options->dry_run; i++) {
		if (tl_pci_execute(options->root, &plans[i], &err) != 0)
			return end_with(TL_EXIT_FAILED, &err);
		(void)tl_pci_unpersist(options->root, plans[i].device.address);
		tl_pci_forget(options->root, plans[i].device.address);
		print_done(&plans[i]);
	}
	if (!options->dry_run && tl_pci_end_noiommu(options->root, &err) != 0)
		tl_warn("%s", err.text);
	return TL_EXIT_OK;
}

// ---- the commands

int tl_cmd_bind(int argc, char **argv)
{
	struct options options;
	int status = parse(argc, argv, &tl_bind_command, &options);

	if (status >= 0)
		return status;
	if (options.list)
		return list(options.root);
	return bind_all(&options, argv + optind, (unsigned)(argc - optind));
}

int tl_cmd_unbind(int argc, char **argv)
{
	struct options options;
	int status = parse(argc, argv, &tl_unbind_command, &options);

	if (status >= 0)
		return status;
	return unbind_all(&options, argv + optind, (unsigned)(argc - optind));
}
