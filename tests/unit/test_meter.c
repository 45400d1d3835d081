// SPDX-License-Identifier: BSD-3-Clause
// Meter and shaper on a simulated clock: the rules of RFC 2697, RFC 2698 and RFC 4115, the bounds of a token bucket,
// and rte_meter as a reference where its periods are exact.

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_meter.h>

#include <tl_err.h>
#include <tl_meter.h>
#include <tl_random.h>
#include <tl_test.h>

#define UNIT 8000000000 // tokens per byte
#define FRAMES 300

static struct tl_meter meter_of(struct tl_meter_cfg cfg)
{
	struct tl_err err = {""};
	struct tl_meter meter;

	CU_ASSERT_EQUAL_FATAL(tl_meter_init(&meter, &cfg, &err), 0);
	return meter;
}

static struct tl_shaper shaper_of(struct tl_meter_cfg cfg)
{
	struct tl_err err = {""};
	struct tl_shaper shaper;

	CU_ASSERT_EQUAL_FATAL(tl_shaper_init(&shaper, &cfg, &err), 0);
	return shaper;
}

struct step {
	uint64_t now_ns;
	uint32_t bytes;
	enum tl_meter_colour in, out;
};

#define G TL_METER_GREEN
#define Y TL_METER_YELLOW
#define R TL_METER_RED

static void follow(struct tl_meter_cfg cfg, const struct step *steps, size_t n)
{
	struct tl_meter meter = meter_of(cfg);

	for (size_t i = 0; i < n; i++) {
		enum tl_meter_colour out = tl_meter_colour(&meter, steps[i].now_ns, steps[i].bytes, steps[i].in);
		CU_ASSERT_EQUAL(out, steps[i].out);
		if (out != steps[i].out)
			printf("# step %zu: %d\n", i, out);
	}
}

// ---- RFC 2697

static const struct tl_meter_cfg single = {.cir = 8000, .cbs = 1000, .ebs = 500}; // 1 byte per ms

TL_TEST("srTCM, colour-blind: green takes from Tc, yellow from Te, which gets the overflow of Tc")
{
	static const struct step steps[] = {{0, 1000, G, G},				  // Tc full
		{0, 1, G, Y}, {0, 499, G, Y}, {0, 1, G, R},				  // then Te
		{999999, 1, G, R}, {1000000, 1, G, G},					  // a byte per whole ms
		{2000000, 2, G, R}, {2000000, 1, G, G},					  // red takes no tokens
		{1002000000, 1000, G, G}, {1002000000, 1, G, R},			  // Tc fills first
		{2202000000, 1000, G, G}, {2202000000, 200, G, Y}, {2202000000, 1, G, R}, // the overflow fills Te
		{9202000000, 1001, G, R}, {9202000000, 1000, G, G}, {9202000000, 501, G, R}, {9202000000, 500, G, Y}};

	follow(single, steps, TL_ARRAY_LEN(steps));
}

TL_TEST("srTCM, colour-aware: yellow takes nothing from Tc, red nothing at all")
{
	static const struct step steps[] = {{0, 100, R, R}, {0, 100, Y, Y}, {0, 401, Y, R}, {0, 400, Y, Y},
		{0, 1, Y, R}, {0, 1000, G, G}, {0, 1, G, R}, {0, 0, G, G}, {0, 0, Y, Y}, {0, 0, R, R}};

	follow(single, steps, TL_ARRAY_LEN(steps));
}

TL_TEST("without an excess burst no frame is yellow")
{
	static const struct step steps[] = {
		{0, 1000, G, G}, {0, 1, G, R}, {UINT64_C(5000000000), 1001, G, R}, {UINT64_C(5000000000), 1000, G, G}};

	follow((struct tl_meter_cfg){.cir = 8000, .cbs = 1000}, steps, TL_ARRAY_LEN(steps));
}

// ---- RFC 2698

static const struct tl_meter_cfg two = {
	.kind = TL_METER_TRTCM, .cir = 8000, .cbs = 1000, .pir = 16000, .pbs = 1500}; // 1 and 2 bytes per ms

