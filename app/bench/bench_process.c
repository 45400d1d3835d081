// SPDX-License-Identifier: BSD-3-Clause
// Processes in the namespaces of a benchmark.

#include "bench_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tl_err.h>

#define LOOK_MS 10
#define READY_MS 30000
#define STOP_MS 30000
#define WORDS_MAX 32

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

// Child: enter the namespace, with output as spawn() gives it, and call main() there.
static _Noreturn void run_child(const struct tl_bench_rig *rig, const char *ns, const char *name,
	int (*main)(void *ctx, struct tl_err *err), void *ctx)
{
	char log[PATH_MAX], path[PATH_MAX];
	struct tl_err err = {.text = ""};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	path_of(rig, name, "err", log);
	snprintf(path, sizeof(path), "/run/netns/%s", ns);
	int log_fd = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640),
	    ns_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (log_fd < 0 || dup2(log_fd, STDERR_FILENO) < 0 || ns_fd < 0 || setns(ns_fd, CLONE_NEWNET) != 0)
		_exit(1);
	int rc = main(ctx, &err);
	if (rc != 0)
		dprintf(STDERR_FILENO, "%s\n", err.text);
	_exit(rc == 0 ? 0 : 1);
}

int tl_bench_fork(const struct tl_bench_rig *rig, const char *ns, const char *name,
	int (*main)(void *ctx, struct tl_err *err), void *ctx, struct tl_bench_process *out, struct tl_err *err)
{
	char log[PATH_MAX];

	path_of(rig, name, "err", log);
	(void)unlink(log); // said() must not read the output of an earlier process
	*out = (struct tl_bench_process){0};
	snprintf(out->name, sizeof(out->name), "%s", name);
	pid_t pid = fork();
	if (pid == 0)
		run_child(rig, ns, name, main, ctx);
	out->pid = pid < 0 ? 0 : pid;
	return pid < 0 ? tl_fail(err, -errno, "fork: %s", strerror(errno)) : 0;
}

int tl_bench_spawn(const struct tl_bench_rig *rig, const char *ns, const char *name, const char *const argv[],
	struct tl_bench_process *out, struct tl_err *err)
{
	const char *words[WORDS_MAX] = {"ip", "netns", "exec", ns};
	unsigned n = ns != NULL ? 4 : 0;

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

int tl_bench_ip(const struct tl_bench_rig *rig, const char *const argv[], struct tl_err *err)
{
	struct tl_bench_process process = {.name = "ip"};
	int rc = spawn(rig, "ip", argv, &process.pid);

	if (rc != 0)
		return tl_fail(err, rc, "cannot start ip (%s): is iproute2 installed?", strerror(-rc));
	return tl_bench_wait(rig, &process, READY_MS, err);
}
