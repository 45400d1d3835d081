#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Measure the cost of owner lookup and hand-off between the lcores of a port, in instructions (callgrind), and compare it with a
# model; and in nanoseconds from a run without callgrind.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/tests/bench/lib/callgrind.sh"

usage() {
	cat <<-END
		usage: tests/bench/steer.sh [--json]
		Prints one JSON object. Scenarios, each with 2, 4, 8 and 16 lcores that receive 32 frames each: own: all frames
		belong to the receiving lcore; away: none does; spread: one of N does, as RSS spreads them. The cost is that of all
		lcores per frame. model: its parameters, from the scenarios with 2 lcores and spread-4 (docs/benchmarks.md), and its
		predictions of spread-8 and spread-16. Instructions are exact; nanoseconds are those of
		one short run, on one CPU: frames in the cache of another CPU cost more.
	END
}

read_options --json -- "$@"
scenarios "${TL_BUILD:-$root/build}/tests/bench/bench_steer" "tl_steer_*" | jq '
	def rounded: . * 10 | round / 10;
	([.scenarios[] | {(.name): .instructions_per_pkt}] | add) as $cost |
	($cost["away-2"] - $cost["own-2"]) as $handoff |
	(2 * ($cost["spread-2"] - $cost["own-2"]) - $handoff) as $kept |
	(($cost["spread-4"] - $cost["own-2"] - $handoff * 3 / 4 - $kept / 4) / 2) as $lcore |
	. + {figures: [{name: "handoff-instructions", value: ($handoff | rounded), unit: "instructions"}],
		model: {own: $cost["own-2"], handoff: ($handoff | rounded), lcore: ($lcore | rounded), kept: ($kept | rounded),
			predictions: [8, 16 | {lcores: ., counted: $cost["spread-\(.)"], predicted:
				($cost["own-2"] + (. - 2) * $lcore + (1 - 1 / .) * $handoff + $kept / . | rounded)}]}}'
