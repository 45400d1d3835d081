// SPDX-License-Identifier: BSD-3-Clause
// Replay without a device: frames of files, sent to a simulated port at simulated times.

#include "replay_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_mbuf_dyn.h>

#include <tl_clock.h>
#include <tl_extract_source.h>
#include <tl_filter.h>
#include <tl_replay_playlist.h>
#include <tl_test.h>
#include <tl_test_eal.h>
#include <tl_wire.h>

#include "clock_priv.h"

#define FRAMES_MAX 20000
#define FRAME_BYTES 60
#define LIMIT 1514

static char dir[] = "/tmp/tapline-test-replay-XXXXXX";
static struct tl_clock *test_clock;
static struct tl_err err;

// ---- files

static uint8_t image[4 << 20];
static size_t image_bytes;

static void put32(uint32_t value)
{
	memcpy(image + image_bytes, &value, sizeof(value));
	image_bytes += sizeof(value);
}

static void begin_pcap(void)
{
	image_bytes = tl_pcap_put_header(image, sizeof(image), 0);
}

// Make a frame with its number after the header.
static void fill_frame(uint8_t *frame, uint32_t number, uint32_t bytes)
{
	memset(frame, 0xee, bytes);
	if (bytes >= TL_ETHER_LEN + sizeof(number))
		memcpy(frame + TL_ETHER_LEN, &number, sizeof(number));
}

static void add_pcap(uint32_t number, uint64_t ts_ns, uint32_t cap_bytes, uint32_t wire_bytes)
{
	put32((uint32_t)(ts_ns / TL_NS_PER_S));
	put32((uint32_t)(ts_ns % TL_NS_PER_S));
	put32(cap_bytes);
	put32(wire_bytes);
	fill_frame(image + image_bytes, number, cap_bytes);
	image_bytes += cap_bytes;
}

static void begin_pcapng(uint16_t linktype)
{
	image_bytes = tl_pcapng_put_shb(image, sizeof(image), &(struct tl_pcapng_shb){0});
	uint8_t *idb = image + image_bytes;
	image_bytes += tl_pcapng_put_idb(idb, (uint32_t)(sizeof(image) - image_bytes), &(struct tl_pcapng_idb){0});
	tl_pcapng_set_linktype(idb, linktype);
}

static void add_pcapng(uint32_t number, uint64_t ts_ns, uint32_t interface_id)
{
	const struct tl_pcapng_epb epb = {
		.interface_id = interface_id, .cap_bytes = FRAME_BYTES, .wire_bytes = FRAME_BYTES, .ts_ns = ts_ns};

	fill_frame(tl_pcapng_put_epb(image + image_bytes, &epb), number, FRAME_BYTES);
	image_bytes += tl_pcapng_epb_bytes(FRAME_BYTES, 0, 0);
}

static void add_padding(uint32_t bytes)
{
	tl_pcapng_put_pad(image + image_bytes, bytes);
	image_bytes += bytes;
}

static const char *save_as(const char *name)
{
	static char paths[8][64];
	static unsigned n;
	char *path = paths[n++ % TL_ARRAY_LEN(paths)];

	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	CU_ASSERT_EQUAL_FATAL(write(fd, image, image_bytes), (ssize_t)image_bytes);
	close(fd);
	return path;
}

static uint32_t number_of(const uint8_t *frame)
{
	uint32_t number;

	memcpy(&number, frame + TL_ETHER_LEN, sizeof(number));
	return number;
}

// ---- the port

static struct {
	int offset;
	uint64_t flag;
} at; // mbuf field of a send time

static struct port {
	uint32_t numbers[FRAMES_MAX];
	uint64_t ticks[64]; // send times of the first frames; 0: none
	unsigned n, calls;
	unsigned calls_of[64];	       // frames in each of the first calls
	unsigned refuses;	       // this many calls accept none
	bool shut;		       // accepts none for the rest of the run
	uint16_t takes;		       // frames accepted per call; 0: all
	atomic_bool *stop;	       // set after stop_after frames
	struct tl_replay *stop_replay; // replay to stop, likewise
	unsigned stop_after;
	struct tl_clock_swap *time; // advanced by step_ns at each call; NULL: it runs
	uint64_t step_ns;
} port;

static void move_time(void)
{
	struct tl_clock_line line;

	if (port.time == NULL)
		return;
	line = port.time->line;
	line.base_ns += port.step_ns;
	tl_clock_swap_store(port.time, line);
}

static void port_flush(struct tl_txq *q)
{
	q->begin_tsc = rte_rdtsc();
	move_time();
	if (port.shut || port.refuses != 0) {
		port.refuses -= !port.shut;
		if (port.shut && port.stop_replay != NULL)
			tl_replay_stop(port.stop_replay);
		return;
	}
	if (port.calls < TL_ARRAY_LEN(port.calls_of))
		port.calls_of[port.calls] = q->n;
	port.calls++;
	uint16_t n = port.takes != 0 && port.takes < q->n ? port.takes : q->n;
	for (uint16_t i = 0; i < n; i++) {
		const uint8_t *frame = rte_pktmbuf_mtod(q->pkts[i], const uint8_t *);
		if (port.n < TL_ARRAY_LEN(port.ticks) && (q->pkts[i]->ol_flags & at.flag) != 0)
			port.ticks[port.n] = *RTE_MBUF_DYNFIELD(q->pkts[i], at.offset, rte_mbuf_timestamp_t *);
		if (port.n < FRAMES_MAX)
			port.numbers[port.n++] = number_of(frame);
		q->tx_bytes += q->pkts[i]->pkt_len;
	}
	rte_pktmbuf_free_bulk(q->pkts, n);
	q->n -= n;
	memmove(q->pkts, q->pkts + n, q->n * sizeof(q->pkts[0]));
	if (port.stop_after != 0 && port.n >= port.stop_after && port.stop_replay != NULL)
		tl_replay_stop(port.stop_replay);
	if (port.stop_after != 0 && port.n >= port.stop_after && port.stop != NULL)
		atomic_store(port.stop, true);
}

// A second port, in the rig only.
static struct {
	uint32_t numbers[FRAMES_MAX];
	unsigned n, calls;
	atomic_bool *stop; // set by the tenth call
	bool shut;
	unsigned until; // accepts none until the first port has sent this many frames; 0: never
} shutter;

