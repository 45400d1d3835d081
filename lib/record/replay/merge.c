// SPDX-License-Identifier: BSD-3-Clause
// Files merged by time: a heap of open files, ordered by their next frames. A file is opened when the frames before it
// are done, so that a playlist of any length has few files open.

#include "replay_priv.h"

#include <stdlib.h>

#include <tl_extract_source.h>

struct source {
	struct tl_extract_source source;
	struct tl_pcap_frame frame; // next
	size_t file;
};

struct replay_merge {
	struct source sources[TL_REPLAY_MERGE_MAX];
	struct source *heap[TL_REPLAY_MERGE_MAX]; // the first n are open; the others are free
	unsigned n;
	size_t next_file;
	uint64_t last_ts_ns; // of the last frame taken
};

struct replay_merge *replay_merge_create(void)
{
	struct replay_merge *m = calloc(1, sizeof(*m));

	for (unsigned i = 0; m != NULL && i < TL_REPLAY_MERGE_MAX; i++)
		m->heap[i] = &m->sources[i];
	return m;
}

// ---- heap

static bool is_before(const struct source *a, const struct source *b)
{
	return a->frame.ts_ns != b->frame.ts_ns ? a->frame.ts_ns < b->frame.ts_ns : a->file < b->file;
}

static void swap(struct replay_merge *m, unsigned a, unsigned b)
{
	struct source *source = m->heap[a];

	m->heap[a] = m->heap[b];
	m->heap[b] = source;
}

static void sift_up(struct replay_merge *m, unsigned at)
{
	for (; at != 0 && is_before(m->heap[at], m->heap[(at - 1) / 2]); at = (at - 1) / 2)
		swap(m, at, (at - 1) / 2);
}

static void sift_down(struct replay_merge *m)
{
	unsigned at = 0, child;

	while ((child = 2 * at + 1) < m->n) {
		child += child + 1 < m->n && is_before(m->heap[child + 1], m->heap[child]);
		if (!is_before(m->heap[child], m->heap[at]))
			return;
		swap(m, at, child);
		at = child;
	}
}

// ---- files

// Read the next frame of a file. False: there is none, and the file is closed.
static bool advance(struct replay_reader *r, struct source *s)
{
	struct tl_err err;
	int rc;

	while ((rc = tl_extract_source_next(&s->source, &s->frame, &err)) < 0) {
		replay_note_damage(r, r->cfg->paths[s->file], s->source.wrong_at, &err);
		if (!tl_extract_source_skip(&s->source))
			break;
	}
	if (rc == 1)
		return true;
	tl_extract_source_close(&s->source);
	tl_count(&r->files_read, 1);
	return false;
}

static void open_next(struct replay_reader *r, struct replay_merge *m)
{
	struct source *s = m->heap[m->n];
	struct tl_err err;

	s->file = m->next_file++;
	tl_count(&r->waited_files, m->last_ts_ns > r->cfg->first_ns[s->file] && r->cfg->first_ns[s->file] != 0);
	if (tl_extract_source_open_ahead(&s->source, r->cfg->paths[s->file], r->ahead, &err) != 0) {
		replay_note_damage(r, r->cfg->paths[s->file], 0, &err);
		tl_count(&r->files_read, 1);
	} else if (advance(r, s)) {
		sift_up(m, m->n++);
	}
}

// True if the next file has to be opened before the first frame of the heap is taken.
static bool is_due(const struct replay_reader *r, const struct replay_merge *m)
{
	if (m->next_file == r->cfg->n_paths || m->n == TL_REPLAY_MERGE_MAX)
		return false;
	return m->n == 0 || r->cfg->first_ns[m->next_file] <= m->heap[0]->frame.ts_ns;
}

void replay_merge_loop(struct replay_reader *r)
{
	struct replay_merge *m = r->merge;

	m->n = 0;
	m->next_file = 0;
	m->last_ts_ns = 0;
	while (!replay_is_stopped(r)) {
		while (is_due(r, m))
			open_next(r, m);
		if (m->n == 0)
			return;
		struct source *first = m->heap[0];
		m->last_ts_ns = first->frame.ts_ns;
		replay_take(r, &first->frame, first->source.reader);
		if (!advance(r, first))
			swap(m, 0, --m->n);
		sift_down(m);
	}
	while (m->n != 0)
		tl_extract_source_close(&m->heap[--m->n]->source);
}
