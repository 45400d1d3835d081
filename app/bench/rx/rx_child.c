// SPDX-License-Identifier: BSD-3-Clause
// The process of a rung: a thread per lane, and main, which answers a byte on its socket with a snapshot and ends when
// the socket does, so also when the benchmark is killed. Its CPU time is the rung's, and the kernel frees what it
// holds.

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench_rig.h"
#include "rx_priv.h"

#define OPEN_MS 30000
#define ANSWER_MS 5000
#define STOP_MS 5000
#define LOOK_MS 20

struct work {
	const struct tl_ladder_rung *rung;
	void *lane;
	struct tl_ladder_sink sink;
	struct tl_hist latency;
	struct rx_events events;
	atomic_bool stop;
	atomic_int rc;
	pthread_t thread;
	bool runs;
};

// ---- the child

// Lanes begin at the last CPU: the sender has the first.
static unsigned lane_cpu(const struct rx_child_cfg *cfg, unsigned lane)
{
	unsigned n = (unsigned)CPU_COUNT(cfg->cpus);

	return tl_bench_cpu(cfg->cpus, n - 1 - lane % n);
}

static void *lane_main(void *arg)
{
	struct work *work = arg;

	rx_events_open(&work->events);
	atomic_store(&work->rc, work->rung->ops->receive(work->lane, &work->sink, &work->stop));
	return NULL;
}

static uint32_t lane_buffer(uint32_t lanes)
{
	uint32_t bytes = RX_BUFFER_BYTES;

	for (uint32_t n = 1; n < lanes; n *= 2)
		bytes /= 2;
	return bytes;
}

static int open_lanes(const struct rx_child_cfg *cfg, struct work *works, struct tl_err *err)
{
	int rc = 0;

	for (unsigned i = 0; i < cfg->lanes && rc == 0; i++) {
		const struct tl_ladder_cfg lane = {.ifname = cfg->net->ifname,
			.ifindex = cfg->net->ifindex,
			.lane = i,
			.lanes = cfg->lanes,
			.buffer_bytes = lane_buffer(cfg->lanes),
			.size_bytes = cfg->size_bytes,
			.group = (uint16_t)getpid(),
			.cpu = lane_cpu(cfg, i)};
		tl_hist_init(&works[i].latency);
		works[i].rung = cfg->rung;
		works[i].sink = (struct tl_ladder_sink){.any = !cfg->net->own, .latency = &works[i].latency};
		rc = cfg->rung->ops->open(cfg->rung, &lane, &works[i].lane, err);
	}
	return rc;
}

static int start_lanes(const struct rx_child_cfg *cfg, struct work *works, struct tl_err *err)
{
	for (unsigned i = 0; i < cfg->lanes; i++) {
		pthread_attr_t attr;
		cpu_set_t cpu;
		CPU_ZERO(&cpu);
		CPU_SET(lane_cpu(cfg, i), &cpu);
		pthread_attr_init(&attr);
		pthread_attr_setaffinity_np(&attr, sizeof(cpu), &cpu);
		int rc = pthread_create(&works[i].thread, &attr, lane_main, &works[i]);
		pthread_attr_destroy(&attr);
		if (rc != 0)
			return tl_fail(err, -rc, "a thread: %s", strerror(rc));
		works[i].runs = true;
	}
	return 0;
}

static void close_lanes(const struct rx_child_cfg *cfg, struct work *works)
{
	for (unsigned i = 0; i < cfg->lanes; i++)
		atomic_store(&works[i].stop, true);
	for (unsigned i = 0; i < cfg->lanes; i++)
		if (works[i].runs)
			pthread_join(works[i].thread, NULL);
	for (unsigned i = 0; i < cfg->lanes; i++)
		if (works[i].lane != NULL)
			cfg->rung->ops->close(works[i].lane);
}

static void add_lane(struct work *work, struct rx_snapshot *out)
{
	int rc = atomic_load(&work->rc);

	out->rc = out->rc != 0 ? out->rc : rc;
	out->pkts += tl_count_read(&work->sink.pkts);
	out->bytes += tl_count_read(&work->sink.bytes);
	out->disorder_pkts += tl_count_read(&work->sink.disorder_pkts);
	out->seq_sum += tl_count_read(&work->sink.seq_sum);
	out->busy_ns += tl_count_read(&work->sink.busy_ns);
	out->drops += work->rung->ops->dropped(work->lane);
	rx_events_add(&work->events, out);
}

