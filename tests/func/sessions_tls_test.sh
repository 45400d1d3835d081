#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# `tapline replay --sessions` of a TLS session, recorded with openssl: it is counted as such, and played only with --opaque. The
# server has other random numbers then, and answers otherwise.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

PORT=8443
RANDOM_AT=11 # in the server's answer: behind the headers of record and handshake, and the version (RFC 8446, section 4.1.3)
STATUS=0

# replay ARG...: write the report to replay.json, the status to STATUS.
replay() {
	STATUS=0
	in_app timeout 60 "$TAPLINE" replay rec.pcap -i "$APP_IF" --from "$APP_IP/24" --sessions "$PEER_IP" --line-rate --timeout 10 --json "$@" \
		>replay.json 2>replay.log </dev/null || STATUS=$?
}

has_both_fins() {
	[[ $(tcpdump -n -r rec.pcap 'tcp[tcpflags] & tcp-fin != 0' 2>/dev/null | wc -l) -ge 2 ]]
}

record() {
	openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=peer -keyout key.pem -out cert.pem 2>openssl.log || func_die "openssl makes no key"
	peer_start openssl s_server -accept "$PEER_IP:$PORT" -key key.pem -cert cert.pem -www >server.log 2>&1
	wait_for 30 listens "$PORT" || func_die "the server does not listen"
	ip netns exec "$PEER_NS" tcpdump -n -i "$PEER_IF" -s 0 -U --immediate-mode -w rec.pcap tcp 2>tcpdump.log </dev/null &
	local tcpdump_pid=$!
	wait_for 30 grep -qs 'listening on' tcpdump.log || func_die "tcpdump does not listen"
	netns_address "$APP_NS" "$APP_IF" "$APP_IP/24"
	printf 'GET / HTTP/1.0\r\n\r\n' | in_app timeout 30 openssl s_client -connect "$PEER_IP:$PORT" -quiet >page.html 2>client.log || true
	grep -q 's_server' page.html || func_die "the client has no answer"
	ip -netns "$APP_NS" address flush dev "$APP_IF"
	wait_for 30 has_both_fins || func_die "the recording has no end of the session"
	stop_process "$tcpdump_pid" TERM 20 || true
}

func_begin
net_begin
record
replay
check_equal "a session of TLS is not played: status 0" "$STATUS" 0
check_json "it is counted as one of TLS" replay.json '.ledger_ok and .found_sessions == 1 and .tls_sessions == 1 and .sent_bytes == 0'
replay --opaque
check_equal "with --opaque it is played: status 1" "$STATUS" 1
check_json "the server's random number is the first difference" replay.json ".ledger_ok and .tls_sessions == 0 and .diverged_sessions == 1 and
	.sent_bytes > 0 and (.failures[0].differs_at | . >= $RANDOM_AT and . < $RANDOM_AT + 32)"
