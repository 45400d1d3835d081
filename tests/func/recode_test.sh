#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Recordings converted from slabs: sorted by time, as classic pcap, compressed; checked with tshark, tcpdump, capinfos
# and zstd, and compared with an unconverted recording of the same frames.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

lib=$(dirname "$PEER_PY")
packets=20000 # of in.pcap; 15 MB

# capture NAME ARG...: write results to NAME.json, messages to NAME.log.
capture() {
	local name=$1
	shift
	timeout 120 "$TAPLINE" capture "$@" --json >"$name.json" 2>"$name.log" </dev/null
}

# frames FILE...: print time and content, as read by tshark.
frames() {
	local file
	for file in "$@"; do
		tshark -r "$file" -o ip.defragment:FALSE -T fields -e frame.time_epoch -e frame.len -e eth.dst -e ip.id -e tcp.seq_raw \
			-e udp.checksum -e data.data 2>/dev/null
	done
}

records() {
	"$lib/list_records.py" "$@"
}

# Print the same without the interface, whose description has the start of the recording.
bare_records() {
	records "$1" | awk '{print $1, $NF}'
}

goes_back() {
	tshark -r "$1" -T fields -e frame.time_epoch 2>/dev/null | sort -c -n 2>&1 | head -n 1
}

refused_with() {
	local status=0
	capture refused -i pcap:in.pcap -w refused.out "${@:2}" || status=$?
	((status == 2)) && grep -q -- "$1" refused.log && [[ ! -e refused.out ]]
}

# ---- order

# Many flows, so that both queues get some; -W waits for a reply.
ping_many() {
	local i
	for i in $(seq 10 40); do
		ip -netns "$PEER_NS" address replace "10.99.0.$i/24" dev "$PEER_IF"
		in_peer ping -q -c 10 -i 0.002 -W 10 -I "10.99.0.$i" "$APP_IP" >/dev/null || return
	done
}

# record_two_queues: record pings on two queues with the longest window.
record_two_queues() {
	ip netns exec "$APP_NS" "$TAPLINE" capture -i "$APP_IF" --queues 2 -w two.pcapng --order time --order-window 1000 --json icmp \
		>two.json 2>two.log </dev/null &
	app_pid=$!
	check "recording two queues in time order starts" wait_for 60 grep -q ' s  received' two.log
	check "the kernel continues to reply" ping_many
	app_stop INT
	check_equal "SIGINT ends the recording with status 0" "$APP_STATUS" 0
	check_json "the ledger and that of each queue are consistent" two.json '.ledger_ok and .lossless and
		(.captures[0] | all(.queues[] | .rx, .tx; .unaccounted_pkts == 0) and
		all(.queues[]; .slabs_used == 0 and .rx.written_pkts + .tx.written_pkts > 0))'
}

# outlasted_window: a polling thread got no CPU time for longer than the window: frames are late, rightly.
outlasted_window() {
	jq -e '[.port.queues[].poll_gap_ns.max] | max >= 1e9' two.json >/dev/null
}

two_queues_in_order() {
	local attempt
	net_begin
	ip -netns "$APP_NS" address add "$APP_IP/24" dev "$APP_IF"
	for attempt in 1 2 3; do
		record_two_queues
		outlasted_window || break
		echo "# attempt $attempt: a polling thread got no CPU time for longer than the window"
	done
	check_json "no frame is late" two.json '.captures[0].late_pkts == 0'
	check_equal "the file has both queues" \
		"$(tshark -r two.pcapng -T fields -e frame.interface_id 2>/dev/null | sort -u | wc -l)" 2
	check_equal "each of the 310 requests is recorded once" \
		"$(tshark -r two.pcapng -Y 'icmp.type == 8' -T fields -e ip.src -e icmp.seq 2>/dev/null | sort -u | wc -l)" 310
	check_equal "no other request is recorded" "$(tshark -r two.pcapng -Y 'icmp.type == 8' 2>/dev/null | wc -l)" 310
	check_equal "time never decreases" "$(goes_back two.pcapng)" ""
}

# ---- classic pcap

each_is_pcap_ns() {
	local file
	for file in "$@"; do
		[[ $(od -An -tx4 -N4 "$file" | tr -d ' ') == a1b23c4d ]] || return
		grep -q 'link-type EN10MB' <(tcpdump -nr "$file" 2>&1 >/dev/null) || return
		grep -q 'nanosecond pcap' <(capinfos -t "$file" 2>/dev/null) || return
	done
}

