#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Demo: other tools check its claims against the recording, and it cleans up.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

demo=$func_root/tools/demo.sh

host_state() {
	cat /proc/sys/vm/nr_hugepages
	grep -c hugetlbfs /proc/mounts || true
}

# left_by PID: processes left behind by the demo that ran as this process, in a separate session. A zombie waits for init.
left_by() {
	ip netns list | grep "tapline-$1-" || true
	ps -o pid=,stat=,args= -s "$1" | awk '$2 !~ /^Z/' || true
	[[ $(host_state) == "$host_before" ]] || echo "hugepages: $(host_state | tr '\n' ' ')"
}

# In a separate session, to identify its processes; with SIGINT as from a terminal.
demo_start() {
	setsid env --default-signal=INT "$demo" "$@" >demo.txt 2>demo.log </dev/null &
	demo_pid=$!
}

complaints() {
	{ tshark -r "$1" >/dev/null && capinfos "$1" >/dev/null; } 2>&1 | grep -v '^Running as user' || true
}

fields() {
	tshark -r out/capture.pcapng -Y "$1" -T fields -e "$2" 2>/dev/null
}

echoed='ip.src == 10.99.0.1 && tcp.len > 0 && !tcp.analysis.retransmission && !tcp.analysis.fast_retransmission'

runs_and_proves() {
	local status=0
	demo_start --out out
	wait "$demo_pid" || status=$?
	check_equal "the demo ends with status 0" "$status" 0
	check_equal "the demo leaves nothing" "$(left_by "$demo_pid")" ""
	check_json "all 5000 messages were echoed, none corrupt" out/client.json '.sent == 5000 and .received == 5000 and
		.lost == 0 and .corrupt == 0 and .duplicates == 0 and .reordered == 0'
	check_json "the ledger is consistent and nothing was lost" out/run.json '.ledger_ok and .lossless'
	check_json "the residence time of each message was measured" out/run.json \
		'.echo.residence_ns | .count == 5000 and .source == "tsc" and .p50 > 0'
	check "the latency table is printed" grep -q '^round trip .*[0-9]' demo.txt
	check "the ledger is printed" grep -q '^ledger: ok' demo.txt
	check "the path of the recording is printed" grep -qF "$PWD/out/capture.pcapng" demo.txt
	check_equal "the table compares the default and polling with two kernel relays, by socat's median" \
		"$(sed -n '/^round trip, us/,/^$/p' demo.txt | grep -cE '^(Tapline (default|polling)|kernel (socat|polling relay)) .* [0-9.]+$')" 4
	jq -s . out/compare/{kernel_{socat,polling_relay},Tapline_{default,polling}}.json >compared.json || true
	check_json "each relay echoed, and Tapline lost nothing" compared.json \
		'length == 4 and all(.[]; .received > 0) and all(.[2:][]; .lost == 0)'
	check "a distribution of each is drawn" \
		[ "$(grep -c '^\(Tapline \(default\|polling\)\|kernel \(socat\|polling relay\)\)  *[.:=+*#%@-]' demo.txt)" -ge 4 ]
	check "the page shows the same distributions" grep -q '<text[^>]*>kernel socat</text>' out/latency.html
	check_equal "capinfos and tshark read the recording without a warning" "$(complaints out/capture.pcapng)" ""
	check_equal "the recording contains 5000 multicast messages" "$(fields 'udp.dstport == 5001' udp.length | wc -l)" 5000
	check_equal "the recording contains 5000 echoed payloads of 16 bytes" \
		"$(fields "$echoed" tcp.len | awk '{n += $1} END {print n}')" 80000
	check "messages and echoes are identical, in order" cmp <(fields 'udp.dstport == 5001' udp.payload | tr -d '\n') \
		<(fields "$echoed" tcp.payload | tr -d '\n')
	check "capinfos and the ledger count the same frames" [ \
		"$(capinfos -TmrcM out/capture.pcapng | cut -f 2 -d ,)" = "$(jq '.captures[0].written_pkts' out/run.json)" ]
}

is_interrupted() {
	local signal=$1 expected=$2 status=0
	demo_start --out out2 --seconds 60
	wait_for 60 grep -qs ', sent ' out2/client.log || true
	check "$signal: the client is sending" grep -q ', sent ' out2/client.log
	kill -s "$signal" "$demo_pid"
	wait "$demo_pid" || status=$?
	check_equal "$signal ends the demo with status $expected" "$status" "$expected"
	check_equal "$signal leaves nothing" "$(left_by "$demo_pid")" ""
}

fails_honestly() {
	local status=0
	demo_start --out out3 --payload 3
	wait "$demo_pid" || status=$?
	check_equal "an impossible payload has exit status 2" "$status" 2
	status=0
	demo_start --out out3
	wait_for 60 grep -qs ', sent ' out3/client.log || true
	pkill -KILL -s "$demo_pid" -f '/tapline run ' || true
	wait "$demo_pid" || status=$?
	check_equal "when the appliance fails the demo ends with status 1" "$status" 1
	check_equal "a failed demo leaves nothing" "$(left_by "$demo_pid")" ""
}

func_begin
host_before=$(host_state)
runs_and_proves
is_interrupted INT 130
is_interrupted TERM 143
fails_honestly
