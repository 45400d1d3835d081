// SPDX-License-Identifier: BSD-3-Clause
// Lateness in undisturbed seconds.

#include <tl_replay_seconds.h>

#include <stdlib.h>
#include <string.h>

struct tl_replay_seconds *tl_replay_seconds_create(void)
{
	struct tl_replay_seconds *s = calloc(1, sizeof(*s));

	if (s != NULL)
		tl_hist_init(&s->lateness);
	return s;
}

// Check whether the thread had its CPU from before the last snapshot until after this one. Unknown counts: false.
static bool is_undisturbed(const struct tl_replay_seconds *s, const struct tl_noise *after, uint64_t interrupted_ns)
{
	struct tl_noise noise = tl_noise_between(&s->noise, after);

	return noise.wait_ns <= TL_REPLAY_WAIT_NS_MAX && noise.steal_ns == 0 &&
	       interrupted_ns - s->interrupted_ns <= TL_REPLAY_INTERRUPTED_NS_MAX;
}

// Count a second, and add its lateness if it was undisturbed.
static void end_second(struct tl_replay_seconds *s, unsigned n, bool undisturbed)
{
	uint64_t values = 0;

	for (unsigned i = 0; i < n; i++)
		values += s->now[i].count - s->seen[i].count;
	if (values == 0)
		return;
	s->watched++;
	s->undisturbed += undisturbed;
	for (unsigned i = 0; i < n && undisturbed; i++)
		tl_hist_add_since(&s->lateness, &s->now[i], &s->seen[i]);
}

void tl_replay_seconds_look(struct tl_replay_seconds *s, const char *proc, unsigned cpu, int tid,
	const struct tl_hist *const *hists, unsigned n, uint64_t interrupted_ns)
{
	struct tl_noise before, after;

	tl_noise_read(proc, cpu, tid, &before);
	for (unsigned i = 0; i < n; i++)
		tl_hist_copy(&s->now[i], hists[i]);
	tl_noise_read(proc, cpu, tid, &after);
	if (s->begun)
		end_second(s, n, is_undisturbed(s, &after, interrupted_ns));
	s->begun = true;
	s->noise = before;
	s->interrupted_ns = interrupted_ns;
	memcpy(s->seen, s->now, n * sizeof(s->now[0]));
}
