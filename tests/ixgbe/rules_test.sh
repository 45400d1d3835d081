#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Flow rules: distribution of frames on a card whose driver accepts more rules than it keeps, counters, and messages for
# rules that the card does not support.
set -euo pipefail
source "$(dirname "$0")/lib/ixgbe.sh"

FTQF=0xE600 FTQF_ENABLED=2147483648
FLOWS_PY=$func_root/tests/ixgbe/lib/flows.py
MEMORY_MB=512

ixgbe_begin "flow rules bring frames to their queues"
card "$CARD" 10fb none

# filters INDEX...: print which of these 5-tuple filters of the card are enabled.
filters() {
	local i on=()
	for i in "$@"; do
		(($(ask read "$CARD" $((FTQF + 4 * i))) >= FTQF_ENABLED)) && on+=("$i")
	done
	echo "${on[*]}"
}

# run_with PORT_KEYS FRAMES N [SECTION]...: run until N frames have been received.
run_with() {
	local keys=$1 file=$2 n=$3
	shift 3
	card_config card.json "$keys" "$@"
	rm -f out.pcapng
	app_start card.json
	inject "$CARD" "$file"
	wait_for 60 received "$n" || true
	FILTERS=$(filters 0 1 2 127)
	app_stop INT
}

RULES='"flow_rules": [
	{"dst_ip": "239.1.1.1", "proto": "udp", "dst_port": 5001, "queue": 0},
	{"dst_ip": "10.0.0.1", "proto": "tcp", "queue": 0},
	{"dst_ip": "192.0.2.7", "drop": true},
	{"dst_ip": "10.1.0.0/16", "queue": 0},
	{"dst_ip": "198.51.100.0/24", "drop": true}]'
QUEUES=', "rx_queues": 4, "rss_queues": [1, 2, 3]'

"$FLOWS_PY" mixed.pcap udp 239.1.1.1 5001 40 udp 239.1.1.1 5002 41 tcp 10.0.0.1 80 42 udp 10.0.0.1 80 43 \
	icmp 10.0.0.1 0 5 tcp 192.0.2.7 80 15 udp 192.0.2.7 80 16 udp 10.1.0.1 80 44 udp 198.51.100.9 9 10
run_with "$QUEUES, $RULES" mixed.pcap 225 "$RECORD"
check_json "the frames of a rule come to its queue, and no others" run.json '.port.queues[0].rx_pkts == 40 + 42'
check_json "all others are spread over the other queues" run.json \
	'[.port.queues[1:][].rx_pkts] | add == 41 + 43 + 5 + 44 + 10 and all(. > 0)'
check_json "what the card drops is counted, is no loss, and the ledger holds" run.json '.ledger_ok and .lossless and
	.port.verified and .port.drop_rule_pkts == 15 + 16 and .port.hw_seen_pkts == 225 + 31 and
	.captures[0].written_pkts == 225'
check_json "each rule says what became of it" run.json '[.port.flow_rules[] | [.outcome, .by, .refused_item, .hits_pkts]] ==
	[["installed", "5-tuple filter", null, null], ["installed", "5-tuple filter", null, null],
	["installed", "flow director", null, 31], ["instead", null, "dst_ip", null], ["instead", null, "mask", null]]'
check_equal "the card has as many filters as rules for queues" "$FILTERS" "0 1"

# ports FIRST LAST: print rules for TCP ports, one each.
ports() {
	seq -f '{"proto": "tcp", "dst_port": %.0f, "queue": 0}' "$1" "$2" | paste -sd,
}

"$FLOWS_PY" ports.pcap tcp 10.0.0.1 1 3 tcp 10.0.0.1 128 4 tcp 10.0.0.1 129 50
run_with "$QUEUES, \"flow_rules\": [$(ports 1 128)]" ports.pcap 57 "$RECORD"
check_json "128 rules hold, the first and the last" run.json '.port.queues[0].rx_pkts == 7 and
	([.port.flow_rules[] | select(.outcome == "installed")] | length == 128)'
check_equal "the card is full" "$FILTERS" "0 1 2 127"

# the port's keys are on the third line
card_config card.json "$QUEUES, \"flow_rules\": [$(ports 1 128),
	$(ports 129 129)]" "$RECORD"
status=0
timeout 20 "$TAPLINE" run card.json 2>err.txt >/dev/null || status=$?
check "one rule more is refused by path and line, before anything starts" \
	grep -qF "card.json:3: \$.ports[0].flow_rules[128]: one rule more than this NIC holds: 128" err.txt
check_equal "as a wrong configuration" "$status" 2

card_config card.json ', "flow_rules": [{"dst_ip": "10.0.0.1", "proto": "tcp", "queue": 0, "mark": 7}]' "$RECORD"
refuses "a mark, which the driver never reports, is refused by path and line, with the way to do without" \
	'card.json:2: $.ports[0].flow_rules[0]: a rule with a "mark" has to be in the NIC, and this one is refused for "mark"' \
	timeout 20 "$TAPLINE" run card.json

