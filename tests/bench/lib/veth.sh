# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# Scenarios on a veth pair: the kernel's recorders and Tapline on an AF_PACKET port, one after the other, each alone on
# one CPU, with the same sender on the other. The results are losses of sent frames, and CPU time per frame.

veth_pps=1200000 # about the rate of one CPU; only converts --seconds to frames
veth_bytes=60
veth_buffer_mb=64 # of each tool's ring in the kernel, including Tapline's
veth_frames='' veth_pid='' veth_recorded='' veth_elapsed_ns='' veth_cpu_ns='' veth_softirq_ns=''

# thread_ns PID: print the CPU time of a process, all threads, user and system.
thread_ns() {
	cat /proc/"$1"/task/*/schedstat | awk '{ sum += $1 } END { printf "%.0f", sum }'
}

# softirq_ns: print the softirq time of all CPUs since boot, interrupts included; in ticks of 10 ms.
softirq_ns() {
	awk '/^cpu / { printf "%.0f", ($7 + $8) * 10000000 }' /proc/stat
}

blast() {
	taskset -c "$(($(nproc) - 1))" ip netns exec "$PEER_NS" "$bench_build/bench_blast" "$PEER_IF" "$veth_frames" "$veth_bytes"
}

# recorder_listens: check whether a socket is bound to the interface.
recorder_listens() {
	local index
	index=$(in_app cat "/sys/class/net/$APP_IF/ifindex")
	in_app awk -v index_wanted="$index" 'NR > 1 && $5 == index_wanted { found = 1 } END { exit !found }' /proc/net/packet
}

recorder_listens_or_is_gone() {
	recorder_listens || is_gone "$veth_pid"
}

# Wait until the recorder is idle, before the sender begins and after it has ended: twice below 5 % of a CPU.
recorder_rests() {
	local before after
	before=$(thread_ns "$veth_pid") && sleep 0.2 && after=$(thread_ns "$veth_pid") || return 0
	((after - before < 10000000))
}

# veth_measure COMMAND...: run a recorder, send, and set veth_elapsed_ns, veth_cpu_ns, veth_softirq_ns. Its output goes
# to recorder.out and recorder.log.
veth_measure() {
	local cpu softirq
	ip netns exec "$APP_NS" taskset -c 0 "$@" >recorder.out 2>recorder.log </dev/null &
	veth_pid=$!
	wait_for 20 recorder_listens_or_is_gone || true
	recorder_listens || func_die "$* does not record: $(tail -n 1 recorder.log)"
	wait_for 5 recorder_rests || true
	cpu=$(thread_ns "$veth_pid") softirq=$(softirq_ns)
	veth_elapsed_ns=$(blast)
	veth_softirq_ns=$(($(softirq_ns) - softirq))
	wait_for 5 recorder_rests || true
	veth_cpu_ns=$(($(thread_ns "$veth_pid") - cpu))
	stop_process "$veth_pid" INT || true
}

# count_file FILE: print the number of its frames.
count_file() {
	capinfos -Mc "$1" 2>/dev/null | sed -n 's/^Number of packets: *//p'
}

# veth_run RECORDER FILE: measure, and set veth_recorded, too.
veth_run() {
	local file=$2
	case $1 in
	ours) veth_measure "$TAPLINE" capture -i "$APP_IF" -w "$file" --buffer "${veth_buffer_mb}M" --json ;;
	tcpdump) veth_measure tcpdump -Z root -n -i "$APP_IF" -B $((veth_buffer_mb * 1024)) -w "$file" ;;
	dumpcap) veth_measure dumpcap -q -i "$APP_IF" -B "$veth_buffer_mb" -w "$file" ;;
	netsniff-ng) veth_measure netsniff-ng --in "$APP_IF" --out "$file" --silent --ring-size "${veth_buffer_mb}MiB" -T 0xa1b23c4d ;;
	esac
	veth_recorded=$(count_file "$file")
	rm -f "$file"
}

per_frame() {
	awk "BEGIN { printf \"%.1f\", $1 / $veth_frames }"
}

# veth_facts: print those of the last run, as JSON.
veth_facts() {
	jq -nc --argjson recorded "${veth_recorded:-0}" --argjson sent "$veth_frames" --argjson elapsed "$veth_elapsed_ns" \
		--argjson cpu "$(per_frame "$veth_cpu_ns")" --argjson softirq "$(per_frame "$veth_softirq_ns")" \
		--argjson sender "$(per_frame "$veth_elapsed_ns")" \
		'{pps: ($recorded * 1e9 / $elapsed | round), lost: ($sent - $recorded), cpu_ns_per_pkt: $cpu,
			softirq_ns_per_pkt: $softirq, sender_ns_per_pkt: $sender}'
}

run_veth() {
	local tool=${1#veth-} ours='' reference='' who alone order
	if ! command -v "$tool" >/dev/null || ! command -v capinfos >/dev/null; then
		skip_scenario "$1" "$tool or capinfos is not installed (tools/install-deps.sh bench)"
		return
	fi
	[[ -e /run/netns/$APP_NS ]] || net_begin
	order=(ours "$tool")
	veth_frames=$((veth_pps * seconds))
	((round % 2 == 0)) || order=("$tool" ours)
	alone=$(per_frame "$(blast)")
	for who in "${order[@]}"; do
		veth_run "$who" "$bench_file"
		if [[ $who == ours ]]; then ours=$(veth_facts); else reference=$(veth_facts); fi
	done
	veth_result "$1" "$ours" "$reference" "$alone"
}

# veth_result NAME OURS REFERENCE ALONE: ALONE is the sender's cost per frame without a recorder.
veth_result() {
	jq -nc --arg name "$1" --argjson ours "$2" --argjson reference "$3" --argjson alone "$4" --argjson bytes "$veth_bytes" '
		{$name, reference: ($name | ltrimstr("veth-")), pps: $ours.pps, bps: ($ours.pps * $bytes),
		 rpps: $reference.pps, rbps: ($reference.pps * $bytes), lost: $ours.lost,
		 extra: {reference_lost_pkts: $reference.lost,
			cpu_ns_per_pkt: $ours.cpu_ns_per_pkt, reference_cpu_ns_per_pkt: $reference.cpu_ns_per_pkt,
			softirq_ns_per_pkt: $ours.softirq_ns_per_pkt, reference_softirq_ns_per_pkt: $reference.softirq_ns_per_pkt,
			sender_ns_per_pkt: $ours.sender_ns_per_pkt, reference_sender_ns_per_pkt: $reference.sender_ns_per_pkt,
			sender_alone_ns_per_pkt: $alone}}' >>results
}
