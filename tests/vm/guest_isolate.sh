#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Guest part of run.sh isolate: a net_tap beside one end of a veth pair, whose other end is the peer's. Kernel and Tapline share the end
# with an address each. run.sh checks the files in /out. TAPLINE and ROOT are in the environment.
set -euo pipefail
source "$ROOT/tests/vm/guest_lib.sh"

OWN_IP=10.99.0.1 OWN_IP6=fd00:99::1       # Tapline's
KERNEL_IP=10.99.0.9 KERNEL_IP6=fd00:99::9 # on the same interface
PEER_IP6=fd00:99::2

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
	ip link set v0 up
	peer ip link set v1 up
	ip address add "$KERNEL_IP/24" dev v0
	ip address add "$KERNEL_IP6/64" dev v0 nodad
	peer ip address add "$PEER_IP/24" dev v1
	peer ip address add "$PEER_IP6/64" dev v1 nodad
}

# traces: everything that a run may leave on the interface.
traces() {
	tc qdisc show dev v0
	tc filter show dev v0 ingress 2>&1 || true
	ip -o link show v0 | sed 's/ mtu.*//'
	ip maddress show dev v0 | grep -o 01:00:5e:01:01:01 || true
	ip -o link show | grep -o tap7 || true
}

# pings NAME: the peer resolves and reaches both addresses of both families. Addresses without an answer go to /out/NAME.
pings() {
	local address
	peer ip neighbour flush dev v1
	for address in "$KERNEL_IP" "$OWN_IP" "$KERNEL_IP6" "$OWN_IP6"; do
		peer ping -c 3 -W 5 "$address" >>"/out/$1.log" 2>&1 || echo "$address"
	done >"/out/$1"
}

# run_begin NAME: start the configuration in the background.
run_begin() {
	"$TAPLINE" run config.json --json >"/out/$1.json" 2>"/out/$1.log" &
	tapline_pid=$!
	wait_for 60 status_has true || is_gone "$tapline_pid"
}

echoes() {
	local address
	for address in "$OWN_IP" "$OWN_IP6"; do
		peer "$ROOT/tests/lib/peer.py" udp_sizes "$address" 7 16 500 1400 >>/out/udp.json || true
		peer "$ROOT/tests/lib/peer.py" echo_bytes "$address" 7 100000 >>/out/tcp.json || true
	done
}

cd "$(mktemp -d)"
memory_begin
wire_begin
cat >config.json <<-END
	{"ports": [{"name": "lan", "device": "vdev:net_tap0,iface=tap7,remote=v0", "isolate": true, "rx_queues": 2,
		"ip": "$OWN_IP/24", "ip6": "$OWN_IP6/64"}],
	"eal": {"memory_mb": 256},
	"echo": [
		{"port": "lan", "queue": 1, "receive": {"group": "239.1.1.1", "udp_port": 5001},
			"send": {"tcp_connect": "$PEER_IP:6000"}},
		{"port": "lan", "queue": 0, "tcp_listen": 7},
		{"port": "lan", "queue": 0, "udp_listen": 7}],
	"capture": [{"port": "lan", "path": "isolate.pcapng", "buffer_bytes": "16M", "direction": "rx"}],
	"control": {"socket": "control.sock"}}
END
traces >/out/before
try explain "$TAPLINE" run --explain config.json
sed "s/$OWN_IP\\//$KERNEL_IP\\//" config.json >taken.json
try taken "$TAPLINE" run taken.json
try doctor "$TAPLINE" doctor -c taken.json --json

peer "$ROOT/tests/lib/peer.py" multicast_rounds "$PEER_IP" 239.1.1.1 5001 6000 10 100 >/out/groups.json 2>/out/groups.log &
rounds_pid=$!
run_begin isolate
traces >/out/during
wait "$rounds_pid" || true
pings both
echoes
kill -s TERM "$tapline_pid"
ended isolate
cp isolate.pcapng /out/
traces >/out/after

# A killed process leaves its rules, which stop only frames to the port's own addresses; the next start removes them.
run_begin killed
kill -s KILL "$tapline_pid"
ended killed
pings alone
run_begin again
pings again
kill -s TERM "$tapline_pid"
ended again
traces >/out/after_all