TL_TEST("trTCM, colour-blind: red exceeds the peak, green takes from both buckets, yellow from the peak only")
{
	static const struct step steps[] = {{0, 1501, G, R}, {0, 1000, G, G}, // green takes from both
		{0, 501, G, R}, {0, 500, G, Y}, {0, 1, G, R}, {500000, 1, G, Y}, {1000000, 1, G, G}, {1000000, 1, G, R},
		{10000000, 18, G, Y}, {10000000, 1, G, R}, // yellow takes from the peak bucket only
		{11000000, 2, G, G}, {2000000000000, 1500, G, Y}, {2000000000000, 1, G, R}};

	follow(two, steps, TL_ARRAY_LEN(steps));
}

TL_TEST("trTCM, colour-aware: a frame's colour never improves")
{
	static const struct step steps[] = {{0, 100, R, R}, {0, 1000, Y, Y}, {0, 501, Y, R}, {0, 501, G, R},
		{0, 500, G, G}, {0, 1, G, R}, {1000000000, 501, G, G}, {1000000000, 999, Y, Y}, {1000000000, 1, G, R}};

	follow(two, steps, TL_ARRAY_LEN(steps));
}

// ---- RFC 4115

static const struct tl_meter_cfg apart = {
	.kind = TL_METER_RFC4115, .cir = 8000, .cbs = 1000, .eir = 16000, .ebs = 500}; // 1 and 2 bytes per ms

TL_TEST("RFC 4115, colour-blind: green takes nothing from Te, which fills at EIR while Tc is not full")
{
	static const struct step steps[] = {{0, 1001, G, R}, {0, 1000, G, G}, {0, 501, G, R}, {0, 500, G, Y},
		{0, 1, G, R}, {500000, 1, G, Y}, {1000000, 1, G, G}, {1000000, 1, G, Y}, {1000000, 1, G, R},
		{11000000, 11, G, Y}, {11000000, 10, G, G}, {11000000, 9, G, Y}, {11000000, 1, G, R},
		{2000000000000, 1000, G, G}, {2000000000000, 501, G, R}, {2000000000000, 500, G, Y}};

	follow(apart, steps, TL_ARRAY_LEN(steps));
}

TL_TEST("RFC 4115, colour-aware: yellow takes nothing from Tc, red nothing at all")
{
	static const struct step steps[] = {{0, 100, R, R}, {0, 501, Y, R}, {0, 400, Y, Y}, {0, 1000, G, G},
		{0, 101, G, R}, {0, 100, G, Y}, {0, 1, Y, R}, {1000000, 1, R, R}, {1000000, 1, Y, Y},
		{1000000, 2, Y, R}, {1000000, 1, G, G}};

	follow(apart, steps, TL_ARRAY_LEN(steps));
}

// ---- time

TL_TEST("time that decreases adds no tokens")
{
	static const struct step steps[] = {{5000000, 1000, G, G}, {0, 1, G, R}, {5000000, 1, G, R}, {6000000, 1, G, G},
		{3000000, 1, G, R}, {6000000, 1, G, R}, {7000000, 1, G, G}};

	follow((struct tl_meter_cfg){.cir = 8000, .cbs = 1000}, steps, TL_ARRAY_LEN(steps));
}

TL_TEST("a gap of 584 years at the largest rate fills a bucket without overflow")
{
	static const struct step steps[] = {{0, 1000, G, G}, {UINT64_MAX, 1001, G, R}, {UINT64_MAX, 1000, G, G}};
	static const struct tl_meter_cfg fastest = {.kind = TL_METER_TRTCM,
		.cir = TL_METER_RATE_MAX,
		.cbs = TL_METER_BURST_MAX,
		.pir = TL_METER_RATE_MAX,
		.pbs = TL_METER_BURST_MAX};
	static const struct tl_meter_cfg odd = {.cir = TL_METER_RATE_MAX - 1, .cbs = 576460752, .ebs = 576460752};
	struct tl_meter meter = meter_of(fastest), most = meter_of(odd);

	follow((struct tl_meter_cfg){.cir = 8000, .cbs = 1000}, steps, TL_ARRAY_LEN(steps));
	CU_ASSERT_EQUAL(tl_meter_colour(&meter, UINT64_MAX, TL_METER_FRAME_MAX, G), G);
	CU_ASSERT_EQUAL(tl_meter_committed(&meter), TL_METER_BURST_MAX - TL_METER_FRAME_MAX);
	CU_ASSERT_EQUAL(tl_meter_colour(&most, 0, TL_METER_FRAME_MAX, G), R);
	for (uint32_t i = 1; i <= 2; i++) { // both buckets are filled at once, at an odd number of tokens
		CU_ASSERT_EQUAL(tl_meter_colour(&most, i * (UINT64_MAX / 4), 576460752, G), G);
		CU_ASSERT_EQUAL(tl_meter_colour(&most, i * (UINT64_MAX / 4), 576460752, G), Y);
		CU_ASSERT_EQUAL(tl_meter_colour(&most, i * (UINT64_MAX / 4), 1, G), R);
	}
}

