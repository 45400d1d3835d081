# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# Functions of capture.sh's scenarios: facts of the host, one line of JSON per scenario and round, and the report.

# result NAME REFERENCE PPS BPS REF_PPS REF_BPS LOST [EXTRA]: EXTRA is a JSON object of further fields.
result() {
	jq -nc --arg name "$1" --arg reference "$2" --argjson pps "$3" --argjson bps "$4" --argjson rpps "$5" \
		--argjson rbps "$6" --argjson lost "$7" --argjson extra "${8:-"{}"}" \
		'{$name, $reference, $pps, $bps, $rpps, $rbps, $lost, $extra}' >>results
}

# skip_scenario NAME REASON
skip_scenario() {
	jq -nc --arg name "$1" --arg skipped "$2" '{$name, $skipped}' >>results
}

# calculate EXPRESSION: awk's arithmetic, rounded to a whole number.
calculate() {
	awk "BEGIN { printf \"%.0f\", ($1) }"
}

host_facts() {
	jq -n --arg cpu "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)" --argjson cpus "$(nproc)" \
		--arg kernel "$(uname -r)" --arg dpdk "$(pkg-config --modversion libdpdk)" \
		--arg tapline "$("$TAPLINE" --version | head -n 1)" \
		--argjson memory_bytes "$(($(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo) * 1024))" \
		--arg disk "$(findmnt -no SOURCE,FSTYPE --target "$dir")" \
		'{$cpu, $cpus, $kernel, $dpdk, $tapline, $memory_bytes, disk: ($disk | gsub(" +"; " "))}'
}

# Print per scenario the medians over its rounds; lost_pkts is the sum.
report() {
	jq -s --argjson host "$(host_facts)" --argjson seconds "$seconds" --argjson rounds "$rounds" '
		def median: sort | .[length / 2 | floor];
		def ratio: (if .name | test("^(disk|ring)-") then [.bps, .rbps] else [.pps, .rpps] end) |
			if .[1] > 0 then .[0] / .[1] * 1000 | round / 1000 else null end;
		def extras: map(.extra) | (.[0] // {} | keys_unsorted) as $keys | . as $all |
			[$keys[] as $key | {key: $key, value: ($all | map(.[$key]) | median)}] | from_entries +
			{ranges: ([$keys[] as $key | {key: $key, value: ($all | map(.[$key]) | [min, max])}] | from_entries)};
		def summary: if .[0].skipped then .[0] else
			{name: .[0].name, ours_pps: (map(.pps) | median), ours_bps: (map(.bps) | median),
			 reference: .[0].reference, reference_pps: (map(.rpps) | median), reference_bps: (map(.rbps) | median),
			 ratio: (map(ratio) | median), lost_pkts: (map(.lost) | add), ours_pps_range: (map(.pps) | [min, max]),
			 reference_pps_range: (map(.rpps) | [min, max])} + extras end;
		{$host, $seconds, $rounds, scenarios: (group_by(.name) | map(summary))}' results
}
