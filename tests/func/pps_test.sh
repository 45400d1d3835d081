#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# tapline pps: counts of a bounded sender on a veth pair with two queues, ports of an appliance, interfaces that appear
# and disappear.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

# pps OPTION...: run it in the appliance's namespace.
pps() {
	in_app timeout 60 "$TAPLINE" pps "$@" </dev/null
}

# status_of COMMAND...
status_of() {
	local status=0
	"$@" >/dev/null 2>&1 </dev/null || status=$?
	echo "$status"
}

# Two queues each way, and NAPI, which counts per queue; GRO enables it for veth.
make_veth() {
	netns_create "$APP_NS"
	netns_create "$PEER_NS"
	ip -netns "$APP_NS" link add "$APP_IF" numrxqueues 2 numtxqueues 2 type veth \
		peer name "$PEER_IF" numrxqueues 2 numtxqueues 2 netns "$PEER_NS"
	netns_link_up "$PEER_NS" "$PEER_IF"
	netns_link_up "$APP_NS" "$APP_IF"
	in_app ethtool -K "$APP_IF" gro on
}

# pps_start OPTION...: count until pps_stop, which leaves the report in pps.json.
pps_start() {
	: >pps.log
	ip netns exec "$APP_NS" "$TAPLINE" pps "$@" --json --interval 3600 >pps.json 2>pps.log </dev/null &
	pps_pid=$!
	wait_for 60 grep -q 'counting for' pps.log || func_die "pps did not start: $(<pps.log)"
}

pps_stop() {
	PPS_STATUS=0
	stop_process "$pps_pid" INT 60 || PPS_STATUS=$?
}

# send_frames N: send N frames of 100 bytes to the appliance's end, in enough flows for both queues.
send_frames() {
	in_peer python3 -c '
import socket, struct, sys
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
out.bind((sys.argv[1], 0))
for i in range(int(sys.argv[2])):
    ip = struct.pack("!BBHHHBBHBBBBBBBB", 0x45, 0, 86, i & 0xffff, 0, 64, 17, 0, 192, 0, 2, 1, 192, 0, 2, 2)
    udp = struct.pack("!HHHH", 1024 + i % 97, 9, 66, 0)
    out.send(b"\2\0\0\0\0\1\2\0\0\0\0\2\x08\0" + ip + udp + bytes(58))
' "$PEER_IF" "$1"
}

# received packets|bytes: print the kernel's count at the appliance's end.
received() {
	in_app cat "/sys/class/net/$APP_IF/statistics/rx_$1"
}

has_received() {
	(($(received packets) >= $1))
}

func_begin
make_veth
check_equal "a missing interface has exit status 2" "$(status_of in_app "$TAPLINE" pps nope0 --once)" 2
pps nope0 --once 2>err.txt || true
check "the message names it, and where to find a bound NIC" grep -q 'no interface nope0 .*no such port of an appliance' err.txt
check_equal "an interval of 0 has exit status 2" "$(status_of "$TAPLINE" pps --interval 0)" 2
check_equal "JSON pages have exit status 2" "$(status_of "$TAPLINE" pps --json -n 2)" 2
check_equal "one page and several have exit status 2" "$(status_of "$TAPLINE" pps --once -n 2)" 2
check_equal "an appliance without an answer is a failure" \
	"$(status_of in_app "$TAPLINE" pps --socket none.sock --once)" 1
check_equal "also if only interfaces of the kernel are asked for" \
	"$(status_of in_app "$TAPLINE" pps "$APP_IF" --socket none.sock --once --interval 0.1)" 1

pps_start "$APP_IF"
before=$(received packets)
bytes=$(received bytes)
send_frames 5000
wait_for 60 has_received $((before + 5000)) || func_die "the frames did not arrive"
bytes=$(($(received bytes) - bytes)) # with NAPI, veth counts them without the Ethernet header
pps_stop
check_equal "SIGINT ends the interval and prints the report" "$PPS_STATUS" 0
check_json "the count over the interval equals the sent packets" pps.json \
	".interfaces | length == 1 and (.[0] | .state == \"ok\" and .rx_pkts == 5000 and .rx_bytes == $bytes)"
check_json "rates are counts over the interval" pps.json \
	'.interval_ns as $ns | .interfaces[0] | (.rx_pps * $ns / 1e9 - 5000 | fabs) < 0.001 and
		(.rx_bps * $ns / 1e9 - .rx_bytes * 8 | fabs) < 1'
