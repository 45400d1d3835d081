#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The cost of flow rules on ixgbe's driver is as stated in docs/benchmarks.md. Instructions are counted, so that a busy
# host does not matter.
set -euo pipefail
source "$(dirname "$0")/lib/ixgbe.sh"

if ! command -v valgrind >/dev/null; then
	skip "instructions per rule of the card" "valgrind is not installed"
	exit
fi
ixgbe_begin "the cost of flow rules"
TL_BUILD=${TL_BUILD:-$func_root/build} "$func_root/tests/bench/rules.sh" >result.json 2>bench.log || func_die "$(tail -n 1 bench.log)"

# costs SENTENCE CONDITION: check a condition on $of, which has each scenario by its name.
costs() {
	check_json "$1" result.json "([.scenarios[] | {(.name): .}] | add) as \$of | $2"
}

costs "a received frame costs the same with 128 rules for queues, one, and none, whether it matches or not" '
	[$of["none", "tuple-hit-1", "tuple-miss-1", "tuple-hit-128", "tuple-miss-128"].instructions_per_pkt] |
	min > 20 and max == min'
costs "and so it does with one or 2046 rules that drop other frames" \
	'[$of["none", "drop-miss-1", "drop-miss-2046"].instructions_per_pkt] | max == min'
costs "and with RSS to four queues" '$of["rss-4"].instructions_per_pkt == $of["none"].instructions_per_pkt'
costs "a frame dropped by the card costs nothing but an empty poll per burst" \
	'[$of["drop-hit-1", "drop-hit-2046"].instructions_per_pkt] | max < 5'
costs "a rule of the flow director leaves a running port on the vector path" \
	'$of["drop-miss-1", "director-hit-1"].path == "vector" and $of["director-hit-1"].instructions_per_pkt == $of["none"].instructions_per_pkt'
costs "a restart with one leads to the scalar path, at more than 1.5 times the cost" '
	$of["director-miss-1-restarted"].path == "scalar" and
	$of["director-miss-1-restarted"].instructions_per_pkt > 1.5 * $of["none"].instructions_per_pkt'
costs "a 5-tuple rule takes 5 accesses to registers, one of the flow director 8, and its first one more" '
	[$of["install-tuple-2", "install-tuple-128", "remove-tuple-2"].accesses] == [5, 5, 5] and
	[$of["install-drop-2", "install-drop-2046", "remove-drop-2"].accesses] == [8, 8, 8] and $of["install-drop-1"].accesses > 8'
costs "and thousands of instructions, once" \
	'all($of[("install-tuple", "install-drop", "install-director") + "-2"].instructions; . > 1000 and . < 20000)'
