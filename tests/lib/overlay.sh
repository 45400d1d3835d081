# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034,SC2154
# Overlay frames of the kernel: two namespaces talk through a tunnel, and the appliance records their link on two queues
# by inner flow. overlay_record and overlay_judge may run on different machines. Sourced after func.sh.

OVERLAY_FLOWS=60
OVERLAY_APP=10.77.0.1 OVERLAY_PEER=10.77.0.2 # ends of the tunnel
OVERLAY_OUTER_APP=10.88.0.1 OVERLAY_OUTER_PEER=10.88.0.2

# overlay_add NS IF KIND OUTER OUTER_PEER INNER: add an end of a tunnel on the namespace's link.
overlay_add() {
	local options
	case $3 in
	vxlan) options=(id 42 dstport 4789 local "$4" remote "$5" dev "$2") ;;
	geneve) options=(id 42 remote "$5") ;;
	gre | gretap) options=(local "$4" remote "$5" dev "$2") ;;
	esac
	ip -netns "$1" address add "$4/24" dev "$2"
	ip -netns "$1" link add over0 type "$3" "${options[@]}"
	ip -netns "$1" address add "$6/24" dev over0
	ip -netns "$1" link set over0 up
}

# overlay_record KIND: record conversations between the namespaces of net_begin through a tunnel, and peel the recording.
# Files: KIND.pcapng, KIND.peeled.pcapng, the results KIND.json, the number of answered conversations KIND.flows.json.
overlay_record() {
	overlay_add "$APP_NS" "$APP_IF" "$1" "$OVERLAY_OUTER_APP" "$OVERLAY_OUTER_PEER" "$OVERLAY_APP"
	overlay_add "$PEER_NS" "$PEER_IF" "$1" "$OVERLAY_OUTER_PEER" "$OVERLAY_OUTER_APP" "$OVERLAY_PEER"
	ip netns exec "$APP_NS" "$PEER_PY" echo_datagrams "$OVERLAY_APP" 7 >answer.log 2>&1 &
	overlay_pid=$!
	APP_PORT_KEYS='"rx_queues": 2, "rss": "inner"'
	app_config config.json "\"capture\": [{\"port\": \"lan\", \"path\": \"$1.pcapng\"}]"
	jq '.eal.memory_mb = 512' config.json >two.json
	app_start two.json
	in_peer timeout 120 "$PEER_PY" udp_flows "$OVERLAY_APP" 7 "$OVERLAY_FLOWS" >"$1.flows.json" || true
	wait_for 60 status_is ".captures[0].offered_pkts >= 2 * $OVERLAY_FLOWS" || true
	app_stop INT
	stop_process "$overlay_pid" || true
	mv run.json "$1.json"
	timeout 60 "$TAPLINE" extract "$1.pcapng" -w "$1.peeled.pcapng" --decap >extract.log 2>&1 </dev/null
}

# overlay_inner FILE FIELD...: print fields of the conversations' packets, from tshark's last header.
overlay_inner() {
	local file=$1
	shift
	tshark -r "$file" -Y "udp.port == 7 && ip.addr == $OVERLAY_APP" -T fields -E occurrence=l "${@/#/-e}" 2>/dev/null
}

# overlay_torn FILE: count conversations, their directions, and the conversations with packets on several interfaces of
# the file, that is on several queues.
overlay_torn() {
	overlay_inner "$1" udp.srcport udp.dstport frame.interface_id | awk '
		{ flow = $1 == 7 ? $2 : $1; if (flow in at && at[flow] != $3) torn[flow] = 1; at[flow] = $3; ends[flow, $1 == 7] = 1 }
		END { print length(at), length(ends), length(torn) }'
}

# overlay_judge KIND: check the files of overlay_record against tshark.
overlay_judge() {
	local fields=(ip.src udp.srcport udp.payload)
	check_json "$1: $OVERLAY_FLOWS conversations through tunnels of the kernel are answered" "$1.flows.json" ".flows == $OVERLAY_FLOWS"
	check_json "$1: frames were handed over by inner flow, and none is missing" "$1.json" '.ledger_ok and .port.verified and
		.port.inner_handoff_pkts > 0 and .port.inner_handoff_pkts == .port.inner_taken_pkts + .port.inner_kept_pkts and
		.captures[0].written_pkts == .port.rx_pkts and all(.captures[0].queues[]; .rx.written_pkts + .tx.written_pkts > 0)'
	check_equal "$1: both directions of each conversation are on one queue" "$(overlay_torn "$1.pcapng")" \
		"$OVERLAY_FLOWS $((2 * OVERLAY_FLOWS)) 0"
	check_equal "$1: the peeled packets are those that tshark sees in the tunnel" "$(overlay_inner "$1.peeled.pcapng" "${fields[@]}")" \
		"$(overlay_inner "$1.pcapng" "${fields[@]}")"
	check_equal "$1: no peeled packet has a tunnel" "$(tshark -r "$1.peeled.pcapng" -Y 'vxlan || geneve || gre' 2>/dev/null | wc -l)" 0
}
