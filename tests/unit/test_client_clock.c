// SPDX-License-Identifier: BSD-3-Clause
// Echo client on a simulated clock: a scripted link, and a replacement of the C library's clock_gettime(). Nothing
// waits.

#include <errno.h>
#include <string.h>
#include <time.h>

#include <tl_client_link.h>
#include <tl_client_msg.h>
#include <tl_test.h>

#define READING_NS 100 // cost of a clock reading
#define ECHO_NS (20 * TL_NS_PER_MS)
#define STALL_NS (300 * TL_NS_PER_MS)
#define ON_THE_WAY 16
#define PAYLOAD_BYTES 24

static uint64_t now_ns = TL_NS_PER_S;

int clock_gettime(clockid_t clock, struct timespec *out)
{
	now_ns += READING_NS;
	*out = (struct timespec){.tv_sec = (time_t)(now_ns / TL_NS_PER_S), .tv_nsec = (long)(now_ns % TL_NS_PER_S)};
	return 0;
}

// ---- a link that returns each echo after ECHO_NS

struct echo_link {
	struct tl_client_link link;
	uint64_t sent, received; // datagrams
	uint64_t lost_from;	 // datagrams from this one on have no echo; 0: all have one
	uint64_t polls;
	uint64_t due_ns[ON_THE_WAY];
	uint8_t data[ON_THE_WAY][PAYLOAD_BYTES];
};

static int open_link(const struct tl_client_cfg *cfg, struct tl_client_link **out, struct tl_err *err)
{
	struct echo_link *echo = cfg->transport_ctx;

	*out = &echo->link;
	echo->link.ops = cfg->transport;
	echo->link.cfg = cfg;
	echo->link.sources = (struct tl_client_sources){.transport = "test", .departures = "user", .arrivals = "user"};
	echo->link.connections = 1;
	return 0;
}

static void close_link(struct tl_client_link *link)
{
}

static bool is_up(const struct tl_client_link *link)
{
	return true;
}

static ssize_t send_message(struct tl_client_link *link, const void *data, size_t len)
{
	struct echo_link *echo = (struct echo_link *)link;
	uint64_t slot = echo->sent++ % ON_THE_WAY;

	CU_ASSERT_FATAL(len == PAYLOAD_BYTES && echo->sent - echo->received <= ON_THE_WAY);
	memcpy(echo->data[slot], data, len);
	echo->due_ns[slot] = now_ns + ECHO_NS;
	return (ssize_t)len;
}

static ssize_t receive_echo(struct tl_client_link *link, void *data, size_t room, struct tl_client_arrival *arrival)
{
	struct echo_link *echo = (struct echo_link *)link;
	uint64_t slot = echo->received % ON_THE_WAY;

	if (echo->received == echo->sent || now_ns < echo->due_ns[slot])
		return -EAGAIN;
	if (echo->lost_from != 0 && echo->received >= echo->lost_from)
		return -EAGAIN;
	CU_ASSERT_FATAL(room >= PAYLOAD_BYTES);
	memcpy(data, echo->data[slot], PAYLOAD_BYTES);
	*arrival = (struct tl_client_arrival){0};
	echo->received++;
	return PAYLOAD_BYTES;
}

static bool no_departure(struct tl_client_link *link, bool expected, struct tl_client_departure *departure)
{
	return false;
}

// Advance the clock to the next echo, in place of a sleep.
static void sleep_on_link(struct tl_client_link *link, uint64_t timeout_ns, bool want_write)
{
	struct echo_link *echo = (struct echo_link *)link;
	uint64_t until_ns = now_ns + timeout_ns;

	echo->polls++;
	if (echo->received < echo->sent && echo->due_ns[echo->received % ON_THE_WAY] > now_ns)
		until_ns = tl_min_u64(until_ns, echo->due_ns[echo->received % ON_THE_WAY]);
	now_ns = tl_max_u64(now_ns, until_ns);
}

static const struct tl_client_ops echo_ops = {
	.name = "test",
	.open = open_link,
	.close = close_link,
	.is_up = is_up,
	.send = send_message,
	.receive = receive_echo,
	.departed = no_departure,
	.poll = sleep_on_link,
};

