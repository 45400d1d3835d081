#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# `tapline latency` on captures with latencies known to the nanosecond, on random ones compared with a slow, simple
# matcher; its copy is checked with tshark.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

LIB=$(dirname "$PEER_PY")
FILTERS=(--trigger 'udp dst port 5001' --reply 'tcp src port 5002')

# latency NAME ARG...: write results to NAME.json, messages to NAME.log.
latency() {
	local name=$1
	shift
	timeout 60 "$TAPLINE" latency --json "$@" >"$name.json" 2>"$name.log" </dev/null
}

status_of() {
	local status=0
	"$@" >/dev/null 2>last.log </dev/null || status=$?
	echo "$status"
}

# refused SENTENCE MESSAGE ARG...
refused() {
	local sentence=$1 message=$2
	shift 2
	check_equal "$sentence: status 2" "$(status_of timeout 60 "$TAPLINE" latency "$@")" 2
	check "$sentence: the reason is reported" grep -q -e "$message" last.log
}

# is_known SENTENCE FILE METHOD: check that each of the 1000 pairs is 1000 to 1999 ns apart.
is_known() {
	check_json "$1" "$2" '.matched == 1000 and .unmatched_triggers == 0 and .unmatched_replies == 0 and .duplicates == 0
		and .method == "'"$3"'" and .source == "file" and .valid and .latency_ns.exact
		and (.latency_ns | [.min, .p50, .p90, .p99, .p999, .max, .mean]) == [1000, 1499, 1899, 1989, 1998, 1999, 1499.5]'
}

known_latencies() {
	latency pair triggers.pcap replies.pcap "${FILTERS[@]}" --csv pair.csv --html pair.html --hgrm pair.hgrm
	is_known "a pair of files gives every percentile to the nanosecond" pair.json unknown
	latency both both.pcapng "${FILTERS[@]}"
	is_known "one file with both directions gives every percentile" both.json two-port
	check_json "nanosecond stamps have an unknown bound" both.json '.trigger_unit_ns == 1 and .reply_unit_ns == 1 and
		has("trigger_bound_ns") and .trigger_bound_ns == null and .reply_bound_ns == null and .reply_bound_clock == null'
	check "the text states the bound" grep -q '^stamps of replies  *file, unit 1 ns, bound unknown$' \
		<(timeout 60 "$TAPLINE" latency both.pcapng "${FILTERS[@]}" 2>/dev/null)
	latency sequence both.pcapng "${FILTERS[@]}" --match sequence:0:8
	is_known "matching by sequence number gives every percentile" sequence.json two-port
	latency position both.pcapng "${FILTERS[@]}" --match position
	is_known "matching by position gives every percentile" position.json two-port
	latency cut cut.pcap "${FILTERS[@]}" --match position
	is_known "matching by position works on truncated frames" cut.json unknown
	check_equal "the CSV has every pair once" \
		"$(tail -n +2 pair.csv | cut -d, -f3 | sort -n | sha256sum)" "$(seq 1000 1999 | sha256sum)"
	check_equal "the CSV has the time of each trigger" "$(sed -n 2p pair.csv | cut -d, -f1,2)" 1,1700000000000010007
	check "the page is well-formed" grep -q '</html>' pair.html
	check "the percentile file is well-formed" grep -q '^#\[Mean' pair.hgrm
	latency us us.pcap "${FILTERS[@]}"
	check_json "a microsecond file is reported as such" us.json \
		'.matched == 1000 and .facts.unit_of_triggers == "us" and .trigger_unit_ns == 1000 and .trigger_bound_ns == null and
		([.latency_ns.min, .latency_ns.p50, .latency_ns.max] - [1000, 2000]) == []'
}

