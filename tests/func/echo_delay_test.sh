#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Delayed replies: the peer measures no reply earlier than the delay, all come back, and each message is counted.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

# round_trips: print the shortest round trip in ms of datagrams sent together, and of a message by TCP, and whether all came back.
round_trips() {
	in_peer python3 - "$APP_IP" <<'P'
import json, socket, sys, time
host = sys.argv[1]
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.connect((host, 7))
    s.settimeout(30)
    s.send(b"x") # resolves the address
    s.recv(10)
    sent, udp = {}, []
    for i in range(100):
        sent[i] = time.monotonic()
        s.send(i.to_bytes(4, "big"))
    while sent:
        i = int.from_bytes(s.recv(10), "big")
        udp.append(time.monotonic() - sent.pop(i))
with socket.create_connection((host, 7), timeout=30) as s:
    tcp = []
    for i in range(10):
        at, got = time.monotonic(), b""
        s.sendall(b"a message by TCP")
        while len(got) < 16:
            got += s.recv(16)
        tcp.append(time.monotonic() - at)
print(json.dumps({"udp_ms": min(udp) * 1000, "udp": len(udp), "tcp_ms": min(tcp) * 1000}))
P
}

func_begin
net_begin
app_config config.json '"echo": [
	{"name": "u", "port": "lan", "udp_listen": 7, "delay": "20ms +- 5ms"},
	{"name": "t", "port": "lan", "tcp_listen": 7, "delay": "10ms"},
	{"name": "slow", "port": "lan", "udp_listen": 9, "delay": "10s", "delay_limit": 64}]'
app_start config.json

round_trips >times.json
check_json "every delayed datagram is returned" times.json '.udp == 100'
check_json "no datagram returns before its delay" times.json '.udp_ms >= 15'
check_json "no TCP message returns before its delay" times.json '.tcp_ms >= 10'
in_peer "$PEER_PY" echo_bytes "$APP_IP" 7 200000 >bytes.json
check_json "a delayed stream is returned unchanged, then FIN" bytes.json '.received == 200000 and .same and .fin'

check "each message is counted" wait_for 60 status_is '.echoes[0] | .received_msgs == 101 and .echoed_msgs == 101'
check "a delayed echo has a lateness and a residence time including the delay" status_is '.echoes[1] | .lateness_ns.count > 0 and
	.residence_ns.min >= 10e6'
"$TAPLINE" status --socket control.sock >status.txt
check_equal "status shows the delay" "$(grep -c '^    lateness_ns ' status.txt)" 2

in_peer python3 -c 'import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
[s.sendto(b"late", (sys.argv[1], 9)) for _ in range(100)]' "$APP_IP"
check "messages are queued up to the limit" wait_for 60 status_is '.echoes[2] | .waiting_msgs == 64 and .drop_delay_msgs == 36'
app_stop TERM
check_equal "SIGTERM ends the run with status 0" "$APP_STATUS" 0
check_json "messages pending at the end are dropped and counted" \
	run.json '.echoes[2] | .received_msgs == 100 and .drop_delay_msgs == 100 and .waiting_msgs == 0'
check_json "the ledger is consistent" run.json '.ledger_ok and all(.echoes[]; .unaccounted_msgs == 0)'
