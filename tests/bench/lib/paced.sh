# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# Scenarios with a source that delivers frames at a rate and drops those not fetched in time: paced-*, paced-ring-60 and
# dumpcap-60. The result is the highest rate without loss. paced.c is the source: preloaded, it makes a device of
# net_pcap behave so, in Tapline's process and in the one that dpdk-dumpcap attaches to.
#
# Each tool gets the same milliseconds of memory: ring_ms before the polling thread (like a NIC's ring; it must outlast
# the host's stalls, otherwise no tool is ever without loss) and buffer_ms between that thread and the writing one.

unlimited_pps=1000000000
tries=2               # failed tries that make a rate fail
trial_lost='' trial_missed='' trial_pps='' trial_bps='' trial_deepest=''
found_pps='' found_bps='' found_stall_ms='' paced_highest=''

# paced PPS COMMAND...: run the command with a paced source. $PACED_FILE has the counters; in memory, because write-back
# of a page to disk would block the polling thread.
paced() {
	local pps=$1
	shift
	TL_PACED_PPS=$pps TL_PACED_RING=$(calculate "$pps * $ring_ms / 1000 + 1") TL_PACED_FILE=$PACED_FILE \
		LD_PRELOAD=$bench_build/libbench_paced.so "$@"
}

# paced_counters: print "due missed deepest".
paced_counters() {
	od -An -v -t u8 -w24 "$PACED_FILE"
}

# our_trial PPS SIZES FILE [OPTION...]: run once at a rate.
our_trial() {
	local pps=$1 sizes=$2 file=$3 buffer
	shift 3
	buffer=$(calculate "$pps * $(record_bytes "$sizes") * $buffer_ms / 1000 / 1048576 + 1")
	((buffer >= 8)) || buffer=8
	((buffer <= buffer_max_mb)) || buffer=$buffer_max_mb
	paced "$pps" timeout -k 5 $((${trial_seconds:-$seconds} + 20)) "$TAPLINE" capture -i "$(file_source "$sizes")" -w "$file" \
		--duration "${trial_seconds:-$seconds}" --buffer "${buffer}M" --json "$@" >trial.json 2>trial.log || true
	read -r _ trial_missed trial_deepest < <(paced_counters)
	read -r trial_pps trial_bps trial_lost < <(jq -r --argjson missed "$trial_missed" '
		(.uptime_ns / 1e9) as $s | .captures[0] | "\(.written_pkts / $s | round) \(.written_bytes / $s | round) \(
		.drop_ring_pkts + .drop_disk_pkts + $missed)"' trial.json)
	rm -f "$bench_file"
}

# record_bytes SIZES: print the bytes of a record of such a frame in a Tapline recording.
record_bytes() {
	if [[ ! -s $1.record ]]; then
		timeout -k 5 20 "$TAPLINE" capture -i "$(file_source "$1")" -w null: --count 1000000 --json 2>trial.log |
			jq '.captures[0] | .written_bytes / .written_pkts' >"$1.record"
	fi
	cat "$1.record"
}

# one_try TRIAL PPS ARGUMENT...: check that no frame is lost in any round.
one_try() {
	local i trial=$1 pps=$2 deepest=0 bytes=()
	shift 2
	for ((i = 0; i < rounds; i++)); do
		"$trial" "$pps" "$@"
		echo "# $trial $pps pps: ${trial_pps:-no} recorded per second, ${trial_lost:-?} lost" >&2
		[[ $trial_lost == 0 ]] || return
		bytes+=("$trial_bps")
		((trial_deepest <= deepest)) || deepest=$trial_deepest
	done
	found_bps=$(printf '%s\n' "${bytes[@]}" | sort -n | sed -n "$((rounds / 2 + 1))p")
	found_pps=$pps
	found_stall_ms=$(stall_ms "$deepest" "$pps")
}

# stall_ms FRAMES PPS: print the time in which this number of frames accumulates.
stall_ms() {
	awk "BEGIN { printf \"%.1f\", $1 * 1000 / $2 }"
}

is_loss_free() {
	local i
	for ((i = 0; i < tries; i++)); do
		! one_try "$@" || return 0
	done
	return 1
}

