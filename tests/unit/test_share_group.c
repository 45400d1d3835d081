// SPDX-License-Identifier: BSD-3-Clause
// Writers that share a simulated disk, on a simulated clock: limits from traces of demand against the oracle of
// tl_test_share.h, amounts written, the measured capacity.

#include <stdio.h>
#include <string.h>

#include <tl_random.h>
#include <tl_share_group.h>
#include <tl_test.h>
#include <tl_test_share.h>

#define SLAB UINT64_C(65536)
#define DEPTH 8 // slabs of a writer at the disk
#define STEPS 100u
#define INTERVAL_NS (STEPS * TL_NS_PER_MS)
#define USERS 8
#define DIVIDE_MS 80 // of disk_shares.c

#define MBPS (UINT64_C(8) * 1000 * 1000) // of bytes per second

struct user {
	uint64_t arriving; // bytes per ms
	uint64_t arrived, backlog, at_disk, done, busy_ns;
	int64_t credit;
};

struct disk {
	struct tl_share_group group;
	uint64_t rate; // bytes per ms
	int64_t spare; // bytes that the disk could still write in this step; below 0: wrote too early
	uint32_t turn;
	struct user users[USERS];
};

static struct user *join(struct disk *d, uint64_t arriving_mb, struct tl_share_member member)
{
	member.weight = member.weight != 0 ? member.weight : 1;
	member.limit = TL_SHARE_MAX;
	d->users[d->group.n].arriving = arriving_mb * 1000;
	d->group.members[d->group.n] = member;
	return &d->users[d->group.n++];
}

static void begin_disk(struct disk *d, uint64_t rate_mb, uint64_t given)
{
	*d = (struct disk){.rate = rate_mb * 1000};
	tl_share_group_init(&d->group, given);
}

static void submit(struct user *u, uint64_t limit)
{
	int64_t earned = limit < TL_SHARE_MAX ? (int64_t)(limit / 8000) : INT32_MAX;
	int64_t most = 32 * earned + (int64_t)SLAB;

	u->credit = u->credit + earned < most ? u->credit + earned : most;
	while (u->credit > 0 && u->backlog >= SLAB && u->at_disk < DEPTH * SLAB) {
		u->credit -= (int64_t)SLAB;
		u->backlog -= SLAB;
		u->at_disk += SLAB;
	}
}

// Write slabs of all users in turn: a disk is independent of shares.
static void write_some(struct disk *d)
{
	uint64_t waiting = 0;

	for (uint32_t i = 0; i < d->group.n; i++)
		waiting += d->users[i].at_disk;
	d->spare = (d->spare < 0 ? d->spare : 0) + (int64_t)d->rate;
	while (d->spare > 0 && waiting > 0) {
		struct user *u = &d->users[d->turn++ % d->group.n];
		if (u->at_disk == 0)
			continue;
		u->at_disk -= SLAB;
		u->done += SLAB;
		waiting -= SLAB;
		d->spare -= (int64_t)SLAB;
	}
}

static void step(struct disk *d, uint64_t limits[USERS])
{
	for (uint32_t i = 0; i < d->group.n; i++) {
		struct user *u = &d->users[i];
		u->arrived += u->arriving;
		u->backlog += u->arriving;
		submit(u, limits[i]);
		u->busy_ns += u->at_disk == DEPTH * SLAB ? TL_NS_PER_MS : 0;
	}
	write_some(d);
}

// A writer counts sealed slabs.
static void divide(struct disk *d, uint64_t elapsed_ns)
{
	for (uint32_t i = 0; i < d->group.n; i++) {
		const struct user *u = &d->users[i];
		d->group.members[i].load = (struct tl_share_load){.in_bytes = u->arrived - u->backlog % SLAB,
			.backlog_bytes = u->backlog - u->backlog % SLAB,
			.done_bytes = u->done,
			.busy_ns = u->busy_ns};
	}
	tl_share_group_divide(&d->group, elapsed_ns);
}

// Run an interval with the limits of the last division, then divide.
static void run(struct disk *d, uint32_t intervals)
{
	uint64_t limits[USERS];

	for (uint32_t n = 0; n < intervals; n++) {
		for (uint32_t i = 0; i < d->group.n; i++)
			limits[i] = d->group.members[i].limit;
		for (uint32_t k = 0; k < STEPS; k++)
			step(d, limits);
		divide(d, INTERVAL_NS);
	}
}

// Run, and return the bytes that a user wrote meanwhile, in percent of what the disk can write.
static uint32_t run_part(struct disk *d, uint32_t intervals, const struct user *u)
{
	uint64_t before = u->done;

	run(d, intervals);
	return (uint32_t)((u->done - before) * 100 / (d->rate * STEPS * intervals));
}

