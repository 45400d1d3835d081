#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Link down and up: addresses and groups are announced again, and connections survive.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

# seen FILTER: print the number of matching frames on the wire.
seen() {
	tshark -r wire.pcap -Y "$1" 2>/dev/null | wc -l
}

has_seen() {
	(($(seen "$1") >= $2))
}

announced="arp.isgratuitous && arp.src.proto_ipv4 == $APP_IP"
reported="igmp.type == 0x22 && ip.src == $APP_IP"

func_begin
net_begin
app_config config.json "\"echo\": [{\"port\": \"lan\", \"receive\": {\"group\": \"239.1.1.1\", \"udp_port\": 5001},
	\"send\": {\"tcp_connect\": \"$PEER_IP:5002\"}}]"
peer_start tcpdump -U -n -i "$PEER_IF" -w wire.pcap 'arp or igmp' 2>tcpdump.log
tcpdump_pid=$peer_pid
wait_for 60 grep -q 'listening on' tcpdump.log
app_start config.json
check "the address is announced twice" wait_for 60 has_seen "$announced" 2
check "the group is reported twice" wait_for 60 has_seen "$reported" 2
in_peer ip link set "$PEER_IF" down
check "link down is detected" wait_for 60 grep -q 'has no link any more' run.log
in_peer ip link set "$PEER_IF" up
check "after link up the address is announced twice again" wait_for 60 has_seen "$announced" 4
check "after link up the group is reported again" wait_for 60 has_seen "$reported" 4
in_peer sh -c "ip link set $PEER_IF down && ip link set $PEER_IF up"
check "a link down of milliseconds is detected" wait_for 60 grep -q 'had no link for less than a second' run.log
check "after it the address is announced twice again" wait_for 60 has_seen "$announced" 6
check "after it the group is reported again" wait_for 60 has_seen "$reported" 6
check "both are counted" status_is '.ports[0].link_downs == 2'
app_stop TERM
stop_process "$tcpdump_pid" TERM || true
check_equal "SIGTERM ends the run with status 0" "$APP_STATUS" 0
app_start config.json
in_app ip link delete "$APP_IF"
check "a run ends when the interface of its echo is removed" wait_for 60 is_gone "$app_pid"
app_stop TERM
check_equal "the removal has exit status 1" "$APP_STATUS" 1
check "the reason is reported" grep -q "interface $APP_IF is gone" run.log
