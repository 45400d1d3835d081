#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Multicast to TCP while the TCP peer disconnects and returns: dropped messages are counted, and the appliance reconnects.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

multicast() {
	in_peer "$PEER_PY" multicast "$PEER_IP" 239.1.1.1 5001 "$1" 16 >/dev/null
}

# The client fails if a message is lost, corrupt or never arrives.
client() {
	in_peer timeout 60 "$TAPLINE" client --kernel --group 239.1.1.1 --udp-port 5001 --tcp-listen "$PEER_IP:5002" \
		--rate 1000 --seconds 1 --payload 64 --connect-timeout 30 --linger 20 --json >client.json 2>client.log
}

func_begin
net_begin
app_config config.json '"echo": [{"port": "lan", "receive": {"group": "239.1.1.1", "udp_port": 5001},
	"send": {"tcp_connect": "10.99.0.2:5002"}}]'
app_start config.json

multicast 200
check "without a peer each message is counted as dropped" wait_for 60 \
	status_is '.echo | .received_msgs == 200 and .drop_no_conn_msgs == 200 and .echoed_msgs == 0'

check "when the client starts the appliance connects and echoes" client
check_json "the client received all 1000 echoes" client.json '.received == 1000 and .corrupt == 0 and .duplicates == 0'
check "the appliance detects the end of the client" wait_for 60 \
	status_is '.echo | .connections == 0 and .disconnects >= 1'
multicast 100
check "messages without a connection are dropped and counted" wait_for 60 status_is '.echo.drop_no_conn_msgs == 300'

check "a second client is connected and served" client
check "the end of the second client is detected" wait_for 60 status_is '.echo | .connections == 0 and .disconnects == 2'

peer_start "$PEER_PY" read_all "$PEER_IP" 5002 >read.json
check "a peer to be killed is connected" wait_for 60 status_is '.echo.connections == 1'
stop_process "$peer_pid" KILL 2>/dev/null || true
check "its end is detected" wait_for 60 status_is '.echo.connections == 0'
check "a third client is served" client

app_stop INT
check_equal "SIGINT ends the run with status 0" "$APP_STATUS" 0
check_json "every message ended in exactly one counter" run.json '.ledger_ok and
	(.echo | .received_msgs == 3300 and .echoed_msgs == 3000 and .drop_no_conn_msgs == 300 and .connects == 4)'
