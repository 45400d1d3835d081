// SPDX-License-Identifier: BSD-3-Clause
// Feed TCP segments and other frames to the sessions of a recording. Input: two limits of memory, then operations: a
// segment of one of two connections, with a sequence number near one of two starts and flags; or a raw frame. The
// payload is a function of side, start and position: a complete session has these bytes, without a hole. The same again
// with sessions taken one by one, at their ends, with their first bytes, and at their SYNs.

#include <stdlib.h>
#include <string.h>

#include <tl_session.h>
#include <tl_wire.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OP_BYTES 7
#define RAW 0xff // in place of flags
#define BACK 64	 // positions before the SYN
#define IDLE_NS 30000

// Sessions taken; each of the last two is held with one use.
struct live {
	const struct tl_session *held[2];
	uint64_t n;
	int raw;
};

static void take_all(struct tl_session_set *set, struct live *live);

static void require(int truth)
{
	if (!truth)
		abort();
}

static uint8_t byte_at(unsigned side, unsigned start, uint32_t position)
{
	return (uint8_t)((position * 2654435761u) >> 13 ^ (side << 1 | start) * 0x55);
}

static uint32_t isn(unsigned side, unsigned start)
{
	return start == 0 ? UINT32_MAX - 20 + side : 70000 * (side + 1);
}

// Heap block of exactly the captured length.
static void give(
	struct tl_session_set *set, const uint8_t *frame, uint32_t cap, uint32_t wire, uint64_t ts_ns, uint8_t link)
{
	uint8_t *exact = malloc(cap != 0 ? cap : 1);

	require(exact != NULL);
	if (cap != 0)
		memcpy(exact, frame, cap);
	require(tl_session_add(set, &(struct tl_session_frame){.data = exact,
					    .cap_bytes = cap,
					    .wire_bytes = wire,
					    .ts_ns = ts_ns,
					    .link = link % TL_LINKS}) == 0);
	free(exact);
}

static void give_segment(struct tl_session_set *set, const uint8_t op[OP_BYTES], uint64_t ts_ns)
{
	uint8_t frame[TL_ETHER_LEN + TL_IPV4_LEN + TL_TCP_LEN + 256] = {0};
	unsigned side = op[0] & 1, start = op[0] >> 1 & 1, cut = op[0] >> 3 & 1 ? 30 : 0;
	uint32_t place = op[1] & TL_TCP_SYN ? BACK : (op[2] | (uint32_t)op[3] << 8) % 2048, len = op[4];
	uint32_t bytes = TL_ETHER_LEN + TL_IPV4_LEN + TL_TCP_LEN + len;
	uint16_t client_be = tl_be16(op[0] & 4 ? 40000 : 40001), server_be = tl_be16(80);
	struct tl_ipv4_hdr *ip = (void *)(frame + TL_ETHER_LEN);
	struct tl_tcp_hdr *tcp = (void *)(ip + 1);

	frame[12] = 0x08;
	*ip = (struct tl_ipv4_hdr){.version_ihl = 0x45,
		.total_len_be = tl_be16((uint16_t)(bytes - TL_ETHER_LEN)),
		.proto = TL_IPPROTO_TCP,
		.src_be = tl_be32(0x0a000001u + side),
		.dst_be = tl_be32(0x0a000002u - side)};
	tl_wire_ipv4_finish(ip);
	*tcp = (struct tl_tcp_hdr){.src_port_be = side == 0 ? client_be : server_be,
		.dst_port_be = side == 0 ? server_be : client_be,
		.seq_be = tl_be32(isn(side, start) + place - BACK),
		.ack_be = tl_be32(isn(!side, op[0] >> 4 & 1) + op[5] + (uint32_t)(op[6] & 3) * 256),
		.data_off = 5 << 4,
		.flags = op[1]};
	// The byte after the SYN is at position 0, also in the segment with the SYN.
	uint32_t first = place - BACK - 1 + (op[1] & TL_TCP_SYN ? 1 : 0);
	for (uint32_t i = 0; i < len; i++)
		((uint8_t *)(tcp + 1))[i] = byte_at(side, start, first + i);
	give(set, frame, bytes - (cut < bytes ? cut : 0), bytes, ts_ns, TL_LINK_ETHERNET);
}

static void give_all(struct tl_session_set *set, const uint8_t *data, size_t size, struct live *live)
{
	uint64_t ts_ns = 1700000000 * TL_NS_PER_S;

	while (size >= OP_BYTES) {
		const uint8_t *op = data;
		data += OP_BYTES;
		size -= OP_BYTES;
		ts_ns += (uint64_t)(op[0] >> 5) * 1000;
		ts_ns -= op[6] & 128 ? 5000 : 0;
		if (live != NULL)
			take_all(set, live);
		if (op[1] != RAW) {
			give_segment(set, op, ts_ns);
			continue;
		}
		uint32_t len = op[2] < size ? op[2] : (uint32_t)size;
		give(set, data, len, len + op[3], ts_ns, op[4]);
		data += len;
		size -= len;
	}
}

