// SPDX-License-Identifier: BSD-3-Clause
// Outlier records, and the kernel's counters read with them.

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <tl_noise.h>
#include <tl_tail.h>
#include <tl_test.h>

static struct tl_tail_outlier outlier_of(uint64_t residence_ns)
{
	return (struct tl_tail_outlier){.msgs = 1, .residence_ns = residence_ns};
}

TL_TEST("the oldest outliers are overwritten, and counted")
{
	struct tl_tail *tail = tl_tail_create(4);
	struct tl_tail_outlier out;

	CU_ASSERT_PTR_NOT_NULL_FATAL(tail);
	CU_ASSERT_FALSE(tl_tail_read(tail, 0, &out));
	for (uint64_t i = 0; i < 10; i++) {
		out = outlier_of(1000 + i);
		tl_tail_put(tail, &out);
	}
	CU_ASSERT_EQUAL(tl_tail_count(tail), 10);
	CU_ASSERT_EQUAL(tl_tail_kept_frames(tail), 4);
	for (uint64_t i = 0; i < 6; i++)
		CU_ASSERT_FALSE(tl_tail_read(tail, i, &out));
	for (uint64_t i = 6; i < 10; i++) {
		CU_ASSERT(tl_tail_read(tail, i, &out));
		CU_ASSERT_EQUAL(out.number, i);
		CU_ASSERT_EQUAL(out.residence_ns, 1000 + i);
	}
	CU_ASSERT_FALSE(tl_tail_read(tail, 10, &out));
	tl_tail_destroy(tail);
}

TL_TEST("the next burst is recorded with the last outlier")
{
	struct tl_tail *tail = tl_tail_create(2);
	struct tl_tail_burst after = {.frames = 3, .bytes = 180};
	struct tl_tail_outlier out = outlier_of(1);

	tl_tail_put(tail, &out);
	out = outlier_of(2);
	tl_tail_put(tail, &out);
	tl_tail_set_after(tail, &after);
	CU_ASSERT(tl_tail_read(tail, 0, &out));
	CU_ASSERT_EQUAL(out.after.frames, 0);
	CU_ASSERT(tl_tail_read(tail, 1, &out));
	CU_ASSERT_EQUAL(out.residence_ns, 2);
	CU_ASSERT_EQUAL(out.after.frames, 3);
	tl_tail_destroy(tail);
}

// Reads during a write: the signal interrupts the writer anywhere.
static struct tl_tail *interrupted;
static volatile sig_atomic_t reads, torn;
#define READS 1000

static void read_amid(int number)
{
	struct tl_tail_outlier o;
	uint64_t n = tl_tail_count(interrupted);

	if (++reads > READS) // stop if a read takes as long as the timer: the writer would make no progress
		return;
	for (uint64_t i = n > 2 ? n - 2 : 0; i < n; i++)
		if (tl_tail_read(interrupted, i, &o))
			torn += o.msgs != i || o.residence_ns != i || o.stage_ns[TL_STAGES - 1] != i ||
				(uint32_t)o.after.time_ns != o.after.bytes;
}

// Every field of an outlier is its number. The next burst arrives while the outlier is being read.
static void write_one(struct tl_tail *tail, uint64_t number)
{
	struct tl_tail_outlier o = {.msgs = number, .residence_ns = number};

	for (int s = 0; s < TL_STAGES; s++)
		o.stage_ns[s] = number;
	tl_tail_put(tail, &o);
	tl_tail_set_after(tail, &(struct tl_tail_burst){.time_ns = number, .bytes = (uint32_t)number});
}

TL_TEST("a concurrent read returns no partly written entry")
{
	const struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
	struct sigaction act = {.sa_handler = read_amid}, before;

	interrupted = tl_tail_create(2);
	CU_ASSERT_PTR_NOT_NULL_FATAL(interrupted);
	sigaction(SIGALRM, &act, &before);
	setitimer(ITIMER_REAL, &often, NULL);
	for (uint64_t i = 0; reads < READS; i++)
		write_one(interrupted, i);
	setitimer(ITIMER_REAL, &never, NULL);
	sigaction(SIGALRM, &before, NULL);
	CU_ASSERT_EQUAL(torn, 0);
	tl_tail_destroy(interrupted);
}

static atomic_bool read_enough;

static void *write_on(void *tail)
{
	for (uint64_t i = 0; !atomic_load(&read_enough); i++)
		write_one(tail, i);
	return NULL;
}

TL_TEST("entries may be read from another thread at any time")
{
	struct tl_tail *tail = tl_tail_create(64);
	struct tl_tail_outlier o;
	unsigned wrong = 0;
	pthread_t writer;

	CU_ASSERT_EQUAL_FATAL(pthread_create(&writer, NULL, write_on, tail), 0);
	for (unsigned whole = 0; whole < 500;) {
		uint64_t n = tl_tail_count(tail);
		if (n == 0 || !tl_tail_read(tail, n - 1, &o))
			continue;
		whole++;
		wrong += o.number != n - 1 || o.msgs != n - 1;
	}
	atomic_store(&read_enough, true);
	pthread_join(writer, NULL);
	CU_ASSERT_EQUAL(wrong, 0);
	tl_tail_destroy(tail);
}

