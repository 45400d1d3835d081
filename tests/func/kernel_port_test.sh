#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Recording of a kernel interface through Tapline's AF_PACKET socket, compared with tcpdump: every frame, its bytes, its
# length on the wire and the kernel's timestamp, to the nanosecond.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

tcpdump_pid=''

# record IF OPTION...: record in the background; the results are in run.json and run.log when record_end returns.
record() {
	rm -f run.log
	ip netns exec "$APP_NS" "$TAPLINE" capture -i "$1" -w ours.pcapng --json "${@:2}" >run.json 2>run.log </dev/null &
	app_pid=$!
	wait_for 60 is_recording || true
	grep -qs " s  received" run.log || func_die "the recording did not begin: $(<run.log)"
}

is_recording() {
	grep -qs " s  received" run.log || is_gone "$app_pid"
}

# compare_begin IF OPTION...: record with both.
compare_begin() {
	rm -f tcpdump.log
	record "$@"
	ip netns exec "$APP_NS" tcpdump -Z root -n -i "$1" -B 65536 -U --time-stamp-precision=nano \
		-w theirs.pcap 2>tcpdump.log </dev/null &
	tcpdump_pid=$!
	wait_for 60 grep -qs "^tcpdump: listening" tcpdump.log || func_die "tcpdump does not listen: $(<tcpdump.log)"
}

# Print the number of frames received by tcpdump: the other socket has them, or will get them.
tcpdump_has() {
	(($(tshark -r theirs.pcap -Y "$2" 2>/dev/null | wc -l) >= $1))
}

# compare_end COUNT FILTER: compare when tcpdump has this number of frames of this kind, the last ones sent.
compare_end() {
	wait_for 60 tcpdump_has "$1" "$2" || not_ok "tcpdump sees $1 frames of $2" "$(<tcpdump.log)"
	stop_process "$tcpdump_pid" INT || true
	app_stop INT
}

# fields FILE [FIELD]: print lengths and a checksum of each frame, and the field. Sorted, as frames of two CPUs may have
# either order.
fields() {
	tshark -r "$1" -o frame.generate_md5_hash:TRUE -T fields ${2:+-e "$2"} -e frame.len -e frame.cap_len -e frame.md5_hash \
		2>/dev/null | sort
}

# same [FIELD]: check that both have the same frames.
same() {
	diff <(fields ours.pcapng "$@") <(fields theirs.pcap "$@") | head -n 10
	return "${PIPESTATUS[0]}"
}

count() {
	tshark -r ours.pcapng -Y "$1" 2>/dev/null | wc -l
}

ping_app() {
	in_peer ping -q -W 2 "$@" "$APP_IP" >/dev/null
}

first_cpu() {
	taskset -cp $$ | sed 's/.*: //; s/[,-].*//'
}

# Two recordings end one after the other: let no kernel ask for a neighbour in between.
know_each_other() {
	in_app ip neigh replace "$PEER_IP" lladdr "$(in_peer cat "/sys/class/net/$PEER_IF/address")" dev "$APP_IF" nud permanent
	in_peer ip neigh replace "$APP_IP" lladdr "$(in_app cat "/sys/class/net/$APP_IF/address")" dev "$PEER_IF" nud permanent
}

# ---- frames on the wire

