# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034,SC2154
# The scenario isolate: a net_tap in isolated mode, whose interface keeps an address of the kernel, as the host judges it. Sourced by run.sh.

judge_plan() {
	local text
	for text in 'rule 0: dst 10.99.0.1 -> queue 1: planned, derived: address of the port, flower filter 1 of 65536' \
		'rule 1: dst fd00:99::1 -> queue 1: planned, derived: address of the port' \
		'rule 2: dst 239.1.1.1 udp -> queue 1: planned, derived: group of an echo'; do
		check "run --explain: $text" grep -qF "$text" out/explain.log
	done
	check_equal "an address of the kernel is refused" "$(<out/taken.status)" 2
	check "with the interface that has it" grep -q 'the kernel has the address 10.99.0.9 on v0' out/taken.log
	check_json "and doctor warns of it" out/doctor.log \
		'.checks[] | select(.id == "link.isolated") | .verdict == "fail" and (.read | test("10.99.0.9"))'
}

judge_sharing() {
	check_equal "the kernel and the port answer ARP, neighbour discovery and ping, each for its addresses" "$(<out/both)" ""
	check_equal "the port echoes UDP in both families" "$(jq -s 'map(.sizes == 3 and .wrong == []) == [true, true]' out/udp.json)" true
	check_equal "and TCP" "$(jq -s 'map(.same and .fin) == [true, true]' out/tcp.json)" true
	check_json "and multicast over TCP" out/groups.json '.rounds == 10 and .same == 10'
	check "the interface receives the group" grep -q 01:00:5e:01:01:01 out/during
}

judge_report() {
	check_equal "it ends with status 0" "$(<out/isolate.status)" 0
	check_json "all rules are installed" out/isolate.json '[.port.flow_rules[] | [.outcome, .derived]] == [
		["installed", "address of the port"], ["installed", "address of the port"], ["installed", "group of an echo"]]'
	check_json "the ledger holds, with the copied frames" out/isolate.json '.ledger_ok and .port.copied_pkts > 0'
	check_equal "which are not recorded" "$(tshark -r out/isolate.pcapng -Y 'arp or igmp' 2>/dev/null | wc -l)" 0
	check "the others are" test "$(tshark -r out/isolate.pcapng -Y icmp 2>/dev/null | wc -l)" -ge 3
}

judge_end() {
	check_equal "no rule, discipline, group or interface is left" "$(<out/after)" "$(<out/before)"
	check_equal "what a killed process leaves stops frames to its own addresses alone" "$(xargs <out/alone)" "10.99.0.1 fd00:99::1"
	check_equal "the next start works" "$(<out/again)$(<out/again.status)" 0
	check_equal "and removes it" "$(<out/after_all)" "$(<out/before)"
}

isolate() {
	vm_words="vm_modules=steer ipv6.disable=0"
	vm_boot "$vm_dir/guest_isolate.sh"
	vm_end
	judge_plan
	judge_sharing
	judge_report
	judge_end
}
