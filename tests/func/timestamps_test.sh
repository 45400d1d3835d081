#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Sources of timestamps: stamps of a file keep its unit, in every format and resolution; file and report name each
# source with its unit and its bound, if known; a clock step during a recording is reported; a kernel interface has
# tcpdump's stamps, also with an echo; a source that the port lacks is rejected.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

capture() {
	timeout 60 "$TAPLINE" capture "$@" 2>capture.log </dev/null
}

# times FILE: print one per line, to the nanosecond.
times() {
	tshark -r "$1" -T fields -e frame.time_epoch 2>/dev/null
}

# descriptions FILE: print those of the interfaces with frames.
descriptions() {
	tshark -r "$1" -T fields -e frame.interface_description 2>/dev/null | sort -u
}

# keeps SENTENCE FILE TIMES: check that a recording of FILE has the times in TIMES.
keeps() {
	capture -i "pcap:$2" -w out.pcapng --json >run.json || true
	times out.pcapng >out.times
	check "$1" cmp "$3" out.times
}

# refused SENTENCE TEXT COMMAND...: check for exit status 2, with this text.
refused() {
	local sentence=$1 text=$2 status=0
	shift 2
	timeout 60 "$@" >out.txt 2>err.txt </dev/null || status=$?
	check_equal "$sentence" "$status $(grep -cF -- "$text" err.txt)" "2 1"
}

files() {
	"$(dirname "$PEER_PY")/make_pcap.py" ns.pcap 500
	editcap -F pcap ns.pcap us.pcap
	editcap -F pcapng ns.pcap ns.pcapng
	editcap -F pcapng us.pcap us.pcapng
	times ns.pcap >ns.times
	times us.pcap >us.times
	check_equal "the inputs are 500 frames, some within the same microsecond" \
		"$(wc -l <ns.times) $(cmp -s ns.times us.times || echo differ)" "500 differ"
	keeps "the times of a pcap file in nanoseconds are preserved" ns.pcap ns.times
	keeps "the times of a pcap file in microseconds are preserved" us.pcap us.times
	keeps "the times of a pcapng file in nanoseconds are preserved" ns.pcapng ns.times
	keeps "the times of a pcapng file in microseconds are preserved" us.pcapng us.times
	check_json "the report names the file as the timestamp source" run.json '(.port.timestamps | .source == "file" and .bound_ns == null
		and .bound_clock == null and .nic_clock == null) and .port.unstamped_pkts == 0 and .clock.timescale == "REALTIME"'
	check "the recording names the file as the timestamp source" grep -aq 'timestamps: file, unit unknown, bound unknown' out.pcapng
	capture -i pcap:us.pcap -w out.pcapng --json >run.json || true
	check_json "the unit of a pcap file is known, its bound is not" run.json '
		(.port.timestamps | .unit_ns == 1000 and .bound_ns == null) and
		.captures[0].stamps == [{source: "file", unit_ns: 1000, bound_max_ns: null, bound_clock: null}]'
	check "its recording has the unit" grep -aq 'timestamps: file, unit 1000 ns, bound unknown' out.pcapng
	check_equal "the recording has no clock log" "$(grep -ac TAPCLOK1 out.pcapng)" 0
	check "the source can be configured by name" capture -i pcap:ns.pcap -w named.pcapng --timestamps file
	refused "a file has no other timestamps" 'pcap:ns.pcap has no timestamps "nic-rx"' "$TAPLINE" capture -i pcap:ns.pcap -w no.pcapng --timestamps nic-rx
	check "no file was created" test ! -e no.pcapng
}