frames_are_those_that_tcpdump_sees() {
	compare_begin "$APP_IF"
	in_peer taskset -c "$(first_cpu)" ping -q -W 2 -c 200 -i 0.002 "$APP_IP" >/dev/null
	ping_app -c 3 -i 0.01 -s 4000
	in_peer "$PEER_PY" tagged "$PEER_IF" 300 >/dev/null
	compare_end 300 'eth.type == 0x88b5 || vlan.etype == 0x88b5 || ieee8021ad'
	check_equal "SIGINT ends a recording of an interface with status 0" "$APP_STATUS" 0
	check "bytes, lengths and timestamps of each frame equal tcpdump's" same frame.time_epoch
	check_json "the ledger agrees with the kernel's count, and nothing is lost" run.json '.ledger_ok and .lossless and .port.verified'
	check_equal "fragments are recorded as fragments, three for each request and reply" \
		"$(count 'ip.flags.mf == 1 || ip.frag_offset > 0')" 18
	check_json "no frame counts as altered" run.json '.port.altered_pkts == 0'
	check_equal "an 802.1Q tag is kept with its priority" "$(count 'eth.type == 0x8100 && vlan.id == 5 && vlan.priority == 5')" 100
	check_equal "an 802.1ad tag is kept" "$(count 'eth.type == 0x88a8 && ieee8021ad.id == 7')" 200
	check_equal "nested tags are kept" "$(count 'ieee8021ad.id == 7 && vlan.id == 5')" 100
	check_equal "frames sent by the host are outbound" "$(count 'ip.src == 10.99.0.1 && frame.packet_flags_direction != 2')" 0
	check_equal "frames received by it are inbound" "$(count 'ip.src == 10.99.0.2 && frame.packet_flags_direction != 1')" 0
	check_equal "all replies to 200 pings are recorded" \
		"$(count 'icmp.type == 0 && frame.packet_flags_direction == 2 && ip.len == 84')" 200
	check_equal "frames sent by one CPU are in timestamp order" \
		"$(tshark -r ours.pcapng -Y 'icmp.type == 8 && ip.len == 84' -T fields -e frame.time_epoch 2>/dev/null | sort -nc && echo yes)" yes
	check "the file names the kernel as the timestamp source" grep -aq 'received and sent, timestamps: kernel' ours.pcapng
}

jumbo_frames() {
	in_peer ip link set "$PEER_IF" mtu 9000
	in_app ip link set "$APP_IF" mtu 9000
	compare_begin "$APP_IF"
	ping_app -c 20 -i 0.005 -s 8900
	compare_end 40 icmp
	check "jumbo frames are recorded like tcpdump does" same frame.time_epoch
	check_json "jumbo frames within the MTU do not count as altered" run.json '.ledger_ok and .port.altered_pkts == 0'
	in_app ip link set "$APP_IF" mtu 1500
	in_peer ip link set "$PEER_IF" mtu 1500
}

# TCP segments before segmentation by the kernel, which stamps those sent to another namespace once per socket.
long_segments() {
	in_peer ethtool -K "$PEER_IF" tx on sg on tso on gso on >/dev/null
	ip netns exec "$APP_NS" "$PEER_PY" read_all "$APP_IP" 7000 >/dev/null &
	wait_for 60 app_listens || func_die "the reader does not listen"
	compare_begin "$APP_IF"
	head -c 4000000 /dev/zero | in_peer timeout 20 nc -N "$APP_IP" 7000 || true
	compare_end 2 'tcp.flags.fin == 1'
	check "segments before TSO are recorded completely, like tcpdump does" same
	check_equal "their size is a multiple of the MTU" "$(($(count 'frame.len > 15000') > 0))" 1
	check_json "segments before TSO count as altered" run.json '.ledger_ok and .lossless and .port.altered_pkts > 0'
	check_json "no other frame counts as altered" run.json ".port.altered_pkts == $(count 'frame.len > 1522')"
	in_peer ethtool -K "$PEER_IF" tx off tso off gso off >/dev/null
}

app_listens() {
	[[ -n $(in_app ss -Hltn 'sport = :7000') ]]
}