static void second_flush(struct tl_txq *q)
{
	q->begin_tsc = rte_rdtsc();
	if (++shutter.calls == 10 && shutter.stop != NULL)
		atomic_store(shutter.stop, true);
	if (shutter.shut && (shutter.until == 0 || port.n < shutter.until)) {
		move_time();
		return;
	}
	for (uint16_t i = 0; i < q->n; i++)
		shutter.numbers[shutter.n++] = number_of(rte_pktmbuf_mtod(q->pkts[i], const uint8_t *));
	rte_pktmbuf_free_bulk(q->pkts, q->n);
	q->n = 0;
}

// ---- a whole replay

static struct tl_txq txq, second_txq;
static struct tl_replay_stats stats;
static struct tl_replay_damage damages[TL_REPLAY_DAMAGES_MAX];
static size_t n_damages;
static uint64_t hist_count;

static struct tl_replay_cfg cfg_of(const char *const *paths, size_t n)
{
	txq = (struct tl_txq){.flush_fn = port_flush};
	port = (struct port){0};
	return (struct tl_replay_cfg){.paths = paths,
		.n_paths = n,
		.loops = 1,
		.pacing = {.pace = TL_REPLAY_RECORDED, .speed = TL_REPLAY_MILLION, .max_gap_ns = UINT64_MAX},
		.outs = {{.txq = &txq, .frame_limit = LIMIT, .held_pkts = 64}},
		.n_outs = 1,
		.clock = test_clock,
		.ahead_pkts = 64,
		.late_ns = TL_NS_PER_S};
}

static void play(const struct tl_replay_cfg *cfg, bool stops)
{
	const struct tl_replay_damage *list;
	struct tl_replay *replay;

	CU_ASSERT_EQUAL_FATAL(tl_replay_create(cfg, &replay, &err), 0);
	port.stop_replay = stops ? replay : NULL;
	CU_ASSERT_EQUAL_FATAL(tl_replay_start(replay, &err), 0);
	CU_ASSERT_TRUE(tl_test_until(tl_replay_is_ready(replay)));
	tl_replay_begin(replay, 0);
	CU_ASSERT_EQUAL(tl_replay_send(replay), 0);
	tl_replay_finish(replay);
	tl_replay_sample(replay, &stats);
	n_damages = tl_replay_damages(replay, &list);
	memcpy(damages, list, n_damages * sizeof(*list));
	hist_count = tl_replay_lateness(replay) != NULL ? tl_replay_lateness(replay)->count : 0;
	tl_replay_destroy(replay);
	CU_ASSERT_TRUE(tl_replay_ledger_ok(&stats.ledger));
}

static void play_path(const char *path)
{
	struct tl_replay_cfg cfg = cfg_of(&path, 1);

	play(&cfg, false);
}

static void expect_numbers(uint32_t first, unsigned n)
{
	CU_ASSERT_EQUAL(port.n, n);
	for (unsigned i = 0; i < port.n; i++)
		CU_ASSERT_EQUAL(port.numbers[i], first + i);
}

TL_TEST("files and loops are sent in order, every frame once")
{
	const char *paths[2];

	begin_pcap();
	for (uint32_t i = 0; i < 300; i++)
		add_pcap(i, TL_NS_PER_S + i, FRAME_BYTES, FRAME_BYTES);
	paths[0] = save_as("a.pcap");
	begin_pcapng(TL_PCAPNG_LINKTYPE_ETHERNET);
	for (uint32_t i = 300; i < 700; i++)
		add_pcapng(i, TL_NS_PER_S + i, 0);
	paths[1] = save_as("b.pcapng");
	struct tl_replay_cfg cfg = cfg_of(paths, 2);
	cfg.loops = 3;
	play(&cfg, false);
	CU_ASSERT_EQUAL(port.n, 2100);
	for (unsigned i = 0; i < port.n; i++)
		CU_ASSERT_EQUAL(port.numbers[i], i % 700);
	CU_ASSERT_EQUAL(stats.ledger.read_pkts, 2100);
	CU_ASSERT_EQUAL(stats.ledger.sent_pkts, 2100);
	CU_ASSERT_EQUAL(stats.sent_bytes, 2100 * FRAME_BYTES);
	CU_ASSERT_EQUAL(stats.loops_read, 3);
	CU_ASSERT_EQUAL(stats.files_read, 6);
	CU_ASSERT_EQUAL(hist_count, 2100);
	CU_ASSERT_TRUE(stats.elapsed_ns >= 3 * 699);
}

TL_TEST("each record ends in exactly one counter")
{
	struct tl_filter *filter;
	const char *path;

	begin_pcap();
	add_pcap(0, 1, FRAME_BYTES, FRAME_BYTES);
	add_pcap(1, 2, FRAME_BYTES, FRAME_BYTES + 1); // truncated
	add_pcap(2, 3, TL_ETHER_LEN - 1, TL_ETHER_LEN - 1);
	add_pcap(3, 4, LIMIT, LIMIT);
	add_pcap(4, 5, LIMIT + 1, LIMIT + 1);
	add_pcap(5, 6, LIMIT + 4, LIMIT + 4);
	image[image_bytes - LIMIT - 4 + 12] = 0x81; // an 802.1Q tag
	image[image_bytes - LIMIT - 4 + 13] = 0;
	add_pcap(6, 7, LIMIT + 5, LIMIT + 5);
	image[image_bytes - LIMIT - 5 + 12] = 0x81;
	image[image_bytes - LIMIT - 5 + 13] = 0;
	path = save_as("all.pcap");
	play_path(path);
	CU_ASSERT_EQUAL(stats.ledger.read_pkts, 7);
	CU_ASSERT_EQUAL(stats.ledger.sent_pkts, 3);
	CU_ASSERT_EQUAL(stats.ledger.skipped_truncated_pkts, 1);
	CU_ASSERT_EQUAL(stats.ledger.skipped_short_pkts, 1);
	CU_ASSERT_EQUAL(stats.ledger.skipped_long_pkts, 2);
	CU_ASSERT_EQUAL(port.numbers[1], 3);
	CU_ASSERT_EQUAL(port.numbers[2], 5);
	CU_ASSERT_EQUAL_FATAL(tl_filter_create_plain("greater 1000", &filter, &err), 0);
	struct tl_replay_cfg cfg = cfg_of(&path, 1);
	cfg.filter = filter;
	play(&cfg, false);
	tl_filter_destroy(filter);
	CU_ASSERT_EQUAL(stats.ledger.filtered_pkts, 3);
	CU_ASSERT_EQUAL(stats.ledger.sent_pkts, 2);
	CU_ASSERT_EQUAL(stats.ledger.skipped_truncated_pkts, 0);
	CU_ASSERT_EQUAL(stats.ledger.skipped_long_pkts, 2);
	begin_pcapng(101); // LINKTYPE_RAW
	add_pcapng(0, 1, 0);
	play_path(save_as("raw.pcapng"));
	CU_ASSERT_EQUAL(stats.ledger.skipped_linktype_pkts, 1);
	CU_ASSERT_EQUAL(port.n, 0);
}