# The same through DPDK's driver for libpcap, whose device does not end.
files_of_the_driver() {
	local device=vdev:net_pcap0,rx_pcap=$DIR/us.pcap name
	for name in us ns; do
		capture -i "vdev:net_pcap0,rx_pcap=$DIR/$name.pcap" -w $name.out.pcapng --count 500 --json >$name.json || true
		times $name.out.pcapng >$name.out.times
	done
	check "DPDK's driver preserves times in microseconds" cmp us.times us.out.times
	check "times in nanoseconds are truncated to microseconds" cmp us.times ns.out.times
	check_json "the report names the file as their source" us.json '.ledger_ok and .port.unstamped_pkts == 0 and
		(.port.timestamps | .source == "file" and .unit_ns == 1000 and .bound_ns == null)'
	check_equal "the recording names the file with the unit" "$(descriptions us.out.pcapng)" \
		"queue 0, received, timestamps: file, unit 1000 ns, bound unknown"
	check "one file per queue works" capture -i "$device,rx_pcap=$DIR/ns.pcap" --queues 2 -w two.pcapng --count 1000
	check "the times of all files are preserved" cmp <(sort us.times us.times) <(times two.pcapng | sort)
	capture -i "$device,infinite_rx=1" -w again.pcapng --count 1000 --json >again.json || true
	check_json "a repeated file has poll time" again.json '.port.timestamps.source == "tsc" and
		.port.unstamped_pkts == 0'
	capture -i "$device" -w named.pcapng --count 500 --timestamps tsc --json >named.json || true
	check_json "a file has poll time on request" named.json '.port.timestamps | .source == "tsc" and .bound_ns > 0'
	refused "a repeated file has no timestamps of a file" 'infinite_rx=1 has no timestamps "file": give one of those that it has, "tsc"' \
		"$TAPLINE" capture -i "$device,infinite_rx=1" -w no.pcapng --timestamps file
	check "no recording of the repeated file was created" test ! -e no.pcapng
	echo "{\"ports\": [{\"name\": \"a\", \"device\": \"$device,iface=lo\", \"timestamps\": \"file\"}]}" >iface.json
	refused "--check refuses them for an interface" '$.ports[0].timestamps' "$TAPLINE" run --check iface.json
}

interfaces() {
	net_begin
	app_config lan.json '"echo": [{"port": "lan", "udp_listen": 7}]' '"capture": [{"port": "lan", "path": "lan.pcapng"}]'
	jq '.ports[0].timestamps = "tsc"' lan.json >tsc.json
	app_start tsc.json
	app_stop TERM
	check_json "a port with an echo has poll time with a bound" run.json \
		'.port.timestamps | .source == "tsc" and .unit_ns == 1 and .bound_ns > 0 and .bound_clock == "REALTIME" and .nic_clock == null'
	check "the bound is printed at the start" grep -q 'stamps from     tsc, unit 1 ns, within [0-9]* ns of CLOCK_REALTIME' run.log
	check_json "the recording's largest bound is not below it" run.json '(.captures[0] | .clock_steps == 0 and
		(.stamps | length == 1 and .[0].source == "tsc" and .[0].unit_ns == 1 and .[0].bound_max_ns > 0))'
	jq '.ports[0].timestamps = "nic-rx"' lan.json >nic.json
	refused "a kernel interface has no stamps of its NIC" "nic.json: \$.ports[0].timestamps: port lan: $APP_IF has no timestamps \"nic-rx\"" \
		ip netns exec "$APP_NS" "$TAPLINE" run nic.json
	refused "--check refuses them" '$.ports[0].timestamps' "$TAPLINE" run --check nic.json
	jq 'del(.echo) | .ports[0].timestamps = "kernel"' lan.json >kernel.json
	app_start kernel.json
	app_stop TERM
	check_json "a port without an echo has kernel time with an unknown bound" run.json '.port.timestamps ==
		{source: "kernel", unit_ns: 1, bound_ns: null, bound_clock: null, nic_clock: null, gate: null}'
	check "start message and recording state the unknown bound" grep -q 'stamps from     kernel, unit 1 ns, bound unknown' run.log
	jq '.ports[0].timestamps = "nic-rx" | .ports[0].device = "vdev:net_null0" | del(.echo)' lan.json >null.json
	refused "a device without timestamps is refused after it was opened" 'vdev:net_null0 has no timestamps "nic-rx": give one of those that it has, "tsc"' \
		"$TAPLINE" run null.json
}

