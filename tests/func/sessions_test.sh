#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# `tapline replay --sessions`: HTTP sessions of the kernel's TCP, recorded by tcpdump, are played against the same
# server, and against servers with different answers. The server's log and the kernel's sockets are checked.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

SERVER=$(dirname "$PEER_PY")/session_server.py
PORT=8080 SESSIONS=${TL_SESSIONS:-20}
LEDGER='.ledger_ok and .found_sessions + .copied_sessions == ([to_entries[] | select((.key | endswith("_sessions")) and
	(.key | IN("found_sessions", "copied_sessions", "waited_sessions", "beyond_sessions") | not)) | .value] | add)'
STATUS=0

log_has() {
	[[ $(wc -l <server.txt) -eq $1 ]]
}

# every_line_comes N: check that each line of the log occurs N times.
every_line_comes() {
	cut -d' ' -f1 server.txt | sort | uniq -c >counts.txt
	[[ $(awk '{print $1}' counts.txt | sort -u) == "$1" && $(wc -l <counts.txt) -eq $SESSIONS ]]
}

# replay ARG...: write the report to replay.json, the status to STATUS.
replay() {
	STATUS=0
	in_app timeout 200 "$TAPLINE" replay -i "$APP_IF" --from "$APP_IP/24" --timeout 100 --json "$@" >replay.json 2>replay.log </dev/null || STATUS=$?
}

# open_connections: print open connections of the servers.
open_connections() {
	in_peer ss -Htn state established state close-wait state fin-wait-1 state fin-wait-2 state last-ack "sport >= :$PORT and sport <= :$((PORT + 4))" | wc -l
}

# nothing_is_open: check that the kernel has no open connection.
nothing_is_open() {
	[[ $(open_connections) -eq 0 ]]
}

leaves_nothing() {
	check "$1: no connection is left in the kernel" wait_for 20 nothing_is_open
}

# has_fins N: check whether the recording has this many FINs, the last segments that occupy a sequence number.
has_fins() {
	[[ $(tcpdump -n -r rec.pcap 'tcp[tcpflags] & tcp-fin != 0' 2>/dev/null | wc -l) -ge $1 ]]
}

record() {
	peer_start "$SERVER" serve "$PEER_IP" "$PORT" server.txt >server.log 2>&1
	wait_for 30 grep -qs listening server.log || func_die "the server does not listen"
	ip netns exec "$PEER_NS" tcpdump -n -i "$PEER_IF" -s 0 -B 16384 --time-stamp-precision=nano -U --immediate-mode -w rec.pcap tcp 2>tcpdump.log </dev/null &
	local tcpdump_pid=$!
	wait_for 30 grep -qs 'listening on' tcpdump.log || func_die "tcpdump does not listen"
	netns_address "$APP_NS" "$APP_IF" "$APP_IP/24"
	in_app "$SERVER" ask "$PEER_IP" "$PORT" "$SESSIONS" || func_die "the sessions failed"
	wait_for 60 log_has "$SESSIONS" || func_die "the server has not seen all sessions"
	ip -netns "$APP_NS" address flush dev "$APP_IF"
	wait_for 30 has_fins $((2 * SESSIONS)) || func_die "tcpdump has not seen the end of all sessions"
	stop_process "$tcpdump_pid" TERM 20 || true
}

# lands SENTENCE ROW PORT ARG...: check that all sessions are counted in this row.
lands() {
	local sentence=$1 row=$2 port=$3
	shift 3
	replay rec.pcap --line-rate --sessions "$PEER_IP:$port" "$@"
	check_equal "$sentence: status 1" "$STATUS" 1
	check_json "$sentence: its row" replay.json "$LEDGER and .$row == $SESSIONS and (.failures | length) == ([$SESSIONS, 64] | min) and all(.failures[]; .row == \"$row\")"
	leaves_nothing "$sentence"
}

stops_cleanly() {
	ip netns exec "$APP_NS" "$TAPLINE" replay rec.pcap --line-rate -i "$APP_IF" --from "$APP_IP/24" --sessions "$PEER_IP:$((PORT + 3))" --scale 3 \
		--at-a-time 30 --timeout 600 --json >replay.json 2>replay.log </dev/null &
	local replay_pid=$!
	check "a server that stalls has as many connections as are allowed at a time" wait_for 60 has_connections 30
	STATUS=0
	stop_process "$replay_pid" INT 30 || STATUS=$?
	check_equal "Ctrl-C ends with status 0" "$STATUS" 0
	check_json "what was open and what had not begun is counted" replay.json \
		"$LEDGER and .stopped and .stopped_sessions == 30 and .unsent_sessions == 3 * $SESSIONS - 30"
	leaves_nothing "Ctrl-C"
}