static void tag_last_frame(uint32_t bytes)
{
	memcpy(image + image_bytes - bytes + 2 * TL_ETHER_ADDR_LEN, "\x81\0\0\1\x88\xb5", 6);
}

TL_TEST("the edited length decides whether a frame is too long")
{
	struct tl_edit edit;
	const char *path;

	begin_pcap();
	add_pcap(0, 1, LIMIT, LIMIT);
	add_pcap(1, 2, LIMIT + 4, LIMIT + 4);
	tag_last_frame(LIMIT + 4);
	add_pcap(2, 3, LIMIT + 5, LIMIT + 5);
	tag_last_frame(LIMIT + 5);
	path = save_as("tags.pcap");
	struct tl_replay_cfg cfg = cfg_of(&path, 1);
	tl_edit_init(&edit);
	cfg.edit = &edit;
	CU_ASSERT_EQUAL(tl_edit_set_vlan(&edit, "add:1", &err), 0);
	play(&cfg, false);
	CU_ASSERT_EQUAL(stats.ledger.sent_pkts, 1);
	CU_ASSERT_EQUAL(stats.sent_bytes, LIMIT + 4);
	cfg = cfg_of(&path, 1);
	cfg.edit = &edit;
	CU_ASSERT_EQUAL(tl_edit_set_vlan(&edit, "strip", &err), 0);
	play(&cfg, false);
	CU_ASSERT_EQUAL(stats.ledger.sent_pkts, 2);
	CU_ASSERT_EQUAL(stats.sent_bytes, 2 * LIMIT);
	CU_ASSERT_EQUAL(stats.ledger.skipped_long_pkts, 1);
}

// The reader needs minutes for the rest of the file; the frame must not wait for that.
TL_TEST("a frame gets to the lcore though nothing to be sent follows it")
{
	static const char *paths[1000000];
	struct tl_replay *replay;
	const char *others;

	begin_pcap();
	for (uint32_t i = 0; i < 1000; i++)
		add_pcap(i, 1, FRAME_BYTES, FRAME_BYTES + 1);
	others = save_as("others.pcap");
	begin_pcap();
	add_pcap(0, 1, FRAME_BYTES, FRAME_BYTES);
	paths[0] = save_as("rare.pcap");
	for (size_t i = 1; i < TL_ARRAY_LEN(paths); i++)
		paths[i] = others;
	struct tl_replay_cfg cfg = cfg_of(paths, TL_ARRAY_LEN(paths));
	CU_ASSERT_EQUAL_FATAL(tl_replay_create(&cfg, &replay, &err), 0);
	CU_ASSERT_EQUAL_FATAL(tl_replay_start(replay, &err), 0);
	CU_ASSERT_TRUE(tl_test_until(tl_replay_has_frames(replay)));
	CU_ASSERT_FALSE(tl_replay_is_ready(replay));
	tl_replay_finish(replay);
	tl_replay_sample(replay, &stats);
	CU_ASSERT_TRUE(tl_replay_ledger_ok(&stats.ledger));
	CU_ASSERT_EQUAL(stats.ledger.unsent_pkts, 1);
	tl_replay_destroy(replay);
}

TL_TEST("times that go backward are counted, and sent in the order of the file")
{
	begin_pcap();
	add_pcap(0, 5000, FRAME_BYTES, FRAME_BYTES);
	add_pcap(1, 4000, FRAME_BYTES, FRAME_BYTES);
	add_pcap(2, 6000, FRAME_BYTES, FRAME_BYTES);
	play_path(save_as("back.pcap"));
	expect_numbers(0, 3);
	CU_ASSERT_EQUAL(stats.backward_pkts, 1);
}

// ---- several files

static const char *save_numbers(const char *name, uint32_t first, uint32_t step, uint32_t n)
{
	begin_pcap();
	for (uint32_t i = 0; i < n; i++)
		add_pcap(first + i * step, TL_NS_PER_S + first + i * step, FRAME_BYTES, FRAME_BYTES);
	return save_as(name);
}

static void play_merged(const char *const *paths, const uint64_t *first_ns, size_t n, uint64_t loops)
{
	struct tl_replay_cfg cfg = cfg_of(paths, n);

	cfg.first_ns = first_ns;
	cfg.loops = loops;
	play(&cfg, false);
}

TL_TEST("merged files are sent in the order of time, each loop anew")
{
	static const uint64_t first_ns[] = {TL_NS_PER_S, TL_NS_PER_S + 1, TL_NS_PER_S + 2, TL_NS_PER_S + 900};
	const char *paths[4];

	for (uint32_t i = 0; i < 3; i++)
		paths[i] = save_numbers((const char *[]){"m0", "m1", "m2"}[i], i, 3, 300);
	paths[3] = save_numbers("m3", 900, 1, 10);
	play_merged(paths, first_ns, 4, 2);
	CU_ASSERT_EQUAL(port.n, 2 * 910);
	for (unsigned i = 0; i < port.n; i++)
		CU_ASSERT_EQUAL(port.numbers[i], i % 910);
	CU_ASSERT_EQUAL(stats.files_read, 8);
	CU_ASSERT_EQUAL(stats.backward_pkts + stats.waited_files, 0);
}

