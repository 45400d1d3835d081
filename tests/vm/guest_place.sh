#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Guest part of run.sh place, with isolated CPUs and two NUMA nodes. For each configuration: the plan of `run --explain`, the
# prediction of doctor, and CPUs and memory of the run. run.sh checks the files in /out. TAPLINE and ROOT
# are in the environment.
set -euo pipefail
source "$ROOT/tests/vm/guest_lib.sh"

NIC=0000:81:00.0
nodes=/sys/devices/system/node

# pages_begin: reserve hugepages on both nodes.
pages_begin() {
	local node
	ulimit -l unlimited
	for node in 0 1; do
		echo 200 >"$nodes/node$node/hugepages/hugepages-2048kB/nr_hugepages"
	done
}

# pages_used: print the number of hugepages in use on nodes 0 and 1.
pages_used() {
	local node pages
	for node in 0 1; do
		pages=$nodes/node$node/hugepages/hugepages-2048kB
		echo $(($(<"$pages/nr_hugepages") - $(<"$pages/free_hugepages")))
	done | xargs
}

# lcore_cpus: print the CPUs that the threads of RX lcores may use.
lcore_cpus() {
	local task
	for task in /proc/"$(pgrep -x tapline | head -n 1)"/task/*; do
		! grep -Eq 'worker|lcore' "$task/comm" || sed -n 's/^Cpus_allowed_list:\t//p' "$task/status"
	done | sort -n | xargs
}

# place NAME MEGABYTES BUFFER KEYS: plan, prediction and run of a configuration that records the NIC.
place() {
	local name=$1
	cat >config.json <<-END
		{"eal": {"memory_mb": $2},
		"ports": [{"name": "lan", "device": "$NIC"$4}],
		"capture": [{"port": "lan", "path": "null:", "buffer_bytes": "$3"}],
		"control": {"socket": "control.sock"}}
	END
	try "$name.plan" "$TAPLINE" run --explain --json config.json
	try "$name.doctor" "$TAPLINE" doctor -c config.json --json
	timeout 240 "$TAPLINE" run config.json --json >"/out/$name.json" 2>"/out/$name.log" &
	tapline_pid=$!
	if wait_for 90 answers_or_gone; then
		pages_used >"/out/$name.pages"
		lcore_cpus >"/out/$name.cpus"
		"$ROOT/tests/lib/send_pcap.py" "$peer_if" /out/in.pcap 1000 >/dev/null || true
		wait_for 60 status_has '.captures[0].written_pkts >= 100' || true
	fi
	kill -s TERM "$tapline_pid" || true
	ended "$name"
}

# answers_or_gone: tell whether the run has come up, or ended.
answers_or_gone() {
	status_has true || is_gone "$tapline_pid"
}

cd "$(mktemp -d)"
cat /sys/devices/system/cpu/isolated >/out/isolated
grep Cpus_allowed_list /proc/self/status >/out/initial
cat "/sys/bus/pci/devices/$NIC/numa_node" "/sys/bus/pci/devices/$PEER/numa_node" >/out/nic_nodes
pages_begin
bind_vfio "$NIC"
peer_begin
place one 256 16M ''
place two 256 16M ', "rx_queues": 2'
place named 64 128M ', "lcores": [1], "mtu": 9000'

# share NAME MEGABYTES: start an appliance with this memory; the socket is NAME.sock.
share() {
	cat >"$1.conf" <<-END
		{"eal": {"memory_mb": $2}, "ports": [{"name": "lan", "device": "vdev:net_null0"}],
		"capture": [{"port": "lan", "path": "null:", "buffer_bytes": "16M"}], "control": {"socket": "$1.sock"}}
	END
	SOCKET=$1.sock
	"$TAPLINE" run "$1.conf" --json >"/out/$1.json" 2>"/out/$1.log" &
	tapline_pid=$!
	wait_for 90 answers_or_gone
}

# Two appliances take their parts of the hugepages; a third one finds too few and disturbs neither.
pages_used >/out/shared.pages
share first 128
first_pid=$tapline_pid
pages_used >>/out/shared.pages
share second 128
second_pid=$tapline_pid
pages_used >>/out/shared.pages
share third 300
ended third
pages_used >>/out/shared.pages
for name in first second; do
	SOCKET=$name.sock
	status_has '.captures[0].rx.offered_pkts >= 0' && echo "$name" >>/out/shared.up
done
kill -s TERM "$first_pid"
tapline_pid=$first_pid
ended first
pages_used >>/out/shared.pages
kill -s TERM "$second_pid"
tapline_pid=$second_pid
ended second
pages_used >>/out/shared.pages
