#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# `tapline extract` compared with tshark: the frames selected, their completeness, and the amount of data read; missing,
# damaged or stale indexes; a ring; a running recording.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

LIB=$(dirname "$PEER_PY")
HOUR_START=1700000000

# extract NAME ARG...: write NAME.pcapng, results to NAME.json, messages to NAME.log.
extract() {
	local name=$1
	shift
	timeout 120 "$TAPLINE" extract --rate 0 --json -w "$name.pcapng" "$@" >"$name.json" 2>"$name.log" </dev/null
}

status_of() {
	local status=0
	"$@" >/dev/null 2>&1 || status=$?
	echo "$status"
}

records() {
	"$LIB/list_records.py" "$@"
}

# frames FILE [DISPLAY_FILTER]: print time and content of the frames, as read by tshark.
frames() {
	tshark -r "$1" -o ip.defragment:FALSE ${2:+-Y "$2"} -T fields -e frame.time_epoch -e frame.len -e eth.dst -e ip.id -e tcp.seq_raw -e udp.checksum \
		-e frame.comment 2>/dev/null
}

capture() {
	timeout 60 "$TAPLINE" capture "$@" >results 2>>capture.log </dev/null
}

# ---- reading and selection

reads_a_minute() {
	local from=$((HOUR_START + 1234)) wanted status=0
	wanted=$(records --bytes hour/hour.pcapng ${from}000000000 $((from + 60))000000000)
	timeout 120 "$LIB/run_counting.py" rchar "$TAPLINE" extract hour --rate 0 --json -w minute.pcapng \
		--from "@$from" --to "$(date -u -d "@$((from + 60))" +%FT%TZ)" >minute.json 2>minute.log || status=$?
	check_equal "extracting a minute of an hour ends with status 0" "$status" 0
	check_json "the extraction uses the index" minute.json '.files_indexed == 1 and .slabs_total == 900 and .slabs_read < 20'
	check_json "at most 1.2 times the bytes of the minute are read" minute.json ".bytes_read <= 1.2 * $wanted"
	check "the kernel's read count agrees (within 200 kB for the loader)" test "$(cat rchar)" -le $((wanted * 12 / 10 + 200000))
	check "at least the bytes of the minute are read" test "$(cat rchar)" -ge "$wanted"
	check_equal "the output is the minute, byte for byte" "$(records minute.pcapng | sha256sum)" \
		"$(records hour/hour.pcapng ${from}000000000 $((from + 60))000000000 | sha256sum)"
	check_json "the results count the packets" minute.json \
		".records_matched == $(records minute.pcapng | wc -l) and .written_bytes == $(stat -c %s minute.pcapng)"
}

# same_as_tshark SENTENCE DISPLAY_FILTER ARG...
same_as_tshark() {
	local sentence=$1 display=$2
	shift 2
	extract found hour "$@"
	frames hour/hour.pcapng "$display" >expected
	check "$sentence: frames exist" test -s expected
	check_equal "$sentence: the frames equal tshark's selection" "$(frames found.pcapng | sha256sum)" "$(sha256sum <expected)"
}

finds_hosts_and_ports() {
	local arp='arp.src.proto_ipv4 == 10.1.1.1 || arp.dst.proto_ipv4 == 10.1.1.1'
	same_as_tshark "a host" "ip.addr == 10.1.1.1 || $arp" --host 10.1.1.1
	check_json "a host is searched in a few slabs" found.json '.slabs_read < 0.1 * .slabs_total'
	same_as_tshark "an IPv6 host" 'ipv6.addr == 2001:db8::100' --host 2001:db8::100
	same_as_tshark "a port" 'tcp.port == 10300 || udp.port == 10300 || sctp.port == 10300' --port 10300
	check_json "a port is searched in a few slabs" found.json '.slabs_read < 0.1 * .slabs_total'
	same_as_tshark "hosts or hosts, and ports" \
		'(ip.addr == 10.1.1.1 || ipv6.addr == 2001:db8::104) && (tcp.port == 443 || udp.port == 53)' \
		--host 10.1.1.1 --host 2001:db8::104 --port 443 --port 53
	same_as_tshark "a filter on the packets of a host" 'ip.addr == 10.1.1.1 && !vlan && ip.proto == 17' --host 10.1.1.1 udp
	same_as_tshark "a time with nanoseconds" \
		'frame.time_epoch >= 1700000100.000000123 && frame.time_epoch < 1700000103.5' \
		--from 2023-11-14T22:15:00.000000123 --to @1700000103.5
}

# ---- indexes

index_is_that_of_a_look() {
	capture -i pcap:in.pcap -w ring/r.pcapng --rotate 4M --json
	check_equal "each file of a ring has its index" "$(find ring -name '*.pcapng.tlx' | wc -l)" \
		"$(jq '.captures[0].files | length' results)"
	cp -r ring again
	timeout 60 "$TAPLINE" extract again --reindex --json >reindex.json 2>reindex.log
	check "a recreated index is the same" diff -r ring again
	check_json "the index covers every packet" reindex.json '.records_matched == 20000 and .files_indexed == .files'
	extract all ring
	check_equal "all files of a ring are extracted in order" "$(frames all.pcapng | sha256sum)" "$(frames in.pcap | sha256sum)"
	check_equal "the output has one interface" "$(capinfos all.pcapng | grep -c '^Interface #')" 1
	capture -i pcap:in.pcap -w single.pcapng
	check_equal "a recording without rotation has no index" "$(find . -maxdepth 1 -name '*.tlx')" ''
	capture -i pcap:in.pcap -w single.pcapng --index
	check "a recording without rotation has an index on request" test -s single.pcapng.tlx
}

