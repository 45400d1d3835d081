# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034,SC2154
# The scenario steer: flow rules on net_tap and igb, and tunnels of the guest's kernel, judged on the host. Sourced by
# run.sh.

source "$func_root/tests/lib/overlay.sh"

# conf NAME DEVICE RULE...: write a configuration with two queues and these rules, each on a line.
conf() {
	local name=$1 device=$2 huge=''
	shift 2
	[[ $device != vdev:* ]] || huge='"huge": false, '
	{
		echo "{\"ports\": [{\"name\": \"lan\", \"device\": \"$device\", \"rx_queues\": 2, \"idle\": \"adaptive\", \"flow_rules\": ["
		echo "$1"
		printf ',%s\n' "${@:2}"
		echo "]}], \"eal\": {$huge\"memory_mb\": 256}, \"control\": {\"socket\": \"control.sock\"},"
		echo "\"capture\": [{\"port\": \"lan\", \"path\": \"$name.pcapng\", \"buffer_bytes\": \"16M\"}]}"
	} >"out/$name.conf"
}

# frames FILE [PROTO DST PORT N]...: write frames.
frames() {
	"$func_root/tests/ixgbe/lib/flows.py" "out/$1" "${@:2}"
}

prepare() {
	local rules=('{"dst_ip": "239.1.1.1", "proto": "udp", "dst_port": 5001, "queue": 1}' '{"dst_ip": "10.1.0.0/16", "queue": 1}'
		'{"dst_ip": "10.2.0.1", "proto": "tcp", "queue": 0}' '{"dst_ip": "2001:db8:1::/48", "proto": "udp", "queue": 1}'
		'{"dst_ip": "192.0.2.0/24", "drop": true}')
	conf tap vdev:net_tap0,iface=dtap0 "${rules[@]}"
	conf killed vdev:net_tap0,iface=dtap0,remote=near0 "${rules[@]}"
	conf remote vdev:net_tap0,iface=dtap0,remote=near0 "${rules[@]}"
	conf conflict vdev:net_tap0,iface=dtap0 "${rules[@]}" '{"dst_ip": "239.1.0.0/16", "queue": 0}'
	frames tap.pcap udp 239.1.1.1 5001 40 udp 239.1.1.1 5002 41 udp 10.1.2.3 9 30 icmp 10.1.2.3 0 5 tcp 10.2.0.1 80 25 \
		udp 10.2.0.1 80 20 udp 2001:db8:1::5 7 33 udp 2001:db8:2::5 7 34 udp 192.0.2.7 9 15 tcp 192.0.2.8 80 16
	echo 228 >out/tap.wanted # all but those that are dropped
	rules=('{"dst_ip": "239.1.1.1", "proto": "udp", "dst_port": 5001, "queue": 1}' '{"dst_ip": "10.0.0.1", "proto": "tcp", "queue": 1}'
		'{"dst_ip": "10.1.0.0/16", "proto": "udp", "queue": 1}' '{"dst_ip": "192.0.2.7", "drop": true}')
	conf igb 0000:00:05.0 "${rules[@]}"
	mapfile -t rules < <(seq -f '{"proto": "tcp", "dst_port": %.0f, "queue": 1}' 1 9)
	conf nine 0000:00:05.0 "${rules[@]}"
	frames igb.pcap udp 239.1.1.1 5001 60 tcp 10.0.0.1 80 50 udp 10.1.0.1 80 20 udp 192.0.2.7 9 15
}

# queues_of NAME FILTER: print the queues at which frames arrived, each with their number.
queues_of() {
	tshark -r "out/$1.pcapng" -Y "$2" -T fields -e frame.interface_id 2>/dev/null | sort | uniq -c | awk '{ print $2 ":" $1 }' | xargs
}

# judge_rules NAME: check the rules of net_tap.
judge_rules() {
	check_equal "$1: all frames were sent" "$(cat "out/$1.sent")" 259
	check_json "$1: all rules are installed" "out/$1.json" '[.port.flow_rules[] | [.outcome, .by, .hits_pkts]] ==
		[range(5) | ["installed", "flower filter", null]]'
	check_equal "$1: frames of a group and port come to the queue of their rule" "$(queues_of "$1" 'udp.dstport == 5001')" 1:40
	check_equal "$1: those of a prefix, too, with and without ports" "$(queues_of "$1" 'ip.dst == 10.1.0.0/16')" 1:35
	check_equal "$1: those of a protocol" "$(queues_of "$1" 'ip.dst == 10.2.0.1 && tcp')" 0:25
	check_equal "$1: those of a prefix of IPv6" "$(queues_of "$1" 'ipv6.dst == 2001:db8:1::/48')" 1:33
	check "$1: others come to both queues" grep -Eqx '0:[0-9]+ 1:[0-9]+' <(queues_of "$1" \
		'udp.dstport == 5002 || (ip.dst == 10.2.0.1 && udp) || ipv6.dst == 2001:db8:2::5')
	check_json "$1: what a rule drops does not arrive, is no loss, and is reported as not counted" "out/$1.json" '.ledger_ok and
		.port.rx_pkts == 228 and .port.drop_rule_pkts == null and .lossless == null and .captures[0].written_pkts == 228'
	check_equal "$1: it ends with status 0" "$(cat "out/$1.status")" 0
}

