// SPDX-License-Identifier: BSD-3-Clause
// Reader thread: decodes files ahead of the lcore, selects frames, and puts them into the ring with their due times.

#include "replay_priv.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include <tl_extract_source.h>
#include <tl_filter.h>
#include <tl_guard.h>
#include <tl_wire.h>

#define WAIT_NS (100 * TL_NS_PER_US)
#define FCS_BYTES 4
#define NOTE_EVERY 16 // records between two notes of the position

bool replay_is_stopped(const struct replay_reader *r)
{
	return atomic_load_explicit(r->stop, memory_order_relaxed) ||
	       atomic_load_explicit(&r->interrupted, memory_order_relaxed);
}

// Counter of frames that are given up: at the end of the run, or for a seek.
static uint64_t *given_up(struct replay_reader *r)
{
	return atomic_load_explicit(&r->interrupted, memory_order_relaxed) ? &r->ledger.skipped_seek_pkts
									   : &r->ledger.unsent_pkts;
}

// Wait for space: the ring is full, so the first frame can be sent.
static void wait_for_room(struct replay_reader *r)
{
	const struct timespec wait = {.tv_nsec = WAIT_NS};

	atomic_store_explicit(&r->ready, true, memory_order_release);
	(void)nanosleep(&wait, NULL);
}

// ---- into the ring

// Put the batch into the ring; count the frames left when the run is stopped.
static void put_batch(struct replay_reader *r)
{
	unsigned put = 0;

	while (put < r->n_batch && !replay_is_stopped(r)) {
		put += rte_ring_sp_enqueue_burst(r->ring, (void *const *)&r->batch[put], r->n_batch - put, NULL);
		if (put < r->n_batch)
			wait_for_room(r);
	}
	tl_count(given_up(r), r->n_batch - put);
	rte_pktmbuf_free_bulk(&r->batch[put], r->n_batch - put);
	r->n_batch = 0;
}

// Fetch the cache lines of an mbuf that will be written, without reading it.
static void prefetch(struct rte_mempool *pool, struct rte_mbuf *m)
{
	rte_prefetch0_write(m);
	rte_prefetch0_write(rte_mbuf_to_priv(m));
	rte_prefetch0_write(rte_mbuf_buf_addr(m, pool) + RTE_PKTMBUF_HEADROOM);
}

// Allocate a batch of mbufs, and fetch their cache lines, which have been with the lcore: they are written a batch
// later.
static void get_next(struct replay_reader *r)
{
	if (r->n_next != 0 || rte_mempool_get_bulk(r->pool, (void **)r->next, REPLAY_BATCH) != 0)
		return;
	r->n_next = REPLAY_BATCH;
	for (unsigned i = 0; i < REPLAY_BATCH; i++)
		prefetch(r->pool, r->next[i]);
}

// Reset an mbuf from the pool, which has one segment. Its second cache line is left as it is: nothing reads the lengths
// of offloads there unless a flag is set.
static void reset(struct rte_mbuf *m)
{
	m->data_off = RTE_PKTMBUF_HEADROOM;
	m->port = RTE_MBUF_PORT_INVALID;
	m->ol_flags = 0;
	m->packet_type = 0;
}

// Allocate mbufs ahead. False: the pool is empty.
static bool refill(struct replay_reader *r)
{
	get_next(r);
	if (r->n_next == 0) {
		r->fresh[0] = rte_pktmbuf_alloc(r->pool);
		r->n_fresh = r->fresh[0] != NULL;
		return r->n_fresh != 0;
	}
	memcpy(r->fresh, r->next, sizeof(r->fresh));
	r->n_fresh = REPLAY_BATCH;
	r->n_next = 0;
	get_next(r);
	for (unsigned i = 0; i < REPLAY_BATCH; i++)
		reset(r->fresh[i]);
	return true;
}

// Take an mbuf. NULL: the run was stopped. The port may hold all mbufs outside the ring and the batch.
static struct rte_mbuf *get_mbuf(struct replay_reader *r)
{
	while (r->n_fresh == 0 && !refill(r) && !replay_is_stopped(r)) {
		put_batch(r);
		wait_for_room(r);
	}
	return r->n_fresh != 0 ? r->fresh[--r->n_fresh] : NULL;
}

uint32_t replay_copy(struct replay_reader *r, const struct tl_pcap_frame *frame, uint8_t *out)
{
	uint32_t bytes = frame->cap_bytes;

	if (!r->edits) {
		memcpy(out, frame->data, bytes);
		return bytes;
	}
	r->edited = tl_edit_copy(&r->edit, frame->data, bytes, out, &bytes);
	return bytes;
}

// Count the result of the edits once, although a frame may become several fragments.
static void count_edits(struct replay_reader *r)
{
	tl_count(&r->edit_malformed_pkts, r->edited == TL_EDIT_MALFORMED);
	tl_count(&r->edit_unsummed_pkts, r->edited == TL_EDIT_UNSUMMED);
	r->edited = TL_EDIT_DONE;
}

