#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# tapline bench rx: each rung receives the sent frames, or gives a reason; with -i nothing is sent; no trace remains.
# Costs do not matter here.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

ALL_RAN='.rungs | map(select(.refused == null))'
preloads=${TL_BUILD:-$func_root/build}/tests
# followed by an interface: send frames on it until the end
flood=(python3 -c '
import socket, sys, time
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
wire.bind((sys.argv[1], 0))
while True:
    wire.send(b"\xff" * 6 + b"\x02" * 6 + b"\x88\xb5" + bytes(50))
    time.sleep(0.0001)')

wrong_calls() {
	refuses "an impossible frame size is refused" "--sizes" "$TAPLINE" bench rx --sizes 60,59
	refuses "a frame size that is given twice is refused" "different" "$TAPLINE" bench rx --sizes 60,512,60
	refuses "an unknown rung is refused" "--rungs" "$TAPLINE" bench rx --rungs recv,rec
	refuses "an option of the other benchmark is refused" "bench overhead" "$TAPLINE" bench rx --rounds 7
	refuses "the other benchmark refuses options of this one" "bench rx" "$TAPLINE" bench overhead --sizes 60
	refuses "--take is refused without an interface" "--take" "$TAPLINE" bench rx --take
	refuses "a missing interface is refused" "nosuch0" "$TAPLINE" bench rx -i nosuch0
	refuses "too many senders are refused" "--senders" "$TAPLINE" bench rx --senders 9
	refuses "senders are refused if nothing is sent" "--senders" "$TAPLINE" bench rx -i lo --senders 2
	refuses "a file is refused because it is not a NIC port" "pcap:x" "$TAPLINE" bench rx -i pcap:x
	refuses "a sending port without a receiving port is refused" "--peer" "$TAPLINE" bench rx --peer lo
	refuses "one port for both directions is refused" "same port" "$TAPLINE" bench rx -i lo --peer lo
}

every_rung() {
	local status=0
	"$TAPLINE" bench rx --seconds 0.01 --sizes 60 --json --html page.html >all.json 2>all.log || status=$?
	check_equal "the ladder ends with status 0" "$status" 0
	check_json "each rung received every slow frame once, in order and complete" all.json \
		"$ALL_RAN"' | map(select(.name != "dpdk-memory")) | length > 8 and all(.check | .sent_pkts == 100
		and .received_pkts == 100 and .received_bytes == 6000 and .in_order != false)'
	check_json "the marks of the frames were checked except in memory" all.json \
		"$ALL_RAN"' | all(if .name == "dpdk-memory" then .check == null else .check.in_order != null end)'
	check_json "rungs supported on every host ran" all.json "$ALL_RAN"' | map(.name) |
		contains(["udp", "recv", "recv-fanout-hash", "recvmmsg", "pcap", "pcap-immediate", "pcap-dump", "ring-v2", "ring-v3", "ring-v3-copy",
		"ring-v3-hash", "ring-v3-cpu", "ring-v3-queue", "ring-v3-rnd", "ring-v3-rollover", "ring-v3-cbpf", "ring-v3-ebpf",
		"dpdk-af_packet", "dpdk-memory", "tapline"])'
	check_json "each rung that sleeps has a rate and a cost" all.json \
		"$ALL_RAN"' | map(select(.polls | not)) | length > 8 and all(.received_pps > 0 and .cpu_ns_per_pkt > 0)'
	check_json "each rung that reads marks has a latency of every slow frame" all.json "$ALL_RAN"' | all(if .check == null
		then .latency_ns == null else (.latency_ns | .count == 100 and 0 < .p50 and .p50 <= .p99) end)'
	check_json "the cost of a rung that sleeps is user and system time" all.json "$ALL_RAN"' | map(select(.polls | not)) | length > 8 and
		all(.user_ns_per_pkt == null or (.user_ns_per_pkt + .system_ns_per_pkt - .cpu_ns_per_pkt | fabs) <= 1e-6 * .cpu_ns_per_pkt)'
	check_json "a refused rung has a reason and no figures" all.json '.rungs | map(select(.refused != null)) |
		(map(select(.name == "xdp-zerocopy" and (.refused | test("zero-copy")))) | length == 1)
		and all((.refused | length) > 10 and .cpu_ns_per_pkt == null and .lost_pkts == null)'
	check_json "zero-copy receive of io_uring is refused by a named step" all.json '.rungs | map(select(.name == "io_uring-zc")) |
		length == 1 and (.[0].refused | test("^io_uring_setup|: this kernel |of queue 0 of rx0: Operation not supported: its driver"))'
	check_json "without a NIC its rungs are refused with a remedy" all.json '.rungs | map(select(.name | endswith("-nic"))) |
		length == 2 and all(.refused | test("tapline bind.*-i.*--peer"))'
	check_json "fanout runs one thread per CPU, at least two" all.json \
		'.rungs | all((.threads >= 2) == (.name | test("fanout|-(hash|cpu|queue|rnd|rollover|cbpf|ebpf)$")))'
	check_json "a cost that varies between runs is marked noisy" all.json \
		"$ALL_RAN"' | all(.noisy == (.spread > 0.1))'
	check_json "the goals of the ladder are judged by the figures of their rungs" all.json '(.rungs | map({(.name): .}) | add) as $row |
		(.goals | map(.rung) == ["ring-v3-hash", "dpdk-memory", "tapline"] or map(.rung) == ["ring-v3-hash", "tapline"]) and
		(.goals | all(.figure as $f | ($row[.rung][$f] / $row[.than][$f] - .ratio | fabs) <= 1e-6 * .ratio and
		.met == (.ratio >= (.at_least // 0) and .ratio <= (.at_most // 1e9)) and .noisy == ($row[.rung].noisy or $row[.than].noisy))) and
		([.rungs[] | select(.refused == null and (.name | IN("dpdk-memory", "tapline") | not)).cpu_ns_per_pkt] | min) ==
		$row[.goals[-1].than].cpu_ns_per_pkt'
	check_json "instructions and cycles are counted, or the reason why not is given" all.json '.host.counters_refused as $why | .rungs |
		map(select(.refused == null and .received_pps > 0)) | length > 8 and all((.instructions_per_pkt == null) == ($why != null))'
	check_json "a run with such a row is noisy" all.json '.noisy == (.rungs | any(.noisy))'
	check_json "the wake-ups of each rung are counted" all.json "$ALL_RAN"' | all(.wakeups_per_s != null)'
	check_equal "the page has a bar, or a reason, for each rung and size" "$(grep -cE '^<tr( class="noisy")?><td>' page.html)" \
		"$(jq '.rungs | length' all.json)"
	check_equal "rates that are not without loss are labelled in the page" \
		"$(sed -n 's/.*<td>\([a-z-]*\)<.*Mpps received<.*/\1/p' page.html)" dpdk-memory
	check_equal "the page needs no other file" "$(grep -ciE '(src|href)=|url\(|@import' page.html)" 0
	check "the page names the command, the date and the host" grep -qE '<pre>.*made by .*20[0-9]{2}-.*call .*bench rx --seconds 0.01 .*host .*Linux' \
		<(tr '\n' ' ' <page.html)
}

# A thread may get no CPU for 0.1 s on a busy host, and nobody waits for frames that are not sent.
memory_delivers() {
	"$TAPLINE" bench rx --seconds 0.1 --sizes 1514 --rungs dpdk-memory --json >memory.json 2>memory.log
	jq -e '.rungs[0] | .received_pps > 0 and .cpu_ns_per_pkt > 0' memory.json >/dev/null
}

large_frames() {
	"$TAPLINE" bench rx --seconds 0.01 --sizes 1514,61 --rungs ring-v3,ring-v3-copy,xdp-copy,io_uring --json >large.json 2>large.log
	check_json "frames of other sizes come whole" large.json "$ALL_RAN"' | length > 0 and all(.check.received_bytes == 100 * .size_bytes)'
	check_json "in the order of the ladder, each with both sizes" large.json \
		'.rungs | map([.name, .size_bytes]) == [["io_uring", 1514], ["io_uring", 61], ["ring-v3", 1514], ["ring-v3", 61],
		["ring-v3-copy", 1514], ["ring-v3-copy", 61], ["xdp-copy", 1514], ["xdp-copy", 61]]'
}

saves_frames() {
	local pid
	pid=$(pgrep -P "$app_pid") && (($(sed -n 's/^wchar: //p' "/proc/$pid/io") > 1000000))
}

keeps_frames() {
	"$TAPLINE" bench rx --rungs pcap-dump --sizes 1514 --seconds 3600 >dump.txt 2>dump.log &
	app_pid=$!
	check "the rung pcap-dump writes the frames" wait_for 60 saves_frames
	app_stop INT
	check_equal "and is interrupted" "$APP_STATUS" 1
}

# print_to_full [OPTION...]: print the status of a call whose output cannot be written.
print_to_full() {
	local status=0
	"$TAPLINE" bench rx --rungs udp --sizes 60 --seconds 0.01 "$@" >/dev/full 2>full.log || status=$?
	echo "$status $(grep -c 'cannot print the results' full.log)"
}

full_output() {
	check_equal "a report that cannot be printed is an error" "$(print_to_full)" "1 1"
	check_equal "a JSON report that cannot be printed is an error, even if its page can be" "$(print_to_full --json --html full.html)" "1 1"
}

several_senders() {
	"$TAPLINE" bench rx --seconds 0.01 --sizes 60 --rungs recv,ring-v3-hash --senders 3 --json >three.json 2>three.log
	check_json "several threads send" three.json '.host.senders == 3 and .host.sender == "tx0"'
	check_json "one thread sends the slow frames, in order" three.json "$ALL_RAN"' | length == 2 and all(.check ==
		{sent_pkts: 100, received_pkts: 100, received_bytes: 6000, in_order: true})'
	check_json "the frames of all threads count as sent" three.json "$ALL_RAN"' | all(.received_pps <= .offered_pps)'
}

tells_why() {
	"$TAPLINE" bench rx --seconds 0.01 --sizes 60,1514 --rungs recv,recvmmsg,ring-v3-hash >text.txt 2>text.log
	check "the text states the cause of each cost with the figure" \
		grep -A1 '^recvmmsg, beside recv: up to 64 frames per system call' text.txt
	check_equal "for each size" "$(grep -cE '^  [0-9]+ ns per frame of (60|1514) bytes' text.txt)" 6
	check_equal "the text counts the noisy rows" "$(sed -n 's/^noisy: cost or rate of \([0-9]*\) of 6 rows.*/\1/p' text.txt)" \
		"$(grep -c ' noisy$' text.txt | sed 's/^0$//')"
	check "the text judges a goal if its rungs were measured" grep -qE \
		'^  ring-v3-hash over recv, CPU per frame of 60 bytes: [0-9.]+, at most 0.33: (met|missed)' text.txt
	check "the text states the ratio" grep -qE ' ns per frame of 60 bytes, [0-9.]+ times recv$' text.txt
}

# A receiver that is slower than any sender. It loses frames at each rate while it gets no CPU, on a busy host.
finds_rate() {
	LD_PRELOAD=$preloads/libbad_recv.so SLOW_RECV=60 "$TAPLINE" bench rx --rungs recv --sizes 60 --seconds 0.5 --json \
		>slow.json 2>slow.log
	jq -e '.rungs[0] | .lost_pkts > 0 and 0 < .loss_free_pps and .loss_free_pps < .offered_pps and .loss_free_pps < 1.5 * .received_pps' slow.json \
		>/dev/null
}

# The same with a buffer that has room for all frames: 5,000 per second, which it takes long after the sender has ended.
rate_of_the_receiver() {
	LD_PRELOAD=$preloads/libbad_recv.so SLOW_RECV=200 LARGE_BUFFER=1 "$TAPLINE" bench rx --rungs recv --sizes 60 --seconds 0.05 --json \
		>late.json 2>late.log
	jq -e '.rungs[0].offered_pps > 15000' late.json >/dev/null
}

buffers_frames() {
	check "the sender is faster than a receiver with a large buffer" wait_for 120 rate_of_the_receiver
	check_json "the rate of such a receiver is that at which it takes the frames" late.json '.rungs[0] | .received_pps < 5250 and
		.loss_free_pps < 12000 and (.sender_bound | not)'
}

loses_frames() {
	check "bisection finds a rate without loss that the receiver can keep up with" wait_for 120 finds_rate
	check_json "losses at the sender's highest rate are attributed to the counter that has them" slow.json '.rungs[0] |
		.lost_pkts > 0 and (.sender_bound | not) and .received_pps < .offered_pps and .lost_by.counter_pkts == .lost_pkts'
	LD_PRELOAD=$preloads/libbad_recv.so FAIL_RECV=5 "$TAPLINE" bench rx --rungs recv --sizes 60 --seconds 0.01 --json \
		>failed.json 2>failed.log
	check_json "a rung that fails while it receives has the reason and no figures" failed.json '.rungs[0] |
		.refused == "it could not receive: Input/output error" and .check == null and .latency_ns == null and .lost_pkts == null'
}

# A host with hardware counters; both of them count the CPU time of the thread. The receiver never sleeps: its switches would count
# as CPU time of the process, but not in the counters.
counts_events() {
	LD_PRELOAD="$preloads/libevent_counters.so $preloads/libbad_recv.so" SLOW_RECV=200 "$TAPLINE" bench rx \
		--rungs recv,ring-v3-hash,tapline --sizes 60 --seconds 0.3 --json >events.json 2>events.log
	if jq -e '.rungs[0].instructions_per_pkt == null' events.json >/dev/null; then
		skip "instructions and cycles are those of the receiving threads" "this host refuses perf_event_open(2)"
		return
	fi
	check_json "instructions and cycles are those of the receiving threads" events.json '.rungs[1].cycles_per_pkt > 0 and (.rungs[0] |
		[(.instructions_per_pkt, .cycles_per_pkt) / .cpu_ns_per_pkt] | all(0.8 < . and . < 1.25))'
	# Tapline sleeps between its bursts.
	check_json "those of Tapline are of its own threads" events.json '.host.counters_refused == null and (.rungs[2] | .name == "tapline" and
		([(.instructions_per_pkt, .cycles_per_pkt) / .cpu_ns_per_pkt] | all(0.2 < . and . < 2)))'
}

