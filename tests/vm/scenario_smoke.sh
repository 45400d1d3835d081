# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# Scenario smoke: checks on the host of Tapline on a PCI NIC, with the kernel on another. Sourced by run.sh.

# frames FILE: print lengths and bytes of each frame.
frames() {
	tshark -r "$1" -T fields -e frame.len -e frame.cap_len 2>/dev/null
	tshark -r "$1" -x 2>/dev/null
}

same_frames() {
	diff <(frames "$1") <(frames "$2") | head -n 10
	return "${PIPESTATUS[0]}"
}

# has_row ROW PATTERN: check the table of the port's capabilities printed by `tapline run`.
has_row() {
	grep -Eq "^    $1  +$2\$" out/echo.log || { head -n 20 out/echo.log && false; }
}

judge_port() {
	check_equal "the NIC is bound to vfio-pci" "$(cat out/driver)" vfio-pci
	check "behind the IOMMU" grep -q '^[0-9]' out/iommu_group
	check "the table of the port names its driver" has_row driver net_e1000_igb
	check "its MAC" has_row MAC 02:00:00:00:00:05
	check "its link" has_row link '1000 Mbit/s'
	check "its queues" has_row queues '1 of 16 receive, 1 of 16 send'
	check "that it has RSS" has_row RSS yes
	check "a filter for multicast" has_row multicast 'MAC filter'
	check "what is known of its family" has_row family 'igb .*, by vfio-pci'
	check "as documented" grep -qx ' *as documented' out/echo.log
	check "and who counts its drops" has_row 'drop counters' "the driver's"
}

judge_frames() {
	check_equal "2000 frames were sent" "$(cat out/sent)" 2000
	check_equal "the recording ends with status 0" "$(cat out/frames.status)" 0
	check_json "all are in the ledger, and it holds" out/frames.json '.ledger_ok and .lossless and
		.port.hw_seen_pkts == 2000 and .captures[0].written_pkts == 2000'
	check_json "the MAC counted each of them" out/frames.json '.port.mac_seen_pkts == 2000'
	check "frames to foreign addresses too, byte for byte" same_frames out/in.pcap out/frames.pcapng
}

judge_queues() {
	check_json "of two queues the ledger holds" out/queues.json '.ledger_ok and .lossless'
	check_equal "each of 200 flows is there once" \
		"$(tshark -r out/queues.pcapng -T fields -e udp.dstport 2>/dev/null | sort | uniq -c | grep -c '^ *1 5')" 200
	check_equal "RSS gave frames to both queues" \
		"$(tshark -r out/queues.pcapng -T fields -e frame.interface_id 2>/dev/null | sort -u | wc -l)" 2
}

judge_echo() {
	check "ping is answered" grep -q '20 received' out/ping.log
	check_json "UDP comes back unchanged" out/udp.json '.sizes == 6 and .wrong == []'
	check_json "200000 bytes of TCP come back unchanged" out/tcp.json '.same and .fin'
	check_equal "SIGTERM ends the echo with status 0" "$(cat out/echo.status)" 0
	check_json "its ledger holds and nothing was lost" out/echo.json '.ledger_ok and .lossless'
	check_equal "pings of both directions are recorded" \
		"$(tshark -r out/echo.pcapng -Y icmp -T fields -e frame.packet_flags_direction 2>/dev/null | sort | uniq -c | xargs)" \
		"20 0x00000001 20 0x00000002"
}

judge_checksums() {
	check "while what is sent is recorded the processor makes the checksums" has_row 'TX checksums' 'yes, not used'
	check "else the NIC does" grep -Eq '^    TX checksums +yes$' out/by_nic.log
	check_json "datagrams come back with those that it makes" out/by_nic_udp.json '.sizes == 6 and .wrong == []'
	check_json "and 200000 bytes of TCP" out/by_nic_tcp.json '.same and .fin'
	check_json "its ledger holds" out/by_nic.json '.ledger_ok and .lossless'
	check_equal "SIGTERM ends that with status 0" "$(cat out/by_nic.status)" 0
}

