#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# `tapline replay` over a veth, checked by the kernel at the other end: frames, order, times, skipped frames, and the
# end of the run.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

LIB=$(dirname "$PEER_PY")
IDENTITY='.ledger_ok and .read_pkts + .added_pkts == .sent_pkts + .filtered_pkts + .skipped_linktype_pkts + .skipped_truncated_pkts +
	.skipped_short_pkts + .skipped_long_pkts + .skipped_damaged_pkts + .skipped_seek_pkts + .unsent_pkts + .refused_pkts and
	.read_pkts + .added_pkts == .sent_pkts + .filtered_pkts + .skipped_pkts + .unsent_pkts + .refused_pkts'
STATUS=0
SNAPLEN=2000

listens_to_wire() {
	grep -qs 'listening on' tcpdump.log
}

# watch_wire FRAMES: record the peer's received frames to got.pcap, until this number has arrived.
watch_wire() {
	rm -f got.pcap tcpdump.log
	peer_start timeout 60 tcpdump -n -i "$PEER_IF" -Q in -s "$SNAPLEN" -B 16384 --time-stamp-precision=nano -c "$1" -w got.pcap \
		ether src 02:00:00:00:00:01 2>tcpdump.log
	wait_for 30 listens_to_wire || func_die "tcpdump does not listen"
}

# seen_all SENTENCE: tcpdump ends when it has the requested number.
seen_all() {
	local status=0
	wait "$peer_pid" || status=$?
	check_equal "$1" "$status" 0
}

# replay ARG...: write the report to replay.json, the status to STATUS.
replay() {
	STATUS=0
	cat replay.log >>replays.log 2>/dev/null || true
	in_app timeout 60 "$TAPLINE" replay "$@" --json >replay.json 2>replay.log </dev/null || STATUS=$?
}

# comes_whole SENTENCE SENT.pcap FRAMES ARG...: replay it, and compare the frames received by the peer.
comes_whole() {
	local sentence=$1 sent=$2 frames=$3
	shift 3
	watch_wire "$frames"
	replay -i "$APP_IF" "$@"
	check_equal "$sentence: status 0" "$STATUS" 0
	seen_all "$sentence: all frames come"
	check "$sentence: byte for byte, in order" "$LIB/judge_replay.py" same "$sent" got.pcap replay.json
	check_json "$sentence: the ledger says so" replay.json "$IDENTITY and .sent_pkts == $frames and .hw_sent_pkts >= $frames"
}

# ---- frames that arrive

times_are_kept() {
	local start=$(($(date +%s) + 4)) # the program must be ready by then
	watch_wire 400
	replay a.pcap -i "$APP_IF" --start-at "@$start" --speed "$1"
	check_equal "at speed $1 from a given time on: status 0" "$STATUS" 0
	seen_all "at speed $1 from a given time on: all frames come"
	check "at speed $1: byte for byte, in order" "$LIB/judge_replay.py" same a.pcap got.pcap replay.json
	check "at speed $1: no frame before it was due, and no later than the report says" \
		"$LIB/judge_replay.py" times a.pcap got.pcap replay.json "${start}000000000"
	check_json "at speed $1: each frame's lateness was recorded" replay.json '.lateness_ns.count == 400 and
		.lateness_ns.min <= .lateness_ns.p50 and .lateness_ns.p50 <= .lateness_ns.max and .reader_late_pkts <= 400'
	check_json "at speed $1: the run's time has not left the kernel's" replay.json \
		'(.drift_ns | fabs) <= .drift_bound_ns + 0.001 * .elapsed_ns'
}

