#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Stamps of the client, compared with tcpdump's; its sweeps, verdicts and files. Its peers are the appliance over a
# veth, and echoes of the kernel over the loopback interface.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

COMPARE=$func_root/tests/lib/compare_stamps.py
# Filter on a report: each echo is accounted for, and there are stamps, none of which contradicts user space.
STAMPED='.timestamps == "kernel" and .received == .sent and .received > 0
	and (.stamps | .departures == "kernel" and .arrivals == "kernel" and .paired > 0 and .tx_strays == 0)
	and .received == (.stamps | .paired + .reply_first + .tx_missing + .rx_missing + .rx_shared)
	and .stamps.reply_first == 0 and .stamps.wire_over_rtt == 0
	and .wire_rtt_ns.max <= ([.rtt_ns.max, .cold[].rtt_ns] | max)
	and .valid == (.invalid == [])'

# client FILE OPTION...: run the client; its JSON goes to FILE, its messages to client.log, its status to CLIENT_STATUS.
client() {
	local file=$1
	shift
	CLIENT_STATUS=0
	in_peer timeout 60 "$TAPLINE" client --kernel --seconds 0.2 --linger 20 --json "$@" >"$file" 2>>client.log || CLIENT_STATUS=$?
}

# refused SENTENCE MESSAGE OPTION...: check for status 2 and no result.
refused() {
	local sentence=$1 message=$2
	shift 2
	: >client.log
	client refused.json "$@"
	if ((CLIENT_STATUS == 2)) && [[ ! -s refused.json ]] && grep -qF -- "$message" client.log; then
		ok "$sentence"
	else
		not_ok "$sentence" "status $CLIENT_STATUS" "$(cat refused.json client.log)"
	fi
}

# judge_stamps PROTOCOL OPTION...: run with every sample in samples.csv, captured by tcpdump, too.
judge_stamps() {
	local protocol=$1 tcpdump_pid
	shift
	rm -f seen.pcap
	ip netns exec "$PEER_NS" tcpdump -U --immediate-mode --time-stamp-precision=nano -n -i "$PEER_IF" -w seen.pcap "$protocol" \
		2>tcpdump.log &
	tcpdump_pid=$!
	wait_for 60 grep -q 'listening on' tcpdump.log || func_die "tcpdump did not start"
	client "$protocol.json" --cold 0 --csv samples.csv "$@"
	wait_for 60 saw_messages "$protocol" "$(jq .received "$protocol.json")" || true
	stop_process "$tcpdump_pid" INT 2>/dev/null || true
	"$COMPARE" samples.csv fields "$PEER_IP" >compared.json
}

# saw_messages PROTOCOL COUNT: check that this number of messages came back; write them to fields.
saw_messages() {
	# shellcheck disable=SC2094 # -e names a field, not a file
	tshark -r seen.pcap -Y "$1.payload" -T fields -e frame.time_epoch -e ip.src -e "$1.payload" >fields 2>/dev/null
	(($(grep -cF "$APP_IP" fields) >= $2))
}

has_datagrams() { [[ -n $(in_peer ss -Hlun "sport = :$1") ]]; }

lines_of() { tail -n +2 "$1" | wc -l; }

func_begin
net_begin
app_config config.json '"echo": [{"port": "lan", "udp_listen": 7}, {"port": "lan", "tcp_listen": 7},
	{"port": "lan", "receive": {"group": "239.1.1.1", "udp_port": 5001}, "send": {"tcp_connect": "'"$PEER_IP"':5002"}}]'
app_start config.json

judge_stamps udp --udp-echo "$APP_IP:7"
check_json "each echo over UDP has its stamps or is counted" udp.json "$STAMPED"
check_json "tcpdump has equal stamps for every echo and its message" compared.json \
	'.judged >= 100 and .same_arrival == .judged and .between == .judged'
check_equal "every pair is a sample in the file" "$(lines_of samples.csv)" "$(jq .stamps.paired udp.json)"
judge_stamps tcp --tcp-connect "$APP_IP:7" --rate 200 --seconds 0.5
check_json "each echo over TCP has its stamps or is counted" tcp.json "$STAMPED"
check_json "tcpdump has equal stamps for every echo over TCP" compared.json \
	'.judged >= 10 and .same_arrival == .judged and .between == .judged'

client multicast.json --group 239.1.1.1 --udp-port 5001 --tcp-listen "$PEER_IP:5002" --cold 3 --html page.html --hgrm h.hgrm --report report.json
check_json "each echo from multicast to TCP has its stamps or is counted" multicast.json "$STAMPED and .mode == \"multicast\""
check_json "the first echoes are listed separately" multicast.json '.cold | length == 3 and all(.connection == 0 and .rtt_ns > 0)'
check "the page and the percentiles are written" grep -q '<html' page.html
check "percentiles have the format of HdrHistogram" grep -qi percentile h.hgrm
check_json "the report has the pairs of the run" report.json '.method == "software" and .trigger_source == "kernel"
	and .latency_ns.count + (.cold_ns | length) == '"$(jq .stamps.paired multicast.json)"
check "the report compares equal with itself" is_equal_to_itself report.json

client sweep.json --udp-echo "$APP_IP:7" --payload 16:1472:3
check_json "a payload sweep has one run per size and a fitted line" sweep.json \
	'([.points[].payload_bytes] == [16, 744, 1472]) and all(.points[]; '"$STAMPED"') and .best == "wire_rtt_ns"
	 and .payload_fit.r2 >= 0 and .payload_fit.r2 <= 1 and .payload_fit.ns_per_byte_se != null'