classic_pcap() {
	capture pcap -i pcap:in.pcap -w out.pcap --format pcap-ns || true
	check_json "pcap-ns: the ledger is consistent and nothing is lost" pcap.json '.ledger_ok and .lossless'
	check "tcpdump and capinfos recognize pcap with nanoseconds" each_is_pcap_ns out.pcap
	check_equal "the output equals the input file byte for byte" \
		"$(tail -c +25 out.pcap | sha256sum)" "$(tail -c +25 in.pcap | sha256sum)"
	check_equal "the output has no further bytes" "$(stat -c %s out.pcap)" "$(stat -c %s in.pcap)"
	capture pcap_rotated -i pcap:in.pcap -w many.pcap --format pcap-ns --rotate 4M || true
	check_equal "rotated: several files exist" "$(($(printf '%s\n' many*.pcap | wc -l) > 3))" 1
	check_equal "the files are those in the results" \
		"$(printf '%s\n' many*.pcap)" "$(jq -r '.captures[0].files | sort | .[]' pcap_rotated.json)"
	check "each is a pcap file" each_is_pcap_ns many*.pcap
	check_equal "no file exceeds the limit" "$(find . -name 'many*.pcap' -size +$((4 << 20))c)" ""
	check_equal "the files together are complete and in order" "$(tail -q -c +25 many.pcap many_*.pcap | sha256sum)" \
		"$(tail -c +25 in.pcap | sha256sum)"
	timeout 120 "$TAPLINE" capture -i pcap:in.pcap -w - --format pcap-ns 2>stdout.log </dev/null | tcpdump -nr - 2>/dev/null >stdout.txt || true
	check_equal "through a pipe tcpdump reads every frame" "$(wc -l <stdout.txt)" "$packets"
	capture pcap_snapped -i pcap:in.pcap -w snapped.pcap --format pcap-ns --snaplen 64 --order time || true
	check_equal "the header has the snaplen" "$(od -An -tu4 -j16 -N4 snapped.pcap | tr -d ' ')" 64
	check_equal "each record has its original length" "$(tshark -r snapped.pcap -T fields -e frame.len 2>/dev/null | sha256sum)" \
		"$(tshark -r in.pcap -T fields -e frame.len 2>/dev/null | sha256sum)"
}

# ---- zstd

each_opens_and_closes_in_order() {
	local file
	for file in "$@"; do
		zstd -qt "$file" || return
		zstd -dcq "$file" >one.pcapng
		grep -q 'Number of stat entries = 1' <(capinfos one.pcapng 2>&1) || return
	done
}

compressed() {
	capture zstd -i pcap:in.pcap -w out.pcapng.zst --compress zstd --compress-threads 2 --compress-level 3 || true
	check_json "zstd: the ledger is consistent and nothing is lost" zstd.json '.ledger_ok and .lossless'
	check "zstd -t accepts the file" zstd -qt out.pcapng.zst
	check_equal "frames end on 4 KiB boundaries" "$(($(stat -c %s out.pcapng.zst) % 4096))" 0
	zstd -dqf out.pcapng.zst -o unpacked.pcapng
	check_equal "the output has the records of the uncompressed recording" "$(bare_records unpacked.pcapng | sha256sum)" \
		"$(bare_records plain.pcapng | sha256sum)"
	check_equal "all records are present" "$(records unpacked.pcapng | wc -l)" "$packets"
	check "the output has one header and statistics" each_opens_and_closes_in_order out.pcapng.zst
	check_equal "tshark reads the output of zstd" "$(frames unpacked.pcapng | sha256sum)" "$in_frames"
	timeout 120 "$TAPLINE" extract out.pcapng.zst --rate 0 -w extracted.pcapng udp port 5001 >extract.log 2>&1 </dev/null || true
	check_equal "tapline extract reads it" "$(records extracted.pcapng | wc -l)" $((packets / 2))
	capture zstd_rotated -i pcap:in.pcap -w many.pcapng.zst --compress zstd --rotate 4M || true
	check_equal "zstd, rotated: several files exist" "$(($(find . -name 'many*.zst' | wc -l) > 2))" 1
	mapfile -t files < <(jq -r '.captures[0].files[]' zstd_rotated.json)
	check "each has its own header and statistics" each_opens_and_closes_in_order "${files[@]}"
	check_equal "no zstd file exceeds the limit" "$(find . -name 'many*.zst' -size +$((4 << 20))c)" ""
	check_equal "the files together have every frame, in order" \
		"$(for file in "${files[@]}"; do zstd -dcq "$file" >one.pcapng && frames one.pcapng; done | sha256sum)" "$in_frames"
	timeout 120 "$TAPLINE" capture -i pcap:in.pcap -w - --compress zstd --order time 2>stdout.log </dev/null | zstd -dcq >piped.pcapng || true
	check_equal "through a pipe into zstd -d" "$(frames piped.pcapng | sha256sum)" "$in_frames"
}

# ---- failures

# A run killed while recording with --rotate. Its hidden next file blocks no other run.
killed() {
	local form=$1 name=killed_$1 hidden=killed_$1/.x.$2.next file=killed_$1/x.$2
	shift 2
	mkdir "$name"
	ip netns exec "$APP_NS" "$TAPLINE" capture -i "$APP_IF" -w "$file" "$@" --rotate 4M >/dev/null 2>"$name.log" </dev/null &
	app_pid=$!
	wait_for 60 test -e "$hidden" || func_die "there is no next file: $(ls -a "$name")"
	app_kill
	capture "$name" -i pcap:in.pcap -w "$file" "$@" --rotate 4M || true
	check_json "$form: after SIGKILL the next run records and rotates" "$name.json" \
		'.ledger_ok and .lossless and (.captures[0] | .error == null and (.files | length) > 1)'
}