// Return whether a percentage is within 2 of the wanted.
static bool is_about(uint32_t percent, uint32_t wanted)
{
	return percent + 2 >= wanted && percent <= wanted + 2;
}

// ---- a given capacity

TL_TEST("writers with a backlog share the disk by weight")
{
	struct disk d;

	begin_disk(&d, 200, 200 * MBPS);
	struct user *heavy = join(&d, 300, (struct tl_share_member){.weight = 3});
	const struct user *light = join(&d, 300, (struct tl_share_member){.weight = 1});
	run(&d, 2);
	CU_ASSERT(is_about(run_part(&d, 10, heavy), 75));
	CU_ASSERT(is_about(run_part(&d, 10, light), 25));
	heavy->arriving = 0; // its backlog lasts
	CU_ASSERT(is_about(run_part(&d, 10, light), 25));
}

TL_TEST("prod precedes nonprod, except for the floor of nonprod")
{
	struct disk d;

	begin_disk(&d, 200, 200 * MBPS);
	const struct user *prod = join(&d, 300, (struct tl_share_member){.tier = 0});
	const struct user *batch = join(&d, 300, (struct tl_share_member){.tier = 1, .weight = 9, .floor = 20 * MBPS});
	const struct user *rest = join(&d, 300, (struct tl_share_member){.tier = 1});
	run(&d, 2);
	CU_ASSERT(is_about(run_part(&d, 10, prod), 90));
	CU_ASSERT(is_about(run_part(&d, 10, batch), 10));
	CU_ASSERT_EQUAL(run_part(&d, 10, rest), 0);
}

TL_TEST("an unused share is lent to others and reclaimed within an interval")
{
	struct disk d;

	begin_disk(&d, 200, 200 * MBPS);
	struct user *prod = join(&d, 0, (struct tl_share_member){.tier = 0});
	const struct user *batch = join(&d, 300, (struct tl_share_member){.tier = 1});
	run(&d, 1);
	CU_ASSERT(is_about(run_part(&d, 1, batch), 100));
	prod->arriving = 200 * 1000;
	run(&d, 1); // the demand is seen at its end; slabs of the other at the disk are written first
	CU_ASSERT(run_part(&d, 1, prod) >= 96);
	CU_ASSERT(run_part(&d, 1, batch) <= 4);
	prod->arriving = 0;
	while (prod->backlog >= SLAB)
		run(&d, 1);
	run(&d, 1);
	CU_ASSERT(is_about(run_part(&d, 1, batch), 100));
}

// Run for a ms, with a division every DIVIDE_MS. Return the limit of a member.
static uint64_t pass(struct disk *d, uint64_t *now_ms, uint32_t member)
{
	uint64_t limits[USERS];

	for (uint32_t i = 0; i < d->group.n; i++)
		limits[i] = d->group.members[i].limit;
	step(d, limits);
	if (++*now_ms % DIVIDE_MS == 0)
		divide(d, DIVIDE_MS * TL_NS_PER_MS);
	return d->group.members[member].limit;
}

// Let a writer begin at any ms between two divisions, and end with what it has. Return the longest waits for its limit,
// and for the return of it.
static void measure_wait(uint64_t arriving_mb, uint64_t share_mb, uint64_t *taken_ms, uint64_t *lent_ms)
{
	*taken_ms = *lent_ms = 0;
	for (uint64_t phase = 0; phase < DIVIDE_MS; phase++) {
		struct disk d;
		uint64_t now_ms = 0, ms;
		begin_disk(&d, 200, 200 * MBPS);
		struct user *begins = join(&d, 0, (struct tl_share_member){.weight = 1});
		join(&d, 600, (struct tl_share_member){.weight = 1});
		while (now_ms < 5 * DIVIDE_MS + phase)
			pass(&d, &now_ms, 0);
		CU_ASSERT_EQUAL(d.group.members[0].limit, 0);
		begins->arriving = arriving_mb * 1000;
		for (ms = 0; pass(&d, &now_ms, 0) < share_mb * MBPS - share_mb * MBPS / 64 && ms < 1000;)
			ms++;
		*taken_ms = tl_max_u64(*taken_ms, ms);
		for (ms = 0; ms < 10 * DIVIDE_MS; ms++)
			pass(&d, &now_ms, 0);
		CU_ASSERT(d.group.members[0].limit <= share_mb * MBPS + 10 * MBPS);
		begins->arriving = begins->backlog = 0;
		for (ms = 0; pass(&d, &now_ms, 1) < 200 * MBPS && ms < 1000;)
			ms++;
		*lent_ms = tl_max_u64(*lent_ms, ms);
	}
}

