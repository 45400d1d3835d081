#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The cost of an IGMP message for the lcore does not depend on the number of joined groups. Instructions are counted, so
# that a busy host does not matter.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

# bounded SENTENCE NAME: check that the increase in instructions at 16 000 groups is at most that of a heap with a
# thousand times as many entries.
bounded() {
	check_json "$1" result.json "[.scenarios[] | select(.name | startswith(\"igmp-$2-\")) | .instructions_per_pkt] |
		length == 2 and .[0] > 10 and .[1] < .[0] + 400"
}

if ! command -v valgrind >/dev/null; then
	skip "instructions per IGMP message" "valgrind is not installed"
	exit
fi
func_begin
bench=$(dirname "$(dirname "$TAPLINE")")/tests/bench/bench_igmp
(
	source "$func_root/tests/bench/lib/callgrind.sh"
	scenarios "$bench" tl_mcast_input
) >result.json 2>bench.log || true
bounded "a query about one group costs the same with 16 groups and 16 000" group-query
bounded "a general query costs the same with 16 groups and 16 000" general-query
bounded "an unknown IGMP message costs the same with 16 groups and 16 000" unknown
bounded "the first query of an older querier costs the same with 16 groups and 16 000" older-querier
bounded "a later query of an older querier costs the same with 16 groups and 16 000" older-query
bounded "another host's report costs the same with 16 groups and 16 000" older-report
