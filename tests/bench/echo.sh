#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Round trips of the multicast-to-TCP echo on a veth pair, ours by each kind of port and the kernel's by socat, one after
# the other in the same run: absolute times are this host's, the ratios are what counts.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

group=239.1.1.1 udp_port=5001 tcp_port=5002
seconds=5 rate=1000 payload=16 rounds=3

usage() {
	cat <<-END
		usage: tests/bench/echo.sh [--seconds N] [--rate N] [--payload N] [--rounds N]
		Prints one JSON object: the host, and per scenario the median over the rounds of each percentile, ns;
		path: what echo_path.sh says of the way through the lcore.
	END
}

parse_options() {
	while (($#)); do
		case $1 in
		--seconds | --rate | --payload | --rounds)
			(($# >= 2)) || { usage >&2 && exit 2; }
			printf -v "${1#--}" %s "$2"
			shift 2
			;;
		*)
			usage >&2
			exit 2
			;;
		esac
	done
}

# The client waits for a connection, so the echo may start after it. It keeps off the CPU of our receive queue.
measure() {
	in_peer taskset -c 0 "$TAPLINE" client --kernel --group "$group" --udp-port "$udp_port" --tcp-listen "$PEER_IP:$tcp_port" \
		--rate "$rate" --seconds "$seconds" --payload "$payload" --json 2>client.log
}

# ours NAME DEVICE IDLE [SECTION]
ours() {
	local name=$1 device=$2 idle=$3
	shift 3
	app_config config.json "\"echo\": [{\"port\": \"lan\", \"receive\": {\"group\": \"$group\", \"udp_port\": $udp_port},
		\"send\": {\"tcp_connect\": \"$PEER_IP:$tcp_port\"}}]" "$@"
	sed -i "s/\"device\": \"$APP_IF\"/\"device\": \"$device\", \"idle\": \"$idle\"/" config.json
	app_start config.json
	measure | jq -c --arg name "$name" '{name: $name, lost, rtt_ns}' >>results || true
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
	jq -c '{name: "kernel-socat", lost, rtt_ns}' client.json >>results
	ip -netns "$APP_NS" address flush dev "$APP_IF"
}

one_round() {
	kernels
	ours kernel-port-adaptive "$APP_IF" adaptive
	ours kernel-port-poll "$APP_IF" poll
	ours kernel-port-poll-recording "$APP_IF" poll '"capture": [{"port": "lan", "path": "echo.pcapng"}]'
	ours xdp-poll "xdp:$APP_IF" poll
}

report() {
	local path
	path=$(TL_BUILD=$(dirname "$(dirname "$TAPLINE")") "$func_root/tests/bench/echo_path.sh" | jq -c "del(.host)") || path=null
	jq -s --arg cpu "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)" --arg kernel "$(uname -r)" \
		--argjson cpus "$(nproc)" --argjson path "$path" --argjson rate "$rate" --argjson payload "$payload" --argjson rounds "$rounds" '
		def median: sort | .[length / 2 | floor];
		def summary: {name: .[0].name, lost: (map(.lost) | add)} +
			{rtt_ns: (["min", "p50", "p90", "p99"] as $keys | . as $runs |
				[$keys[] as $k | {key: $k, value: ([$runs[].rtt_ns[$k]] | median)}] | from_entries)};
		(group_by(.name) | map(summary)) as $scenarios |
		($scenarios[] | select(.name == "kernel-socat").rtt_ns.p50) as $reference |
		{host: {cpu: $cpu, cpus: $cpus, kernel: $kernel}, path: $path, rate_pps: $rate, payload_bytes: $payload, rounds: $rounds,
		 scenarios: [$scenarios[] | . + {p50_ratio_to_kernel: (.rtt_ns.p50 / $reference * 1000 | round / 1000)}]}' results
}

parse_options "$@"
func_begin
net_begin
for ((round = 0; round < rounds; round++)); do
	one_round >&2
done
report
