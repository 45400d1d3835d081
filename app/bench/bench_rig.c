// SPDX-License-Identifier: BSD-3-Clause
// Manage namespaces with ip(8), and processes in them.

#include "bench_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tl_base.h>
#include <tl_err.h>

#define LOOK_MS 10
#define READY_MS 30000
#define STOP_MS 30000
#define PEER_IF "peer0"
#define WORDS_MAX 32
#define TMPDIR_MAX 42

// ---- processes

static void path_of(const struct tl_bench_rig *rig, const char *name, const char *suffix, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/%s.%s", rig->dir, name, suffix);
}

bool tl_bench_has(const char *program)
{
	const char *dirs = getenv("PATH");
	char path[PATH_MAX];

	for (const char *dir = dirs; dir != NULL && *dir != '\0'; dir += strspn(dir, ":")) {
		size_t chars = strcspn(dir, ":");
		snprintf(path, sizeof(path), "%.*s/%s", (int)chars, dir, program);
		if (access(path, X_OK) == 0)
			return true;
		dir += chars;
	}
	return false;
}

static int spawn(const struct tl_bench_rig *rig, const char *name, const char *const argv[], pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	char out[PATH_MAX], log[PATH_MAX];

	path_of(rig, name, "out", out);
	path_of(rig, name, "err", log);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out, O_WRONLY | O_CREAT | O_TRUNC, 0640);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log, O_WRONLY | O_CREAT | O_TRUNC, 0640);
	// Use a separate process group: Ctrl-C reaches this process only, which stops its children in order.
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
	int rc = posix_spawnp(pid, argv[0], &actions, &attributes, (char *const *)(uintptr_t)argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return -rc;
}

int tl_bench_spawn(const struct tl_bench_rig *rig, const char *ns, const char *name, const char *const argv[],
	struct tl_bench_process *out, struct tl_err *err)
{
	const char *words[WORDS_MAX] = {"ip", "netns", "exec", ns};
	unsigned n = 4;

	for (unsigned i = 0; argv[i] != NULL && n < WORDS_MAX - 1; i++)
		words[n++] = argv[i];
	*out = (struct tl_bench_process){0};
	snprintf(out->name, sizeof(out->name), "%s", name);
	int rc = spawn(rig, name, words, &out->pid);
	return rc == 0 ? 0 : tl_fail(err, rc, "cannot start %s (%s)", argv[0], strerror(-rc));
}

// Read the last line on stderr, usually the most specific one.
static void last_line(const struct tl_bench_rig *rig, const char *name, char *line, size_t size)
{
	char path[PATH_MAX], read[512];

	line[0] = '\0';
	path_of(rig, name, "err", path);
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return;
	while (fgets(read, sizeof(read), file) != NULL)
		if (read[0] != '\n')
			snprintf(line, size, "%.*s", (int)strcspn(read, "\n"), read);
	fclose(file);
}

static int check_status(
	const struct tl_bench_rig *rig, struct tl_bench_process *process, int status, struct tl_err *err)
{
	char line[256];

	process->pid = 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	last_line(rig, process->name, line, sizeof(line));
	return tl_fail(err, -EIO, "%s failed: %s", process->name, line[0] != '\0' ? line : "it printed no reason");
}

int tl_bench_wait_for(const struct tl_bench_rig *rig, struct tl_bench_process *process, bool (*ready)(void *ctx),
	void *ctx, struct tl_err *err)
{
	int status;

	for (int waited_ms = 0; waited_ms < READY_MS; waited_ms += LOOK_MS) {
		if (ready(ctx))
			return 0;
		if (waitpid(process->pid, &status, WNOHANG) == process->pid) {
			int rc = check_status(rig, process, status, err);
			return rc != 0 ? rc : tl_fail(err, -EIO, "%s ended before it was ready", process->name);
		}
		if (atomic_load(rig->stop))
			return tl_fail(err, -EINTR, "interrupted");
		(void)poll(NULL, 0, LOOK_MS);
	}
	return tl_fail(err, -ETIMEDOUT, "%s was not ready within 30 s", process->name);
}