// A bucket keeps fractions of bytes: at 3 bit/s steps of 1 ns add 3 tokens each.
TL_TEST("a fraction of a byte is not lost between frames")
{
	struct tl_meter meter = meter_of((struct tl_meter_cfg){.cir = 3, .cbs = 1});

	CU_ASSERT_EQUAL(tl_meter_colour(&meter, 0, 1, G), G);
	CU_ASSERT_EQUAL(tl_meter_colour(&meter, 2666666666, 1, G), R); // before 8/3 s
	CU_ASSERT_EQUAL(tl_meter_colour(&meter, 2666666667, 1, G), G);
}

TL_TEST("in packet mode a frame of any length takes one token")
{
	struct tl_meter meter = meter_of(
		(struct tl_meter_cfg){.unit = TL_METER_PKTS, .cir = 1000, .cbs = 2, .ebs = 1, .overhead_bytes = 24});

	CU_ASSERT_EQUAL(tl_meter_colour(&meter, 0, 9000, G), G);
	CU_ASSERT_EQUAL(tl_meter_colour(&meter, 0, 60, G), G);
	CU_ASSERT_EQUAL(tl_meter_colour(&meter, 0, 0, G), Y);
	CU_ASSERT_EQUAL(tl_meter_colour(&meter, 999999, 60, G), R);
	CU_ASSERT_EQUAL(tl_meter_committed(&meter), 0);
	CU_ASSERT_EQUAL(tl_meter_colour(&meter, 1000000, 60, G), G);
	meter = meter_of((struct tl_meter_cfg){
		.kind = TL_METER_RFC4115, .unit = TL_METER_PKTS, .cir = 1000, .cbs = 2, .eir = 3000, .ebs = 1});
	CU_ASSERT_EQUAL(tl_meter_colour(&meter, 0, 9000, G), G);
	CU_ASSERT_EQUAL(tl_meter_colour(&meter, 0, 60, G), G);
	CU_ASSERT_EQUAL(tl_meter_colour(&meter, 0, 60, G), Y);
	CU_ASSERT_EQUAL(tl_meter_colour(&meter, 333333, 60, G), R);
	CU_ASSERT_EQUAL(tl_meter_colour(&meter, 333334, 60, G), Y);
	CU_ASSERT_EQUAL(tl_meter_colour(&meter, 1000000, 60, G), G);
}

TL_TEST("overhead is added to each frame")
{
	struct tl_meter meter = meter_of((struct tl_meter_cfg){.cir = 8, .cbs = 100, .overhead_bytes = 24});

	CU_ASSERT_EQUAL(tl_meter_colour(&meter, 0, 77, G), R);
	CU_ASSERT_EQUAL(tl_meter_colour(&meter, 0, 76, G), G);
}

static void refused(struct tl_meter_cfg cfg, const char *message)
{
	struct tl_err err = {""};
	struct tl_meter meter;

	CU_ASSERT_EQUAL(tl_meter_init(&meter, &cfg, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, message));
}

