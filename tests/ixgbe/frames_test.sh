#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Frames that a NIC may truncate, change, drop or mark: a recording equals the wire, and missing frames are counted.
set -euo pipefail
source "$(dirname "$0")/lib/ixgbe.sh"

ODD_PY=$func_root/tests/ixgbe/lib/odd_frames.py

# record FILE N PORT_KEYS: record until N of its frames are received, to out.pcapng and run.json.
record() {
	card_config card.json "$3" "$RECORD"
	rm -f out.pcapng
	app_start card.json
	inject "$CARD" "$1"
	wait_for 60 received "$2" || true
	app_stop INT
}

ixgbe_begin "odd frames of a card are recorded or counted"
card "$CARD" 10f7 none
for kind in tagged jumbo oversize sums; do
	"$ODD_PY" "$kind" "$kind.pcap"
done

record tagged.pcap 40 ""
check "VLAN tags, one or two, stand in the recording" same_frames tagged.pcap out.pcapng
check_json "and none of these frames is lost" run.json '.ledger_ok and .lossless and .port.rx_pkts == 40'

record jumbo.pcap 8 ', "mtu": 9000'
check "frames of up to 9014 bytes are recorded whole where the MTU is 9000" same_frames jumbo.pcap out.pcapng
check_json "and none of them is lost" run.json '.ledger_ok and .lossless and .port.rx_pkts == 8'

record oversize.pcap 8 ""
check_json "frames too long for a buffer are counted as errors of the port" run.json \
	'.ledger_ok and .port.verified and .port.rx_pkts == 8 and .port.drop_error_pkts == 2 and (.lossless | not)'

mkdir -p "host/sys/bus/pci/devices/$CARD/net/eth9" # like that of mlx5
echo 9000 >"host/sys/bus/pci/devices/$CARD/net/eth9/mtu"
record sums.pcap 20 ""
check "the MTU of the kernel's interface of a card is set back at the end" grep -q 'the interface eth9 has its MTU of 9000 again' run.log
check "frames with wrong checksums are recorded as they came" same_frames sums.pcap out.pcapng
check_json "and are no loss" run.json '.ledger_ok and .lossless and .port.rx_pkts == 20'
