// SPDX-License-Identifier: BSD-3-Clause
// Rows and identity of the ledger.

#include "player_priv.h"

static const char *const names[TL_PLAYER_ROWS] = {
	[TL_PLAYER_COMPLETED] = "completed_sessions",
	[TL_PLAYER_DIVERGED] = "diverged_sessions",
	[TL_PLAYER_REFUSED] = "refused_sessions",
	[TL_PLAYER_UNREACHABLE] = "unreachable_sessions",
	[TL_PLAYER_RESET_BY_TARGET] = "reset_by_target_sessions",
	[TL_PLAYER_TIMEOUT] = "timeout_sessions",
	[TL_PLAYER_UNANSWERED] = "unanswered_sessions",
	[TL_PLAYER_STOPPED] = "stopped_sessions",
	[TL_PLAYER_UNSENT] = "unsent_sessions",
	[TL_PLAYER_DROPPED] = "dropped_sessions",
	[TL_PLAYER_TLS] = "tls_sessions",
	[TL_PLAYER_INCOMPLETE + TL_SESSION_NO_SYN - 1] = "incomplete_no_syn_sessions",
	[TL_PLAYER_INCOMPLETE + TL_SESSION_UNOPENED - 1] = "incomplete_unopened_sessions",
	[TL_PLAYER_INCOMPLETE + TL_SESSION_HOLE - 1] = "incomplete_hole_sessions",
	[TL_PLAYER_INCOMPLETE + TL_SESSION_CUT - 1] = "incomplete_cut_sessions",
	[TL_PLAYER_INCOMPLETE + TL_SESSION_NO_END - 1] = "incomplete_no_end_sessions",
	[TL_PLAYER_INCOMPLETE + TL_SESSION_BEYOND - 1] = "incomplete_beyond_sessions",
};

const char *tl_player_row_name(enum tl_player_row row)
{
	return names[row];
}

void tl_player_ledger_rows(const struct tl_player_ledger *ledger, struct tl_counter rows[TL_PLAYER_COUNTERS])
{
	rows[0] = (struct tl_counter){"found_sessions", ledger->found_sessions};
	rows[1] = (struct tl_counter){"copied_sessions", ledger->copied_sessions};
	for (int i = 0; i < TL_PLAYER_ROWS; i++)
		rows[TL_PLAYER_WHOLES + i] = (struct tl_counter){names[i], ledger->rows[i]};
}

bool tl_player_ledger_ok(const struct tl_player_ledger *ledger)
{
	uint64_t sum = 0;

	for (int i = 0; i < TL_PLAYER_ROWS; i++)
		sum += ledger->rows[i];
	return sum == ledger->found_sessions + ledger->copied_sessions;
}
