#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Overrun of a port without polls: the ledger has the exact loss, equal to the kernel's count.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

frames=50000 frame_bytes=1514 # more than the 64 MiB of the port's ring

arrived() {
	in_app cat "/sys/class/net/$APP_IF/statistics/rx_packets"
}

# The appliance is stopped, not slow: the sum does not depend on how much of the burst its socket keeps.
overrun() {
	kill -STOP "$app_pid"
	in_peer "$PEER_PY" blast "$PEER_IF" "$frames" "$(in_app cat "/sys/class/net/$APP_IF/address")" "$frame_bytes" >/dev/null
	kill -CONT "$app_pid"
}

func_begin
net_begin
app_config config.json '"capture": [{"port": "lan", "path": "overrun.pcapng", "direction": "rx"}]'
app_start config.json
before=$(arrived)
overrun
app_stop TERM
seen=$(($(arrived) - before))

check_equal "SIGTERM ends the run with status 0 despite counted loss" "$APP_STATUS" 0
check_equal "the interface received the whole burst" "$((seen >= frames && seen < frames + 100))" 1
check_json "the lost frames are reported by the port" run.json '.port.drop_nic_pkts > 0 and (.lossless | not)'
check_json "the count of arrived frames equals the kernel's" run.json '.port.verified'
check_json "the count equals that of the interface exactly" run.json ".port.hw_seen_pkts - $seen | . >= 0 and . <= $before"
check_json "seen = received + lost" run.json \
	'.port | .hw_seen_pkts == .rx_pkts + .drop_nic_pkts + .drop_nombuf_pkts + .drop_error_pkts'
check_json "the ledger is consistent" run.json '.ledger_ok'
check_equal "the file has every received frame" \
	"$(tshark -r overrun.pcapng 2>/dev/null | wc -l)" "$(jq .port.rx_pkts run.json)"

# Above, without --fail-on-loss; here, with it, loss is a failure.
app_start config.json --fail-on-loss
overrun
app_stop TERM
check_equal "with --fail-on-loss the run ends with status 1" "$APP_STATUS" 1