TL_TEST("a damaged file does not stop the merge of the others")
{
	static const uint64_t first_ns[] = {0, TL_NS_PER_S, TL_NS_PER_S + 1};
	const char *paths[3] = {"/nonexistent/x", save_numbers("even", 0, 2, 10), NULL};

	save_numbers("odd", 1, 2, 10);
	image_bytes -= 1;
	paths[2] = save_as("odd");
	play_merged(paths, first_ns, 3, 1);
	expect_numbers(0, 19);
	CU_ASSERT_EQUAL(stats.ledger.skipped_damaged_pkts, 2);
	CU_ASSERT_EQUAL_FATAL(n_damages, 2);
	CU_ASSERT_STRING_EQUAL(damages[1].path, paths[2]);
}

TL_TEST("of many files at one time those beyond the limit wait")
{
	static char names[100][64];
	static const char *paths[100];
	static uint64_t first_ns[100];

	for (uint32_t i = 0; i < 100; i++) {
		snprintf(names[i], sizeof(names[i]), "many%u", i);
		snprintf(names[i], sizeof(names[i]), "%s", save_numbers(names[i], i, 100, 2));
		paths[i] = names[i];
		first_ns[i] = TL_NS_PER_S + i;
	}
	play_merged(paths, first_ns, 100, 1);
	CU_ASSERT_EQUAL(port.n, 200);
	CU_ASSERT_EQUAL(stats.waited_files, 100 - TL_REPLAY_MERGE_MAX);
	CU_ASSERT_EQUAL(stats.ledger.sent_pkts, 200);
}

static void expect_list(const struct tl_replay_playlist *list, const char *const *names, size_t n)
{
	CU_ASSERT_EQUAL_FATAL(list->n, n);
	for (size_t i = 0; i < n; i++)
		CU_ASSERT_STRING_EQUAL(strrchr(list->paths[i], '/') + 1, names[i]);
}

TL_TEST("the files of a word are in the order of their first times")
{
	static const char *const by_time[] = {"p3", "p1", "p2"}, *const all[] = {"p2", "p3", "p1", "p2"};
	struct tl_replay_playlist list = {0};
	char pattern[96], names[96];

	const char *last = save_numbers("p2", 30, 1, 1);
	save_numbers("p1", 20, 1, 1);
	save_numbers("p3", 10, 1, 1);
	snprintf(pattern, sizeof(pattern), "%s/p?", dir);
	CU_ASSERT_TRUE(tl_replay_playlist_is_word(pattern));
	CU_ASSERT_EQUAL(tl_replay_playlist_add(&list, last, &err), 0);
	CU_ASSERT_EQUAL(tl_replay_playlist_add(&list, pattern, &err), 0);
	expect_list(&list, all, 4);
	CU_ASSERT_EQUAL(list.first_ns[1], TL_NS_PER_S + 10);
	CU_ASSERT_EQUAL(tl_replay_playlist_sort(&list), 0);
	CU_ASSERT_EQUAL(list.first_ns[0], TL_NS_PER_S + 10);
	tl_replay_playlist_free(&list);
	image_bytes = (size_t)snprintf((char *)image, sizeof(image), "%s/p1\n\n%s/p3\n%s/p2", dir, dir, dir);
	snprintf(names, sizeof(names), "@%s", save_as("list"));
	CU_ASSERT_EQUAL(tl_replay_playlist_add(&list, names, &err), 0);
	expect_list(&list, by_time, 3);
	tl_replay_playlist_free(&list);
}

TL_TEST("a word that names no capture file is refused by name")
{
	struct tl_replay_playlist list = {0};
	char name[96];

	CU_ASSERT_FALSE(tl_replay_playlist_is_word("tcp[13]"));
	CU_ASSERT_EQUAL(tl_replay_playlist_add(&list, "/nonexistent/a", &err), -ENOENT);
	CU_ASSERT_EQUAL(tl_replay_playlist_add(&list, "@/nonexistent/list", &err), -ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "@/nonexistent/list"));
	image_bytes = (size_t)snprintf((char *)image, sizeof(image), "\n/nonexistent/a\n");
	snprintf(name, sizeof(name), "@%s", save_as("list"));
	CU_ASSERT_EQUAL(tl_replay_playlist_add(&list, name, &err), -ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "list, line 2: /nonexistent/a"));
	snprintf(name, sizeof(name), "%s/ring", dir);
	CU_ASSERT_EQUAL(mkdir(name, 0700), 0);
	CU_ASSERT_EQUAL(tl_replay_playlist_add(&list, name, &err), -ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "no capture file"));
	save_numbers("ring/b", 20, 1, 1);
	save_numbers("ring/a", 30, 1, 1);
	CU_ASSERT_EQUAL(tl_replay_playlist_add(&list, name, &err), 0);
	expect_list(&list, (const char *const[]){"b", "a"}, 2);
	tl_replay_playlist_free(&list);
}

// ---- damage

TL_TEST("a truncated file is sent up to the truncation, with its offset")
{
	begin_pcap();
	for (uint32_t i = 0; i < 10; i++)
		add_pcap(i, i, FRAME_BYTES, FRAME_BYTES);
	image_bytes -= 1;
	play_path(save_as("cut.pcap"));
	expect_numbers(0, 9);
	CU_ASSERT_EQUAL(stats.ledger.read_pkts, 10);
	CU_ASSERT_EQUAL(stats.ledger.skipped_damaged_pkts, 1);
	CU_ASSERT_EQUAL_FATAL(n_damages, 1);
	CU_ASSERT_EQUAL(damages[0].offset, 24 + 9 * (16 + FRAME_BYTES));
	CU_ASSERT_PTR_NOT_NULL(strstr(damages[0].text, "cut.pcap, byte 708: the file ends inside a frame"));
}

TL_TEST("records after a damaged one are sent if its end is known")
{
	const char *paths[2];

	begin_pcapng(TL_PCAPNG_LINKTYPE_ETHERNET);
	add_pcapng(0, 1, 0);
	size_t second = image_bytes;
	add_pcapng(1, 2, 7); // without an interface
	add_pcapng(2, 3, 0);
	paths[0] = save_as("hole.pcapng");
	begin_pcap();
	add_pcap(3, 4, FRAME_BYTES, FRAME_BYTES);
	add_pcap(4, 5, FRAME_BYTES, FRAME_BYTES);
	memset(image + 24 + 16 + FRAME_BYTES + 8, 0xff, 4); // its length
	paths[1] = save_as("length.pcap");
	struct tl_replay_cfg cfg = cfg_of(paths, 2);
	cfg.loops = 2;
	play(&cfg, false);
	CU_ASSERT_EQUAL(stats.ledger.read_pkts, 10);
	CU_ASSERT_EQUAL(stats.ledger.sent_pkts, 6);
	CU_ASSERT_EQUAL(stats.damages, 4);
	CU_ASSERT_EQUAL_FATAL(n_damages, 4);
	CU_ASSERT_EQUAL(damages[0].offset, second + 8);
	CU_ASSERT_EQUAL(damages[1].offset, 24 + 16 + FRAME_BYTES);
	CU_ASSERT_EQUAL(damages[3].loop, 1);
	CU_ASSERT_STRING_EQUAL(damages[3].path, paths[1]);
	CU_ASSERT_EQUAL(port.numbers[1], 2);
	CU_ASSERT_EQUAL(port.numbers[2], 3);
}