// Append a filled frame to the batch. False: a seek passes it.
static bool queue(struct replay_reader *r, struct rte_mbuf *m, uint64_t ts_ns, uint32_t bytes)
{
	uint64_t due_ns = tl_replay_schedule_next(&r->schedule, ts_ns, bytes);

	__atomic_store_n(&r->last_due_ns, due_ns, __ATOMIC_RELAXED);
	if (TL_UNLIKELY(due_ns < r->seek_ns || r->file < r->seek_file)) {
		rte_pktmbuf_free(m);
		tl_count(&r->ledger.skipped_seek_pkts, 1);
		return false;
	}
	if (TL_UNLIKELY(r->edited != TL_EDIT_DONE))
		count_edits(r);
	*(struct replay_tag *)rte_mbuf_to_priv(m) =
		(struct replay_tag){.due_ns = due_ns, .out = (uint16_t)r->out, .pass = r->pass};
	m->pkt_len = bytes;
	if (TL_UNLIKELY(!atomic_load_explicit(&r->landed, memory_order_relaxed))) {
		r->landed_ns = due_ns;
		atomic_store_explicit(&r->landed, true, memory_order_release);
	}
	r->batch[r->n_batch++] = m;
	if (r->n_batch == REPLAY_BATCH)
		put_batch(r);
	return true;
}

static void put(struct replay_reader *r, const struct tl_pcap_frame *frame)
{
	if (TL_UNLIKELY(frame->cap_bytes + TL_EDIT_GROWTH > r->room_bytes) && r->scratch != NULL) {
		replay_put(r, frame->ts_ns, r->scratch, replay_copy(r, frame, r->scratch));
		return;
	}
	struct rte_mbuf *m = get_mbuf(r);
	if (m == NULL) {
		tl_count(given_up(r), 1);
		return;
	}
	m->data_len = (uint16_t)replay_copy(r, frame, rte_pktmbuf_mtod(m, uint8_t *));
	queue(r, m, frame->ts_ns, m->data_len);
}

// Copy a frame into as many mbufs as it needs. NULL: the run was stopped.
static struct rte_mbuf *fill(struct replay_reader *r, const uint8_t *data, uint32_t bytes)
{
	struct rte_mbuf *first = NULL, **link = &first;
	uint32_t left = bytes;

	do {
		struct rte_mbuf *m = *link = get_mbuf(r);
		if (m == NULL) {
			rte_pktmbuf_free(first);
			return NULL;
		}
		m->data_len = (uint16_t)RTE_MIN(left, r->room_bytes);
		memcpy(rte_pktmbuf_mtod(m, uint8_t *), data + bytes - left, m->data_len);
		left -= m->data_len;
		first->nb_segs += link != &first;
		link = &m->next;
	} while (left != 0);
	return first;
}

bool replay_put(struct replay_reader *r, uint64_t ts_ns, const uint8_t *data, uint32_t bytes)
{
	struct rte_mbuf *m = fill(r, data, bytes);

	if (m == NULL)
		tl_count(given_up(r), 1);
	return m != NULL && queue(r, m, ts_ns, bytes);
}

// ---- frame selection

// Return the frame's type field as it will be sent: behind a tag that is stripped, or of one that is added.
static uint16_t sent_type(const struct tl_pcap_frame *frame, uint32_t sent_bytes)
{
	uint32_t at = offsetof(struct tl_ether_hdr, type_be) + (sent_bytes < frame->cap_bytes ? TL_VLAN_LEN : 0);

	return sent_bytes > frame->cap_bytes ? TL_ETHERTYPE_VLAN
					     : (uint16_t)(frame->data[at] << 8 | frame->data[at + 1]);
}

static bool is_long(const struct replay_reader *r, const struct tl_pcap_frame *frame)
{
	uint32_t bytes = r->edits ? tl_edit_copied_bytes(&r->edit, frame->data, frame->cap_bytes) : frame->cap_bytes;

	return TL_UNLIKELY(bytes > r->cfg->outs[r->out].frame_limit) &&
	       bytes > replay_limit(r, sent_type(frame, bytes));
}

// Return the counter for a frame that is not to be sent; NULL: it is to be sent.
static uint64_t *refusal(struct replay_reader *r, const struct tl_pcap_frame *frame)
{
	struct tl_replay_ledger *ledger = &r->ledger;

	if (frame->linktype != TL_PCAPNG_LINKTYPE_ETHERNET)
		return &ledger->skipped_linktype_pkts;
	if (r->cfg->filter != NULL &&
		!tl_filter_match_bytes(r->cfg->filter, frame->data, frame->cap_bytes, frame->wire_bytes))
		return &ledger->filtered_pkts;
	if (frame->cap_bytes < frame->wire_bytes)
		return &ledger->skipped_truncated_pkts;
	return frame->cap_bytes < TL_ETHER_LEN ? &ledger->skipped_short_pkts : NULL;
}

// Return the frame without its FCS, which the port adds.
static struct tl_pcap_frame trimmed(const struct tl_pcap_frame *frame)
{
	struct tl_pcap_frame out = *frame;

