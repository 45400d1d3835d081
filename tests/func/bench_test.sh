#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# tapline bench overhead: it measures the documented times and cleans up. The values do not matter here.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

# left_behind PID: print namespaces and directories left by a benchmark; the host may have others.
left_behind() {
	ip netns list | grep -c "^tapline-$1-\(app\|peer\)" || true
	find "$TMPDIR" -mindepth 1 -name 'tapline-bench-*' | wc -l
}

wrong_calls() {
	refuses "without a benchmark name the benchmarks are listed" "overhead" "$TAPLINE" bench
	refuses "too few rounds for an interval are refused" "6 to 840" "$TAPLINE" bench overhead --rounds 5
	refuses "a rate that is not a number is refused" "--rate" "$TAPLINE" bench overhead --rate fast
}

# A truncated path would name another directory.
long_tmp() {
	local long=$TMPDIR/a-directory-whose-name-is-longer-than-42-characters
	mkdir "$long"
	check_equal "a TMPDIR too long for a socket path is refused" \
		"$(TMPDIR=$long "$TAPLINE" bench overhead 2>&1)" "tapline: error: TMPDIR $long is longer than 42 characters: name another"
	rmdir "$long"
}

# Six rounds are less than a square of seven or of five variants, and too few for simultaneous bounds of all
# differences.
measures() {
	local status=0 bench_pid views='[.residence, .wire_round_trip, .back_to_back, .round_trip]'
	"$TAPLINE" bench overhead --rounds 6 --seconds 0.1 --rate 500 --json --html page.html >bench.json 2>bench.log &
	bench_pid=$!
	wait "$bench_pid" || status=$?
	check_equal "the benchmark ends with status 0" "$status" 0
	check_json "each recorder has a row in each view, with the echo alone first" bench.json \
		"$views"' | all(.costs | map(.name) |
		.[0] == "no recording" and index("tapline") and index("tapline, index") and index("tcpdump") and index("dumpcap"))'
	check_json "single messages are in the rows, and the last of each pair" bench.json \
		'(.residence.costs | all(.latency_ns.count == 300)) and (.round_trip.costs | all(.latency_ns.count == 294))
		and (.wire_round_trip.costs | all(.latency_ns.count <= 294)) and (.back_to_back.costs | all(.latency_ns.count <= 150))'
	check_json "the order of each round is reported" bench.json '.order | .design == "Williams" and .variants[0] == "no recording"
		and (.variants | length) as $n | (.sequences | length) == 6 and all(.sequences[]; sort == [range($n)])'
	check_json "unbalanced rounds are reported with the number needed" bench.json \
		'.order.balanced == false and .order.balanced_rounds == 14 and .order.bounded_rounds == 10
		and (.residence.facts.order | test("not balanced: 14 rounds would be"))'
	check_json "all differences of a view form one family, which few rounds cannot bound" bench.json \
		"$views"' | all(.costs_family == 18 and all(.costs[1:][] | .p50_ns, .p99_ns, .p999_ns; .low == null and .high == null)
		and (.facts.intervals | test("^18 differences, each with 99.72 % .* unbounded")))'
	check_json "the first row has a difference of 0 to itself" bench.json \
		"$views"' | all(.costs[0] | [.p50_ns, .p99_ns, .p999_ns] | all(.low == 0 and .diff == 0 and .high == 0))'
	check_json "a round trip takes longer than its parts" bench.json '[.residence.costs, .round_trip.costs] |
		transpose | all(.[0].latency_ns.min < .[1].latency_ns.min)'
	check_json "the time outside the appliance is the mean round trip minus the residence time" bench.json '.outside | . == null or
		(.costs_family == (.means | length) - 1 and all(.means[]; .mean_ns > 0) and .means[0].diff_ns.diff == 0)'
	check_json "the time outside is as valid as the round trip on the wire" \
		bench.json '.outside == null or .outside.valid == .wire_round_trip.valid'
	check_json "the appliance's time from wire to poll is reported, or null with the reason" bench.json \
		'has("wire_to_poll") and if .wire_to_poll == null then (.wire_to_poll_missing | test("does not stamp arriving frames"))
		else .wire_to_poll_missing == null and (.wire_to_poll.means | length) >= 2 end'
	check_json "warnings of the client are reported for its own times only" bench.json \
		"$views"' | .[0].valid and all(.[]; .valid == (.invalid == []))
		and all(.[1:][].invalid[]; test("^the client declared its times invalid in [0-9]+ of 42 runs"))'
	check "the page is written" grep -q "no recording" page.html
	check "the page has the other views" grep -q "back to back" page.html
	check_equal "the benchmark leaves no file" "$(left_behind "$bench_pid" | tr '\n' ' ')" "0 0 "
}

# echo_round NAME ROUND VALID P50
echo_round() {
	jq -nc --arg name "$1" --argjson round "$2" --argjson valid "$3" --argjson p50 "$4" \
		'{$name, $round, lost: 0, $valid, invalid: (if $valid then [] else ["late"] end), rtt_ns: {min: $p50, p50: $p50, p90: $p50, p99: $p50}}'
}

# tests/bench/echo.sh: in round 2 the kernel has no echo, in round 3 the verdict on ours is invalid.
echo_summary() {
	{
		echo_round kernel-socat 0 true 100 && echo_round ours 0 true 40
		echo_round kernel-socat 1 true 200 && echo_round ours 1 true 60
		echo_round kernel-socat 2 false null && echo_round ours 2 true 50
		echo_round kernel-socat 3 true 100 && echo_round ours 3 false 900
		echo_round never 0 false null
	} >rounds
	jq -s -f "$func_root/tests/bench/lib/echo_summary.jq" rounds >summary.json
	check_json "the echo benchmark uses medians of valid rounds, and ratios of rounds valid for both" summary.json \
		'map({key: .name, value: [.rounds, .valid_rounds, .rtt_ns.p50, .ratio_rounds, .p50_ratio_to_kernel]}) | from_entries ==
		{"kernel-socat": [4, 3, 100, 3, 1], never: [1, 0, null, 0, null], ours: [4, 3, 50, 2, 0.35]}'
	check_json "the reasons of invalid rounds are kept" \
		summary.json 'map(select(.name == "ours")) == [.[2]] and .[2].invalid == ["late"]'
}

interrupted() {
	local status=0 bench_pid
	"$TAPLINE" bench overhead --rounds 6 --seconds 30 >out.txt 2>interrupted.log &
	app_pid=$!
	wait_for 60 grep -q 'round 1' interrupted.log || func_die "it did not begin"
	bench_pid=$app_pid
	app_stop INT
	check_equal "an interrupted benchmark ends" "$APP_STATUS" 1
	check_equal "an interrupted benchmark leaves nothing" "$(left_behind "$bench_pid" | tr '\n' ' ')" "0 0 "
}

func_begin
mkdir tmp
export TMPDIR=$DIR/tmp
wrong_calls
echo_summary
long_tmp
measures
interrupted