# survives SENTENCE MESSAGE: the host is found nevertheless, and the log has the reason of the slower search.
survives() {
	extract damaged hour --host 10.1.1.1
	check_equal "$1: the result is the same" "$(records damaged.pcapng | sha256sum)" "$host_records"
	check "$1: the reason is reported" grep -q "$2" damaged.log
	check_json "$1: more bytes are read" damaged.json ".slabs_read > 50 and .slabs_total == 900"
}

damaged_index_is_no_error() {
	local index=hour/hour.pcapng.tlx
	extract host hour --host 10.1.1.1
	host_records=$(records host.pcapng | sha256sum)
	cp "$index" good.tlx
	printf 'x' | dd of="$index" bs=1 seek=30000 conv=notrunc status=none
	survives "a damaged index" 'is damaged, lacks rows'
	head -c 30000 good.tlx >"$index"
	survives "a truncated index" 'is damaged, lacks rows'
	cp ring/r.pcapng.tlx "$index"
	survives "the index of another recording" 'of another recording'
	: >"$index"
	survives "an empty index" 'is damaged, lacks rows'
	rm "$index"
	survives "no index" 'without a good index'
	timeout 60 "$TAPLINE" extract hour --reindex >/dev/null 2>&1
	check "--reindex recreates it" cmp good.tlx "$index"
}

ring_removes_indexes() {
	capture -i pcap:in.pcap -w kept/k.pcapng --rotate 4M --keep-files 2
	check_equal "a ring removes an index with its file" "$(find kept -name '*.tlx' | sed 's/.tlx$//' | sort)" \
		"$(find kept -name '*.pcapng' | sort)"
}

# ---- other files

merges_files() {
	editcap -F pcapng -a '3:a comment of a frame' -r in.pcap foreign.pcapng 1-9 2>/dev/null
	extract merged foreign.pcapng single.pcapng in.pcap --from @1700000000 --to @1700000000.13
	{
		frames foreign.pcapng
		frames single.pcapng 'frame.number <= 7'
		frames in.pcap 'frame.number <= 7'
	} | awk '$1 < 1700000000.13' >expected
	check_equal "files of all kinds are merged in the given order with their comments" "$(frames merged.pcapng)" "$(cat expected)"
	check "the comment is kept" grep -q 'a comment of a frame' expected
	check_equal "records of pcapng files are unchanged except for the interface number" \
		"$(records merged.pcapng | cut -d' ' -f1,3 | sed -n 1,14p)" \
		"$({ records foreign.pcapng; records single.pcapng; } | awk '$1 < 1700000000130000000' | cut -d' ' -f1,3)"
	extract twice single.pcapng single.pcapng
	check_equal "equal interfaces are described once" "$(capinfos twice.pcapng | grep -c '^Interface #')" 1
	timeout 60 "$TAPLINE" extract hour --host 10.1.1.1 -w - 2>/dev/null | records /dev/stdin >piped
	check_equal "-w - writes to a pipe" "$(sha256sum <piped)" "$host_records"
	extract none in.pcap --host 192.0.2.99
	check_equal "without matches the output is an empty file" "$(status_of tcpdump -nr none.pcapng)" 0
}

misuse_is_refused() {
	local out=(-w x.pcapng)
	check_equal "an invalid time has exit status 2" "$(status_of "$TAPLINE" extract hour --from yesterday "${out[@]}")" 2
	check_equal "an invalid host has exit status 2" "$(status_of "$TAPLINE" extract hour --host example "${out[@]}")" 2
	check_equal "an invalid filter has exit status 2" "$(status_of "$TAPLINE" extract hour "${out[@]}" nonsense here)" 2
	check_equal "a missing file has exit status 2" "$(status_of "$TAPLINE" extract "${out[@]}")" 2
	check_equal "a missing output has exit status 2" "$(status_of "$TAPLINE" extract hour)" 2
	check_equal "an input is refused as output" "$(status_of "$TAPLINE" extract hour -w hour/hour.pcapng)" 2
	check "the input is unchanged" test "$(stat -c %s hour/hour.pcapng)" -gt 100000000
}

# The first file takes seconds at this rate; the second is removed meanwhile.
vanished_file_is_skipped() {
	local pid status=0
	mkdir ringlike
	cp ring/r.pcapng ringlike/a.pcapng
	cp ring/r.pcapng ringlike/b.pcapng
	timeout 60 "$TAPLINE" extract ringlike --rate 1M --json -w gone.pcapng >gone.json 2>gone.log </dev/null &
	pid=$!
	wait_for 60 test -e gone.pcapng || true
	rm ringlike/b.pcapng
	wait "$pid" || status=$?
	check_equal "a file removed during the run is not an error" "$status" 0
	check_json "the removed file is skipped and counted" gone.json '.files == 1 and .files_gone == 1 and .records_matched > 1000'
}

