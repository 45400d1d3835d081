#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Guest part of run.sh qdisc: class trees beside the kernel's disciplines, then echoes with delays beside netem. run.sh checks the
# files in /out. TAPLINE and ROOT are in the environment.
set -euo pipefail
source "$ROOT/tests/vm/guest_lib.sh"

declare -A ports=([uniform]=7 [normal]=8 [pareto]=9)

# peer COMMAND...: in the peer's network namespace.
peer() {
	nsenter -t "$peer_ns" -n "$@"
}

peer_is_apart() {
	[[ $(readlink /proc/self/ns/net) != "$(readlink "/proc/$peer_ns/ns/net")" ]]
}

wire_begin() {
	unshare -n sleep infinity &
	peer_ns=$!
	wait_for 60 peer_is_apart
	ip link add v0 type veth peer name v1
	ip link set v1 netns "$peer_ns"
	peer ethtool -K v1 tx off >/dev/null # complete checksums
	ip link set v0 up
	peer ip link set v1 up
	peer ip address add "$PEER_IP/24" dev v1
}

# measure NAME PORT: round trips of each distribution.
measure() {
	peer "$ROOT/tests/lib/peer.py" round_trips "$NIC_IP" "$2" 1000 10 >"/out/$1.json"
}

own_delays() {
	local name
	cat >config.json <<-END
		{"ports": [{"name": "lan", "device": "v0", "ip": "$NIC_IP/24"}], "eal": {"memory_mb": 256},
		"echo": [
			{"port": "lan", "udp_listen": 7, "delay": "100ms +- 25ms"},
			{"port": "lan", "udp_listen": 8, "delay": "100ms +- 25ms normal"},
			{"port": "lan", "udp_listen": 9, "delay": "100ms +- 25ms pareto"}],
		"control": {"socket": "control.sock"}}
	END
	"$TAPLINE" run config.json --json >/out/own.json 2>/out/own.log &
	tapline_pid=$!
	wait_for 60 status_has true || is_gone "$tapline_pid"
	for name in "${!ports[@]}"; do
		measure "own-$name" "${ports[$name]}"
	done
	kill -s TERM "$tapline_pid"
	ended own
}

netem_delays() {
	local name
	local -a law
	ip address add "$NIC_IP/24" dev v0
	"$ROOT/tests/lib/peer.py" echo_datagrams "$NIC_IP" 7 &
	for name in "${!ports[@]}"; do
		law=(distribution "$name")
		[[ $name != uniform ]] || law=()
		tc qdisc add dev v0 root netem limit 10000 delay 100ms 25ms "${law[@]}"
		measure "netem-$name" 7
		tc qdisc del dev v0 root # a change keeps the distribution
	done
	kill %?echo_datagrams
}

cd "$(mktemp -d)"
TL_BUILD=$(dirname "$TAPLINE")/.. "$ROOT/tests/bench/qdisc.py" --scale 0.1 --svg /out/qdisc.svg >/out/qdisc.json 2>/out/qdisc.log || echo "status $?" >>/out/qdisc.log
memory_begin
wire_begin
own_delays
netem_delays
