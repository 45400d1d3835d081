#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two appliances on one host, on one interface, with the same names: each has its own sockets, memory and group of AF_PACKET
# sockets, and neither notices how the other begins and ends.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

FLOWS=40
declare -A pids

# start NAME: start the appliance of NAME.conf, and wait until it is up.
start() {
	ip netns exec "$APP_NS" "$TAPLINE" run "$1.conf" --json >"$1.json" 2>"$1.log" </dev/null &
	pids[$1]=$!
	wait_for 60 answers_or_is_gone "$1" || true
	! is_gone "${pids[$1]}" || func_die "$1 did not start"
}

answers_or_is_gone() {
	status_has "$1" true || is_gone "${pids[$1]}"
}

# status_has NAME FILTER
status_has() {
	[[ $("$TAPLINE" status --json --socket "$1.sock" 2>/dev/null | jq "$2") == true ]]
}

# stop NAME SIGNAL: stop the appliance; APP_STATUS is its exit status.
stop() {
	APP_STATUS=0
	stop_process "${pids[$1]}" "$2" 60 2>/dev/null || APP_STATUS=$?
}

# answered: exchange a datagram from each of many ports.
answered() {
	in_peer timeout 120 "$PEER_PY" udp_flows "$APP_IP" 7 $FLOWS >flows.json && jq -e ".flows == $FLOWS" flows.json
}

# flows_in FILE: print the number of an exchange's flows that are in a recording, and of the queues that have some.
flows_in() {
	local fields=(-Y 'udp.dstport == 7' -T fields)
	echo "$(tshark -r "$1" "${fields[@]}" -e udp.payload 2>/dev/null | sort -u | wc -l)" \
		"$(tshark -r "$1" "${fields[@]}" -e frame.interface_id 2>/dev/null | sort -u | wc -l)"
}

func_begin
net_begin
for name in one two; do
	APP_PORT_KEYS="\"ip\": \"$APP_IP/24\", \"rx_queues\": 2"
	[[ $name == one ]] && echoes='"echo": [{"port": "lan", "udp_listen": 7}]' || echoes='"echo": []'
	app_config all.conf "$echoes" "\"capture\": [{\"port\": \"lan\", \"path\": \"$name.pcapng\"}]"
	jq --arg name "$name" '.control.socket = $name + ".sock" | .eal.memory_mb = 512' all.conf >"$name.conf"
done

start one
start two
check "each of two appliances answers on its own socket" wait_for 60 status_has one '.echoes | length == 1'
check "and neither on the other's" wait_for 60 status_has two '.echoes | length == 0'
check "the echo of one answers beside the other" answered
check "the other records the same frames" wait_for 60 status_has two ".captures[0].rx.offered_pkts >= $FLOWS"
check_equal "a second one on the same socket fails" \
	"$(in_app timeout 20 "$TAPLINE" run two.conf >third.txt 2>third.log </dev/null && echo 0 || echo $?)" 1

stop two KILL
check "when the other is killed, the echo still answers" answered
start two
check "and the other starts again beside it" answered
stop one TERM
check_equal "the one ends with status 0" "$APP_STATUS" 0
check "and the other still runs" wait_for 60 status_has two ".ledger_ok and .captures[0].rx.offered_pkts >= $FLOWS"
stop two TERM
check_equal "until it ends, too" "$APP_STATUS" 0
check_json "the ledger of the one holds" one.json '.ledger_ok and .lossless and .port.verified'
check_json "and that of the other" two.json '.ledger_ok and .lossless and .port.verified'
for name in one two; do
	check_equal "the file of $name has each flow, on one of two queues: the kernel gives every frame to both processes" \
		"$(flows_in $name.pcapng)" "$FLOWS 2"
done
