#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Overlay frames of the kernel: two kernels talk through VXLAN devices, and the appliance records their link on two
# queues. Each inner conversation is on one queue, and `extract --decap` returns the frames sent into the tunnel, as
# tshark confirms.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

FLOWS=60 OUTER_APP=10.88.0.1 OUTER_PEER=10.88.0.2 INNER_APP=10.77.0.1 INNER_PEER=10.77.0.2

# vxlan NS IF OUTER INNER: an end point on the namespace's link.
vxlan() {
	ip -netns "$1" address add "$3/24" dev "$2"
	ip -netns "$1" link add vx0 type vxlan id 42 dstport 4789 local "$3" remote "$5" dev "$2"
	ip -netns "$1" address add "$4/24" dev vx0
	ip -netns "$1" link set vx0 up
}

# inner FILE FIELD...: print fields of the conversations' packets, from tshark's last header.
inner() {
	local file=$1
	shift
	tshark -r "$file" -Y "udp.port == 7 && ip.addr == $INNER_APP" -T fields -E occurrence=l "${@/#/-e}" 2>/dev/null
}

# torn: print conversations with packets on several interfaces of the file, that is on several queues.
torn() {
	inner all.pcapng udp.srcport udp.dstport frame.interface_id | awk '
		{ flow = $1 == 7 ? $2 : $1; if (flow in at && at[flow] != $3) torn[flow] = 1; at[flow] = $3 }
		END { print length(at), length(torn) }'
}

func_begin
net_begin
if ! ip -netns "$PEER_NS" link add probe0 type vxlan id 1 dstport 4789 2>probe.log; then
	skip "overlay frames of the kernel are recorded by inner flow" "this kernel has no VXLAN: $(<probe.log)"
	exit 0
fi
ip -netns "$PEER_NS" link delete probe0
vxlan "$APP_NS" "$APP_IF" "$OUTER_APP" "$INNER_APP" "$OUTER_PEER"
vxlan "$PEER_NS" "$PEER_IF" "$OUTER_PEER" "$INNER_PEER" "$OUTER_APP"
ip netns exec "$APP_NS" "$PEER_PY" echo_datagrams "$INNER_APP" 7 >answer.log 2>&1 &

APP_PORT_KEYS='"rx_queues": 2, "rss": "inner"'
app_config config.json '"capture": [{"port": "lan", "path": "all.pcapng"}]'
jq '.eal.memory_mb = 512' config.json >two.json
app_start two.json
check "$FLOWS conversations through VXLAN devices of the kernel are answered" \
	in_peer timeout 60 "$PEER_PY" udp_flows "$INNER_APP" 7 "$FLOWS"
wait_for 60 status_is ".captures[0].offered_pkts >= 2 * $FLOWS" || true
app_stop INT
check_json "frames were handed over by inner flow, and none is missing" run.json '.ledger_ok and .port.verified and
	.port.inner_handoff_pkts > 0 and .port.inner_handoff_pkts == .port.inner_taken_pkts + .port.inner_kept_pkts and
	.captures[0].written_pkts == .port.rx_pkts and all(.captures[0].queues[]; .rx.written_pkts + .tx.written_pkts > 0)'
check_equal "both directions of each conversation are on one queue" "$(torn)" "$FLOWS 0"
timeout 60 "$TAPLINE" extract all.pcapng -w peeled.pcapng --decap 2>extract.log </dev/null
check_equal "the peeled packets are those that tshark sees in the tunnel" \
	"$(inner peeled.pcapng ip.src udp.srcport udp.payload)" "$(inner all.pcapng ip.src udp.srcport udp.payload)"
check_equal "no peeled packet has a tunnel" "$(tshark -r peeled.pcapng -Y vxlan 2>/dev/null | wc -l)" 0