# True once the port's socket receives: the link is awaited from then on.
has_packet_socket() {
	in_app grep -q '^[0-9a-f]' /proc/net/packet
}

# The link is awaited for 10 s.
stops_without_link() {
	local replay_pid sessions
	ip -netns "$PEER_NS" link set "$PEER_IF" down
	for sessions in "--from $APP_IP/24 --sessions $PEER_IP" ""; do
		# shellcheck disable=SC2086
		ip netns exec "$APP_NS" "$TAPLINE" replay rec.pcap -i "$APP_IF" --line-rate $sessions --json >replay.json 2>replay.log </dev/null &
		replay_pid=$!
		wait_for 60 has_packet_socket
		STATUS=0
		stop_process "$replay_pid" INT 4 || STATUS=$?
		check_equal "Ctrl-C ends the wait for the link (${sessions:-frames})" "$STATUS" 0
		check_json "and nothing was sent" replay.json '.stopped and .ledger_ok and (.sent_bytes // .sent_pkts) == 0'
	done
	ip -netns "$PEER_NS" link set "$PEER_IF" up
}

has_connections() {
	[[ $(open_connections) -eq $1 ]]
}

log6_has() {
	[[ $(wc -l <server6.txt) -eq $1 ]]
}

# has_fins6 N: the same of a recording over IPv6, which tcpdump's expressions of flags do not select.
has_fins6() {
	[[ $(tcpdump -n -r rec6.pcap tcp 2>/dev/null | grep -c 'Flags \[F') -ge $1 ]]
}

has_datagrams() {
	[[ $(tcpdump -n -r udp.pcap udp 2>/dev/null | wc -l) -ge $1 ]]
}

# UDP flows of 3 datagrams, each answered by two: by count or by time, to a server that answers otherwise, or not.
plays_datagrams() {
	local tcpdump_pid flows=20
	ip netns exec "$PEER_NS" tcpdump -n -i "$PEER_IF" -s 0 --time-stamp-precision=nano -U --immediate-mode -w udp.pcap udp 2>tcpdumpu.log </dev/null &
	tcpdump_pid=$!
	wait_for 30 grep -qs 'listening on' tcpdumpu.log || func_die "tcpdump does not listen"
	netns_address "$APP_NS" "$APP_IF" "$APP_IP/24"
	in_app "$SERVER" ask-udp "$PEER_IP" "$PORT" $flows || func_die "the datagrams failed"
	ip -netns "$APP_NS" address flush dev "$APP_IF"
	wait_for 30 has_datagrams $((9 * flows)) || func_die "tcpdump has not seen all datagrams"
	stop_process "$tcpdump_pid" TERM 20 || true
	replay udp.pcap --udp --sessions "$PEER_IP" --line-rate
	check_equal "UDP flows: status 0" "$STATUS" 0
	check_json "UDP flows: each is answered as recorded" replay.json "$LEDGER and .completed_sessions == $flows and .used_pkts == 9 * $flows and
		.target_response_ns.count == 3 * $flows and .udp"
	replay udp.pcap --udp --sessions "$PEER_IP" --wait time --speed 100 --scale 2 --from 10.99.0.20-10.99.0.24/24
	check_json "by time, and two copies" replay.json "$LEDGER and .completed_sessions == 2 * $flows"
	lands_udp "a server that answers otherwise" diverged_sessions $((PORT + 1))
	lands_udp "a server that does not answer" unanswered_sessions $((PORT + 3)) --timeout 0.3
	replay udp.pcap --sessions "$PEER_IP" --line-rate
	check_json "without --udp they are ignored" replay.json "$LEDGER and .found_sessions == 0 and .ignored_pkts == 9 * $flows"
}

lands_udp() {
	local sentence=$1 row=$2 port=$3
	shift 3
	replay udp.pcap --udp --line-rate --sessions "$PEER_IP:$port" "$@"
	check_json "UDP: $sentence" replay.json "$LEDGER and .$row == 20 and all(.failures[]; .row == \"$row\")"
}

