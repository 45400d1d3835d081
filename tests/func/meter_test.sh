#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# `tapline meter`: colours and delays compared with an oracle in fractions, files of all formats, frames received by a port,
# several settings, the page, and rejected calls. TL_SEEDS: random files to compare (20).
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"
source "$func_root/tests/lib/counts.sh"

LIB=$(dirname "$PEER_PY")
BENCH=$(dirname "$(dirname "$TAPLINE")")/tests/bench/bench_meter
CONTRACT=(--cir 5Mbit --cbs 20k --ebs 10k)

# meter ARG...: write the report to meter.json, the status to STATUS.
meter() {
	STATUS=0
	timeout 60 "$TAPLINE" meter "$@" --json >meter.json 2>meter.log </dev/null || STATUS=$?
}

# is_refused SENTENCE MESSAGE ARG...: check for exit status 2, no output on stdout, and a message that contains this
# text.
is_refused() {
	local sentence=$1 message=$2 status=0
	shift 2
	timeout 60 "$TAPLINE" meter "$@" >refused.txt 2>refused.log </dev/null || status=$?
	check_equal "$sentence: status 2" "$status $(wc -c <refused.txt)" "2 0"
	check "$sentence: the message has the reason" grep -qF -- "$message" refused.log
}

# counts: print results of the settings, without those that depend on the file.
counts() {
	jq -c '[.pkts, .bytes, [.settings[] | del(.series, .last_departure_ns)]]' "$1"
}

# is_like_the_first SENTENCE INPUT...: check that the frames of the file or the port are those of a.pcap.
is_like_the_first() {
	meter "${@:2}" "${CONTRACT[@]}"
	check_equal "$1: status 0" "$STATUS" 0
	check_equal "$1: the same counts" "$(counts meter.json)" "$(counts first.json)"
}

func_begin
"$LIB/make_pcap.py" a.pcap 3000

# ---- against the oracle

check "each frame has the colour and departure, and all figures and series are those, of an oracle in fractions" \
	"$LIB/meter_oracle.py" "$TAPLINE" 1 "${TL_SEEDS:-20}"

# ---- files

meter a.pcap "${CONTRACT[@]}"
cp meter.json first.json
check_json "colours add up to the read frames" first.json '.pkts == 3000 and .pkts == .green_pkts + .yellow_pkts + .red_pkts and
	.bytes == .green_bytes + .yellow_bytes + .red_bytes and .green_pkts > 0 and .yellow_pkts > 0 and .red_pkts > 0'
check_json "the series add up to the counts" first.json '. as $all | .settings[0] as $s | all("green", "yellow", "red";
	. as $c | ($s.series[$c + "_bytes"] | add) == $all[$c + "_bytes"])'
timeout 120 "$TAPLINE" capture -i pcap:a.pcap -w a.pcapng.zst --compress zstd >capture.log 2>&1 </dev/null || true
is_like_the_first "a compressed recording" a.pcapng.zst
zstd -q -c <a.pcap >piped.pcap.zst
is_like_the_first "a file compressed by zstd from a pipe" piped.pcap.zst
timeout 120 "$TAPLINE" capture -i pcap:a.pcap -w snapped.pcapng --snaplen 64 >capture.log 2>&1 </dev/null || true
is_like_the_first "a recording that was cut to a snaplen" snapped.pcapng
meter a.pcap a.pcap "${CONTRACT[@]}"
check_json "a second file continues the first; frames with earlier times get the last time" meter.json '.pkts == 6000 and .backward_pkts == 2999'
head -c 1000000 a.pcap >cut.pcap
meter cut.pcap "${CONTRACT[@]}"
check_equal "a truncated file is metered up to the damage, with status 1" "$STATUS $(jq '.damages == 1 and .pkts > 100' meter.json)" "1 true"
check "the offset of the damage is reported" grep -q 'cut.pcap, byte ' meter.log
head -c 24 a.pcap >none.pcap
meter none.pcap "${CONTRACT[@]}"
check_equal "a file without frames is a failure, with a report" "$STATUS $(jq .pkts meter.json)" "1 0"

