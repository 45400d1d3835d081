#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Measure round trips of the multicast-to-TCP echo on a veth pair: Tapline's by each kind of port, the kernel's by
# socat, in the same run. Absolute times depend on the host; compare the ratios. Each round runs every scenario once.
# The order is that of a Williams design: over an even number of rounds each scenario follows each other one equally
# often (10 rounds for 5).
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"
source "$func_root/tools/lib/options.sh"

group=239.1.1.1 udp_port=5001 tcp_port=5002
seconds=5 rate=1000 payload=16 rounds=10

usage() {
	cat <<-END
		usage: tests/bench/echo.sh [--seconds N] [--rate N] [--payload N] [--rounds N]
		  --rounds N   runs of each scenario ($rounds); a multiple of 10 balances the order
		Prints one JSON object: the host, and for each scenario the median of each percentile, ns, over the rounds that the
		client called valid, the median of these rounds' ratios to the kernel's, and how many they are; null: there
		are none. path: output of echo_path.sh.
	END
}

# The client waits for a connection, so the echo may start after it. It is kept off the CPU of Tapline's receive queue.
measure() {
	in_peer taskset -c 0 "$TAPLINE" client --kernel --group "$group" --udp-port "$udp_port" --tcp-listen "$PEER_IP:$tcp_port" \
		--rate "$rate" --seconds "$seconds" --payload "$payload" --json 2>client.log
}

# keep NAME: append the client's result to results.
keep() {
	jq -c --arg name "$1" --argjson round "$round" '{name: $name, round: $round, lost, valid, invalid, rtt_ns}' >>results
}

# ours NAME DEVICE IDLE [SECTION]
ours() {
	local name=$1 device=$2 idle=$3
	shift 3
	app_config config.json "\"echo\": [{\"port\": \"lan\", \"receive\": {\"group\": \"$group\", \"udp_port\": $udp_port},
		\"send\": {\"tcp_connect\": \"$PEER_IP:$tcp_port\"}}]" "$@"
	sed -i "s/\"device\": \"$APP_IF\"/\"device\": \"$device\", \"idle\": \"$idle\"/" config.json
	app_start config.json
	measure | keep "$name" || true
	app_stop TERM
}

kernels() {
	ip -netns "$APP_NS" address add "$APP_IP/24" dev "$APP_IF"
	ip -netns "$APP_NS" route add 224.0.0.0/4 dev "$APP_IF"
	measure >client.json &
	local client=$!
	wait_for 10 listens "$tcp_port"
	ip netns exec "$APP_NS" socat -u "UDP4-RECV:$udp_port,ip-add-membership=$group:$APP_IF,reuseaddr" \
		"TCP:$PEER_IP:$tcp_port,nodelay" &
	local relay=$!
	wait "$client" || true
	stop_process "$relay" TERM || true
	keep kernel-socat <client.json
	ip -netns "$APP_NS" address flush dev "$APP_IF"
}

scenario() {
	case $1 in
	0) kernels ;;
	1) ours kernel-port-adaptive "$APP_IF" adaptive ;;
	2) ours kernel-port-poll "$APP_IF" poll ;;
	3) ours kernel-port-poll-recording "$APP_IF" poll '"capture": [{"port": "lan", "path": "echo.pcapng"}]' ;;
	4) ours xdp-poll "xdp:$APP_IF" poll ;;
	esac
}

# one_round ROUND: 0 1 4 2 3, shifted by one every second round; every other round reversed.
one_round() {
	local order=(0 1 4 2 3) i at
	for i in 0 1 2 3 4; do
		at=$(($1 % 2 ? 4 - i : i))
		scenario $(((order[at] + $1 / 2) % 5))
	done
}

report() {
	local path scenarios
	path=$(TL_BUILD=$(dirname "$(dirname "$TAPLINE")") "$func_root/tests/bench/echo_path.sh" | jq -c "del(.host)") || path=null
	scenarios=$(jq -s -f "$func_root/tests/bench/lib/echo_summary.jq" results)
	jq -n --arg cpu "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)" --arg kernel "$(uname -r)" \
		--argjson cpus "$(nproc)" --argjson path "$path" --argjson rate "$rate" --argjson payload "$payload" --argjson rounds "$rounds" \
		--argjson scenarios "$scenarios" '{host: {cpu: $cpu, cpus: $cpus, kernel: $kernel}, path: $path, rate_pps: $rate,
		 payload_bytes: $payload, rounds: $rounds, scenarios: $scenarios}'
}

read_options --seconds= --rate= --payload= --rounds= -- "$@"
func_begin
net_begin
for ((round = 0; round < rounds; round++)); do
	one_round "$round" >&2
done
report
