#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Guest part of run.sh cards: an echo and its recording on each card other than igb. run.sh checks the files in /out. TAPLINE and ROOT are in the environment.
set -euo pipefail
source "$ROOT/tests/vm/guest_lib.sh"

# echo_on NAME BDF: run an echo on the card.
echo_on() {
	local name=$1
	"$TAPLINE" bind "$2" >&2
	cat >config.json <<-END
		{"ports": [{"name": "lan", "device": "$2", "ip": "$NIC_IP/24"}],
		"eal": {"memory_mb": 256},
		"echo": [{"port": "lan", "udp_listen": 7}, {"port": "lan", "tcp_listen": 7},
			{"port": "lan", "receive": {"group": "239.1.1.1", "udp_port": 5001}, "send": {"tcp_connect": "$PEER_IP:6000"}}],
		"capture": [{"port": "lan", "path": "$name.pcapng", "buffer_bytes": "16M"}],
		"control": {"socket": "control.sock"}}
	END
	"$ROOT/tests/lib/peer.py" multicast_rounds "$PEER_IP" 239.1.1.1 5001 6000 10 100 >"/out/$name.groups.json" &
	peer_pid=$!
	"$TAPLINE" run config.json --json >"/out/$name.json" 2>"/out/$name.log" &
	tapline_pid=$!
	wait "$peer_pid" || true
	"$ROOT/tests/lib/peer.py" udp_sizes "$NIC_IP" 7 0 1 16 100 1000 1472 >"/out/$name.udp.json" || true
	"$ROOT/tests/lib/peer.py" echo_bytes "$NIC_IP" 7 100000 >"/out/$name.tcp.json" || true
	kill -s TERM "$tapline_pid"
	ended "$name"
	cp "$name.pcapng" /out/
	ip neighbour flush dev "$peer_if" # the next card has the same address
}

cd "$(mktemp -d)"
memory_begin
peer_begin
echo_on virtio 0000:00:05.0
echo_on vmxnet3 0000:00:06.0
