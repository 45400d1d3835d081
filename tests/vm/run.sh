#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Tapline in a machine that QEMU emulates: see docs/vm.md. `smoke`: on a PCI NIC, behind an IOMMU, through vfio-pci.
# `powerloss`: recording to a disk of its own when the power goes. `timesync`: stamps of PTP frames. TL_BUILD names the
# build directory, TL_BUILD_PTP one with the DPDK of tools/build-dpdk.sh; what the guest needs is cached in build-vm/.
set -euo pipefail
case "$*" in
smoke | powerloss | timesync) scenario=$1 ;;
*) echo "usage: tests/vm/run.sh smoke|powerloss|timesync" >&2 && exit 2 ;;
esac

source "$(dirname "${BASH_SOURCE[0]}")/../lib/func.sh"
vm_dir=$func_root/tests/vm
source "$vm_dir/image.sh"
func_name=vm
image=$func_root/build-vm
guest_limit=150 # seconds; 50 are usual

# need_ptp: TAPLINE_PTP.
need_ptp() {
	TAPLINE_PTP=${TL_BUILD_PTP:-$func_root/build-ptp}/app/tapline
	[[ ! -x $TAPLINE_PTP ]] || return 0
	skip "stamps of PTP frames" "no $TAPLINE_PTP (tools/build-dpdk.sh; meson setup -Ddpdk_prefix=... build-ptp)"
	exit 0
}

# vm_prepare: what is not to be had is a reason to skip; what is, must work.
vm_prepare() {
	if ! "$func_root/tools/install-deps.sh" vm 2>install.log; then
		skip "an emulated NIC" "QEMU 8 or newer cannot be installed ($(tail -n 1 install.log))"
		exit 0
	fi
	if ! timeout 90 bash -c 'source "$1" && image_fetch "$2"' - "$vm_dir/image.sh" "$image" >fetch.log 2>&1; then
		skip "an emulated NIC" "Debian's linux-image and busybox-static cannot be downloaded"
		exit 0
	fi
	image_make "$image" >image.log 2>&1 || func_die "no initramfs"
}

# vm_boot SCRIPT [QEMU OPTION...]: boots, to run it in the guest with ./out as /out; vm_pid is QEMU's process.
vm_boot() {
	local script=$1
	shift
	cat >out/run <<-END
		export ROOT=$(printf %q "$func_root") TAPLINE=$(printf %q "$(realpath "$TAPLINE")")
		export TAPLINE_PTP=$(printf %q "${TAPLINE_PTP:+$(realpath "$TAPLINE_PTP")}")
		exec timeout --kill-after=5 $guest_limit bash $(printf %q "$script") >/out/guest.log 2>&1
	END
	qemu-system-x86_64 -machine q35,kernel-irqchip=split -accel tcg,thread=multi -cpu max -smp 2 -m 2048 -no-reboot \
		-nodefaults -display none -monitor none -serial file:console.log \
		-kernel "$image/vmlinuz" -initrd "$image/initramfs.gz" \
		-append "console=ttyS0 quiet intel_iommu=on iommu=pt ipv6.disable=1 mitigations=off panic=-1 no_timer_check" \
		-device intel-iommu,intremap=on,caching-mode=on \
		-virtfs local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap \
		-virtfs "local,path=$DIR/out,mount_tag=out,security_model=none" \
		"$@" >qemu.log 2>&1 </dev/null &
	vm_pid=$!
}

