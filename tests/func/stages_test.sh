#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Stages of an echo's messages, outliers with their context, and the times between polls.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

# feed: send 300 messages, multicast in, TCP out; fail if one is lost, corrupt, duplicated or out of order.
feed() {
	in_peer timeout 60 "$TAPLINE" client --kernel --group 239.1.1.1 --udp-port 5001 --tcp-listen "$PEER_IP:5002" \
		--rate 300 --seconds 1 --payload 16 --connect-timeout 30 --linger 20 --json >client.json 2>client.log
}

is_stopped() { [[ $(sed -n 's/^State:\t//p' "/proc/$app_pid/status") == T* ]]; }

# Fifty datagrams that arrive between two polls: the next poll returns them all.
send_while_stopped() {
	kill -s STOP "$app_pid"
	wait_for 60 is_stopped
	in_peer "$PEER_PY" datagrams "$APP_IP" 7 $(seq 1 50)
	kill -s CONT "$app_pid"
}

page_of() { sed -n 's|.*<script id="report" type="application/json">\(.*\)</script>.*|\1|p' "$1" | jq -cS .; }

func_begin
net_begin
app_config config.json '"echo": [
	{"name": "feed", "port": "lan", "receive": {"group": "239.1.1.1", "udp_port": 5001},
		"send": {"tcp_connect": "10.99.0.2:5002"}, "samples": 4096},
	{"name": "udp", "port": "lan", "udp_listen": 7, "outliers": {"above_us": 1, "keep": 4}, "samples": 1},
	{"name": "none", "port": "lan", "udp_listen": 9}]'
app_start config.json --latency reports
check "a feed is echoed with stage stamps per message" feed
check_equal "a datagram is echoed with stage stamps" "$(echo 'a line' | in_peer socat -t 2 - "UDP:$APP_IP:7")" 'a line'
check_equal "an echo without stages replies" "$(echo 'a line' | in_peer socat -t 2 - "UDP:$APP_IP:9")" 'a line'
gaps=$(app_status '.port.queues[0].poll_gap_ns.count')
send_while_stopped >datagrams.json
check "datagrams that arrived during a stall are echoed" wait_for 60 status_is '.echoes[1].echoed_msgs == 51'
app_status >status.json
check_json "the poll gap is recorded" status.json ".port.queues[0].poll_gap_ns.count > $gaps"
check_json "the status has the last outliers" status.json '.echoes[1].outliers | length > 0 and length <= 4'
"$TAPLINE" status --socket control.sock >status.txt
check "the text has each stage and the last outlier" grep -Eq '^    parsed_to_ready_ns +[0-9]+ .*p99' status.txt
check "the text has its residence time" grep -Eq '^    last_outlier_residence_ns +[0-9]+' status.txt
app_stop TERM
check_equal "SIGTERM ends the run with status 0" "$APP_STATUS" 0
check_json "the ledger is consistent" run.json '.ledger_ok'

check_json "each message is counted in each stage of its echo only" run.json '.echoes[0, 1] |
	.residence_ns.count == .echoed_msgs and (.stages_ns | keys == ["parsed_to_ready", "poll_to_parsed", "ready_to_tx", "tx_call", "wire_to_poll"])
	and ([.stages_ns[].count] | unique) == [.echoed_msgs]'
check_json "the stages sum up to the residence time" run.json '.echoes[0] |
	(.stages_ns | .poll_to_parsed.mean + .parsed_to_ready.mean + .ready_to_tx.mean) - .residence_ns.mean | fabs < 0.01'
check_json "no stage exceeds the residence time" run.json '.echoes[0] | .residence_ns as $whole | .stages_ns |
	[.poll_to_parsed, .parsed_to_ready, .ready_to_tx] | all(.min <= $whole.min and .max <= $whole.max)'
check_json "the send call equals that reported without stages" run.json '.echoes[0] |
	.stages_ns.tx_call.mean == .tx_call_ns.mean'
check_json "the cost of stamps and of rdtsc alone is reported" run.json '.echoes[0] | .stamp_cost_ns > 0 and .rdtsc_ns > 0'
check_json "each message has the poll gap before it" run.json '.echoes[0] | .poll_gap_ns.count == .echoed_msgs and
	.poll_gap_above_p50_msgs <= .echoed_msgs'
check_json "an echo without stages has no stage counts" run.json '.echoes[2] | .echoed_msgs == 1 and (has("stages_ns") | not)'

check_json "the last outliers are kept, others are counted" run.json '.echoes[1] |
	.outliers_above_ns == 1000 and (.outliers | length) == ([4, .outlier_bursts] | min) and
	.outliers_overwritten == .outlier_bursts - (.outliers | length) and
	[.outliers[].number] == [range(.outlier_bursts - (.outliers | length); .outlier_bursts)]'
check_json "each outlier has its stages" run.json '.echoes[1].outliers | length > 0 and all(.residence_ns > 1000 and
	([.stages_ns | .poll_to_parsed, .parsed_to_ready, .ready_to_tx] | add) == .residence_ns and .poll_gap_ns > 0)'
check_json "each outlier has the frames of its burst" run.json '.echoes[1].outliers | all(.msgs == (.own_frames | length) and
	(.burst.frame_bytes | length) == .burst.frames and (.burst.frame_bytes | add) == .burst.bytes)'
check_json "one outlier covers all waiting frames" run.json 'any(.echoes[1].outliers[]; .msgs > 10 and .poll_gap_ns > 10000)'
check_json "each outlier has the kernel's counters" run.json '.echoes[1].outliers | all(.noise |
	.over_ns > 0 and .interrupts >= 0 and .involuntary_switches >= 0)'
check "the final table has the outliers" grep -Eq '^  outliers: [0-9]+ bursts above 1.000 us' run.log

check_json "a latency report of the echo has the same times" reports/feed.json '(.latency_ns.mean | floor) ==
	'"$(jq '.echoes[0].residence_ns.mean | floor' run.json)"' and .method == "software" and .source == "tsc" and .matched == 300'
check_json "the report has the stages" \
	reports/feed.json '[.stages[].name] == ["wire_to_poll", "poll_to_parsed", "parsed_to_ready", "ready_to_tx", "tx_call"]'
check_equal "with \"samples\" each message has a line" "$(wc -l <reports/feed.csv)" 301
check_json "the report has the outliers" reports/udp.json '.matched == 51 and (.outliers | length) > 0'
check_json "only the last samples are kept and labelled so" reports/udp.json \
	'.series.kept == "last" and .series.samples > 0 and .series.samples < .matched'
check_json "all samples of an echo within the capacity are kept" \
	reports/feed.json '.series.kept == "all" and .clocks_shown == "one, the TSC of the host"'
check_equal "the page embeds the same object" "$(page_of reports/feed.html)" "$(jq -cS . reports/feed.json)"
check "the report can be compared" is_equal_to_itself reports/feed.json
check "the percentile file exists" test -s reports/feed.hgrm
touch file
app_config alone.json
check_equal "a configuration without an echo has no latency report" \
	"$("$TAPLINE" run alone.json --latency reports 2>&1; echo $?)" \
	"$(printf '%s\n%s' 'tapline: error: --latency: no echo in: alone.json (see `tapline run --help`)' 2)"
check "a file is refused as a directory" grep -q 'not a directory' <<<"$("$TAPLINE" run config.json --latency file 2>&1)"
