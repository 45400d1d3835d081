// SPDX-License-Identifier: BSD-3-Clause
// Lateness in undisturbed seconds, with a made-up /proc.

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <tl_replay_seconds.h>
#include <tl_test.h>

#define CPU 2
#define TID 77

static char proc[64];
static struct tl_hist hists[2];

static void write_file(const char *name, const char *line, unsigned value)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", proc, name);
	FILE *file = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fprintf(file, line, value);
	fclose(file);
}

// The kernel's counters so far.
static void set_noise(unsigned wait_ns, unsigned steal)
{
	write_file("self/task/77/schedstat", "123456 %u 33\n", wait_ns);
	write_file("stat", "cpu  0 0 0 0 0 0 0 99 0 0\ncpu2 0 0 0 0 0 0 0 %u 0 0\n", steal);
}

static void begin(void)
{
	static const char *const dirs[] = {"self", "self/task", "self/task/77"};
	char path[128];

	snprintf(proc, sizeof(proc), "/tmp/tapline-seconds-XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(proc));
	for (size_t i = 0; i < TL_ARRAY_LEN(dirs); i++) {
		snprintf(path, sizeof(path), "%s/%s", proc, dirs[i]);
		CU_ASSERT_EQUAL_FATAL(mkdir(path, 0700), 0);
	}
	tl_hist_init(&hists[0]);
	tl_hist_init(&hists[1]);
}

static void end(struct tl_replay_seconds *s)
{
	static const char *const all[] = {"stat", "self/task/77/schedstat", "self/task/77", "self/task", "self", ""};
	char path[128];

	free(s);
	for (size_t i = 0; i < TL_ARRAY_LEN(all); i++) {
		snprintf(path, sizeof(path), "%s/%s", proc, all[i]);
		(void)remove(path);
	}
}

static void look_after(struct tl_replay_seconds *s, uint64_t interrupted_ns)
{
	const struct tl_hist *all[] = {&hists[0], &hists[1]};

	tl_replay_seconds_look(s, proc, CPU, TID, all, TL_ARRAY_LEN(all), interrupted_ns);
}

static void look(struct tl_replay_seconds *s)
{
	look_after(s, 0);
}

TL_TEST("only the lateness of seconds in which the thread had its CPU is in that of undisturbed seconds")
{
	struct tl_replay_seconds *s = tl_replay_seconds_create();

	begin();
	set_noise(5000000, 7);
	tl_hist_record(&hists[0], 900); // before the first look: in no second
	look(s);
	CU_ASSERT_EQUAL(s->watched, 0);
	tl_hist_record(&hists[0], 100);
	tl_hist_record(&hists[1], 200);
	set_noise(6000000, 7); // waited for 1 ms
	look(s);
	CU_ASSERT_EQUAL(s->undisturbed, 1);
	CU_ASSERT_EQUAL(s->lateness.count, 2);
	CU_ASSERT_EQUAL(s->lateness.max_ns, 200);
	tl_hist_record(&hists[1], 5000000);
	set_noise(7000001, 7);
	look(s);
	tl_hist_record(&hists[1], 6000000);
	set_noise(7000001, 8);
	look(s);
	CU_ASSERT_EQUAL(s->undisturbed, 1);
	tl_hist_record(&hists[0], 300);
	look(s);
	CU_ASSERT_EQUAL(s->watched, 4);
	CU_ASSERT_EQUAL(s->undisturbed, 2);
	CU_ASSERT_EQUAL(s->lateness.count, 3);
	CU_ASSERT_EQUAL(s->lateness.max_ns, 300);
	end(s);
}

TL_TEST("a second is disturbed if interrupts took more than 5 ms of it")
{
	struct tl_replay_seconds *s = tl_replay_seconds_create();

	begin();
	set_noise(0, 0);
	look_after(s, 7000000);
	tl_hist_record(&hists[0], 100);
	look_after(s, 12000000);
	CU_ASSERT_EQUAL(s->undisturbed, 1);
	tl_hist_record(&hists[0], 9000);
	look_after(s, 17000001);
	CU_ASSERT_EQUAL(s->undisturbed, 1);
	CU_ASSERT_EQUAL(s->watched, 2);
	CU_ASSERT_EQUAL(s->lateness.max_ns, 100);
	end(s);
}

TL_TEST("a second without frames does not count, and without the kernel's counters none is undisturbed")
{
	struct tl_replay_seconds *s = tl_replay_seconds_create();

	begin();
	look(s);
	look(s);
	CU_ASSERT_EQUAL(s->watched, 0);
	tl_hist_record(&hists[0], 100);
	look(s);
	CU_ASSERT_EQUAL(s->watched, 1);
	CU_ASSERT_EQUAL(s->undisturbed, 0);
	CU_ASSERT_EQUAL(s->lateness.count, 0);
	end(s);
}

int main(void)
{
	return tl_test_run("replay_seconds");
}