sent_on_app() {
	ip -netns "$APP_NS" -json -stats link show "$APP_IF" | jq '.[0].stats64.tx.packets'
}

receives_real_traffic() {
	in_app "$TAPLINE" bench rx -i "$APP_IF" --rungs recv,ring-v2 --seconds 0.1 --json >live.json 2>live.log
	jq -e '.rungs | all(.received_pps > 0)' live.json >/dev/null
}

# real_losses: let a slow receiver take a part of the traffic.
real_losses() {
	in_app env LD_PRELOAD="$preloads/libbad_recv.so" SLOW_RECV=20000 "$TAPLINE" bench rx -i "$APP_IF" --rungs recv --seconds 1 \
		--json >lossy.json 2>lossy.log
	jq -e '.rungs[0] | .lost_pkts > 0 and .lost_by.counter_pkts > 0' lossy.json >/dev/null
}

real_traffic() {
	local before
	before=$(sent_on_app)
	in_app "$TAPLINE" bench rx -i "$APP_IF" --take --seconds 0.01 --json >idle.json 2>idle.log
	check_equal "with an interface nothing is sent" "$(sent_on_app)" "$before"
	check_json "and the result reports it" idle.json '.host.own_traffic == false and (.rungs | length > 0 and all(.check == null and .loss_free_pps == null))'
	check_json "rungs that need our own frames are refused" idle.json \
		'.rungs | map(select(.name == "udp" or .name == "dpdk-memory")) | length == 2 and all(.refused != null)'
	peer_start "${flood[@]}" "$PEER_IF"
	check "foreign frames are received" wait_for 60 receives_real_traffic
	check "losses of real traffic are counted" wait_for 60 real_losses
	stop_process "$peer_pid" TERM 10 || true
	ip -netns "$APP_NS" neigh add 10.99.0.7 lladdr 02:00:00:00:00:07 dev "$APP_IF" nud permanent
	in_app "$TAPLINE" bench rx -i "$APP_IF" --rungs xdp-copy,dpdk-af_packet --seconds 0.01 --json >kept.json 2>kept.log
	check_json "without --take no frames are diverted from the kernel" kept.json '.rungs[0].refused | test("--take")'
	check_equal "and the interface keeps its neighbours" "$(ip -netns "$APP_NS" neigh show dev "$APP_IF" | grep -c PERMANENT)" 1
}