# set_clock NS: set the offset of the appliance's CLOCK_REALTIME.
set_clock() {
	python3 -c 'import struct, sys; open("step", "r+b").write(struct.pack("<q", int(sys.argv[1])))' "$1"
}

# echo_sizes FROM TO ALL: send datagrams of these sizes to the echo and back, ALL of them in total.
echo_sizes() {
	in_peer "$PEER_PY" udp_sizes "$APP_IP" 7 $(seq "$1" "$2") >sizes.json
	wait_for 60 status_is ".echo.echoed_msgs >= $3" || not_ok "the datagrams are echoed" "$(app_status .echo)"
}

# latency NAME ARG...
latency() {
	local name=$1
	shift
	timeout 60 "$PROGRAM" latency --json "$@" >"$name.json" 2>"$name.log" </dev/null
}

# A clock step of 3 ms in a recording whose stamps are bounded by some hundred ns.
a_clock_that_is_set() {
	local so=${TL_BUILD:-$func_root/build}/tests/libstep_clock.so seen
	PROGRAM=$TAPLINE
	head -c 8 /dev/zero >step
	cat >stepped <<-END
		#!/bin/sh
		exec env LD_PRELOAD="$so" STEP_CLOCK=$DIR/step "$PROGRAM" "\$@"
	END
	chmod +x stepped
	TAPLINE=$DIR/stepped
	jq '.ports[0].timestamps = "tsc"' lan.json >tsc.json # kernel stamps have no bound
	app_start tsc.json
	echo_sizes 201 250 50
	wait_for 60 status_is '.uptime_ns > 5e9' || not_ok "it runs for some seconds" "$(app_status .uptime_ns)"
	app_status >early.json
	check_json "the status has no step before" early.json '.captures[0] | .clock_steps == 0 and .stamps[0].bound_max_ns < 2000000'
	set_clock 3000000
	wait_for 60 status_is '.captures[0].clock_steps == 1' || not_ok "the step is seen" "$(app_status .captures)"
	echo_sizes 251 300 100
	app_stop TERM
	TAPLINE=$PROGRAM
	check_json "a clock step is reported with its time and in the largest bound" run.json '.clock.steps == 1 and
		(.captures[0] | .clock_steps == 1 and .stamps[0].bound_max_ns > 2900000 and .stamps[0].bound_max_ns < 4000000 and
		(.clock_step_list[0] | .clock == "REALTIME" and .time_ns > 1e18 and .offset_ns > 2900000 and .offset_ns < 3100000))'
	check "the step is printed" grep -q 'CLOCK STEP: REALTIME by +[23],[0-9]*,[0-9]* ns, seen at [0-9]*\.[0-9]*$' run.log
	check "the recording has the clock log" grep -aq TAPCLOK1 lan.pcapng
	seen="$(tshark -r lan.pcapng -Y 'udp.port == 7' 2>tshark.err | wc -l) $(tcpdump -nr lan.pcapng udp port 7 2>tcpdump.err | wc -l)"
	check_equal "tshark, tcpdump and capinfos skip the log" \
		"$seen $(capinfos -c lan.pcapng 2>capinfos.err | grep -c 'Number of packets')" "200 200 1"
	check_equal "they print no warning" \
		"$(cat tshark.err tcpdump.err capinfos.err | grep -cvE '^(Running as user|reading from file)')" 0
	latency stepped lan.pcapng --trigger 'udp dst port 7' --reply 'udp src port 7' --html stepped.html
	check_json "a result across the step is invalid, with the bound of the recording" \
		stepped.json '.matched == 100 and (.valid | not) and
		any(.invalid[]; test("^time was set 1 time while lan.pcapng was measured \\(stamps tsc\\), first by \\+[23][0-9]{6} ns before [0-9.]+: ")) and
		.trigger_bound_ns > 2900000 and .trigger_bound_clock == "REALTIME" and .trigger_unit_ns == 1 and
		(.clocks[0] | .clock == "REALTIME" and .steps == 1 and .bound_max_ns == '"$(jq .trigger_bound_ns stepped.json)"' and
		.comparisons == (.points | length) and .comparisons >= 6 and ([.points[][0]] | . == sort))'
	check_json "the log has a comparison per second without a gap" stepped.json '[.clocks[0].points | [.[:-1], .[1:]] | transpose[] |
		.[1][0] - .[0][0]] | length >= 5 and all(. > 0)'
	latency before lan.pcapng --trigger 'udp dst port 7 and less 292' --reply 'udp src port 7 and less 292'
	check_json "a result from before the step is valid" \
		before.json '.matched == 50 and ([.invalid[] | select(test("time was set"))] == [])'
	if command -v node >/dev/null; then
		node "$func_root/tests/lib/draw_page.js" stepped.html >drawn.json 2>drawn.log || true
		check_json "the page shows the clock" drawn.json '.drawn and any(.sections[]; . == "Clock REALTIME") and .no_numbers == []'
	else
		echo "# the page is not drawn: node is not installed"
	fi
	timeout 60 "$PROGRAM" extract lan.pcapng -w extracted.pcapng >/dev/null 2>extract.log </dev/null
	latency extracted extracted.pcapng --trigger 'udp dst port 7' --reply 'udp src port 7'
	check_json "an extract of a recording keeps its clock log" extracted.json '(.valid | not) and .matched == 100 and
		.trigger_bound_ns == '"$(jq .trigger_bound_ns stepped.json)"' and .clocks[0].comparisons == '"$(jq '.clocks[0].comparisons' stepped.json)"
	check "other readers open the extract" tcpdump -nr extracted.pcapng
	sed 's/TAPCLOK1/TAPCLOKX/g' lan.pcapng >without.pcapng
	latency without without.pcapng --trigger 'udp dst port 7' --reply 'udp src port 7'
	check_json "a recording without the log has a bound for its start only" without.json '.trigger_bound_ns == null and
		.trigger_bound_clock == null and (.facts.bound_at_start_of_triggers_ns | tonumber > 0) and .clocks == []'
}

