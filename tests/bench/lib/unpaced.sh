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

# Write one fresh, allocated file, as Tapline does. With time_based fio would overwrite it when it is full.
fio_bytes_per_second() {
	fio --name=ceiling --filename="$bench_file" --rw=write --bs=1M --direct=1 --ioengine=io_uring --iodepth=8 \
		--fallocate=native --size=20G --runtime="$seconds" --output-format=json 2>fio.log | jq -r '.jobs[0].write.bw_bytes'
	rm -f "$bench_file"
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

run_disk() {
	local pps bps lost ref
	((round % 2)) || ref=$(fio_bytes_per_second)
	read -r pps bps lost < <(record "$(file_source "${1#disk-}")" "$bench_file")
	rm -f "$bench_file"
	((!(round % 2))) || ref=$(fio_bytes_per_second)
	result "$1" fio "$pps" "$bps" $((ref * pps / bps)) "$ref" "$lost"
}
