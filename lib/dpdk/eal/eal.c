// SPDX-License-Identifier: BSD-3-Clause
// EAL's argument vector, its start, and its shutdown.

#define ALLOW_EXPERIMENTAL_API // rte_dev_event_monitor_start, rte_dev_hotplug_handle_enable, since 18.05 and 18.11

#include <tl_eal.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>

#include <tl_eal_cpus.h>
#include <tl_err.h>

#define ARGS_MAX 64
#define ARG_BYTES 256 // a device with its arguments; only the lcore list is longer

// EAL keeps pointers to its arguments, so they have the same lifetime.
struct tl_eal {
	int n;
	char *v[ARGS_MAX + 1];
	char text[ARGS_MAX][ARG_BYTES];
	char lcores[4096];
	char nodes[TL_EAL_NODES_MAX * 11 + 1];
	bool abandoned;
};

static void add(struct tl_eal *args, const char *fmt, ...) TL_PRINTF(2, 3);

static void add(struct tl_eal *args, const char *fmt, ...)
{
	va_list list;

	if (args->n == ARGS_MAX)
		return; // at most 16 devices: see build_args()
	va_start(list, fmt);
	vsnprintf(args->text[args->n], ARG_BYTES, fmt, list);
	va_end(list);
	args->v[args->n] = args->text[args->n];
	args->n++;
}

// "--lcores 0@0,1@3,2@5": EAL's lcore 0 is main, lcore i + 1 runs on CPU cfg->lcores[i].
static void add_lcores(struct tl_eal *args, const struct tl_eal_cfg *cfg)
{
	int used = snprintf(args->lcores, sizeof(args->lcores), "0@%u", cfg->main_lcore);

	for (uint32_t i = 0; i < cfg->n_lcores && used < (int)sizeof(args->lcores); i++)
		used += snprintf(
			args->lcores + used, sizeof(args->lcores) - (size_t)used, ",%u@%u", i + 1, cfg->lcores[i]);
	add(args, "--lcores");
	args->v[args->n++] = args->lcores;
	add(args, "--main-lcore=0");
}

// "--socket-mem 512,0,256". Without it EAL distributes memory over the nodes of the CPUs whose numbers equal those of
// its lcores, regardless of the CPUs that those lcores run on (eal_dynmem_calc_num_pages_per_socket() and
// rte_eal_cpu_init() of 22.11).
static void add_memory(struct tl_eal *args, const struct tl_eal_cfg *cfg)
{
	uint32_t last = TL_EAL_NODES_MAX;
	int used = 0;

	while (cfg->huge && cfg->node_mb != NULL && last > 0 && cfg->node_mb[last - 1] == 0)
		last--;
	if (!cfg->huge || cfg->node_mb == NULL || last == 0) {
		add(args, "-m");
		add(args, "%u", cfg->memory_mb);
		return;
	}
	for (uint32_t i = 0; i < last; i++)
		used += snprintf(args->nodes + used, sizeof(args->nodes) - (size_t)used, "%s%u", i > 0 ? "," : "",
			cfg->node_mb[i]);
	add(args, "--socket-mem");
	args->v[args->n++] = args->nodes;
}

static void build_args(struct tl_eal *args, const struct tl_eal_cfg *cfg)
{
	add(args, "tapline");
	add_lcores(args, cfg);
	if (cfg->huge) {
		add(args, "--in-memory");
	} else {
		add(args, "--no-huge");
		add(args, "--no-shconf");
	}
	add_memory(args, cfg);
	add(args, "--no-telemetry");
	if (!cfg->verbose)
		add(args, "--log-level=*:error");
	if (cfg->n_pci == 0)
		add(args, "--no-pci");
	for (uint32_t i = 0; i < cfg->n_pci; i++) {
		add(args, "-a");
		add(args, "%s", cfg->pci[i]);
	}
	args->v[args->n] = NULL;
}

// Check affinity first: with a CPU outside the affinity mask EAL fails with a less specific error.
static int check_lcores(const struct tl_eal_cfg *cfg, struct tl_err *err)
{
	cpu_set_t permitted;

	if (tl_eal_permitted_cpus(&permitted) != 0)
		return 0;
	for (uint32_t i = 0; i <= cfg->n_lcores; i++) {
		uint32_t cpu = i == 0 ? cfg->main_lcore : cfg->lcores[i - 1];
		if (cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, &permitted))
			return tl_fail(err, -EINVAL,
				"CPU %u is not one this process may use: it is offline, or its cgroup's cpuset.cpus.effective "
				"lacks it; name another CPU, or widen AllowedCPUs= of the unit",
				cpu);
	}
	return 0;
}

