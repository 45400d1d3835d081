# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# Scenario deploy: checks on the host of a NIC from the kernel's driver to its unplugging. Sourced by run.sh.

# verdict WHEN CHECK: print doctor's verdict.
verdict() {
	jq -r --arg id "$2" '.checks[] | select(.id == $id) | .verdict' "out/doctor_$1.json"
}

judge_doctor() {
	local id
	check_equal "before bind the doctor ends with status 1" "$(cat out/doctor_before.status)" 1
	for id in pci.driver memory.hugepages; do
		check_equal "$id fails before bind and hugepages" "$(verdict before $id)" fail
		check_equal "and is well after them" "$(verdict after $id)" ok
	done
	for id in pci.iommu pci.iommu_group pci.vfio_access; do
		check_equal "$id is well" "$(verdict after $id)" ok
	done
}

# bind_ended NAME: print status, and the driver afterwards.
bind_ended() {
	echo "$(cat "out/$1.status")" "$(cat "out/$1.driver")"
}

judge_bind() {
	check_equal "bind refuses where one of the NICs is not there, and touches none" "$(bind_ended bind_absent)" "2 igb"
	check_equal "bind refuses the interface of the default route" "$(bind_ended bind_route)" "2 igb"
	check "and says so" grep -q 'default route' out/bind_route.log
	check_equal "bind gives the NIC to vfio-pci" "$(bind_ended bind)" "0 vfio-pci"
	check_equal "unbind gives it back to igb" "$(bind_ended unbind)" "0 igb"
	check "with which the kernel receives all that is sent" test "$(cat out/kernel_received)" -ge "$(cat out/sent)"
	check_equal "and bind works again" "$(bind_ended bind_again)" "0 vfio-pci"
}

judge_user() {
	check "a user who may not open the NIC's group is refused" test "$(cat out/user_refused.status)" -eq 2
	check "the message names the file" grep -q 'may not open /dev/vfio/[0-9]' out/user_refused.log
	check "one of the group vfio, who is not root, records" grep -q '^Uid:.4000.4000' out/capture.rights
	check "started with the capabilities of the unit, it keeps none" grep -q '^CapEff:.0000000000000000$' out/capture.rights
}

# judge_unplugged NAME FILE: check the Tapline whose NIC was unplugged.
judge_unplugged() {
	check_equal "of $1 the NIC is let go, and the kernel removes it" "$(cat "out/$1.gone" 2>&1)" gone
	check_equal "$1 ends with status 1" "$(cat "out/$1.status")" 1
	check "$1: the message has the reason" grep -q '0000:01:00.0 is gone' "out/$1.log"
	check_json "its ledger holds" "out/$1.json" '.ledger_ok and .final'
	check "capinfos takes its file" capinfos -c "out/$2"
	"$TAPLINE" recover --dry-run --json "out/$2" >recover.json 2>recover.log || true
	check_json "and recover finds it whole" recover.json '.whole == 1'
}

judge_link() {
	check_equal "a link that goes and comes is seen in status" "$(xargs <out/link)" "down up"
	check "the loss of the link is logged" grep -q 'has no link any more' out/run.log
	check_json "and counted" out/run.json '.port.link_downs == 1'
	check_json "the echo works before" out/udp_before.json '.sizes == 3 and .wrong == []'
	check_json "and after" out/udp_after.json '.sizes == 3 and .wrong == []'
}

# Behind a separate root port, because only there a card can be unplugged.
deploy() {
	local nic="igb,bus=rp,netdev=n0,id=nic,mac=02:00:00:00:00:05"
	echo "$nic" >device
	"$func_root/tests/lib/make_numbered.py" in.pcap 500 200
	mv device in.pcap out/
	vm_boot "$vm_dir/guest_deploy.sh" "${monitor[@]}" -device pcie-root-port,id=rp,chassis=1,slot=1,addr=4 \
		-netdev hubport,id=n0,hubid=0 -device "$nic" "${nics[@]:4}"
	vm_end
	judge_doctor
	judge_bind
	judge_user
	check_equal "500 frames are recorded" "$(capinfos -Trc out/frames.pcapng | cut -f 2)" 500
	judge_unplugged capture frames.pcapng
	judge_link
	judge_unplugged run echo.pcapng
}
