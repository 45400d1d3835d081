// SPDX-License-Identifier: BSD-3-Clause
// tapline: this program, capturing to null: TPACKET_V3, or a DPDK driver, each frame parsed where a filter asks for it,
// stamped, and encoded as pcapng into a discarded slab. It is a separate process, queried for its counters. To show
// when it has each frame it is first run with its recording in a pipe, stamped at the return of the poll.

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tl_ctl.h>
#include <tl_ledger.h>

#include "rx_priv.h"

#include <jansson.h>

#define START_MS 20000
#define LOOK_MS 10
#define STOP_MS 3000

struct lane {
	pid_t pid;
	unsigned ifindex; // 0: a port of a DPDK driver
	bool nic;
	char dir[96], socket[108];    // "": not created
	struct rx_returned *returned; // frames with the time of the poll that took them; NULL: discarded
	uint64_t drops;		      // atomically: main reads it
};

pid_t rx_tapline_pid(void *arg)
{
	return ((struct lane *)arg)->pid;
}

static void close_lane(void *arg)
{
	struct lane *lane = arg;

	if (lane->pid > 0)
		(void)kill(lane->pid, SIGTERM);
	for (unsigned ms = 0; lane->pid > 0 && waitpid(lane->pid, NULL, WNOHANG) == 0; ms++) {
		if (ms == STOP_MS)
			(void)kill(lane->pid, SIGKILL);
		(void)poll(NULL, 0, 1);
	}
	rx_returned_destroy(lane->returned);
	if (lane->dir[0] != '\0') {
		(void)unlink(lane->socket);
		(void)rmdir(lane->dir);
	}
}

// Start a process whose standard output is fd. Return 0 or an errno.
static int spawn(pid_t *pid, const char *const argv[], int fd)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t defaults;

	posix_spawnattr_init(&attr); // its own group: Ctrl-C ends the benchmark, which ends it in order
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGINT);
	sigaddset(&defaults, SIGTERM);
	posix_spawnattr_setsigdefault(&attr, &defaults);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, fd, STDOUT_FILENO);
	int rc = posix_spawn(pid, argv[0], &files, &attr, (char *const *)(uintptr_t)argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return rc;
}

static int start(struct lane *lane, const struct tl_ladder_cfg *cfg, int fd, struct tl_err *err)
{
	char buffer[16];
	snprintf(buffer, sizeof(buffer), "%u", cfg->buffer_bytes);
	// The benchmark holds an interface in promiscuous mode; a port is set by its driver.
	const char *promiscuous = lane->nic ? NULL : "--no-promisc";
	const char *const argv[] = {"/proc/self/exe", "capture", "-i", cfg->ifname, "-w",
		cfg->timed ? "-" : "null:", "--timestamps", cfg->timed ? "tsc" : "auto", "--direction", "rx",
		"--buffer", buffer, "--control", lane->socket, promiscuous, NULL};

	int rc = spawn(&lane->pid, argv, fd);
	return rc == 0 ? 0 : tl_fail(err, -rc, "cannot start tapline: %s", strerror(rc));
}

// Start the recorder with a pipe for its recording.
static int start_timed(struct lane *lane, const struct tl_ladder_cfg *cfg, struct tl_err *err)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) != 0)
		return tl_fail(err, -errno, "no pipe: %s", strerror(errno));
	lane->returned = rx_returned_create(fds[0]);
	int rc = lane->returned == NULL ? tl_fail(err, -ENOMEM, "not enough memory") : start(lane, cfg, fds[1], err);
	close(fds[1]);
	return rc;
}

// Return the status, or NULL while it does not answer.
static json_t *status_of(const struct lane *lane)
{
	char *text;

	if (tl_ctl_ask(lane->socket, "status", &text, NULL) != 0)
		return NULL;
	json_t *status = json_loads(text, 0, NULL);
	free(text);
	return status;
}

static int await(struct lane *lane, struct tl_err *err)
{
	for (unsigned ms = 0; ms < START_MS; ms += LOOK_MS) {
		json_t *status = status_of(lane);
		json_decref(status);
		if (status != NULL)
			return 0;
		if (waitpid(lane->pid, NULL, WNOHANG) != 0) {
			lane->pid = 0;
			return tl_fail(err, -EIO,
				"`tapline capture -w null:` ended at its start: run it by hand for the reason");
		}
		(void)poll(NULL, 0, LOOK_MS);
	}
	return tl_fail(err, -ETIMEDOUT, "`tapline capture` did not answer within %d s", START_MS / 1000);
}

