#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Capture program of Wireshark (extcap): its queries, its FIFO, and tshark itself.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

extcap_dir=$(tshark -G folders 2>/dev/null | sed -n 's/^Extcap path:[[:space:]]*//p')

# with_tshark COMMAND...: run it in the appliance's namespaces, where tapline is tshark's only capture program.
with_tshark() {
	mkdir -p extcap
	ln -sf "$(realpath "$TAPLINE")" extcap/tapline
	# shellcheck disable=SC2016
	in_app bash -c 'mount --bind extcap "$0" && exec "$@"' "$extcap_dir" "$@"
}

status_of() {
	local status=0
	"$@" >/dev/null 2>&1 || status=$?
	echo $status
}

# is_empty NAMESPACE: check that it has no process.
is_empty() {
	[[ -z $(ip netns pids "$1") ]]
}

# records OPTION...: record through a FIFO; print the frames read, and tapline's messages except about a slow start of
# tshark.
records() {
	local reader
	rm -f fifo
	mkfifo fifo
	tshark -r - <fifo >frames.txt 2>/dev/null &
	reader=$!
	timeout 60 "$TAPLINE" --capture --fifo=fifo "$@" >said.txt 2>&1 </dev/null || echo "status $?" >>said.txt
	wait "$reader" || true
	echo "$(wc -l <frames.txt)$(grep -v 'the reader is slow' said.txt)"
}

func_begin
"$(dirname "$PEER_PY")/make_pcap.py" in.pcap 500

check_equal "the version is printed" "$("$TAPLINE" --extcap-interfaces --extcap-version=4.0 | grep -c '^extcap {version=')" 1
check_equal "each kernel interface and a generic port are offered" \
	"$("$TAPLINE" --extcap-interfaces | sed -n 's/^interface {value=\([^}]*\)}.*/\1/p' | sort)" \
	"$({ echo tapline; ls /sys/class/net | grep -v bonding_masters | sed 's/^/tapline-/'; } | sort)"
check_equal "the link type is Ethernet" "$("$TAPLINE" --extcap-dlts --extcap-interface tapline-lo)" \
	"dlt {number=1}{name=EN10MB}{display=Ethernet}"
check_equal "the port is requested for the generic interface" \
	"$("$TAPLINE" --extcap-config --extcap-interface=tapline | grep -c 'call=--port')" 1
check_equal "the port is not requested for a kernel interface" \
	"$("$TAPLINE" --extcap-config --extcap-interface=tapline-lo | grep -c 'call=--port' || true)" 0
check_equal "a valid filter yields no output" "$("$TAPLINE" --extcap-interface=tapline --extcap-capture-filter=icmp)" ""
check_equal "an invalid filter yields the reason" \
	"$("$TAPLINE" --extcap-interface=tapline --extcap-capture-filter='port port' | grep -c 'syntax error')" 1
check_equal "a missing FIFO has exit status 2" "$(status_of "$TAPLINE" --capture --extcap-interface=tapline-lo)" 2
check_equal "a foreign interface has exit status 2" "$(status_of "$TAPLINE" --capture --extcap-interface=eth0 --fifo=x)" 2
check_equal "an option unknown to capture has exit status 2" \
	"$(status_of "$TAPLINE" --capture --extcap-interface=tapline-lo --fifo=x --nonsense 1)" 2

check_equal "500 frames are written to the FIFO without other output" \
	"$(records --extcap-interface=tapline --port pcap:in.pcap)" 500
check_equal "250 frames are written with a filter" \
	"$(records --extcap-interface tapline --port=pcap:in.pcap --extcap-capture-filter 'udp port 5001')" 250

net_begin
ip -netns "$APP_NS" address add "$APP_IP/24" dev "$APP_IF"
with_tshark tshark -D >interfaces.txt 2>/dev/null || true
check "tshark lists the interface" grep -q "tapline-$APP_IF (Tapline: $APP_IF)" interfaces.txt
peer_start ping -q -i 0.02 "$APP_IP" >/dev/null
with_tshark timeout -k 5 60 tshark -i "tapline-$APP_IF" -f icmp -c 20 -w caught.pcapng >tshark.log 2>&1 || true
stop_process "$peer_pid" INT 10 || true
check_equal "tshark captures from the interface with a filter" "$(tshark -r caught.pcapng -Y icmp 2>/dev/null | wc -l)" 20
check_equal "tshark reports no error" "$(grep -c 'rror' tshark.log || true)" 0
check "tapline ends with tshark" wait_for 60 is_empty "$APP_NS"
