#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The appliance as a neighbour of the kernel: ARP and ICMP echo.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

pings_of_every_size() {
	local size
	for size in 0 1 17 18 56 1000 1471 1472; do
		in_peer ping -q -c 2 -i 0.05 -W 10 -s "$size" "$APP_IP" || return
	done
}

announces() {
	grep -q "Request who-has $APP_IP .*tell $APP_IP,\|Announcement $APP_IP\|Reply $APP_IP" <(tcpdump -nr arp.pcap 2>/dev/null)
}

neighbour_mac() {
	in_peer ip neighbour show "$APP_IP" dev "$PEER_IF" | awk '{print $3}'
}

listening_to_arp() {
	grep -q 'listening on' tcpdump.log
}

func_begin
net_begin
app_config config.json '"echo": [{"port": "lan", "udp_listen": 7}]'

peer_start tcpdump -U -n -i "$PEER_IF" -w arp.pcap arp 2>tcpdump.log
wait_for 60 listening_to_arp
app_start config.json
check "the appliance announces its address by gratuitous ARP" wait_for 60 announces
stop_process "$peer_pid" || true

check "ping is answered in every size up to the MTU" pings_of_every_size
check_equal "the kernel has learned the MAC address of the interface" "$(neighbour_mac)" "$(in_app cat "/sys/class/net/$APP_IF/address")"

in_peer ip neighbour flush dev "$PEER_IF"
check "after the kernel's neighbour entry is flushed the appliance is resolved again" wait_for 60 answers_ping

check "arping is answered" in_peer arping -q -c 3 -w 30 -I "$PEER_IF" "$APP_IP"
check_equal "a host that probes for our address gets a reply (RFC 5227)" \
	"$(in_peer arping -q -D -c 10 -w 10 -I "$PEER_IF" "$APP_IP" && echo free || echo taken)" taken
check_equal "other addresses get no reply" \
	"$(in_peer arping -q -D -c 1 -w 1 -I "$PEER_IF" 10.99.0.77 && echo free || echo taken)" free

check_equal "a fragmented ping is not answered" \
	"$(in_peer ping -q -c 1 -W 1 -s 3000 "$APP_IP" >/dev/null && echo answered || echo silence)" silence
check "requests after the fragments are answered" wait_for 60 answers_ping
app_status >status.json
check_json "the fragments are counted" status.json \
	'[.net[0] | to_entries[] | select(.key | test("frag|malformed")) | .value] | add > 0'
check_json "no frame counts as altered" status.json '.port.altered_pkts == 0'

app_stop TERM
check_equal "SIGTERM ends the run with status 0" "$APP_STATUS" 0
check_json "the ledger is consistent and no frame was lost" run.json '.ledger_ok and .lossless'
