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
	check_json "$1: an echo's delays have the quantiles of netem" <(jq -s '[.[].round_trips_ms]' "out/own-$1.json" "out/netem-$1.json") \
		'map(length) == [1000, 1000] and ([[.[0][100, 500, 900]], [.[1][100, 500, 900]]] | transpose | all(.[]; (.[0] - .[1] | fabs) < 8))'
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
