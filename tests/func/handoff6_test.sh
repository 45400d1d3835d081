#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two lcores on one port of IPv6 only: the kernel spreads frames as it likes, and each comes to the lcore that owns its
# echo; neighbour discovery and MLD come to both.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

APP_PORT_KEYS="\"ip6\": \"$APP_IP6/64\""

# feed GROUP TCP_PORT: multicast in, TCP out. The client fails when a message is lost, corrupt, twice or out of order.
feed() {
	in_peer timeout 60 "$TAPLINE" client --kernel --group "$1" --udp-port 5001 --tcp-listen "[$PEER_IP6]:$2" \
		--rate 1000 --seconds 1 --payload 16 --connect-timeout 30 --json >client.json 2>client.log
}

# echo_of PORT BYTES
echo_of() {
	in_peer timeout 120 "$PEER_PY" echo_bytes "$APP_IP6" "$1" "$2" >echo.json
	jq -e ".received == $2 and .same and .fin" echo.json
}

together() {
	in_peer timeout 60 "$PEER_PY" open_together "$APP_IP6" "$1" 100 >together.json
	jq -e '.same == 100' together.json
}

datagrams() {
	in_peer "$PEER_PY" udp_sizes "$APP_IP6" "$1" $(seq 0 16 1452) >sizes.json
	jq -e '.sizes == 91 and .wrong == []' sizes.json
}

answers_ping6() {
	in_peer ping -6 -q -c 1 -W 1 "$APP_IP6" >/dev/null
}

# The kernel forgets our MAC, and asks again.
found_again() {
	ip -netns "$PEER_NS" -6 neighbour flush dev "$PEER_IF"
	answers_ping6
}

# recorded FILTER: how many frames of the recording match.
recorded() {
	tshark -r all.pcapng -Y "$1" 2>/dev/null | wc -l
}

# reported_by: queue and group of the joins that were reported.
reported_by() {
	tshark -r all.pcapng -Y 'icmpv6.type == 143 && icmpv6.mldr.mar.record_type == 4' -T fields -E separator=' ' \
		-e frame.interface_id -e icmpv6.mldr.mar.multicast_address 2>/dev/null | awk -F '[ ,]' '{print $1, $NF}' |
		grep ff05 | sort -u | xargs
}

func_begin
net_begin
net_ip6
app_config one.json "\"echo\": [
	{\"name\": \"feed0\", \"port\": \"lan\", \"queue\": 0, \"receive\": {\"group\": \"ff05::1111\", \"udp_port\": 5001},
		\"send\": {\"tcp_connect\": \"[$PEER_IP6]:5002\"}},
	{\"name\": \"feed1\", \"port\": \"lan\", \"queue\": 1, \"receive\": {\"group\": \"ff05::2222\", \"udp_port\": 5001},
		\"send\": {\"tcp_connect\": \"[$PEER_IP6]:5003\"}},
	{\"name\": \"tcp0\", \"port\": \"lan\", \"queue\": 0, \"tcp_listen\": 7},
	{\"name\": \"tcp1\", \"port\": \"lan\", \"queue\": 1, \"tcp_listen\": 8},
	{\"name\": \"udp0\", \"port\": \"lan\", \"queue\": 0, \"udp_listen\": 7},
	{\"name\": \"udp1\", \"port\": \"lan\", \"queue\": 1, \"udp_listen\": 8}]" \
	'"capture": [{"port": "lan", "path": "all.pcapng"}]'
jq '.ports[0].rx_queues = 2 | .eal.memory_mb = 512' one.json >config.json
app_start config.json
app_status >begin.json

check "it answers ping a moment after its start" wait_for 10 answers_ping6
check "a feed of the first lcore is echoed, message by message" feed ff05::1111 5002
check "and one of the second" feed ff05::2222 5003
check "10 MB come back from a TCP echo of the first lcore" echo_of 7 10000000
check "and of the second" echo_of 8 10000000
check "100 connections at once, from as many ports, are served by the first lcore" together 7
check "and by the second" together 8
check "datagrams come back from the first lcore" datagrams 7
check "and from the second" datagrams 8
check "after the kernel forgot us it finds us again" wait_for 5 found_again
reports=$(app_status '.net[0].mld_reports_tx')
in_peer "$PEER_PY" mld_query "$PEER_IF" 2 >/dev/null
check "an MLD query is answered by both lcores" wait_for 10 status_is ".net[0].mld_reports_tx >= $reports + 2"

check "no connection is left" wait_for 10 status_is '[.echoes[] | select(.mode == "tcp") | .connections] == [0, 0]'
app_status >status.json
check_json "each queue handed frames over" status.json 'all(.port.queues[]; .handoff_pkts > 0)'

app_stop TERM
check_equal "SIGTERM ends it with status 0" "$APP_STATUS" 0
check_json "the ledger holds, by the kernel's count" run.json '.ledger_ok and .port.verified'
check_json "all that was handed over was taken" run.json '.port |
	.handoff_pkts == .handoff_taken_pkts and .drop_handoff_pkts == 0'
check_json "each message of the feeds was echoed" run.json \
	'[.echoes[] | select(.name | test("feed")) | .received_msgs, .echoed_msgs] == [1000, 1000, 1000, 1000]'
check_json "no mbuf is left" run.json ".port.mbufs_in_use <= $(jq .port.mbufs_in_use begin.json)"
check_json "the addresses were nobody else's" run.json \
	'.net[0].nd_duplicate_addresses == 0 and .net[0].nd_conflicts_pkts == 0'
check_equal "each message of the feeds is recorded once" "$(recorded 'udp.dstport == 5001')" 2000
check_equal "each group was reported by the lcore that owns it" "$(reported_by)" "0 ff05::1111 1 ff05::2222"
check_equal "the addresses were tried once each" "$(recorded 'icmpv6.type == 135 && ipv6.src == ::')" 2
