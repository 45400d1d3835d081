#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The appliance as a neighbour of the kernel over IPv6: neighbour discovery, ICMPv6, MLD, UDP and TCP.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

group=ff05::1234
APP_PORT_KEYS="\"ip6\": \"$APP_IP6/64\""

# seen FILTER: print the number of matching frames on the wire.
seen() {
	tshark -r wire.pcap -Y "$1" 2>/dev/null | wc -l
}

has_seen() {
	(($(seen "$1") >= $2))
}

pings_of_every_size() {
	local size
	for size in 0 1 5 6 56 1000 1451 1452; do
		in_peer ping -6 -q -c 2 -i 0.05 -W 10 -s "$size" "$1" || return
	done
}

answers_ping6() {
	in_peer ping -6 -q -c 1 -W 1 "$APP_IP6" >/dev/null
}

neighbour() {
	in_peer ip -6 neighbour show "$1" dev "$PEER_IF"
}

echo_of_nc() {
	head -c 1000000 /dev/urandom >sent
	in_peer timeout 60 nc -6 -N "$APP_IP6" 7 <sent >received && cmp sent received
}

# With every message echoed, and stamps of both directions.
measures() {
	in_peer timeout 60 "$TAPLINE" client --kernel --seconds 0.5 --linger 20 --json "$@" >measured.json || return
	jq -e '.stamps.paired > 0' measured.json
}

is_connected() {
	status_is '[.echoes[] | select(.name == "orders") | .connections == 1] | all'
}