	if (frame->linktype == TL_PCAPNG_LINKTYPE_ETHERNET && frame->wire_bytes >= FCS_BYTES)
		out.wire_bytes -= FCS_BYTES;
	out.cap_bytes = RTE_MIN(out.cap_bytes, out.wire_bytes); // the snaplen may have cut a part of it
	return out;
}

void replay_take(struct replay_reader *r, const struct tl_pcap_frame *frame, const struct tl_pcap_reader *reader)
{
	struct tl_pcap_frame without_fcs;

	if (TL_UNLIKELY(frame->fcs)) {
		without_fcs = trimmed(frame);
		frame = &without_fcs;
	}
	uint64_t *refused = refusal(r, frame);
	if (refused == NULL && r->split.rule.by != TL_REPLAY_BY_NOTHING)
		r->out = replay_side(&r->split, frame, reader);
	if (refused != NULL)
		tl_count(refused, 1);
	else if (!is_long(r, frame))
		put(r, frame);
	else if (!replay_fit(r, frame))
		tl_count(&r->ledger.skipped_long_pkts, 1);
	tl_count(&r->ledger.read_pkts, 1);
	// Submit a partial batch when the ring is empty: the filter may select one frame in a million. Its cache line
	// belongs to the lcore: look at it once per batch.
	if (r->n_batch != 0 && r->ledger.read_pkts % REPLAY_BATCH == 0 && rte_ring_empty(r->ring))
		put_batch(r);
}

// ---- files

void replay_note_damage(struct replay_reader *r, const char *path, uint64_t offset, const struct tl_err *err)
{
	tl_count(&r->ledger.skipped_damaged_pkts, 1);
	tl_count(&r->ledger.read_pkts, 1);
	replay_damages_add(&r->damages, path, r->loop, offset, err);
}

// Note the position in the files.
static void note_bytes(struct replay_reader *r, uint64_t offset)
{
	__atomic_store_n(&r->read_bytes, r->done_bytes + offset, __ATOMIC_RELAXED);
}

static bool read_next(struct replay_reader *r, struct tl_extract_source *source, int *rc, struct tl_err *err)
{
	struct tl_pcap_frame frame;

	if (replay_is_stopped(r) || (*rc = tl_extract_source_next(source, &frame, err)) != 1)
		return false;
	if (r->ledger.read_pkts % NOTE_EVERY == NOTE_EVERY - 1) // a full ring stops the reader after these
		note_bytes(r, tl_extract_source_offset(source));
	replay_take(r, &frame, source->reader);
	return true;
}

static void read_file(struct replay_reader *r, const char *path)
{
	struct tl_extract_source source;
	struct tl_err err;
	int rc = 0;

	if (tl_extract_source_open_ahead(&source, path, r->ahead, &err) != 0) {
		replay_note_damage(r, path, 0, &err);
		return;
	}
	do {
		while (read_next(r, &source, &rc, &err))
			continue;
		if (replay_is_stopped(r) || rc == 0)
			break;
		replay_note_damage(r, path, source.wrong_at, &err);
	} while (tl_extract_source_skip(&source));
	r->done_bytes += tl_extract_source_bytes(&source);
	note_bytes(r, 0);
	tl_extract_source_close(&source);
}

static void read_loop(struct replay_reader *r)
{
	for (size_t i = 0; i < r->cfg->n_paths && !replay_is_stopped(r); i++) {
		tl_replay_schedule_file(&r->schedule, i == 0 && r->loop != 0);
		r->file = r->loop * r->cfg->n_paths + i;
		read_file(r, r->cfg->paths[i]);
		tl_count(&r->files_read, !replay_is_stopped(r));
	}
}

void *replay_reader_main(void *reader)
{
	struct replay_reader *r = reader;

	tl_guard_thread(TL_GUARD_FILES, "tl-replay");
	for (r->loop = 0; r->loop < r->cfg->loops && !replay_is_stopped(r); r->loop++) {
		tl_edit_set_loop(&r->edit, r->loop);
		replay_split_restart(&r->split);
		if (r->merge != NULL) {
			tl_replay_schedule_file(&r->schedule, r->loop != 0);
			replay_merge_loop(r);
		} else {
			read_loop(r);
		}
		if (r->loop == 0)
			__atomic_store_n(&r->loop_due_ns, r->last_due_ns, __ATOMIC_RELAXED);
		tl_count(&r->loops_read, !replay_is_stopped(r));
	}
	put_batch(r);
	rte_pktmbuf_free_bulk(r->fresh, r->n_fresh);
	rte_pktmbuf_free_bulk(r->next, r->n_next);
	r->n_fresh = r->n_next = 0;
	if (atomic_load_explicit(&r->interrupted, memory_order_relaxed))
		return NULL;
	atomic_store_explicit(&r->read_all, true, memory_order_release);
	atomic_store_explicit(&r->ready, true, memory_order_release);
	return NULL;
}