// 22 messages, one every 50 ms.
static struct tl_client_result run_over(struct echo_link *echo, const struct tl_client_hooks *hooks)
{
	struct tl_client_result result = {0};
	const struct tl_client_cfg cfg = {
		.transport = &echo_ops,
		.transport_ctx = echo,
		.mode = TL_CLIENT_UDP,
		.rate_pps = 20,
		.duration_ns = 1100 * TL_NS_PER_MS,
		.payload_bytes = PAYLOAD_BYTES,
		.connect_timeout_ns = TL_NS_PER_S,
		.linger_ns = TL_NS_PER_S,
		.spin_ns = 100 * TL_NS_PER_US,
		.timestamps = TL_CLIENT_STAMPS_USER,
		.seed = 42,
	};

	CU_ASSERT_EQUAL_FATAL(tl_client_run(&cfg, hooks, &result, NULL), 0);
	CU_ASSERT_TRUE(result.balanced);
	return result;
}

static struct tl_client_result run(const struct tl_client_hooks *hooks)
{
	struct echo_link echo = {0};
	struct tl_client_result result = run_over(&echo, hooks);

	CU_ASSERT_EQUAL(result.received, 22);
	return result;
}

static bool says(const struct tl_client_result *result, const char *text)
{
	for (uint32_t i = 0; i < result->invalid.n; i++)
		if (strstr(result->invalid.text[i], text) != NULL)
			return true;
	return false;
}

static bool is_near(uint64_t ns, uint64_t expected_ns)
{
	return ns >= expected_ns && ns < expected_ns + TL_NS_PER_MS;
}

TL_TEST("a client that polls constantly measures the delay of the link")
{
	struct tl_client_result result = run(&(struct tl_client_hooks){0});

	CU_ASSERT_TRUE(is_near(result.rtt.all.min_ns, ECHO_NS));
	CU_ASSERT_TRUE(is_near(result.rtt.all.max_ns, ECHO_NS));
	CU_ASSERT_TRUE(result.poll_gap.max_ns < TL_NS_PER_MS);
	CU_ASSERT_TRUE(result.sender_late.max_ns < TL_NS_PER_MS);
	CU_ASSERT_FALSE(says(&result, "echoes were read late"));
	CU_ASSERT_FALSE(says(&result, "the sender was late"));
	for (size_t i = 0; i < TL_LATENCY_LEVELS; i++)
		CU_ASSERT_FALSE(result.rtt.levels[i].late);
}

TL_TEST("a client that waits for a lost echo sleeps until the end of its patience")
{
	struct echo_link whole = {0}, lossy = {.lost_from = 21};
	struct tl_client_result result = run_over(&whole, &(struct tl_client_hooks){0});

	CU_ASSERT_EQUAL(result.lost, 0);
	result = run_over(&lossy, &(struct tl_client_hooks){0});
	CU_ASSERT_EQUAL(result.lost, 1);
	CU_ASSERT_TRUE(is_near(result.elapsed_ns, 21 * 50 * TL_NS_PER_MS + TL_NS_PER_S));
	CU_ASSERT_TRUE(lossy.polls <= whole.polls + 20); // of 100 ms each, and around reports
}

// Progress is printed while message 20 is in flight.
static void stall(void *ctx, const struct tl_client_progress *progress)
{
	now_ns += STALL_NS;
}

TL_TEST("time without polls is a poll gap")
{
	struct tl_client_result result = run(&(struct tl_client_hooks){.progress = stall});

	CU_ASSERT_TRUE(is_near(result.poll_gap.max_ns, STALL_NS));
	CU_ASSERT_TRUE(is_near(result.sender_late.max_ns, STALL_NS - 50 * TL_NS_PER_MS)); // message 21
	CU_ASSERT_TRUE(is_near(result.rtt.all.max_ns, STALL_NS));			  // message 20
	CU_ASSERT_TRUE(says(&result, "echoes were read late"));
	CU_ASSERT_TRUE(says(&result, "the sender was late"));
	CU_ASSERT_FALSE(result.rtt.levels[0].late);
	CU_ASSERT_TRUE(result.rtt.levels[3].late);
}

