#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# An echo of ten thousand multicast groups: datagrams to each of them are echoed, others are not; tshark counts the
# reported groups.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

reported() {
	tshark -r wire.pcap -Y 'igmp.type == 0x22' -T fields -e igmp.maddr 2>/dev/null | tr ',' '\n' | sort -u | grep -c '^239\.2\.'
}

all_are_reported() {
	(($(reported) == 10000))
}

send() {
	in_peer "$PEER_PY" multicast "$PEER_IP" "$1" 5001 100 16 >/dev/null
}

func_begin
net_begin
app_config config.json '"echo": [{"port": "lan", "receive": {"group": "239.2.0.0", "groups": 10000, "udp_port": 5001},
	"send": {"tcp_connect": "10.99.0.2:5002"}}]'
peer_start tcpdump -U -n -i "$PEER_IF" -w wire.pcap igmp 2>tcpdump.log
tcpdump_pid=$peer_pid
wait_for 60 grep -q 'listening on' tcpdump.log
peer_start "$PEER_PY" read_all "$PEER_IP" 5002 >read.json
app_start config.json
check "ten thousand groups are reported" wait_for 60 all_are_reported
check "the TCP peer is connected" wait_for 60 status_is '.echo.connections == 1'
send 239.2.0.0
send 239.2.19.136
send 239.2.39.15
check "datagrams to the first, a middle and the last group are echoed" \
	wait_for 60 status_is '.echo | .received_msgs == 300 and .echoed_msgs == 300'
send 239.2.39.16
check "datagrams to the group after the last are ignored" wait_for 60 status_is '[.net[].drop_not_ours_pkts] | max >= 100'
check "they are not echoed" status_is '.echo.received_msgs == 300'
app_stop TERM
stop_process "$tcpdump_pid" TERM || true
check_equal "SIGTERM ends the run with status 0" "$APP_STATUS" 0
check_json "every message ended in exactly one counter" run.json '.ledger_ok and (.echo | .received_msgs == 300 and .echoed_msgs == 300)'
