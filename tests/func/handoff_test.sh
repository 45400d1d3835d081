#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two lcores on one port, echoes on both: the kernel spreads frames as it likes, and each comes to the lcore that owns its
# echo; one frame is recorded once.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

# feed GROUP TCP_PORT: multicast in, TCP out. The client fails when a message is lost, corrupt, twice or out of order.
feed() {
	in_peer timeout 60 "$TAPLINE" client --kernel --group "$1" --udp-port 5001 --tcp-listen "$PEER_IP:$2" \
		--rate 1000 --seconds 1 --payload 16 --connect-timeout 30 --json >client.json 2>client.log
}

# echo_of PORT BYTES
echo_of() {
	in_peer timeout 120 "$PEER_PY" echo_bytes "$APP_IP" "$1" "$2" >echo.json
	jq -e ".received == $2 and .same and .fin" echo.json
}

together() {
	in_peer timeout 60 "$PEER_PY" open_together "$APP_IP" "$1" 100 >together.json
	jq -e '.same == 100' together.json
}

datagrams() {
	in_peer "$PEER_PY" udp_sizes "$APP_IP" 7 $(seq 0 16 1472) >sizes.json
	jq -e '.sizes == 93 and .wrong == []' sizes.json
}

# The kernel forgets our MAC, and asks again.
answers_arp() {
	ip -netns "$PEER_NS" neighbour flush dev "$PEER_IF"
	answers_ping
}

# Each lcore has joined one group, said so twice, and answers for it.
answers_igmp() {
	wait_for 10 status_is '.net[0].igmp_reports_tx == 4' || return
	in_peer "$PEER_PY" igmp_query "$PEER_IP" 3
	wait_for 10 status_is '.net[0].igmp_reports_tx == 6'
}

recorded() {
	tshark -r all.pcapng -Y "$1" 2>/dev/null | wc -l
}

func_begin
net_begin
app_config one.json '"echo": [
	{"name": "feed0", "port": "lan", "queue": 0, "receive": {"group": "239.1.1.1", "udp_port": 5001},
		"send": {"tcp_connect": "10.99.0.2:5002"}},
	{"name": "feed1", "port": "lan", "queue": 1, "receive": {"group": "239.1.1.2", "udp_port": 5001},
		"send": {"tcp_connect": "10.99.0.2:5003"}},
	{"name": "tcp0", "port": "lan", "queue": 0, "tcp_listen": 7},
	{"name": "tcp1", "port": "lan", "queue": 1, "tcp_listen": 8},
	{"name": "udp", "port": "lan", "udp_listen": 7},
	{"name": "next", "port": "lan", "udp_listen": 9},
	{"name": "same", "port": "lan", "receive": {"group": "239.1.1.2", "udp_port": 5009},
		"send": {"tcp_connect": "10.99.0.2:5009"}}]' '"capture": [{"port": "lan", "path": "all.pcapng"}]'
jq '.ports[0].rx_queues = 2 | .echo[].stages = true | .eal.memory_mb = 512' one.json >config.json
app_start config.json
app_status >begin.json
check_json "an echo lives where it is told, else the next one in turn, but with its group" begin.json \
	'[.echoes[].queue] == [0, 1, 0, 1, 0, 1, 1]'

check "a feed of the first lcore is echoed, message by message" feed 239.1.1.1 5002
check "and one of the second" feed 239.1.1.2 5003
check "10 MB come back from a TCP echo of the first lcore" echo_of 7 10000000
check "and of the second" echo_of 8 10000000
check "100 connections at once, from as many ports, are served by the first lcore" together 7
check "and by the second" together 8
check "datagrams come back" datagrams
check "ping is answered, whichever queue it comes to" answers_ping
check "so is ARP" answers_arp
check "an IGMP query is answered by both lcores" answers_igmp

check "no connection is left" wait_for 10 status_is '[.echoes[] | select(.mode == "tcp") | .connections] == [0, 0]'
app_status >status.json
check_json "each queue handed frames over" status.json 'all(.port.queues[]; .handoff_pkts > 0)'
check_json "as the sum says" status.json '.port | ([.queues[].handoff_pkts] | add) == .handoff_pkts'

# In the middle of it.
peer_start "$PEER_PY" echo_bytes "$APP_IP" 7 $((1 << 32)) >/dev/null 2>&1
check "another transfer begins" wait_for 20 status_is ".echoes[2].echoed_bytes > 1000000 + $(jq '.echoes[2].echoed_bytes' status.json)"
app_stop TERM
stop_process "$peer_pid" KILL 2>/dev/null || true
check_equal "SIGTERM ends it with status 0 in the middle of that" "$APP_STATUS" 0
check_json "the ledger holds, by the kernel's count" run.json '.ledger_ok and .port.verified'
check_json "all that was handed over was taken" run.json '.port |
	.handoff_pkts == .handoff_taken_pkts and .drop_handoff_pkts == 0'
check_json "each frame came to one stack, and ARP to both" run.json \
	'.net[0].in_pkts == .port.rx_pkts + (.net[0].rx_arp_pkts + .net[0].rx_igmp_pkts) / 2'
check_json "each message of the feeds was echoed" run.json \
	'[.echoes[] | select(.name | test("feed")) | .received_msgs, .echoed_msgs] == [1000, 1000, 1000, 1000]'
check_json "no mbuf is left" run.json ".port.mbufs_in_use <= $(jq .port.mbufs_in_use begin.json)"
check_json "each frame was offered to the recording once" run.json '.port.rx_pkts == .captures[0].rx.offered_pkts and
	.port.tx_pkts == .captures[0].tx.offered_pkts'
check_equal "each message of the feeds is recorded once" "$(recorded 'udp.dstport == 5001')" 2000
check_equal "ARP requests were answered once each" "$(recorded "arp.opcode == 2 && arp.src.proto_ipv4 == $APP_IP")" \
	"$(recorded "arp.opcode == 1 && arp.dst.proto_ipv4 == $APP_IP && arp.src.proto_ipv4 == $PEER_IP")"
check_equal "each for a group of its own" "$(tshark -r all.pcapng -Y "igmp.record_type == 2 && ip.src == $APP_IP" \
	-T fields -e igmp.maddr 2>/dev/null | sort | xargs)" "239.1.1.1 239.1.1.2"
check "both lcores sent" test "$(tshark -r all.pcapng -Y "ip.src == $APP_IP" -T fields -e frame.interface_id 2>/dev/null |
	sort -u | wc -l)" -ge 2