# Quantiles of all triggers, in addition to those of answered ones.
losses() {
	latency narrow both.pcapng "${FILTERS[@]}" --window 1500ns
	check_json "triggers without a reply count as latencies above the window" narrow.json \
		'[.triggers, .answered, .unanswered, .window_ns] == [1000, 501, 499, 1500] and
		 .quantiles.p50.ns == 1250 and .quantiles.p50.with_loss_ns == 1499 and (.quantiles.p50.above_window | not) and
		 all(.quantiles.p90, .quantiles.p99, .quantiles.p999; .ns < 1501 and .with_loss_ns == null and .above_window)'
	check_json "a loss of half of them invalidates the result" narrow.json \
		'(.valid | not) and .max_loss == 0.001 and .invalid == ["499 of 1000 triggers have no reply within 1.500 us: more than 0.1 %, so quantiles without them are of survivors only"]'
	check_json "the times of losses are in the series" narrow.json \
		'([.series.blocks[][6]] | add) == 499 and ([.series.blocks[:120][][6]] | add) > 200 and ([.series.blocks[120:][][6]] | add) > 200'
	check "the table has both quantiles" grep -q 'with triggers without a reply  *1000  *1.499 us  *> window  *> window  *> window' \
		<("$TAPLINE" latency both.pcapng "${FILTERS[@]}" --window 1500ns)
	latency narrow both.pcapng "${FILTERS[@]}" --window 1998ns
	check_json "a loss of 1 in 1000 does not invalidate the result" narrow.json '.unanswered == 1 and .valid'
	latency narrow both.pcapng "${FILTERS[@]}" --window 1998ns --max-loss 0
	check_json "a loss invalidates the result if none is permitted" narrow.json '.unanswered == 1 and (.valid | not)'
	latency narrow both.pcapng "${FILTERS[@]}" --window 1500ns --max-loss 49.9%
	check_json "a loss equal to the limit does not invalidate the result" \
		narrow.json '.unanswered == 499 and .valid and .max_loss == 0.499'
	latency both both.pcapng "${FILTERS[@]}"
	check_json "without loss both quantiles are the same" both.json '.quantiles | length > 0 and all(.ns == .with_loss_ns and (.above_window | not))'
	check_json "quantiles with too few samples beyond are marked" both.json '[.quantiles[].few] == [false, false, false, true]'
}

# method SENTENCE METHOD CLOCKS FILE...: check the method and the line of clocks, as text and as JSON.
method() {
	local sentence=$1 method=$2 clocks=$3
	shift 3
	latency method "$@" --trigger 'udp dst port 5001' --reply 'src port 5002 or dst port 5002'
	check_json "$sentence" method.json ".matched >= 1000 and .method == \"$method\" and (.clocks_shown | test(\"^$clocks\"))"
	check "the text marks them" grep -qE "^clocks +$clocks" \
		<("$TAPLINE" latency "$@" --trigger 'udp dst port 5001' --reply 'src port 5002 or dst port 5002')
}

clocks_are_shown() {
	method "frames received by one interface have method two-port" two-port \
		'one, of interface 0 of section 1; each frame was received' both.pcapng
	method "frames without a direction have an unknown method" unknown \
		'one, of .*; no evidence that each frame was received' unmarked.pcapng
	method "frames marked as sent have method rx-tx" rx-tx 'one, ' own.pcapng
	method "two files of 10 ms give no clock verdict" unknown 'of two files, not shown to be one: 1000 pairs in 9.996 ms are too few' \
		triggers.pcap replies.pcap
	mkdir -p clocks
	local files=(clocks/triggers.pcapng clocks/replies.pcapng)
	(cd clocks && python3 -B "$LIB/make_clocks.py" 0 300000 0 1)
	method "two files of received frames with equal clock rates have method two-port for any offset" two-port \
		'of two files, which run alike: .* a constant difference would not; each frame was received' "${files[@]}"
	(cd clocks && python3 -B "$LIB/make_clocks.py" 0 300000 0 0)
	method "without a direction the method of two files is unknown" unknown \
		'of two files, which run alike: .* no evidence that each frame was received' "${files[@]}"
	(cd clocks && python3 -B "$LIB/make_clocks.py" 0.5 300000 0 1)
	method "with a drift of 0.5 ppm the method is unknown" unknown \
		'of two files, not shown to be one: the least latency moves by 4.* us in 9.995 s' "${files[@]}"
	(cd clocks && python3 -B "$LIB/make_clocks.py" 0 0 20000 1)
	method "with a step of 20 us the method is unknown" unknown 'of two files, .* the least latency moves by (19|20).* us in 9.995 s' "${files[@]}"
}

raw_pairs() {
	"$LIB/raw_pairs.py" make raw.pcapng
	latency raw raw.pcapng --trigger udp --reply tcp --csv raw.csv
	check "each line of the CSV has packets, stamps, interfaces, sources, bounds, segments and flags as generated" \
		"$LIB/raw_pairs.py" check raw.csv
	check_equal "a CSV that cannot be written is a failure" \
		"$(status_of timeout 60 "$TAPLINE" latency both.pcapng "${FILTERS[@]}" --csv /dev/full)" 1
	check "the message names the file" grep -q '/dev/full: cannot be written: No space left' last.log
}

