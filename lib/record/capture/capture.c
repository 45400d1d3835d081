// SPDX-License-Identifier: BSD-3-Clause
// Set-up and tear-down of a recording: filter, slab rings, flows, writer, services of the lcores.

#include "capture_priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_malloc.h>
#include <rte_random.h>

#include <tl_secret.h>

#define SLAB_BYTES (1u << 20)
#define SLABS_MIN 4 // one being filled, the others in transit
#define SLAB_MAX_AGE_NS TL_NS_PER_S
#define STATISTICS_NS (10 * TL_NS_PER_S) // interval of statistics in a file
#define FLOW_IDLE_NS (60 * TL_NS_PER_S)	 // as documented in docs/recording.md
#define SETTLE_NS (TL_NS_PER_S / 2)	 // largest delay of a sleeping or busy lcore

// Slabs of 1 MiB, or smaller ones if the buffer is too small for SLABS_MIN of them.
static void slab_sizes(uint64_t buffer_bytes, uint32_t *slab_bytes, uint32_t *slabs)
{
	*slab_bytes = SLAB_BYTES;
	while (*slab_bytes > 65536 && buffer_bytes / *slab_bytes < SLABS_MIN)
		*slab_bytes /= 2;
	*slabs = (uint32_t)tl_max_u64(SLABS_MIN, tl_min_u64(buffer_bytes / *slab_bytes, 65536));
}

uint64_t tl_capture_hold_seconds(uint64_t buffer_bytes)
{
	uint32_t slab_bytes, slabs;

	slab_sizes(buffer_bytes, &slab_bytes, &slabs);
	return (slabs - tl_writer_hold_spare(slabs)) * (SLAB_MAX_AGE_NS / TL_NS_PER_S);
}

// Queues that are not recorded have a ring too, since writer and file number the queues; the smallest one.
static bool is_skipped(const struct tl_capture *c, uint16_t queue)
{
	return (c->cfg.skipped >> queue & 1) != 0;
}

static int make_rings(struct tl_capture *c, uint64_t run_id, struct tl_err *err)
{
	uint32_t slab_bytes, slabs;
	int rc = 0;

	slab_sizes(c->cfg.buffer_bytes, &slab_bytes, &slabs);
	for (uint16_t q = 0; q < c->n_queues && rc == 0; q++) {
		char name[24];
		snprintf(name, sizeof(name), "%.12s_%u", c->cfg.name, q);
		struct tl_slab_cfg cfg = {.name = name,
			.slab_bytes = slab_bytes,
			.slabs = is_skipped(c, q) ? SLABS_MIN : slabs,
			.socket_id = tl_port_config(c->cfg.port)->socket_id,
			.run_id = run_id,
			.ring_index = q};
		rc = tl_slab_create(&cfg, &c->rings[q], err);
	}
	return rc;
}

// Base configuration; make_recode() adds the rest.
static struct tl_recode_cfg recode_cfg(const struct tl_capture_cfg *cfg, uint32_t n_queues)
{
	uint32_t slab_bytes, slabs;

	slab_sizes(cfg->buffer_bytes, &slab_bytes, &slabs);
	return (struct tl_recode_cfg){.name = cfg->name,
		.n_rings = n_queues,
		.slab_bytes = slab_bytes,
		.window_ns = cfg->order_window_ns,
		.form = cfg->form,
		.level = cfg->compress_level,
		.threads = cfg->form == TL_RECODE_ZSTD ? cfg->compress_threads : 1};
}

uint64_t tl_capture_recode_bytes(const struct tl_capture_cfg *cfg, uint32_t n_queues)
{
	struct tl_recode_cfg recode = recode_cfg(cfg, n_queues);

	return tl_recode_memory_bytes(&recode);
}

static int make_recode(struct tl_capture *c, uint64_t run_id, struct tl_err *err)
{
	struct tl_recode_cfg cfg = recode_cfg(&c->cfg, c->n_queues);

	if (cfg.window_ns == 0 && cfg.form == TL_RECODE_PCAPNG)
		return 0;
	cfg.rings = c->rings;
	cfg.socket_id = tl_port_config(c->cfg.port)->socket_id;
	cfg.run_id = run_id;
	cfg.now_ns = tl_capture_now_ns;
	cfg.ctx = c;
	int rc = tl_recode_create(&cfg, &c->recode, err);
	c->recoded = rc == 0 ? tl_recode_ring(c->recode) : NULL;
	return rc;
}

