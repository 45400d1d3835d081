// SPDX-License-Identifier: BSD-3-Clause
// The process of a rung: a thread per lane, and main, which answers a byte on its socket with a snapshot and ends when
// the socket does, so also when the benchmark is killed. Its CPU time is the rung's, and the kernel frees what it
// holds.

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench_rig.h"
#include "rx_priv.h"

#define OPEN_MS 30000
#define ANSWER_MS 5000

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

	(void)rx_events_open(&work->events, 0);
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
			.cpu = lane_cpu(cfg, i),
			.huge = cfg->huge,
			.timed = cfg->timed};
		tl_hist_init(&works[i].latency);
		works[i].rung = cfg->rung;
		works[i].sink = (struct tl_ladder_sink){.any = !cfg->net->own, .latency = &works[i].latency};
		rc = tl_ladder_open(cfg->rung, &lane, &works[i].lane, err);
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
			tl_ladder_close(cfg->rung, works[i].lane);
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
	if (work->rung->polls && work->rung != &rx_tapline_nic)
		out->polling_ns += rx_usage_thread(work->thread);
	if (!rx_is_tapline(work->rung)) // its lane only asks
		rx_events_add(&work->events, out);
}

static void take_snapshot(const struct rx_child_cfg *cfg, struct work *works, const struct rx_process_events *others,
	struct rx_snapshot *out)
{
	static struct tl_hist all; // 224 KiB: of this process, which has one main
	struct tl_hist_summary latency;

	*out = (struct rx_snapshot){.at_ns = tl_ladder_now_ns()};
	if (rx_is_tapline(cfg->rung))
		rx_usage_of(rx_tapline_pid(works[0].lane), out);
	else
		rx_usage_own(out);
	if (rx_is_tapline(cfg->rung) && others->n == 0) // it has ended
		out->instructions = out->cycles = -1;
	for (unsigned i = 0; i < others->n; i++)
		rx_events_add(&others->of[i], out);
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
	struct rx_process_events others = {.n = 0};
	struct rx_snapshot snapshot;
	char byte;

	if (rx_is_tapline(cfg->rung))
		rx_process_events_open(&others, rx_tapline_pid(works[0].lane));
	while (read(fd, &byte, 1) == 1) {
		take_snapshot(cfg, works, &others, &snapshot);
		if (send(fd, &snapshot, sizeof(snapshot), MSG_NOSIGNAL) != (ssize_t)sizeof(snapshot))
			return;
	}
}

struct opened {
	int rc;
	struct tl_err err;
};

static _Noreturn void child_main(const struct rx_child_cfg *cfg, int fd)
{
	struct work *works = calloc(cfg->lanes, sizeof(*works));
	struct opened opened = {.rc = -ENOMEM};

	signal(SIGINT, SIG_IGN); // Ctrl-C reaches the whole group: the benchmark ends us
	signal(SIGTERM, SIG_IGN);
	rx_process_silence();
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

static void child_begin(const void *cfg, int fd)
{
	child_main(cfg, fd);
}

int rx_child_start(const struct rx_child_cfg *cfg, struct rx_process *out, struct tl_err *err)
{
	struct opened opened = {.rc = 0};

	int rc = rx_process_fork(child_begin, cfg, out, err);
	if (rc != 0)
		return rc;
	rc = rx_process_hear(out->fd, cfg->stop, OPEN_MS, &opened, sizeof(opened));
	if (rc != 0)
		return tl_fail(err, rc, "its process did not start: %s", strerror(-rc));
	if (opened.rc != 0)
		*err = opened.err;
	return opened.rc;
}

int rx_child_ask(const struct rx_process *child, const atomic_bool *stop, struct rx_snapshot *out, struct tl_err *err)
{
	int rc = send(child->fd, "s", 1, MSG_NOSIGNAL) == 1
			 ? rx_process_hear(child->fd, stop, ANSWER_MS, out, sizeof(*out))
			 : -EPIPE;

	if (rc != 0)
		return tl_fail(err, rc, "its process did not answer: %s", strerror(-rc));
	return out->rc == 0 ? 0 : tl_fail(err, out->rc, "it could not receive: %s", strerror(-out->rc));
}
