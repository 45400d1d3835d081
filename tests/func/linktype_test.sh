#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Files of link types other than Ethernet in `tapline latency` and `tapline extract`: the same traffic behind each link
# header yields the same pairs, and tshark selects the same packets. `tcpdump -i any` writes some of them here.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

LIB=$(dirname "$PEER_PY")
FILTERS=(--trigger 'udp dst port 5001' --reply 'tcp src port 5002')
MESSAGES=200

# link_name NUMBER: print libpcap's name.
link_name() {
	case $1 in
	0) echo NULL ;;
	1) echo EN10MB ;;
	101) echo RAW ;;
	108) echo LOOP ;;
	113) echo LINUX_SLL ;;
	228) echo IPV4 ;;
	276) echo LINUX_SLL2 ;;
	esac
}

status_of() {
	local status=0
	timeout 60 "$TAPLINE" "$@" >/dev/null 2>last.log </dev/null || status=$?
	echo "$status"
}

# latency NAME ARG...: write results to NAME.json, pairs to NAME.csv.
latency() {
	local name=$1
	shift
	timeout 60 "$TAPLINE" latency --json --csv "$name.csv" "$@" >"$name.json" 2>"$name.log" </dev/null
}

# packets FILE [DISPLAY_FILTER]: print time and content of the packets, as read by tshark.
packets() {
	tshark -r "$1" ${2:+-Y "$2"} -T fields -e frame.time_epoch -e frame.len -e ip.src -e udp.payload -e tcp.seq_raw 2>/dev/null
}

# same_as_tshark SENTENCE FILE DISPLAY_FILTER ARG...
same_as_tshark() {
	local sentence=$1 file=$2 display=$3
	shift 3
	timeout 60 "$TAPLINE" extract "$file" -w found.pcapng "$@" >/dev/null 2>extract.log </dev/null
	packets "$file" "$display" >expected
	check "$sentence: packets exist" test -s expected
	check_equal "$sentence: the packets equal tshark's selection" "$(packets found.pcapng | sha256sum)" "$(sha256sum <expected)"
}

every_link_type() {
	local number name
	editcap -F nsecpcap both.pcapng both.pcap 2>/dev/null
	latency ethernet both.pcap "${FILTERS[@]}"
	check_json "the pairs are known" ethernet.json '.matched == 1000 and .valid and .latency_ns.p50 == 1499'
	for number in 0 101 108 113 228 276; do
		name=$(link_name "$number")
		"$LIB/relink.py" both.pcap "$name.pcap" "$number"
		latency "$name" "$name.pcap" "${FILTERS[@]}"
		check "behind headers of $name each pair is the same" cmp ethernet.csv "$name.csv"
		same_as_tshark "$name by filter" "$name.pcap" 'tcp.srcport == 5002 && tcp.len == 32' 'tcp src port 5002' and \
			'tcp[tcpflags] & tcp-syn == 0'
		same_as_tshark "$name by port and host" "$name.pcap" 'udp.port == 5001' --port 5001 --host 192.0.2.1
		check_equal "$name: the link type is kept" "$(capinfos -E found.pcapng | sed -n 's/^File encap.*: *//p')" \
			"$(capinfos -E "$name.pcap" | sed -n 's/^File encap.*: *//p')"
	done
	"$LIB/relink.py" both.pcap big.pcap 0 big
	latency big big.pcap "${FILTERS[@]}"
	check "address families of a big-endian host are read" cmp ethernet.csv big.csv
	latency copied LINUX_SLL2.pcap "${FILTERS[@]}" -w copy.pcapng
	check_equal "the copy with marked pairs keeps the link type" \
		"$(tshark -r copy.pcapng -Y 'frame.comment && sll' 2>/dev/null | wc -l)" 2000
}

several_link_types() {
	mergecap -F pcapng -w mixed.pcapng both.pcap RAW.pcap LINUX_SLL2.pcap 2>/dev/null
	latency mixed mixed.pcapng "${FILTERS[@]}" --unique
	check_json "a file may have several link types" mixed.json '.matched == 1000 and .facts.trigger_copies == "2000"'
	latency pair RAW.pcap LINUX_SLL.pcap "${FILTERS[@]}"
	check "a pair of files may have different link types" cmp ethernet.csv pair.csv
	same_as_tshark "several link types" mixed.pcapng 'udp' --port 5001
}