# The MTU of the loopback interface permits frames whose length does not fit an mbuf. Its frames are sent and received;
# tcpdump omits the sent ones.
loopback() {
	compare_begin lo --direction rx
	in_app "$PEER_PY" datagrams 127.0.0.1 7001 65507 1 65500 40000 9 >/dev/null
	compare_end 5 'udp && !icmp'
	check "frames above 65535 bytes are recorded like tcpdump does" same frame.time_epoch
	check_equal "whole" "$(count 'frame.len == 65549 && frame.cap_len == 65549')" 1
	check_equal "with a snaplen they are truncated, and their length is kept" "$(
		"$TAPLINE" capture -i pcap:ours.pcapng -w cut.pcapng --snaplen 60 >/dev/null 2>&1 || true
		tshark -r cut.pcapng -Y 'frame.len == 65549 && frame.cap_len == 60' 2>/dev/null | wc -l
	)" 1
}

# ---- options

# A port that only records polls at intervals of milliseconds, and 50 pings come at once.
polled_stamps() {
	record "$APP_IF" --direction rx --timestamps tsc
	ping_app -c 100 -l 50 -i 0.002
	app_stop INT
	check_json "the report names the poll as the source of the stamps" run.json '.port.timestamps.source == "tsc" and .lossless'
	check "frames of one poll have one stamp, which the kernel never gives" \
		test "$(tshark -r ours.pcapng -Y 'icmp.type == 8' -T fields -e frame.time_epoch | sort -u | wc -l)" -lt 90
}

one_direction() {
	local queues
	for queues in 1 2; do
		record "$APP_IF" --direction rx --queues "$queues"
		ping_app -c 100 -i 0.002
		app_stop INT
		check_equal "direction rx with $queues queues records received frames" "$(count 'icmp.type == 8')" 100
		check_equal "no sent frame is recorded" "$(count 'ip.src == 10.99.0.1')" 0
		check_json "the kernel does not deliver the others" run.json \
			'.ledger_ok and .lossless and .port.rx_pkts < 150 and .port.rx_pkts == .captures[0].offered_pkts'
	done
	record "$APP_IF" --direction tx
	ping_app -c 100 -i 0.002
	app_stop INT
	check_equal "direction tx records sent frames" "$(count 'icmp.type == 0')" 100
	check_equal "no received frame is recorded" "$(count 'ip.src == 10.99.0.2')" 0
}

promiscuity() {
	in_app ip -d link show "$APP_IF" | grep -o 'promiscuity [0-9]*'
}

promiscuous() {
	record "$APP_IF"
	check_equal "the interface is promiscuous during the recording" "$(promiscuity)" 'promiscuity 1'
	app_stop INT
	check_equal "the interface is not promiscuous afterwards" "$(promiscuity)" 'promiscuity 0'
	record "$APP_IF" --no-promisc
	check_equal "with --no-promisc the interface is never promiscuous" "$(promiscuity)" 'promiscuity 0'
	app_stop INT
}

# With an echo the ring has a slot per frame; the recording is the same.
beside_an_echo() {
	app_config echo.json '"echo": [{"port": "lan", "udp_listen": 7}]' '"capture": [{"port": "lan", "path": "ours.pcapng"}]'
	app_start echo.json
	in_app "$PEER_PY" blast "$APP_IF" 30 ff:ff:ff:ff:ff:ff >/dev/null
	in_peer "$PEER_PY" blast "$PEER_IF" 20 ff:ff:ff:ff:ff:ff >/dev/null
	ping_app -c 3 -i 0.01
	in_peer "$PEER_PY" tagged "$PEER_IF" 30 >/dev/null
	in_peer ping -q -W 1 -c 2 -i 0.01 -s 4000 "$APP_IP" >/dev/null || true # the stack does not answer fragments
	wait_for 60 status_is '.captures[0] | .tx.written_pkts >= 33 and .rx.written_pkts >= 59' || true
	app_stop TERM
	check_json "with an echo the ledger is consistent" run.json '.ledger_ok and .lossless'
	check_equal "with an echo frames sent by the host are outbound" \
		"$(count 'eth.type == 0x88b5 && frame.packet_flags_direction == 2')" 30
	check_equal "with an echo received frames are inbound" "$(count 'eth.type == 0x88b5 && frame.packet_flags_direction == 1')" 20
	check_equal "replies of the stack are outbound" "$(count 'icmp.type == 0 && frame.packet_flags_direction == 2')" 3
	check_equal "with an echo fragments are recorded as fragments" \
		"$(count 'ip.src == 10.99.0.2 && (ip.flags.mf == 1 || ip.frag_offset > 0)')" 6
	check_equal "with an echo tags are kept" \
		"$(count 'eth.type == 0x8100 && vlan.id == 5') $(count 'eth.type == 0x88a8 && ieee8021ad.id == 7')" "10 20"
	check_json "no frame counts as altered, and none was delayed by a full queue" \
		run.json '.port.altered_pkts == 0 and .port.delayed_tx_pkts == 0'
	check "the stamps are those of the kernel" grep -aq 'received[^:]*timestamps: kernel' ours.pcapng
}