what_goes_wrong_shows() {
	latency late triggers.pcap late.pcap "${FILTERS[@]}"
	check_json "replies before their triggers are counted and invalidate the result" late.json \
		'.matched == 1000 and .reply_first == 1000 and .latency_ns.count == 0 and (.invalid[0] | contains("499999000 ns"))'
	latency payload cut.pcap "${FILTERS[@]}" || true
	check_json "truncated frames invalidate the result if payloads are compared" payload.json \
		'.matched == 0 and .facts.frames_cut == "2000" and (.valid | not)'
	editcap both.pcapng missing.pcapng 2 2>/dev/null
	latency missing missing.pcapng "${FILTERS[@]}" --match position
	check_json "matching by position requires all messages" missing.json \
		'(.valid | not) and any(.invalid[]; test("the triggers are [0-9]+ bytes, the replies [0-9]+: by position"))'
	editcap both.pcapng shifted.pcapng 2 2001 2>/dev/null
	latency shifted shifted.pcapng "${FILTERS[@]}" --match position
	check_json "wrong bytes of equal length are detected by payload only" shifted.json \
		'(.valid | not) and any(.invalid[]; test("^999 replies are not the bytes of the triggers at their position"))'
	latency narrow both.pcapng "${FILTERS[@]}" --window 1500ns
	check_json "a window excludes pairs further apart" narrow.json \
		'.matched == 501 and .unmatched_triggers == 499 and .unmatched_replies == 499 and .latency_ns.max == 1500'
	head -c 60000 triggers.pcap >torn.pcap
	latency torn torn.pcap replies.pcap "${FILTERS[@]}"
	check_json "a truncated file is used up to its end" torn.json '.matched > 500 and .facts.incomplete_file == "yes"'
	check "the truncation is reported" grep -q 'used up to there' torn.log
	check_equal "no match at all has exit status 1" \
		"$(status_of "$TAPLINE" latency both.pcapng --trigger 'udp port 1' --reply 'tcp port 5002')" 1
	check "a trigger filter without matches is reported" \
		grep -q 'error: no reply was matched: --trigger selects 0 of 2001 frames, --reply 1001 of 2001; .*VLAN' last.log
	check_equal "a reply filter without matches is reported" \
		"$(status_of "$TAPLINE" latency triggers.pcap replies.pcap "${FILTERS[@]:0:3}" udp)" 1
	check "the message names the filter" grep -q -e '--trigger selects 1000 of 1000 .* --reply 0 of 1001;' last.log
	check_equal "the message states if both have frames" \
		"$(status_of "$TAPLINE" latency both.pcapng "${FILTERS[@]}" --window 1ns)" 1
	check "other reasons are reported" \
		grep -q -e '--trigger selects 1000 of 2001 .* --reply 1001 of 2001; see --match and --window' last.log
}

identical_payloads() {
	local udp_filters=(--trigger 'udp dst port 5001' --reply 'udp dst port 5002') period
	for period in 1 20; do
		python3 -B "$LIB/make_identical.py" identical.pcap 1000 200 "$period"
		latency identical identical.pcap "${udp_filters[@]}" --csv identical.csv
		check_json "with 1000 payloads, $period distinct, one lost reply does not change the median" identical.json \
			'.matched == 999 and .unmatched_triggers == 1 and .latency_ns.p50 == 5000 and .latency_ns.p90 == 5000'
		check_json "ambiguous pairs invalidate the result" identical.json \
			'.ambiguous == 8 and any(.invalid[]; test("^8 of 999 replies could answer several triggers"))'
		check_equal "the CSV marks ambiguous pairs, including each wrong one" \
			"$(awk -F, 'NR > 1 {n += $4; wrong += $3 != 5000 && !$4} END {print n, wrong + 0}' identical.csv)" "8 0"
	done
	python3 -B "$LIB/make_identical.py" identical.pcap 9000 200 1
	latency identical identical.pcap "${udp_filters[@]}"
	check_json "8 of 8999 are few, but maximum and mean are marked doubtful" identical.json \
		'.valid and .ambiguous == 8 and .latency_ns.max == 10005000 and .doubtful == ["min", "max", "mean"]'
	check "the text marks maximum and mean" grep -q 'ambiguous: 8 replies fit several triggers: min, max and mean may be of a wrong pair' \
		<("$TAPLINE" latency identical.pcap "${udp_filters[@]}")
}