TL_TEST("a file that was removed is counted")
{
	begin_pcap();
	add_pcap(0, 1, FRAME_BYTES, FRAME_BYTES);
	const char *paths[2] = {save_as("stays.pcap"), save_as("goes.pcap")};
	unlink(paths[1]);
	struct tl_replay_cfg cfg = cfg_of(paths, 2);
	play(&cfg, false);
	CU_ASSERT_EQUAL(stats.ledger.sent_pkts, 1);
	CU_ASSERT_EQUAL(stats.ledger.skipped_damaged_pkts, 1);
}

// ---- windows

static unsigned count_records(struct tl_extract_source *source, int *rc)
{
	struct tl_pcap_frame frame;
	unsigned n = 0;

	for (; (*rc = tl_extract_source_next(source, &frame, &err)) == 1; n++)
		CU_ASSERT_EQUAL(number_of(frame.data), n);
	return n;
}

TL_TEST("records across windows, and longer than one, are read whole")
{
	struct tl_extract_source source;
	unsigned n = 0;
	int rc;

	begin_pcapng(TL_PCAPNG_LINKTYPE_ETHERNET);
	while (image_bytes < sizeof(image) - (2 << 20))
		add_pcapng(n, n, 0), n++;
	add_padding(1500000); // longer than a window
	for (unsigned i = 0; i < 100; i++)
		add_pcapng(n, n, 0), n++;
	CU_ASSERT_EQUAL_FATAL(tl_extract_source_open(&source, save_as("long.pcapng"), &err), 0);
	CU_ASSERT_EQUAL(count_records(&source, &rc), n);
	CU_ASSERT_EQUAL(rc, 0);
	tl_extract_source_close(&source);
}

TL_TEST("a file that becomes shorter while it is read is named")
{
	struct tl_extract_source source;
	struct tl_pcap_frame frame;
	uint32_t n = 0;
	int rc;

	begin_pcap();
	while (image_bytes < sizeof(image) - 100)
		add_pcap(n, n, FRAME_BYTES, FRAME_BYTES), n++;
	const char *path = save_as("shrinks.pcap");
	CU_ASSERT_EQUAL_FATAL(tl_extract_source_open(&source, path, &err), 0);
	CU_ASSERT_EQUAL(tl_extract_source_next(&source, &frame, &err), 1);
	CU_ASSERT_EQUAL(truncate(path, 2 << 20), 0);
	while ((rc = tl_extract_source_next(&source, &frame, &err)) == 1)
		;
	CU_ASSERT_EQUAL(rc, -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "shrinks.pcap, byte 2097"));
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "the file became shorter"));
	CU_ASSERT_FALSE(tl_extract_source_skip(&source));
	tl_extract_source_close(&source);
}

TL_TEST("a file that is not a capture is refused")
{
	struct tl_extract_source source;

	image_bytes = 0;
	put32(0);
	put32(0);
	CU_ASSERT_EQUAL(tl_extract_source_open(&source, save_as("zero"), &err), -EINVAL);
	image_bytes = 0;
	CU_ASSERT_EQUAL(tl_extract_source_open(&source, save_as("empty"), &err), -EINVAL);
	put32(0xFD2FB528); // zstd, but not a recording
	put32(0);
	CU_ASSERT_EQUAL(tl_extract_source_open(&source, save_as("other.zst"), &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "unpack it first"));
}

// ---- early end

TL_TEST("a stopped run counts frames read and not sent")
{
	const char *path;

	begin_pcap();
	for (uint32_t i = 0; i < 1000; i++)
		add_pcap(i, i < 10 ? 0 : i * 1000 * TL_NS_PER_S, FRAME_BYTES, FRAME_BYTES);
	path = save_as("hours.pcap");
	struct tl_replay_cfg cfg = cfg_of(&path, 1);
	port.stop_after = 10;
	play(&cfg, true);
	expect_numbers(0, 10);
	CU_ASSERT_EQUAL(stats.ledger.sent_pkts, 10);
	CU_ASSERT_TRUE(stats.ledger.unsent_pkts >= 64); // the ring was full
	CU_ASSERT_EQUAL(stats.loops_read, 0);
}

TL_TEST("frames that the port never takes are refused")
{
	const char *path;

	begin_pcap();
	for (uint32_t i = 0; i < 20; i++)
		add_pcap(i, i < 5 ? 0 : 1000 * TL_NS_PER_S, FRAME_BYTES, FRAME_BYTES);
	path = save_as("shut.pcap");
	struct tl_replay_cfg cfg = cfg_of(&path, 1);
	port.shut = true;
	play(&cfg, true);
	CU_ASSERT_EQUAL(stats.ledger.refused_pkts, 5);
	CU_ASSERT_EQUAL(stats.ledger.unsent_pkts, 15);
	CU_ASSERT_EQUAL(stats.ledger.sent_pkts, 0);
}

// ---- the lcore, at a time that advances at calls of the port only

static struct {
	struct replay_sender s;
	struct tl_clock_swap time;
	struct rte_mempool *pool;
	struct tl_hist lateness, second_lateness;
	atomic_bool stop, read_all;
} rig;

