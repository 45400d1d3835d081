#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# TCP echo for kernel peers: much data, killed peers, peers that never read, and many short connections.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

echo_of_socat() {
	head -c $((100 << 20)) /dev/urandom >sent
	in_peer timeout 120 socat -b 65536 -t 60 "OPEN:sent,rdonly!!CREATE:received" "TCP:$APP_IP:7" && cmp sent received
	local same=$?
	rm -f sent received
	return "$same"
}

echo_of_nc() {
	head -c 100000 /dev/urandom >sent
	in_peer timeout 60 nc -N "$APP_IP" 7 <sent >received && cmp sent received
}

small_echo_works() {
	[[ $(echo hello | in_peer timeout 60 nc -N "$APP_IP" 7) == hello ]]
}

# SIGKILL during a transfer: the kernel closes the connection with unread data, by RST.
kill_a_peer_midway() {
	peer_start "$PEER_PY" echo_bytes "$APP_IP" 7 $((1 << 32)) >/dev/null 2>&1
	wait_for 60 status_is '.echo.echoed_bytes > 1000000 + '"$1" || return
	stop_process "$peer_pid" KILL 2>/dev/null || true
	wait_for 60 status_is '.echo.connections == 0'
}

start_a_peer_that_never_reads() {
	peer_start "$PEER_PY" never_read "$APP_IP" 7 $((64 << 20)) >never_read.json
	wait_for 60 test -s never_read.json
}

# stand_by: open a connection that has received its echo and stays open; peer_pid is its process.
stand_by() {
	rm -f greeting
	peer_start "$(command -v bash)" -c 'exec 3<>"/dev/tcp/$1/7"; echo hello >&3; read -r -u 3; echo "$REPLY" >greeting
		read -r -u 3' bash "$APP_IP" >/dev/null 2>&1
	wait_for 60 grep -sqx hello greeting
}

# kernel_sees: print the options negotiated by the kernel.
kernel_sees() {
	local seen
	seen=$(in_peer ss -tionHO dst "$APP_IP")
	echo "$seen"
	[[ " $seen " == *" ts sack "* && " $seen " == *" wscale:"* ]]
}

# bytes_captured FILE: print the bytes sent by us, as far as recorded in the file.
bytes_captured() {
	tshark -r "$1" -Y "ip.src == $APP_IP && tcp.len > 0" -T fields -e tcp.len 2>/dev/null | jq -s "add // 0"
}

has_captured() { (($(bytes_captured "$1") >= $2)); }

# without_timestamps FILE: print our segments that lack a required timestamp.
without_timestamps() {
	tshark -r "$1" -Y "ip.src == $APP_IP && tcp && !tcp.options.timestamp.tsval" 2>/dev/null
}

func_begin
net_begin
app_config config.json '"echo": [{"port": "lan", "tcp_listen": 7, "max_connections": 300}]'
app_start config.json
app_status >begin.json

# tcpdump's immediate mode has room for few frames of the largest length: headers suffice.
ip netns exec "$PEER_NS" tcpdump -U --immediate-mode -s 128 -n -i "$PEER_IF" -w options.pcap "tcp port 7" 2>tcpdump.log &
tcpdump_pid=$!
wait_for 60 grep -q 'listening on' tcpdump.log
stand_by || true
check "the kernel negotiates timestamps, SACK and a window scale" kernel_sees
stop_process "$peer_pid" KILL 2>/dev/null || true
check "nc receives 100 kB, byte for byte" echo_of_nc
check "all of it is recorded" wait_for 60 has_captured options.pcap 100000
stop_process "$tcpdump_pid" INT 2>/dev/null || true
check_equal "tshark finds timestamps in each of our segments" "$(without_timestamps options.pcap)" ""
check "socat receives 100 MiB, byte for byte" echo_of_socat
in_peer timeout 120 "$PEER_PY" echo_bytes "$APP_IP" 7 100000000 >echo.json || true
check_json "a peer that sends and reads concurrently receives 100 MB, then FIN" echo.json \
	'.received == 100000000 and .same and .fin'

check "the connection of a killed peer is removed" kill_a_peer_midway "$(app_status .echo.echoed_bytes)"
check "the next peer is served" small_echo_works

start_a_peer_that_never_reads || true
check_json "a peer that never reads is limited to windows and buffers" never_read.json \
	'.blocked and .sent < 16000000'
check "another connection is served meanwhile" small_echo_works
stop_process "$peer_pid" KILL 2>/dev/null || true
check "its connection is removed at its end" wait_for 60 status_is '.echo.connections == 0'

in_peer timeout 60 "$PEER_PY" open_close "$APP_IP" 7 1000 >open_close.json || true
check_json "1000 connections open and close, by FIN and by RST" open_close.json '.done == 1000 and .errors == []'
in_peer timeout 60 "$PEER_PY" open_together "$APP_IP" 7 200 >together.json || true
check_json "200 connections are open concurrently" together.json '.same == 200'

check "no connection remains" wait_for 60 status_is '.echo.connections == 0'
app_status >end.json
if jq -e '.ports[0] | has("mbufs_in_use")' begin.json >/dev/null; then
	check "no mbuf is leaked" wait_for 60 \
		status_is ".ports[0].mbufs_in_use <= $(jq '.ports[0].mbufs_in_use' begin.json)"
else
	not_ok "no mbuf is leaked" "the status has no ports[].mbufs_in_use"
fi

app_stop TERM
check_equal "SIGTERM ends the run with status 0" "$APP_STATUS" 0
check_json "every connection was closed" run.json '.echo | .connections == 0 and .connects == .disconnects'
check_json "the ledger is consistent" run.json '.ledger_ok'