TL_TEST("rates and bursts that pass no frame are refused with their key")
{
	const uint64_t rate = TL_METER_RATE_MAX, burst = TL_METER_BURST_MAX;

	refused((struct tl_meter_cfg){.cbs = 1}, "cir 0: out of range");
	refused((struct tl_meter_cfg){.cir = 1}, "cbs 0: out of range");
	refused((struct tl_meter_cfg){.kind = TL_METER_TRTCM, .cir = 1, .cbs = 1, .pbs = 1}, "pir 0: out of range");
	refused((struct tl_meter_cfg){.kind = TL_METER_TRTCM, .cir = 1, .cbs = 1, .pir = 1}, "pbs 0: out of range");
	refused((struct tl_meter_cfg){.kind = TL_METER_TRTCM, .cir = 3, .cbs = 1, .pir = 2, .pbs = 1}, "below cir 3");
	refused((struct tl_meter_cfg){.kind = TL_METER_RFC4115, .cir = 1, .cbs = 1, .ebs = 1}, "eir 0: out of range");
	refused((struct tl_meter_cfg){.kind = TL_METER_RFC4115, .cir = 1, .cbs = 1, .eir = 1}, "ebs 0: out of range");
	refused((struct tl_meter_cfg){.kind = TL_METER_RFC4115, .cir = 8, .cbs = 1, .eir = 3, .ebs = 576460753},
		"ebs 576460753: too large to be exact");
	refused((struct tl_meter_cfg){.cir = rate, .cbs = burst + 1}, "cbs 1099511627777: out of range");
	refused((struct tl_meter_cfg){.cir = rate, .cbs = 1, .ebs = burst + 1}, "ebs 1099511627777: out of range");
	refused((struct tl_meter_cfg){.cir = rate + 1, .cbs = 1}, "cir 1152921504606846977: out of range");
	refused((struct tl_meter_cfg){.cir = 3, .cbs = 576460753}, "cbs 576460753: too large to be exact");
	refused((struct tl_meter_cfg){.cir = 3, .cbs = 1, .ebs = 576460753}, "give at most 576460752");
	refused((struct tl_meter_cfg){.cir = 1, .cbs = 1, .overhead_bytes = UINT32_MAX}, "overhead");
}

// ---- steady state: 14.88 Mpps of 46 bytes, as in DPDK's guide of its sample application qos_meter

#define OFFERED 14880000u
#define MPPS 1000000u

static void is_about(uint64_t pkts, uint64_t expected)
{
	CU_ASSERT(pkts + 100 >= expected && pkts <= expected + 100);
	if (pkts + 100 < expected || pkts > expected + 100)
		printf("# %lu, not %lu\n", (unsigned long)pkts, (unsigned long)expected);
}

// Offer frames of which arriving_green per second, evenly spread, arrive green, and the others yellow.
static void steady_of(struct tl_meter_cfg cfg, uint64_t arriving_green, uint64_t green, uint64_t yellow)
{
	struct tl_meter meter = meter_of(cfg);
	uint64_t pkts[TL_METER_COLOURS] = {0};

	for (uint64_t i = 0; i < OFFERED; i++)
		pkts[tl_meter_colour(&meter, i * TL_NS_PER_S / OFFERED, 46,
			(i + 1) * arriving_green / OFFERED != i * arriving_green / OFFERED ? G : Y)]++;
	is_about(pkts[G], green);
	is_about(pkts[Y], yellow);
	CU_ASSERT_EQUAL(pkts[G] + pkts[Y] + pkts[R], OFFERED);
}

static void steady(struct tl_meter_cfg cfg, uint64_t green, uint64_t yellow)
{
	steady_of(cfg, OFFERED, green, yellow);
}

TL_TEST("trTCM of 14.88 Mpps: 1 green, 0.5 yellow, 13.38 red")
{
	steady((struct tl_meter_cfg){.kind = TL_METER_TRTCM,
		       .cir = MPPS * 46ull * 8,
		       .cbs = 2048,
		       .pir = MPPS * 46ull * 12,
		       .pbs = 2048},
		MPPS, MPPS / 2);
}

// The guide's figure of srTCM: rte_meter filled both buckets at CIR when it was written. Of the modes of today, that is
// RFC 4115 with EIR = CIR.
TL_TEST("two buckets that fill at 1 Mpps each: 1 green, 1 yellow, 12.88 red of 14.88 Mpps; rte_meter agrees")
{
	struct rte_meter_trtcm_rfc4115_profile profile = {2048, 2048, 1000, 46, 1000, 46}; // of 1 GHz: exact
	struct rte_meter_trtcm_rfc4115 theirs = {.tc = 2048, .te = 2048};
	uint64_t pkts[RTE_COLORS] = {0}, rate = MPPS * 46ull * 8;

	steady((struct tl_meter_cfg){.kind = TL_METER_RFC4115, .cir = rate, .cbs = 2048, .eir = rate, .ebs = 2048},
		MPPS, MPPS);
	for (uint64_t i = 0; i < OFFERED; i++)
		pkts[rte_meter_trtcm_rfc4115_color_blind_check(&theirs, &profile, i * TL_NS_PER_S / OFFERED, 46)]++;
	is_about(pkts[RTE_COLOR_GREEN], MPPS);
	is_about(pkts[RTE_COLOR_YELLOW], MPPS);
	is_about(pkts[RTE_COLOR_RED], OFFERED - 2 * MPPS);
}

