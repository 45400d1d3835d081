#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The client on a DPDK port, with Tapline's stack on both ends of a veth: it prints the figures of the kernel's client,
# plus the port's account.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

# Filter on a report: each echo is accounted for, its stamps have a source, and no TX stamp lacks a frame.
STAMPED='.transport == "port" and .received == .sent and .received > 0 and .lost == 0
	and (.stamps | .departures == "tsc" and (.arrivals == "tsc" or .arrivals == "kernel") and .paired > 0 and .tx_strays == 0)
	and .received == (.stamps | .paired + .reply_first + .tx_missing + .rx_missing + .rx_shared)
	and .stamps.wire_over_rtt == 0 and .valid == (.invalid == [])'
LEDGER='.ledger_ok and .port.verified and .port.unaccounted_pkts == 0 and .port.drop_tx_pkts == 0 and .net[0].in_pkts == .port.rx_pkts'

# client FILE OPTION...: run the client; its JSON goes to FILE, its messages to client.log, its status to CLIENT_STATUS.
client() {
	local file=$1
	shift
	CLIENT_STATUS=0
	in_peer timeout 60 "$TAPLINE" client --port "$PEER_IF" --ip "$PEER_IP/24" --seconds 0.2 --linger 20 --json "$@" \
		>"$file" 2>>client.log || CLIENT_STATUS=$?
}

# fails SENTENCE STATUS MESSAGE OPTION...: check that there is no result.
fails() {
	local sentence=$1 status=$2 message=$3
	shift 3
	: >client.log
	client refused.json "$@"
	if ((CLIENT_STATUS == status)) && [[ ! -s refused.json ]] && grep -qF -- "$message" client.log; then
		ok "$sentence"
	else
		not_ok "$sentence" "status $CLIENT_STATUS" "$(cat refused.json client.log)"
	fi
}

func_begin
net_begin
ip -netns "$PEER_NS" address flush dev "$PEER_IF" # the kernel there must not reply
app_config config.json '"echo": [{"port": "lan", "udp_listen": 7}, {"port": "lan", "tcp_listen": 7},
	{"port": "lan", "receive": {"group": "239.1.1.1", "udp_port": 5001}, "send": {"tcp_connect": "'"$PEER_IP"':5002"}}]'
app_start config.json

client multicast.json --group 239.1.1.1 --udp-port 5001 --tcp-listen "$PEER_IP:5002" --cold 3 --csv samples.csv --report report.json
check_json "each echo from multicast to TCP has its stamps or is counted" multicast.json "$STAMPED and .mode == \"multicast\""
check_json "every frame of the port is accounted for" multicast.json "$LEDGER"
check_json "the first echoes are listed separately" multicast.json '.cold | length == 3 and all(.connection == 0 and .rtt_ns > 0)'
check_equal "every pair that is not cold is a sample" "$(($(wc -l <samples.csv) - 1))" \
	"$(jq '.stamps.paired - ([.cold[] | select(.wire_rtt_ns != null)] | length)' multicast.json)"
check_json "the report names both timestamp sources" \
	report.json '.trigger_source == "tsc" and (.reply_source == "tsc" or .reply_source == "kernel") and .trigger_bound_ns > 0'

client tcp.json --tcp-connect "$APP_IP:7" --payload 16,2000,65536
check_json "over TCP each echo has its stamps, for messages of several segments too" tcp.json \
	"all(.points[]; $STAMPED) and (.points | length) == 3 and .best == \"wire_rtt_ns\" and .payload_fit != null and ($LEDGER)"
client udp.json --udp-echo "$APP_IP:7" --payload 16:1472:3
check_json "a payload sweep over UDP has a run per size" udp.json \
	"([.points[].payload_bytes] == [16, 744, 1472]) and all(.points[]; $STAMPED) and ($LEDGER)"

client bursts.json --tcp-connect "$APP_IP:7" --rate 500 --burst 10
check_json "bursts are sent completely, and the last message of each has separate figures" bursts.json \
	"$STAMPED and .sent == 100 and .burst_last_rtt_ns.count == 10 and .burst_last_wire_rtt_ns.count <= 10 and ($LEDGER)"

client user.json --udp-echo "$APP_IP:7" --timestamps user
check_json "missing stamps are not substituted" user.json \
	'.best == "rtt_ns" and .received == .sent and .wire_rtt_ns.p50 == null and .stamps.paired == 0 and .stamps.departures == "user"'
client net.json --udp-echo "$APP_IP:7" --timestamps user --null user.json
check_json "a null echo over the same transport is subtracted" net.json \
	'(.net_of_null_ns.mean - .rtt_ns.mean + '"$(jq .rtt_ns.mean user.json)"' | fabs) <= 0.6'
jq '.transport = "kernel"' user.json >kernel.json
fails "a null echo over kernel sockets is refused" 2 "has no run over udp with --port" --udp-echo "$APP_IP:7" --timestamps user \
	--null kernel.json

fails "an address without a host is reported" 1 "no ARP reply" --udp-echo 10.99.0.77:7 --connect-timeout 0.3
fails "a TCP port without a listener is reported" 1 "connection refused" --tcp-connect "$APP_IP:9" --connect-timeout 2
fails "a connection that is never opened is reported" 1 "no connection to" --group 239.1.1.1 --udp-port 5001 --tcp-listen "$PEER_IP:5999" \
	--connect-timeout 0.3
fails "an address outside the prefix has exit status 2" 2 "is not in the prefix of --ip" --udp-echo 192.0.2.1:7
fails "a missing port has exit status 2" 2 "no interface" --udp-echo "$APP_IP:7" --port none0
fails "an unsupported timestamp source has exit status 2" 2 "has no timestamps" --udp-echo "$APP_IP:7" --timestamps nic

app_stop TERM
check_json "the ledger of the appliance is consistent" run.json '.ledger_ok'
ip -netns "$APP_NS" link set "$APP_IF" down
wait_for 60 in_peer grep -q 0 "/sys/class/net/$PEER_IF/carrier" || func_die "the link stays up"
fails "a port without a link is reported before the first message" 1 "no link" --udp-echo "$APP_IP:7"

netns_delete "$APP_NS" "$PEER_NS"
net_begin_relayed --lose 20000 --late 20000 --late-us 3000 --seed 7
ip -netns "$PEER_NS" address flush dev "$PEER_IF"
app_start config.json
client lossy.json --tcp-connect "$APP_IP:7" --payload 3000 --linger 20
check_json "over a lossy, delaying wire late echoes do not get stamps of later data" lossy.json \
	"$STAMPED and .stamps.rx_shared > 0 and ($LEDGER) and .net[0].tcp_retransmits > 0"
app_stop TERM
