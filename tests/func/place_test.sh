#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Placement of lcores: outside the affinity mask of the process (isolcpus=) but within its cpuset; and doctor's
# prediction for simulated hosts.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

MLX5=0000:5e:00.0
CARD=host/sys/bus/pci/devices/$MLX5

# config LCORES [KEYS]: one virtual port.
config() {
	cat >place.json <<-END
		{"eal": {"huge": false, "memory_mb": 256, "main_lcore": $main_cpu},
		"ports": [{"name": "lan", "device": "vdev:net_null0", "lcores": $1${2:-}}]}
	END
}

# run_narrowed COMMAND...: run the program briefly, under the command; print its exit status.
run_narrowed() {
	local status=0
	"$@" "$TAPLINE" run place.json --duration 0.05 >run.out 2>run.log </dev/null || status=$?
	echo "$status"
}

# in_cpuset COMMAND...: run it in the cpuset.
in_cpuset() {
	bash -c 'echo 0 >"$1/cgroup.procs" && shift && exec "$@"' - "$CPUSET" "$@"
}

# make_cpuset CPU: set CPUSET; fail if this host does not permit one.
make_cpuset() {
	local above=/sys/fs/cgroup/cpuset
	[[ -e $above/cpuset.cpus ]] || return 1
	CPUSET=$above/tapline-test-$$
	mkdir "$CPUSET" 2>/dev/null || return 1
	echo "$1" >"$CPUSET/cpuset.cpus" && cat "$above/cpuset.mems" >"$CPUSET/cpuset.mems" && in_cpuset true 2>/dev/null && return 0
	rmdir "$CPUSET"
	return 1
}

try_masks() {
	local mask=(taskset -c "$main_cpu") # outside of it the named CPU is like an isolated one
	config "[$other_cpu]"
	check_equal "an lcore may run on a CPU outside the affinity mask" "$(run_narrowed "${mask[@]}")" 0
	config '"auto"'
	check_equal "\"auto\" keeps to a mask that was narrowed on purpose" "$(run_narrowed "${mask[@]}")" 0
	check "queues that share the control thread's CPU are reported with the reason" \
		grep -q "ports\[0\].lcores: no CPU is left for 1 of 1 queues of port lan: they share CPU $main_cpu" run.log
	config '"auto"' ', "idle": "poll"'
	run_narrowed "${mask[@]}" >/dev/null
	check "an explicit poll setting is reported too" grep -q 'in spite of "idle": "poll"' run.log
}

try_cpuset() {
	if ! make_cpuset "$main_cpu"; then
		skip "a CPU outside of the cpuset is refused" "no cpuset can be made here"
		return
	fi
	config "[$other_cpu]"
	check_equal "a CPU outside the cpuset is refused" "$(run_narrowed in_cpuset)" 2
	check "the message names the cpuset" grep -q "CPU $other_cpu is not one this process may use: .*cpuset.cpus.effective" run.log
	rmdir "$CPUSET"
}

# predicted ID: print the value of a doctor check on the simulated host.
predicted() {
	"$TAPLINE" doctor --root host -c made.json --json 2>doctor.log | jq -r --arg id "$1" '.checks[] | select(.id == $id).read'
}

