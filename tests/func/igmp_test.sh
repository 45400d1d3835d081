#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The appliance as a member of a multicast group; tshark checks its IGMP messages.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

group=239.1.1.1
report3="igmp.type == 0x22 && ip.src == $APP_IP"

# seen FILTER: print the number of matching frames on the wire.
seen() {
	tshark -r wire.pcap -Y "$1" 2>/dev/null | wc -l
}

has_seen() {
	(($(seen "$1") >= $2))
}

func_begin
net_begin
app_config config.json "\"echo\": [{\"port\": \"lan\", \"receive\": {\"group\": \"$group\", \"udp_port\": 5001},
	\"send\": {\"tcp_connect\": \"$PEER_IP:5002\"}}]"
peer_start tcpdump -U -n -i "$PEER_IF" -w wire.pcap igmp 2>tcpdump.log
tcpdump_pid=$peer_pid
wait_for 60 grep -q 'listening on' tcpdump.log
app_start config.json

check "the appliance joins with IGMPv3 and reports twice (RFC 3376, section 5.1)" wait_for 60 has_seen "$report3" 2
joins=$(seen "$report3")
in_peer "$PEER_PY" igmp_query "$PEER_IP" 3 >/dev/null
check "a query is answered" wait_for 60 has_seen "$report3" $((joins + 1))
check_equal "reports are sent to 224.0.0.22 with TTL 1, Router Alert and the group's MAC address" \
	"$(seen "$report3 && !(ip.dst == 224.0.0.22 && ip.ttl == 1 && ip.opt.ra && eth.dst == 01:00:5e:00:00:16)")" 0
in_peer "$PEER_PY" igmp_query "$PEER_IP" 2 >/dev/null
check "an older querier is answered in IGMPv2" \
	wait_for 60 has_seen "igmp.type == 0x16 && ip.dst == $group && ip.src == $APP_IP" 1
app_stop TERM
check "the group is left at the end in the querier's version" \
	wait_for 60 has_seen "igmp.type == 0x17 && ip.dst == 224.0.0.2 && ip.src == $APP_IP" 1
check_equal "tshark reports no error in the messages" \
	"$(tshark -r wire.pcap -Y "ip.src == $APP_IP && (_ws.malformed || igmp.checksum.status == 0)" 2>/dev/null | wc -l)" 0
stop_process "$tcpdump_pid" TERM || true
check_equal "SIGTERM ends the run with status 0" "$APP_STATUS" 0