TL_TEST("the last samples are kept, the oldest first")
{
	struct tl_tail_samples *samples = tl_tail_samples_create(3);

	CU_ASSERT_PTR_NOT_NULL_FATAL(samples);
	CU_ASSERT_EQUAL(tl_tail_samples_kept(samples), 0);
	for (uint64_t i = 0; i < 5; i++) {
		tl_tail_samples_add(samples, &(struct tl_tail_sample){.residence_ns = i});
		CU_ASSERT_EQUAL(tl_tail_samples_at(samples, 0)->residence_ns, i < 3 ? 0 : i - 2);
	}
	CU_ASSERT_EQUAL(tl_tail_samples_count(samples), 5);
	CU_ASSERT_EQUAL(tl_tail_samples_kept(samples), 3);
	CU_ASSERT_EQUAL(tl_tail_samples_at(samples, 2)->residence_ns, 4);
	tl_tail_samples_destroy(samples);
}

// ---- noise

static char proc[64];

static void write_file(const char *name, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", proc, name);
	FILE *file = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fputs(text, file);
	fclose(file);
}

static void make_proc(void)
{
	static const char *const dirs[] = {"self", "self/task", "self/task/77"};
	char path[128];

	snprintf(proc, sizeof(proc), "/tmp/tapline-noise-XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(proc));
	for (size_t i = 0; i < TL_ARRAY_LEN(dirs); i++) {
		snprintf(path, sizeof(path), "%s/%s", proc, dirs[i]);
		CU_ASSERT_EQUAL_FATAL(mkdir(path, 0700), 0);
	}
}

static void remove_proc(void)
{
	static const char *const all[] = {"interrupts", "stat", "self/task/77/status", "self/task/77/schedstat",
		"self/task/77", "self/task", "self", ""};
	char path[128];

	for (size_t i = 0; i < TL_ARRAY_LEN(all); i++) {
		snprintf(path, sizeof(path), "%s/%s", proc, all[i]);
		(void)remove(path);
	}
}

// CPU 1 is offline, so CPU 2 has the second column.
TL_TEST("noise counters cover one CPU and one thread")
{
	struct tl_noise before, after;

	make_proc();
	write_file("interrupts", "            CPU0       CPU2       \n"
				 "   0:         40          7   IO-APIC    2-edge      timer\n"
				 " LOC:       1000        500   Local timer interrupts\n"
				 " ERR:          9\n");
	write_file("stat", "cpu  1 2 3 4 5 6 7 90 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu2 1 2 3 4 5 6 7 13 0 0\n");
	write_file(
		"self/task/77/status", "Name:\tlcore\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t21\n");
	write_file("self/task/77/schedstat", "123456 7890 33\n");
	tl_noise_read(proc, 2, 77, &before);
	CU_ASSERT_EQUAL(before.interrupts, 507);
	CU_ASSERT_EQUAL(before.steal_ns, 13 * (TL_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK)));
	CU_ASSERT_EQUAL(before.involuntary_switches, 21);
	CU_ASSERT_EQUAL(before.wait_ns, 7890);
	write_file("self/task/77/schedstat", "123456 8000 34\n");
	tl_noise_read(proc, 2, 77, &after);
	struct tl_noise delta = tl_noise_between(&before, &after);
	CU_ASSERT_EQUAL(delta.wait_ns, 110);
	CU_ASSERT_EQUAL(delta.interrupts, 0);
	delta = tl_noise_between(&after, &before);
	CU_ASSERT_EQUAL(delta.wait_ns, 0); // its device may be removed
	remove_proc();
}

TL_TEST("counters missing in the kernel are unknown")
{
	struct tl_noise noise, later;

	make_proc();
	write_file("interrupts", "            CPU0\n   0:         40   IO-APIC\n");
	tl_noise_read(proc, 3, 77, &noise);
	CU_ASSERT_EQUAL(noise.interrupts, TL_NOISE_UNKNOWN);
	CU_ASSERT_EQUAL(noise.steal_ns, TL_NOISE_UNKNOWN);
	CU_ASSERT_EQUAL(noise.involuntary_switches, TL_NOISE_UNKNOWN);
	CU_ASSERT_EQUAL(noise.wait_ns, TL_NOISE_UNKNOWN);
	tl_noise_read("/proc", 0, getpid(), &later);
	CU_ASSERT_NOT_EQUAL(later.involuntary_switches, TL_NOISE_UNKNOWN);
	CU_ASSERT_EQUAL(tl_noise_between(&noise, &later).involuntary_switches, TL_NOISE_UNKNOWN);
	remove_proc();
}

int main(void)
{
	return tl_test_run("tail");
}
