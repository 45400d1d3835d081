#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Measure round trips of ping on a veth pair: Tapline's stack and dpdk-testpmd's icmpecho, both polling the same kernel interface
# through DPDK's driver, in alternating order.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"
source "$func_root/tools/lib/options.sh"

count=2000 rounds=3
testpmd_pid='' median=''

usage() {
	cat <<-END
		usage: tests/bench/ping.sh [--count N] [--rounds N]
		  --count N    echo requests per round and system ($count), one per millisecond
		Prints one JSON object: rounds, each with the median of each system, ns.
	END
}

# ping_median: set median, ns, to that of --count requests; ping prints milliseconds.
ping_median() {
	in_peer taskset -c 0 ping -n -c "$count" -i 0.001 -W 1 "$APP_IP" >ping.txt || func_die "ping failed: $(tail -n 1 ping.txt)"
	median=$(sed -n 's/.* time=\([0-9.]*\) ms.*/\1/p' ping.txt | sort -n | awk '{ v[NR] = $1 } END { printf "%.0f", v[int((NR + 1) / 2)] * 1e6 }')
}

ours() {
	app_config config.json '"echo": [{"port": "lan", "udp_listen": 7}]'
	sed -i "s/\"device\": \"$APP_IF\"/\"device\": \"$APP_IF\", \"idle\": \"poll\"/" config.json
	app_start config.json
	ping_median
	app_stop TERM
}

testpmd() {
	ip netns exec "$APP_NS" dpdk-testpmd -l "0,$(($(nproc) - 1))" --no-huge --no-shconf -m 256 --no-pci \
		--vdev "net_af_packet0,iface=$APP_IF" -- --forward-mode=icmpecho --total-num-mbufs=2048 --stats-period 60 >testpmd.log 2>&1 </dev/null &
	testpmd_pid=$!
	wait_for 30 answers_or_is_gone || true
	answers_ping || func_die "dpdk-testpmd does not answer: $(tail -n 1 testpmd.log)"
	ping_median
	stop_process "$testpmd_pid" TERM || true
}

answers_or_is_gone() {
	answers_ping || is_gone "$testpmd_pid"
}

# one_round ROUND: print an object; the first of the two systems changes with the round.
one_round() {
	local system order=(ours testpmd) medians=()
	(($1 % 2 == 0)) || order=(testpmd ours)
	for system in "${order[@]}"; do
		"$system"
		medians+=("{\"$system\": $median}")
	done
	jq -s add <<<"${medians[*]}"
}

read_options --count= --rounds= -- "$@"
command -v dpdk-testpmd >/dev/null || func_die "dpdk-testpmd is not installed (apt-get install dpdk-dev)"
func_begin
net_begin
for ((round = 0; round < rounds; round++)); do
	one_round "$round" >>results
done
jq -s '{rounds: .}' results