what_is_not_read_is_said() {
	"$LIB/relink.py" both.pcap radio.pcap 127
	check_equal "an unknown link type is refused: status 2" "$(status_of latency radio.pcap "${FILTERS[@]}")" 2
	check "the message has file, name and number of the link type" \
		grep -q 'radio.pcap: link type IEEE802_11_RADIO (127) is not supported; supported types: .*RAW (101)' last.log
	mergecap -a -F pcapng -w radio.pcapng both.pcap radio.pcap 2>/dev/null
	check_equal "an unknown link type within a file is refused" "$(status_of latency radio.pcapng "${FILTERS[@]}")" 1
	check "the message names it" grep -q 'radio.pcapng: link type IEEE802_11_RADIO (127) is not supported' last.log
	check_equal "a filter that a link type does not support is refused with status 2" \
		"$(status_of latency RAW.pcap --trigger 'ether src 1:2:3:4:5:6' --reply tcp)" 2
	check "the message names the link type" grep -q -e '--trigger, link type RAW (101): filter .*ethernet addresses' last.log
	check_equal "packets of an unknown link type are not parsed" "$(status_of extract radio.pcap --port 5001 -w out.pcapng)" 1
	check "a message reports the unknown link type" \
		grep -q 'radio.pcap: packets of link type IEEE802_11_RADIO (127) cannot be looked into' last.log
	check_equal "packets of other link types are parsed" \
		"$(status_of extract radio.pcapng --port 5001 -w out.pcapng) $(packets out.pcapng | wc -l)" "1 1000"
	check_equal "packets of an unknown link type can be selected by time" "$(status_of extract radio.pcap --from @1 -w out.pcapng)" 0
	check_equal "all of them are selected" "$(packets out.pcapng | wc -l)" 2001
}

# dump NAME ARG...: capture all messages and their replies until it ends by itself.
dump() {
	local name=$1
	shift
	ip netns exec "$PEER_NS" timeout 60 tcpdump -n --time-stamp-precision nano -c $((2 * MESSAGES)) -w "$name.pcap" "$@" \
		udp port 5001 2>"$name.log" </dev/null &
	wait_for 60 grep -q 'listening on' "$name.log" || func_die "tcpdump $* does not begin"
}

any_interface() {
	local name
	net_begin
	netns_address "$APP_NS" "$APP_IF" "$APP_IP/24"
	dump wire -i "$PEER_IF"
	dump any1 -i any -y LINUX_SLL
	dump any2 -i any -y LINUX_SLL2
	in_peer timeout 60 python3 -c "
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('$PEER_IP', 5001))
for _ in range($MESSAGES):
    s.sendto(*s.recvfrom(2048))" &
	wait_for 60 in_peer sh -c 'ss -Huln | grep -q :5001' || func_die "no echo"
	in_app timeout 60 python3 -c "
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(('$PEER_IP', 5001))
for i in range($MESSAGES):
    s.send(b'message %06d' % i)
    s.recv(2048)"
	wait
	for name in wire any1 any2; do
		latency "$name" "$name.pcap" --trigger 'udp dst port 5001' --reply 'udp src port 5001'
		check_json "tcpdump's $name has each message and its reply" "$name.json" \
			".matched == $MESSAGES and .unmatched_triggers == 0 and .unmatched_replies == 0 and .ambiguous == 0"
		check_equal "the packet numbers are equal" \
			"$(cut -d, -f6,7 "$name.csv" | sha256sum)" "$(cut -d, -f6,7 wire.csv | sha256sum)"
	done
	check_json "the header marks sent frames" any1.json '.method == "rx-tx"'
	check_json "both versions of the header mark sent frames" any2.json '.method == "rx-tx"'
	same_as_tshark "answers on any interface" any2.pcap 'sll.pkttype == 4' outbound
	same_as_tshark "messages to any interface" any1.pcap "sll.pkttype == 0 && ip.dst == $PEER_IP" inbound and host "$PEER_IP"
}

func_begin
"$LIB/make_pairs.py"
every_link_type
several_link_types
what_is_not_read_is_said
any_interface
