#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Frames dropped by a card are in its counters: its packet buffer fills while a stalled bus returns no descriptors.
set -euo pipefail
source "$(dirname "$0")/lib/ixgbe.sh"

FRAME_BYTES=1000 BUFFER_BYTES=$((512 << 10))
DESCRIPTORS=1023 # of a ring of 1024

ixgbe_begin "what a card loses is counted"
card "$CARD" 10f7 none
"$func_root/tests/lib/make_pcap.py" in.pcap 1 "$FRAME_BYTES"
card_config card.json ', "rx_descriptors": 1024' "$RECORD"

app_start card.json
ask hold "$CARD" 1 >/dev/null
flood "$CARD" in.pcap 2000
held=$((BUFFER_BYTES / FRAME_BYTES))
ask hold "$CARD" 0 >/dev/null
check "what descriptors and the packet buffer hold is received" wait_for 60 received $((DESCRIPTORS + held))
inject "$CARD" in.pcap 5
check "and what comes later, too" wait_for 60 received $((DESCRIPTORS + held + 5))
app_stop INT
check_equal "the run ends well although frames were lost" "$APP_STATUS" 0
check_json "every frame that the buffer had no room for is counted as the card's loss" run.json \
	".ledger_ok and (.lossless | not) and .port.drop_nic_pkts == 2000 - $((DESCRIPTORS + held)) and
	.port.rx_pkts == $((DESCRIPTORS + held + 5)) and .port.hw_seen_pkts == 2005"
check_equal "all that was received is recorded" "$(count_frames out.pcapng)" $((DESCRIPTORS + held + 5))

echo 3000 >"host/sys/bus/pci/devices/$CARD/early"
rm out.pcapng
app_start card.json
held=$((BUFFER_BYTES / 1000))
check "what a card had before anybody polled is received" wait_for 60 received $((DESCRIPTORS + held))
app_stop INT
check_json "what it lost before belongs to nobody" run.json ".ledger_ok and .lossless and .port.verified and
	.port.drop_nic_pkts == 0 and .port.hw_seen_pkts == $((DESCRIPTORS + held))"

# The frames are injected one by one, so that a busy host loses none.
rm "host/sys/bus/pci/devices/$CARD/early" out.pcapng
app_start card.json
(while inject "$CARD" in.pcap 1000 2>/dev/null; do :; done) &
wait_for 60 received 100 || true
app_stop INT
check_json "a run that ends while frames go on coming has an exact account" run.json \
	'.ledger_ok and .lossless and .port.verified and .port.hw_seen_pkts >= 100'
