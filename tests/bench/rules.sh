#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Measure the cost of flow rules of DPDK's ixgbe driver on the modelled 82599 (tests/ixgbe): of a received frame, with rules
# of each kind, and of the installation and removal of a rule, in instructions of the program (callgrind).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/tests/bench/lib/callgrind.sh"

CARD=0000:01:00.0

usage() {
	cat <<-END
		usage: tests/bench/rules.sh [--json]
		Prints one JSON object. Scenarios: none, rss-4 (four queues); KIND-hit-N, KIND-miss-N: instructions of the driver's
		receive function per arriving frame of 60 bytes, in bursts of 32, with N rules, of which the last or none
		matches; -restarted: the port was restarted with the rule. path: the receive function that the driver has
		chosen. install-KIND-N, remove-KIND-N: instructions of rte_flow_create and rte_flow_destroy for the N-th rule, and
		its accesses to registers of the card. The kinds: tuple, a 5-tuple filter; drop and director, filters of
		the flow director that drop, and that direct to a queue. The model's work is not counted: callgrind does
		not collect in the signal handler that emulates an access.
	END
}

read_options --json -- "$@"
compgen -G "/usr/lib/*/dpdk/pmds-*/librte_net_ixgbe.so*" >/dev/null || die "DPDK's driver of ixgbe is not installed (librte-net-ixgbe)"
host=$(mktemp -d)
trap 'rm -rf "$host"' EXIT
"$root/tests/ixgbe/lib/card.py" card "$host" "$CARD" 10fb none
# The handler of accesses needs exact registers; symbols are resolved before the first call is counted.
export SYSFS_PCI_DEVICES=$host/sys/bus/pci/devices LD_BIND_NOW=1
export VALGRIND_OPTS="--px-default=allregs-at-mem-access --px-file-backed=allregs-at-mem-access"
scenarios "${TL_BUILD:-$root/build}/tests/bench/bench_rules" "counted_*" "$CARD" | jq '
	def figure($name; $value): {name: $name, value: $value, unit: "instructions"};
	.scenarios |= map(del(.ns_per_pkt) | if has("accesses") then .instructions = .instructions_per_pkt | del(.instructions_per_pkt) else . end) |
	([.scenarios[] | {(.name): (.instructions_per_pkt // .instructions)}] | add) as $cost |
	. + {figures: [figure("nic-frame-instructions"; $cost["none"]),
		figure("nic-frame-scalar-instructions"; $cost["director-miss-1-restarted"]),
		figure("nic-rule-instructions"; $cost["install-tuple-2"]), figure("nic-drop-rule-instructions"; $cost["install-drop-2"])]}'