# The kernel stamps a frame when the interface's driver takes it. Frames are stamped 20 ms apart.
lateness_up_to_the_driver() {
	comes_whole "with the kernel's stamps" a.pcap 400 a.pcap --speed 0.5 --wire-stamps
	check_json "lateness up to the interface's driver is that of the kernel's stamps, not of a NIC's" replay.json '
		.lateness_wire_source == "kernel-tx" and .lateness_wire_ns.count > 1 and .wire_lost_pkts == 0 and .lateness_wire_ns.count <= 50 and
		.lateness_wire_ns.min + .lateness_wire_bound_ns >= .lateness_ns.min and .lateness_wire_ns.min > 0 and
		.lateness_wire_ns.min <= .lateness_wire_ns.p50 and .lateness_wire_bound_ns > 0'
	cp replay.json wire.json # for its schema
	replay a.pcap -i "$APP_IF" -I vdev:net_null0 --split filter:udp --speed 0.5 --wire-stamps
	check_json "of two ports only the interface has stamps" replay.json \
		"$IDENTITY and .lateness_wire_source == \"kernel-tx\" and .lateness_wire_ns.count > 0 and .ports[1].sent_pkts == 200"
	check "and the other one a warning" grep -q 'wire-stamps: vdev:net_null0: its driver stamps no sent frames' replay.log
}

forms_are_read() {
	"$TAPLINE" extract a.pcap -w a.pcapng 2>/dev/null >/dev/null
	mkdir rec
	"$TAPLINE" capture -i pcap:a.pcap -w rec/a.pcapng.zst --compress zstd >/dev/null 2>capture.log
	comes_whole "a pcapng file" a.pcap 400 a.pcapng --speed 10
	comes_whole "a compressed recording" a.pcap 400 rec/a.pcapng.zst --speed 10
	zstd -q -c <a.pcapng >piped.pcapng.zst
	comes_whole "a file compressed by zstd from a pipe" a.pcap 400 piped.pcapng.zst --speed 10
	{ head -c 10000 a.pcap | zstd -q -c && tail -c +10001 a.pcap | zstd -q -c; } >joined.pcap.zst
	comes_whole "two outputs of zstd, joined within a record" a.pcap 400 joined.pcap.zst --speed 10
	comes_whole "a file twice over" a.pcap 800 a.pcap --speed 20 --loops 2
	split_in_two
	comes_whole "two files, one after the other" a.pcap 400 first.pcap second.pcap --speed 10
	check_json "two files of one recording: nothing was moved" replay.json '.rebased_files == 0 and .files_read == 2'
	comes_whole "at a rate" a.pcap 400 a.pcap --rate 5000pps
	check_json "at a rate: the duration is that of the rate" replay.json '.elapsed_ns >= 399 * 200000 and .pacing.rate == 5000'
	comes_whole "as fast as the port takes them" a.pcap 4000 a.pcap --line-rate --loops 10
	check_json "at line rate there is no lateness" replay.json '.lateness_ns == null and .late_pkts == null and
		.lateness_undisturbed_ns == null and .interrupted_ns == null'
}

# Files of one recording with alternating frames.
alternate() {
	python3 -c 'import struct
data, at, parts = open("a.pcap", "rb").read(), 24, [bytearray(), bytearray(), bytearray()]
for part in parts:
    part += data[:24]
for i in range(400):
    size = 16 + struct.unpack_from("<I", data, at + 8)[0]
    parts[i % 3] += data[at:at + size]
    at += size
for i, part in enumerate(parts):
    open(f"ring/part{2 - i}.pcap", "wb").write(part)'
}

playlists_are_played() {
	mkdir ring
	alternate
	comes_whole "a directory of files merged by time" a.pcap 400 ring --merge --speed 10
	check_json "merged: nothing was moved" replay.json \
		'.merged and .files_read == 3 and .backward_pkts == 0 and .rebased_files == 0 and .waited_files == 0'
	printf '%s\n' second.pcap first.pcap >list
	comes_whole "a list of files is played in the order of time" a.pcap 400 @list --speed 10
	comes_whole "files of a quoted pattern are played in the order of time" a.pcap 400 '[fs][ei][cr]*.pcap' --speed 10
}