# interrupt IRQ [CPUS]: make an IRQ of the card, routed to these CPUs if the kernel reports them.
interrupt() {
	mkdir -p "$CARD/msi_irqs" "host/proc/irq/$1"
	touch "$CARD/msi_irqs/$1"
	if (($# == 2)); then
		echo "$2" >"host/proc/irq/$1/effective_affinity_list"
	fi
}

try_prediction() {
	mkdir host
	"$func_root/tests/lib/make_host.py" host /usr/lib/dpdk/pmds-23.0
	cat >made.json <<-END
		{"eal": {"memory_mb": 1024}, "ports": [{"name": "lan", "device": "$MLX5"}, {"name": "tap", "device": "0000:3b:00.0"}],
		"capture": [{"port": "tap", "path": "null:", "buffer_bytes": "256M"}]}
	END
	check_equal "\"auto\" takes isolated CPUs of the NICs' node" "$(predicted cpu.shared)" "each queue has a CPU: 2-3"
	interrupt 41 2
	check_equal "a CPU with interrupt routes is avoided" "$(predicted cpu.shared)" "each queue has a CPU: 3,6"
	interrupt 42
	printf '           CPU0       CPU3       CPU6\n  9:  1  1  1  acpi\n 42:     0     7     0   mlx5_comp0\n' >host/proc/interrupts
	check_equal "without a reported route the current CPU of the interrupt is avoided" \
		"$(predicted cpu.shared)" "each queue has a CPU: 6-7"
	rm -r "$CARD/msi_irqs"
	check "memory is requested on the node of the NICs only" \
		grep -q '^node 0: 2048 MiB free, 1024 needed; node 1: 2048 MiB free, 0 needed$' <(predicted memory.hugepages_node)
	echo 1 >host/sys/bus/pci/devices/0000:3b:00.0/numa_node
	check "memory is divided among nodes by the needs of their recordings" \
		grep -Eq '^node 0: 2048 MiB free, [1-4][0-9]{2} needed; node 1: 2048 MiB free, [5-7][0-9]{2} needed$' <(predicted memory.hugepages_node)
	check_equal "each port gets CPUs of its own node" "$(predicted pci.numa)" "0000:5e:00.0: node 0; 0000:3b:00.0: node 1"
}

# on_made_cpus COMMAND...: run it where the kernel's CPUs and nodes are those of the simulated host.
on_made_cpus() {
	unshare --mount sh -c 'for what in cpu node; do
		mount --bind host/sys/devices/system/$what /sys/devices/system/$what || exit; done; exec "$@"' - "$@"
}

# explained QUEUE: print the lines of explained.txt below that of a queue, of all ports.
explained() {
	sed -n "/^  queue $1 on/,/^  queue\|^port/{/^    /p}" explained.txt
}

try_shares() {
	if ! on_made_cpus true 2>unshare.log; then
		skip "--explain tells what a CPU shares" "$(<unshare.log)"
		return
	fi
	cat >shares.json <<-END
		{"eal": {"huge": false, "memory_mb": 256}, "ports": [
		{"name": "lan", "device": "vdev:net_null0", "rx_queues": 3, "lcores": [2, 6, 3]}]}
	END
	on_made_cpus "$TAPLINE" run --explain shares.json >explained.txt 2>explained.log
	check "--explain prints the node of a CPU" grep -q '^  queue 0 on CPU 2 of NUMA node 0: ' explained.txt
	check_equal "its reason, and what it shares: a core with another queue, a cache with a third and the control thread" \
		"$(explained 0)" "$(printf '    %s\n' 'this CPU: set in the configuration' \
			"warning: it shares its core with CPU 6 of this configuration: each has about half of the core's speed; name CPUs of different cores in \"lcores\"" \
			'shares its last-level cache with CPU 0,3 of this configuration')"
	check_equal "it does not warn of an idle isolated CPU on the same core" "$(explained 2 | grep -c warning || true)" 0
	on_made_cpus "$TAPLINE" run --explain --json shares.json >explained.json 2>explained.log
	check_json "the JSON has the same" explained.json '.explained[0].queues | map([.cpu, .cpu_why, .core_shared_with,
		.cache_shared_with, .node_shared_with, (.warnings | length)]) == [[2, "set in the configuration", [6], [0, 3], [], 1],
		[6, "set in the configuration", [2], [], [], 1], [3, "set in the configuration", [], [0, 2], [], 0]]'
	echo 0,3 >host/sys/devices/system/cpu/cpu3/topology/thread_siblings_list
	on_made_cpus "$TAPLINE" run --explain shares.json >explained.txt 2>explained.log
	check "it warns of a core shared with the control thread" \
		grep -q 'warning: it shares its core with CPU 0 of this configuration' <(explained 2)
	jq '.ports[0].lcores = [5, 6, 7]' shares.json >open.json
	on_made_cpus "$TAPLINE" run --explain open.json >explained.txt 2>explained.log
	check "and of one shared with a CPU of other tasks" \
		grep -q 'warning: it shares its core with CPU 1, which is not isolated' <(explained 0)
}

# An E810 that no driver accepted: EAL searches devices in the directory of the variable.
try_absent() {
	if compgen -G '/lib/firmware/*/ice.pkg' >/dev/null || [[ -e /lib/firmware/intel/ice/ddp/ice.pkg ]]; then
		skip "ice without its DDP package is told what to do" "this host has the package"
		return
	fi
	mkdir -p devices/0000:3b:00.0
	echo 0x8086 >devices/0000:3b:00.0/vendor
	echo 0x1593 >devices/0000:3b:00.0/device
	echo '{"eal": {"huge": false, "memory_mb": 256, "main_lcore": '"$main_cpu"'}, "ports": [{"name": "lan", "device": "0000:3b:00.0"}]}' >ice.json
	SYSFS_PCI_DEVICES=$DIR/devices "$TAPLINE" run ice.json --duration 1 >run.out 2>run.log </dev/null || true
	check "ice without its DDP package, or without its driver, is refused with a remedy" \
		grep -Eq 'ice.pkg, is missing: .*,safe-mode-support=1|apt install librte-net-ice' run.log
}

func_begin
mapfile -t cpus < <(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)), sep="\n")')
main_cpu=${cpus[0]} other_cpu=${cpus[1]:-}
if [[ -n $other_cpu ]]; then
	try_masks
	try_cpuset
else
	skip "an lcore may run on a CPU that the mask of the process lacks" "there is one CPU"
fi
try_prediction
try_shares
try_absent
