// SPDX-License-Identifier: BSD-3-Clause
// Measure the lateness that the host imposes on any thread: bench_spin SECONDS PPS. The thread waits in a loop for
// times at equal distances, and does nothing else. Print the JSON of replay_late.sh's rounds. taskset chooses the CPU.

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <tl_hist.h>
#include <tl_noise.h>
#include <tl_replay_seconds.h>

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * TL_NS_PER_S + (uint64_t)now.tv_nsec;
}

// Return the sum of the gaps in which the thread did not run.
static uint64_t spin_second(uint64_t begin_ns, uint64_t pps, struct tl_hist *hist)
{
	uint64_t interrupted_ns = 0;

	tl_hist_init(hist);
	for (uint64_t i = 0; i < pps; i++) {
		uint64_t due_ns = begin_ns + i * TL_NS_PER_S / pps, before_ns = now_ns(), at_ns;
		do {
			at_ns = now_ns();
			interrupted_ns += at_ns - before_ns > TL_REPLAY_GAP_NS ? at_ns - before_ns : 0;
			before_ns = at_ns;
		} while (at_ns < due_ns);
		tl_hist_record(hist, at_ns - due_ns);
	}
	return interrupted_ns;
}

int main(int argc, char **argv)
{
	uint64_t seconds = argc == 3 ? strtoull(argv[1], NULL, 10) : 0,
		 pps = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
	struct tl_hist *second = malloc(sizeof(*second)), *sum = malloc(sizeof(*sum));
	struct tl_noise before, after, noise;
	struct tl_hist_summary s;
	uint64_t undisturbed = 0;

	if (second == NULL || sum == NULL || pps == 0)
		return 2;
	tl_hist_init(sum);
	for (uint64_t i = 0; i < seconds; i++) {
		tl_noise_read("/proc", (unsigned)sched_getcpu(), gettid(), &before);
		uint64_t interrupted_ns = spin_second(now_ns(), pps, second);
		tl_noise_read("/proc", (unsigned)sched_getcpu(), gettid(), &after);
		noise = tl_noise_between(&before, &after);
		if (noise.wait_ns > TL_REPLAY_WAIT_NS_MAX || noise.steal_ns != 0 ||
			interrupted_ns > TL_REPLAY_INTERRUPTED_NS_MAX)
			continue;
		undisturbed++;
		tl_hist_merge(sum, second);
	}
	tl_hist_summarize(sum, &s);
	printf("{\"watched_seconds\":%" PRIu64 ",\"undisturbed_seconds\":%" PRIu64, seconds, undisturbed);
	if (undisturbed != 0)
		printf(",\"p50\":%" PRIu64 ",\"p99\":%" PRIu64 ",\"max\":%" PRIu64 "}\n", s.p50_ns, s.p99_ns, s.max_ns);
	else
		printf(",\"p50\":null,\"p99\":null,\"max\":null}\n");
	free(second);
	free(sum);
	return 0;
}