static void begin_rig(uint64_t step_ns)
{
	txq = (struct tl_txq){.flush_fn = port_flush};
	second_txq = (struct tl_txq){.flush_fn = second_flush};
	port = (struct port){.time = &rig.time, .step_ns = step_ns};
	memset(&shutter, 0, sizeof(shutter));
	tl_hist_init(&rig.lateness);
	tl_hist_init(&rig.second_lateness);
	tl_clock_swap_store(&rig.time, (struct tl_clock_line){0});
	atomic_store(&rig.stop, false);
	atomic_store(&rig.read_all, true);
	rig.s = (struct replay_sender){
		.ring = rte_ring_create("rig", 256, 0, RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ),
		.outs = {{.txq = &txq, .lateness = &rig.lateness},
			{.txq = &second_txq, .lateness = &rig.second_lateness}},
		.n_outs = 1,
		.stop = &rig.stop,
		.read_all = &rig.read_all,
		.time = &rig.time,
		.late_scale = UINT64_C(1) << TL_CLOCK_SHIFT,
		.late_ns = 100};
}

static void queue_for(unsigned out, uint64_t due_ns, uint32_t number)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(rig.pool);

	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	m->pkt_len = m->data_len = FRAME_BYTES;
	fill_frame(rte_pktmbuf_mtod(m, uint8_t *), number, FRAME_BYTES);
	*(struct replay_tag *)rte_mbuf_to_priv(m) = (struct replay_tag){.due_ns = due_ns, .out = out};
	CU_ASSERT_EQUAL_FATAL(rte_ring_sp_enqueue(rig.s.ring, m), 0);
}

static void queue(uint64_t due_ns)
{
	queue_for(0, due_ns, 0);
}

static void end_rig(void)
{
	rte_ring_free(rig.s.ring);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(rig.pool), 0);
}

TL_TEST("only frames that are due together go to the port in one call")
{
	static const uint64_t due[] = {0, 0, 100, 101, 101, 300, 300};

	begin_rig(100);
	for (size_t i = 0; i < TL_ARRAY_LEN(due); i++)
		queue(due[i]);
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(port.calls, 4);
	CU_ASSERT_EQUAL(port.calls_of[0], 2); // at 0
	CU_ASSERT_EQUAL(port.calls_of[1], 1); // at 100
	CU_ASSERT_EQUAL(port.calls_of[2], 2); // at 200
	CU_ASSERT_EQUAL(port.calls_of[3], 2); // at 300
	CU_ASSERT_EQUAL(rig.s.outs[0].sent_pkts, 7);
	end_rig();
}

TL_TEST("a burst is the most for one call")
{
	begin_rig(0);
	for (unsigned i = 0; i < 200; i++)
		queue(0);
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(rig.s.outs[0].sent_pkts, 200);
	CU_ASSERT_EQUAL(port.calls_of[0], TL_BURST);
	CU_ASSERT_EQUAL(port.calls, 4);
	end_rig();
}

// The port advances the time by 100 ns before it accepts them, which is their lateness.
TL_TEST("lateness is from due to the call that took the frame")
{
	begin_rig(100);
	queue(0);
	queue(0);
	port.refuses = 2;
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(rig.lateness.count, 2);
	CU_ASSERT_EQUAL(rig.lateness.min_ns, 300);
	CU_ASSERT_EQUAL(rig.lateness.max_ns, 300);
	CU_ASSERT_EQUAL(rig.s.outs[0].late_pkts, 2);
	CU_ASSERT_EQUAL(rig.s.last_ns, 300);
	end_rig();
}

// Both are due when the run begins, at 200; the port accepts the first at 300 and the second at 400.
TL_TEST("frames that a port accepts one after the other have their own lateness")
{
	begin_rig(100);
	rig.time.line.base_ns = 200;
	queue(100);
	queue(200);
	port.takes = 1;
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(rig.lateness.count, 2);
	CU_ASSERT_EQUAL(rig.lateness.min_ns, 200);
	CU_ASSERT_EQUAL(rig.lateness.max_ns, 200);
	end_rig();
}

TL_TEST("a frame is late beyond the limit only")
{
	begin_rig(100);
	queue(0);   // 100 late
	queue(100); // taken at 200
	rig.s.late_ns = 100;
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(rig.s.outs[0].late_pkts, 0);
	end_rig();
	begin_rig(101);
	queue(0);
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(rig.s.outs[0].late_pkts, 1);
	end_rig();
}

TL_TEST("a gated run sends only as many frames as are permitted")
{
	begin_rig(0);
	for (unsigned i = 0; i < 10; i++)
		queue(0);
	rig.s.gated = true;
	atomic_store(&rig.s.allowed_pkts, 4);
	port.stop_after = 4;
	port.stop = &rig.stop;
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(rig.s.outs[0].sent_pkts, 4);
	atomic_store(&rig.stop, false);
	atomic_store(&rig.s.allowed_pkts, 11);
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(rig.s.outs[0].sent_pkts, 10);
	end_rig();
}

// ---- two ports

TL_TEST("frames of two ports leave by their own, each when it is due")
{
	static const struct {
		unsigned out;
		uint64_t due_ns;
	} frames[] = {{0, 0}, {1, 0}, {0, 0}, {1, 100}, {0, 100}, {1, 150}};

	begin_rig(100);
	rig.s.n_outs = 2;
	for (uint32_t i = 0; i < TL_ARRAY_LEN(frames); i++)
		queue_for(frames[i].out, frames[i].due_ns, i);
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(port.n, 3);
	CU_ASSERT_TRUE(port.numbers[0] == 0 && port.numbers[1] == 2 && port.numbers[2] == 4);
	CU_ASSERT_EQUAL(shutter.n, 3);
	CU_ASSERT_TRUE(shutter.numbers[0] == 1 && shutter.numbers[1] == 3 && shutter.numbers[2] == 5);
	CU_ASSERT_EQUAL(port.calls, 2);	   // due at 0 and at 100
	CU_ASSERT_EQUAL(shutter.calls, 3); // and at 150
	CU_ASSERT_EQUAL(rig.s.outs[0].sent_pkts, 3);
	CU_ASSERT_EQUAL(rig.s.outs[1].sent_pkts, 3);
	CU_ASSERT_EQUAL(rig.lateness.count, 3);
	CU_ASSERT_EQUAL(rig.second_lateness.count, 3);
	end_rig();
}

// Queue n_shut frames for a port that accepts none until the other one has sent that many, then 100 for the other.
static void play_past_a_shut_port(unsigned n_shut, unsigned until)
{
	begin_rig(0);
	rig.s.n_outs = 2;
	for (uint32_t i = 0; i < n_shut; i++)
		queue_for(1, 0, i);
	for (uint32_t i = 0; i < 100; i++)
		queue_for(0, 0, i);
	shutter.shut = true;
	shutter.until = until;
}

