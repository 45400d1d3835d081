#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Other commands on a card: capture from the command line inside its sandbox, the client over a port, doctor, bind; and
# repeated use of a card.
set -euo pipefail
source "$(dirname "$0")/lib/ixgbe.sh"

# rounds N: captures of one frame, which arrives when the receiver is enabled, each from the probe to the end.
rounds() {
	local i
	for ((i = 1; i <= $1; i++)); do
		timeout 60 "$TAPLINE" capture -i "$CARD" -w "round.$i.pcapng" --count 1 --json >round.json 2>capture.log </dev/null || true
		if ! jq -e '.ledger_ok and .captures[0].written_pkts == 1' round.json >/dev/null; then
			echo "round $i: $(cat capture.log)"
			return 1
		fi
	done
}

# client FILE OPTION...
client() {
	local file=$1
	shift
	in_peer timeout 60 "$TAPLINE" client --port "$CARD" --ip "$APP_IP/24" --seconds 0.2 --json "$@" >"$file" 2>client.log
}

ixgbe_begin "each command takes a card"
card "$CARD" 10f7 "tap tap0"
tap_begin
echo 1 >"host/sys/bus/pci/devices/$CARD/early"
check "ten captures in a row find the card as new" rounds 10
rm "host/sys/bus/pci/devices/$CARD/early"

peer_start socat -T 30 UDP-RECVFROM:7,fork,bind="$PEER_IP" PIPE
check "the client sends from a card and receives the kernel's echoes" client client.json --udp-echo "$PEER_IP:7" --rate 200
check_json "each datagram of the client comes back or is counted" client.json \
	'.transport == "port" and .received > 0 and .ledger_ok and .port.unaccounted_pkts == 0'

mkdir -p host/sys/bus/pci/drivers/vfio-pci
card_config card.json ""
"$TAPLINE" doctor --root host -c card.json --json >doctor.json 2>doctor.log || true
check_json "doctor knows the card and what drives it" doctor.json \
	'[.checks[] | select(.id == "pci.driver" or .id == "dpdk.pmds").read] == ["0000:01:00.0: igb_uio", "0000:01:00.0: net_ixgbe"]'
"$TAPLINE" bind --root host --list >list.txt 2>&1 || true
check "bind lists the card with its driver" grep -q "$CARD.*igb_uio" list.txt

# dry_run FILE: print the planned steps of bind.
dry_run() {
	"$TAPLINE" bind --root host --dry-run "$CARD" >"$1" 2>&1
}

check_equal "bind --dry-run refuses a card that no IOMMU is in front of" "$(dry_run none.txt || echo $?) $(grep -c 'is not behind an IOMMU' none.txt)" "2 1"
group=host/sys/kernel/iommu_groups/7/devices
mkdir -p "$group"
ln -s ../../../../kernel/iommu_groups/7 "host/sys/bus/pci/devices/$CARD/iommu_group"
ln -s "../../../../bus/pci/devices/$CARD" "$group/$CARD"
check "behind one it says the steps from igb_uio to vfio-pci" dry_run steps.txt
check "the driver first, then the card" grep -q "echo vfio-pci > host/sys/bus/pci/devices/$CARD/driver_override" steps.txt
check_equal "and does none of them" "$(basename "$(readlink "host/sys/bus/pci/devices/$CARD/driver")")" igb_uio