# The sessions recorded over IPv4 are played against an IPv6 server, from several addresses; the recording of that against the same.
plays_over_ipv6() {
	local tcpdump_pid
	net_ip6
	peer_start "$SERVER" serve "$PEER_IP6" "$PORT" server6.txt >server6.log 2>&1
	wait_for 30 grep -qs listening server6.log || func_die "the IPv6 server does not listen"
	ip netns exec "$PEER_NS" tcpdump -n -i "$PEER_IF" -s 0 -B 16384 --time-stamp-precision=nano -U --immediate-mode -w rec6.pcap ip6 2>tcpdump6.log </dev/null &
	tcpdump_pid=$!
	wait_for 30 grep -qs 'listening on' tcpdump6.log || func_die "tcpdump does not listen"
	replay rec.pcap --sessions "[$PEER_IP6]:$PORT" --line-rate --from 2001:db8:99::fe-2001:db8:99::101/64
	check_equal "an IPv6 server: status 0" "$STATUS" 0
	check_json "each session completes there" replay.json "$LEDGER and .completed_sessions == $SESSIONS and .target == \"$PEER_IP6\" and
		.from == \"2001:db8:99::fe\" and .addresses == 4"
	check "the server has seen each session" wait_for 20 log6_has "$SESSIONS"
	check_equal "in equal shares from four addresses" "$(cut -d' ' -f2 server6.txt | sort | uniq -c | awk '{print $1}' | uniq -c)" \
		"      4 $((SESSIONS / 4))"
	wait_for 30 has_fins6 $((2 * SESSIONS)) || func_die "tcpdump has not seen the end of all sessions over IPv6"
	stop_process "$tcpdump_pid" TERM 20 || true
	replay rec6.pcap --sessions "$PEER_IP6" --line-rate --from "$APP_IP6/64"
	check_json "sessions recorded over IPv6 complete over IPv6" replay.json "$LEDGER and .completed_sessions == $SESSIONS and .found_sessions == $SESSIONS"
	leaves_nothing "IPv6"
}

# Each frame is recorded twice, in a VLAN and in another one within a second tag.
plays_tagged() {
	python3 -c 'import struct
data, at, out = open("rec.pcap", "rb").read(), 24, open("tagged.pcap", "wb")
out.write(data[:24])
while at < len(data):
    seconds, fraction, captured, length = struct.unpack_from("<IIII", data, at)
    frame = data[at + 16:at + 16 + captured]
    for tags in (struct.pack(">HH", 0x8100, 0x6007), struct.pack(">HHHH", 0x88a8, 0x64, 0x8100, 7)):
        out.write(struct.pack("<IIII", seconds, fraction, captured + len(tags), length + len(tags)))
        out.write(frame[:12] + tags + frame[12:])
    at += 16 + captured'
	replay tagged.pcap --sessions "$PEER_IP" --line-rate
	check_equal "sessions in VLANs: status 0" "$STATUS" 0
	check_json "those of two VLANs are two, and complete" replay.json "$LEDGER and .found_sessions == 2 * $SESSIONS and
		.completed_sessions == .found_sessions and .tagged_pkts == .used_pkts and .tagged_pkts > 0 and .vlan == null"
	replay tagged.pcap --sessions "$PEER_IP:$((PORT + 4))" --any-vlan --line-rate
	check_json "with --any-vlan they are one, and its copy" replay.json "$LEDGER and .found_sessions == $SESSIONS and .any_vlan
		and .refused_sessions == $SESSIONS and all(.failures[]; .vlans == [])"
	replay tagged.pcap --sessions "$PEER_IP:$((PORT + 4))" --line-rate
	cp replay.json vlans.json # for its schema
	check_json "a failure names its VLANs" replay.json "$LEDGER and ([.failures[].vlans] | unique) == [[7], [100, 7]]"
	leaves_nothing "sessions in VLANs"
}

