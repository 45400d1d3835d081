// SPDX-License-Identifier: BSD-3-Clause
// Rows and identity of the ledger, from one table.

#include <tl_replay.h>

static const struct {
	const char *name;
	size_t offset;
} rows_of[TL_REPLAY_COUNTERS] = {
#define ROW(field)                                                                                                     \
	{                                                                                                              \
#field, offsetof(struct tl_replay_ledger, field)                                                       \
	}
#define DROP_ROW(field) ROW(field),
	ROW(read_pkts), ROW(added_pkts), ROW(sent_pkts), ROW(filtered_pkts), ROW(skipped_linktype_pkts),
	ROW(skipped_truncated_pkts), ROW(skipped_short_pkts), ROW(skipped_long_pkts), ROW(skipped_damaged_pkts),
	ROW(skipped_seek_pkts), ROW(unsent_pkts), ROW(refused_pkts), TL_CLASS_DROPS(DROP_ROW)
#undef ROW
};

void tl_replay_ledger_rows(const struct tl_replay_ledger *ledger, struct tl_counter rows[TL_REPLAY_COUNTERS])
{
	for (size_t i = 0; i < TL_REPLAY_COUNTERS; i++)
		rows[i] = (struct tl_counter){.name = rows_of[i].name,
			.value = *(const uint64_t *)((const char *)ledger + rows_of[i].offset)};
}

bool tl_replay_ledger_ok(const struct tl_replay_ledger *ledger)
{
	struct tl_counter rows[TL_REPLAY_COUNTERS];
	uint64_t whole = 0, sum = 0;

	tl_replay_ledger_rows(ledger, rows);
	for (size_t i = 0; i < TL_REPLAY_COUNTERS; i++)
		*(i < TL_REPLAY_WHOLES ? &whole : &sum) += rows[i].value;
	return sum == whole;
}
