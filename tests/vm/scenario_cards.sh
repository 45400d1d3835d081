# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# Scenario cards: checks on the host of an echo on cards other than igb. Sourced by run.sh.

# judge_card NAME DRIVER
judge_card() {
	check "$1: the table of the port names its driver" grep -Eq "^    driver +$2\$" "out/$1.log"
	check "what is known of its family is true of it" grep -qx " *as documented" "out/$1.log"
	check_json "market data comes back over TCP" "out/$1.groups.json" '.same == 10'
	check_json "UDP comes back unchanged" "out/$1.udp.json" '.sizes == 6 and .wrong == []'
	check_json "and 100000 bytes of TCP" "out/$1.tcp.json" '.same and .fin'
	check_equal "SIGTERM ends it with status 0" "$(cat "out/$1.status")" 0
	check_json "its ledger holds, and nothing was lost" "out/$1.json" '.ledger_ok and .lossless != false and
		.captures[0].written_pkts == .captures[0].offered_pkts'
	check_equal "all that was received and sent is in the file" "$(capinfos -Trc "out/$1.pcapng" | cut -f 2)" \
		"$(jq '.port.rx_pkts + .port.tx_pkts' "out/$1.json")"
}

cards() {
	vm_boot "$vm_dir/guest_cards.sh" "${nics[@]:4}" \
		-netdev hubport,id=n2,hubid=0 -device virtio-net-pci,netdev=n2,addr=5,disable-legacy=on,iommu_platform=on,romfile= \
		-netdev hubport,id=n3,hubid=0 -device vmxnet3,netdev=n3,addr=6,romfile=
	vm_end
	judge_card virtio net_virtio
	judge_card vmxnet3 net_vmxnet3
}
