#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Controllers of the family: each is probed, records, echoes and ends; differences of their counters do not appear as
# loss.
set -euo pipefail
source "$(dirname "$0")/lib/ixgbe.sh"

# on_controller DEVICE NAME
on_controller() {
	rm -rf host out.pcapng
	card "$CARD" "$1" "tap tap0"
	app_start card.json
	check "the $2 answers the kernel's ping" wait_for 60 answers_ping
	inject "$CARD" sums.pcap
	check "the $2 delivers frames with wrong checksums" wait_for 60 status_is '.port.rx_pkts >= 20'
	app_stop INT
	check_equal "the run on the $2 ends well" "$APP_STATUS" 0
	check_json "the ledger of the $2 holds, and nothing is lost" run.json '.ledger_ok and .lossless'
}

ixgbe_begin "each controller of the family is used"
tap_begin
card_config card.json ", \"ip\": \"$APP_IP/24\"" '"echo": [{"port": "lan", "udp_listen": 7}]' "$RECORD"
"$func_root/tests/ixgbe/lib/odd_frames.py" sums sums.pcap
on_controller 10f7 "82599 with KX4"
on_controller 10fb "82599 with SFP+"
on_controller 1528 X540
on_controller 1563 X550
