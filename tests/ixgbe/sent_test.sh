#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Stamps of sent frames, with the driver of tools/build-dpdk.sh, in the build directory TL_BUILD_PTP (build-ptp). The
# controllers differ in their clocks.
set -euo pipefail
source "$(dirname "$0")/lib/ixgbe.sh"

TAPLINE=${TL_BUILD_PTP:-$func_root/build-ptp}/app/tapline
if [[ ! -x $TAPLINE ]]; then
	skip "stamps of sent frames" "no $TAPLINE (tools/build-dpdk.sh; meson setup -Ddpdk_prefix=... build-ptp)"
	exit 0
fi

# stamps DEVICE NAME
stamps() {
	rm -rf host
	card "$CARD" "$1" loop
	timeout 120 "$TAPLINE" doctor --self-test "$CARD" --json >"$1.json" 2>"$1.log" </dev/null || true
	check_json "the $2 stamps each received PTP frame and each sent one" "$1.json" \
		'[.checks[] | select(.id == "ptp_rx" or .id == "ptp_tx").figures | .stamped == .sent] == [true, true] and .fail == 0'
}

ixgbe_begin "a DPDK with IEEE 1588 stamps what a card sends"
stamps 10f7 82599
stamps 1528 X540
stamps 1563 X550

rm -rf host
card "$CARD" 10f7 "tap tap0"
tap_begin
card_config card.json ", \"ip\": \"$APP_IP/24\", \"ptp_probes_per_s\": 20" '"echo": [{"port": "lan", "udp_listen": 7}]'
app_start card.json
check "a running echo sends probes and reads the stamp of each" wait_for 60 status_is '.port.ptp.probes_stamped >= 10'
app_stop INT
check_json "no stamp is lost, and each is of the time when its probe left" run.json \
	'.ledger_ok and (.port.ptp | .stamps_sent and .probes_lost == 0 and .tx_to_wire_ns.source == "nic-tx")'
