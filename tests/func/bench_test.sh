#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# tapline bench overhead: that it measures what it says, and leaves nothing behind. What it measures is of no matter here.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

# left_behind PID: namespaces and directories of a benchmark; there may be others on this host.
left_behind() {
	ip netns list | grep -c "^tapline-$1-\(app\|peer\)" || true
	find "$TMPDIR" -mindepth 1 -name 'tapline-bench-*' | wc -l
}

# refuses SENTENCE TEXT OPTION...
refuses() {
	local sentence=$1 text=$2 status=0
	shift 2
	"$TAPLINE" bench "$@" >out.txt 2>err.txt || status=$?
	if ((status == 2)) && grep -qF -- "$text" err.txt; then
		ok "$sentence"
	else
		not_ok "$sentence" "status $status: $(<err.txt)"
	fi
}

wrong_calls() {
	refuses "without the name of a benchmark it says which there are" "overhead"
	refuses "too few rounds to bound a difference are refused" "6 to 100" overhead --rounds 5
	refuses "a rate that is no number is refused" "--rate" overhead --rate fast
}

# A directory that was cut short would be another one.
long_tmp() {
	local long=$TMPDIR/a-directory-whose-name-is-longer-than-42-characters
	mkdir "$long"
	check_equal "a TMPDIR too long for a socket is refused" \
		"$(TMPDIR=$long "$TAPLINE" bench overhead 2>&1)" "tapline: error: TMPDIR $long is longer than 42 characters: name another"
	rmdir "$long"
}

measures() {
	local status=0 bench_pid
	"$TAPLINE" bench overhead --rounds 6 --seconds 0.1 --rate 500 --json --html page.html >bench.json 2>bench.log &
	bench_pid=$!
	wait "$bench_pid" || status=$?
	check_equal "the benchmark ends well" "$status" 0
	check_json "each recorder has a row, and the echo alone is the first" bench.json \
		'[.residence, .round_trip] | all(.costs | map(.name) |
		.[0] == "no recording" and index("tapline") and index("tapline, index") and index("tcpdump") and index("dumpcap"))'
	check_json "every message of every round is in its row" bench.json '.residence.costs | all(.latency_ns.count == 300)'
	check_json "each difference lies within its interval" bench.json \
		'[.residence, .round_trip] | all(.[] | .costs[1:][] | .p50_ns, .p99_ns, .p999_ns; .low <= .diff and .diff <= .high)'
	check_json "the first row differs from itself by nothing" bench.json \
		'.residence.costs[0] | [.p50_ns, .p99_ns, .p999_ns] | all(.low == 0 and .diff == 0 and .high == 0)'
	check_json "a round trip takes longer than the stay that is part of it" bench.json \
		'[.residence.costs, .round_trip.costs] | transpose | all(.[0].latency_ns.min < .[1].latency_ns.min)'
	check_json "what the client does not believe of its times is told of the round trip" bench.json \
		'.round_trip | .valid == (.invalid == []) and all(.invalid[]; test("^in [0-9]+ of 4[0-9] runs the client calls"))'
	check "the page is there" grep -q "no recording" page.html
	check_equal "it leaves nothing behind" "$(left_behind "$bench_pid" | tr '\n' ' ')" "0 0 "
}

interrupted() {
	local status=0 bench_pid
	"$TAPLINE" bench overhead --rounds 6 --seconds 30 >out.txt 2>interrupted.log &
	app_pid=$!
	wait_for 30 grep -q 'round 1' interrupted.log || func_die "it did not begin"
	bench_pid=$app_pid
	app_stop INT
	check_equal "an interruption ends it" "$APP_STATUS" 1
	check_equal "and nothing is left" "$(left_behind "$bench_pid" | tr '\n' ' ')" "0 0 "
}

func_begin
mkdir tmp
export TMPDIR=$DIR/tmp
wrong_calls
long_tmp
measures
interrupted