int tl_bench_wait(
	const struct tl_bench_rig *rig, struct tl_bench_process *process, uint64_t timeout_ms, struct tl_err *err)
{
	int status;

	for (uint64_t waited_ms = 0; waited_ms < timeout_ms; waited_ms += LOOK_MS) {
		if (waitpid(process->pid, &status, WNOHANG) == process->pid)
			return check_status(rig, process, status, err);
		if (atomic_load(rig->stop))
			return tl_fail(err, -EINTR, "interrupted");
		(void)poll(NULL, 0, LOOK_MS);
	}
	return tl_fail(err, -ETIMEDOUT, "%s did not end in time", process->name);
}

int tl_bench_stop(const struct tl_bench_rig *rig, struct tl_bench_process *process, int number, struct tl_err *err)
{
	int status;

	if (process->pid == 0)
		return 0;
	(void)kill(process->pid, number);
	for (int waited_ms = 0; waited_ms < STOP_MS; waited_ms += LOOK_MS) {
		if (waitpid(process->pid, &status, WNOHANG) == process->pid)
			return check_status(rig, process, status, err);
		(void)poll(NULL, 0, LOOK_MS);
	}
	(void)kill(process->pid, SIGKILL);
	(void)waitpid(process->pid, &status, 0);
	process->pid = 0;
	return tl_fail(err, -ETIMEDOUT, "%s did not end within 30 s and was killed", process->name);
}

bool tl_bench_said(const struct tl_bench_rig *rig, const char *name, const char *text)
{
	char path[PATH_MAX], line[512];
	bool said = false;

	path_of(rig, name, "err", path);
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return false;
	while (!said && fgets(line, sizeof(line), file) != NULL)
		said = strstr(line, text) != NULL;
	fclose(file);
	return said;
}

json_t *tl_bench_output(const struct tl_bench_rig *rig, const char *name, struct tl_err *err)
{
	char path[PATH_MAX];
	json_error_t wrong;

	path_of(rig, name, "out", path);
	json_t *json = json_load_file(path, 0, &wrong);
	if (json == NULL)
		(void)tl_fail(err, -EIO, "%s printed no JSON: %s", name, wrong.text);
	return json;
}

// ---- namespaces

static int run_ip(const struct tl_bench_rig *rig, const char *const argv[], struct tl_err *err)
{
	struct tl_bench_process process = {.name = "ip"};
	int rc = spawn(rig, "ip", argv, &process.pid);

	if (rc != 0)
		return tl_fail(err, rc, "cannot start ip (%s): is iproute2 installed?", strerror(-rc));
	return tl_bench_wait(rig, &process, READY_MS, err);
}

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
		rc = run_ip(rig, commands[i], err);
	return rc;
}

int tl_bench_rig_begin(struct tl_bench_rig *rig, const atomic_bool *stop, struct tl_err *err)
{
	const char *tmp = getenv("TMPDIR");

	*rig = (struct tl_bench_rig){.stop = stop};
	if (geteuid() != 0)
		return tl_fail(err, -EPERM, "run this as root: it makes network namespaces");
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
	snprintf(rig->app_ns, sizeof(rig->app_ns), "tapline-%d-app", (int)getpid());
	snprintf(rig->peer_ns, sizeof(rig->peer_ns), "tapline-%d-peer", (int)getpid());
	return make_namespaces(rig, err);
}

static int remove_entry(const char *path, const struct stat *stat, int type, struct FTW *ftw)
{
	return remove(path);
}

void tl_bench_rig_end(struct tl_bench_rig *rig)
{
	static const atomic_bool go_on = false;

	if (rig->dir[0] == '\0')
		return;
	rig->stop = &go_on;
	(void)run_ip(rig, (const char *const[]){"ip", "netns", "delete", rig->app_ns, NULL}, NULL);
	(void)run_ip(rig, (const char *const[]){"ip", "netns", "delete", rig->peer_ns, NULL}, NULL);
	(void)nftw(rig->dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}