# vm_end: returns when the guest has gone.
vm_end() {
	local status=0
	wait_for $((guest_limit + 30)) is_gone "$vm_pid" || func_die "the guest did not end"
	wait "$vm_pid" || status=$?
	cp out/*.log . 2>/dev/null || true # for whoever reads of the failure
	check_equal "the guest runs its script to the end" "qemu $status, script $(cat out/status 2>&1)" "qemu 0, script 0"
}

# frames FILE: lengths and bytes of each.
frames() {
	tshark -r "$1" -T fields -e frame.len -e frame.cap_len 2>/dev/null
	tshark -r "$1" -x 2>/dev/null
}

same_frames() {
	diff <(frames "$1") <(frames "$2") | head -n 10
	return "${PIPESTATUS[0]}"
}

# has_row ROW PATTERN: of the table of what the port can do, which `tapline run` prints.
has_row() {
	grep -Eq "^    $1  +$2\$" out/echo.log || { head -n 20 out/echo.log && false; }
}

judge_port() {
	check_equal "the NIC is bound to vfio-pci" "$(cat out/driver)" vfio-pci
	check "behind the IOMMU" grep -q '^[0-9]' out/iommu_group
	check "the table of the port names its driver" has_row driver net_e1000_igb
	check "its MAC" has_row MAC 02:00:00:00:00:05
	check "its link" has_row link '1000 Mbit/s'
	check "its queues" has_row queues '1 of 16 receive, 1 of 16 send'
	check "that it has RSS" has_row RSS yes
	check "a filter for multicast" has_row multicast 'MAC filter'
	check "and who counts its drops" has_row 'drop counters' "the driver's"
}

judge_frames() {
	check_equal "2000 frames were sent" "$(cat out/sent)" 2000
	check_equal "the recording ends with status 0" "$(cat out/frames.status)" 0
	check_json "all are in the ledger, and it holds" out/frames.json '.ledger_ok and .lossless and
		.port.hw_seen_pkts == 2000 and .captures[0].written_pkts == 2000'
	check "frames to foreign addresses too, byte for byte" same_frames out/in.pcap out/frames.pcapng
}

judge_queues() {
	check_json "of two queues the ledger holds" out/queues.json '.ledger_ok and .lossless'
	check_equal "each of 200 flows is there once" \
		"$(tshark -r out/queues.pcapng -T fields -e udp.dstport 2>/dev/null | sort | uniq -c | grep -c '^ *1 5')" 200
	check_equal "RSS gave frames to both queues" \
		"$(tshark -r out/queues.pcapng -T fields -e frame.interface_id 2>/dev/null | sort -u | wc -l)" 2
}

judge_echo() {
	check "ping is answered" grep -q '20 received' out/ping.log
	check_json "UDP comes back unchanged" out/udp.json '.sizes == 6 and .wrong == []'
	check_json "200000 bytes of TCP come back unchanged" out/tcp.json '.same and .fin'
	check_equal "SIGTERM ends the echo with status 0" "$(cat out/echo.status)" 0
	check_json "its ledger holds and nothing was lost" out/echo.json '.ledger_ok and .lossless'
	check_equal "pings of both directions are recorded" \
		"$(tshark -r out/echo.pcapng -Y icmp -T fields -e frame.packet_flags_direction 2>/dev/null | sort | uniq -c | xargs)" \
		"20 0x00000001 20 0x00000002"
}

judge_checksums() {
	check "while what is sent is recorded the processor makes the checksums" has_row 'TX checksums' 'yes, not used'
	check "else the NIC does" grep -Eq '^    TX checksums +yes$' out/by_nic.log
	check_json "datagrams come back with those that it makes" out/by_nic_udp.json '.sizes == 6 and .wrong == []'
	check_json "and 200000 bytes of TCP" out/by_nic_tcp.json '.same and .fin'
	check_json "its ledger holds" out/by_nic.json '.ledger_ok and .lossless'
	check_equal "SIGTERM ends that with status 0" "$(cat out/by_nic.status)" 0
}

# arrive_at TCP_PORT: the interfaces of the recording, one per queue, at which segments from this port arrived.
arrive_at() {
	tshark -r out/steer.pcapng -Y "tcp.srcport == $1" -T fields -e frame.interface_name -e frame.interface_id 2>/dev/null |
		sort -u | wc -l
}

first_interface() {
	tshark -r out/steer.pcapng -Y "tcp.srcport == $1" -T fields -e frame.interface_id 2>/dev/null | head -n 1
}

judge_steering() {
	check_json "the first lcore connects ten times" out/accept0.json '.accepted == 10'
	check_json "and the second" out/accept1.json '.accepted == 10'
	check_equal "all that the first one's peer answers arrives on one queue" "$(arrive_at 6000)" 1
	check_equal "and all that the second one's answers" "$(arrive_at 6001)" 1
	check "on another" test "$(first_interface 6000)" != "$(first_interface 6001)"
	check_json "a TCP echo on the second lcore is reached" out/steer_tcp.json '.same and .fin'
	check_json "what arrived on the other queue was handed over" out/steer.json '.ledger_ok and .lossless and
		.port.handoff_pkts > 0 and .port.handoff_pkts == .port.handoff_taken_pkts'
	check_equal "it ends with status 0" "$(cat out/steer.status)" 0
}

# Two igb, wired to each other; slots 5 and 8, because their virtual functions take the slots beside.
nics=(-netdev "hubport,id=n0,hubid=0" -device "igb,netdev=n0,addr=5,mac=02:00:00:00:00:05"
	-netdev "hubport,id=n1,hubid=0" -device "igb,netdev=n1,addr=8,mac=02:00:00:00:00:08")

smoke() {
	"$func_root/tests/lib/make_pcap.py" out/in.pcap 2000
	vm_boot "$vm_dir/guest_smoke.sh" "${nics[@]}"
	vm_end
	judge_port
	judge_frames
	judge_queues
	judge_echo
	judge_checksums
	judge_steering
}

# ---- stamps of PTP frames

# sequences: of the probes that the peer saw, in their order.
sequences() {
	tshark -r out/probes.pcap -Y 'eth.src == 02:00:00:00:00:05' -T fields -e ptp.v2.sequenceid 2>/dev/null
}

judge_probes() {
	local sent
	sent=$(jq .port.ptp.probes_sent out/stamped.json)
	check_equal "the echo with stamps ends with status 0" "$(cat out/stamped.status)" 0
	check_json "it echoes meanwhile" out/udp.json '.sizes == 6 and .wrong == []'
	check_json "it sends PTP probes and its ledger holds" out/stamped.json '.ledger_ok and .port.ptp.probes_sent >= 20'
	check_equal "the peer sees each probe once, in order" "$(sequences | xargs)" "$(seq -s ' ' 0 $((${sent:-1} - 1)))"
	check_json "each probe has a stamp of its own from the NIC" out/stamped.json '.port.ptp | .stamps_sent and
		.probes_stamped == .probes_sent and .probes_lost == 0 and .tx_to_wire_ns.count == .probes_stamped and
		.tx_to_wire_ns.source == "nic-tx"'
	check_json "a stamp is of the time when its probe left" out/stamped.json '.port.ptp | .bound_ns > 0 and
		.bound_ns < 1e8 and .tx_to_wire_ns.max < 1e8 + .bound_ns'
	check_json "received PTP frames are seen, the first with a stamp, which the emulated NIC then keeps" out/stamped.json '
		.port.ptp | .ptp_received_pkts == 8 and .ptp_stamped_pkts == 1 and .ptp_busy_pkts == 7 and
		.wire_to_poll_ns.count == 1 and .wire_to_poll_ns.source == "nic-ptp"'
}

judge_silence() {
	check_equal "Debian's DPDK ends with status 0 too" "$(cat out/unstamped.status)" 0
	check_json "its probes leave without a stamp, and are counted as lost" out/unstamped.json '.ledger_ok and
		(.port.ptp | (.stamps_sent | not) and .probes_sent >= 20 and .probes_stamped == 0 and
		.probes_lost == .probes_sent and .tx_to_wire_ns.p50 == null)'
	check "it says that this DPDK does not ask for stamps" grep -q 'built without RTE_LIBRTE_IEEE1588' out/unstamped.log
}

timesync() {
	"$func_root/tests/lib/make_ptp.py" out/ptp.pcap 8
	vm_boot "$vm_dir/guest_timesync.sh" "${nics[@]}"
	vm_end
	judge_probes
	judge_silence
}

# ---- a loss of power

disk=(-drive "file=disk.img,format=raw,if=virtio,cache=writethrough")
frames=1021 frame_bytes=1000
slab_records=$((1048576 / (frame_bytes + 32)))

has_lines() {
	(($(cat "$2" 2>/dev/null | wc -l) >= $1)) || is_gone "$vm_pid"
}

# power_off: at a moment of chance once six files are complete. What the guest had not written is gone.
power_off() {
	local ms=$((RANDOM % 300))
	wait_for "$guest_limit" has_lines 6 out/complete || true
	! is_gone "$vm_pid" || { cp out/guest.log guest.log && func_die "the guest ended before its power was cut"; }
	sleep "$(printf '0.%03d' "$ms")"
	kill -s KILL "$vm_pid"
	{ wait "$vm_pid" || true; } 2>/dev/null
}

# complete_are_the_same: what was complete, and forced to the disk, has the same name and bytes.
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
	truncate -s 2G disk.img # more than is recorded until the cut: no file that was told of may be dropped
	mkfs.ext4 -q -F disk.img >mkfs.log 2>&1 || func_die "no file system: $(cat mkfs.log)"
	vm_boot "$vm_dir/guest_record.sh" "${disk[@]}"
	power_off
	vm_boot "$vm_dir/guest_recover.sh" "${disk[@]}"
	vm_end
	mkdir files
	debugfs -R "rdump / files" disk.img >debugfs.log 2>&1 || func_die "the disk cannot be read"
	judge_powerloss
}

func_begin
[[ $scenario != timesync ]] || need_ptp
vm_prepare
mkdir out
"$scenario"
