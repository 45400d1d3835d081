# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034,SC2154
# Scenario crash: a ring reuses its files while QEMU logs every write and flush of the disk; the log yields the disks
# that a loss of power could have left. Sourced by run.sh. TL_CRASH_IMAGES: their number (100), TL_CRASH_SEED: their
# seed; TL_CRASH_KEEP: a directory for base.img and log.img, from which crash_images.py makes more.

disk_mb=96 tail_mb=1
crash_build=${TL_BUILD:-$func_root/build}

# record_crash VARIABLE=VALUE...: boot, record, and leave base.img, disk.img and log.img.
record_crash() {
	local run
	printf '%s\n' "$@" >out/environment
	echo $(((disk_mb - tail_mb) * 2048)) >out/tail
	for run in 1 2 3 4 5; do
		PYTHONPATH=$func_root/tests/lib python3 -c \
			'import sys, recording_frames as f; f.make_input(sys.argv[1], 1300, 8000, int(sys.argv[2]))' \
			"out/in.$run.pcap" $((run * 2000))
	done
	truncate -s "${disk_mb}M" disk.img
	truncate -s 0 log.img
	mkfs.ext4 -q -F disk.img $(((disk_mb - tail_mb) * 1024)) >mkfs.log 2>&1 || func_die "no file system: $(cat mkfs.log)"
	cp --sparse=always disk.img base.img
	vm_boot "$vm_dir/guest_crash.sh" \
		-blockdev driver=file,filename=disk.img,node-name=file -blockdev driver=file,filename=log.img,node-name=log \
		-blockdev driver=blklogwrites,file=file,log=log,node-name=disk,log-super-update-interval=1 \
		-device virtio-blk-pci,drive=disk,write-cache=on
	vm_end
	check_equal "each recording ends with status 0" "$(sort -u out/record.status)" 0
}

# images: run crash_images.py.
images() {
	"$vm_dir/crash_images.py" base.img log.img "$(cat out/tail)" --tapline "$TAPLINE" --images "${TL_CRASH_IMAGES:-100}" \
		--seed "${TL_CRASH_SEED:-1}"
}

crash() {
	record_crash TL_FAULT=none
	[[ -z ${TL_CRASH_KEEP:-} ]] || cp --sparse=always base.img log.img out/tail "$TL_CRASH_KEEP"
	images || func_failed=1
}

# sync_site FUNCTION: print its call in the form of SEAM_FAULT, made ineffective.
sync_site() {
	"$func_root/tests/faults/run.py" --build "$crash_build" --scenario reuse --site "$1() f" --list --skipped | head -n 1
}

# Without this one the images must show an error: TL_CRASH_WITHOUT is the calling function.
crash_without() {
	local function=${TL_CRASH_WITHOUT:-tl_writer_sync_directory} fault
	fault=$(sync_site "$function")
	[[ -n $fault ]] || func_die "no call of fsync in $function()"
	record_crash "LD_PRELOAD=$(realpath "$crash_build/tests/faults/libseam.so")" SEAM_SYNC=1 SEAM_TRACE=/out/trace "SEAM_FAULT=$fault"
	check "$function() forces nothing to the disk" grep -q "^fault f.*sync 1001" out/trace
	if images >images.log; then
		not_ok "without its fsync the images show it" "$(cat images.log)"
	else
		ok "without its fsync the images show it"
		grep -A 2 '^not ok' images.log | sed 's/^/#   /'
	fi
}
