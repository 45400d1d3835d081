#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Guest part of run.sh smoke: Tapline on one emulated NIC, the kernel on the other. run.sh checks the files in /out. TAPLINE and ROOT are in the environment.
set -euo pipefail
source "$ROOT/tests/vm/guest_lib.sh"

# capture NAME [OPTION...]: record in the background; return when it receives.
capture() {
	local name=$1
	shift
	timeout 240 "$TAPLINE" capture -i "$NIC" --json "$@" >"/out/$name.json" 2>"/out/$name.log" &
	tapline_pid=$!
	wait_for 120 receives "/out/$name.log"
}

# receives LOG: check whether the Tapline with this log receives.
receives() {
	grep -q ' s  received' "$1" 2>/dev/null
}

all_frames() {
	capture frames -w frames.pcapng --count 2000
	"$ROOT/tests/lib/send_pcap.py" "$peer_if" /out/in.pcap 1000 >/out/sent
	ended frames
	cp frames.pcapng /out/
}

two_queues() {
	local port
	capture queues -w queues.pcapng --queues 2 --count 200 udp and src host "$PEER_IP"
	ip neighbour replace "$NIC_IP" lladdr 02:00:00:00:00:01 dev "$peer_if"
	for port in $(seq 5001 5200); do
		echo "flow $port" >"/dev/udp/$NIC_IP/$port"
	done
	ended queues
	ip neighbour delete "$NIC_IP" dev "$peer_if"
	cp queues.pcapng /out/
}

echo_all() {
	cat >config.json <<-END
		{"ports": [{"name": "lan", "device": "$NIC", "ip": "$NIC_IP/24"}],
		"eal": {"memory_mb": 256},
		"echo": [{"port": "lan", "udp_listen": 7}, {"port": "lan", "tcp_listen": 7}],
		"capture": [{"port": "lan", "path": "echo.pcapng", "buffer_bytes": "16M"}],
		"control": {"socket": "control.sock"}}
	END
	"$TAPLINE" run config.json --json >/out/echo.json 2>/out/echo.log &
	tapline_pid=$!
	wait_for 120 "$TAPLINE" status --socket control.sock >/out/status.log 2>&1
	ping -c 20 -i 0.05 -W 2 "$NIC_IP" >/out/ping.log || true
	"$ROOT/tests/lib/peer.py" udp_sizes "$NIC_IP" 7 0 1 16 100 1000 1472 >/out/udp.json || true
	"$ROOT/tests/lib/peer.py" echo_bytes "$NIC_IP" 7 200000 >/out/tcp.json || true
	kill -s TERM "$tapline_pid"
	ended echo
	cp echo.pcapng /out/
}

# Sent frames are not recorded: the NIC computes their checksums, and the kernel verifies them.
echo_by_nic() {
	jq 'del(.capture)' config.json >by_nic.json
	"$TAPLINE" run by_nic.json --json >/out/by_nic.json 2>/out/by_nic.log &
	tapline_pid=$!
	wait_for 120 "$TAPLINE" status --socket control.sock >/out/status.log 2>&1
	"$ROOT/tests/lib/peer.py" udp_sizes "$NIC_IP" 7 16 120 121 500 1001 1472 >/out/by_nic_udp.json || true
	"$ROOT/tests/lib/peer.py" echo_bytes "$NIC_IP" 7 200000 >/out/by_nic_tcp.json || true
	kill -s TERM "$tapline_pid"
	ended by_nic
}

