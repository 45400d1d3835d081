#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Run Tapline in a machine emulated by QEMU: see tests/vm/README.md. `smoke`: on a PCI NIC, behind an IOMMU, through
# vfio-pci. `deploy`: from the kernel's driver to the NIC's unplugging. `cards`: cards other than igb. `place`: isolated
# CPUs and two NUMA nodes. `systemd`: the units under a real systemd. `powerloss`: recording to a disk during a loss of
# power. `crash`: each disk that a loss of power could have left; `crash_without`: with one fsync missing. `timesync`:
# stamps of replies and PTP frames. `steer`: flow rules, and tunnels of the kernel. `isolate`: an isolated net_tap. `qdisc`: class trees
# and delays beside the kernel's.
# TL_BUILD names the build directory, TL_BUILD_PTP one with the DPDK of tools/build-dpdk.sh, TL_VM_ROOT, for `systemd`,
# the root of another Debian with Tapline in its /build (tools/test-debian.sh); files of the guest are cached in build-vm/.
set -euo pipefail
case "$*" in
smoke | deploy | cards | place | systemd | powerloss | crash | crash_without | timesync | steer | isolate | qdisc) scenario=$1 ;;
*) echo "usage: tests/vm/run.sh smoke|deploy|cards|place|systemd|powerloss|crash|crash_without|timesync|steer|isolate|qdisc" >&2 && exit 2 ;;
esac

source "$(dirname "${BASH_SOURCE[0]}")/../lib/func.sh"
vm_dir=$func_root/tests/vm
source "$vm_dir/image.sh"
func_name=vm
image=$func_root/build-vm
guest_limit=1000 # seconds; about 50 is normal, 500 beside all other suites
boot_limit=180   # about 8 is normal
vm_attempt=${TL_VM_ATTEMPT:-1}
vm_cpus=2
vm_model=Nehalem,+rdtscp # what DPDK needs; with AVX, emulation costs a quarter more CPU time
vm_stall='rcupdate.rcu_cpu_stall_timeout=60 sysctl.kernel.panic_on_rcu_stall=1' # panic when a CPU stalls for 60 s
vm_words='' # additional words of the kernel's command line
vm_root=${TL_VM_ROOT:-/} # root directory of the guest
vm_tree=$func_root       # path of this tree in the guest

# Two connected igb for the scenarios; slots 5 and 8, because their virtual functions take the following slots.
# shellcheck disable=SC2034
nics=(-netdev "hubport,id=n0,hubid=0" -device "igb,netdev=n0,addr=5,mac=02:00:00:00:00:05"
	-netdev "hubport,id=n1,hubid=0" -device "igb,netdev=n1,addr=8,mac=02:00:00:00:00:08")
# shellcheck disable=SC2034
monitor=(-chardev "socket,id=monitor,path=monitor.sock,server=on,wait=off" -mon "chardev=monitor,mode=readline")

# vm_prepare: missing requirements are a reason to skip; existing ones must work.
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

# vm_boot SCRIPT [QEMU OPTION...]: boot, and run it in the guest with ./out as /out; vm_pid is QEMU's process. A guest
# whose kernel hangs earlier, because the emulation sometimes loses a timer, is booted again.
vm_boot() {
	local script=$1 attempt
	shift
	cat >out/run <<-END
		: >/out/begun
		export ROOT=$(printf %q "$vm_tree") TAPLINE=$(printf %q "$(realpath "$TAPLINE")")
		export TAPLINE_DRIVERS_CONFIG=$(printf %q "$func_root/drivers-config")
		export TAPLINE_PTP=$(printf %q "${TAPLINE_PTP:+$(realpath "$TAPLINE_PTP")}")
		exec timeout --kill-after=5 $guest_limit bash $(printf %q "$script") >/out/guest.log 2>&1
	END
	rm -f out/begun
	for attempt in 1 2 3; do
		vm_start "$@"
		wait_for "$boot_limit" vm_has_begun && return
		echo "# the guest did not begin within $boot_limit s: attempt $attempt"
		kill -s KILL "$vm_pid"
		{ wait "$vm_pid" || true; } 2>/dev/null
	done
	func_die "the guest does not boot"
}

vm_has_begun() {
	[[ -e out/begun ]] || is_gone "$vm_pid"
}

vm_start() {
	qemu-system-x86_64 -machine q35,kernel-irqchip=split -accel tcg,thread=multi -cpu "$vm_model" -smp "$vm_cpus" -m 2048 -no-reboot \
		-nodefaults -display none -monitor none -serial file:console.log \
		-kernel "$image/vmlinuz" -initrd "$image/initramfs.gz" \
		-append "console=ttyS0 quiet loglevel=5 intel_iommu=on iommu=pt ipv6.disable=1 mitigations=off panic=-1 no_timer_check $vm_stall $vm_words" \
		-device intel-iommu,intremap=on,caching-mode=on \
		-virtfs "local,path=$vm_root,mount_tag=host,security_model=none,readonly=on,multidevs=remap" \
		-virtfs "local,path=$DIR/out,mount_tag=out,security_model=none" \
		"$@" >qemu.log 2>&1 </dev/null &
	vm_pid=$!
}

# vm_gone: check whether the guest has ended. Until then, run commands for QEMU's monitor that it writes to out/wish.N.
vm_gone() {
	local wish
	for wish in out/wish.[0-9]*; do
		[[ -e $wish ]] || continue
		"$vm_dir/monitor.py" monitor.sock "$(cat "$wish")" >>monitor.log 2>&1 || true
		rm "$wish"
	done
	is_gone "$vm_pid"
}

# vm_defect STATUS: print the defect of the emulation that ended QEMU, if one did: a failed assertion of its own, as happens
# in its emulated IOMMU (iotlb_to_section), or a CPU stall (vm_stall).
vm_defect() {
	if (($1 == 134)) && grep -m 1 'qemu-system-x86_64: .*Assertion .* failed' qemu.log; then
		return
	fi
	grep -m 1 -o 'Kernel panic - not syncing: RCU Stall' console.log
}

# vm_end: return when the guest has ended. If the emulation failed, run the scenario again, in another process.
vm_end() {
	local status=0 defect
	wait_for $((guest_limit + 30)) vm_gone || func_die "the guest did not end"
	wait "$vm_pid" || status=$?
	if ((vm_attempt < 3)) && defect=$(vm_defect "$status"); then
		echo "# the emulation failed: attempt $vm_attempt: $defect"
		grep -m 1 -A 60 'rcu: INFO' console.log | sed 's/^/# /' || true
		status=0
		TL_VM_ATTEMPT=$((vm_attempt + 1)) "$vm_dir/run.sh" "$scenario" || status=$?
		exit "$status"
	fi
	cp out/*.log . 2>/dev/null || true # for the analysis of a failure
	check_equal "the guest runs its script to the end" "qemu $status, script $(cat out/status 2>&1)" "qemu 0, script 0"
}

# shellcheck source=/dev/null
source "$vm_dir/scenario_${scenario%_without}.sh"
func_begin
vm_prepare
mkdir out
"$scenario"