# ---- a port

# send_frames N: N frames of 500 bytes.
send_frames() {
	in_peer python3 - "$PEER_IF" "$1" <<'P'
import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((sys.argv[1], 0))
for i in range(int(sys.argv[2])):
    s.send(bytes.fromhex("ffffffffffff02000000000188b5") + bytes(486))
P
}

is_like_the_first "a port that is a file" -i pcap:a.pcap
meter -i pcap:a.pcap --count 100 "${CONTRACT[@]}"
check_json "--count ends it, and the report names the port" meter.json '.pkts == 100 and .port == {device: "pcap:a.pcap", timestamps: "file", drop_pkts: 0}'
meter -i vdev:net_null0 --count 1000 "${CONTRACT[@]}"
check_equal "a virtual device is metered" "$STATUS $(jq -c '[.pkts, .bytes, .port.timestamps]' meter.json)" '0 [1000,64000,"tsc"]'
meter -i vdev:net_null0 --duration 0.5 "${CONTRACT[@]}"
check_equal "--duration ends it" "$STATUS $(jq '.pkts > 0 and .pkts == .green_pkts + .yellow_pkts + .red_pkts' meter.json)" "0 true"
meter -i none7 "${CONTRACT[@]}"
check_equal "an interface that does not exist is refused" "$STATUS $(grep -c 'no interface none7' meter.log)" "2 1"
net_begin
ip netns exec "$APP_NS" "$TAPLINE" meter -i "$APP_IF" "${CONTRACT[@]}" --json >meter.json 2>live.log </dev/null &
live_pid=$!
wait_for 60 grep -q 'receiving from' live.log || func_die "it does not receive"
send_frames 300
status=0
stop_process "$live_pid" INT 60 || status=$?
check_equal "SIGINT ends it with status 0" "$status" 0
check_json "and with all frames that the interface had received" meter.json '.pkts >= 300 and .bytes >= 150000 and .port.drop_pkts == 0 and
	.port.timestamps == "kernel" and .pkts == .green_pkts + .yellow_pkts + .red_pkts and .green_pkts >= 40 and .first_ns > 1700000000000000000'

# ---- settings

meter a.pcap --cir 5Mbit --cir 6Mbit --cbs 20k --cbs 5Mbit --cbs 1k
check_json "each combination is a setting; the last option varies fastest" meter.json '[.settings[] | [.cir_bps, .cbs_bytes]] ==
	[[5000000, 20480], [5000000, 655360], [5000000, 1024], [6000000, 20480], [6000000, 655360], [6000000, 1024]]'
check_json "the counts at the top are those of the first" meter.json '.green_pkts == .settings[0].green_pkts and .green_pkts < .settings[1].green_pkts'
needed=$(jq '.settings[0].burst_needed_bytes' meter.json)
meter a.pcap --cir 5Mbit --cbs "$needed" --cbs $((needed - 1))
check_json "the reported burst is the smallest with which every frame is green" meter.json \
	'.settings[0].red_pkts == 0 and .settings[1].red_pkts > 0'
meter a.pcap --cir 5Mbit --cbs 20k --overhead 24
check_json "overhead is added to each frame" meter.json ".bytes == $(jq .bytes first.json) + 24 * 3000"
meter a.pcap --cir 5Mbit --cbs 2k --shape --limit 20k --limit 200k
check_json "a shaper with a longer queue loses less and delays more" meter.json '.settings | .[0].red_pkts > .[1].red_pkts and
	.[0].delay_ns.max < .[1].delay_ns.max and .[0].queue_max_bytes <= 20480 and .[1].queue_max_bytes <= 204800'

# ---- text, page, table

"$TAPLINE" meter a.pcap "${CONTRACT[@]}" --html page.html --csv frames.csv >text.txt 2>text.log </dev/null || true
check "the text has the counts" grep -qE "^  green +$(jq .green_pkts first.json) pkts +$(jq .green_bytes first.json) bytes" text.txt
check "and the burst that holds all frames, without a claim that they are green, which their colour on arrival may forbid" \
	grep -qE "^  cbs that holds all at cir: $needed; " text.txt