TL_TEST("a writer that begins at any time has its share within 100 ms, and what it does not use is lent within two divisions")
{
	static const uint64_t arriving_mb[] = {12, 25, 50, 99, 300};

	for (size_t i = 0; i < TL_ARRAY_LEN(arriving_mb); i++) {
		uint64_t taken_ms, lent_ms;
		measure_wait(arriving_mb[i], tl_min_u64(arriving_mb[i], 100), &taken_ms, &lent_ms);
		CU_ASSERT(taken_ms <= 100 && lent_ms <= 2 * DIVIDE_MS);
		if (taken_ms > 100 || lent_ms > 2 * DIVIDE_MS)
			printf("# %lu MB/s: taken after %lu ms, lent after %lu ms\n", (unsigned long)arriving_mb[i],
				(unsigned long)taken_ms, (unsigned long)lent_ms);
	}
}

TL_TEST("a demand that has more than doubled while bytes wait is not known")
{
	struct tl_share_demand last = {0};

	CU_ASSERT_EQUAL(tl_share_demand(&last, 1000, 500, TL_NS_PER_S), TL_SHARE_MAX);
	CU_ASSERT_EQUAL(tl_share_demand(&last, 2500, 1500, TL_NS_PER_S), 24000); // twice as much
	CU_ASSERT_EQUAL(tl_share_demand(&last, 12500, 0, TL_NS_PER_S), 80000);	 // nothing waits
	CU_ASSERT_EQUAL(tl_share_demand(&last, 12500, 0, TL_NS_PER_S), 0);
	CU_ASSERT_EQUAL(tl_share_demand(&last, 12501, 1, TL_NS_PER_S), TL_SHARE_MAX);
}

// ---- a measured capacity

TL_TEST("no writer is limited until the disk is busy")
{
	struct disk d;

	begin_disk(&d, 200, 0);
	join(&d, 60, (struct tl_share_member){.weight = 1});
	join(&d, 60, (struct tl_share_member){.weight = 1});
	run(&d, 50);
	CU_ASSERT(d.group.members[0].limit == TL_SHARE_MAX && d.group.members[1].limit == TL_SHARE_MAX);
	CU_ASSERT(d.users[0].backlog < SLAB && d.users[1].backlog < SLAB);
}

// The queue of the disk is full for a few ms of each interval.
TL_TEST("a burst that keeps the disk busy for less than an interval does not count as a measurement")
{
	struct disk d;

	begin_disk(&d, 200, 0);
	struct user *u = join(&d, 0, (struct tl_share_member){.weight = 1});
	for (uint32_t i = 0; i < 20; i++) {
		u->arrived += 40 * SLAB;
		u->backlog += 40 * SLAB;
		run(&d, 1);
		CU_ASSERT_EQUAL(d.group.members[0].limit, TL_SHARE_MAX);
	}
	CU_ASSERT(u->busy_ns != 0);
}

TL_TEST("the capacity of a busy disk is measured and divided by weight")
{
	struct disk d;

	begin_disk(&d, 200, 0);
	const struct user *heavy = join(&d, 300, (struct tl_share_member){.weight = 3});
	const struct user *light = join(&d, 300, (struct tl_share_member){.weight = 1});
	run(&d, 1);
	CU_ASSERT(is_about((uint32_t)(d.group.measured.bps * 100 / (200 * MBPS)), 100));
	run(&d, 10);
	uint32_t part = run_part(&d, 50, heavy);
	CU_ASSERT(part >= 70 && part <= 77);
	uint32_t other = run_part(&d, 50, light);
	CU_ASSERT(other >= 23 && other <= 30);
	CU_ASSERT(part + other >= 96);
}

TL_TEST("the measured capacity follows a disk that becomes slower, and faster")
{
	struct disk d;

	begin_disk(&d, 200, 0);
	const struct user *heavy = join(&d, 600, (struct tl_share_member){.weight = 3});
	join(&d, 600, (struct tl_share_member){.weight = 1});
	run(&d, 20);
	d.rate /= 2;
	run(&d, 20);
	CU_ASSERT(d.group.measured.bps >= 95 * MBPS && d.group.measured.bps <= 115 * MBPS);
	CU_ASSERT(run_part(&d, 50, heavy) >= 69);
	d.rate *= 4;
	run(&d, 40);
	CU_ASSERT(d.group.measured.bps >= 380 * MBPS && d.group.measured.bps <= 460 * MBPS);
	CU_ASSERT(run_part(&d, 50, heavy) >= 69);
}