# While the sessions were recorded the clock was set back by three hours, and later forward by a year.
plays_across_clock_steps() {
	python3 -c 'import struct
data, at, frames = open("rec.pcap", "rb").read(), 24, []
while at < len(data):
    captured = struct.unpack_from("<I", data, at + 8)[0]
    frames.append(data[at:at + 16 + captured])
    at += 16 + captured
def save(name, net, step_of):
    with open(name, "wb") as out:
        out.write(data[:24])
        for i, frame in enumerate(frames):
            frame = bytearray(frame)
            frame[44] = frame[48] = net # third byte of the addresses
            struct.pack_into("<I", frame, 0, struct.unpack_from("<I", frame)[0] + step_of(i / len(frames)))
            out.write(frame)
YEAR = 31536000
save("steps.pcap", 0, lambda part: 0 if part < 0.5 else -10800 if part < 0.75 else YEAR)
save("next_year.pcap", 1, lambda part: YEAR)'
	replay steps.pcap --sessions "$PEER_IP" --wait time --speed 20 --max-gap 2s
	check_equal "sessions across steps of the recorded clock: status 0" "$STATUS" 0
	check_json "none waits for the hours or the year" replay.json "$LEDGER and .completed_sessions == $SESSIONS and .elapsed_ns < 60e9 and
		.max_gap_ns == 2e9 and .shortened_gaps == 1 and .recorded_response_ns.max < 4e9"
	ip netns exec "$APP_NS" "$TAPLINE" replay rec.pcap next_year.pcap -i "$APP_IF" --from "$APP_IP/24" --sessions "$PEER_IP" >later.txt 2>later.log </dev/null &
	local replay_pid=$!
	check "without --max-gap the line of progress has the time until the next session" \
		wait_for 30 grep -q 'in progress, the next one in 31[0-9.]* s' later.log
	stop_process "$replay_pid" INT 30 || true
}

# With its transmit offloads the peer leaves checksums incomplete.
warns_of_checksums() {
	in_peer ethtool -K "$PEER_IF" tx on >/dev/null
	replay rec.pcap --sessions "$PEER_IP" --line-rate --timeout 0.5
	check "replies dropped for their checksums are named" grep -q 'frames from the target were dropped for wrong checksums: .*ethtool -K' replay.log
	in_peer ethtool -K "$PEER_IF" tx off >/dev/null
}

# The peer announces the own address all the time.
warns_of_conflicts() {
	local claimer_pid
	ip netns exec "$PEER_NS" python3 -c 'import socket, sys, time
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
wire.bind((sys.argv[1], 0))
mac, ip = wire.getsockname()[4], socket.inet_aton(sys.argv[2])
while True:
    wire.send(b"\xff" * 6 + mac + b"\x08\x06\x00\x01\x08\x00\x06\x04\x00\x01" + mac + ip + bytes(6) + ip)
    time.sleep(0.05)' "$PEER_IF" "$APP_IP" &
	claimer_pid=$!
	replay rec.pcap --sessions "$PEER_IP:$((PORT + 3))" --line-rate --timeout 0.5
	stop_process "$claimer_pid" TERM 10 || true
	check "another host with the own address is named" grep -q 'another host claims an address of --from' replay.log
}

# The peer has no such VLAN: only ARP requests come.
plays_in_a_vlan() {
	local replay_pid status=0
	peer_start timeout 60 tcpdump -n -i "$PEER_IF" -c 1 -w own.pcap vlan 9 and arp 2>tcpdumpv.log
	wait_for 30 grep -qs 'listening on' tcpdumpv.log || func_die "tcpdump does not listen"
	ip netns exec "$APP_NS" "$TAPLINE" replay rec.pcap --line-rate -i "$APP_IF" --from "$APP_IP/24" --sessions "$PEER_IP" --vlan add:9 \
		--json >replay.json 2>replay.log </dev/null &
	replay_pid=$!
	wait "$peer_pid" || status=$?
	check_equal "with --vlan add:9 own frames are in that VLAN" "$status" 0
	stop_process "$replay_pid" INT 30 || true
	check_json "which the report names, and untagged replies are not heard" replay.json "$LEDGER and .vlan == 9 and .completed_sessions == 0"
}

func_begin
net_begin
record

replay rec.pcap --sessions "$PEER_IP" --speed 20
check_equal "the same server: status 0" "$STATUS" 0
check_json "each session completes, with the recorded port" replay.json \
	"$LEDGER and .found_sessions == $SESSIONS and .completed_sessions == $SESSIONS and .target_port == null and .failures == []"
check_json "response times of the target are beside those recorded" replay.json \
	'.target_response_ns.count > 0 and .target_response_ns.count == .recorded_response_ns.count and .recorded_response_ns.p50 > 0'
check "the server has seen each session again, byte for byte" wait_for 20 every_line_comes 2
leaves_nothing "the same server"

