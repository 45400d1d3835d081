#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# 250 MB (1 GB with --nightly) to the TCP echo and back on one connection, the kernel as its peer, over a wire that drops,
# duplicates and reorders frames.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

TOTAL=${TL_BYTES:-250000000}
FRAMES=$((TOTAL / 1500)) # each way, at least
MANY=$((FRAMES / 700)) SOME=$((FRAMES / 7000))

# way_is_bad INTERFACE SENTENCE: check that at least half of the intended number of frames were lost, duplicated,
# reordered.
way_is_bad() {
	check_json "$2" relay.json ".from_$1 | .received > $FRAMES and .lost > $FRAMES * 0.005 and
		.doubled > $FRAMES * 0.0005 and .reordered > $FRAMES * 0.005 and
		.received + .doubled == .foreign + .lost + .sent + .refused + .held"
}

func_begin
net_begin_relayed --seed 42 --lose 10000 --double 1000 --late 10000 --late-us 1000
app_config config.json '"echo": [{"port": "lan", "tcp_listen": 7, "max_connections": 16, "send_buffer_bytes": "256K"}]'
app_start config.json
app_status >begin.json

in_peer timeout -k 5 400 "$PEER_PY" echo_bytes "$APP_IP" 7 "$TOTAL" >echo.json || true
check_json "$TOTAL bytes are echoed byte for byte, then FIN" echo.json \
	".received == $TOTAL and .same and .fin"
check "no connection remains" wait_for 60 status_is '.echo.connections == 0'
check "no mbuf is leaked" wait_for 60 \
	status_is ".ports[0].mbufs_in_use <= $(jq '.ports[0].mbufs_in_use' begin.json)"
in_peer nstat -asjz >kernel.json
app_stop TERM
relay_stop

way_is_bad "$RELAY_APP_IF" "the wire lost, duplicated and reordered frames of ours"
way_is_bad "$RELAY_PEER_IF" "the wire lost, duplicated and reordered frames of the kernel's"
check_json "we retransmitted losses, and the kernel reported the other retransmissions by SACK and D-SACK" run.json \
	".net[0] | .tcp_retransmits > $MANY and .tcp_sacks_rx > $MANY and .tcp_dsacks_rx > $SOME"
check_json "the kernel retransmitted losses, and we reported the other retransmissions by SACK and D-SACK" run.json \
	".net[0] | .tcp_out_of_order_pkts > $MANY and .tcp_sacks_tx > $MANY and .tcp_dsacks_tx > $SOME"
check_json "the kernel recovered by our SACK blocks, and received our D-SACKs" kernel.json \
	".kernel | .TcpRetransSegs > $MANY and .TcpExtTCPSackRecovery > $SOME and .TcpExtTCPDSACKRecv > $SOME"
check_json "at most one in ten retransmissions was due to a timeout" run.json \
	'.net[0] | .tcp_timeouts * 10 <= .tcp_retransmits'
check_equal "SIGTERM ends the run with status 0" "$APP_STATUS" 0
check_json "the ledger is consistent" run.json '.ledger_ok'