# ---- loss

# All of them fit into the ring, without a poll.
burst() {
	record "$APP_IF" --buffer 256M ether proto 0x88b5
	in_peer "$PEER_PY" flood "$PEER_IF" 300000 1000000000 >/dev/null
	app_stop INT
	check_json "a burst of 300000 frames is received without loss" \
		run.json '.ledger_ok and .lossless and .captures[0].written_pkts == 300000'
	check_equal "the burst is in the file" "$(capinfos -TMrc ours.pcapng | cut -f 2)" 300000
}

# At any time at which the account begins and ends.
under_traffic() {
	local i failed=0
	ip netns exec "$PEER_NS" "$PEER_PY" flood "$PEER_IF" 100000000 50000 >/dev/null 2>&1 &
	peer_pid=$!
	for i in 1 2 3 4 5; do
		ip netns exec "$APP_NS" timeout 60 "$TAPLINE" capture -i "$APP_IF" -w ours.pcapng --json --duration 0.1 --queues $((i % 2 + 1)) \
			>run.json 2>run.log </dev/null || failed=1
		jq -e '.ledger_ok and .lossless and .port.rx_pkts > 0 and .captures[0].written_pkts == .port.hw_seen_pkts' run.json >/dev/null || failed=1
		((failed == 0)) || break
	done
	stop_process "$peer_pid" || true
	check_equal "the account is exact under traffic, and the file contains all frames seen by the kernel" "$failed" 0
}