// The rte_meter that the guide describes: each period adds 46 bytes to both buckets, and a frame takes from the first
// of them that has enough. Returns the colour, RED if none has.
static enum tl_meter_colour colour_of_guide(uint64_t buckets[2], uint64_t periods)
{
	for (int i = 0; i < 2; i++)
		buckets[i] = tl_min_u64(buckets[i] + 46 * periods, 2048);
	for (int i = 0; i < 2; i++)
		if (buckets[i] >= 46) {
			buckets[i] -= 46;
			return (enum tl_meter_colour)i;
		}
	return R;
}

TL_TEST("the rte_meter of DPDK's guide gives each frame the colour of RFC 4115 with EIR = CIR")
{
	struct tl_meter meter = meter_of((struct tl_meter_cfg){
		.kind = TL_METER_RFC4115, .cir = MPPS * 46ull * 8, .cbs = 2048, .eir = MPPS * 46ull * 8, .ebs = 2048});
	uint64_t buckets[2] = {2048, 2048}, last_us = 0, pkts[TL_METER_COLOURS] = {0}, different = 0;

	for (uint64_t i = 0; i < OFFERED; i++) {
		uint64_t now_us = i * MPPS / OFFERED; // whole periods, in which rte_meter adds tokens
		enum tl_meter_colour colour = colour_of_guide(buckets, now_us - last_us);
		different += colour != tl_meter_colour(&meter, now_us * TL_NS_PER_US, 46, G);
		pkts[colour]++;
		last_us = now_us;
	}
	CU_ASSERT_EQUAL(different, 0);
	is_about(pkts[G], MPPS);
	is_about(pkts[Y], MPPS);
	is_about(pkts[R], OFFERED - 2 * MPPS);
}

TL_TEST("srTCM, colour-aware: what green frames leave of 2 Mpps is yellow: 1 green, 1 yellow, 12.88 red")
{
	steady_of((struct tl_meter_cfg){.cir = 2 * MPPS * 46ull * 8, .cbs = 2048, .ebs = 2048}, MPPS, MPPS, MPPS);
}

// RFC 2697, and rte_meter of today, fill Te with the overflow of Tc.
TL_TEST("srTCM of 14.88 Mpps: 1 green, 13.88 red, yellow only the first burst; rte_meter agrees")
{
	struct rte_meter_srtcm_profile profile = {
		.cbs = 2048, .ebs = 2048, .cir_period = 1000, .cir_bytes_per_period = 46}; // of 1 GHz: exact
	struct rte_meter_srtcm theirs = {.tc = 2048, .te = 2048};
	uint64_t pkts[RTE_COLORS] = {0};

	steady((struct tl_meter_cfg){.cir = MPPS * 46ull * 8, .cbs = 2048, .ebs = 2048}, MPPS, 2048 / 46);
	for (uint64_t i = 0; i < OFFERED; i++)
		pkts[rte_meter_srtcm_color_blind_check(&theirs, &profile, i * TL_NS_PER_S / OFFERED, 46)]++;
	is_about(pkts[RTE_COLOR_GREEN], MPPS);
	is_about(pkts[RTE_COLOR_YELLOW], 2048 / 46);
}

// ---- properties

struct frame {
	uint64_t now_ns;
	uint32_t bytes;
	enum tl_meter_colour in, out;
};

static uint64_t upto(uint64_t *state, uint64_t n)
{
	return tl_random_next(state) % n;
}

// Generate bursts, pauses, equal times and steps backward.
static void make_frames(struct frame *frames, size_t n, uint64_t *state)
{
	static const uint64_t gaps[] = {1, 100, 10000, 1000000, 50000000};
	uint64_t now_ns = upto(state, 1000000);

	for (size_t i = 0; i < n; i++) {
		now_ns += upto(state, gaps[upto(state, TL_ARRAY_LEN(gaps))]);
		uint64_t back_ns = upto(state, 10) == 0 ? upto(state, 1000000) : 0;
		frames[i] = (struct frame){.now_ns = now_ns - tl_min_u64(back_ns, now_ns),
			.bytes = (uint32_t)(60 + upto(state, 1455)),
			.in = (enum tl_meter_colour)upto(state, 3)};
	}
}