static int make_dir(struct lane *lane, struct tl_err *err)
{
	const char *tmp = getenv("TMPDIR");
	char dir[sizeof(lane->dir)];

	tmp = tmp != NULL ? tmp : "/tmp";
	if (snprintf(dir, sizeof(dir), "%s/tapline-rx-XXXXXX", tmp) >= (int)sizeof(dir))
		return tl_fail(err, -ENAMETOOLONG, "TMPDIR %s is too long for a control socket: name another", tmp);
	if (mkdtemp(dir) == NULL)
		return tl_fail(err, -errno, "TMPDIR %s: no directory for the control socket: %s", tmp, strerror(errno));
	memcpy(lane->dir, dir, sizeof(dir));
	snprintf(lane->socket, sizeof(lane->socket), "%s/control", lane->dir);
	return 0;
}

static int open_lane(void *arg, const struct tl_ladder_rung *rung, const struct tl_ladder_cfg *cfg, struct tl_err *err)
{
	struct lane *lane = arg;

	lane->nic = rung->nic;
	lane->ifindex = cfg->ifindex;
	int rc = make_dir(lane, err);
	if (rc == 0)
		rc = cfg->timed ? start_timed(lane, cfg, err) : start(lane, cfg, STDOUT_FILENO, err);
	return rc == 0 ? await(lane, err) : rc;
}

static uint64_t number(const json_t *object, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(object, key));
}

static uint64_t port_drops(const json_t *port)
{
#define DROP(name) +number(port, #name)
	return 0 TL_PORT_PARTS(DROP);
}

// Time of turns with frames; the first entry is of turns without.
static uint64_t busy_ns(const json_t *port)
{
	const json_t *queue = json_array_get(json_object_get(port, "queues"), 0),
		     *turns = json_object_get(queue, "turn_ns");
	uint64_t sum = 0;

	for (size_t i = 1; i < json_array_size(turns); i++)
		sum += (uint64_t)json_integer_value(json_array_get(turns, i));
	return sum;
}

static void take_status(struct lane *lane, struct tl_ladder_sink *sink)
{
	json_t *status = status_of(lane);

	if (status == NULL)
		return; // busy: ask again
	const json_t *port = json_array_get(json_object_get(status, "ports"), 0);
	const json_t *capture = json_array_get(json_object_get(status, "captures"), 0);
	uint64_t lost = number(capture, "drop_ring_pkts");
	uint64_t pkts = number(json_object_get(capture, "rx"), "offered_pkts") - lost;
	if (lane->returned == NULL) {
		tl_count(&sink->pkts, pkts - sink->pkts);
		tl_count(&sink->bytes, number(port, "rx_bytes") - sink->bytes);
	}
	tl_count(&sink->busy_ns, busy_ns(port) - sink->busy_ns);
	__atomic_store_n(&lane->drops, port_drops(port) + lost, __ATOMIC_RELAXED);
	json_decref(status);
}

// Return 0 while the process runs, which is not reaped here.
static int check_process(const struct lane *lane)
{
	char name[IF_NAMESIZE];
	siginfo_t info = {.si_pid = 0};

	if (waitid(P_PID, (id_t)lane->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0)
		return 0;
	return lane->ifindex != 0 && if_indextoname(lane->ifindex, name) == NULL ? -ENODEV : -EIO;
}

static int receive(void *arg, struct tl_ladder_sink *sink, const atomic_bool *stop)
{
	struct lane *lane = arg;
	int rc = 0;

	while (rc == 0 && !atomic_load_explicit(stop, memory_order_relaxed)) {
		take_status(lane, sink);
		if (lane->returned != NULL)
			rc = rx_returned_take(lane->returned, sink, LOOK_MS);
		else
			(void)poll(NULL, 0, LOOK_MS);
		if (rc == 0)
			rc = check_process(lane);
	}
	return rc;
}

static uint64_t dropped(void *arg)
{
	return tl_count_read(&((struct lane *)arg)->drops);
}

static const struct tl_ladder_ops ops = {sizeof(struct lane), open_lane, NULL, receive, dropped, close_lane};

const struct tl_ladder_rung rx_tapline = {"tapline", "ring-v3-copy",
	"a recorder without the disk: such a ring and copy, as pcapng with a stamp, and a thread that takes full slabs",
	"drop_nic_pkts and drop_ring_pkts", &ops, .fanout = TL_LADDER_ALONE};

const struct tl_ladder_rung rx_tapline_nic = {"tapline-nic", "dpdk-nic",
	"a recorder without the disk on the same driver: per frame a stamp and a copy as pcapng into a slab",
	"the driver's drop counters and drop_ring_pkts", &ops, .fanout = TL_LADDER_ALONE, .polls = true, .nic = true};