func_begin
net_begin
net_ip6
mac=$(in_app cat "/sys/class/net/$APP_IF/address")
peer_start tcpdump -U --immediate-mode -n -i "$PEER_IF" -w wire.pcap "icmp6 or ip6[6] == 0" 2>tcpdump.log
tcpdump_pid=$peer_pid
wait_for 60 grep -q 'listening on' tcpdump.log
app_config config.json "\"echo\": [{\"port\": \"lan\", \"tcp_listen\": 7}, {\"port\": \"lan\", \"udp_listen\": 7},
	{\"port\": \"lan\", \"name\": \"orders\", \"send\": {\"tcp_connect\": \"[$PEER_IP6]:5002\"},
	\"receive\": {\"group\": \"$group\", \"udp_port\": 5001, \"source\": \"$PEER_IP6\"}},
	{\"port\": \"lan\", \"receive\": {\"group\": \"ff05::1235\", \"udp_port\": 5003},
	\"send\": {\"tcp_connect\": \"[$PEER_IP6]:5004\"}}]"
app_start config.json

check "the appliance answers ping shortly after its start" wait_for 60 answers_ping6
check "the address was probed before (RFC 4862)" \
	wait_for 60 has_seen "icmpv6.type == 135 && ipv6.src == :: && icmpv6.nd.ns.target_address == $APP_IP6" 1
check "the address was announced to all nodes" \
	wait_for 60 has_seen "icmpv6.type == 136 && ipv6.dst == ff02::1 && icmpv6.nd.na.target_address == $APP_IP6" 1
check_equal "the kernel has learned the MAC address of the interface" "$(neighbour "$APP_IP6" | awk '{print $3}')" "$mac"
check "ping is answered in every size up to the MTU" pings_of_every_size "$APP_IP6"
link_local=$(tshark -r wire.pcap -Y "icmpv6.type == 135 && ipv6.src == ::" -T fields -e icmpv6.nd.ns.target_address \
	2>/dev/null | grep '^fe80:' | sort -u)
check "ping is answered at the link-local address" pings_of_every_size "$link_local%$PEER_IF"
in_peer ip -6 neighbour flush dev "$PEER_IF"
check "after the kernel's neighbour entry is flushed the appliance is resolved again" wait_for 60 answers_ping6
check_equal "a fragmented ping is not answered" \
	"$(in_peer ping -6 -q -c 1 -W 1 -s 3000 "$APP_IP6" >/dev/null && echo answered || echo silence)" silence

in_peer "$PEER_PY" udp_sizes "$APP_IP6" 7 $(seq 0 1452) >sizes.json
check_json "datagrams of 0 to 1452 bytes are echoed unchanged" sizes.json '.sizes == 1453 and .wrong == []'
check "nc receives 1 MB, byte for byte" echo_of_nc
in_peer timeout 120 "$PEER_PY" echo_bytes "$APP_IP6" 7 50000000 >echo.json || true
check_json "a peer that sends and reads concurrently receives 50 MB, then FIN" echo.json \
	'.received == 50000000 and .same and .fin'
in_peer "$PEER_PY" open_together "$APP_IP6" 7 100 >together.json
check_json "a hundred concurrent connections receive their echoes" together.json '.same == 100'

check "tapline client measures TCP" measures --tcp-connect "[$APP_IP6]:7"
check "and UDP" measures --udp-echo "[$APP_IP6]:7"
check "tapline client measures multicast to TCP" measures --group ff05::1235 --udp-port 5003 --tcp-listen "[$PEER_IP6]:5004"

report="icmpv6.type == 143 && ipv6.src == $link_local"
check "the group is joined by MLDv2" wait_for 60 has_seen "$report && icmpv6.mldr.mar.multicast_address == $group" 1
check_equal "reports are sent to ff02::16 with hop limit 1 and Router Alert" \
	"$(seen "$report && !(ipv6.dst == ff02::16 && ipv6.hlim == 1 && ipv6.opt.router_alert == 0)")" 0
reports=$(seen "$report")
in_peer "$PEER_PY" mld_query "$PEER_IF" 2 >/dev/null
check "a query is answered" wait_for 60 has_seen "$report" $((reports + 1))

peer_start "$PEER_PY" read_all "$PEER_IP6" 5002 >read.json
reader_pid=$peer_pid
check "the appliance connects to its peer" wait_for 60 is_connected
ip -netns "$PEER_NS" -6 address add 2001:db8:99::3/64 dev "$PEER_IF" nodad
in_peer "$PEER_PY" multicast6 "$PEER_IF" 2001:db8:99::3 "$group" 5001 50 16 >/dev/null
in_peer "$PEER_PY" multicast6 "$PEER_IF" "$PEER_IP6" "$group" 5001 500 16 >/dev/null
check "only datagrams of the configured source are echoed" \
	wait_for 60 status_is '[.echoes[] | select(.name == "orders") | .echoed_msgs == 500] | all'

in_peer "$PEER_PY" mld_query "$PEER_IF" 1 >/dev/null
check "an older querier is answered in MLDv1" \
	wait_for 60 has_seen "icmpv6.type == 131 && ipv6.dst == $group && ipv6.src == $link_local" 1
app_stop TERM
check "the group is left at the end in the querier's version" \
	wait_for 60 has_seen "icmpv6.type == 132 && ipv6.dst == ff02::2 && ipv6.src == $link_local" 1
wait "$reader_pid" || true
check_json "all echoed messages arrived" read.json '.received == 500 * 16'
check_equal "tshark reports no error in our packets" \
	"$(tshark -r wire.pcap -Y "eth.src == $mac && (_ws.malformed || icmpv6.checksum.status == 0)" 2>/dev/null | wc -l)" 0
stop_process "$tcpdump_pid" TERM || true
check_equal "SIGTERM ends the run with status 0" "$APP_STATUS" 0
check_json "the ledger is consistent" run.json '.ledger_ok'
check_json "the fragments are counted" run.json '.net[0].drop_fragment_pkts >= 2'

# ---- a duplicate address

ip -netns "$PEER_NS" -6 address add "$APP_IP6/64" dev "$PEER_IF" nodad
app_config taken.json '"echo": [{"port": "lan", "udp_listen": 7}]'
app_start taken.json
check "an address in use by the kernel is not used" wait_for 60 status_is '.net[0].nd_duplicate_addresses == 1'
ip -netns "$PEER_NS" -6 address del "$APP_IP6/64" dev "$PEER_IF"
check "the link-local address is used" wait_for 60 in_peer ping -6 -q -c 1 -W 1 "$link_local%$PEER_IF"
check "the address in use gets no reply from the appliance" bash -c '! "$@"' bash \
	ip netns exec "$PEER_NS" ping -6 -q -c 1 -W 1 "$APP_IP6"
app_stop TERM
check_equal "SIGTERM ends the second run with status 0" "$APP_STATUS" 0