# Each rung receives on an interface on which the host sends.
sent_frames() {
	local before
	ip netns exec "$APP_NS" "${flood[@]}" "$APP_IF" &
	peer_pid=$!
	before=$(sent_on_app)
	in_app "$TAPLINE" bench rx -i "$APP_IF" --take --seconds 0.05 --json >sent.json 2>sent.log
	check "the host sends during the run" test "$(sent_on_app)" -gt $((before + 1000))
	check_json "frames that the host sends are not received by any rung" sent.json "$ALL_RAN"' | length > 15 and all(.received_pps == 0)'
	stop_process "$peer_pid" TERM 10 || true
}

# A pair whose ends are both in one namespace: a DPDK driver is on each, or on one.
on_ports() {
	local rx=vdev:net_af_packet0,iface=wire0 tx=vdev:net_af_packet1,iface=wire1
	ip -netns "$APP_NS" link add wire0 type veth peer name wire1
	ip -netns "$APP_NS" link set wire0 up
	ip -netns "$APP_NS" link set wire1 up
	in_app "$TAPLINE" bench rx --seconds 0.01 --sizes 60 -i "$rx" --peer "$tx" --rungs udp,dpdk-memory,dpdk-nic --json \
		>ports.json 2>ports.log
	check_json "the rung of a DPDK driver receives every slow frame of another driver, in order" ports.json "$ALL_RAN"' |
		map([.name, .check]) == [["dpdk-memory", null],
		["dpdk-nic", {sent_pkts: 100, received_pkts: 100, received_bytes: 6000, in_order: true}]]'
	check_json "its latency covers every frame" ports.json '.rungs[2].latency_ns | .count == 100 and 0 < .p50 and .p50 <= .p99'
	check_json "the result names both ports and the driver" ports.json \
		'.host | .interface == "'"$rx"'" and .sender == "'"$tx"'" and .driver == "net_af_packet" and .own_traffic'
	in_app "$TAPLINE" bench rx --seconds 0.01 --sizes 60 -i wire0 --peer "$tx" --rungs udp,recvmmsg,xdp-copy,dpdk-nic --json \
		>half.json 2>half.log
	check_json "a kernel rung receives the frames of a DPDK driver" half.json "$ALL_RAN"' | map([.name, .check]) == [
		["recvmmsg", {sent_pkts: 100, received_pkts: 100, received_bytes: 6000, in_order: true}]]'
	check_json "a user's interface is treated as one, even with a sender" half.json \
		'.rungs | map(.refused // "") | (.[0] | test("own address")) and (.[2] | test("--take")) and (.[3] | test("no NIC"))'
	check_equal "the ports leave nothing" "$(ip -netns "$APP_NS" -details link show wire0 | grep -cE 'PROMISC|promiscuity [1-9]')" 0
}

