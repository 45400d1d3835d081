#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Guest part of run.sh steer: flow rules on net_tap and igb, and tunnels of the guest's kernel. Configurations and frames
# are in /out; run.sh checks the results there. TAPLINE and ROOT are in the environment.
set -euo pipefail
source "$ROOT/tests/vm/guest_lib.sh"
TL_BUILD=${TAPLINE%/app/tapline}
source "$ROOT/tests/lib/func.sh"
source "$ROOT/tests/lib/overlay.sh"

# begin NAME: start Tapline with the configuration of this name, and wait until it receives.
begin() {
	"$TAPLINE" run "/out/$1.conf" --json >"/out/$1.json" 2>"/out/$1.log" </dev/null &
	tapline_pid=$!
	wait_for 120 received "$1" 0 || true
}

# received NAME N: tell whether Tapline's line of each second has come to N frames, or its process has ended.
received() {
	local last
	last=$(sed -n 's/.* s  received \([0-9]*\) .*/\1/p' "/out/$1.log" | tail -n 1)
	((${last:--1} >= $2)) || is_gone "$tapline_pid"
}

# finish NAME N: wait for N frames, and stop Tapline.
finish() {
	wait_for 60 received "$1" "$2" || true
	kill -s TERM "$tapline_pid" || true
	ended "$1"
	cp "$1.pcapng" /out/
}

send() {
	"$ROOT/tests/lib/send_pcap.py" "$@"
}

# Install rules on a tap, and send frames out of it.
on_tap() {
	begin tap
	tc filter show dev dtap0 parent 1: >/out/tap.filters
	send dtap0 /out/tap.pcap 500 qdisc >/out/tap.sent
	finish tap "$(cat /out/tap.wanted)"
	try tap.gone ip link show dtap0
}

# Install rules on a tap and on an interface of the kernel, whose other end is in a namespace. Kill the first process, and
# end the second one.
on_remote() {
	netns_create far
	ip link add near0 type veth peer name far0 netns far
	ip address add 10.66.0.1/24 dev near0
	ip link set near0 up
	ip -netns far address add 10.66.0.2/24 dev far0
	ip -netns far link set far0 up
	begin killed
	tc filter show dev near0 ingress >/out/killed.filters
	kill -s KILL "$tapline_pid"
	ended killed
	try killed.ping ip netns exec far ping -c 2 -W 2 10.66.0.1
	begin remote
	tc filter show dev near0 ingress >/out/remote.filters
	ip netns exec far "$ROOT/tests/lib/send_pcap.py" far0 /out/tap.pcap 500 >/out/remote.sent
	finish remote "$(cat /out/tap.wanted)"
	tc filter show dev near0 ingress >/out/remote.after
	try remote.ping ip netns exec far ping -c 2 -W 5 10.66.0.1
	ip link delete near0
}

on_igb() {
	memory_begin
	bind_vfio "$NIC"
	peer_begin
	try explained "$TAPLINE" run --explain /out/igb.conf
	try nine "$TAPLINE" run /out/nine.conf
	begin igb
	send "$peer_if" /out/igb.pcap 500 >/out/igb.sent
	finish igb "$(cat /out/igb.sent)"
}

tunnels() {
	local kind
	for kind in vxlan geneve gre gretap; do
		net_begin
		overlay_record "$kind"
		netns_delete "$APP_NS" "$PEER_NS"
		cp "$kind".* /out/
	done
}

cd "$(mktemp -d)"
try conflict "$TAPLINE" run /out/conflict.conf
on_tap
on_remote
on_igb
tunnels
