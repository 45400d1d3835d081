#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# doctor --self-test on cards: faultless ones, over a cable, a loopback plug and internally, and ones with faults that
# it must detect.
set -euo pipefail
source "$(dirname "$0")/lib/ixgbe.sh"

# self_test NAME PORT... [OPTION...]
self_test() {
	local name=$1
	shift
	TEST_STATUS=0
	timeout 120 "$TAPLINE" doctor --self-test "$@" --json >"$name.json" 2>"$name.log" </dev/null || TEST_STATUS=$?
}

judged() {
	echo "([.checks[] | select(.id == \"$1\").verdict] | length > 0 and all(. == \"$2\"))"
}

ixgbe_begin "a card is tested by its owner"
card "$CARD" 10f7 "peer $TWIN"
card "$TWIN" 10f7 "peer $CARD"
self_test pair "$CARD" "$TWIN"
check_equal "two good ports pass over a cable" "$TEST_STATUS" 0
check_json "the MAC's count and ours agree, both ways" pair.json "$(judged counters pass) and
	all(.checks[] | select(.id == \"counters\").figures; .hw_seen_verified and .hw_seen == 1024 and .driver_sent == 1024)"
check_json "connections come to the queues that key and table say" pair.json "$(judged rss pass) and
	all(.checks[] | select(.id == \"rss\").figures; (.of_queue | length == 4 and all(. > 0)) and .table_entries == 128)"
check_json "every frame that the packet buffer had no room for is counted" pair.json "$(judged drops pass) and
	all(.checks[] | select(.id == \"drops\").figures; .drops > 10000 and .received + .drops == .sent)"
check_json "received PTP frames have stamps" pair.json "$(judged ptp_rx pass)"
check_json "the report has the family and the driver's limits" pair.json \
	'all(.ports[]; .driver == "net_ixgbe" and .family == "ixgbe" and .limits.rx_queues_max == 128 and .link_mbps == 10000)'

rm -rf host
card "$CARD" 10f7 none
self_test inside "$CARD" --loopback
check_json "one port passes in its loopback mode, without a cable" inside.json ".loopback and .fail == 0 and $(judged counters pass)"

rm -rf host
card "$CARD" 10f7 loop
echo "rss drops bytes" >"host/sys/bus/pci/devices/$CARD/flaws"
self_test flawed "$CARD"
check_equal "a card with flaws fails" "$TEST_STATUS" 1
check_json "a byte that it changes is found" flawed.json "$(judged counters fail) and
	([.checks[] | select(.id == \"counters\").figures.damaged > 0] == [true])"
check_json "as is a queue that its table does not say" flawed.json "$(judged rss fail)"
check_json "and a drop that it does not count" flawed.json "$(judged drops fail)"
check_json "what is good still passes" flawed.json "$(judged link pass) and $(judged ptp_rx pass)"
