# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# Scenarios with a source that waits for the recorder: null-*, dummy-60, disk-*. Loss appears as back-pressure,
# therefore the rate is the result.

# record SOURCE FILE [OPTION...]: print "pps bytes_per_second lost".
record() {
	local source=$1 file=$2
	shift 2
	timeout -k 5 $((seconds + 20)) "$TAPLINE" capture -i "$source" -w "$file" --duration "$seconds" --json "$@" \
		2>capture.log |
		jq -r '(.uptime_ns / 1e9) as $s | .captures[0] as $c |
			"\(if $c.written_pkts > 0 then $c.written_pkts else .port.rx_pkts end / $s | round) \(
			$c.written_bytes / $s | round) \($c.drop_ring_pkts + $c.drop_disk_pkts)"'
}

# The lcore does everything except recording: the received direction is not selected.
receive_only() {
	record "$1" /dev/null --direction tx
}

# file_source SIZES: frames of a file, repeated.
file_source() {
	echo "vdev:net_pcap0,rx_pcap=$DIR/$1.pcap,infinite_rx=1"
}

# fio_bytes_per_second [OPTION...]: write in large blocks, eight in flight, as Tapline does.
fio_bytes_per_second() {
	fio --name=ceiling --rw=write --bs=1M --direct=1 --ioengine=io_uring --iodepth=8 --runtime="$seconds" \
		--output-format=json "$@" 2>fio.log | jq -re '.jobs[0].write.bw_bytes | select(. > 0)'
}

# Write one fresh, allocated file. With time_based fio would overwrite it when it is full.
fio_fresh() {
	fio_bytes_per_second --filename="$bench_file" --fallocate=native --size=20G
	rm -f "$bench_file"
}

# Overwrite the files of a full ring, one after another, in a loop. fio would extend files that are too small.
fio_ring() {
	local files=("$ring_dir"/*.pcapng)
	fio_bytes_per_second --filename="$(IFS=: && echo "${files[*]}")" --size=$((${#files[@]} * 500))M \
		--file_service_type=sequential --overwrite=1 --time_based
}

# beside_a_poller COMMAND: with a thread on the last CPU that polls, as Tapline's lcore does.
beside_a_poller() {
	local poller
	taskset -c $(($(nproc) - 1)) "$TL_BUILD/tests/bench/bench_spin" $((seconds + 20)) 1000 >spin.log &
	poller=$!
	"$@"
	kill "$poller"
	wait "$poller" || true
}

# beside_receive_only NAME SOURCE [EXTRA]: alternate the order between rounds.
beside_receive_only() {
	local name=$1 source=$2 extra=${3:-'{}'} pps bps lost ref
	((round % 2)) || read -r pps bps lost < <(record "$source" null:)
	read -r ref _ _ < <(receive_only "$source")
	((!(round % 2))) || read -r pps bps lost < <(record "$source" null:)
	result "$name" receive-only "$pps" "$bps" "$ref" 0 "$lost" "$(jq -nc --argjson extra "$extra" \
		--argjson ours "$pps" --argjson reference "$ref" '$extra + {cpu_ns_per_pkt: (1e10 / $ours | round / 10),
			reference_cpu_ns_per_pkt: (1e10 / $reference | round / 10)}')"
}

run_null() {
	beside_receive_only "$1" "$(file_source "${1#null-}")"
}

# exact-capture --perf-test records frames of a dummy NIC at 50 million per second.
run_dummy() {
	beside_receive_only "$1" "vdev:net_null0,size=${1#dummy-},copy=0" '{"goal_pps": 50000000}'
}

# disk_result NAME OURS REFERENCE_COMMAND: print the result; the order of three measurements alternates between rounds.
# The reference is fio's rate beside a polling CPU; reference_alone_bps is its rate on an otherwise idle host.
disk_result() {
	local name=$1 ours=$2 reference=$3 pps bps lost polled alone
	((round % 2)) || { polled=$(beside_a_poller "$reference") && alone=$("$reference"); }
	read -r pps bps lost < <("$ours" "${name#*-}")
	((!(round % 2))) || { alone=$("$reference") && polled=$(beside_a_poller "$reference"); }
	result "$name" fio "$pps" "$bps" $((polled * pps / bps)) "$polled" "$lost" "$(jq -nc --argjson alone "$alone" \
		--argjson polled "$polled" --argjson ours "$bps" '{reference_alone_bps: $alone,
			ratio_alone: ($ours / $alone * 1000 | round / 1000)}')"
}

record_fresh() {
	record "$(file_source "$1")" "$bench_file"
	rm -f "$bench_file"
}

run_disk() {
	disk_result "$1" record_fresh fio_fresh
}

record_ring() {
	record "$(file_source "$1")" "$ring_dir/ring.pcapng" --rotate 512M --keep-bytes "$ring_bytes"
}

# ring-SIZES: a full ring is reused in place.
run_ring() {
	local ring_dir=$dir/tapline-bench-$$ ring_bytes=4G
	mkdir "$ring_dir"
	record_ring "${1#ring-}" >/dev/null # fills it
	disk_result "$1" record_ring fio_ring
	rm -rf "$ring_dir"
}