# search TRIAL HIGHEST ARGUMENT...: bisect, by ratios, for the highest loss-free rate from 1/64 of HIGHEST on: set
# found_pps, 0 if there is none, found_bps, found_stall_ms.
search() {
	local trial=$1 high=$2 low=$(($2 / 64)) middle
	shift 2
	found_pps=0 found_bps=0 found_stall_ms=0
	while (($(calculate "$high * 100 > $low * (100 + $resolution)"))); do
		middle=$(calculate "sqrt($low * $high)")
		if is_loss_free "$trial" "$middle" "$@"; then
			low=$middle
		else
			high=$middle
		fi
	done
}

# search_ours SIZES: do the same for Tapline; once in a run of this script.
search_ours() {
	local highest
	if [[ ! -s found-$1 ]]; then
		read -r highest _ _ < <(paced "$unlimited_pps" receive_only "$(file_source "$1")")
		search our_trial "$highest" "$1" "$bench_file" --direction rx
		echo "$highest $found_pps $found_bps $found_stall_ms" >"found-$1"
	fi
	read -r paced_highest found_pps found_bps found_stall_ms <"found-$1"
}

memory_facts() {
	jq -nc --argjson ring_ms "$ring_ms" --argjson buffer_ms "$buffer_ms" --argjson stall_ms "$found_stall_ms" \
		'{$ring_ms, $buffer_ms, $stall_ms}'
}

