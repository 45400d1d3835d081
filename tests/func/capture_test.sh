#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Recording, checked with tshark and capinfos: from a file with known frames and times, to a pipe, and from a kernel
# interface.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

capture() {
	timeout 60 "$TAPLINE" capture "$@" 2>capture.log </dev/null
}

# frames FILE [OPTION...]: print time, lengths and bytes of each frame, as read by tshark.
frames() {
	tshark -r "$@" -T fields -e frame.number -e frame.time_epoch -e frame.len -e frame.cap_len 2>/dev/null
	tshark -r "$@" -x 2>/dev/null
}

same_frames() {
	diff <(frames "$1") <(frames "$2") | head -n 10
	return "${PIPESTATUS[0]}"
}

# Print warnings of other tools about this file, except the one about running as root.
complaints() {
	{
		tshark -r "$1" -o nameres.network_name:false >/dev/null
		capinfos "$1" >/dev/null
		tcpdump -nr "$1" >/dev/null
	} 2>&1 | grep -v -e '^Running as user' -e '^reading from file' || true
}

count_frames() {
	tshark -r "$@" 2>/dev/null | wc -l
}

func_begin
"$(dirname "$PEER_PY")/make_pcap.py" in.pcap 5000

capture -i pcap:in.pcap -w out.pcapng --json >run.json || true
check_json "all 5000 frames are in the ledger" run.json '.ledger_ok and .lossless and .port.hw_seen_pkts == 5000 and
	.port.verified and .captures[0].written_pkts == 5000 and .captures[0].files == ["out.pcapng"]'
check "frames and nanosecond timestamps equal the input" same_frames in.pcap out.pcapng
check_equal "no reader reports an error in the recording" "$(complaints out.pcapng)" ""
check_equal "the file is accessible to owner and group only" "$(stat -c %a out.pcapng)" 640
check "a recording is accepted as input" capture -i pcap:out.pcapng -w again.pcapng
check "the input is unchanged" same_frames in.pcap again.pcapng

cp in.pcap before.pcap && ln -s in.pcap link.pcap
for path in in.pcap ./in.pcap "$DIR/in.pcap" link.pcap; do
	check_equal "a file is not recorded over while it is read: ${path#"$DIR"}" \
		"$(capture -i pcap:in.pcap -w "$path" >/dev/null && echo 0 || echo $?)" 2
done
check "the refused file is unchanged" cmp in.pcap before.pcap

capture -i pcap:in.pcap -w udp.pcapng --json udp port 5001 >run.json || true
check_equal "a filter selects matching frames" "$(count_frames udp.pcapng -Y 'udp.dstport == 5001')" 2500
check_json "frames that do not match are counted" run.json \
	'.ledger_ok and (.captures[0] | .written_pkts == 2500 and .filtered_pkts == 2500)'
check_json "the result names the engine of the filter" run.json '.captures[0].filter_engine | test("^(jit|bpf_filter: .+)$")'
capture -i pcap:in.pcap -w loop.pcapng --json ip protochain 17 and port 5001 >run.json || true
check_json "a filter without native code selects the same frames" run.json '.captures[0] |
	.written_pkts == 2500 and .filtered_pkts == 2500 and (.filter_engine | startswith("bpf_filter: "))'
check "the missing native code is reported" grep -q 'loop.pcapng: filter engine: bpf_filter: ' capture.log
check_equal "an invalid filter has exit status 2" \
	"$(capture -i pcap:in.pcap -w bad.pcapng 'port port' >/dev/null && echo 0 || echo $?)" 2

capture -i pcap:in.pcap -w snap.pcapng --snaplen 96 >/dev/null || true
check_equal "snaplen truncates the bytes, not the original length" \
	"$(tshark -r snap.pcapng -T fields -e frame.len -e frame.cap_len 2>/dev/null)" \
	"$(tshark -r in.pcap -T fields -e frame.len 2>/dev/null | awk '{print $1 "\t" ($1 < 96 ? $1 : 96)}')"

capture -i pcap:in.pcap -w count.pcapng --count 100 --json >run.json || true
check_equal "--count 100 records 100 frames" "$(count_frames count.pcapng)" 100
check_json "the ledger is consistent" run.json '.ledger_ok and .captures[0].written_pkts == 100'

check_equal "tshark reads a recording from a pipe" \
	"$(capture -i pcap:in.pcap -w - | tshark -r - 2>/dev/null | wc -l)" 5000
check_equal "a reader that exits early ends the recording" \
	"$(capture -i pcap:in.pcap -w - | head -c 1000 | wc -c)" 1000

capture -i vdev:net_null0 -w /dev/null --duration 0.5 --json >run.json || true
check_json "an endless source ends with --duration" run.json '.ledger_ok and .port.rx_pkts > 0'

# refused SENTENCE PORT MESSAGE
refused() {
	local status=0
	capture -i "$2" -w x.pcapng >/dev/null || status=$?
	check_equal "$1 is refused" "$status" 2
	check "the reason is reported" grep -qF "tapline: error: port port0: $3" capture.log
}
head -c 4096 /dev/zero >junk.pcap
refused "a file in another format" pcap:junk.pcap "junk.pcap, byte 0: neither pcap nor pcapng"
check "DPDK is not started" test "$(wc -l <capture.log)" -eq 1
refused "a missing file" pcap:none.pcap "none.pcap: No such file"
refused "a virtual device without a driver" vdev:net_nobody0 "no driver of this DPDK creates net_nobody0: "
check_equal "a missing PORT has exit status 2" "$(capture -w x.pcapng && echo 0 || echo $?)" 2
check_equal "a missing interface is an error" \
	"$(capture -i nosuch0 -w x.pcapng >/dev/null && echo 0 || (($? != 0 && $? < 124)) && echo refused)" refused

# Record 1000 pings from the kernel's own interface, both directions.
net_begin
ip -netns "$APP_NS" address add "$APP_IP/24" dev "$APP_IF"
ip netns exec "$APP_NS" "$TAPLINE" capture -i "$APP_IF" -w veth.pcapng --json icmp >run.json 2>run.log </dev/null &
app_pid=$!
check "the recording of an interface starts" wait_for 60 test -s veth.pcapng -o ! -e "/proc/$app_pid"
wait_for 60 grep -q ' s  received' run.log || true
check "the kernel replies during the recording" in_peer ping -q -c 1000 -i 0.001 -W 10 "$APP_IP"
app_stop INT
check_equal "SIGINT ends the recording with status 0" "$APP_STATUS" 0
check_json "the ledger of the interface is consistent" run.json '.ledger_ok and .port.verified'
check_equal "the file contains 1000 requests" "$(count_frames veth.pcapng -Y 'icmp.type == 8')" 1000
check_equal "no reader reports an error" "$(complaints veth.pcapng)" ""