TL_TEST("a port that refuses frames does not stop the other")
{
	play_past_a_shut_port(TL_BURST, 100);
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(port.n, 100);
	CU_ASSERT_EQUAL(shutter.n, TL_BURST);
	for (uint32_t i = 0; i < shutter.n; i++)
		CU_ASSERT_EQUAL(shutter.numbers[i], i);
	CU_ASSERT_FALSE(atomic_load(&rig.s.outs[1].refused));
	CU_ASSERT_EQUAL(rig.s.outs[1].sent_pkts, TL_BURST);
	end_rig();
}

TL_TEST("beyond a burst that waits for one port the other waits, too")
{
	play_past_a_shut_port(TL_BURST + 1, 1);
	shutter.stop = &rig.stop; // otherwise it would wait indefinitely
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(port.n, 0);
	CU_ASSERT_EQUAL(shutter.n, 0);
	CU_ASSERT_TRUE(atomic_load(&rig.s.outs[1].refused));
	atomic_store(&rig.stop, false);
	shutter.shut = false;
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(port.n, 100);
	CU_ASSERT_EQUAL(shutter.n, TL_BURST + 1);
	end_rig();
}

TL_TEST("a frame that a port accepts later has its own lateness")
{
	begin_rig(100);
	rig.s.n_outs = 2;
	queue_for(1, 0, 0);   // rejected at 0 and 100, accepted at 300
	queue_for(0, 200, 0); // accepted at 300
	shutter.shut = true;
	shutter.until = 1;
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(shutter.calls, 3);
	CU_ASSERT_EQUAL(rig.second_lateness.min_ns, 300);
	CU_ASSERT_EQUAL(rig.lateness.min_ns, 100);
	end_rig();
}

// ---- a NIC that sends at a time

#define NOW 10000
#define NIC_AHEAD 500
#define NIC_TICKS(ns) (7 + 2 * (uint64_t)(ns))

// Let the run's time stand, nearly: a nanosecond takes more than a second.
static void begin_nic(void)
{
	begin_rig(0);
	tl_clock_swap_store(&rig.time, (struct tl_clock_line){.base_ticks = rte_rdtsc(), .base_ns = NOW, .mult = 1});
	rig.s.outs[0].at_offset = at.offset;
	rig.s.outs[0].at_flag = at.flag;
	rig.s.outs[0].ticks.line =
		(struct tl_clock_line){.base_ns = NIC_TICKS(0), .mult = UINT64_C(2) << TL_CLOCK_SHIFT};
	atomic_store(&rig.s.ahead_tsc, (uint64_t)NIC_AHEAD << TL_CLOCK_SHIFT);
}

TL_TEST("a frame to be stamped has its own lateness")
{
	struct tl_tx_stamp stamp = {0};

	begin_rig(100);
	rig.s.outs[0].stamp = &stamp;
	tl_tx_stamp_offer(&stamp);
	port.refuses = 2;
	queue(0);
	queue(0);
	replay_send(&rig.s); // the first frame is marked, and accepted by the third call
	CU_ASSERT_TRUE_FATAL(tl_tx_stamp_is_published(&stamp));
	CU_ASSERT_TRUE(stamp.facts.left && stamp.facts.is_due);
	CU_ASSERT_EQUAL(stamp.facts.late_ns, 300);
	CU_ASSERT_EQUAL(rig.s.outs[0].marked, 0);
	end_rig();
}

TL_TEST("a NIC gets frames ahead with their times, and late ones without")
{
	static const uint64_t due[] = {NOW - 1000, NOW + 200, NOW + 400, NOW + NIC_AHEAD + 100};

	begin_nic();
	for (unsigned i = 0; i < TL_ARRAY_LEN(due); i++)
		queue(due[i]);
	port.stop = &rig.stop;
	port.stop_after = 3;
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(port.calls, 1);
	CU_ASSERT_EQUAL(port.n, 3);
	CU_ASSERT_EQUAL(rig.s.last_ns, due[2]);
	atomic_store(&rig.stop, false);
	rig.time.line.base_ns += 300;
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(port.n, 4);
	CU_ASSERT_EQUAL(port.ticks[0], 0);
	for (unsigned i = 1; i < TL_ARRAY_LEN(due); i++)
		CU_ASSERT_EQUAL(port.ticks[i], NIC_TICKS(due[i]));
	CU_ASSERT_EQUAL(rig.s.outs[0].sent_pkts, 4);
	CU_ASSERT_EQUAL(rig.s.outs[0].timed_pkts, 3);
	CU_ASSERT_EQUAL(rig.lateness.count, 4);
	CU_ASSERT_EQUAL(rig.lateness.min_ns, 0);
	CU_ASSERT(rig.lateness.max_ns >= 1000 && rig.lateness.max_ns < 1200);
	CU_ASSERT_EQUAL(rig.s.outs[0].late_pkts, 1);
	end_rig();
}

TL_TEST("no frame gets a time before its predecessor's")
{
	begin_nic();
	rig.s.outs[0].timed_pkts = 1;
	rig.s.outs[0].last_ticks = NIC_TICKS(NOW + 300); // by a line that has bent since
	queue(NOW + 200);
	queue(NOW + 290);
	queue(NOW + 310);
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(port.ticks[0], NIC_TICKS(NOW + 300));
	CU_ASSERT_EQUAL(port.ticks[1], NIC_TICKS(NOW + 300));
	CU_ASSERT_EQUAL(port.ticks[2], NIC_TICKS(NOW + 310));
	end_rig();
}

TL_TEST("the first frame has no predecessor, whatever the NIC's clock reads")
{
	begin_nic();
	rig.s.outs[0].ticks.line.base_ns = UINT64_C(1) << 63;
	queue(NOW + 200);
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(port.ticks[0], (UINT64_C(1) << 63) + 2 * (NOW + 200));
	end_rig();
}