# arrive_at TCP_PORT: print the interfaces of the recording, one per queue, with received segments from this port.
arrive_at() {
	tshark -r out/steer.pcapng -Y "tcp.srcport == $1" -T fields -e frame.interface_name -e frame.interface_id 2>/dev/null |
		sort -u | wc -l
}

first_interface() {
	tshark -r out/steer.pcapng -Y "tcp.srcport == $1" -T fields -e frame.interface_id 2>/dev/null | head -n 1
}

judge_steering() {
	check_json "the first lcore connects ten times" out/accept0.json '.accepted == 10'
	check_json "and the second" out/accept1.json '.accepted == 10'
	check_equal "all that the first one's peer answers arrives on one queue" "$(arrive_at 6000)" 1
	check_equal "and all that the second one's answers" "$(arrive_at 6001)" 1
	check "on another" test "$(first_interface 6000)" != "$(first_interface 6001)"
	check_json "a TCP echo on the second lcore is reached" out/steer_tcp.json '.same and .fin'
	check_json "what arrived on the other queue was handed over" out/steer.json '.ledger_ok and .lossless and
		.port.handoff_pkts > 0 and .port.handoff_pkts == .port.handoff_taken_pkts'
	check_equal "it ends with status 0" "$(cat out/steer.status)" 0
}

# to GROUP: print the number of datagrams in the recording.
to() {
	tshark -r out/groups.pcapng -Y "udp && ip.dst == $1" 2>/dev/null | wc -l
}

judge_groups() {
	check_json "market data of one group comes back from one lcore" out/groups0.json '.same == 10'
	check_json "and of another group from the other" out/groups1.json '.same == 10'
	check "by the filter of the NIC" grep -Eq '^    multicast +MAC filter$' out/groups.log
	check_equal "80 datagrams of each are recorded" "$(to 239.1.1.1) $(to 239.1.1.2)" "80 80"
	check_json "those of a third group were sent" out/groups_other.json '.sent == 20'
	check "before a ping that is answered" grep -q '1 received' out/groups_ping.log
	check_equal "and did not come in" "$(to 239.200.3.7)" 0
	check_json "every message is in the ledger, and every frame in the recording" out/groups.json '.ledger_ok and .lossless and
		([.echoes[].echoed_msgs] == [80, 80]) and .captures[0].written_pkts == .captures[0].offered_pkts and
		.captures[0].written_pkts > 160 and .port.link == "up" and .port.link_downs == 0'
	check_equal "it ends with status 0" "$(cat out/groups.status)" 0
}

judge_client() {
	check_json "the client on the other NIC, through vfio-pci, gets every message back" out/client.json '.sent == 100 and
		.received == .sent and .lost == 0 and .ledger_ok and .transport == "port"'
	check_json "each was echoed once" out/pair.json '.ledger_ok and .lossless and .echo.received_msgs == 100 and
		.echo.echoed_msgs == 100'
	check_equal "what was received and sent is in the file" "$(capinfos -Trc out/pair.pcapng | cut -f 2)" \
		"$(jq '.port.rx_pkts + .port.tx_pkts' out/pair.json)"
	check_equal "the appliance ends with status 0" "$(cat out/pair.status)" 0
}

# limit_in REPORT: print the value of the check for the virtual function.
limit_in() {
	jq -r '.checks[] | select(.id == "pci.limits").read | split("; ")[]' "out/$1.json" | grep -F "$(cat out/vf)"
}

judge_trust() {
	check_equal "doctor names a virtual function that is not trusted, and whose it is" "$(limit_in vf_untrusted)" \
		"$(cat out/vf), not trusted: it gets frames of its own address alone"
	check_equal "and one that is" "$(limit_in vf_trusted)" "$(cat out/vf), trusted"
}

smoke() {
	"$func_root/tests/lib/make_pcap.py" out/in.pcap 2000
	vm_boot "$vm_dir/guest_smoke.sh" "${nics[@]}"
	vm_end
	judge_port
	judge_frames
	judge_queues
	judge_echo
	judge_checksums
	judge_steering
	judge_groups
	judge_client
	judge_trust
}
