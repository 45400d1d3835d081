#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The AF_XDP port: the appliance owns the queue's frames, and the kernel's peer notices no difference.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

echo_of_socat() {
	head -c 10000000 /dev/urandom >sent
	in_peer timeout 60 socat -b 65536 -t 30 "OPEN:sent,rdonly!!CREATE:received" "TCP:$APP_IP:7" && cmp sent received
}

has_af_xdp() {
	python3 -c 'import socket; socket.socket(44, socket.SOCK_RAW)' 2>/dev/null
}

func_begin
if ! has_af_xdp; then
	skip "the AF_XDP port" "the kernel has no AF_XDP sockets"
	exit
fi
net_begin
app_config config.json '"echo": [{"port": "lan", "tcp_listen": 7}]' \
	'"capture": [{"port": "lan", "path": "xdp.pcapng", "filter": "icmp"}]'
sed -i "s/\"device\": \"$APP_IF\"/\"device\": \"xdp:$APP_IF\"/" config.json
app_start config.json

check "ping is answered" in_peer ping -q -c 20 -i 0.02 -W 10 "$APP_IP"
check "socat receives 10 MB, byte for byte" echo_of_socat
app_stop TERM
check_equal "SIGTERM ends the run with status 0" "$APP_STATUS" 0
check_json "the ledger is consistent, and marks the port as unverified" run.json '.ledger_ok and (.port.verified | not)'
check_equal "the file has requests and replies" "$(tshark -r xdp.pcapng 2>/dev/null | wc -l)" 40

# mtu BYTES: set that of both ends.
mtu() {
	ip -netns "$APP_NS" link set "$APP_IF" mtu "$1"
	ip -netns "$PEER_NS" link set "$PEER_IF" mtu "$1"
}

mtu 9000
status=0
in_app timeout 10 "$TAPLINE" run config.json >/dev/null 2>mtu.log || status=$?
check_equal "an MTU whose frames do not fit a page is refused" "$status" 2
most=$(grep -oP 'do not fit a page, as AF_XDP requires: `ip link set app0 mtu \K[0-9]+' mtu.log)
check "the message has the longest one" test "${most:-0}" -gt 3000
mtu "${most:-3000}"
sed -i "s/\"device\":/\"mtu\": $most, \"device\":/" config.json
app_start config.json
check "with that MTU the longest ping is answered" in_peer ping -q -c 3 -i 0.02 -W 10 -M do -s $((most - 28)) "$APP_IP"
app_stop TERM
mtu 1500

ip -netns "$APP_NS" address add "$APP_IP/24" dev "$APP_IF"
ip -netns "$APP_NS" route add default via "$PEER_IP"
status=0
in_app timeout 10 "$TAPLINE" capture -i "xdp:$APP_IF" -w x.pcapng >/dev/null 2>take.log || status=$?
check_equal "the interface of the default route is refused without the option" "$status" 2
check "the message names the option" grep -q -- --take take.log