judge_tap() {
	judge_rules tap
	check_equal "tap: the kernel has a filter per rule" "$(grep -c 'flower.*handle' out/tap.filters)" 5
	check_equal "tap: the interface ends with the process" "$(cat out/tap.gone.status)" 1
	check "tap: no message says that a rule stays" lacks 'not removed' out/tap.log
	check_equal "two rules that match the same frame are refused" "$(cat out/conflict.status)" 2
	check "by path and line" grep -qF 'conflict.conf:7: $.ports[0].flow_rules[5]: a frame may match entry 0, too' out/conflict.log
}

judge_remote() {
	judge_rules remote
	check_equal "remote: after a SIGKILL the kernel receives nothing" "$(cat out/killed.status out/killed.ping.status | xargs)" "137 1"
	check "remote: the next start installs the same filters" same_filters
	check_equal "remote: at the end none is left" "$(cat out/remote.after)" ""
	check_equal "remote: and the kernel receives again" "$(cat out/remote.ping.status)" 0
	check "remote: no message says that a rule stays" lacks 'not removed' out/remote.log
}

same_filters() {
	[[ $(filters killed) == "$(filters remote)" ]] && grep -q dst_ip out/remote.filters
}

# filters NAME: print the matches of filters.
filters() {
	grep -E '^  (dst|ip_proto|eth_type)' "out/$1.filters" | sort # the kernel lists filters by handle, a random number
}

# lacks TEXT FILE: check that the text is not in the file.
lacks() {
	! grep -F "$1" "$2"
}

# writes_to_igb: print the driver's writes to its first two filters, from QEMU's trace of registers that the card lacks: index,
# queue and protocol, or "off". FTQF: drivers/net/e1000/base/e1000_regs.h:599 and e1000_ethdev.h:78, DPDK v22.11.11.
writes_to_igb() {
	sed -n 's/.*unknown register 0x59e\([04]\),.*value: 0x\([0-9a-f]*\).*/\1 \2/p' qemu.log | while read -r offset value; do
		if ((0x$value & 0x100)); then
			echo "$((offset / 4)):$((0x$value >> 16 & 0x3ff)):$((0x$value & 0xff))"
		else
			echo "$((offset / 4)):off"
		fi
	done | xargs
}

judge_igb() {
	check_json "igb: the plan's rules are installed, others are not, and none is counted" out/igb.json \
		'[.port.flow_rules[] | [.outcome, .by, .refused_item, .hits_pkts]] == [["installed", "5-tuple filter", null, null],
		["installed", "5-tuple filter", null, null], ["instead", null, "dst_ip", null], ["instead", null, "drop", null]]'
	check_equal "igb: the driver enables a filter for each, and disables it at the end" "$(writes_to_igb)" \
		"0:1:17 1:1:6 0:off 1:off"
	check "igb: which the emulated card does not have: their frames come by RSS" grep -Eqx '0:[0-9]+ 1:[0-9]+' \
		<(queues_of igb 'udp.dstport == 5001')
	check_json "igb: every frame is recorded, and the ledger holds" out/igb.json '.ledger_ok and .lossless and .port.rx_pkts == 145 and
		.port.drop_rule_pkts == 0 and .captures[0].written_pkts == 145'
	check_equal "igb: it ends with status 0" "$(cat out/igb.status)" 0
	check "igb: --explain prints the plan" grep -qF 'tcp -> queue 1: planned, 5-tuple filter 2 of 8' out/explained.log
	check_equal "igb: more rules than filters are refused" "$(cat out/nine.status)" 2
	check "igb: by path and line, before anything starts" \
		grep -qF 'nine.conf:10: $.ports[0].flow_rules[8]: one rule more than this NIC holds: 8' out/nine.log
}

steer() {
	local kind
	prepare
	vm_words=vm_modules=steer
	vm_boot "$vm_dir/guest_steer.sh" "${nics[@]}" -trace e1000e_wrn_regs_write_unknown
	vm_end
	judge_tap
	judge_remote
	judge_igb
	cd out || exit
	for kind in vxlan geneve gre gretap; do
		overlay_judge "$kind"
	done
	cd ..
}
