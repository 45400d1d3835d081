#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# tapline top: pages of rates, from a simulated appliance and from a real one.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

top() {
	timeout 60 "$TAPLINE" top "$@" </dev/null
}

# words FILE: print its lines with single spaces.
words() {
	tr -s ' ' <"$1"
}

status_of() {
	local status=0
	"$@" >/dev/null 2>&1 || status=$?
	echo $status
}

# answer UPTIME_S RX_PKTS: print the reply of an appliance.
answer() {
	cat <<J
{"uptime_ns": $1000000000, "ledger_ok": true, "lossless": true,
 "ports": [{"name": "lan", "rx_pkts": $2, "rx_bytes": 0, "tx_pkts": 0, "tx_bytes": 0,
   "drop_nic_pkts": 0, "drop_nombuf_pkts": 0, "drop_error_pkts": 0,
   "handoff_pkts": 0, "drop_handoff_pkts": 0}]}
J
}

# fake: simulate an appliance on fake.sock: the Nth query gets the file answers/N, or no reply if it does not exist.
fake() {
	mkdir -p answers
	rm -f count
	cat >fake.sh <<'S'
#!/bin/bash
read -r question
[[ $question == status ]] || exit
n=$(($(cat count 2>/dev/null || echo 0) + 1))
echo $n >count
cat answers/$n 2>/dev/null
S
	chmod +x fake.sh
	socat UNIX-LISTEN:fake.sock,fork EXEC:./fake.sh 2>/dev/null &
	fake_pid=$!
	wait_for 60 test -S fake.sock
}

func_begin
check_equal "without an appliance the exit status is 1" "$(status_of top --socket none.sock --once)" 1
check_equal "an interval of 0 has exit status 2" "$(status_of top --interval 0)" 2
check_equal "no page has exit status 2" "$(status_of top -n 0)" 2

fake
answer 1 1000 >answers/1
answer 3 31000 >answers/2
answer 1 5 >answers/3 # another run
answer 2 105 >answers/4
echo 'not JSON' >answers/5
answer 4 305 >answers/7
answer 5 405 >answers/8
top --socket fake.sock --interval 0.1 -n 7 >top.txt || true
check_equal "rates use the appliance's clock; after a restart and without traffic there are none" \
	"$(words top.txt | grep -e '^lan' -e waiting | sed 's/ on fake.sock.*; waiting/; waiting/')" \
	"lan 15.0k 0 0 0 0 0 0
lan - - - - - - 0
lan 100 0 0 0 0 0 0
invalid reply; waiting
invalid reply; waiting
lan - - - - - - 0
lan 100 0 0 0 0 0 0"
check_equal "pages have no control sequences without a terminal" "$(grep -c $'\033' top.txt || true)" 0
rm -f count
check_equal "--pages 1 prints one page" "$(top --socket fake.sock --interval 0.1 --once | grep -c '^tapline')" 1
rm -f count
TERM=xterm script -qec "stty cols 20 rows 4; $TAPLINE top --socket fake.sock --interval 0.1 --once" /dev/null \
	</dev/null >tty.txt 2>&1 || true
check_equal "on a terminal the page is redrawn in place and clipped" \
	"$(tr -d '\r' <tty.txt | sed 's/\x1b\[/</g' | tr '\n' '|')" \
	"<Htapline  up 3 s  led<K|<K|port                <K|lan                1<K<J"
stop_process "$fake_pid" TERM 10 || true

net_begin
app_config config.json '"echo": [{"port": "lan", "udp_listen": 7}]' '"capture": [{"port": "lan", "path": "out.pcapng"}]'
app_start config.json
check "the appliance answers ping meanwhile" wait_for 60 answers_ping
peer_start ping -q -i 0.01 "$APP_IP" >/dev/null
top --socket control.sock --interval 0.5 -n 2 >top.txt || true
stop_process "$peer_pid" INT 10 || true
check_equal "the page of an appliance has its port, recording and echo" \
	"$(grep -c -e '^port ' -e '^recording ' -e '^echo ' top.txt)" 6
check "the page has rates" grep -Eq '^lan +[1-9][0-9.]*k? +[1-9]' top.txt
check "the page has the free space" grep -Eq '^lan .* [0-9.]+ [KMGT]iB$' top.txt
app_status >status.json
check_json "the status has the free space" status.json '.captures[0] | .disk_free_bytes > 0 and .slabs > 0'
app_stop INT