tapline_answers() {
	"$TAPLINE" status --json --socket "$(echo "$TMPDIR"/tapline-rx-*/control)" >/dev/null 2>&1
}

tapline_fails() {
	TMPDIR=/nonexistent in_app "$TAPLINE" bench rx -i "$APP_IF" --rungs tapline --seconds 0.01 --json >tmp.json 2>tmp.log
	check_json "a missing TMPDIR is the reason why tapline did not run" tmp.json '.rungs[0].refused | test("/nonexistent.*No such file")'
	ip -netns "$APP_NS" link add gone0 type veth peer name gone1
	ip -netns "$APP_NS" link set gone0 up
	ip netns exec "$APP_NS" "$TAPLINE" bench rx -i gone0 --rungs tapline --seconds 4 --json >gone.json 2>gone.log &
	app_pid=$!
	wait_for 60 tapline_answers || func_die "tapline does not receive: $(<gone.log)"
	ip -netns "$APP_NS" link delete gone0
	wait "$app_pid" || true
	check_json "an interface that is removed is the reason why tapline has no figures" gone.json '.rungs[0].refused | test("No such device")'
}

several_queues() {
	ip -netns "$APP_NS" link add two0 numrxqueues 2 type veth peer name two1
	ip -netns "$APP_NS" link set two0 up
	ip -netns "$APP_NS" link set two1 up
	in_app "$TAPLINE" bench rx --seconds 0.01 --sizes 60 -i two0 --peer two1 --take --rungs recv,xdp-copy,dpdk-af_xdp --json \
		>queues.json 2>queues.log
	check_json "rungs that receive a single queue are refused on an interface with several" queues.json \
		'.rungs | map(.refused // "") | .[0] == "" and (.[1:] | all(test("queue 0 only.*ethtool -L")))'
	ip -netns "$APP_NS" link delete two0
}

