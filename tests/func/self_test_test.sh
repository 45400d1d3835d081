#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# doctor --self-test without a card: over a veth, with drops counted by the kernel, and over rings with a stamping NIC.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

STAMPING_NIC_SO=${TL_BUILD:-$func_root/build}/tests/libstamping_nic.so

# self_test NAME PORT... [OPTION...]: write its report to NAME.json, its exit status to TEST_STATUS.
self_test() {
	local name=$1
	shift
	TEST_STATUS=0
	in_app timeout 120 "$TAPLINE" doctor --self-test "$@" --report "$name.json" >"$name.txt" 2>"$name.log" </dev/null || TEST_STATUS=$?
}

# stamped NAME VARIABLE...: print a ring with stamped frames.
stamped() {
	local name=$1
	shift
	TEST_STATUS=0
	env "$@" LD_PRELOAD="$STAMPING_NIC_SO" timeout 120 "$TAPLINE" doctor --self-test vdev:net_ring0 --json \
		>"$name.json" 2>"$name.log" </dev/null || TEST_STATUS=$?
}

# judged CHECK VERDICT: print a filter on all directions.
judged() {
	echo "([.checks[] | select(.id == \"$1\").verdict] | length > 0 and all(. == \"$2\"))"
}

fits_schema() {
	python3 -c 'import json, sys, jsonschema
jsonschema.validate(json.load(open(sys.argv[1])), json.load(open(sys.argv[2])))' "$1" "$func_root/docs/self-test.schema.json"
}

doctor() {
	in_app timeout 60 "$TAPLINE" doctor "$@" </dev/null
}

# is_stopped: check that a run interrupted by SIGINT ends with status 1 and a message. Retry if the run ended before the
# signal.
is_stopped() {
	local pid status
	for _ in 1 2 3 4 5; do
		status=0
		: >stopped.log
		"$TAPLINE" doctor --self-test vdev:net_ring0 --report stopped.json >stopped.txt 2>stopped.log </dev/null &
		pid=$!
		wait_for 60 grep -q 'checking cable' stopped.log || return
		kill -s INT "$pid"
		wait "$pid" || status=$?
		((status != 0)) || continue
		((status == 1)) && grep -q 'stopped before its end' stopped.log && [[ ! -e stopped.json && ! -s stopped.txt ]]
		return
	done
	echo "it was never stopped in time"
	return 1
}

func_begin
netns_create "$APP_NS"
ip -netns "$APP_NS" link add a0 type veth peer name b0
ip -netns "$APP_NS" link set a0 up
ip -netns "$APP_NS" link set b0 up

self_test veth a0 b0
check_equal "two ports joined by a cable pass" "$TEST_STATUS" 0
check_json "frames arrive in both directions, once, complete and in order" veth.json "$(judged cable pass) and $(judged counters pass) and
	([.checks[] | select(.id == \"cable\") | [.from, .to]] == [[0, 1], [1, 0]])"
check_json "losses without polls are counted" veth.json "$(judged drops pass) and
	all(.checks[] | select(.id == \"drops\").figures; .drops > 0 and .sent == 65536)"
check_json "checks not supported by a port are not available, with the reason" veth.json "$(judged rss 'not available') and
	all(.checks[]; .text != \"\") and .fail == 0 and .pass + .not_available == 22"
check "the report conforms to its schema" fits_schema veth.json
check "the report contains neither the host name nor a MAC address" \
	bash -c '! grep -qiE "$(uname -n)|([0-9a-f]{2}:){5}[0-9a-f]{2}" veth.json'
check "the table has a line for each check" test "$(grep -cE '^  (pass|fail|not available) ' veth.txt)" = 22

self_test strangers a0 vdev:net_ring0
check_equal "ports without a cable fail" "$TEST_STATUS" 1
check_json "only the cable check fails, the rest is not run" strangers.json \
	"$(judged counters 'not available') and $(judged rate_large 'not available') and
	[.checks[] | select(.id == \"cable\" and .from == 1)][0].text == \"port 1 receives its own frames: loopback plug or loopback mode\""

stamped good STAMPING_NIC=mlx5
check_json "stamps between sending and receiving pass" good.json "$(judged stamps pass) and .ports[0].stamps.source == \"nic-rx\" and
	([.checks[] | select(.id == \"stamps\").figures][0] | .received == 256 and .unstamped == 0)"
stamped shut STAMPING_NIC=ice STAMPING_NIC_RX_BACK_NS=500000000
check_json "stamps refused by the gate fail" shut.json "$(judged stamps fail) and
	([.checks[] | select(.id == \"stamps\").figures | .refused == 256 and .unstamped == 256] == [true])"
# Longer than a frame waits, also on a busy host, and short of the 20 ms beyond which the gate refuses a stamp.
stamped past STAMPING_NIC=ice STAMPING_NIC_RX_BACK_NS=19000000
check_json "stamps from before the transmission fail" past.json "$(judged stamps fail) and
	([.checks[] | select(.id == \"stamps\").figures.early] == [256])"
check_json "stamps of PTP frames are found" past.json "$(judged ptp_rx pass) and $(judged ptp_tx pass)"
check_equal "the exit status is 1" "$TEST_STATUS" 1

check "an interrupted run leaves nothing" is_stopped
refuses "a file is refused as a sending port" "cannot send to a file" doctor --self-test pcap:in.pcap
refuses "a missing interface has exit status 2" "no interface" doctor --self-test none0
refuses "the same port twice has exit status 2" "are the same" doctor --self-test a0 a0
refuses "loopback of two ports has exit status 2" "of one port" doctor --self-test a0 b0 --loopback
refuses "a configuration has exit status 2" "--self-test goes with" doctor --self-test a0 -c none.json
refuses "a report without a test has exit status 2" "go with --self-test" doctor --report x.json
refuses "an unwritable report is refused before the test" "--report none/x.json" doctor --self-test a0 b0 --report none/x.json