# Files of 200 frames, 10 us apart; the time goes on from file to file. Together they are many.pcap.
write_many() {
	mkdir many
	python3 -c 'import struct, sys
count = int(sys.argv[1])
head = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)
whole = open("many.pcap", "wb")
whole.write(head)
for i in range(count):
    part = bytearray()
    for number in range(200 * i, 200 * (i + 1)):
        ns = 10000 * number
        part += struct.pack("<IIII", 1700000000 + ns // 10**9, ns % 10**9, 60, 60)
        part += bytes.fromhex("02000000000202000000000188b5") + struct.pack(">I", number) + bytes(42)
    open(f"many/{count - i:05}.pcap", "wb").write(head + part)
    whole.write(part)' "$1"
}

# REPLAY_FILES is their number; more of them only take longer.
many_files_are_played() {
	local files=${REPLAY_FILES:-300} how
	write_many "$files"
	for how in "" --merge; do
		rm -f sent.pcap
		STATUS=0
		# shellcheck disable=SC2086 # no word if empty
		in_app prlimit --nofile=128 "$TAPLINE" replay many -i vdev:net_pcap0,tx_pcap=sent.pcap $how --json >replay.json 2>replay.log </dev/null ||
			STATUS=$?
		check_equal "$files files with 128 descriptors${how:+, merged}: status 0" "$STATUS" 0
		check "$files files${how:+, merged}: byte for byte, in order" "$LIB/judge_replay.py" same many.pcap sent.pcap replay.json
		check_json "$files files${how:+, merged}: each is read, and no gap is between two" replay.json "$IDENTITY and .files_read == $files and
			.sent_pkts == 200 * $files and .rebased_files == 0 and .backward_pkts == 0 and .waited_files == 0 and .shortened_gaps == 0 and
			.elapsed_ns >= (200 * $files - 1) * 10000 and .elapsed_ns <= (200 * $files - 1) * 10000 + .lateness_ns.max"
	done
}

