// SPDX-License-Identifier: BSD-3-Clause
// The namespaces of a benchmark, and the appliance in them.

#include "bench_rig.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tl_base.h>
#include <tl_ctl.h>
#include <tl_err.h>
#include <tl_json.h>

#define PEER_IF "peer0"
#define TMPDIR_MAX 42

unsigned tl_bench_cpu(const cpu_set_t *cpus, unsigned place)
{
	unsigned n = (unsigned)CPU_COUNT(cpus), cpu = 0;

	for (place %= n == 0 ? 1 : n; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, cpus) && place-- == 0)
			return cpu;
	return 0;
}

// ---- appliance

json_t *tl_bench_status(const struct tl_bench_rig *rig)
{
	char *answer;

	if (tl_ctl_ask(rig->socket, "status", &answer, NULL) != 0)
		return NULL;
	json_t *status = json_loads(answer, 0, NULL);
	free(answer);
	return status;
}

static bool appliance_answers(void *ctx)
{
	json_t *status = tl_bench_status(ctx);

	json_decref(status);
	return status != NULL;
}

int tl_bench_appliance(
	struct tl_bench_rig *rig, const char *ns, json_t *config, struct tl_bench_process *out, struct tl_err *err)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/config.json", rig->dir);
	if (config != NULL)
		json_object_set_new(config, "control", json_pack("{s:s}", "socket", rig->socket));
	int rc = tl_json_check(config);
	if (rc == 0 && json_dump_file(config, path, 0) != 0)
		rc = -EIO;
	json_decref(config);
	if (rc != 0)
		return tl_fail(err, rc, "cannot write %s", path);
	const char *const argv[] = {rig->self, "run", path, "--json", NULL};
	rc = tl_bench_spawn(rig, ns, "appliance", argv, out, err);
	return rc != 0 ? rc : tl_bench_wait_for(rig, out, appliance_answers, rig, err);
}

// ---- namespaces

static int make_namespaces(const struct tl_bench_rig *rig, struct tl_err *err)
{
	const char *const commands[][16] = {
		{"ip", "netns", "add", rig->app_ns},
		{"ip", "netns", "add", rig->peer_ns},
		{"ip", "-netns", rig->app_ns, "link", "add", TL_BENCH_APP_IF, "type", "veth", "peer", "name", PEER_IF,
			"netns", rig->peer_ns},
		{"ip", "netns", "exec", rig->app_ns, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1"},
		{"ip", "netns", "exec", rig->peer_ns, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1"},
		{"ip", "netns", "exec", rig->peer_ns, "ethtool", "-K", PEER_IF, "tx", "off", "tso", "off", "gso",
			"off"},
		{"ip", "-netns", rig->app_ns, "link", "set", TL_BENCH_APP_IF, "up"},
		{"ip", "-netns", rig->peer_ns, "link", "set", "lo", "up"},
		{"ip", "-netns", rig->peer_ns, "link", "set", PEER_IF, "up"},
		{"ip", "-netns", rig->peer_ns, "address", "add", TL_BENCH_PEER_IP "/24", "dev", PEER_IF},
		{"ip", "-netns", rig->peer_ns, "route", "add", "224.0.0.0/4", "dev", PEER_IF},
	};
	int rc = 0;

	for (size_t i = 0; i < TL_ARRAY_LEN(commands) && rc == 0; i++)
		rc = tl_bench_ip(rig, commands[i], err);
	return rc;
}

int tl_bench_rig_begin(struct tl_bench_rig *rig, const atomic_bool *stop, struct tl_err *err)
{
	const char *tmp = getenv("TMPDIR");

	*rig = (struct tl_bench_rig){.stop = stop};
	if (geteuid() != 0)
		return tl_fail(err, -EPERM, "run this as root: it creates network namespaces");
	if (!tl_bench_has("ip") || !tl_bench_has("ethtool"))
		return tl_fail(err, -ENOENT, "ip and ethtool are needed: install iproute2 and ethtool");
	if (readlink("/proc/self/exe", rig->self, sizeof(rig->self) - 1) < 0)
		return tl_fail(err, -errno, "cannot read /proc/self/exe (%s)", strerror(errno));
	if (tmp != NULL && strlen(tmp) > TMPDIR_MAX) // a socket path has a short length limit
		return tl_fail(
			err, -ENAMETOOLONG, "TMPDIR %s is longer than %d characters: name another", tmp, TMPDIR_MAX);
	snprintf(rig->dir, sizeof(rig->dir), "%s/tapline-bench-XXXXXX", tmp != NULL ? tmp : "/tmp");
	if (mkdtemp(rig->dir) == NULL) {
		int rc = tl_fail(err, -errno, "cannot make %s (%s)", rig->dir, strerror(errno));
		rig->dir[0] = '\0';
		return rc;
	}
	snprintf(rig->socket, sizeof(rig->socket), "%s/control.sock", rig->dir);
	snprintf(rig->app_ns, sizeof(rig->app_ns), "tapline-%d-app", (int)getpid());
	snprintf(rig->peer_ns, sizeof(rig->peer_ns), "tapline-%d-peer", (int)getpid());
	return make_namespaces(rig, err);
}

static int remove_entry(const char *path, const struct stat *stat, int type, struct FTW *ftw)
{
	return remove(path);
}

void tl_bench_remove(const char *dir)
{
	(void)nftw(dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

void tl_bench_rig_end(struct tl_bench_rig *rig)
{
	static const atomic_bool go_on = false;

	if (rig->dir[0] == '\0')
		return;
	rig->stop = &go_on;
	(void)tl_bench_ip(rig, (const char *const[]){"ip", "netns", "delete", rig->app_ns, NULL}, NULL);
	(void)tl_bench_ip(rig, (const char *const[]){"ip", "netns", "delete", rig->peer_ns, NULL}, NULL);
	tl_bench_remove(rig->dir);
}