# Each lcore connects ten times to a different port: the NIC's RSS decides the local ports.
echo_on_queues() {
	local feed
	cat >config.json <<-END
		{"ports": [{"name": "lan", "device": "$NIC", "ip": "$NIC_IP/24", "rx_queues": 2}],
		"eal": {"memory_mb": 256},
		"echo": [
			{"port": "lan", "queue": 0, "reconnect_max_ms": 100, "receive": {"group": "239.1.1.1", "udp_port": 5001},
				"send": {"tcp_connect": "$PEER_IP:6000"}},
			{"port": "lan", "queue": 1, "reconnect_max_ms": 100, "receive": {"group": "239.1.1.2", "udp_port": 5001},
				"send": {"tcp_connect": "$PEER_IP:6001"}},
			{"port": "lan", "queue": 1, "tcp_listen": 7}],
		"capture": [{"port": "lan", "path": "steer.pcapng", "buffer_bytes": "16M"}],
		"control": {"socket": "control.sock"}}
	END
	for feed in 0 1; do
		"$ROOT/tests/lib/peer.py" accept_many "$PEER_IP" "600$feed" 10 >"/out/accept$feed.json" &
		peer_pid[feed]=$!
	done
	"$TAPLINE" run config.json --json >/out/steer.json 2>/out/steer.log &
	tapline_pid=$!
	for feed in 0 1; do
		wait "${peer_pid[feed]}" || true
	done
	"$ROOT/tests/lib/peer.py" echo_bytes "$NIC_IP" 7 100000 >/out/steer_tcp.json || true
	kill -s TERM "$tapline_pid"
	ended steer
	cp steer.pcapng /out/
}

# Market data of two groups to two lcores. The NIC filters: it is not promiscuous, and does not receive a third group.
echo_groups() {
	local feed
	jq '.ports[0].promisc = false | del(.echo[2]) | .capture[0].path = "groups.pcapng"' config.json >groups.json
	for feed in 0 1; do
		"$ROOT/tests/lib/peer.py" multicast_rounds "$PEER_IP" "239.1.1.$((feed + 1))" 5001 "600$feed" 10 100 \
			>"/out/groups$feed.json" &
		peer_pid[feed]=$!
	done
	"$TAPLINE" run groups.json --json >/out/groups.json 2>/out/groups.log &
	tapline_pid=$!
	for feed in 0 1; do
		wait "${peer_pid[feed]}" || true
	done
	"$ROOT/tests/lib/peer.py" multicast "$PEER_IP" 239.200.3.7 5001 20 64 >/out/groups_other.json
	ping -c 1 -W 5 "$NIC_IP" >/out/groups_ping.log || true
	kill -s TERM "$tapline_pid"
	ended groups
	cp groups.pcapng /out/
}

# The client on the other NIC, through vfio-pci too: the kernel is not in the path.
client_on_port() {
	jq 'del(.echo[1]) | .capture[0].path = "pair.pcapng"' groups.json >pair.json
	"$TAPLINE" bind "$PEER" >&2
	"$TAPLINE" run pair.json --json >/out/pair.json 2>/out/pair.log &
	tapline_pid=$!
	wait_for 120 "$TAPLINE" status --socket control.sock >/out/status.log 2>&1
	timeout 240 "$TAPLINE" client --port "$PEER" --ip "$PEER_IP/24" --group 239.1.1.1 --udp-port 5001 \
		--tcp-listen "$PEER_IP:6000" --rate 100 --seconds 1 --connect-timeout 120 --linger 10 --json \
		>/out/client.json 2>/out/client.log || true
	kill -s TERM "$tapline_pid"
	ended pair
	cp pair.pcapng /out/
}

# The peer's NIC returns to the kernel, with one virtual function.
virtual_function() {
	"$TAPLINE" unbind "$PEER" >&2
	wait_for 60 test -d "/sys/bus/pci/devices/$PEER/net" || return 0
	peer_if=$(ls "/sys/bus/pci/devices/$PEER/net")
	echo 1 >"/sys/bus/pci/devices/$PEER/sriov_numvfs" || return 0
	echo "$(basename "$(readlink "/sys/bus/pci/devices/$PEER/virtfn0")"): is virtual function 0 of $peer_if" >/out/vf
	"$TAPLINE" doctor --json >/out/vf_untrusted.json || true
	ip link set "$peer_if" vf 0 trust on
	"$TAPLINE" doctor --json >/out/vf_trusted.json || true
}

two_nics_begin
all_frames
two_queues
echo_all
echo_by_nic
echo_on_queues
echo_groups
client_on_port
virtual_function