# ring FORM SUFFIX OPTION...: check that a ring includes its own earlier files, and no others.
ring() {
	local form=$1 name=ring_$1 suffix=$2 i
	shift 2
	mkdir "$name"
	cp "in.$suffix" "$name/x_00042.$suffix"
	for i in 1 2; do
		capture "$name" -i pcap:in.pcap -w "$name/x.$suffix" "$@" --rotate 4M --keep-files 3 || true
		check_json "$form: run $i of a ring removes its oldest files" "$name.json" \
			'.ledger_ok and .lossless and (.captures[0] | .error == null and .recycled_files > 0)'
		check_equal "$form: the ring keeps three files" "$(find "$name" -type f ! -name 'x_00042.*' | wc -l)" 3
	done
	check "$form: files of other programs are kept" cmp "in.$suffix" "$name/x_00042.$suffix"
}

# Readers that stop reading, of recordings without an end: undelivered packets are counted, and a signal ends each. All
# at once, because each waits some seconds for its reader.
stuck_readers() {
	local forms=('--order time' '--format pcap-ns' '--compress zstd --order time') readers=() writers=() i status
	for i in "${!forms[@]}"; do
		mkfifo "stuck$i"
		# shellcheck disable=SC2217 # it shall not read
		sleep 1000 <"stuck$i" &
		readers+=($!)
		# shellcheck disable=SC2086 # options
		timeout 180 "$TAPLINE" capture -i "vdev:net_pcap0,rx_pcap=$DIR/round.pcap,infinite_rx=1" -w "stuck$i" ${forms[i]} --json \
			>"stuck$i.json" 2>"stuck$i.log" </dev/null &
		writers+=($!)
	done
	for i in "${!forms[@]}"; do
		wait_for 60 grep -q 'dropped [1-9]' "stuck$i.log" || true
	done
	kill -s INT "${writers[@]}" || true
	for i in "${!forms[@]}"; do
		status=0
		wait "${writers[i]}" || status=$?
		check_equal "${forms[i]}: a pipe reader that does not read is abandoned with status 1" "$status" 1
		check_json "${forms[i]}: undelivered frames are counted" "stuck$i.json" '.ledger_ok and (.lossless | not) and
			(.captures[0] | .drop_disk_pkts > 0 and .drop_ring_pkts > 0 and
			.written_pkts + .drop_disk_pkts + .drop_ring_pkts + .expired_pkts == .offered_pkts)'
	done
	kill "${readers[@]}"
}

# The small disk is mounted in a private mount namespace, which unmounts it at its end.
small_disk() {
	local form=$1 file=$2
	shift 2
	mkdir -p small
	# shellcheck disable=SC2016 # expanded by the inner shell
	unshare --mount sh -c 'mount -t tmpfs -o size=3m none small && file=$1 && shift &&
		{ timeout 60 "$@" -w "small/$file" --json >run.json 2>run.log; echo $? >status; } && cp "small/$file" "full.$file"' sh \
		"$file" "$TAPLINE" capture -i pcap:in.pcap "$@"
	check_equal "$form: a full disk ends the recording with status 1" "$(cat status)" 1
	check_json "$form: frames without space are counted, and the ledger is consistent" run.json \
		'.ledger_ok and (.captures[0] | .drop_disk_pkts > 0 and .written_pkts + .drop_disk_pkts + .drop_ring_pkts == .offered_pkts)'
	check_equal "$form: the file has every frame counted as written" "$(frames "full.$file" | wc -l)" \
		"$(jq '.captures[0].written_pkts' run.json)"
}

func_begin
"$lib/make_pcap.py" in.pcap "$packets"
in_frames=$(frames in.pcap | sha256sum)
"$lib/make_numbered.py" round.pcap 1000 1400
capture plain -i pcap:in.pcap -w plain.pcapng || true

two_queues_in_order
classic_pcap
compressed
killed pcap-ns pcap --format pcap-ns
killed zstd pcapng.zst --compress zstd
killed time pcapng --order time
zstd -q in.pcap -o in.pcapng.zst
ring pcap-ns pcap --format pcap-ns
ring zstd pcapng.zst --compress zstd
stuck_readers
if unshare --mount true 2>/dev/null; then
	small_disk pcap-ns out.pcap --format pcap-ns
	small_disk time out.pcapng --order time
else
	skip "a disk that fills up" "no mount namespaces"
fi
check "compressed pcap is refused" refused_with 'only pcapng is compressed' --format pcap-ns --compress zstd
check "a window without an order is refused" refused_with '--order-window: applies only to a recording with' --order-window 5
check "a level without compression is refused" refused_with '--compress-level: applies only to a recording with' --compress-level 5
check "threads without compression are refused" refused_with '--compress-threads: applies only to a recording with' --compress-threads 2
check "triggers with an order are refused" refused_with '--mode: a recording that waits for triggers' --mode trigger --order time
check "an index of a compressed recording is refused" refused_with '--index: only pcapng, not compressed' --compress zstd --index
check "an unknown format is refused" refused_with "--format: \"pcap\" is not one of" --format pcap