# asked FILE: print the datagrams to the echo and their times, to the microsecond.
asked() {
	tshark -r "$1" -Y 'udp.dstport == 7' -T fields -e frame.time_epoch -e udp.payload 2>/dev/null | sed 's/\(\.[0-9]\{6\}\)[0-9]*/\1/' | sort
}

have_asked() {
	(($(asked theirs.pcap | wc -l) == 200))
}

# With microseconds: in nanosecond mode tcpdump would request early stamps of the kernel, which Tapline's port has to
# request.
beside_an_echo() {
	local tcpdump_pid
	jq '.ports[0].timestamps = "kernel"' lan.json >kernel.json
	app_start kernel.json
	app_stop TERM
	check_json "with an echo a port has kernel stamps on request" run.json '.port.timestamps.source == "kernel"'
	app_start lan.json
	ip netns exec "$APP_NS" tcpdump -Z root -n -i "$APP_IF" -B 4096 -U -w theirs.pcap udp 2>tcpdump.log </dev/null &
	tcpdump_pid=$!
	wait_for 60 grep -qs "^tcpdump: listening" tcpdump.log || func_die "tcpdump does not listen: $(<tcpdump.log)"
	in_peer "$PEER_PY" udp_sizes "$APP_IP" 7 $(seq 201 400) >sizes.json
	wait_for 60 have_asked || not_ok "tcpdump sees 200 datagrams" "$(<tcpdump.log)"
	stop_process "$tcpdump_pid" INT || true
	app_stop TERM
	check_json "kernel stamps are used by default, and no frame lacks one" \
		run.json '.ledger_ok and .lossless and .port.unstamped_pkts == 0
		and (.port.timestamps | .source == "kernel" and .unit_ns == 1 and .bound_ns == null) and .echo.echoed_msgs == 200'
	check_equal "each of 200 datagrams has the stamp of tcpdump" "$(asked lan.pcapng)" "$(asked theirs.pcap)"
	check "frames sent by the echo are on a separate interface with their own time" \
		grep -aq 'queue 0, sent[^:]*timestamps: tsc' lan.pcapng
}

func_begin
files
files_of_the_driver
interfaces
a_clock_that_is_set
beside_an_echo
