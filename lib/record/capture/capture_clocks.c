// SPDX-License-Identifier: BSD-3-Clause
// Clock log of a recording: main adds a record per second, the writer's threads write them with the statistics.

#include "capture_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LOG_RECORDS 8192u // over an hour of two clocks
// Older records that a block repeats: a file covers the seconds before its first packet, too, and records of a block
// whose write failed are in the next.
#define OVERLAP_RECORDS 40u

int tl_capture_clocks_init(struct tl_capture_clocks *clocks, uint64_t now_ns)
{
	pthread_mutex_init(&clocks->lock, NULL);
	clocks->start_ns = now_ns;
	clocks->log = calloc(LOG_RECORDS, sizeof(*clocks->log));
	return clocks->log != NULL ? 0 : -ENOMEM;
}

void tl_capture_clocks_fini(struct tl_capture_clocks *clocks)
{
	free(clocks->log);
	pthread_mutex_destroy(&clocks->lock);
}

static struct tl_pcapng_clock_record record_of(const struct tl_clock_reading *reading, enum tl_pcapng_clock_id clock)
{
	return (struct tl_pcapng_clock_record){.number = reading->number,
		.time_ns = reading->time_ns,
		.age_ns = reading->age_ns,
		.offset_ns = reading->offset_ns,
		.half_ns = reading->half_ns,
		.bound_ns = reading->bound_ns,
		.rate_uhz = (uint64_t)(reading->rate_hz * 1e6),
		.clock = clock,
		.flags = (reading->stepped ? TL_PCAPNG_CLOCK_STEPPED : 0) |
			 (reading->set_aside ? TL_PCAPNG_CLOCK_SET_ASIDE : 0) |
			 (reading->half_ns == 0 ? TL_PCAPNG_CLOCK_NOT_READ : 0)};
}

void tl_capture_clocks_skip(
	struct tl_capture_clocks *clocks, enum tl_pcapng_clock_id id, const struct tl_clock_reading *reading)
{
	clocks->seen[id] = reading->number;
}

// The largest error: the offset found counts even if it exceeds the bound.
static uint64_t worst_ns(const struct tl_clock_reading *reading)
{
	uint64_t offset_ns = (uint64_t)(reading->offset_ns < 0 ? -reading->offset_ns : reading->offset_ns);

	return tl_max_u64(reading->bound_ns, offset_ns);
}

void tl_capture_clocks_add(
	struct tl_capture_clocks *clocks, enum tl_pcapng_clock_id id, const struct tl_clock_reading *reading)
{
	struct tl_pcapng_clock_record record = record_of(reading, id);

	if (reading->number == clocks->seen[id])
		return;
	clocks->seen[id] = reading->number;
	pthread_mutex_lock(&clocks->lock);
	clocks->known[id] = true;
	clocks->bound_max_ns[id] = tl_max_u64(clocks->bound_max_ns[id], worst_ns(reading));
	clocks->log[clocks->n++ % LOG_RECORDS] = record;
	if (reading->stepped && clocks->n_steps++ < TL_CAPTURE_STEPS)
		clocks->step[clocks->n_steps - 1] = record;
	pthread_mutex_unlock(&clocks->lock);
}

// ---- into a file

// First record for a block: new ones and some before them, as far as there is room.
static uint64_t first_of(const struct tl_capture_clocks *clocks, uint64_t room)
{
	uint64_t wanted = clocks->put - tl_min_u64(clocks->put, OVERLAP_RECORDS);

	return tl_max_u64(wanted, clocks->n - tl_min_u64(clocks->n, tl_min_u64(room, LOG_RECORDS)));
}

static uint32_t put(struct tl_capture_clocks *clocks, struct tl_pcapng_clock_record *records, uint32_t room, void *buf,
	uint32_t size)
{
	uint32_t n_steps = (uint32_t)tl_min_u64(clocks->n_steps, TL_CAPTURE_STEPS), n = n_steps;
	struct tl_pcapng_clock block = {.start_ns = clocks->start_ns, .steps = clocks->n_steps};

	memcpy(records, clocks->step, n_steps * sizeof(*records));
	for (uint64_t i = first_of(clocks, room - n_steps); i < clocks->n; i++)
		records[n++] = clocks->log[i % LOG_RECORDS];
	for (int id = 0; id < TL_PCAPNG_CLOCKS; id++)
		block.bound_max_ns[id] = clocks->known[id] ? clocks->bound_max_ns[id] : UINT64_MAX;
	block.records = n;
	clocks->put = clocks->n;
	return tl_pcapng_put_clock(buf, size, &block, records);
}