check_equal "the table has each frame" "$(wc -l <frames.csv)" 3001
check "the table has its manifest" test -s frames.csv.manifest.json
meter a.pcap --cir 5Mbit --cbs 2k --shape --cbs 20k --html shaped.html
if command -v node >/dev/null; then
	for page in page shaped; do
		node "$LIB/draw_page.js" $page.html >drawn.json 2>drawn.log || true
		check_json "the page draws its curves ($page)" drawn.json '.drawn and .shapes >= 5 and .no_numbers == []'
		jq -c '.sections' drawn.json >"$page.json"
	done
	python3 - >moment.pcap <<-'P'
		import struct, sys
		sys.stdout.buffer.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1) +
		    b"".join(struct.pack("<IIII", 1700000000, ns, 14, 60) + bytes(14) for ns in (123, 173)))
	P
	meter moment.pcap "${CONTRACT[@]}" --html moment.html
	check_equal "the page has the length of a capture to the nanosecond" "$(node "$LIB/draw_page.js" moment.html | jq -r .head | grep -o 'in .* ns')" "in 50 ns"
	check_json "the page of a policer has bytes, colours and tokens over time" page.json '. == ["Settings", "Bytes against time", "Bytes beyond 5 Mbit/s",
		"srtcm 5 Mbit/s, 20 KiB + 10 KiB", "Tokens of srtcm 5 Mbit/s, 20 KiB + 10 KiB", "Origin"]'
	check_json "that of two shapers has queue and delay of each, side by side" shaped.json '. == ["Settings", "Bytes against time", "Bytes beyond 5 Mbit/s"] +
		([2, 20] | map("shaper 5 Mbit/s, \(.) KiB" | ., "Queue of \(.)", "Delay of \(.)")) + ["Origin"]'
else
	skip "the page draws its curves" "node is not installed"
fi

# ---- colours on arrival

"$LIB/police_oracle.py" write marked.pcap
dscps() {
	tshark -r marked.pcap -Y "ip.dsfield.dscp in {$1}" 2>/dev/null | wc -l
}
"$TAPLINE" meter marked.pcap --cir 10Gbit --cbs 500M --ebs 500M --aware --json >aware.json 2>aware.log || true
check_equal "frames keep the colour of their DSCP" "$(jq -c '[.aware, .yellow_pkts, .red_pkts]' aware.json)" "[true,$(dscps '12, 20, 28, 36'),$(dscps '14, 22, 30, 38')]"
check_equal "which are several" "$(($(jq .yellow_pkts aware.json) > 500 && $(jq .red_pkts aware.json) > 500))" 1

# ---- rejected calls

is_refused "colours of a shaper" "--aware is of a policer" a.pcap --cir 1kbit --cbs 1k --shape --aware