TL_TEST("a stall costs a quarter of the measured capacity, for a second")
{
	struct disk d;

	begin_disk(&d, 200, 0);
	join(&d, 300, (struct tl_share_member){.weight = 3});
	join(&d, 300, (struct tl_share_member){.weight = 1});
	run(&d, 20);
	uint64_t before = d.group.measured.bps;
	d.rate = 0;
	run(&d, 20);
	CU_ASSERT(d.group.measured.bps >= before * 15 / 16);
	d.rate = 200 * 1000;
	run(&d, 1);
	CU_ASSERT(d.group.measured.bps >= before * 11 / 16);
	run(&d, 10);
	CU_ASSERT(d.group.measured.bps >= before * 15 / 16);
}

// A slab takes longer than an interval.
TL_TEST("a disk that writes less than a slab per interval is measured")
{
	struct disk d;

	begin_disk(&d, 1, 0);
	d.rate = 250; // a slab in 262 ms
	join(&d, 300, (struct tl_share_member){.weight = 3});
	join(&d, 300, (struct tl_share_member){.weight = 1});
	run(&d, 100);
	CU_ASSERT(d.group.measured.bps >= MBPS / 5 && d.group.measured.bps <= MBPS * 5 / 16);
}

// ---- traces

// Check limits against shares: of the demands computed here, by the oracle; what these leave is lent, not lost.
static bool is_right(const struct disk *d, const struct tl_share_member *members, uint64_t capacity)
{
	struct test t;
	uint64_t sum = 0;
	bool ok = true;

	begin(&t);
	for (uint32_t i = 0; i < d->group.n; i++) {
		const struct tl_share_member *m = &members[i];
		wide bytes = (wide)m->load.in_bytes - m->last.in_bytes + m->load.backlog_bytes;
		uint64_t demand = (uint64_t)(bytes * 8 * TL_NS_PER_S / INTERVAL_NS);
		bool begins = m->load.backlog_bytes != 0 && demand / 2 > m->demand.bps;
		add(&t, 0,
			(struct tl_share_node){.demand = begins ? TL_SHARE_MAX : demand,
				.weight = m->weight,
				.tier = m->tier,
				.floor = m->floor});
	}
	solve(&t, capacity);
	ok = is_tree_right(&t, capacity);
	for (uint32_t i = 0; i < d->group.n; i++) {
		ok = ok && d->group.members[i].limit >= share(&t, i + 1);
		sum += d->group.members[i].limit;
	}
	return ok && sum == capacity;
}

TL_TEST("over 1,000 random traces of demand the limits are the oracle's shares plus the remainder")
{
	uint64_t state = 8;
	uint32_t wrong = 0;

	for (uint32_t trace = 0; trace < 1000; trace++) {
		struct disk d;
		uint64_t capacity = 1 + tl_random_next(&state) % (1000 * MBPS);
		begin_disk(&d, 1, capacity);
		for (uint32_t i = 2 + (uint32_t)(tl_random_next(&state) % (USERS - 1)); i > 0; i--)
			join(&d, 0,
				(struct tl_share_member){.weight = 1 + (uint32_t)(tl_random_next(&state) % 1000),
					.tier = (uint32_t)(tl_random_next(&state) % 2),
					.floor = tl_random_next(&state) % (capacity / USERS + 1)});
		for (uint32_t k = 0; k < 20; k++) {
			struct tl_share_member members[USERS];
			for (uint32_t i = 0; i < d.group.n; i++) {
				struct tl_share_load *load = &d.group.members[i].load;
				uint64_t arrived =
					tl_random_next(&state) % 3 * (tl_random_next(&state) % (50 * MBPS / 8));
				load->backlog_bytes = tl_random_next(&state) % (arrived + 1);
				load->in_bytes += arrived;
			}
			memcpy(members, d.group.members, sizeof(members));
			tl_share_group_divide(&d.group, INTERVAL_NS);
			wrong += !is_right(&d, members, capacity);
		}
	}
	CU_ASSERT_EQUAL(wrong, 0);
}

TL_TEST("decreasing totals count as unchanged")
{
	struct tl_share_group g;

	tl_share_group_init(&g, 800);
	g.n = 2;
	g.members[0] = (struct tl_share_member){.weight = 1,
		.demand = {.in_bytes = 1000},
		.last = {.done_bytes = 1000, .busy_ns = 1000},
		.load = {.in_bytes = 999, .done_bytes = 999, .busy_ns = 999}};
	g.members[1] = (struct tl_share_member){.weight = 1, .load = {.in_bytes = 1000, .backlog_bytes = 1000}};
	tl_share_group_divide(&g, TL_NS_PER_S);
	CU_ASSERT(g.members[0].limit == 0 && g.members[1].limit == 800);
}

int main(void)
{
	return tl_test_run("share_group");
}