# paced-SIZES: the loss-free rate of Tapline's recording compared with that of the disk, limited by the rate of a 10
# Gbit/s wire.
run_paced() {
	local sizes=${1#paced-} disk wire bare reference=disk
	[[ $sizes != ring-* ]] || { run_paced_ring "$1" "${sizes#ring-}" && return; }
	((round == 0)) || return 0
	search_ours "$sizes"
	read -r bare _ _ < <(receive_only "$(file_source "$sizes")")
	disk=$(calculate "$(fio_fresh) / $(record_bytes "$sizes")")
	wire=$(wire_pps "$sizes")
	((disk < wire)) || reference="10 Gbit/s line rate"
	((disk < wire)) && wire=$disk
	result "$1" "$reference" "$found_pps" "$found_bps" "$wire" "$(calculate "$wire * $(record_bytes "$sizes")")" 0 \
		"$(memory_facts | jq -c --argjson bare "$bare" --argjson paced "$paced_highest" \
			'. + {receive_only_pps: $bare, receive_only_through_pacer_pps: $paced}')"
}

# wire_pps BYTES: preamble, FCS and gap add 24 bytes.
wire_pps() {
	calculate "1e10 / 8 / ($1 + 24)"
}

# paced-ring-SIZES: a minute (or --ring-seconds) at the rate that must be loss-free, into a ring of files of 8 GB at
# most. Large files: a full ring reuses them, and fewer files are opened less often.
run_paced_ring() {
	local sizes=$2 rate wire ring_dir=$dir/tapline-bench-$$ trial_seconds=$ring_seconds ring_bytes
	((round == 0)) || return 0
	wire=$(wire_pps "$sizes")
	rate=$(calculate "0.9 * $(fio_fresh) / $(record_bytes "$sizes")")
	((rate < wire)) || rate=$wire
	mkdir "$ring_dir"
	our_trial "$rate" "$sizes" "$ring_dir/ring.pcapng" --direction rx --rotate 512M --keep-bytes 8G
	ring_bytes=$(du -sb "$ring_dir" | cut -f 1)
	rm -rf "$ring_dir"
	result "$1" "rate of the source" "$trial_pps" "$trial_bps" "$rate" "$(calculate "$rate * $(record_bytes "$sizes")")" \
		"$trial_lost" "$(jq -nc --argjson seconds "$ring_seconds" --argjson bytes "$ring_bytes" \
			--argjson missed "$trial_missed" --argjson stall "$(stall_ms "$trial_deepest" "$rate")" \
			'{ring_seconds: $seconds, ring_bytes: $bytes, missed_pkts: $missed, stall_ms: $stall}')"
}

# ---- dpdk-dumpcap

primary_pid=''
dumpcap_pages=640 # of 2 MiB: the primary's memory, which includes dpdk-dumpcap's buffers

# Secondary processes map the primary's hugepages by their files, therefore these need a hugetlbfs; a private run-time
# directory isolates them from others.
primary_start() {
	local pps=$1 sizes=$2
	rm -f "$PACED_FILE"
	cp "$sizes.pcap" "$PACED_FILE.pcap" # a secondary process truncates device arguments to 63 characters
	# exec, so that the process id is the program's.
	paced "$pps" exec "$bench_build/bench_primary" -l "$(($(nproc) - 1))" -m $((dumpcap_pages * 2 - 80)) --no-pci --huge-dir "$DIR/huge" \
		--vdev "net_pcap0,rx_pcap=$PACED_FILE.pcap,infinite_rx=1" >primary.log 2>&1 &
	primary_pid=$!
	wait_for 20 primary_polls_or_is_gone || true
	primary_polls || func_die "the primary process did not start: $(tail -n 1 primary.log)"
}

primary_polls() {
	[[ -s $PACED_FILE && $(paced_counters | awk '{ print $1 }') -gt 0 ]]
}

primary_polls_or_is_gone() {
	primary_polls || is_gone "$primary_pid"
}

# dumpcap_trial PPS SIZES FILE: run dpdk-dumpcap once, as in Debian 12 and repaired by a preload: otherwise the indexes
# of the kinds of memory pools differ between the two processes, and it receives nothing. Its -N is a power of two.
dumpcap_trial() {
	local pps=$1 sizes=$2 file=$3 before missed received dropped ring=1024
	while ((ring < pps * buffer_ms / 1000)); do ring=$((ring * 2)); done
	primary_start "$pps" "$sizes"
	read -r _ before _ < <(paced_counters)
	# Overloaded, it never ends. The subshell suppresses the shell's message about the kill.
	(LD_PRELOAD=librte_mempool_dpaa.so.23 timeout -s INT -k 3 $((seconds + 8)) taskset -c 0 dpdk-dumpcap -q -N "$ring" \
		-i 0 -a "duration:$seconds" -w "$file" >dumpcap.log 2>&1 </dev/null || true) 2>/dev/null
	read -r _ missed trial_deepest < <(paced_counters)
	stop_process "$primary_pid" TERM || true
	read -r received dropped < <(sed -n 's|.*received/dropped on interface.*: \([0-9]*\)/\([0-9]*\) .*|\1 \2|p' dumpcap.log)
	trial_pps=$((${received:-0} / seconds)) trial_lost=$((${dropped:-0} + missed - before))
	trial_bps=$(($(stat -c %s "$file" 2>/dev/null || echo 0) / seconds))
	# A recording much smaller than the input is a failure.
	((trial_pps * 10 > pps * 8)) || trial_lost=$((trial_lost + pps * seconds))
	rm -f "$file"
}

# dumpcap-SIZES: our loss-free rate to disk compared with dpdk-dumpcap's. It writes through the page cache; Tapline does
# not.
run_dumpcap() {
	local sizes=${1#dumpcap-} pps bps ours
	((round == 0)) || return 0
	if ! command -v dpdk-dumpcap >/dev/null; then
		skip_scenario "$1" "dpdk-dumpcap is not installed (apt-get install dpdk-dev)"
		return
	fi
	search_ours "$sizes"
	pps=$found_pps bps=$found_bps ours=$(memory_facts)
	if ! dumpcap_begin; then
		skip_scenario "$1" "dpdk-dumpcap needs $dumpcap_pages hugepages more, and a hugetlbfs"
		return
	fi
	search dumpcap_trial 8000000 "$sizes" "$bench_file"
	dumpcap_end
	result "$1" "dpdk-dumpcap, page cache" "$pps" "$bps" "$found_pps" "$found_bps" 0 \
		"$(jq -c --argjson stall "$found_stall_ms" '. + {reference_stall_ms: $stall}' <<<"$ours")"
}

dumpcap_begin() {
	export RUNTIME_DIRECTORY=$DIR/run
	mkdir -p huge run
	(($(<"$hugepages_dir/free_hugepages") >= dumpcap_pages)) && mount -t hugetlbfs none huge
}

dumpcap_end() {
	umount huge
	unset RUNTIME_DIRECTORY
}