replay rec.pcap --sessions "$PEER_IP:$PORT" --line-rate --scale 10 --from "10.99.0.20-10.99.0.24/24"
check_equal "ten copies: status 0" "$STATUS" 0
check_json "ten copies of each complete" replay.json "$LEDGER and .completed_sessions == 10 * $SESSIONS and .copied_sessions == 9 * $SESSIONS"
check "the server has seen ten more of each" wait_for 20 every_line_comes 12
check_equal "they come in equal shares from five addresses" "$(grep -o '10[.]99[.]0[.]2[0-9]$' server.txt | sort | uniq -c | awk '{print $1}' | uniq -c)" \
	"      5 $((2 * SESSIONS))"
leaves_nothing "ten copies"

lands "a server that answers otherwise" diverged_sessions $((PORT + 1))
check_json "where it differed is told: at the body of the first answer" replay.json \
	'all(.failures[]; .differs_at == ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n" | length))'
lands "a server that resets" reset_by_target_sessions $((PORT + 2))
lands "a server that stalls" timeout_sessions $((PORT + 3)) --timeout 0.5
lands "a server that is not there" refused_sessions $((PORT + 4))
stops_cleanly

replay rec.pcap --sessions "$PEER_IP" --line-rate --compare length 'tcp[tcpflags] & tcp-syn == 0'
check_json "sessions whose SYN is not in the recording are not played" replay.json \
	"$LEDGER and .incomplete_no_syn_sessions > 0 and .incomplete_no_syn_sessions == .found_sessions and .sent_bytes == 0 and .filtered_pkts > 0"
head -c -100 rec.pcap >torn.pcap
replay torn.pcap --sessions "$PEER_IP" --line-rate
check_equal "a damaged file: status 1" "$STATUS" 1
check_json "a damaged file: what is there is played, the place is named" replay.json \
	"$LEDGER and .completed_sessions >= $SESSIONS - 1 and .damages == 1 and (.damaged[0] | test(\"torn.pcap\"))"

plays_tagged
plays_across_clock_steps
warns_of_checksums
warns_of_conflicts
plays_in_a_vlan
stops_without_link
plays_datagrams
plays_over_ipv6

refuses "own addresses of another family are refused" "--from takes an address of the target's family, IPv6" "$TAPLINE" replay rec.pcap \
	-i "$APP_IF" --sessions "[$PEER_IP6]:80" --from "$APP_IP/24"
refuses "the same the other way round" "--from takes an address of the target's family, IPv4" "$TAPLINE" replay rec.pcap -i "$APP_IF" \
	--sessions "$PEER_IP" --from "$APP_IP6/64"
refuses "an IPv6 range must not have the target" "is an address of --from" "$TAPLINE" replay rec.pcap -i "$APP_IF" --sessions "$PEER_IP6" \
	--from 2001:db8:99::1-2001:db8:99::9/64
refuses "an IPv6 target off the prefix is refused" "not in the prefix" "$TAPLINE" replay rec.pcap -i "$APP_IF" --sessions 2001:db8::7 \
	--from "$APP_IP6/64"
refuses "a target off the prefix is refused" "not in the prefix" "$TAPLINE" replay rec.pcap -i "$APP_IF" --sessions 192.0.2.7 --from "$APP_IP/24"
refuses "a range of addresses must not have the target" "is an address of --from" "$TAPLINE" replay rec.pcap -i "$APP_IF" \
	--sessions "$PEER_IP" --from 10.99.0.1-10.99.0.9/24
for from in 10.99.0.0 10.99.0.255 10.99.0.0-10.99.0.1 10.99.0.250-10.99.0.255; do
	refuses "$from/24 is refused: an address is not of a host" "--from takes addresses of hosts" "$TAPLINE" replay rec.pcap -i "$APP_IF" \
		--sessions "$PEER_IP" --from "$from/24"
done
refuses "sessions need an own address" "give --from" "$TAPLINE" replay rec.pcap -i "$APP_IF" --sessions "$PEER_IP"
refuses "edits of frames do not go with sessions" "--sessions goes with" "$TAPLINE" replay rec.pcap -i "$APP_IF" --sessions "$PEER_IP" \
	--from "$APP_IP/24" --ttl 3
refuses "nor do other edits of VLANs" "--sessions goes with" "$TAPLINE" replay rec.pcap -i "$APP_IF" --sessions "$PEER_IP" \
	--from "$APP_IP/24" --vlan strip
refuses "nor is 0 a VLAN" "takes 1 to 4094" "$TAPLINE" replay rec.pcap -i "$APP_IF" --sessions "$PEER_IP" --from "$APP_IP/24" --vlan add:0
refuses "options of sessions need --sessions" "go with --sessions" "$TAPLINE" replay rec.pcap -i "$APP_IF" --scale 3
