// SPDX-License-Identifier: BSD-3-Clause
// Whole replays without a device: frames of files, sent to a simulated port.

#include <errno.h>
#include <sys/stat.h>

#include <tl_err.h>
#include <tl_extract_source.h>
#include <tl_filter.h>
#include <tl_replay_playlist.h>
#include <tl_test.h>
#include <tl_test_replay_port.h>

#include "clock_priv.h"

static struct tl_clock *test_clock;
static struct tl_err err;

// ---- a whole replay

static struct tl_txq txq;
static struct tl_replay_stats stats;
static struct tl_replay_damage damages[TL_REPLAY_DAMAGES_MAX];
static size_t n_damages;
static uint64_t hist_count;

static struct tl_replay_cfg cfg_of(const char *const *paths, size_t n)
{
	txq = (struct tl_txq){.flush_fn = port_flush};
	port = (struct port){0};
	return recorded_cfg(paths, n, &txq, LIMIT, test_clock);
}

static void play(const struct tl_replay_cfg *cfg, bool stops)
{
	const struct tl_replay_damage *list;
	struct tl_replay *replay;

	CU_ASSERT_EQUAL_FATAL(tl_replay_create(cfg, &replay, &err), 0);
	port.stop_replay = stops ? replay : NULL;
	play_to_end(replay, &stats);
	n_damages = tl_replay_damages(replay, &list);
	memcpy(damages, list, n_damages * sizeof(*list));
	hist_count = tl_replay_lateness(replay) != NULL ? tl_replay_lateness(replay)->count : 0;
	tl_replay_destroy(replay);
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
	CU_ASSERT_EQUAL(tl_replay_playlist_finish(&list, false, &err), 0);
	expect_list(&list, all, 4);
	CU_ASSERT_EQUAL(tl_replay_playlist_finish(&list, true, &err), 0);
	CU_ASSERT_EQUAL(list.first_ns[0], TL_NS_PER_S + 10);
	tl_replay_playlist_free(&list);
	image_bytes = (size_t)snprintf((char *)image, sizeof(image), "%s/p1\n\n%s/p3\n%s/p2", dir, dir, dir);
	snprintf(names, sizeof(names), "@%s", save_as("list"));
	CU_ASSERT_EQUAL(tl_replay_playlist_add(&list, names, &err), 0);
	CU_ASSERT_FALSE(list.once);
	expect_list(&list, by_time, 3);
	tl_replay_playlist_free(&list);
}