is_refused "a rate of 0" "cir 0: out of range" a.pcap --cir 0 --cbs 1k
is_refused "a burst of 0" "cbs 0: out of range" a.pcap --cir 1kbit --cbs 0
is_refused "a peak rate below the committed one" "below cir" a.pcap --cir 2kbit --cbs 1k --pir 1kbit --pbs 1k
is_refused "a peak rate without its burst" "--pir and --pbs go together" a.pcap --cir 2kbit --cbs 1k --pir 3kbit
is_refused "no rate" "give --cir RATE" a.pcap --cbs 1k
is_refused "an excess rate without its burst" "--eir needs the size" a.pcap --cir 2kbit --cbs 1k --eir 1kbit
is_refused "an excess and a peak rate" "give one or the other" a.pcap --cir 1kbit --cbs 1k --eir 1kbit --ebs 1k --pir 2kbit --pbs 1k
is_refused "an unknown unit" "--cir: \"5Mbti\": character 2: unknown unit" a.pcap --cir 5Mbti --cbs 1k
is_refused "one rate and two" "give one or the other" a.pcap --cir 1kbit --cbs 1k --ebs 1k --pir 2kbit --pbs 1k
is_refused "a limit without a shaper" "--shape" a.pcap --cir 1kbit --cbs 1k --limit 1k
is_refused "a shaper with an excess burst" "--shape has one bucket" a.pcap --cir 1kbit --cbs 1k --shape --ebs 1k
is_refused "a shaper with an excess rate" "--shape has one bucket" a.pcap --cir 1kbit --cbs 1k --shape --eir 1kbit
is_refused "a file that is not there" "nowhere.pcap" nowhere.pcap --cir 1kbit --cbs 1k
is_refused "no file" "which recordings?" --cir 1kbit --cbs 1k
is_refused "a port and a file" "give one or the other" a.pcap -i lo --cir 1kbit --cbs 1k
is_refused "a limit of a port without a port" "are of -i" a.pcap --count 5 --cir 1kbit --cbs 1k
is_refused "17 settings" "more than 16" a.pcap --cir 1kbit --cbs 1k --cbs 2k --cbs 3k --ebs 1 --ebs 2 --ebs 3 --ebs 4 --ebs 5 --ebs 6
is_refused "a queue for no frame" "limit 0: every frame would be dropped" a.pcap --cir 1kbit --cbs 1k --shape --limit 0
is_refused "a page without a name" ": cannot be written" a.pcap --cir 1kbit --cbs 1k --html ''
is_refused "one file for table and page" "two outputs cannot be one file" a.pcap --cir 1kbit --cbs 1k --csv both --html ./both
check "which is not made" test ! -e both
is_refused "an output that is the file of a port" "a.pcap: is an input file" -i pcap:./a.pcap --cir 1kbit --cbs 1k --html a.pcap
is_refused "an output that is an input" "a.pcap: is an input file" a.pcap --cir 1kbit --cbs 1k --csv ./a.pcap
check_equal "the input is unchanged" "$(stat -c %s a.pcap)" "$(jq '.manifest.inputs[0].bytes' first.json)"

# ---- cost

if command -v valgrind >/dev/null; then
	(
		source "$func_root/tests/bench/lib/callgrind.sh"
		scenarios "$BENCH" tl_meter_colour
	) >cost.json 2>cost.log || true
	check_json "a frame costs 60 instructions at most, of any meter" cost.json \
		'[.scenarios[].instructions_per_pkt] | length == 5 and min > 10 and max <= 60'
	TL_BUILD=$(dirname "$(dirname "$TAPLINE")") "$func_root/tests/bench/tree.sh" >tree.json 2>tree.log || true
	check_json "a frame leaves a tree of 4 levels for 250 instructions, its arrival included, where classes borrow" tree.json \
		'[.scenarios[] | select(.name | test("^tree-borrow-[0-9]+$")) | .instructions_per_pkt] | length == 2 and min > 50 and max <= 250'
	for kind in borrow borrow-single light; do
		check_json "of 10,000 classes as of 10: $kind" tree.json \
			"[.scenarios[] | select(.name | test(\"^tree-$kind-[0-9]+$\")) | .instructions_per_pkt] | length == 2 and max < min * 1.05"
	done
	check_json "a frame costs less than double if each leaf repeatedly exceeds its rate" tree.json \
		'[.scenarios[] | select(.name | test("^tree-rates-[0-9]+$")) | .instructions_per_pkt] | length == 2 and max < min * 2'
	check_counts tree tree.json "$(dirname "$(dirname "$TAPLINE")")/tests/bench/bench_tree"
	TL_BUILD=$(dirname "$(dirname "$TAPLINE")") "$func_root/tests/bench/shape.sh" >shape.json 2>shape.log || true
	check_json "a frame is classified among 10,000 hosts for what it costs among 16" shape.json \
		'[.scenarios[] | select(.name | startswith("hosts-")) | .instructions_per_pkt] | length == 2 and min > 50 and max < min * 1.05'
	check_counts shape shape.json "$(dirname "$(dirname "$TAPLINE")")/tests/bench/bench_shape"
else
	skip "instructions per frame" "valgrind is not installed"
fi