unusable_senders() {
	ip -netns "$APP_NS" link set wire1 down
	refuses "a sending interface that is down is refused" "ip link set wire1 up" \
		in_app timeout 60 "$TAPLINE" bench rx -i wire0 --peer wire1
	ip -netns "$APP_NS" link set wire1 mtu 1000 up
	in_app timeout 60 "$TAPLINE" bench rx --seconds 0.01 --sizes 1514,60 --rungs recv -i wire0 --peer wire1 --json \
		>mtu.json 2>mtu.log || true
	check_json "frames above the MTU of the sending interface are refused with a reason" mtu.json '.rungs | map(.size_bytes) == [1514, 60] and
		(.[0].refused | test("1514 bytes on wire1: Message too long")) and .[1].check.received_pkts == 100'
	ip -netns "$APP_NS" link set wire1 mtu 1500
}

live_port() {
	in_app "$TAPLINE" bench rx --seconds 0.1 -i vdev:net_null0 --rungs dpdk-memory,dpdk-nic,tapline-nic --json >null.json 2>null.log
	jq -e '.rungs[1:] | map(.name) == ["dpdk-nic", "tapline-nic"] and all(.received_pps > 0 and .cpu_ns_per_pkt > 0)' null.json \
		>/dev/null
}

# Frames of net_null, which have no numbers.
live_ports() {
	check "a port without a sender has rates and costs" wait_for 60 live_port
	check_json "a port without a sender has no checks and no lossless rate" null.json '.host.own_traffic == false and
		.host.sender == null and (.rungs | all(.check == null and .loss_free_pps == null) and (.[0].refused | test("--peer")))'
}