TL_TEST("a list from a pipe is known as one that cannot be read again")
{
	struct tl_replay_playlist list = {0};
	char name[32];
	int ends[2];

	const char *path = save_numbers("piped", 10, 1, 1);
	CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
	CU_ASSERT_EQUAL(dprintf(ends[1], "%s\n", path), (int)strlen(path) + 1);
	close(ends[1]);
	snprintf(name, sizeof(name), "@/dev/fd/%d", ends[0]);
	CU_ASSERT_EQUAL(tl_replay_playlist_add(&list, name, &err), 0);
	CU_ASSERT_EQUAL(list.n, 1);
	CU_ASSERT_TRUE(list.once);
	close(ends[0]);
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

// ---- FCS

// Play frames of a pcap file with these upper bits of its link type; expect this number of bytes, and of short and
// truncated frames.
static void expect_sent(uint8_t bits, uint64_t bytes, uint64_t short_pkts, uint64_t truncated_pkts)
{
	begin_pcap();
	image[23] = bits;
	add_pcap(0, 1, FRAME_BYTES, FRAME_BYTES);
	add_pcap(1, 2, TL_ETHER_LEN, TL_ETHER_LEN);
	add_pcap(2, 3, FRAME_BYTES - 1, FRAME_BYTES + 3); // without its FCS
	add_pcap(3, 4, FRAME_BYTES - 2, FRAME_BYTES + 3);
	play_path(save_as("fcs.pcap"));
	CU_ASSERT_EQUAL(stats.sent_bytes, bytes);
	CU_ASSERT_EQUAL(stats.ledger.skipped_short_pkts, short_pkts);
	CU_ASSERT_EQUAL(stats.ledger.skipped_truncated_pkts, truncated_pkts);
}

TL_TEST("the FCS of frames is not sent")
{
	static const uint32_t idb[] = {1, 40, 1, 0, 1 << 16 | 9, 9, 1 << 16 | 13, 32, 0, 40}; // if_tsresol, if_fcslen

	expect_sent(0, FRAME_BYTES + TL_ETHER_LEN, 0, 2);
	expect_sent(0x20, FRAME_BYTES + TL_ETHER_LEN, 0, 2); // bit 26 unset
	expect_sent(0x04, FRAME_BYTES + TL_ETHER_LEN, 0, 2); // none
	expect_sent(0x24, FRAME_BYTES - 4 + FRAME_BYTES - 1, 1, 1);
	begin_pcapng(TL_PCAPNG_LINKTYPE_ETHERNET);
	for (size_t i = 0; i < TL_ARRAY_LEN(idb); i++)
		put32(idb[i]);
	add_pcapng(0, 1, 0);
	add_pcapng(1, 2, 1); // of the interface with if_fcslen
	play_path(save_as("fcs.pcapng"));
	CU_ASSERT_EQUAL(stats.ledger.sent_pkts, 2);
	CU_ASSERT_EQUAL(stats.sent_bytes, FRAME_BYTES + FRAME_BYTES - 4);
}

// ---- damage

// Write files of which nothing can be read to a list, after one of ten frames. Return the list.
static const char *save_damaged(void)
{
	static const char zstd[] = "\x28\xb5\x2f\xfd\x04", text[] = "hello\n";
	static char names[512];

	save_numbers("good", 0, 1, 10);
	image_bytes = 10;
	save_as("header");
	image_bytes = 0;
	save_as("empty");
	memcpy(image, zstd, 5);
	image_bytes = 5;
	save_as("cut.zst");
	memcpy(image, text, 6);
	image_bytes = 6;
	save_as("text");
	image_bytes = (size_t)snprintf(
		(char *)image, sizeof(image), "%s/good\r\n%s/header\n\r\n%s/empty\n%s/cut.zst\r\n", dir, dir, dir, dir);
	snprintf(names, sizeof(names), "@%s", save_as("list"));
	return names;
}

TL_TEST("files of which nothing can be read do not prevent others from being sent, and are named")
{
	struct tl_replay_playlist list = {0};

	const char *names = save_damaged();
	CU_ASSERT_EQUAL_FATAL(tl_replay_playlist_add(&list, names, &err), 0);
	CU_ASSERT_EQUAL(list.packed, 0);
	for (int merge = 0; merge < 2; merge++) {
		CU_ASSERT_EQUAL(tl_replay_playlist_finish(&list, merge != 0, &err), 0);
		struct tl_replay_cfg cfg = cfg_of((const char *const *)list.paths, list.n);
		cfg.first_ns = merge != 0 ? list.first_ns : NULL;
		play(&cfg, false);
		expect_numbers(0, 10);
		CU_ASSERT_EQUAL(stats.ledger.read_pkts, 13);
		CU_ASSERT_EQUAL(stats.ledger.skipped_damaged_pkts, 3);
		CU_ASSERT_EQUAL_FATAL(n_damages, 3);
		CU_ASSERT_PTR_NOT_NULL(strstr(damages[0].text, "header, byte 0: the file ends inside its header"));
		CU_ASSERT_PTR_NOT_NULL(strstr(damages[1].text, "empty: the file is empty"));
		CU_ASSERT_PTR_NOT_NULL(strstr(damages[2].text, "cut.zst, byte 0: cannot be read from here on"));
	}
	tl_replay_playlist_free(&list);
}

TL_TEST("files of which nothing can be read are refused alone, and others than captures always")
{
	struct tl_replay_playlist list = {0};
	char path[96];

	(void)save_damaged();
	snprintf(path, sizeof(path), "%s/header", dir);
	CU_ASSERT_EQUAL(tl_replay_playlist_add(&list, path, &err), 0);
	CU_ASSERT_NOT_EQUAL(tl_replay_playlist_finish(&list, false, &err), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "header, byte 0: the file ends inside its header"));
	snprintf(path, sizeof(path), "%s/good", dir);
	CU_ASSERT_EQUAL(tl_replay_playlist_add(&list, path, &err), 0);
	CU_ASSERT_EQUAL(tl_replay_playlist_finish(&list, false, &err), 0);
	snprintf(path, sizeof(path), "%s/text", dir);
	CU_ASSERT_EQUAL(tl_replay_playlist_add(&list, path, &err), -EINVAL);
	tl_replay_playlist_free(&list);
}

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

int main(void)
{
	port_set_up();
	test_clock = tl_clock_create();
	if (!make_dir() || test_clock == NULL)
		return 1;
	int status = tl_test_run("replay");
	remove_dir();
	tl_clock_destroy(test_clock);
	return status;
}
