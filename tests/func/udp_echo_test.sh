#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# UDP echo for a kernel peer: every size that fits a frame.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

func_begin
net_begin
app_config config.json '"echo": [{"port": "lan", "udp_listen": 7}]'
app_start config.json

in_peer "$PEER_PY" udp_sizes "$APP_IP" 7 $(seq 0 1472) >sizes.json
check_json "datagrams of 0 to 1472 bytes are echoed unchanged" sizes.json '.sizes == 1473 and .wrong == []'

# Without shut-none socat from 1.8.1 on ends on an empty datagram.
check_equal "socat receives its line" "$(echo 'a line' | in_peer socat -t 2 - "UDP:$APP_IP:7,shut-none")" 'a line'

app_status >status.json
check_json "each datagram is counted" status.json '.echo | .received_msgs == 1474 and .echoed_msgs == 1474'

app_stop TERM
check_equal "SIGTERM ends the run with status 0" "$APP_STATUS" 0
check_json "the ledger is consistent and nothing was lost" run.json '.ledger_ok and .lossless'