# ids FILE: print packet id and comment of each frame, as read by tshark.
ids() {
	tshark -r "$1" -Y frame.comment -T fields -e frame.packet_id -e frame.comment 2>/dev/null
}

links_open_in_wireshark() {
	latency linked triggers.pcap replies.pcap "${FILTERS[@]}" -w linked.pcapng
	check_equal "every frame of a pair is marked" "$(ids linked.pcapng | wc -l)" 2000
	check_equal "a trigger and its reply share an id and the latency" \
		"$(tshark -r linked.pcapng -Y 'frame.packet_id == 7' -T fields -e frame.time_epoch -e frame.comment 2>/dev/null)" \
		"$(awk -F, '$1 == 7 {
			printf "%s.%s\ttrigger 7, latency %d ns\n", substr($2, 1, 10), substr($2, 11), $3
			printf "%s.%09d\treply to trigger 7, latency %d ns", substr($2, 1, 10), substr($2, 11) + $3, $3 }' pair.csv)"
	check_equal "the frames of both files are in time order" \
		"$(tshark -r linked.pcapng -T fields -e frame.time_epoch -e frame.len -e udp.srcport -e tcp.seq_raw 2>/dev/null | sha256sum)" \
		"$(tshark -r both.pcapng -T fields -e frame.time_epoch -e frame.len -e udp.srcport -e tcp.seq_raw 2>/dev/null | sha256sum)"
	latency above both.pcapng "${FILTERS[@]}" -w above.pcapng --above 1995ns
	check_equal "--above restricts comments to outliers" "$(ids above.pcapng | grep -c '^[0-9]*.*latency 199[6-9] ns$')" 8
	check_equal "no other frame has a comment" "$(ids above.pcapng | wc -l)" 8
	latency without both.pcapng "${FILTERS[@]}" -w without.pcapng --window 1500ns
	check_equal "a trigger without a reply has no id" \
		"$(tshark -r without.pcapng -Y 'udp.port == 5001 && !frame.packet_id' 2>/dev/null | wc -l)" 499
	timeout 60 "$TAPLINE" latency both.pcapng "${FILTERS[@]}" --json -w - 2>piped.json | tshark -r - -T fields -e frame.packet_id \
		2>/dev/null >piped
	check_equal "the copy can be written to a pipe" "$(grep -c . piped)" 2000
	is_known "with the copy on standard output the results are on standard error" piped.json two-port
}

# A Tapline recording keeps its interface's description, a merged file its frames' comments.
other_files() {
	local port frames
	timeout 60 "$TAPLINE" capture -i pcap:both.pcapng -w ours.pcapng >/dev/null 2>capture.log </dev/null
	latency ours ours.pcapng "${FILTERS[@]}" -w marked.pcapng
	is_known "stamps of a file are preserved in our recording and in the report" ours.json unknown
	check "the copy has the timestamp source" grep -q 'timestamps: file' <(capinfos marked.pcapng)
	sed 's/timestamps: file/timestamps: tsc /' ours.pcapng >tsc.pcapng
	latency tsc tsc.pcapng "${FILTERS[@]}"
	check_json "software stamps are labelled as such" tsc.json '.method == "software" and .source == "tsc" and .matched == 1000'
	frames=$(tshark -r us.pcap 2>/dev/null | wc -l)
	for port in "pcap:us.pcap" "vdev:net_pcap0,rx_pcap=$DIR/us.pcap"; do
		timeout 60 "$TAPLINE" capture -i "$port" --count "$frames" -w ours.pcapng >/dev/null 2>capture.log </dev/null
		latency ours ours.pcapng "${FILTERS[@]}"
		check_json "our recording of ${port%%[:=]*} keeps the file source and its microsecond unit" ours.json \
			".source == \"file\" and .facts.unit_of_triggers == \"us\" and .facts.unit_of_replies == \"us\" and
			.trigger_unit_ns == 1000 and .reply_unit_ns == 1000 and .latency_ns == $(jq .latency_ns us.json)"
	done
	sed 's/file, unit 1000 ns, bound unknown/file (in units of 1000 ns)       /' ours.pcapng >older.pcapng
	latency older older.pcapng "${FILTERS[@]}"
	check_json "a recording of an older version has it" older.json '.trigger_unit_ns == 1000 and .trigger_bound_ns == null'
	editcap -a '2:somebody was here' both.pcapng commented.pcapng 2>/dev/null
	latency commented commented.pcapng "${FILTERS[@]}" -w again.pcapng
	check_equal "existing comments are kept" \
		"$(tshark -r again.pcapng -Y 'frame.number == 2' -T fields -e frame.comment 2>/dev/null | cut -d, -f1,2)" \
		'somebody was here,trigger 1'
}

