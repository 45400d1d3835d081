# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034,SC2154
# The scenario qdisc: class trees and delayed echoes beside the kernel's disciplines, as the host judges them. Sourced by run.sh.

judge_trees() {
	local name
	check_equal "no discipline is refused" "$(jq -c '[.cases[] | select(.refused) | .name]' out/qdisc.json)" "[]"
	for name in $(jq -r '.cases[].name' out/qdisc.json); do
		check_json "$name: bytes of each class are the kernel's within 2 %" out/qdisc.json "[.cases[] | select(.name == \"$name\") | .classes[] |
			(.tree_bytes - .kernel_bytes | fabs) <= ([0.02 * .kernel_bytes, 5000] | max)] | length > 0 and all"
	done
}

# judge_delay DISTRIBUTION
judge_delay() {
	jq -s 'map(.round_trips_ms | {n: length, ms: [.[100, 500, 900]]})' "out/own-$1.json" "out/netem-$1.json" >"$1.json"
	check_json "$1: an echo's delays have the quantiles of netem" "$1.json" \
		'map(.n) == [1000, 1000] and (map(.ms) | transpose | all(.[]; (.[0] - .[1] | fabs) < 8))'
}

qdisc() {
	local distribution
	vm_words="vm_modules=qdisc"
	vm_boot "$vm_dir/guest_qdisc.sh"
	vm_end
	judge_trees
	for distribution in uniform normal pareto; do
		judge_delay "$distribution"
	done
}