// ---- a stream that delivers each echo in two parts, read one after the other

#define FIRST_NS 9000 // from a message's departure to the first part, which is retransmitted
#define LAST_NS 4000  // to the last part

struct split_link {
	struct tl_client_link link;
	uint64_t sent, departed, parts; // messages, stamps, parts of echoes
	uint8_t data[PAYLOAD_BYTES];
};

static int open_split(const struct tl_client_cfg *cfg, struct tl_client_link **out, struct tl_err *err)
{
	struct split_link *split = cfg->transport_ctx;

	*out = &split->link;
	split->link.ops = cfg->transport;
	split->link.cfg = cfg;
	split->link.sources =
		(struct tl_client_sources){.transport = "test", .departures = "kernel", .arrivals = "kernel"};
	split->link.connections = 1;
	return 0;
}

static uint64_t left_ns(uint64_t message)
{
	return 1000000 * (message + 1);
}

static ssize_t send_split(struct tl_client_link *link, const void *data, size_t len)
{
	struct split_link *split = (struct split_link *)link;

	CU_ASSERT_FATAL(len == PAYLOAD_BYTES && split->parts == 2 * split->sent);
	memcpy(split->data, data, len);
	split->sent++;
	return (ssize_t)len;
}

// Every second echo is complete.
static ssize_t receive_part(struct tl_client_link *link, void *data, size_t room, struct tl_client_arrival *arrival)
{
	struct split_link *split = (struct split_link *)link;
	uint64_t message = split->parts / 2, half = split->parts % 2;
	bool whole = message % 2 == 1;
	size_t len = whole ? PAYLOAD_BYTES : PAYLOAD_BYTES / 2;

	if (message == split->sent)
		return -EAGAIN;
	CU_ASSERT_FATAL(room >= len);
	memcpy(data, split->data + half * len, len);
	*arrival =
		(struct tl_client_arrival){.stamp_ns = left_ns(message) + (half == 0 && !whole ? FIRST_NS : LAST_NS)};
	split->parts += whole ? 2 : 1;
	return (ssize_t)len;
}

static bool next_departure(struct tl_client_link *link, bool expected, struct tl_client_departure *departure)
{
	struct split_link *split = (struct split_link *)link;

	if (split->departed == split->sent)
		return false;
	*departure = (struct tl_client_departure){
		.id = (uint32_t)((split->departed + 1) * PAYLOAD_BYTES - 1), .stamp_ns = left_ns(split->departed)};
	split->departed++;
	return true;
}

static void sleep_on_split(struct tl_client_link *link, uint64_t timeout_ns, bool want_write)
{
	now_ns += timeout_ns;
}

TL_TEST("the arrival time of a split echo is that of its latest part")
{
	static const struct tl_client_ops ops = {.name = "test",
		.open = open_split,
		.close = close_link,
		.is_up = is_up,
		.send = send_split,
		.receive = receive_part,
		.departed = next_departure,
		.poll = sleep_on_split};
	struct split_link split = {0};
	struct tl_client_result result = {0};
	const struct tl_client_cfg cfg = {.transport = &ops,
		.transport_ctx = &split,
		.mode = TL_CLIENT_TCP,
		.rate_pps = 100,
		.duration_ns = TL_NS_PER_S,
		.payload_bytes = PAYLOAD_BYTES,
		.connect_timeout_ns = TL_NS_PER_S,
		.linger_ns = TL_NS_PER_S,
		.timestamps = TL_CLIENT_STAMPS_KERNEL,
		.seed = 42};

	CU_ASSERT_EQUAL_FATAL(tl_client_run(&cfg, &(struct tl_client_hooks){0}, &result, NULL), 0);
	CU_ASSERT_EQUAL(result.stamps.paired, 100);
	CU_ASSERT_EQUAL(result.wire_rtt.all.min_ns, LAST_NS);
	CU_ASSERT_EQUAL(result.wire_rtt.all.max_ns, FIRST_NS);
	CU_ASSERT_EQUAL((uint64_t)result.wire_rtt.all.mean_ns, (FIRST_NS + LAST_NS) / 2);
}

int main(void)
{
	return tl_test_run("client clock");
}
