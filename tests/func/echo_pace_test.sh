#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Paced connections, judged by the kernel as the receiver: all bytes arrive in order, and on average no faster than the rate.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

# An interval has at most one frame, and 200 us of the rate, more than the rate.
judge='
import json, socket, struct, sys, threading, time
def over(rate, received, elapsed):
    return (received - 1514) * 8 - rate * 200e-6 > rate * elapsed * 1.001
def read_all(s, most):
    got = bytearray()
    while len(got) < most:
        data = s.recv(1 << 16)
        if not data:
            break
        got += data
    return bytes(got)
'

# echoed: send a stream and FIN to the TCP echo, and print what came back.
echoed() {
	in_peer python3 -c "$judge"'
host, port, rate, total = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
sent = b"".join(struct.pack(">I", i) for i in range(total // 4))
with socket.create_connection((host, port), timeout=60) as s:
    began = time.monotonic()
    def send():
        s.sendall(sent)
        s.shutdown(socket.SHUT_WR)
    threading.Thread(target=send, daemon=True).start()
    got = read_all(s, total)
    elapsed = time.monotonic() - began
    fin = s.recv(1) == b""
print(json.dumps({"same": got == sent, "fin": fin, "over": over(rate, len(got), elapsed), "bps": len(got) * 8 / elapsed}))' "$@"
}

# forwarded: accept the connection of the multicast echo, send a burst of messages, and print what came by TCP.
forwarded() {
	in_peer python3 -c "$judge"'
own, group, rate = sys.argv[1], sys.argv[2], float(sys.argv[3])
with socket.create_server((own, 5001)) as server:
    server.settimeout(60)
    s, _ = server.accept()
    s.settimeout(60)
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    u.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(own))
    messages = [struct.pack(">I", i) * 250 for i in range(100)]
    began = time.monotonic()
    for m in messages:
        u.sendto(m, (group, 5000))
    got = read_all(s, 100000)
    elapsed = time.monotonic() - began
print(json.dumps({"same": got == b"".join(messages), "over": over(rate, len(got), elapsed), "bps": len(got) * 8 / elapsed}))' "$@"
}

func_begin
net_begin
app_config config.json '"echo": [
	{"name": "t", "port": "lan", "tcp_listen": 7, "max_connections": 8, "pace_bps": "4Mbit"},
	{"name": "feed", "port": "lan", "receive": {"group": "239.1.1.1", "udp_port": 5000}, "send": {"tcp_connect": "'"$PEER_IP"':5001"},
		"pace_bps": 2000000, "send_buffer_bytes": "256K"},
	{"name": "free", "port": "lan", "tcp_listen": 9, "max_connections": 8},
	{"name": "slow", "port": "lan", "tcp_listen": 10, "max_connections": 8, "pace_bps": "8kbit"}]'
"$TAPLINE" run config.json --explain >explain.txt
check "--explain shows the rate and the gap of a full frame" grep -q \
	'echo t: each connection is paced to 4000000 bit/s: a frame of 1514 bytes every 3.028 ms' explain.txt
app_start config.json

echoed "$APP_IP" 7 4e6 400000 >echoed.json
check_json "a paced stream is returned unchanged, then FIN" echoed.json '.same and .fin'
check_json "the stream does not exceed the rate" echoed.json '.over == false'
forwarded "$PEER_IP" 239.1.1.1 2e6 >forwarded.json
check_json "a burst of multicast messages arrives by TCP in order" forwarded.json '.same'
check_json "the burst does not exceed the rate" forwarded.json '.over == false'
check "status shows the rate and counts the waits" status_is '.echoes | .[0].pace_bps == 4000000 and .[0].paced_waits > 100 and
	.[1].pace_bps == 2000000 and .[1].paced_waits > 20 and .[1].drop_full_msgs == 0'
echoed "$APP_IP" 9 1e12 400000 >free.json
check_json "an echo without pacing answers meanwhile" free.json '.same and .fin'
check "the echo without pacing has no rate and no waits" status_is '.echoes[2] | has("pace_bps") == false and .paced_waits == 0'
"$TAPLINE" status --socket control.sock >status.txt
check "the status text shows both" grep -q 'paced_waits' status.txt

in_peer python3 -c 'import socket, sys
with socket.create_connection((sys.argv[1], 10)) as s:
    s.sendall(bytes(20000))
    try:
        while s.recv(1000):
            pass
    except ConnectionError:
        pass' "$APP_IP" >slow.txt 2>&1 &
slow_pid=$!
check "a slow connection has pending bytes" wait_for 60 status_is '.echoes[3] | .received_bytes > 0 and .paced_waits > 0'
app_stop TERM
check_equal "SIGTERM ends the run with status 0" "$APP_STATUS" 0
check_json "pending bytes are counted as lost" run.json '.echoes[3].lost_unacked_msgs > 0'
check_json "the ledger is consistent" run.json '.ledger_ok and all(.echoes[]; .unaccounted_msgs == 0)'
check "the client of the lost bytes is reset" wait "$slow_pid"