check_json "the queues together have all sent packets, and each has some" pps.json \
	".interfaces[0].queues | length == 2 and ([.[].rx_pkts] | add == 5000 and min > 0) and ([.[].rx_bytes] | add == $bytes)"
check_json "imbalance is the ratio of the busiest queue to the mean" pps.json \
	'.interfaces[0] | ([.queues[].rx_pkts] | max) / 2500 - .imbalance | fabs < 1e-9'
check_json "softirqs of the online CPUs are reported" pps.json \
	"(.softnet | length) == $(nproc --all) and ([.softnet[].processed_pkts] | add >= 5000)"

pps --once --interval 0.1 >page.txt
check_equal "by default all interfaces except lo are shown" "$(sed -n '2p' page.txt | cut -d ' ' -f 1)" "$APP_IF"
check_equal "--pages 1 prints one page" "$(grep -c '^interface' page.txt)" 1
check "the page has the queues" grep -q '^  queue 1 ' page.txt
check_equal "pages have no control sequences without a terminal" "$(grep -c $'\033' page.txt || true)" 0
TERM=xterm in_app script -qec "stty cols 80 rows 24; $TAPLINE pps $APP_IF --interval 0.1 -n 2" /dev/null </dev/null >tty.txt 2>&1 || true
check_equal "on a terminal each page is drawn over the one before" "$(grep -o $'\033\[H' tty.txt | wc -l)" 2
ip -netns "$APP_NS" link add quiet0 type ifb
pps quiet0 --once --interval 0.1 >page.txt
check "a named interface that is down is shown" grep -q '^quiet0 ' page.txt

ip -netns "$APP_NS" link property add dev quiet0 altname q0 altname an-altname-beyond-15-bytes
pps q0 an-altname-beyond-15-bytes --once --interval 0.1 --json >alt.json 2>alt.log || true
check_json "an alternative name, of any length, is that of its interface" alt.json '[.interfaces[].name] == ["quiet0"]'

pps_start quiet0
ip -netns "$APP_NS" link delete quiet0
pps_stop
check_equal "an interface that disappears fails a single page" "$PPS_STATUS" 1
check_json "a removed interface is listed without counts" \
	pps.json '.interfaces[0] | .state == "gone" and .rx_pkts == null and .queues == []'
ip -netns "$APP_NS" link add quiet0 type ifb
pps_start quiet0
ip -netns "$APP_NS" link delete quiet0
ip -netns "$APP_NS" link add quiet0 type ifb
pps_stop
check_json "a re-created interface is listed as new" pps.json '.interfaces[0] | .state == "new" and .rx_pkts == null'
ip -netns "$APP_NS" link delete quiet0
cp "$TAPLINE" tapline
chmod 755 "$DIR"
check "user nobody may read the counters" \
	in_app timeout 60 setpriv --reuid 65534 --regid 65534 --clear-groups ./tapline pps "$APP_IF" --once --interval 0.1

# A socket that takes questions, and does not answer the second. The shell has its background processes ignore SIGINT.
python3 -c '
import socket
asked = socket.socket(socket.AF_UNIX)
asked.bind("mute.sock")
asked.listen()
first = asked.accept()[0]
first.recv(100)
first.sendall(b"{}")
first.close()
client = asked.accept()[0]
client.recv(100)
open("asked", "w").close()
client.recv(1)' &
mute_pid=$!
wait_for 60 test -S mute.sock || func_die "the mute appliance does not listen"
"$TAPLINE" pps --socket mute.sock --interval 0.1 >mute.txt 2>mute.log </dev/null &
pps_pid=$!
wait_for 60 test -e asked || func_die "the mute appliance is not asked: $(<mute.log)"
PPS_STATUS=0
stop_process "$pps_pid" TERM 60 || PPS_STATUS=$?
check_equal "a signal ends it while it waits for an appliance" "$PPS_STATUS" 143
stop_process "$mute_pid" TERM 10 || true

app_config config.json '"capture": [{"port": "lan", "path": "out.pcapng"}]'
app_start config.json
pps_start lan --socket control.sock
send_frames 1000
wait_for 60 status_is '.ports[0].rx_pkts >= 1000' || true
pps_stop
check_json "a port of an appliance has the counts of its process" pps.json \
	'.interfaces[0] | .name == "lan" and .source == "appliance" and .rx_pkts == 1000 and ([.queues[].rx_pkts] | add == 1000)'
pps --socket control.sock --once --interval 0.1 --json >pps.json
check_json "a port on a kernel interface is listed once" pps.json "[.interfaces[].name] == [\"$APP_IF\"]"
app_stop INT
