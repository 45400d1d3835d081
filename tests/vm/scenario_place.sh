# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034,SC2054,SC2154
# Scenario place: checks on the host of CPUs of lcores and memory of ports, with isolated CPUs and two NUMA nodes.
# Sourced by run.sh.

# plan NAME: print the CPUs of `run --explain`, in the order of queues.
plan() {
	jq -r '[.explained[].queues[].cpu] | join(" ")' "out/$1.plan.log"
}

# predicted NAME CHECK: print doctor's prediction.
predicted() {
	jq -r --arg id "$2" '.checks[] | select(.id == $id).read' "out/$1.doctor.log"
}

# predicted_pages NAME: print the hugepages of 2 MiB that doctor requires on nodes 0 and 1.
predicted_pages() {
	predicted "$1" memory.hugepages_node | sed -E 's/[^,]*, ([0-9]+) needed[^,]*/\1 /g' | awk '{ print int(($1 + 1) / 2), int(($2 + 1) / 2) }'
}

judge_machine() {
	check_equal "the guest's CPUs 1 and 3 are isolated" "$(<out/isolated)" 1,3
	check_equal "which the mask of a new process lacks" "$(cut -f 2 out/initial)" 0,2
	check_equal "one NIC is on node 1, the other on none" "$(xargs <out/nic_nodes)" "1 -1"
}

# judge_run NAME CPUS: check that the queues of the run are on these CPUs, in order.
judge_run() {
	local sorted
	sorted=$(xargs -n 1 <<<"$2" | sort -n | xargs)
	check_equal "$1: run --explain takes isolated CPUs, those of the NIC's node first" "$(plan "$1")" "$2"
	check_equal "$1: doctor predicts the same" "$(predicted "$1" cpu.shared)" "each queue has a CPU: ${sorted// /,}"
	check_equal "$1: the lcores are there" "$(<"out/$1.cpus")" "$sorted"
	check_json "$1: and record what comes" "out/$1.json" '.ledger_ok and .lossless != false and .captures[0].written_pkts == 100'
	check_equal "$1: it ends well" "$(<"out/$1.status")" 0
}

judge_auto() {
	local name
	judge_run one 3     # isolated, on the NIC's node
	judge_run two "3 1" # isolated, on the other node: preferred to CPU 2, which is not isolated
	for name in one two; do
		check_equal "$name: each node gives as many hugepages as doctor says" "$(<"out/$name.pages")" "$(predicted_pages "$name")"
	done
}

# The configuration has less memory than needed: EAL takes more of a node when it allocates there, and the packets alone
# exceed the other node. 128 MiB of slabs and 4096 packets of 9.2 KiB are 82 pages.
judge_named() {
	local home node
	read -r home node <"out/named.pages"
	judge_run named 1
	check "doctor warns that it is not on the NIC's node" grep -q 'but not CPUs 1' <(predicted named pci.numa)
	check "packets and slabs are on the NIC's node all the same" test "$node" -ge 82
	check_equal "and the other gives no more than its part" "$home" "$(predicted_pages named | cut -d ' ' -f 1)"
}

# judge_shared: shared.pages has the pages in use on both nodes: before, with one appliance, with two, after the third, without the first.
judge_shared() {
	local used
	mapfile -t used < <(awk '{ print $1 + $2 }' out/shared.pages)
	check_equal "two appliances on one host run at once" "$(xargs <out/shared.up)" "first second"
	check "each takes hugepages of its own" test "${used[0]}" -lt "${used[1]}" -a $((used[2] - used[1])) -eq $((used[1] - used[0]))
	check_equal "a third one that needs more than is left is refused" "$(<out/third.status)" 2
	check "with the reason" grep -q 'hugepages' out/third.log
	check_equal "and takes none" "${used[3]}" "${used[2]}"
	check_equal "each one returns its own at its end" "${used[4]} ${used[5]}" "${used[1]} ${used[0]}"
	check_equal "both end with status 0" "$(cat out/first.status out/second.status | xargs)" "0 0"
}

place() {
	local node=(-object memory-backend-ram,size=1G,id=m0 -numa node,nodeid=0,cpus=0-1,memdev=m0
		-object memory-backend-ram,size=1G,id=m1 -numa node,nodeid=1,cpus=2-3,memdev=m1
		-device pxb-pcie,id=node1,bus_nr=128,bus=pcie.0,numa_node=1
		-device pcie-root-port,id=rp,bus=node1,chassis=1,slot=1)
	vm_cpus=4
	vm_words="isolcpus=managed_irq,domain,1,3 nohz_full=1,3 rcu_nocbs=1,3 irqaffinity=0,2"
	"$func_root/tests/lib/make_numbered.py" out/in.pcap 100 200
	# With pxb-pcie a device has to name its bus.
	vm_boot "$vm_dir/guest_place.sh" "${node[@]}" "${nics[@]:0:2}" -device igb,netdev=n0,bus=rp,mac=02:00:00:00:00:05 \
		"${nics[@]:4:2}" -device igb,netdev=n1,bus=pcie.0,addr=8,mac=02:00:00:00:00:08
	vm_end
	judge_machine
	judge_auto
	judge_named
	judge_shared
}