static struct tl_meter_cfg make_cfg(uint64_t *state)
{
	struct tl_meter_cfg cfg = {.kind = (enum tl_meter_kind)upto(state, 3),
		.cir = 1 + upto(state, 400000000),
		.cbs = 1 + upto(state, 20000),
		.ebs = 1 + upto(state, 20000),
		.pbs = 1 + upto(state, 20000),
		.overhead_bytes = (uint32_t)upto(state, 30)};

	cfg.pir = cfg.cir + upto(state, 400000000);
	cfg.eir = 1 + upto(state, 400000000);
	return cfg;
}

// Check whether in each window the frames of colours up to "worst" have at most burst + rate x time bytes. A time that
// goes backward counts as the latest time before.
static bool is_bounded(const struct frame *frames, size_t n, enum tl_meter_colour worst, const struct tl_meter_cfg *cfg,
	uint64_t burst, uint64_t rate)
{
	uint64_t latest_ns[FRAMES];

	for (size_t i = 0; i < n; i++)
		latest_ns[i] = tl_max_u64(i != 0 ? latest_ns[i - 1] : 0, frames[i].now_ns);
	for (size_t i = 0; i < n; i++) {
		unsigned __int128 bytes = 0;
		for (size_t j = i; j < n; j++) {
			if (frames[j].out > worst)
				continue;
			bytes += frames[j].bytes + cfg->overhead_bytes;
			if (bytes * UNIT > (unsigned __int128)burst * UNIT +
						   (unsigned __int128)rate * (latest_ns[j] - latest_ns[i]))
				return false;
		}
	}
	return true;
}

TL_TEST("in any window green, and green plus yellow, are at most burst + rate x time")
{
	struct frame frames[FRAMES];

	for (uint64_t seed = 1; seed <= 100; seed++) {
		uint64_t state = seed;
		struct tl_meter_cfg cfg = make_cfg(&state);
		struct tl_meter meter = meter_of(cfg);
		bool peak = cfg.kind == TL_METER_TRTCM;
		uint64_t eir = cfg.kind == TL_METER_RFC4115 ? cfg.eir : 0;
		make_frames(frames, FRAMES, &state);
		for (size_t i = 0; i < FRAMES; i++)
			frames[i].out = tl_meter_colour(
				&meter, frames[i].now_ns, frames[i].bytes, seed % 2 ? frames[i].in : TL_METER_GREEN);
		bool green = is_bounded(frames, FRAMES, G, &cfg, cfg.cbs, cfg.cir);
		bool both = is_bounded(
			frames, FRAMES, Y, &cfg, peak ? cfg.pbs : cfg.cbs + cfg.ebs, peak ? cfg.pir : cfg.cir + eir);
		CU_ASSERT(green && both);
		if (!green || !both)
			printf("# seed %lu\n", (unsigned long)seed);
	}
}

static size_t count_green(struct tl_meter_cfg cfg, const struct frame *frames)
{
	struct tl_meter meter = meter_of(cfg);
	size_t green = 0;

	for (size_t i = 0; i < FRAMES; i++)
		green += tl_meter_colour(&meter, frames[i].now_ns, frames[i].bytes, G) == G;
	return green;
}

TL_TEST("the envelope is the smallest burst with which every frame is green")
{
	struct frame frames[FRAMES];

	for (uint64_t seed = 1; seed <= 100; seed++) {
		uint64_t state = seed;
		struct tl_meter_cfg cfg = make_cfg(&state);
		struct tl_envelope envelope;
		cfg.kind = TL_METER_SRTCM;
		cfg.ebs = 0;
		make_frames(frames, FRAMES, &state);
		tl_envelope_init(&envelope, cfg.cir, cfg.overhead_bytes);
		for (size_t i = 0; i < FRAMES; i++)
			tl_envelope_add(&envelope, frames[i].now_ns, frames[i].bytes);
		cfg.cbs = tl_envelope_burst(&envelope);
		CU_ASSERT_EQUAL(count_green(cfg, frames), FRAMES);
		cfg.cbs--;
		CU_ASSERT(count_green(cfg, frames) < FRAMES);
	}
}

// ---- rte_meter