# On a host of any speed: no faster than configured.
reads_no_faster_than_allowed() {
	local began=${EPOCHREALTIME/./} took_us
	timeout 60 "$TAPLINE" extract ring/r.pcapng --rate 4M --json -w slow.pcapng >slow.json 2>slow.log </dev/null || true
	took_us=$((${EPOCHREALTIME/./} - began))
	check_json "--rate limits the read rate" slow.json ".bytes_read > 1000000 and .bytes_read * 1e6 / 4194304 <= $took_us"
}

# ---- during a recording

reads_a_running_recording() {
	ip netns exec "$APP_NS" "$TAPLINE" capture -i "$APP_IF" -w live/l.pcapng --rotate-seconds 86400 --json icmp >live.json \
		2>live.log </dev/null &
	app_pid=$!
	wait_for 60 grep -qs ' s  received' live.log || func_die "the recording did not start"
	in_peer ping -q -c 20 -i 0.01 "$APP_IP" >/dev/null
	wait_for 60 grep -q 'recorded 40 ' live.log || true
	check "a file being written can be extracted" extract running live --host "$PEER_IP"
	check_equal "the output has the packets written so far" "$(tshark -r running.pcapng 2>/dev/null | wc -l)" 40
	app_stop TERM
	check_equal "the recording continues" "$APP_STATUS" 0
	check_json "the recording loses nothing" live.json '.ledger_ok and .lossless and .captures[0].written_pkts == 40'
	check "the index exists after the file is complete" test -s live/l.pcapng.tlx
}

# A slab with missing pages: it is skipped, and all slabs after it are read.
leaves_half_a_slab() {
	local status=0
	cp ring/r.pcapng half.pcapng
	dd if=/dev/zero of=half.pcapng bs=4096 seek=300 count=4 conv=notrunc status=none
	extract rest half.pcapng || status=$?
	check_equal "a slab that is not whole is an error" "$status" 1
	check_json "and is left out, alone" rest.json '.files_incomplete == 0 and .slabs_damaged == 1 and .slabs_read == 2'
	check "a message reports it" grep -q 'is damaged, or being written: left out' rest.log
}

# The second slab of a compressed recording, damaged in its middle: packets after it are extracted, too.
leaves_out_a_compressed_slab() {
	local status=0 offset bytes records
	capture -i pcap:in.pcap -w whole.pcapng.zst --compress zstd
	read -r offset bytes records < <("$LIB/zst_slabs.py" whole.pcapng.zst | sed -n 2p)
	cp whole.pcapng.zst torn.pcapng.zst
	printf 'damaged' | dd of=torn.pcapng.zst bs=1 seek=$((offset + bytes / 2)) conv=notrunc status=none
	extract torn torn.pcapng.zst || status=$?
	check_equal "a damaged slab of a compressed recording is an error" "$status" 1
	check_json "it is left out, alone, and its packets are counted" torn.json ".slabs_damaged == 1 and .areas_damaged == 0 and
		.records_damaged == $records and .bytes_damaged == $bytes and .records_matched == 20000 - $records"
	check "the message names its place" grep -q "the slab from byte $offset to $((offset + bytes - 1)) is damaged" torn.log
	check_equal "tshark reads all others" "$(tshark -r torn.pcapng 2>/dev/null | wc -l)" $((20000 - records))
}

# Without a standard error, the first file to be opened must not take its place, and the messages.
closed_descriptors() {
	local status=0
	capture -i pcap:in.pcap -w whole.pcapng
	head -c 1000000 whole.pcapng >cut.pcapng
	timeout 60 "$TAPLINE" extract cut.pcapng whole.pcapng -w both.pcapng --json >both.json 2>&- || status=$?
	check_equal "extract works without a standard error" "$status" 0
	check_equal "and writes no message into its output" \
		"$(tshark -r both.pcapng 2>/dev/null | wc -l)" "$(jq .records_matched both.json)"
	check_equal "without a standard output the results are missing, and the status is 1" \
		"$(timeout 60 "$TAPLINE" extract whole.pcapng -w both.pcapng --json 2>/dev/null >&- <&- && echo 0 || echo $?)" 1
}

func_begin
mkdir hour ring kept live
"$LIB/make_pcap.py" in.pcap 20000
"$LIB/make_recording.py" hour/hour.pcapng 900 131072 3600
timeout 60 "$TAPLINE" extract hour --reindex >/dev/null 2>reindex.log
reads_a_minute
finds_hosts_and_ports
index_is_that_of_a_look
damaged_index_is_no_error
ring_removes_indexes
merges_files
misuse_is_refused
vanished_file_is_skipped
reads_no_faster_than_allowed
leaves_half_a_slab
leaves_out_a_compressed_slab
closed_descriptors
net_begin
ip -netns "$APP_NS" address add "$APP_IP/24" dev "$APP_IF"
reads_a_running_recording
