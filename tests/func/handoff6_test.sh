#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two lcores on one port of IPv6 only: the kernel distributes frames arbitrarily, and each reaches the lcore that owns its
# echo; neighbour discovery and MLD reach both.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"
source "$func_root/tests/lib/two_lcores.sh"

OUR_ADDRESS=$APP_IP6 PEER_AT="[$PEER_IP6]"
APP_PORT_KEYS="\"ip6\": \"$APP_IP6/64\""

answers_ping6() {
	in_peer ping -6 -q -c 1 -W 1 "$APP_IP6" >/dev/null
}

# The kernel removes our MAC and resolves it again.
found_again() {
	ip -netns "$PEER_NS" -6 neighbour flush dev "$PEER_IF"
	answers_ping6
}

# reported_by: print queue and group of the reported joins.
reported_by() {
	tshark -r all.pcapng -Y 'icmpv6.type == 143 && icmpv6.mldr.mar.record_type == 4' -T fields -E separator=' ' \
		-e frame.interface_id -e icmpv6.mldr.mar.multicast_address 2>/dev/null | awk -F '[ ,]' '{print $1, $NF}' |
		grep ff05 | sort -u | xargs
}

func_begin
net_begin
net_ip6
lcores_start ff05::1111 ff05::2222 '
	{"name": "udp0", "port": "lan", "queue": 0, "udp_listen": 7}
	{"name": "udp1", "port": "lan", "queue": 1, "udp_listen": 8}'

check "the appliance answers ping shortly after its start" wait_for 60 answers_ping6
lcores_serve ff05::1111 ff05::2222
check "the first lcore echoes datagrams" datagrams 7 1452
check "the second lcore echoes datagrams" datagrams 8 1452
check "after the kernel's neighbour entry is flushed the appliance is resolved again" wait_for 60 found_again
reports=$(app_status '.net[0].mld_reports_tx')
in_peer "$PEER_PY" mld_query "$PEER_IF" 2 >/dev/null
check "an MLD query is answered by both lcores" wait_for 60 status_is ".net[0].mld_reports_tx >= $reports + 2"

lcores_at_rest

app_stop TERM
check_equal "SIGTERM ends the run with status 0" "$APP_STATUS" 0
lcores_ended
check_json "no address conflict was detected" run.json \
	'.net[0].nd_duplicate_addresses == 0 and .net[0].nd_conflicts_pkts == 0'
# Each queue has an interface for received and one for sent frames.
check_equal "each group was reported by its owner lcore" "$(reported_by)" "1 ff05::1111 3 ff05::2222"
check_equal "the addresses were probed once each" "$(recorded 'icmpv6.type == 135 && ipv6.src == ::')" 2