# sleeps_on N: tell whether the thread that receives sleeps on so many descriptors, in ppoll(). "running" has no arguments.
sleeps_on() {
	local task
	for task in "/proc/$app_pid/task"/*; do
		[[ $(<"$task/comm") != rte-worker* && $(<"$task/comm") != dpdk-w* ]] || [[ $(cut -d ' ' -f 3 "$task/syscall") == "0x$1" ]] || return 1
	done
}

naps() {
	record "$APP_IF"
	check "without traffic the first frame wakes the thread that receives" wait_for 60 sleeps_on 1
	peer_start "$PEER_PY" flood "$PEER_IF" 100000000 20000 >/dev/null
	check "with traffic it sleeps without being woken by frames" wait_for 60 sleeps_on 0
	stop_process "$peer_pid" || true
	check "and is woken again when the traffic has ended" wait_for 60 sleeps_on 1
	app_stop INT
	check_json "nothing is lost meanwhile" run.json '.ledger_ok and .lossless'
}

# look_until_received N: look how the thread that receives sleeps; tell whether N frames have been received.
look_until_received() {
	! sleeps_on 0 || napped=yes
	status_is ".port.rx_pkts > $1"
}

# With two recordings, the one with the smaller buffer decides.
does_not_nap() {
	local napped=no
	app_config two.json '"capture": [{"port": "lan", "path": "a.pcapng"}, {"port": "lan", "path": "b.pcapng", "buffer_bytes": "8M"}]'
	app_start two.json
	peer_start "$PEER_PY" flood "$PEER_IF" 100000000 20000 >/dev/null
	wait_for 60 look_until_received 20000 || func_die "too little is received: $(<run.log)"
	check_equal "for a small buffer frames wake the thread that receives" "$napped" no
	stop_process "$peer_pid" || true
	app_stop TERM
}

# ---- loss of the interface

down_and_up() {
	record "$APP_IF" icmp
	ping_app -c 10 -i 0.002
	in_peer ip link set "$PEER_IF" down
	check "link down of the peer is reported" wait_for 60 grep -q "$APP_IF has no link any more" run.log
	in_peer ip link set "$PEER_IF" up
	check "link up of the peer is reported" wait_for 60 grep -q "$APP_IF has a link" run.log
	in_app ip link set "$APP_IF" down
	check "an interface set down is reported" wait_for 60 grep -q "interface $APP_IF is down: reception resumes when it is up" run.log
	in_app ip link set "$APP_IF" up
	wait_for 60 ping_app -c 1 || true
	ping_app -c 10 -i 0.002
	app_stop INT
	check_equal "the recording continues with status 0" "$APP_STATUS" 0
	check_json "the ledger is consistent, and the report counts link losses" run.json '.ledger_ok and .lossless and
		.port.link_downs >= 1'
	check_equal "frames before and after are recorded" "$(($(count 'icmp.type == 8') >= 20))" 1
}

# DPDK's driver as a virtual device drops frames beyond its ring of 512, and counts none before 25.03.
virtual_device() {
	app_config kernel.json '"capture": [{"port": "lan", "path": "vdev.pcapng"}]'
	jq ".ports[0].device = \"vdev:net_af_packet0,iface=$APP_IF\"" kernel.json >vdev.json
	app_start vdev.json
	kill -STOP "$app_pid"
	in_peer "$PEER_PY" blast "$PEER_IF" 3000 "$(in_app cat "/sys/class/net/$APP_IF/address")" 100 >/dev/null
	kill -CONT "$app_pid"
	check "net_af_packet as a virtual device receives every frame of a burst" \
		wait_for 60 status_is '.port | .rx_pkts + .drop_nic_pkts >= 3000'
	app_stop TERM
	check_json "frames dropped by a full ring equal the kernel's count" run.json \
		'.ledger_ok and .lossless == false and (.port | .verified and .drops_known and .drop_nic_pkts >= 2000)'
}

no_ethernet() {
	if ! in_app ip tuntap add dev tun7 mode tun 2>/dev/null; then
		skip "an interface without Ethernet" "no tun device"
		return
	fi
	in_app ip link set tun7 up
	check_equal "an interface without Ethernet frames is refused" \
		"$(in_app timeout 20 "$TAPLINE" capture -i tun7 -w tun.pcapng >/dev/null 2>tun.log && echo 0 || echo $?)" 2
	check "the link type is given as the reason" grep -q 'interface tun7 carries no Ethernet frames' tun.log
}

removed() {
	record "$APP_IF" icmp
	ping_app -c 50 -i 0.002
	in_app ip link delete "$APP_IF"
	check "a recording ends when its interface is removed" wait_for 60 is_gone "$app_pid"
	app_stop INT
	check_equal "a removed interface yields status 1" "$APP_STATUS" 1
	check "the removal is reported as the reason" grep -q "interface $APP_IF is gone" run.log
	check_json "frames received before are accounted for" run.json '.ledger_ok and .lossless'
	check_equal "the frames received before are in the file" "$(count 'icmp.type == 8')" 50
}

func_begin
net_begin
beside_an_echo
ip -netns "$APP_NS" address add "$APP_IP/24" dev "$APP_IF"
know_each_other
frames_are_those_that_tcpdump_sees
jumbo_frames
long_segments
loopback
polled_stamps
one_direction
promiscuous
burst
under_traffic
naps
does_not_nap
down_and_up
virtual_device
no_ethernet
removed