# children_of PARENT: print the number of processes that PARENT started.
children_of() {
	pgrep -c -P "$1" || true
}

sends_for_an_hour() {
	(($(children_of "$app_pid") == 2))
}

ports_interrupted() {
	ip netns exec "$APP_NS" "$TAPLINE" bench rx -i wire0 --peer vdev:net_af_packet1,iface=wire1 --rungs udp,ring-v3 --sizes 60 \
		--seconds 3600 --json >cut.json 2>cut.log &
	app_pid=$!
	wait_for 60 sends_for_an_hour || func_die "the sending port does not run: $(<cut.log)"
	app_stop INT
	check_equal "a run with a sending port is interrupted" "$APP_STATUS" 1
	check_json "the result has the measurements before the interruption" cut.json '.interrupted and (.rungs | map(.name) == ["udp"])'
	check_equal "no process of the sending port remains" "$(members "$(in_app readlink /proc/self/ns/net)")" 0
}

# is_receiving RUNG: check whether its socket is on the interface.
is_receiving() {
	case $1 in
	xdp-* | dpdk-af_xdp) grep -q xdp <(ip -netns "$APP_NS" -details link show "$APP_IF") ;;
	*) (($(in_app cat /proc/net/packet | wc -l) > 2)) ;; # a heading, and the socket that holds promiscuous mode
	esac
}