// Rates whose period rte_meter can represent at 1 GHz: a whole number of cycles per byte, at least 100.
static const uint64_t exact_periods[] = {100, 125, 200, 250, 1000, 4000, 10000};

static enum tl_meter_colour their_single(
	struct rte_meter_srtcm *m, struct rte_meter_srtcm_profile *p, const struct frame *f)
{
	return (enum tl_meter_colour)rte_meter_srtcm_color_aware_check(
		m, p, f->now_ns, f->bytes, (enum rte_color)f->in);
}

static void equals_rte_meter(uint64_t seed)
{
	uint64_t state = seed, period = exact_periods[upto(&state, TL_ARRAY_LEN(exact_periods))], now_ns = 0;
	uint64_t cbs = 1 + upto(&state, 5000), ebs = upto(&state, 5000), pbs = 1 + upto(&state, 5000);
	struct rte_meter_srtcm_profile sp = {cbs, ebs, period, 1};
	struct rte_meter_trtcm_profile tp = {cbs, pbs, 2 * period, 1, period, 1};
	struct rte_meter_trtcm_rfc4115_profile ap = {cbs, pbs, 2 * period, 1, period, 1};
	struct rte_meter_srtcm s = {.tc = cbs, .te = ebs};
	struct rte_meter_trtcm_rfc4115 a = {.tc = cbs, .te = pbs};
	struct rte_meter_trtcm t = {.tc = cbs, .tp = pbs};
	struct tl_meter ours_single = meter_of((struct tl_meter_cfg){.cir = UNIT / period, .cbs = cbs, .ebs = ebs});
	struct tl_meter ours_two = meter_of((struct tl_meter_cfg){
		.kind = TL_METER_TRTCM, .cir = UNIT / period / 2, .cbs = cbs, .pir = UNIT / period, .pbs = pbs});
	struct tl_meter ours_apart = meter_of((struct tl_meter_cfg){
		.kind = TL_METER_RFC4115, .cir = UNIT / period / 2, .cbs = cbs, .eir = UNIT / period, .ebs = pbs});

	for (unsigned i = 0; i < 1000; i++) {
		now_ns += 2 * period * upto(&state, upto(&state, 50) == 0 ? 4000 : 800);
		struct frame f = {now_ns, (uint32_t)upto(&state, 1515), (enum tl_meter_colour)upto(&state, 3), G};
		enum tl_meter_colour single_colour = their_single(&s, &sp, &f);
		enum rte_color two_colour =
			rte_meter_trtcm_color_aware_check(&t, &tp, now_ns, f.bytes, (enum rte_color)f.in);
		enum rte_color apart_colour =
			rte_meter_trtcm_rfc4115_color_aware_check(&a, &ap, now_ns, f.bytes, (enum rte_color)f.in);
		CU_ASSERT_EQUAL(tl_meter_colour(&ours_single, now_ns, f.bytes, f.in), single_colour);
		CU_ASSERT_EQUAL(tl_meter_colour(&ours_two, now_ns, f.bytes, f.in), (enum tl_meter_colour)two_colour);
		CU_ASSERT_EQUAL(
			tl_meter_colour(&ours_apart, now_ns, f.bytes, f.in), (enum tl_meter_colour)apart_colour);
	}
}

TL_TEST("colours equal those of rte_meter where its periods are exact")
{
	for (uint64_t seed = 1; seed <= 50; seed++)
		equals_rte_meter(seed);
}

// 7,000,001 bytes/s are 142.857 ns per byte; rte_meter uses 142.
TL_TEST("the rate is exact where rte_meter passes 0.6 % too much")
{
	struct rte_meter_srtcm_profile profile = {1500, 0, 142, 1};
	struct rte_meter_srtcm theirs = {.tc = 1500};
	struct tl_meter ours = meter_of((struct tl_meter_cfg){.cir = 7000001 * 8, .cbs = 1500});
	uint64_t their_bytes = 0, our_bytes = 0;

	for (uint64_t now_ns = 0; now_ns < TL_NS_PER_S; now_ns += 1000) {
		if (tl_meter_colour(&ours, now_ns, 100, G) == G)
			our_bytes += 100;
		if (rte_meter_srtcm_color_blind_check(&theirs, &profile, now_ns, 100) == RTE_COLOR_GREEN)
			their_bytes += 100;
	}
	CU_ASSERT(our_bytes <= 7000001 + 1500 && our_bytes + 100 >= 7000001);
	CU_ASSERT(their_bytes > 7000001 * UINT64_C(1005) / 1000);
}

