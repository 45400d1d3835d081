// SPDX-License-Identifier: BSD-3-Clause
// Measure the lateness that the host imposes on any thread: bench_spin SECONDS PPS. The thread waits in a loop for
// times at equal distances, and does nothing else. Print the JSON of replay_late.sh's rounds. taskset chooses the CPU.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <tl_hist.h>
#include <tl_replay_schedule.h>

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * TL_NS_PER_S + (uint64_t)now.tv_nsec;
}

// Frames that fall due in a gap, in which the thread did not run, are in all only.
static void spin(uint64_t frames, uint64_t pps, struct tl_hist *all, struct tl_hist *undisturbed)
{
	uint64_t begin_ns = now_ns(), gap_end_ns = 0;

	for (uint64_t i = 0; i < frames; i++) {
		uint64_t due_ns = begin_ns + (uint64_t)((unsigned __int128)i * TL_NS_PER_S / pps), before_ns,
			 at_ns = now_ns();
		while (at_ns < due_ns) {
			before_ns = at_ns;
			at_ns = now_ns();
			gap_end_ns = at_ns - before_ns > TL_REPLAY_GAP_NS ? at_ns : gap_end_ns;
		}
		tl_hist_record(all, at_ns - due_ns);
		if (due_ns >= gap_end_ns)
			tl_hist_record(undisturbed, at_ns - due_ns);
	}
}

static void print(const char *name, const struct tl_hist *hist, const char *end)
{
	struct tl_hist_summary s;

	tl_hist_summarize(hist, &s);
	printf("\"%s\":{\"count\":%" PRIu64 ",\"p50\":%" PRIu64 ",\"p99\":%" PRIu64 ",\"max\":%" PRIu64 "}%s", name,
		s.count, s.p50_ns, s.p99_ns, s.max_ns, end);
}

int main(int argc, char **argv)
{
	uint64_t seconds = argc == 3 ? strtoull(argv[1], NULL, 10) : 0,
		 pps = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
	struct tl_hist *all = malloc(sizeof(*all)), *undisturbed = malloc(sizeof(*undisturbed));

	if (all == NULL || undisturbed == NULL || pps == 0)
		return 2;
	tl_hist_init(all);
	tl_hist_init(undisturbed);
	spin(seconds * pps, pps, all, undisturbed);
	printf("{");
	print("lateness_ns", all, ",");
	print("lateness_undisturbed_ns", undisturbed, "}\n");
	free(all);
	free(undisturbed);
	return 0;
}