card_config card.json "$QUEUES, $RULES" "$RECORD"
timeout 20 "$TAPLINE" run --explain card.json >explained.txt 2>err.txt || func_die "--explain: $(<err.txt)"
check "--explain prints the plan of a rule, and the filters that it uses" \
	grep -qF 'rule 1: dst 10.0.0.1 tcp -> queue 0: planned, 5-tuple filter 2 of 128' explained.txt
check "and that received frames cost no more, as measured" \
	grep -qF 'cost of the rules per received frame: none (measured' explained.txt
check "and why another cannot be, and what happens instead" \
	grep -qF 'rule 3: dst 10.1.0.0/16 -> queue 0: instead, refused for "dst_ip": its filters compare whole addresses' explained.txt

ECHO='"echo": [{"port": "lan", "tcp_listen": 5001, "queue": 0}]'
IP=', "ip": "10.0.0.1/24", "rx_queues": 4'
"$FLOWS_PY" echo.pcap tcp 10.0.0.1 5001 60
# to the echo, to the port without an owner, and to others
"$FLOWS_PY" both.pcap tcp 10.0.0.1 5001 60 udp 10.0.0.1 80 25 udp 192.0.2.7 80 40
run_with "$IP" echo.pcap 60 "$ECHO"
check_json "without a rule, frames for an echo come to other lcores, too" run.json '.ledger_ok and .port.handoff_pkts > 0'
run_with "$IP, \"flow_rules\": [{\"dst_ip\": \"10.0.0.1\", \"proto\": \"tcp\", \"dst_port\": 5001, \"queue\": 0}]" \
	echo.pcap 60 "$ECHO"
check_json "with one, all come to the lcore of the echo" run.json '.ledger_ok and .port.handoff_pkts == 0 and
	.port.queues[0].rx_pkts == 60'

run_with "$IP, \"roles\": [\"echo\", \"record\", \"record\", \"record\"], \"rss_queues\": [1, 2, 3], \"flow_rules\": [
	{\"dst_ip\": \"10.0.0.1\", \"proto\": \"tcp\", \"dst_port\": 5001, \"queue\": 0}]" both.pcap 125 "$ECHO" "$RECORD"
check_json "with roles, the rule's frames come to the echo and the others to the recording" run.json '.ledger_ok and
	[.port.queues[].role] == ["echo", "record", "record", "record"] and .port.queues[0].rx_pkts == 60 and
	.port.unrecorded_rx_pkts == 60 and .captures[0].rx.offered_pkts == 65 and all(.port.queues[1:][]; .rx_pkts > 0)'
check_json "of these, what is for the port is handed over" run.json '.port.handoff_pkts == 25 and
	.port.handoff_taken_pkts == 25 and ([.port.queues[1:][].handoff_pkts] | add) == 25'

rm -rf host
card "$CARD" 1528 none
"$FLOWS_PY" drop.pcap udp 192.0.2.7 9 20 udp 192.0.2.7 10 21 tcp 192.0.2.7 9 22
run_with ', "flow_rules": [{"dst_ip": "192.0.2.7", "proto": "udp", "dst_port": 9, "drop": true}]' drop.pcap 43 "$RECORD"
check_json "an X540 drops by ports, too" run.json '.ledger_ok and .port.verified and .port.drop_rule_pkts == 20 and
	.port.rx_pkts == 43'
run_with ', "flow_rules": [{"dst_ip": "192.0.2.7", "proto": "udp", "dst_port": 9, "drop": true},
	{"dst_ip": "192.0.2.7", "proto": "udp", "dst_port": 10, "drop": true}]' drop.pcap 22 "$RECORD"
check_json "and for each of several rules, which the card tells apart by an index" run.json '.ledger_ok and .port.verified and
	.port.drop_rule_pkts == 20 + 21 and .port.rx_pkts == 22'

rm -rf host
card "$CARD" 1563 none
"$FLOWS_PY" mask.pcap tcp 10.0.0.1 80 31 udp 10.0.0.1 80 32 tcp 10.0.0.1 81 40 udp 192.0.2.7 9 20 udp 192.0.2.7 10 21
run_with "$QUEUES, \"flow_rules\": [
	{\"dst_ip\": \"10.0.0.1\", \"proto\": \"tcp\", \"dst_port\": 80, \"queue\": 0},
	{\"dst_ip\": \"192.0.2.7\", \"proto\": \"udp\", \"dst_port\": 9, \"drop\": true},
	{\"dst_ip\": \"10.0.0.1\", \"proto\": \"udp\", \"queue\": 0}]" mask.pcap 124 "$RECORD"
check_json "an X550, without 5-tuple filters, brings frames to queues by its flow director" run.json '.ledger_ok and
	.port.queues[0].rx_pkts == 31 and .port.rx_pkts == 31 + 32 + 40 + 21 and
	([.port.flow_rules[] | [.outcome, .by, .refused_item]] ==
	[["installed", "flow director", null], ["installed", "flow director", null], ["instead", null, "proto"]])'
check_json "whose counter is not of what it drops, then: that is not counted" run.json '.port.drop_rule_pkts == null and
	(.port.verified | not) and .port.mac_seen_pkts - .port.rx_pkts == 20'