# Recording of an echo on the same port: each method gives the same pairs.
own_echo() {
	local method
	net_begin
	app_config lan.json '"echo": [{"port": "lan", "receive": {"group": "239.1.1.1", "udp_port": 5001},
		"send": {"tcp_connect": "10.99.0.2:5002"}}], "capture": [{"port": "lan", "path": "echo.pcapng"}]'
	jq '.ports[0].timestamps = "tsc"' lan.json >config.json # kernel stamps have no bound
	app_start config.json
	in_peer timeout 60 "$TAPLINE" client --kernel --group 239.1.1.1 --udp-port 5001 --tcp-listen "$PEER_IP:5002" \
		--rate 1000 --seconds 0.5 --payload 64 --connect-timeout 30 --linger 20 --json >client.json 2>client.log
	app_stop INT
	for method in payload sequence:0:8 position; do
		latency echo echo.pcapng --trigger 'udp dst port 5001' --reply 'tcp dst port 5002' --match "$method" --csv "$method.csv"
		check_json "$method matches each message of an echo with its reply in a recording" echo.json \
			".matched == $(jq .received client.json) and .unmatched_triggers == 0 and .unmatched_replies == 0 and
			.reply_first == 0 and .method == \"software\" and .source == \"tsc\" and .trigger_unit_ns == 1 and
			.trigger_bound_ns == $(jq '.captures[0].stamps[0].bound_max_ns' run.json) and .trigger_bound_clock == \"REALTIME\" and .valid"
	done
	check "the pairs are equal for both files" cmp payload.csv sequence:0:8.csv
	check "the pairs are equal for each method" cmp payload.csv position.csv
}

misuse_is_refused() {
	refused "a missing file" 'none.pcap: No such file' none.pcap "${FILTERS[@]}"
	refused "a file that is not a capture" 'error: pair.csv, byte 0: neither pcap nor pcapng (.*); bytes in it: [0-9]*$' pair.csv "${FILTERS[@]}"
	refused "the same file twice" 'the same file' both.pcapng ./both.pcapng "${FILTERS[@]}"
	refused "three files" 'two files at most' both.pcapng us.pcap cut.pcap "${FILTERS[@]}"
	refused "no file" 'which file' "${FILTERS[@]}"
	refused "no filter" 'which frames' both.pcapng --trigger udp
	refused "a bad filter" "^tapline: error: --reply: filter 'tcp pork 1'.*at character 5: 'pork 1'" \
		both.pcapng --trigger udp --reply 'tcp pork 1'
	refused "a bad number" 'sequence:OFFSET:LEN' both.pcapng "${FILTERS[@]}" --match sequence:4
	refused "a bad window" 'no time such as' both.pcapng "${FILTERS[@]}" --window 5m
	refused "a copy over the original" 'is an input file' both.pcapng "${FILTERS[@]}" -w both.pcapng
	refused "samples over the original" 'is an input file' both.pcapng "${FILTERS[@]}" --csv ./both.pcapng
	refused "a page over the replies" 'is an input file' triggers.pcap replies.pcap "${FILTERS[@]}" --html replies.pcap
	refused "samples and page in one file" 'two outputs cannot be one file' both.pcapng "${FILTERS[@]}" --csv two --html ./two
	refused "samples into a missing directory" 'none/samples.csv: cannot be written' both.pcapng "${FILTERS[@]}" \
		--csv none/samples.csv
	refused "a share above 1" '--max-loss takes a share' both.pcapng "${FILTERS[@]}" --max-loss 2
	refused "a threshold without a copy" 'above is for -w' both.pcapng "${FILTERS[@]}" --above 1us
	check "the original is unchanged" cmp both.pcapng before.pcapng
}

func_begin
"$LIB/make_pairs.py"
cp both.pcapng before.pcapng
mkdir exchanges
known_latencies
losses
clocks_are_shown
raw_pairs
what_goes_wrong_shows
identical_payloads
links_open_in_wireshark
other_files
own_echo
misuse_is_refused
check "200 random exchanges are matched like a simple reference matcher" \
	timeout 120 python3 -B "$LIB/exchange.py" "$TAPLINE" exchanges 1 200
