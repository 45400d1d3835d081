#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Measure how the recording of frames in memory grows from one queue to two, each with its lcore, in alternating rounds.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/tools/lib/options.sh"

seconds=2 rounds=5

usage() {
	cat <<-END
		usage: tests/bench/queues.sh [--json] [--seconds N] [--rounds N]
		  --seconds N  of one measurement (default $seconds)
		  --rounds N   of one measurement with each number of queues (default $rounds)
		Prints one JSON object: frames of 60 bytes per second with 1 and 2 queues, polled ("source") and recorded into slabs that are
		discarded ("rings"), by tapline bench qualify; their median, least and most, and those of the ratio of each round.
		On two CPUs the second queue shares that of the control thread, which sleeps meanwhile.
	END
}

# measure QUEUES: print the rates of both stages.
measure() {
	jq -n --argjson queues "$1" '{eal: {huge: false, memory_mb: 512}, ports: [{name: "a", device: "eth9", rx_queues: $queues}],
		capture: [{port: "a", path: "null:", buffer_bytes: "16M"}]}' >"$dir/$1.json"
	"${TL_BUILD:-$root/build}/app/tapline" bench qualify -c "$dir/$1.json" --seconds "$seconds" --sizes 60 --json 2>"$dir/$1.log" |
		jq -c --argjson queues "$1" '{queues: $queues, rates: [.rows[] | select(.skipped | not) | {(.stage): .pps}] | add}'
}

read_options --json --seconds= --rounds= -- "$@"
dir=$(mktemp -d "${TMPDIR:-/tmp}/tapline-queues-XXXXXX")
trap 'rm -rf "$dir"' EXIT
for ((round = 0; round < rounds; round++)); do
	one=$(measure 1)
	two=$(measure 2)
	jq -nc '[$ARGS.positional[] | fromjson.rates]' --args "$one" "$two"
done | jq -s --argjson cpus "$(nproc)" --argjson seconds "$seconds" '
	def spread: sort | {median: .[length / 2 | floor], least: .[0], most: .[-1]};
	. as $rounds | {cpus: $cpus, seconds: $seconds, rounds: length, stages: ["source", "rings" | . as $stage | {
		stage: ., pps_1: ($rounds | map(.[0][$stage]) | spread), pps_2: ($rounds | map(.[1][$stage]) | spread),
		ratio: ($rounds | map(select(.[0][$stage] > 0) | .[1][$stage] / .[0][$stage]) | spread)}]}'