static void take_snapshot(const struct rx_child_cfg *cfg, struct work *works, struct rx_snapshot *out)
{
	static struct tl_hist all; // 224 KiB: of this process, which has one main
	struct tl_hist_summary latency;

	*out = (struct rx_snapshot){.at_ns = tl_ladder_now_ns()};
	if (cfg->rung == &rx_tapline) {
		out->instructions = out->cycles = -1;
		rx_usage_of(rx_tapline_pid(works[0].lane), out);
	} else {
		rx_usage_own(out);
	}
	tl_hist_init(&all);
	for (unsigned i = 0; i < cfg->lanes; i++) {
		add_lane(&works[i], out);
		tl_hist_merge(&all, &works[i].latency); // complete once all stamped frames have come
	}
	tl_hist_summarize(&all, &latency);
	out->latency_count = latency.count;
	out->p50_ns = latency.p50_ns;
	out->p99_ns = latency.p99_ns;
}

static void answer(const struct rx_child_cfg *cfg, struct work *works, int fd)
{
	struct rx_snapshot snapshot;
	char byte;

	while (read(fd, &byte, 1) == 1) {
		take_snapshot(cfg, works, &snapshot);
		if (send(fd, &snapshot, sizeof(snapshot), MSG_NOSIGNAL) != (ssize_t)sizeof(snapshot))
			return;
	}
}

struct opened {
	int rc;
	struct tl_err err;
};

// Libraries print their own words on a refusal: the row has the reason.
static void silence(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0) {
		(void)dup2(null, STDIN_FILENO);
		(void)dup2(null, STDOUT_FILENO);
		(void)dup2(null, STDERR_FILENO);
	}
}

static _Noreturn void child_main(const struct rx_child_cfg *cfg, int fd)
{
	struct work *works = calloc(cfg->lanes, sizeof(*works));
	struct opened opened = {.rc = -ENOMEM};

	signal(SIGINT, SIG_IGN); // Ctrl-C reaches the whole group: the benchmark ends us
	signal(SIGTERM, SIG_IGN);
	silence();
	(void)sched_setaffinity(0, sizeof(*cfg->cpus), cfg->cpus);
	if (works != NULL)
		opened.rc = open_lanes(cfg, works, &opened.err);
	if (opened.rc == 0)
		opened.rc = start_lanes(cfg, works, &opened.err);
	(void)send(fd, &opened, sizeof(opened), MSG_NOSIGNAL);
	if (opened.rc == 0)
		answer(cfg, works, fd);
	if (works != NULL)
		close_lanes(cfg, works);
	_exit(0);
}

// ---- the benchmark's side

// Receive a message of the child. Return 0, -EINTR: *stop, -ETIMEDOUT, -EPIPE: it has ended.
static int hear(int fd, const atomic_bool *stop, unsigned timeout_ms, void *out, size_t bytes)
{
	struct pollfd wait = {.fd = fd, .events = POLLIN};

	for (unsigned ms = 0; ms < timeout_ms; ms += LOOK_MS) {
		if (atomic_load_explicit(stop, memory_order_relaxed))
			return -EINTR;
		if (poll(&wait, 1, LOOK_MS) > 0)
			return recv(fd, out, bytes, 0) == (ssize_t)bytes ? 0 : -EPIPE;
	}
	return -ETIMEDOUT;
}

int rx_child_start(const struct rx_child_cfg *cfg, struct rx_child *out, struct tl_err *err)
{
	struct opened opened = {.rc = 0};
	int fds[2];

	*out = (struct rx_child){.fd = -1};
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
		return tl_fail(err, -errno, "socketpair: %s", strerror(errno));
	pid_t pid = fork();
	if (pid == 0) {
		close(fds[0]); // else the child would not see its end
		child_main(cfg, fds[1]);
	}
	close(fds[1]);
	*out = (struct rx_child){pid, fds[0]};
	if (pid < 0)
		return tl_fail(err, -errno, "fork: %s", strerror(errno));
	int rc = hear(out->fd, cfg->stop, OPEN_MS, &opened, sizeof(opened));
	if (rc != 0)
		return tl_fail(err, rc, "its process did not start: %s", strerror(-rc));
	if (opened.rc != 0)
		*err = opened.err;
	return opened.rc;
}

int rx_child_ask(const struct rx_child *child, const atomic_bool *stop, struct rx_snapshot *out)
{
	if (send(child->fd, "s", 1, MSG_NOSIGNAL) != 1)
		return -EPIPE;
	int rc = hear(child->fd, stop, ANSWER_MS, out, sizeof(*out));
	return rc != 0 ? rc : out->rc;
}

void rx_child_stop(struct rx_child *child)
{
	unsigned ms = 0;

	if (child->fd >= 0)
		close(child->fd);
	while (child->pid > 0 && waitpid(child->pid, NULL, WNOHANG) == 0) {
		if (ms++ == STOP_MS)
			(void)kill(child->pid, SIGKILL);
		(void)poll(NULL, 0, 1);
	}
	*child = (struct rx_child){.fd = -1};
}