check "the progress output shows each point" grep -q 'point [123] of 3' client.log
client rates.json --tcp-connect "$APP_IP:7" --rate 100,500
check_json "a rate sweep has one run per rate" rates.json '([.points[].asked_pps] == [100, 500]) and .payload_fit == null'

# Every tenth of 100 messages is the last of its burst; the others may share stamps.
BURSTS='.burst == 10 and .received == 100 and .sent == 100 and .burst_last_rtt_ns.count == 10
	and .burst_last_wire_rtt_ns.count <= 10 and .burst_last_rtt_ns.max <= .rtt_ns.max
	and .received == (.stamps | .paired + .reply_first + .tx_missing + .rx_missing + .rx_shared)'
for way in "--tcp-connect $APP_IP:7" "--udp-echo $APP_IP:7" "--group 239.1.1.1 --udp-port 5001 --tcp-listen $PEER_IP:5002"; do
	read -ra words <<<"$way"
	client bursts.json "${words[@]}" --rate 500 --burst 10
	check_json "bursts with ${words[0]}: the last message of each has separate figures" bursts.json "$BURSTS"
done
check_json "messages of bursts have stamps" bursts.json '.burst_last_wire_rtt_ns.count > 0'
refused "a burst of more than 64 is refused" "--burst 65: give a whole number from 1 to 64" --udp-echo "$APP_IP:7" --burst 65

client user.json --udp-echo "$APP_IP:7" --timestamps user
check_json "missing stamps are not substituted" user.json \
	'.best == "rtt_ns" and .wire_rtt_ns.p50 == null and .stamps.paired == 0 and .stamps.departures == "user"'
refused "a NIC that cannot stamp is refused" "ethtool -T $PEER_IF" --udp-echo "$APP_IP:7" --timestamps nic

peer_start "$PEER_PY" echo_datagrams 127.0.0.1 9
peer_start "$PEER_PY" echo_streams 127.0.0.1 9
wait_for 60 listens 9 || func_die "the echo of the kernel did not start"
wait_for 60 has_datagrams 9 || func_die "the echo of datagrams did not start"
client null.json --udp-echo 127.0.0.1:9
check_json "over the loopback interface each echo has its stamps or is counted" null.json "$STAMPED"
client net.json --udp-echo "$APP_IP:7" --null null.json
check_json "the mean of a null echo is subtracted, quantiles are not" net.json \
	'(.net_of_null_ns | keys) == ["mean", "mean_ci95", "what"] and .net_of_null_ns.mean_ci95 >= .wire_rtt_ns_ci95.mean and
	(.net_of_null_ns.mean - .wire_rtt_ns.mean + '"$(jq .wire_rtt_ns.mean null.json)"' | fabs) <= 0.6'
refused "a missing null echo is refused" "error: --null none.json: No such file or directory" \
	--udp-echo "$APP_IP:7" --null none.json
printf '{' >torn.json
refused "a null echo that is not JSON is refused" "error: --null torn.json: line 1: " \
	--udp-echo "$APP_IP:7" --null torn.json
refused "a null echo of another rate is refused" "has no run over udp" --udp-echo "$APP_IP:7" --null null.json --rate 999

flood=(--tcp-connect 127.0.0.1:9 --seconds 0.001 --rate 10000000 --linger 10) # several echoes per segment
client flood.json "${flood[@]}"
check_json "unreliable results are marked invalid" flood.json \
	'.received == .sent and .valid == false and any(.invalid[]; test("^stamps are missing"))'
check_equal "an invalid result does not change the exit status" "$CLIENT_STATUS" 0
client flood.json "${flood[@]}" --require-valid
check_equal "with --require-valid an invalid result changes the exit status" "$CLIENT_STATUS" 1

peer_start "$PEER_PY" echo_datagrams 127.0.0.1 11 2
wait_for 60 has_datagrams 11 || func_die "the echo of half of the datagrams did not start"
client half.json --udp-echo 127.0.0.1:11 --rate 1000 --report half-report.json --linger 2
check_json "a loss of half of the messages invalidates a result" half.json \
	'.sent == 200 and .lost == 100 and (.valid | not) and any(.invalid[]; test("^100 of 200 messages were lost: more than 0.1 %"))'
check_json "the lost messages rank above all echoes in the quantiles" half.json \
	'all(.rtt_quantiles, .wire_rtt_quantiles; .p90.with_loss_ns == null and .p90.above_window and .p90.ns > 0)
	 and .window_ns == 2000000000'
check_json "the report contains the losses" half-report.json '[.triggers, .unanswered, .window_ns] == [.answered + 100, 100, 2000000000]
	and .quantiles.p90.above_window and (.valid | not)'
check_json "with 100 samples the p99.9 is marked" half.json '.rtt_quantiles.p999.few and (.rtt_quantiles.p50.few | not)'
client half.json --udp-echo 127.0.0.1:11 --rate 1000 --linger 2 --max-loss 50%
check_json "--max-loss 50% accepts the loss" half.json '.lost == 100 and all(.invalid[]; test("were lost") | not)'
refused "a share above 1 is refused" "--max-loss 2: give a share" --udp-echo 127.0.0.1:11 --max-loss 2

app_stop TERM
check_json "the ledger of the appliance is consistent" run.json '.ledger_ok'