// ---- shaper

// Check that the frame could not have left 1 ns earlier.
static bool left_as_soon_as_possible(struct tl_shaper before, const struct frame *f, uint64_t departure_ns)
{
	uint64_t last_ns = before.time_ns;

	if (departure_ns == f->now_ns || departure_ns == last_ns)
		return true;
	return tl_shaper_depart(&before, departure_ns - 1, f->bytes) == departure_ns;
}

TL_TEST("a shaper sends in order, within burst and rate, as early as possible")
{
	struct frame frames[FRAMES];

	for (uint64_t seed = 1; seed <= 100; seed++) {
		uint64_t state = seed, last_ns = 0;
		struct tl_meter_cfg cfg = make_cfg(&state);
		struct tl_shaper shaper = shaper_of(cfg);
		make_frames(frames, FRAMES, &state);
		for (size_t i = 0; i < FRAMES; i++) {
			struct tl_shaper before = shaper;
			uint64_t departure_ns = tl_shaper_depart(&shaper, frames[i].now_ns, frames[i].bytes);
			bool fits = frames[i].bytes + cfg.overhead_bytes <= cfg.cbs;
			CU_ASSERT_EQUAL(departure_ns != TL_SHAPER_NEVER, fits);
			frames[i].out = fits ? G : R;
			if (!fits) {
				frames[i].now_ns = last_ns;
				continue;
			}
			CU_ASSERT(departure_ns >= frames[i].now_ns && departure_ns >= last_ns);
			CU_ASSERT(left_as_soon_as_possible(before, &frames[i], departure_ns));
			last_ns = frames[i].now_ns = departure_ns;
		}
		CU_ASSERT(is_bounded(frames, FRAMES, G, &cfg, cfg.cbs, cfg.cir));
	}
}

TL_TEST("over 10 s the shaped rate is exact from 64 kbit/s to 10 Gbit/s")
{
	static const uint64_t rates[] = {64000, 999999, 7000001, 50000000, 1000000007, 10000000000};

	for (size_t i = 0; i < TL_ARRAY_LEN(rates); i++) {
		struct tl_shaper shaper = shaper_of((struct tl_meter_cfg){.cir = rates[i], .cbs = 1514});
		uint64_t pkts = rates[i] * 10 / 8 / 1514, last_ns = 0; // in 10 s
		for (uint64_t n = 0; n <= pkts; n++)
			last_ns = tl_shaper_depart(&shaper, 0, 1514);
		uint64_t exact_ns = (uint64_t)((unsigned __int128)pkts * 1514 * UNIT / rates[i]);
		CU_ASSERT(last_ns >= exact_ns && last_ns - exact_ns <= exact_ns / 1000);
		CU_ASSERT_EQUAL(tl_shaper_tokens(&shaper), 0);
	}
}

TL_TEST("a shaper waits for tokens to the nanosecond, and drops frames longer than its burst")
{
	struct tl_shaper shaper = shaper_of((struct tl_meter_cfg){.cir = 8000, .cbs = 1000}); // 1 byte per ms

	CU_ASSERT_EQUAL(tl_shaper_depart(&shaper, 7, 1000), 7);
	CU_ASSERT_EQUAL(tl_shaper_depart(&shaper, 8, 1), 1000007);
	CU_ASSERT_EQUAL(tl_shaper_depart(&shaper, 8, 1001), TL_SHAPER_NEVER); // takes no tokens
	CU_ASSERT_EQUAL(tl_shaper_depart(&shaper, 3, 1), 2000007);
	CU_ASSERT_EQUAL(tl_shaper_depart(&shaper, 5000000, 1), 5000000);
	CU_ASSERT_EQUAL(tl_shaper_tokens(&shaper), 1);
	CU_ASSERT_EQUAL(tl_shaper_depart(&shaper, UINT64_MAX - 1, 1000), UINT64_MAX - 1);
	CU_ASSERT_EQUAL(tl_shaper_depart(&shaper, UINT64_MAX - 1, 1), TL_SHAPER_NEVER); // end of the time range
}

int main(void)
{
	return tl_test_run("meter");
}
