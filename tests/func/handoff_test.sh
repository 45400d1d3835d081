#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two lcores on one port, echoes on both: the kernel distributes frames arbitrarily, and each reaches the lcore that owns its
# echo; one frame is recorded once.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"
source "$func_root/tests/lib/two_lcores.sh"

OUR_ADDRESS=$APP_IP PEER_AT=$PEER_IP

# The kernel removes our MAC and resolves it again.
answers_arp() {
	ip -netns "$PEER_NS" neighbour flush dev "$PEER_IF"
	answers_ping
}

# Each lcore has joined one group, reported it twice, and replies for it.
answers_igmp() {
	wait_for 60 status_is '.net[0].igmp_reports_tx == 4' || return
	in_peer "$PEER_PY" igmp_query "$PEER_IP" 3
	wait_for 60 status_is '.net[0].igmp_reports_tx == 6'
}

func_begin
net_begin
lcores_start 239.1.1.1 239.1.1.2 '
	{"name": "udp", "port": "lan", "udp_listen": 7}
	{"name": "next", "port": "lan", "udp_listen": 9}
	{"name": "same", "port": "lan", "receive": {"group": "239.1.1.2", "udp_port": 5009},
		"send": {"tcp_connect": "10.99.0.2:5009"}}'
check_json "an echo runs on its configured queue, otherwise on the next, except with a shared group" begin.json \
	'[.echoes[].queue] == [0, 1, 0, 1, 0, 1, 1]'

lcores_serve 239.1.1.1 239.1.1.2
check "datagrams are echoed" datagrams 7 1472
check "ping is answered on every queue" wait_for 60 answers_ping
check "ARP is answered on every queue" wait_for 60 answers_arp
check "an IGMP query is answered by both lcores" answers_igmp

lcores_at_rest
check_json "the hand-offs of the queues sum up to the total" status.json '.port | ([.queues[].handoff_pkts] | add) == .handoff_pkts'

# During the run. From here on the kernel asks for no address: it could ask in the last moment of the recording.
in_peer ip neighbour replace "$APP_IP" lladdr "$(in_app cat "/sys/class/net/$APP_IF/address")" dev "$PEER_IF" nud permanent
peer_start "$PEER_PY" echo_bytes "$APP_IP" 7 $((1 << 32)) >/dev/null 2>&1
check "another transfer starts" wait_for 60 status_is ".echoes[2].echoed_bytes > 1000000 + $(jq '.echoes[2].echoed_bytes' status.json)"
app_stop TERM
stop_process "$peer_pid" KILL 2>/dev/null || true
check_equal "SIGTERM during the transfer ends the run with status 0" "$APP_STATUS" 0
lcores_ended
check_json "each frame was processed by one stack, ARP by both" run.json \
	'.net[0].in_pkts == .port.rx_pkts + (.net[0].rx_arp_pkts + .net[0].rx_igmp_pkts) / 2'
check_json "each frame was offered to the recording once" run.json '.port.rx_pkts == .captures[0].rx.offered_pkts and
	.port.tx_pkts == .captures[0].tx.offered_pkts'
check_equal "each ARP request was answered once" "$(recorded "arp.opcode == 2 && arp.src.proto_ipv4 == $APP_IP")" \
	"$(recorded "arp.opcode == 1 && arp.dst.proto_ipv4 == $APP_IP && arp.src.proto_ipv4 == $PEER_IP")"
check_equal "each lcore reports its own group" "$(tshark -r all.pcapng -Y "igmp.record_type == 2 && ip.src == $APP_IP" \
	-T fields -e igmp.maddr 2>/dev/null | sort | xargs)" "239.1.1.1 239.1.1.2"
check "both lcores sent frames" test "$(tshark -r all.pcapng -Y "ip.src == $APP_IP" -T fields -e frame.interface_id 2>/dev/null |
	sort -u | wc -l)" -ge 2