// Create the flow table of each lcore, for the cut-off.
static int make_flows(struct tl_capture *c, struct tl_err *err)
{
	struct tl_flow_cfg cfg = {.entries = c->cfg.cutoff_flows,
		.cutoff_bytes = c->cfg.cutoff_bytes,
		.idle_ns = FLOW_IDLE_NS,
		.inner = c->cfg.inner,
		.socket_id = tl_port_config(c->cfg.port)->socket_id};
	int rc = 0;

	for (uint16_t q = 0; q < c->n_queues && rc == 0 && cfg.cutoff_bytes != 0; q++) {
		if (is_skipped(c, q))
			continue;
		rc = tl_secret_fill(&cfg.seed, sizeof(cfg.seed));
		rc = rc == 0 ? tl_flow_create(&cfg, &c->taps[q].flows, err)
			     : tl_fail(err, rc, "the kernel gives no random words: %s", strerror(-rc));
	}
	return rc;
}

// Create the meters of each lcore.
static int make_police(struct tl_capture *c, struct tl_err *err)
{
	struct tl_police_cfg cfg = {.classes = c->classes,
		.n_classes = c->cfg.n_classes,
		.inner = c->cfg.inner,
		.socket_id = tl_port_config(c->cfg.port)->socket_id};
	int rc = 0;

	if (cfg.n_classes > TL_POLICE_CLASSES_MAX || (cfg.n_classes != 0 && c->limited))
		return tl_fail(err, -EINVAL, "%u classes: at most %u, and not with a number of frames", cfg.n_classes,
			TL_POLICE_CLASSES_MAX);
	if (cfg.n_classes != 0)
		memcpy(c->classes, c->cfg.classes, cfg.n_classes * sizeof(c->classes[0]));
	c->cfg.classes = c->classes;
	for (uint16_t q = 0; q < c->n_queues && rc == 0 && cfg.n_classes != 0; q++) {
		if (is_skipped(c, q))
			continue;
		rc = tl_secret_fill(&cfg.seed, sizeof(cfg.seed));
		rc = rc == 0 ? tl_police_create(&cfg, &c->taps[q].police, err)
			     : tl_fail(err, rc, "the kernel gives no random words: %s", strerror(-rc));
	}
	return rc;
}

// Set flags for records only where an interface carries both directions; else the interface gives the direction.
static void set_flags(struct tl_tap *tap, bool sends)
{
	tap->dir[TL_DIR_TX] &= sends;
	bool both = tap->dir[TL_DIR_RX] && tap->dir[TL_DIR_TX];
	tap->flags[TL_DIR_RX] = both ? TL_PCAPNG_INBOUND : 0;
	tap->flags[TL_DIR_TX] = both ? TL_PCAPNG_OUTBOUND : 0;
}

static void set_up_taps(struct tl_capture *c)
{
	const struct tl_port_cfg *port = tl_port_config(c->cfg.port);

	for (uint16_t q = 0; q < c->n_queues; q++) {
		struct tl_tap *tap = &c->taps[q];
		tap->capture = c;
		tap->ring = c->rings[q];
		tap->filter = c->filter;
		tap->marks = c->cfg.marks;
		tap->trigger_filter = c->trigger.filter;
		tap->snaplen = c->cfg.snaplen == 0 ? UINT32_MAX : c->cfg.snaplen;
		tap->max_age_ns = c->cfg.order_window_ns != 0 ? c->cfg.order_window_ns / 4 : SLAB_MAX_AGE_NS;
		memcpy(tap->dir, c->cfg.dir, sizeof(tap->dir));
		set_flags(tap, tl_port_traits(&port->spec)->shows_sent || port->tx_queues != 0);
	}
	tl_capture_number_interfaces(c);
}

static struct tl_writer_hold_cfg hold_cfg(const struct tl_capture *c)
{
	const struct tl_capture_trigger_cfg *t = &c->cfg.trigger;

