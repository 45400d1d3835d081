// SPDX-License-Identifier: BSD-3-Clause
// Page of rates: correct by the appliance's clock, and robust against any input.

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <tl_test.h>
#include <tl_top.h>

static json_t *parse(const char *text)
{
	char quoted[4096];

	snprintf(quoted, sizeof(quoted), "%s", text);
	for (char *p = quoted; *p != '\0'; p++)
		*p = *p == '\'' ? '"' : *p;
	json_t *json = json_loads(quoted, 0, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(json);
	return json;
}

// Return the page for two replies; before may be NULL. The caller frees.
static char *page_of(const char *before, const char *now)
{
	json_t *first = before != NULL ? parse(before) : NULL, *second = parse(now);
	char *page = NULL;
	size_t size;
	FILE *out = open_memstream(&page, &size);

	tl_top_print(out, first, second);
	fclose(out);
	json_decref(first);
	json_decref(second);
	return page;
}

// Return true if a line of the page has exactly these words.
static bool has_words(const char *page, const char *words)
{
	for (const char *line = page; *line != '\0'; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *want = words, *p = line;
		while (*want != '\0' && *want == *p) {
			want++;
			p++;
			while (p[-1] == ' ' && *p == ' ')
				p++;
		}
		if (*want == '\0' && (*p == '\n' || *p == '\0'))
			return true;
	}
	printf("# no line \"%s\" in:\n%s", words, page);
	return false;
}

static void expect(const char *before, const char *now, const char *words)
{
	char *page = page_of(before, now);

	CU_ASSERT_TRUE(has_words(page, words));
	free(page);
}

#define PORT(uptime, rx, bytes, drops)                                                                                 \
	"{'uptime_ns': " uptime ", 'ledger_ok': true, 'lossless': false, 'ports': [{'name': 'lan', 'rx_pkts': " rx     \
	", 'rx_bytes': " bytes ", 'tx_pkts': 7, 'tx_bytes': 420, 'drop_nic_pkts': " drops                              \
	", 'drop_nombuf_pkts': 0, 'drop_error_pkts': 0, 'handoff_pkts': " rx ", 'drop_handoff_pkts': 0}]}"

TL_TEST("rates are per second of the appliance's clock")
{
	const char *before = PORT("1000000000", "1000", "60000", "5"),
		   *now = PORT("3000000000", "31000", "1860000", "9");

	expect(before, now, "tapline up 3 s ledger ok FRAMES WERE LOST");
	expect(before, now, "lan 15.0k 7.20M 0 0 15.0k 2 9");
}

TL_TEST("a restarted appliance has no rates yet")
{
	const char *old = PORT("9000000000", "9000000", "1", "5");

	expect(NULL, old, "lan - - - - - - 5");
	expect(old, PORT("1000000000", "10", "600", "0"), "lan - - - - - - 0");
	// longer uptime, but smaller counters
	expect(old, PORT("9500000000", "10", "601", "0"), "lan - 9.60k 0 0 - - 0");
}

#define QUEUE(idle, busy, used)                                                                                        \
	"{'rx_pkts': 10, 'turn_ns': [" idle ", 100, 0, 0, 0, 0, 50, " busy "], 'ring': {'descriptors': 1024, "         \
	"'used': " used ", 'used_max': 1000}, 'drop_nic_pkts': null}"
#define QUEUES(uptime, first, second)                                                                                  \
	"{'uptime_ns': " uptime ", 'ports': [{'name': 'lan', 'queues': [" first ", " second "]}]}"

TL_TEST("a queue that falls behind is marked")
{
	const char *before = QUEUES("1000000000", QUEUE("1000", "0", "0"), QUEUE("1000", "0", "0"));

	const char *now = QUEUES("2000000000", QUEUE("1900", "100", "512"), QUEUE("1000", "0", "0"));
	expect(before, now, "lan 0 0 10 % 10 % 50 % 98 % -");
	expect(before, now, "lan 1 0 - - 0 % 98 % -"); // its lcore does not run
	expect(NULL, now, "lan 0 - - - 50 % 98 % -");
	expect(before, QUEUES("2000000000", "{'rx_pkts': 11, 'ring': null}", "3"), "lan 0 1 - - - - -");
}

#define CAPTURE(uptime, written, bytes, ring, disk, used, space)                                                       \
	"{'uptime_ns': " uptime                                                                                        \
	", 'ledger_ok': false, 'lossless': true, 'captures': [{'port': 'lan', 'written_pkts': " written                \
	", 'written_bytes': " bytes ", 'drop_ring_pkts': " ring ", 'drop_disk_pkts': " disk                            \
	", 'slabs': 64, 'queues': [{'slabs_used': 1}, {'slabs_used': " used "}], 'files': ['a', 'b'], "                \
	"'disk_free_bytes': " space "}]}"

TL_TEST("a recording shows its fullest queue and its disk space")
{
	const char *before = CAPTURE("1000000000", "0", "0", "0", "0", "0", "null");

	expect(before, CAPTURE("2000000000", "950", "999499", "30", "2", "16", "1073741824"),
		"lan 950 999k 25 % 30 2 32 2 1.0 GiB");
	expect(before, CAPTURE("2000000000", "1234", "99960", "0", "0", "0", "null"), "lan 1.23k 100k 2 % 0 0 0 2 -");
	expect(before, CAPTURE("2000000000", "1234", "99960", "0", "0", "64", "null"),
		"lan 1.23k 100k 100 % 0 0 0 2 -");
	expect(before, CAPTURE("2000000000", "0", "0", "0", "0", "0", "null"),
		"tapline up 2 s ledger BROKEN nothing lost");
	expect(NULL, "{'uptime_ns': 1, 'ledger_ok': true, 'lossless': null}",
		"tapline up 0 s ledger ok no loss counted");
}

#define ECHO(uptime, in, out, p50)                                                                                                                                  \
	"{'uptime_ns': " uptime ", 'echoes': [{'name': 'e', 'state': 'connected', 'received_msgs': " in                                                             \
	", 'echoed_msgs': " out                                                                                                                                     \
	", 'drop_no_conn_msgs': 1, 'drop_full_msgs': 0, 'drop_tx_msgs': 0, 'drop_police_msgs': 0, 'drop_delay_msgs': 0, 'lost_unacked_msgs': 0, 'connections': 1, " \
	"'residence_ns': {'p50': " p50 ", 'p99': 2000000}}]}"

TL_TEST("an echo shows its residence time")
{
	expect(ECHO("0", "0", "0", "null"), ECHO("500000000", "100", "99", "1234"),
		"e 200 198 0 1 1.234 us 2.000 ms connected");
	expect(ECHO("0", "0", "0", "null"), ECHO("500000000", "0", "0", "null"), "e 0 0 0 1 - 2.000 ms connected");
}

#define SHAPE(uptime, sent, lent, lost)                                                                                \
	"{'uptime_ns': " uptime ", 'shapes': [{'name': 'wan', 'classes': ["                                            \
	"{'name': 'wan', 'rate_bps': 2000000, 'ceil_bps': 2000000, 'sent_bytes': 0, 'borrowed_bytes': 0, "             \
	"'queued_pkts': 5, 'delay_mean_ns': null, 'delay_p99_ns': null, 'delay_max_ns': null}, "                       \
	"{'name': 'ssh', 'rate_bps': 128000, 'ceil_bps': 2000000, 'sent_bytes': " sent ", 'borrowed_bytes': " lent     \
	", 'queued_pkts': 5, 'drop_police_pkts': 0, 'drop_long_pkts': 0, 'drop_limit_pkts': " lost                     \
	", 'drop_late_pkts': " lost                                                                                    \
	", 'drop_codel_pkts': 0, 'drop_memory_pkts': 0, 'drop_end_pkts': 0, 'delay_mean_ns': 1500, 'delay_p99_ns': 90000, 'delay_max_ns': 2000000}]}]}"

TL_TEST("a shape shows each class")
{
	const char *before = SHAPE("0", "0", "0", "0"), *now = SHAPE("500000000", "62500", "6250", "2");

	expect(before, now, "wan 2.00M 2.00M 0 0 5 - - - -");
	expect(before, now, " ssh 128k 2.00M 1.00M 100k 5 8 1.500 us 90.000 us 2.000 ms");
}

#define POLICED(uptime, red)                                                                                           \
	"{'uptime_ns': " uptime ", 'captures': [{'port': 'lan', 'classes': [{'name': 'storm', 'green_pkts': " red      \
	", 'yellow_pkts': 5, 'red_pkts': " red ", 'red_bytes': " red ", 'overflow_pkts': 0}]}]}"

TL_TEST("a class of a recording shows its counts by colour")
{
	char *page = page_of(NULL, "{'captures': [{'port': 'lan', 'classes': []}]}");

	CU_ASSERT_PTR_NULL(strstr(page, "class"));
	free(page);
	expect(POLICED("0", "0"), POLICED("1000000000", "1500"), "lan storm 1.50k 0 1.50k 12.0k 0 1.50k");
	expect(POLICED("0", "0"), POLICED("1000000000", "1500"),
		"recording class whole/s cut/s red/s redbits/s overflow/s red");
}

#define COLOURS(unit, n, more)                                                                                         \
	"'policed': true, 'green_" unit "': " n ", 'yellow_" unit "': " n ", 'red_" unit "': " more
#define POLICERS(uptime, n, red)                                                                                       \
	"{'uptime_ns': " uptime                                                                                        \
	", 'shapes': [{'name': 'wan', 'policed': true, 'classes': [{'name': 'wan', 'policed': false}, "                \
	"{'name': 'ssh', " COLOURS("pkts", n, red) "}]}], 'echoes': [{'name': 'u', " COLOURS("msgs", n, red) "}]}"

TL_TEST("a policer of a class or of an echo shows its colours")
{
	const char *before = POLICERS("0", "0", "0"), *now = POLICERS("500000000", "100", "7");
	char *page = page_of(NULL, "{'shapes': [{'name': 'wan', 'policed': false}], 'echoes': [{'name': 'u'}]}");

	CU_ASSERT_PTR_NULL(strstr(page, "policer"));
	free(page);
	expect(before, now, "shape policer green/s yellow/s red/s red");
	expect(before, now, "wan ssh 200 200 14 7");
	expect(before, now, "echo u 200 200 14 7");
	page = page_of(before, now);
	CU_ASSERT_PTR_NULL(strstr(page, "wan            wan"));
	free(page);
}

// Expect these words if the class has another name than before.
static void expect_renamed(const char *before, const char *now, const char *words)
{
	char *other = strdup(now);

	memcpy(strstr(other, "'ssh'"), "'web'", 5);
	expect(before, other, words);
	free(other);
}

TL_TEST("a class in the place of another one has no rates yet")
{
	expect_renamed(SHAPE("0", "0", "0", "0"), SHAPE("500000000", "62500", "6250", "2"),
		" web 128k 2.00M - - 5 - 1.500 us 90.000 us 2.000 ms");
	expect_renamed(
		SHAPE("0", "0", "0", "0"), SHAPE("500000000", "62500", "6250", "2"), "wan 2.00M 2.00M 0 0 5 - - - -");
	expect_renamed(POLICERS("0", "0", "0"), POLICERS("500000000", "100", "7"), "wan web - - - 7");
}

#define REPLAY(uptime, pkts, bytes)                                                                                    \
	"{'uptime_ns': " uptime ", 'replays': [{'name': 'morning', 'state': 'paused', 'position_ns': 1500000000, "     \
	"'sent_pkts': " pkts ", 'sent_bytes': " bytes ", 'late_pkts': 3, 'reader_late_pkts': 2, 'lateness_ns': "       \
	"{'p50': 700, 'p99': null}}]}"

TL_TEST("a replay shows its position and lateness")
{
	expect(REPLAY("0", "0", "0"), REPLAY("500000000", "100", "6000"),
		"morning 200 96.0k 3 2 700 ns - 1.500 s paused");
}

TL_TEST("missing values are shown as dashes")
{
	expect("{}", "{'uptime_ns': 1000000000, 'ports': [{}, 3, null]}", "- - - - - - - -");
	expect("[]", "{'uptime_ns': 'x', 'captures': [{'slabs': -1, 'queues': 'no', 'files': {}}]}",
		"- - - - - - - 0 -");
	expect("{}", "{'echoes': [{'name': 5, 'residence_ns': []}]}", "- - - - - - - -");
	expect(NULL, "{'uptime_ns': 1, 'ports': {}, 'echoes': 'a'}", "tapline up 0 s ledger BROKEN FRAMES WERE LOST");
}

TL_TEST("control characters of a name are escaped")
{
	char *page = page_of(NULL, "{'ports': [{'name': '\\u001b[2Jx\\u009b'}]}");

	CU_ASSERT_PTR_NULL(strchr(page, '\033'));
	CU_ASSERT_TRUE(has_words(page, "?[2Jx?? - - - - - - -"));
	free(page);
}

static void expect_shown(const char *text, unsigned columns, unsigned rows, const char *shown)
{
	char *buffer = NULL;
	size_t size;
	FILE *out = open_memstream(&buffer, &size);

	tl_top_show(out, text, columns, rows);
	fclose(out);
	CU_ASSERT_STRING_EQUAL(buffer, shown);
	free(buffer);
}

TL_TEST("a page is clipped to the terminal")
{
	expect_shown("abc\ndefgh\n", 80, 24, "\033[Habc\033[K\r\ndefgh\033[K\033[J");
	expect_shown("abc\ndefgh\n", 4, 24, "\033[Habc\033[K\r\ndefg\033[K\033[J");
	expect_shown("abc\n\ndefgh\n", 4, 2, "\033[Habc\033[K\r\n\033[K\033[J");
	expect_shown("", 4, 2, "\033[H\033[J");
}

int main(void)
{
	return tl_test_run("top");
}