split_in_two() {
	local bytes
	bytes=$(python3 -c 'import struct
data, at = open("a.pcap", "rb").read(), 24
for i in range(200):
    at += 16 + struct.unpack_from("<I", data, at + 8)[0]
open("first.pcap", "wb").write(data[:at])
open("second.pcap", "wb").write(data[:24] + data[at:])
print(at)')
	((bytes > 24)) || func_die "cannot split a.pcap"
}

goes_through_xdp() {
	if ! python3 -c 'import socket; socket.socket(44, socket.SOCK_RAW)' 2>/dev/null; then
		skip "an AF_XDP port sends" "the kernel has no AF_XDP sockets"
		return
	fi
	watch_wire 400
	replay a.pcap -i "xdp:$APP_IF" --speed 10
	check_equal "an AF_XDP port: status 0" "$STATUS" 0
	seen_all "an AF_XDP port: all frames come"
	check "an AF_XDP port: byte for byte, in order" "$LIB/judge_replay.py" same a.pcap got.pcap replay.json
}

# mtu BYTES: set that of both ends.
mtu() {
	ip -netns "$APP_NS" link set "$APP_IF" mtu "$1"
	ip -netns "$PEER_NS" link set "$PEER_IF" mtu "$1"
}

all_lengths_are_sent() {
	mtu 65535
	SNAPLEN=0
	"$LIB/make_pcap.py" lengths.pcap 3 14 32832 32833 65536 65549
	comes_whole "frames of 14 bytes to 64 KiB" lengths.pcap 15 lengths.pcap
	SNAPLEN=2000
	"$LIB/make_pcap.py" longer.pcap 1 60 65550
	replay longer.pcap -i "$APP_IF"
	check_json "a frame beyond that MTU is counted" replay.json "$IDENTITY and .sent_pkts == 1 and .skipped_long_pkts == 1"
	mtu 1500
}

# The second frame of 1514 bytes is longer than the MTU at its time.
an_mtu_may_become_less() {
	local status=0
	mkfifo lines
	rm -f hours.log
	"$LIB/make_pcap.py" four.pcap 2 60 1514
	ip netns exec "$APP_NS" "$TAPLINE" replay four.pcap -i "$APP_IF" --one-by-one --json >replay.json 2>hours.log <lines &
	app_pid=$!
	exec 7>lines
	printf '\n\n' >&7
	wait_for 60 has_sent || func_die "nothing is sent"
	mtu 1000
	printf '\n\n' >&7
	exec 7>&-
	wait "$app_pid" || status=$?
	mtu 1500
	check_equal "a frame that the kernel does not take any more: status 1" "$status" 1
	check_json "it is counted, and not as sent" replay.json "$IDENTITY and .sent_pkts == 3 and .refused_pkts == 1 and .unsent_pkts == 0"
	check "and the message names the port" grep -q "$APP_IF did not accept 1 frames" hours.log
}

# ---- two ports

listens_to_both() {
	listens_to_wire && grep -qs 'listening on' tcpdump2.log
}

# watch_both FRAMES1 FRAMES2: record to got1.pcap and got2.pcap the frames that arrive at both ends.
watch_both() {
	local i n=("$@") pids=()
	rm -f got?.pcap tcpdump*.log
	for i in 1 2; do
		peer_start timeout 60 tcpdump -n -i "$PEER_IF${i#1}" -Q in -s 2000 -B 16384 --time-stamp-precision=nano -c "${n[i - 1]}" \
			-w "got$i.pcap" ether src 02:00:00:00:00:01 or ether src 02:00:00:00:00:02 2>"tcpdump${i#1}.log"
		pids+=("$peer_pid")
	done
	first_pid=${pids[0]}
	wait_for 30 listens_to_both || func_die "tcpdump does not listen"
}

# two_ports ARG...: replay through two ports that discard frames.
two_ports() {
	replay "$@" -i vdev:net_null0 -I vdev:net_null1 --speed 20
}

two_ports_play() {
	local i start n=() rule first_pid
	netns_join "$APP_NS" "${APP_IF}2" "$PEER_NS" "${PEER_IF}2"
	"$LIB/make_sides.py" sides 300
	for i in 1 2; do
		n+=("$(python3 -c 'import struct, sys
data, at, n = open("sides.pcap", "rb").read(), 24, 0
while at < len(data):
    n += data[at + 16 + 11] == int(sys.argv[1])
    at += 16 + struct.unpack_from("<I", data, at + 8)[0]
print(n)' "$i")")
	done
	watch_both "${n[@]}"
	start=$(($(date +%s) + 4))
	replay sides.pcapng -i "$APP_IF" -I "${APP_IF}2" --split epb --start-at "@$start"
	check_equal "two ports: status 0" "$STATUS" 0
	seen_all "two ports: all frames come by the second"
	peer_pid=$first_pid
	seen_all "two ports: all frames come by the first"
	check "two ports: each frame at its port, byte for byte and in order; at its time over both" \
		"$LIB/judge_replay.py" sides sides.pcap got1.pcap,got2.pcap replay.json "${start}000000000"
	sides_are "two ports" "${n[@]}"
	check_json "two ports: each frame's lateness counts for its port and for both" replay.json \
		'.lateness_ns.count == 300 and ([.ports[].lateness_ns.count] == [.ports[].sent_pkts]) and ([.ports[].lateness_ns.max] | max) == .lateness_ns.max'
	for rule in interface mac:02:00:00:00:00:01 'filter:src net 10.0.1.0/24' clients; do
		two_ports sides.pcapng --split "$rule" --loops 2
		sides_are "--split $rule, two loops" $((2 * n[0])) $((2 * n[1]))
	done
	two_ports sides.pcap --split epb
	check_json "without epb_flags frames leave by the first port, and are counted" replay.json \
		"$IDENTITY and .undecided_pkts == 300 and [.ports[].sent_pkts] == [300, 0]"
}

# sides_are SENTENCE FIRST SECOND: check the ports' counts.
sides_are() {
	check_json "$1: the ledger adds up over both ports" replay.json "$IDENTITY and [.ports[].sent_pkts] == [$2, $3] and
		.undecided_pkts == 0 and .sent_pkts == $2 + $3 and (.ports | all(.hw_sent_pkts == null or .hw_sent_pkts >= .sent_pkts))"
}

# ---- lost frames

names_what_it_leaves_out() {
	"$LIB/make_pcap.py" sizes.pcap 5 60 1514 1515 2000
	watch_wire 10
	replay sizes.pcap -i "$APP_IF" --speed 10
	seen_all "frames that fit the MTU come"
	check_json "frames beyond the MTU are counted, and no failure" replay.json \
		"$IDENTITY and .sent_pkts == 10 and .skipped_long_pkts == 10"
	check_equal "status 0" "$STATUS" 0
	watch_wire 200
	replay a.pcap -i "$APP_IF" --speed 10 udp port 5001
	seen_all "a filter chooses frames"
	check_json "a filter: the others are counted" replay.json "$IDENTITY and .sent_pkts == 200 and .filtered_pkts == 200"
	python3 - <<-'END'
		import struct
		data, out, at = open("a.pcap", "rb").read(), bytearray(), 24
		out += data[:24]
		while at < len(data):
		    head = struct.unpack_from("<IIII", data, at)
		    kept = min(head[2], 100)
		    out += struct.pack("<IIII", *head[:2], kept, head[3]) + data[at + 16:at + 16 + kept]
		    at += 16 + head[2]
		open("cut.pcap", "wb").write(out)
	END
	replay cut.pcap -i vdev:net_null0 --speed 10
	check_json "frames recorded in part are counted, and not sent" replay.json \
		"$IDENTITY and .skipped_truncated_pkts > 350 and .sent_pkts == 400 - .skipped_truncated_pkts"
}

# Times of 1970, of 2106, equal ones, and jumps in both directions.
any_times_are_played() {
	"$LIB/make_pcap.py" dates.pcap 6
	python3 - <<-'END'
		import struct
		data, at, seconds = bytearray(open("dates.pcap", "rb").read()), 24, [0, 0, 2**32 - 1, 2**32 - 1, 1, 1700000000]
		while at < len(data):
		    struct.pack_into("<II", data, at, seconds[0], 0)
		    at += 16 + struct.unpack_from("<I", data, at + 8)[0]
		    seconds = seconds[1:] + seconds[:1]
		open("dates.pcap", "wb").write(data)
	END
	comes_whole "times from 1970 to 2106" dates.pcap 6 dates.pcap --max-gap 1ms
	check_json "a gap of 136 years is shortened, a jump back is counted" replay.json \
		'.shortened_gaps == 2 and .backward_pkts == 1 and .elapsed_ns < 1000000000'
	watch_wire 18
	replay dates.pcap -i "$APP_IF" --max-gap 1ms --loops 3 --speed 0.5
	seen_all "three loops of them at half the speed: all frames come"
	check_json "each loop is played like the first" replay.json \
		"$IDENTITY and .sent_pkts == 18 and .shortened_gaps == 6 and .backward_pkts == 3"
}

damage_fails() {
	head -c -1 a.pcap >damaged.pcap
	replay damaged.pcap -i vdev:net_null0 --speed 20
	check_equal "a damaged file: status 1" "$STATUS" 1
	check_json "its readable part is sent, and the offset is named" replay.json \
		"$IDENTITY and .sent_pkts == 399 and .skipped_damaged_pkts == 1 and .damages == 1 and .damaged[0].offset > 24"
	check "and the message names it" grep -q 'damaged.pcap, byte [0-9]*: the file ends inside a frame' replay.log
	: >empty.pcap
	head -c 10 a.pcap >header.pcap
	zstd -q -c a.pcap >whole.zst
	head -c 100 whole.zst >cut.zst
	replay a.pcap '[eh]*[ry].pcap' cut.zst -i vdev:net_null0 --speed 20
	check_equal "files of which nothing can be read, beside another: status 1" "$STATUS" 1
	check_json "the other is sent, and they are named" replay.json "$IDENTITY and .sent_pkts == 400 and .skipped_damaged_pkts == 3 and
		([.damaged[].path] | sort) == [\"cut.zst\", \"empty.pcap\", \"header.pcap\"]"
	refused "a file of which nothing can be read, alone" header.pcap -i vdev:net_null0
}

lateness_can_fail() {
	replay a.pcap -i vdev:net_null0 --speed 20 --max-late 0ns
	check_equal "frames later than --max-late: status 1" "$STATUS" 1
	check_json "they are counted" replay.json "$IDENTITY and .late_pkts > 0 and .late_pkts <= 400 and .max_late_ns == 0"
	replay a.pcap -i vdev:net_null0 --speed 20 --max-late 1000s
	check_equal "frames within --max-late: status 0" "$STATUS" 0
	check_json "none is counted" replay.json '.late_pkts == 0 and .max_late_ns == 1000 * 1000000000'
}

options_have_their_values() {
	local text ns
	for text in 20000000000us:20000000000000 1.5ms:1500000 3155760000s:3155760000000000000 7ns:7; do
		ns=${text#*:}
		replay a.pcap -i vdev:net_null0 --speed 50 --speed 100 --max-gap "${text%:*}" --max-late 100s
		check_equal "--max-gap ${text%:*}: status 0" "$STATUS" 0
		check_json "it is $ns ns, and of two speeds the last one counts" replay.json ".pacing.max_gap_ns == $ns and .pacing.speed == 100"
	done
	for text in 3155760001s 3155760000000001us 5 5m .5s 1.s 1.5.5s 1s2 99999999999999999999ns; do
		refuses "--max-gap $text" "no time of at most 100 years such as 500ns, 20us, 1.5ms or 2s" \
			"$TAPLINE" replay a.pcap -i vdev:net_null0 --max-gap "$text"
	done
}

# ---- a start that is missed

write_step() {
	python3 -c 'import sys; open("step", "r+b").write(int(sys.argv[1]).to_bytes(8, "little"))' "$1"
}

# The list is read from a pipe, which ends after the time to start at. A second start, for lack of hugepages, could not read it again.
a_missed_start_sends_nothing() {
	local status=0 so=${TL_BUILD:-$func_root/build}/tests/libstep_clock.so
	head -c 8 /dev/zero >step
	mkfifo list.pipe
	in_app env LD_PRELOAD="$so" STEP_CLOCK="$PWD/step" TAPLINE_WITHOUT_HUGEPAGES=1 timeout 60 "$TAPLINE" replay @list.pipe \
		-i vdev:net_pcap0,tx_pcap=missed.pcap --json \
		--start-at "@$(($(date +%s) + 1000))" >replay.json 2>missed.log </dev/null &
	app_pid=$!
	exec 7>list.pipe # the options are parsed
	write_step 2000000000000
	echo a.pcap >&7
	exec 7>&-
	wait "$app_pid" || status=$?
	app_pid=''
	check_equal "a start that is missed: status 1" "$status" 1
	check "the message has the option, and by how much" grep -Eq -- '--start-at: .* (999|10[0-9][0-9])\.[0-9]+ s ago' missed.log
	check_equal "nothing is sent" "$(tcpdump -r missed.pcap 2>/dev/null | wc -l) $(wc -c <replay.json)" "0 0"
}

# ---- early end

has_sent() {
	grep -qs 'replay: sent [1-9]' hours.log
}

# has_looked TIMES: check that progress was printed so often since the first frame, each time with more frames.
has_looked() {
	(($(grep -o 'replay: sent [1-9][0-9]*' hours.log | sort -u | wc -l) >= $1))
}

start_hours() {
	rm -f hours.log
	ip netns exec "$APP_NS" "$TAPLINE" replay a.pcap -i "$APP_IF" --speed 0.01 --json >replay.json 2>hours.log </dev/null &
	app_pid=$!
	wait_for 60 has_sent || func_die "nothing is sent"
}

a_signal_ends_it() {
	start_hours
	check "the line of progress has position, rate and lateness" wait_for 30 grep -Eq \
		'frames read \([0-9]+ pps\), .* into the run.*, lateness p99 .*, max [0-9]' hours.log
	wait_for 60 has_looked 4 || func_die "there are no lines of progress"
	app_stop INT
	check_equal "SIGINT ends it with status 0" "$APP_STATUS" 0
	check_json "and unsent frames are counted" replay.json "$IDENTITY and .stopped and .unsent_pkts > 0 and .sent_pkts > 0"
	check_json "the lateness without interruptions is part of that of all" replay.json '.interrupted_ns > 0 and .interrupted_ns < .elapsed_ns and
		.lateness_undisturbed_ns.count > 0 and .lateness_undisturbed_ns.count <= .lateness_ns.count and
		.lateness_undisturbed_ns.max <= .lateness_ns.max'
}

a_lost_interface_ends_it() {
	local status=0
	start_hours
	ip -netns "$APP_NS" link delete "$APP_IF"
	wait_for 60 is_gone "$app_pid" || true
	wait "$app_pid" || status=$?
	check_equal "an interface that is removed: status 1" "$status" 1
	check "and the message names the reason" grep -Eq "$APP_IF (lost its link or was removed|is gone)" hours.log
	check_json "and the ledger holds" replay.json "$IDENTITY and .stopped and .unsent_pkts > 0"
}

a_lost_link_ends_it() {
	local status=0
	start_hours
	ip -netns "$PEER_NS" link set "$PEER_IF" down
	wait_for 60 is_gone "$app_pid" || true
	wait "$app_pid" || status=$?
	check_equal "a lost link: status 1" "$status" 1
	check "and the message names the interface" grep -Eq "$APP_IF lost its link" hours.log
	check_json "the frames left are counted" replay.json "$IDENTITY and .stopped and .unsent_pkts > 0"
	ip -netns "$PEER_NS" link set "$PEER_IF" up
}

# A file is opened once: frames of one that is removed while it is played are sent to its end.
a_removed_file_is_played() {
	cp a.pcap removed.pcap
	rm -f hours.log
	watch_wire 400
	in_app timeout 60 "$TAPLINE" replay removed.pcap -i "$APP_IF" --speed 0.2 --json >replay.json 2>hours.log </dev/null &
	app_pid=$!
	wait_for 60 has_sent || func_die "nothing is sent"
	rm removed.pcap
	STATUS=0
	wait "$app_pid" || STATUS=$?
	seen_all "a file removed while it is played: all frames come"
	check_json "and the ledger says so" replay.json "$IDENTITY and .sent_pkts == 400 and .damages == 0"
	check "and a warning says why the report lacks its SHA-256" grep -q 'removed.pcap: cannot be read again for its SHA-256' hours.log
}

enter_sends_a_frame() {
	STATUS=0
	printf '\n\n\n' | in_app timeout 60 "$TAPLINE" replay a.pcap -i vdev:net_null0 --one-by-one --json >replay.json 2>replay.log || STATUS=$?
	check_equal "one by one: the end of the input ends the run with status 0" "$STATUS" 0
	check_json "one by one: as many frames as lines are sent" replay.json \
		"$IDENTITY and .sent_pkts == 3 and .unsent_pkts > 0 and .stopped and .pacing.one_by_one"
	replay a.pcap -i vdev:net_null0 --burst 100:30ms
	check_json "bursts: the duration is that of the bursts" replay.json \
		"$IDENTITY and .sent_pkts == 400 and .elapsed_ns >= 3 * 30000000 and .pacing.burst_pkts == 100"
}

# refused SENTENCE ARG...
refused() {
	local sentence=$1
	shift
	replay "$@"
	check_equal "$sentence: status 2" "$STATUS" 2
}

wrong_calls() {
	refused "no file" -i vdev:net_null0
	refused "a list that is not there" @nosuch -i vdev:net_null0
	refused "a directory without captures" /proc/self/net/stat -i vdev:net_null0
	refused "no port" a.pcap
	refused "a file as a port" a.pcap -i pcap:a.pcap
	refused "a file that is not a capture" /bin/true -i vdev:net_null0
	refused "a filter that does not compile" a.pcap -i vdev:net_null0 no such/2 thing
	check "and the message is not about files" bash -c '! grep -q "no such file" replay.log'
	refused "a second file that is not there" a.pcap none.pcap -i vdev:net_null0
	check "and the message says so" grep -q 'none.pcap: no such file' replay.log
	refused "a second port without a rule" a.pcap -i vdev:net_null0 -I vdev:net_null1
	refused "a rule without a second port" a.pcap -i vdev:net_null0 --split clients
	refused "a wrong rule" a.pcap -i vdev:net_null0 -I vdev:net_null1 --split sides
	refused "a rule whose filter does not compile" a.pcap -i vdev:net_null0 -I vdev:net_null1 --split 'filter:no such'
	refused "sessions by two ports" a.pcap -i vdev:net_null0 -I vdev:net_null1 --split clients --sessions 10.0.0.1 --from 10.0.0.2/24
	refused "sessions with a control socket" a.pcap -i vdev:net_null0 --control control.sock --sessions 10.0.0.1 --from 10.0.0.2/24
	refused "one port twice" a.pcap -i vdev:net_null0 -I vdev:net_null0 --split clients
	refused "speed and rate" a.pcap -i vdev:net_null0 --speed 2 --rate 5pps
	refused "a burst without time" a.pcap -i vdev:net_null0 --burst 5
	refused "bursts at line rate" a.pcap -i vdev:net_null0 --burst 5:1ms --line-rate
	refused "a start in the past" a.pcap -i vdev:net_null0 --start-at @1000000000
	refused "an MTU of an interface" a.pcap -i "$APP_IF" --mtu 9000
	refused "an interface that is not there" a.pcap -i nosuch0
}

# peak_kib COMMAND...: print the most resident memory of the command.
peak_kib() {
	python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$@"
}

# There may be as many frames ahead of a file that is sent twice as of a long one.
short_files_take_little_memory() {
	if grep -q '^HugePages_Free: *[1-9]' /proc/meminfo; then
		skip "the frames ahead of a short file take less memory" "hugepages do not count as resident"
		return
	fi
	local short long
	"$LIB/make_pcap.py" short.pcap 10
	short=$(peak_kib "$TAPLINE" replay short.pcap -i vdev:net_null0 --line-rate)
	long=$(peak_kib "$TAPLINE" replay short.pcap -i vdev:net_null0 --line-rate --loops 2)
	check "the frames ahead of a short file take less memory" [ $((short * 3)) -lt $((long * 2)) ]
}

func_begin
net_begin
"$LIB/make_pcap.py" a.pcap 400
short_files_take_little_memory
times_are_kept 0.5
lateness_up_to_the_driver
forms_are_read
playlists_are_played
many_files_are_played
goes_through_xdp
all_lengths_are_sent
an_mtu_may_become_less
two_ports_play
names_what_it_leaves_out
any_times_are_played
damage_fails
lateness_can_fail
enter_sends_a_frame
options_have_their_values
a_missed_start_sends_nothing
wrong_calls
a_signal_ends_it
a_removed_file_is_played
a_lost_link_ends_it
a_lost_interface_ends_it