	if (!t->on)
		return (struct tl_writer_hold_cfg){0};
	return (struct tl_writer_hold_cfg){.in_files = t->in_files,
		.pre_ns = t->pre_ns,
		.post_ns = t->post_ns,
		.pre_bytes = t->pre_bytes,
		.settle_ns = SLAB_MAX_AGE_NS + SETTLE_NS,
		.now_ns = tl_capture_now_ns,
		.triggered = tl_capture_triggered};
}

static bool is_drained(void *capture)
{
	return tl_recode_ended(((struct tl_capture *)capture)->recode);
}

// Set the writer's callbacks for forms other than sealed slabs.
static void set_form(const struct tl_capture *c, struct tl_writer_cfg *cfg)
{
	if (c->recode == NULL)
		return;
	cfg->rings = &c->recoded;
	cfg->n_rings = 1;
	cfg->origins = c->rings;
	cfg->n_origins = c->n_queues;
	cfg->drained = is_drained;
	cfg->opaque = c->cfg.form != TL_RECODE_PCAPNG;
	if (c->cfg.form == TL_RECODE_ZSTD) {
		cfg->prologue = tl_capture_packed_prologue;
		cfg->epilogue = tl_capture_packed_epilogue;
	} else if (c->cfg.form == TL_RECODE_PCAP) {
		cfg->unaligned = true;
		cfg->prologue = tl_capture_pcap_prologue;
		cfg->epilogue = NULL;
		cfg->statistics_ns = 0;
	}
}

static int make_writer(struct tl_capture *c, struct tl_err *err)
{
	struct tl_writer_cfg cfg = {.path = c->cfg.path,
		.io = c->cfg.io,
		.policy = c->cfg.policy,
		.rings = c->rings,
		.n_rings = c->n_queues,
		.index = c->cfg.index,
		.index_inner = c->cfg.inner,
		.digest = c->cfg.digest,
		.hold = hold_cfg(c),
		.prologue = tl_capture_prologue,
		.epilogue = tl_capture_epilogue,
		.ctx = c,
		.statistics_ns = STATISTICS_NS,
		.reader_may_leave = c->cfg.reader_may_leave};

	set_form(c, &cfg);
	return tl_writer_create(&cfg, &c->writer, err);
}

int tl_capture_create(const struct tl_capture_cfg *cfg, struct tl_capture **out, struct tl_err *err)
{
	struct tl_capture *c = rte_zmalloc("tl_capture", sizeof(*c), TL_CACHE_LINE);
	uint64_t run_id = rte_rand();
	int rc = 0;

	if (c == NULL)
		return tl_fail(err, -ENOMEM, "no memory for the recording %s", cfg->path);
	c->cfg = *cfg;
	pthread_mutex_init(&c->trigger.lock, NULL);
	c->n_queues = tl_port_config(cfg->port)->rx_queues;
	c->limited = cfg->count != 0;
	c->left = (int64_t)tl_min_u64(cfg->count, INT64_MAX);
	c->start_ns = tl_clock_wall_ns(cfg->clock, rte_rdtsc());
	rc = tl_capture_clocks_init(&c->clocks, c->start_ns);
	if (rc != 0)
		tl_fail(err, rc, "no memory for the clock log of %s", cfg->path);
	tl_capture_clocks_skip(&c->clocks, TL_PCAPNG_CLOCK_WALL, &cfg->clock->last);
	if (rc == 0 && cfg->filter != NULL && cfg->filter[0] != '\0')
		rc = tl_filter_create(cfg->filter, &c->filter, err);
	if (rc == 0 && cfg->trigger.filter != NULL && cfg->trigger.filter[0] != '\0')
		rc = tl_filter_create(cfg->trigger.filter, &c->trigger.filter, err);
	if (rc == 0)
		rc = make_rings(c, run_id, err);
	if (rc == 0)
		rc = make_recode(c, run_id, err);
	if (rc == 0)
		rc = make_flows(c, err);
	if (rc == 0)
		rc = make_police(c, err);
	if (rc == 0) {
		set_up_taps(c);
		rc = make_writer(c, err);
	}
	if (rc != 0) {
		tl_capture_destroy(c);
		return rc;
	}
	*out = c;
	return 0;
}