static int refuse(const struct tl_eal_cfg *cfg, int rc, struct tl_err *err)
{
	if (!cfg->huge)
		return tl_fail(err, rc, "DPDK did not start with %u MiB of ordinary memory (%s)", cfg->memory_mb,
			strerror(-rc));
	return tl_fail(err, rc,
		"DPDK did not start with %u MiB of hugepages (%s): reserve them with `echo %u > /proc/sys/vm/nr_hugepages`, "
		"or set eal.huge to false",
		cfg->memory_mb, strerror(-rc), cfg->memory_mb / 2 + 16);
}

// Start DPDK with its log on stderr only: logging to syslog creates sockets, later and in any thread, for which seccomp
// kills the process. Hugepages are files in memory: the file size limit of this process must not apply to them.
static int start_unlimited(struct tl_eal *eal)
{
	struct rlimit limit, raised;

	bool limited = getrlimit(RLIMIT_FSIZE, &limit) == 0;
	raised = (struct rlimit){.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
	if (limited)
		setrlimit(RLIMIT_FSIZE, &raised);
	rte_openlog_stream(stderr);
	int rc = rte_eal_init(eal->n, eal->v);
	if (limited)
		setrlimit(RLIMIT_FSIZE, &limit);
	return rc;
}

// EAL has pinned this thread to the main lcore, and threads that it creates would inherit that affinity: allow all CPUs
// that no lcore polls.
static void leave_main_lcore(const struct tl_eal_cfg *cfg, const cpu_set_t *allowed)
{
	cpu_set_t cpus = *allowed;

	for (uint32_t i = 0; i < cfg->n_lcores; i++)
		CPU_CLR(cfg->lcores[i], &cpus);
	CPU_SET(cfg->main_lcore, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
}

// Enable removal events of PCI devices: the kernel reports a removal, and an access to the former registers raises
// SIGBUS. EAL receives the event, remaps that memory, and calls the registered callbacks (lib/dpdk/port/watch.c). If
// this fails, ports poll for the removal.
static void watch_removals(const struct tl_eal_cfg *cfg)
{
	if (cfg->n_pci == 0)
		return;
	// Ask the kernel first: EAL logs an error where it refuses the socket, as it does under our systemd unit.
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
	if (fd >= 0) {
		close(fd);
		(void)rte_dev_event_monitor_start();
	}
	(void)rte_dev_hotplug_handle_enable();
}

static void list_descriptors(fd_set *open)
{
	FD_ZERO(open);
	for (int fd = 0; fd < FD_SETSIZE; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			FD_SET(fd, open);
}

// A failed start leaves descriptors open: of its hugepages, and of mounts that it has locked, on which other starts of
// DPDK would block.
static void close_on_exec(const fd_set *except)
{
	for (int fd = 0; fd < FD_SETSIZE; fd++)
		if (!FD_ISSET(fd, except))
			fcntl(fd, F_SETFD, FD_CLOEXEC);
	close_range(FD_SETSIZE, ~0U, CLOSE_RANGE_CLOEXEC);
}

int tl_eal_init(const struct tl_eal_cfg *cfg, struct tl_eal **out, struct tl_err *err)
{
	struct tl_eal *eal = calloc(1, sizeof(*eal));
	cpu_set_t allowed;
	fd_set open;

	if (eal == NULL)
		return tl_fail(err, -ENOMEM, "out of memory");
	list_descriptors(&open);
	bool known = sched_getaffinity(0, sizeof(allowed), &allowed) == 0; // more than 1024 CPUs: unknown
	int rc = check_lcores(cfg, err);
	if (rc == 0) {
		build_args(eal, cfg);
		if (start_unlimited(eal) < 0)
			rc = refuse(cfg, rte_errno != 0 ? -rte_errno : -EIO, err);
		else
			watch_removals(cfg);
	}
	if (rc == 0 && known)
		leave_main_lcore(cfg, &allowed);
	if (rc != 0) {
		close_on_exec(&open);
		free(eal);
		return rc;
	}
	*out = eal;
	return 0;
}

void tl_eal_abandon(struct tl_eal *eal)
{
	eal->abandoned = true;
}

void tl_eal_fini(struct tl_eal *eal)
{
	if (eal == NULL || eal->abandoned)
		return;
	rte_eal_cleanup();
	free(eal);
}