# left_behind: print sockets and programs on the interface, its promiscuous mode, and files.
left_behind() {
	echo "$(in_app cat /proc/net/packet | tail -n +2 | wc -l)" \
		"$(ip -netns "$APP_NS" -details link show "$APP_IF" | grep -cE 'xdp|PROMISC|promiscuity [1-9]')" "$(find "$TMPDIR" -mindepth 1 | wc -l)"
}

# interrupted RUNG: the rejected udp comes first, so that there is output.
interrupted() {
	ip netns exec "$APP_NS" "$TAPLINE" bench rx -i "$APP_IF" --take --rungs "udp,$1" --seconds 3600 --json \
		>interrupted.json 2>interrupted.log &
	app_pid=$!
	wait_for 60 is_receiving "$1" || func_die "$1 does not receive: $(<interrupted.log)"
	app_stop INT
	check_equal "$1 is interrupted" "$APP_STATUS" 1
	check_json "$1: the result has the measurements before the interruption" \
		interrupted.json '.interrupted and (.rungs | map(.name) == ["udp"])'
	check_equal "$1 leaves nothing behind" "$(left_behind)" "0 0 0"
}

# huge_state: print the reserved hugepages of each size, the mounts through which programs share them, and the files in these.
huge_state() {
	grep . /sys/kernel/mm/hugepages/*/nr*_hugepages || true
	findmnt -rn -t hugetlbfs -o TARGET | while read -r mount; do find "$mount"; done
}

free_hugepages() {
	cat /sys/kernel/mm/hugepages/*/free_hugepages 2>/dev/null | awk '{ n += $1 } END { print n + 0 }'
}

# are_free PAGES: check that as many hugepages are free; other programs may return some of theirs later.
are_free() {
	(($(free_hugepages) >= $1))
}

private_interrupted() {
	local namespace own huge free
	own=$(readlink /proc/self/ns/net) huge=$(huge_state) free=$(free_hugepages)
	"$TAPLINE" bench rx --rungs tapline --seconds 3600 >private.txt 2>private.log &
	app_pid=$!
	wait_for 60 grep -qs tapline, private.log || func_die "the private ladder did not begin"
	namespace=$(readlink "/proc/$app_pid/ns/net")
	check "the benchmark runs in its own namespace" test "$namespace" != "$own"
	app_stop INT
	check_equal "an interrupted benchmark ends" "$APP_STATUS" 1
	check_equal "no process keeps its namespace" "$(members "$namespace")" 0
	check_equal "reserved hugepages, and files in them, are as before" "$(huge_state)" "$huge"
	if ((free == 0)); then
		skip "no hugepage is kept" "this host has no free ones"
	else
		check "no hugepage is kept" wait_for 60 are_free "$free"
	fi
	check_equal "no file remains" "$(find "$TMPDIR" -mindepth 1 | wc -l)" 0
}

func_begin
mkdir tmp
export TMPDIR=$DIR/tmp
wrong_calls
every_rung
check "the source in memory delivers frames" wait_for 120 memory_delivers
large_frames
keeps_frames
full_output
several_senders
tells_why
buffers_frames
loses_frames
counts_events
net_begin
real_traffic
sent_frames
on_ports
several_queues
tapline_fails
unusable_senders
live_ports
ports_interrupted
interrupted ring-v3-hash
if jq -e '.rungs | any(.name == "xdp-copy" and .refused == null)' all.json >/dev/null; then
	interrupted xdp-copy
	interrupted dpdk-af_xdp
else
	skip "xdp-copy leaves nothing behind" "this kernel refuses AF_XDP"
fi
private_interrupted