uint32_t tl_capture_clocks_put(struct tl_capture_clocks *clocks, void *buf, uint32_t size)
{
	uint32_t room =
		size < TL_PCAPNG_CLOCK_BYTES ? 0 : (size - TL_PCAPNG_CLOCK_BYTES) / TL_PCAPNG_CLOCK_RECORD_BYTES;
	struct tl_pcapng_clock_record *records = malloc(room * sizeof(*records));
	uint32_t used = 0;

	pthread_mutex_lock(&clocks->lock);
	if (records != NULL && room > TL_CAPTURE_STEPS && clocks->n != 0)
		used = put(clocks, records, room, buf, size);
	pthread_mutex_unlock(&clocks->lock);
	free(records);
	return used;
}

// ---- of a recording

void tl_capture_log_clocks(struct tl_capture *c)
{
	enum tl_ts_source sources[2];
	struct tl_clock_reading nic;

	if (tl_capture_sources(c, sources) == 1 && sources[0] == TL_TS_FILE)
		return;
	tl_capture_clocks_add(&c->clocks, TL_PCAPNG_CLOCK_WALL, &c->cfg.clock->last);
	if (tl_port_clock_reading(c->cfg.port, &nic))
		tl_capture_clocks_add(&c->clocks, TL_PCAPNG_CLOCK_NIC, &nic);
}

// Bound of a source; unknown for stamps of the kernel and of files.
static uint64_t bound_of(const struct tl_capture_clocks *clocks, enum tl_ts_source source)
{
	enum tl_pcapng_clock_id id = source == TL_TS_NIC_RX ? TL_PCAPNG_CLOCK_NIC : TL_PCAPNG_CLOCK_WALL;

	if ((source != TL_TS_NIC_RX && source != TL_TS_TSC) || !clocks->known[id])
		return UINT64_MAX;
	return clocks->bound_max_ns[id];
}

// True if no received frame had a stamp of the port's source, such as behind a gate that refused all.
static bool has_no_stamps(struct tl_port *port)
{
	uint64_t unstamped = 0, pkts = 0;

	for (uint16_t q = 0; q < tl_port_config(port)->rx_queues; q++) {
		const struct tl_rxq_stats *rx = &tl_port_rxq(port, q)->stats;
		unstamped += tl_count_read(&rx->unstamped_pkts);
		pkts += tl_count_read(&rx->rx_pkts);
	}
	return pkts != 0 && unstamped == pkts;
}

// The sources of recorded frames. Up to the first frame those that it may have.
static unsigned sources_used(const struct tl_capture *c, enum tl_ts_source sources[2])
{
	unsigned n = tl_capture_sources(c, sources);

	if (n == 2 && has_no_stamps(c->cfg.port))
		sources[--n - 1] = sources[1];
	return n;
}

void tl_capture_sample_clocks(struct tl_capture *c, struct tl_capture_stats *out)
{
	struct tl_capture_clocks *clocks = &c->clocks;
	enum tl_ts_source sources[2];
	struct tl_port_stamps port;

	tl_port_stamps(c->cfg.port, &port);
	out->n_stamps = sources_used(c, sources);
	out->n_steps = clocks->n_steps;
	for (uint32_t i = 0; i < out->n_stamps; i++)
		out->stamps[i] = (struct tl_capture_stamps){.source = sources[i],
			.unit_ns = sources[i] == TL_TS_TSC ? 1 : port.unit_ns,
			.bound_max_ns = bound_of(clocks, sources[i])};
	for (uint32_t i = 0; i < tl_min_u64(out->n_steps, TL_CAPTURE_STEPS); i++)
		out->step[i] = (struct tl_capture_step){.time_ns = clocks->step[i].time_ns,
			.offset_ns = clocks->step[i].offset_ns,
			.clock = (enum tl_pcapng_clock_id)clocks->step[i].clock};
}
