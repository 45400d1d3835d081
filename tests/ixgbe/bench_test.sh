#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# tapline bench on a card: its rungs receive the frames that the other end of the wire sends, it sends to the kernel's
# rungs, and it echoes. The figures would be those of a model: only counts are checked.
set -euo pipefail
source "$(dirname "$0")/lib/ixgbe.sh"

RAN='.rungs | map(select(.refused == null))'

# ladder FILE OPTION...: run the ladder in the namespace of the card's wire.
ladder() {
	local file=$1
	shift
	in_peer timeout 120 "$TAPLINE" bench rx --seconds 0.01 --sizes 61 --json "$@" >"$file" 2>"$file.log"
}

ixgbe_begin "the ladders have rungs on a card"
card "$CARD" 10fb "tap tap0"
tap_begin

check "the ladder runs on a card" ladder card.json -i "$CARD" --peer tap0 --rungs recv,dpdk-nic,tapline,tapline-nic
check_json "a card's rungs receive every frame that was sent slowly, with all its bytes, and the driver's in order" card.json \
	"$RAN"' | map([.name, .check]) == [
	["dpdk-nic", {sent_pkts: 100, received_pkts: 100, received_bytes: 6100, in_order: true}],
	["tapline-nic", {sent_pkts: 100, received_pkts: 100, received_bytes: 6100, in_order: true}]]'
check_json "the result names card, driver and sender" card.json \
	'.host | .interface == "'"$CARD"'" and .driver == "net_ixgbe" and .sender == "tap0" and .own_traffic'
check_json "the kernel's rungs are refused on a card" card.json \
	'.rungs | map(select(.refused != null).name) == ["recv", "tapline"] and all(.refused == null or (.refused | test("DPDK driver")))'

echo lose >"host/sys/bus/pci/devices/$CARD/flaws"
check "a card sends to a rung of the kernel, over a wire that loses a frame of each hundred" \
	ladder sent.json -i tap0 --peer "$CARD" --rungs ring-v3,dpdk-nic
check_json "the rung has all other frames, with all their bytes" sent.json "$RAN"' | map([.name, .check]) == [
	["ring-v3", {sent_pkts: 100, received_pkts: 99, received_bytes: (99 * 61), in_order: false}]]'
check_json "the lost frame is attributed to no counter" sent.json "$RAN"' | all(.lost_by.counter_pkts + .lost_by.sender_pkts == 0 and
	.lost_pkts == (.lost_by | .interface_pkts + .elsewhere_pkts))'
rm "host/sys/bus/pci/devices/$CARD/flaws"

ip -netns "$APP_NS" address flush dev tap0 # the client has that address
in_peer timeout 120 "$TAPLINE" bench echo --seconds 0.01 --sizes 16 --rungs tapline-nic -i "$CARD" --peer tap0 --json >echo.json \
	2>echo.log || true
check_json "the appliance on a card returns every message of a client on another port, over both protocols" echo.json \
	"$RAN"' | map([.protocol, .client]) == [["udp-tcp", "port"], ["tcp-tcp", "port"]] and
	all((.paced | .sent == 50 and .received == 50 and .corrupt + .duplicated + .reordered == 0) and
	(.bulk | .received + .lost == .sent and .corrupt + .duplicated + .reordered == 0)) and .[1].bulk.lost == 0'
check_json "the result names the card and the client's port" echo.json \
	'.host | .interface == "'"$CARD"'" and .peer == "tap0"'