int tl_capture_start(struct tl_capture *c, struct tl_err *err)
{
	int rc = tl_writer_start(c->writer, err);

	c->started = rc == 0;
	return rc == 0 && c->recode != NULL ? tl_recode_start(c->recode, err) : rc;
}

const char *tl_capture_filter_engine(const struct tl_capture *c)
{
	return c->filter != NULL ? tl_filter_engine(c->filter) : NULL;
}

static void tap_tick(void *tap, uint64_t mono_ns)
{
	tl_slab_seal_if_older(((struct tl_tap *)tap)->ring, mono_ns, ((struct tl_tap *)tap)->max_age_ns);
}

static void tap_finish(void *tap)
{
	tl_slab_seal(((struct tl_tap *)tap)->ring);
}

void tl_capture_service(struct tl_capture *c, uint16_t queue, struct tl_service *out)
{
	bool cuts = c->cfg.cutoff_bytes != 0, watched = c->trigger.filter != NULL, policed = c->cfg.n_classes != 0;

	*out = (struct tl_service){.ctx = &c->taps[queue],
		.rx = policed	? tl_tap_rx_policed
		      : watched ? tl_tap_rx_watched
		      : cuts	? tl_tap_rx_cutoff
				: tl_tap_rx,
		.tick = tap_tick,
		.finish = tap_finish};
	if (c->taps[queue].dir[TL_DIR_TX])
		out->sent = policed   ? tl_tap_sent_policed
			    : watched ? tl_tap_sent_watched
			    : cuts    ? tl_tap_sent_cutoff
				      : tl_tap_sent;
	if (c->taps[queue].marks != NULL) {
		c->taps[queue].rx_marked = out->rx;
		out->rx = tl_tap_rx_with_marks;
	}
}

void tl_capture_expire(struct tl_capture *c)
{
	atomic_store_explicit(&c->state, TL_CAPTURE_EXPIRED, memory_order_relaxed);
}

void tl_capture_pause(struct tl_capture *c, bool paused)
{
	if (atomic_load_explicit(&c->state, memory_order_relaxed) != TL_CAPTURE_EXPIRED)
		atomic_store_explicit(
			&c->state, paused ? TL_CAPTURE_PAUSED : TL_CAPTURE_RECORDING, memory_order_relaxed);
}

void tl_capture_set_port_drops(struct tl_capture *c, uint64_t pkts)
{
	__atomic_store_n(&c->port_drops, pkts, __ATOMIC_RELAXED);
}

void tl_capture_rotate(struct tl_capture *c)
{
	tl_writer_rotate(c->writer);
}

bool tl_capture_finished(const struct tl_capture *c)
{
	return (c->limited && atomic_load_explicit(&c->left, memory_order_relaxed) <= 0) ||
	       tl_writer_pipe_closed(c->writer);
}

int tl_capture_stop(struct tl_capture *c, struct tl_err *err)
{
	if (!c->started)
		return 0;
	c->started = false;
	if (c->recode != NULL)
		tl_recode_end(c->recode);
	int rc = tl_writer_stop(c->writer, err);
	if (c->recode != NULL)
		tl_recode_stop(c->recode);
	return rc;
}

void tl_capture_destroy(struct tl_capture *c)
{
	if (c == NULL)
		return;
	tl_capture_stop(c, NULL);
	if (c->writer != NULL)
		tl_writer_destroy(c->writer);
	tl_recode_destroy(c->recode);
	for (uint16_t q = 0; q < c->n_queues; q++) {
		tl_flow_destroy(c->taps[q].flows);
		tl_police_destroy(c->taps[q].police);
		tl_slab_destroy(c->rings[q]);
	}
	if (c->filter != NULL)
		tl_filter_destroy(c->filter);
	if (c->trigger.filter != NULL)
		tl_filter_destroy(c->trigger.filter);
	pthread_mutex_destroy(&c->trigger.lock);
	tl_capture_clocks_fini(&c->clocks);
	rte_free(c);
}

const char *const *tl_capture_files(struct tl_capture *c, uint32_t *n)
{
	return tl_writer_files(c->writer, n);
}

const char *tl_capture_error(const struct tl_capture *c)
{
	return tl_writer_error(c->writer);
}