TL_TEST("a frame that the port refuses keeps its time")
{
	begin_nic();
	port.refuses = 2;
	port.takes = 1;
	queue(NOW + 100);
	queue(NOW + 200);
	queue(NOW - 100); // late
	queue(NOW + 300);
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(port.n, 4);
	CU_ASSERT_EQUAL(port.ticks[0], NIC_TICKS(NOW + 100));
	CU_ASSERT_EQUAL(port.ticks[1], NIC_TICKS(NOW + 200));
	CU_ASSERT_EQUAL(port.ticks[2], 0);
	CU_ASSERT_EQUAL(port.ticks[3], NIC_TICKS(NOW + 300));
	CU_ASSERT_EQUAL(rig.s.outs[0].timed_pkts, 3);
	CU_ASSERT_EQUAL(rig.s.outs[0].timed, 0);
	end_rig();
}

TL_TEST("a full burst of frames with times is counted")
{
	begin_nic();
	for (unsigned i = 0; i < TL_BURST + 1; i++)
		queue(NOW + 100 + i);
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(port.calls_of[0], TL_BURST);
	CU_ASSERT_EQUAL(rig.s.outs[0].timed_pkts, TL_BURST + 1);
	CU_ASSERT_EQUAL(rig.s.outs[0].timed, 0);
	end_rig();
}

static void *run_sender(void *arg)
{
	(void)arg;
	replay_send(&rig.s);
	return NULL;
}

TL_TEST("a reader that is late is counted")
{
	pthread_t thread;
	unsigned queued = 0;

	begin_rig(0);
	atomic_store(&rig.read_all, false);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, run_sender, NULL), 0);
	while (tl_count_read(&rig.s.reader_late_times) == 0 && queued < 60000) {
		queue(0);
		queued++;
		CU_ASSERT_TRUE_FATAL(tl_test_until(tl_count_read(&rig.s.outs[0].sent_pkts) == queued));
	}
	CU_ASSERT_TRUE(tl_count_read(&rig.s.reader_late_times) > 0);
	CU_ASSERT_TRUE(tl_count_read(&rig.s.reader_late_pkts) > 0);
	atomic_store(&rig.read_all, true);
	pthread_join(thread, NULL);
	end_rig();
}

// A port that refuses the first frame until it is 1000 ns late, when the reader queues two more. Each further call
// takes all frames, 60 ns later.
static void underrun_flush(struct tl_txq *q)
{
	if (++port.calls > 1)
		move_time();
	q->begin_tsc = rte_rdtsc();
	if (port.calls == 2) {
		port.step_ns = 60;
		queue(100);
		queue(150);
		atomic_store(&rig.read_all, true);
	}
	if (port.calls <= 2)
		return;
	rte_pktmbuf_free_bulk(q->pkts, q->n);
	q->n = 0;
}

TL_TEST("after an underrun due times are kept, or shifted by the time lost")
{
	static const struct {
		uint64_t shifted_ns, min_ns, last_ns;
		unsigned calls;
	} expected[] = {{0, 910, 1060, 3}, {900, 60, 220, 4}}; // kept: late by 1060, 960, 910; shifted: 1060, 60, 70

	for (int shifts = 0; shifts < 2; shifts++) {
		begin_rig(1000);
		txq.flush_fn = underrun_flush;
		rig.s.shifts = shifts;
		atomic_store(&rig.read_all, false);
		queue(0);
		replay_send(&rig.s);
		CU_ASSERT_EQUAL(rig.s.reader_late_times, 1);
		CU_ASSERT_EQUAL(rig.s.reader_late_pkts, 2);
		CU_ASSERT_EQUAL(rig.s.shifted_ns, expected[shifts].shifted_ns);
		CU_ASSERT_EQUAL(port.calls, expected[shifts].calls);
		CU_ASSERT_EQUAL(rig.lateness.count, 3);
		CU_ASSERT_EQUAL(rig.lateness.max_ns, 1060); // the first frame waited for the port, not for the reader
		CU_ASSERT_EQUAL(rig.lateness.min_ns, expected[shifts].min_ns);
		CU_ASSERT_EQUAL(rig.s.last_ns, expected[shifts].last_ns);
		end_rig();
	}
}

TL_TEST("a reader that is ahead is never counted as late")
{
	begin_rig(50);
	for (unsigned i = 0; i < 200; i++)
		queue(i);
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(rig.s.outs[0].sent_pkts, 200);
	CU_ASSERT_EQUAL(rig.s.reader_late_pkts, 0);
	CU_ASSERT_EQUAL(rig.s.reader_late_times, 0);
	end_rig();
}

// ---- the run's time

TL_TEST("a step of the clock moves no due time")
{
	struct tl_clock clock = {
		.wall.line = {.base_ticks = 100, .base_ns = 5000, .mult = UINT64_C(1) << TL_CLOCK_SHIFT}};
	struct tl_clock_line time;
	int64_t shift_ns = 0;

	replay_follow(&time, &clock, false, &shift_ns);
	CU_ASSERT_EQUAL(tl_clock_apply(&time, 200), 5100);
	clock.wall.line = (struct tl_clock_line){
		.base_ticks = 300, .base_ns = 5200 + 7 * TL_NS_PER_S, .mult = clock.wall.line.mult};
	clock.last.offset_ns = 7 * TL_NS_PER_S;
	replay_follow(&time, &clock, true, &shift_ns);
	CU_ASSERT_EQUAL(tl_clock_apply(&time, 400), 5300);
	clock.wall.line.base_ns -= 9 * TL_NS_PER_S;
	clock.last.offset_ns = -9 * (int64_t)TL_NS_PER_S;
	replay_follow(&time, &clock, true, &shift_ns);
	CU_ASSERT_EQUAL(tl_clock_apply(&time, 400), 5300);
	replay_follow(&time, &clock, false, &shift_ns);
	CU_ASSERT_EQUAL(tl_clock_apply(&time, 500), 5400);
}

static void set_up(void)
{
	tl_test_eal_start();
	test_clock = tl_clock_create();
	rig.pool = rte_pktmbuf_pool_create("rig", 511, 0, sizeof(struct replay_tag), 2048, 0);
	if (mkdtemp(dir) == NULL || test_clock == NULL || rig.pool == NULL)
		exit(1);
	if (rte_mbuf_dyn_tx_timestamp_register(&at.offset, &at.flag) != 0)
		exit(1);
}

static void clean_up(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	(void)!system(command);
	tl_clock_destroy(test_clock);
}

int main(void)
{
	set_up();
	int status = tl_test_run("replay");
	clean_up();
	return status;
}