// With a SYN of the port 80 the roles are swapped.
static int is_stream(const struct tl_session *s, unsigned side, unsigned start)
{
	unsigned sender = side ^ (s->end[TL_SESSION_CLIENT].port_be == tl_be16(80));

	for (uint64_t i = 0; i < s->bytes[side]; i++)
		if (s->data[side][i] != byte_at(sender, start, (uint32_t)i))
			return 0;
	return 1;
}

static void check_session(const struct tl_session *s, int raw)
{
	uint64_t sum[2] = {0}, ends[2] = {0}, resets = 0;

	for (uint32_t i = 0; i < s->n_steps; i++) {
		const struct tl_session_step *step = &s->steps[i];
		require(resets == 0 && (ends[step->side] == 0 || step->event == TL_SESSION_RST));
		require((step->event == TL_SESSION_DATA) == (step->bytes != 0) && step->last_ns >= step->at_ns);
		sum[step->side] += step->bytes;
		ends[step->side] += step->event == TL_SESSION_FIN;
		resets += step->event == TL_SESSION_RST;
	}
	for (unsigned side = 0; side < 2; side++)
		require(sum[side] == s->bytes[side]);
	require((s->class == TL_SESSION_COMPLETE && !s->is_open) == (resets == 1 || ends[0] + ends[1] == 2));
	for (unsigned side = 0; side < 2 && !raw; side++)
		require(is_stream(s, side, 0) || is_stream(s, side, 1));
}

static void check_stats(const struct tl_session_set *set, uint64_t sessions, uint64_t limit)
{
	const struct tl_session_stats *stats = tl_session_get_stats(set);
	uint64_t sum = 0;

	for (int i = 0; i < TL_SESSION_CLASSES; i++)
		sum += stats->classes[i];
	require(sum == sessions);
	require(stats->frames_pkts == stats->used_pkts + stats->ignored_pkts + stats->truncated_pkts +
					      stats->stray_pkts + stats->beyond_pkts);
	require(stats->memory_max_bytes <= limit && stats->memory_bytes <= stats->memory_max_bytes);
}

static void release(struct tl_session_set *set, const struct tl_session **held)
{
	if (*held != NULL)
		tl_session_release(set, *held, 1);
	*held = NULL;
}

static void take_all(struct tl_session_set *set, struct live *live)
{
	const struct tl_session *s;

	while ((s = tl_session_take(set, 2)) != NULL) {
		const struct tl_session **held = &live->held[live->n % 2];
		check_session(s, live->raw);
		if (s->is_again)
			continue;
		live->n++;
		tl_session_release(set, s, 1);
		release(set, held);
		*held = s;
	}
}

static int has_raw(const uint8_t *data, size_t size)
{
	for (size_t i = 1; i < size; i++)
		if (data[i] == RAW)
			return 1;
	return 0;
}

static void run_whole(const struct tl_session_cfg *cfg, const uint8_t *data, size_t size, int raw)
{
	struct tl_session_set *set;

	require(tl_session_create(cfg, &set) == 0);
	give_all(set, data, size, NULL);
	tl_session_finish(set);
	for (uint64_t i = 0; i < tl_session_count(set); i++)
		check_session(tl_session_at(set, i), raw);
	check_stats(set, tl_session_count(set), cfg->memory_bytes);
	tl_session_destroy(set);
}

static void run_live(const struct tl_session_cfg *cfg, const uint8_t *data, size_t size, int raw)
{
	struct live live = {.raw = raw};
	struct tl_session_set *set;

	require(tl_session_create(cfg, &set) == 0);
	give_all(set, data, size, &live);
	tl_session_end(set);
	take_all(set, &live);
	release(set, &live.held[0]);
	release(set, &live.held[1]);
	require(tl_session_count(set) == 0);
	check_stats(set, live.n, cfg->memory_bytes);
	tl_session_destroy(set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	struct tl_session_cfg cfg = {.memory_bytes = TL_SESSION_MEMORY_MIN + data[0] * UINT64_C(64),
		.session_bytes = data[1] * UINT64_C(16),
		.pause_ns = 3000};
	int raw = has_raw(data + 2, size - 2);

	run_whole(&cfg, data + 2, size - 2, raw);
	cfg.idle_ns = IDLE_NS;
	for (cfg.offer = TL_SESSION_AT_END; cfg.offer <= TL_SESSION_AT_SYN; cfg.offer++)
		run_live(&cfg, data + 2, size - 2, raw);
	return 0;
}
