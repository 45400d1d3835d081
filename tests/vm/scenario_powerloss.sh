# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154,SC2164,SC2103,SC2002
# Scenario powerloss: a recording during a loss of power, and its recovery. Sourced by run.sh.

disk=(-drive "file=disk.img,format=raw,if=virtio,cache=writethrough")
frames=1021 frame_bytes=1000
slab_records=$((1048576 / (frame_bytes + 32)))

has_lines() {
	(($(cat "$2" 2>/dev/null | wc -l) >= $1)) || is_gone "$vm_pid"
}

# power_off: cut the power at a random time after six files are complete. Data not yet written by the guest is lost.
power_off() {
	local ms=$((RANDOM % 300))
	wait_for "$guest_limit" has_lines 6 out/complete || true
	! is_gone "$vm_pid" || { cp out/guest.log guest.log && func_die "the guest ended before its power was cut"; }
	sleep "$(printf '0.%03d' "$ms")"
	kill -s KILL "$vm_pid"
	{ wait "$vm_pid" || true; } 2>/dev/null
}

# complete_are_the_same: check that synced complete files keep name and bytes.
complete_are_the_same() {
	local sum bytes name wrong=0
	while read -r sum bytes name; do
		grep -qxF "$sum $bytes $name" out/after || { echo "$name is another: $sum $bytes" && wrong=1; }
	done <out/complete
	return "$wrong"
}

judge_powerloss() {
	check "at least six files were complete" test "$(wc -l <out/complete)" -ge 6
	check "a file was being written" grep -q '\.part$' out/left
	check_equal "recover ends with status 0" "$(cat out/recover.status)" 0
	check_json "what was left is recovered" out/recover.json '.recovered > 0 and .failed == 0'
	check "files that were complete are the same" complete_are_the_same
	check_equal "nothing is left behind" "$(find files -name '*.part' -o -name '.*.next')" ""
	cd files
	sed 's|/disk/||g' ../out/recover.json >../recover.json
	check "all are whole, and the gaps are those that recover names" "$func_root/tests/lib/check_recovered.py" \
		"$frames" "$slab_records" 0 ../recover.json rot*.pcapng
	cd ..
	check "capinfos takes them all" capinfos -c files/*.pcapng
}

powerloss() {
	"$func_root/tests/lib/make_numbered.py" out/in.pcap "$frames" "$frame_bytes"
	truncate -s 2G disk.img # more than is recorded until the cut: no reported file may be removed
	mkfs.ext4 -q -F disk.img >mkfs.log 2>&1 || func_die "no file system: $(cat mkfs.log)"
	vm_boot "$vm_dir/guest_record.sh" "${disk[@]}"
	power_off
	vm_boot "$vm_dir/guest_recover.sh" "${disk[@]}"
	vm_end
	mkdir files
	debugfs -R "rdump / files" disk.img >debugfs.log 2>&1 || func_die "the disk cannot be read"
	judge_powerloss
}
