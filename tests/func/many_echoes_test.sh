#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A configuration of a thousand echoes of all kinds: each answers a message with its own reply, and one more is refused.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

udp=600 tcp=200 multicast=200

# many_echoes: print the section "echo".
many_echoes() {
	jq -nc --argjson udp $udp --argjson tcp $tcp --argjson multicast $multicast '
		[range($udp) | {port: "lan", udp_listen: (20000 + .)}] +
		[range($tcp) | {port: "lan", tcp_listen: (30000 + .), max_connections: 2, send_buffers: 1, send_buffer_bytes: 4096}] +
		[range($multicast) | {port: "lan", receive: {group: "239.3.0.\(. + 1)", udp_port: 5001}, send: {tcp_connect: "10.99.0.2:5002"},
			send_buffer_bytes: 4096, stages: (. < 20)}]'
}

func_begin
net_begin
app_config small.json "\"echo\": $(many_echoes)"
jq '.eal.memory_mb = 1024' small.json >config.json
peer_start "$func_root/tests/lib/many_echoes.py" "$APP_IP" "$PEER_IP" $udp $tcp $multicast >replies.json
app_start config.json
check "the peer ends" wait_for 120 is_gone "$peer_pid"
check_json "each of a thousand echoes answers its message" replies.json ". == {udp: $udp, tcp: $tcp, multicast: $multicast}"
app_status >status.json
check_json "the status has a thousand echoes, each with one message" status.json \
	'.echoes | length == 1000 and all(.received_msgs == 1 and .echoed_msgs == 1 and .residence_ns.count == 1)'
check_json "echoes with stages have those of their message" status.json \
	'[.echoes[].stages_ns | select(. != null) | .tx_call.count] | length == 20 and all(. == 1)'
app_stop TERM
check_equal "SIGTERM ends the run with status 0" "$APP_STATUS" 0
check_json "every message ended in exactly one counter" run.json \
	'.ledger_ok and ([.echoes[].received_msgs] | add == 1000) and ([.echoes[].echoed_msgs] | add == 1000)'

jq '.echo += [{"port": "lan", "udp_listen": 7}]' config.json >more.json
refuses "a configuration of one echo more is refused" '$.echo: the list has 1001 entries, the most is 1000' \
	"$TAPLINE" run --check more.json
# Connections of multicast echoes are counted beside those of listening ones: here there are none of these.
udp=0 tcp=0 multicast=100
app_config alone-config.json "\"echo\": $(many_echoes)"
peer_start "$func_root/tests/lib/many_echoes.py" "$APP_IP" "$PEER_IP" $udp $tcp $multicast >alone.json
app_start alone-config.json
check "the peer of a hundred multicast echoes ends" wait_for 120 is_gone "$peer_pid"
check_json "a hundred echoes from multicast to TCP, and no others, each have a connection" alone.json ".multicast == $multicast"
app_stop TERM

jq '.eal.memory_mb = 128' config.json >large.json
status=0
timeout 60 ip netns exec "$APP_NS" "$TAPLINE" run --json large.json >large.out 2>large.log || status=$?
check_equal "too little memory for the echoes ends the run with status 2" "$status" 2
check "and the message names the key" grep -qF 'memory_mb' large.log
