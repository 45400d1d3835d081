#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Multicast datagrams longer than the MTU: their fragments arrive reordered and duplicated, and TCP carries the datagrams.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

ROUNDS=40 COUNT=$((40 * 8)) SIZE=4000

# fragments_config FILE WHAT: WHAT is the value of ip_fragments.
fragments_config() {
	app_config "$1" '"echo": [{"port": "lan", "receive": {"group": "239.1.2.3", "udp_port": 5000},
		"send": {"tcp_connect": "'"$PEER_IP"':6000"}}]' '"capture": [{"port": "lan", "path": "lan.pcapng"}]'
	sed -i "s/\"device\": \"$APP_IF\"/\"device\": \"$APP_IF\", \"ip_fragments\": \"$2\"/" "$1"
}

counted_fragments() {
	status_is ".net[0] | .drop_fragment_pkts >= $1"
}

each_frame_is_counted_once() {
	check_json "each frame is counted exactly once, and the ledger is consistent" run.json \
		'.ledger_ok and (.net[0] | .in_pkts == ([to_entries[] | select(.key | test("^(rx|drop)_")).value] | add))'
}

func_begin
net_begin_relayed --seed 7 --late 300000 --late-us 300 --double 20000
fragments_config config.json reassemble
peer_start "$PEER_PY" multicast_rounds "$PEER_IP" 239.1.2.3 5000 6000 "$ROUNDS" "$SIZE" >rounds.json
wait_for 60 listens 6000
app_start config.json
wait "$peer_pid" || true
app_stop TERM
relay_stop
check_json "$COUNT datagrams in three fragments each arrive by TCP, byte for byte" rounds.json ".same == $ROUNDS"
check_json "each datagram was reassembled" run.json \
	".net[0] | .frag_reassembled == $COUNT and .frag_no_port + .frag_bad_udp + .frag_refused == 0"
check_json "the wire reordered and duplicated fragments" relay.json ".from_$RELAY_PEER_IF | .reordered > 20 and .doubled > 0"
check_json "duplicates have no effect" run.json '.net[0] | .drop_frag_duplicate_pkts + .frag_datagrams - .frag_reassembled > 0'
check_json "the echo lost nothing" run.json ".echo | .received_msgs == $COUNT and .echoed_msgs == $COUNT"
check_equal "the recording contains the fragments as received" \
	"$(tshark -r lan.pcapng -o ip.defragment:false -Y 'ip.dst == 239.1.2.3' 2>/dev/null | wc -l)" \
	"$(jq '.net[0] | .rx_frag_pkts + .drop_frag_duplicate_pkts' run.json)"
each_frame_is_counted_once

relay_start
fragments_config config.json count
app_start config.json
in_peer timeout 60 "$PEER_PY" multicast "$PEER_IP" 239.1.2.3 5000 10 "$SIZE" >sent.json || true
check "without reassembly fragments are only counted" wait_for 60 counted_fragments 30
app_stop TERM
check_json "no datagram was reassembled" run.json '.net[0] | .frag_datagrams == 0 and .rx_frag_pkts == 0'
each_frame_is_counted_once
