#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Clock of a card, whose increment depends on the link speed: it is started once, and again after a change of the speed.
set -euo pipefail
source "$(dirname "$0")/lib/ixgbe.sh"

TIMINCA=0x8C14 # 8.2.3.26: bits 31:24 the period, the rest the increment of SYSTIM

# stops N: check that the clock was stopped N times, which is the driver's first step to start it.
stops() {
	[[ $(ask state "$CARD") == *" clock_stops=$1" ]]
}

increment() {
	echo $(($(ask read "$CARD" $TIMINCA) & 0xFFFFFF))
}

ixgbe_begin "the clock of a card follows the speed of its link"
card "$CARD" 10f7 "tap tap0"
tap_begin
card_config card.json ", \"ip\": \"$APP_IP/24\", \"ptp_probes_per_s\": 0" '"echo": [{"port": "lan", "tcp_listen": 7}]'
app_start card.json
check "it is started once" stops 1
check_equal "by the increment of 10 Gb/s" "$(increment)" $((0x66666666 >> 7))
ask link "$CARD" 0 >/dev/null
check "a link that goes is noticed" wait_for 20 status_is '.port.link == "down"'
ask link "$CARD" 1000 >/dev/null
check "once the link is back at another speed it is started again" wait_for 20 stops 2
check_equal "by the increment of 1 Gb/s" "$(increment)" $((0x40000000 >> 7))
# Up to DPDK 24.07 a started clock begins at 0; later the driver sets it to CLOCK_REALTIME (ixgbe_ethdev.c:6973, v24.11).
dpdk=$("$TAPLINE" doctor --root host --json 2>/dev/null | jq -r '.checks[] | select(.id == "dpdk.version").read' || true)
if [[ $dpdk == *"runs with DPDK "2[23].* || $dpdk == *"runs with DPDK 24.0"* ]]; then
	check "and compared anew" wait_for 20 status_is '.port.ptp.clock_steps >= 1'
else
	check "and set to the host's time" wait_for 20 status_is '.port.ptp | .clock_steps == 0 and .bound_ns < 100000'
fi
ask link "$CARD" 0 >/dev/null
wait_for 20 status_is '.port.link == "down"' || true
ask link "$CARD" 1000 >/dev/null
check "a link that comes back at the same speed is noticed" wait_for 20 status_is '.port.link == "up"'
passes=$(app_status .uptime_ns)
wait_for 20 status_is ".uptime_ns > $passes + 2500000000" || true # two samples, one per second
check "and the clock is left alone" stops 2
app_stop INT
check_equal "the run ends well" "$APP_STATUS" 0
