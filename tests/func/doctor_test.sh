#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# doctor on simulated hosts: suitable ones, ones with a single fault, and ones with invalid files.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

tuned_nic=${TL_BUILD:-$func_root/build}/tests/libtuned_nic.so

# doctor_of OPTION...: run doctor on the simulated host, with the configuration.
doctor_of() {
	timeout 60 "$TAPLINE" doctor --root host -c doctor.json "$@"
}

# verdicts: print lines "id verdict" from JSON.
verdicts() {
	jq -r '.checks[] | "\(.id) \(.verdict)"'
}

make_host() {
	rm -rf host
	mkdir host
	"$func_root/tests/lib/make_host.py" host "$driver_dir"
}

# Print the directory of DPDK's drivers that doctor has read.
find_drivers() {
	"$TAPLINE" doctor --json | jq -r '.checks[] | select(.id == "dpdk.pmds").read | split(";")[0]'
}

# status_of COMMAND...
status_of() {
	local status=0
	"$@" >/dev/null 2>&1 </dev/null || status=$?
	echo "$status"
}

# is_report FILE STATUS: check that the status agrees with the report, and that the report is complete.
is_report() {
	[[ $2 == 0 || $2 == 1 ]] && jq -e --argjson status "$2" '
		(.checks | length) >= 40 and (.checks | length) == .ok + .warn + .fail + .unknown and
		(.fail > 0) == ($status == 1) and
		all(.checks[]; keys == ["fix", "id", "read", "verdict", "why"] and
			(.verdict | IN("ok", "warn", "fail", "unknown"))) and
		([.checks[].id] | unique | length) == (.checks | length)' "$1" >/dev/null
}

# survives SENTENCE COMMAND...: check that it prints a complete report.
survives() {
	local sentence=$1 status=0
	shift
	"$@" >report.json 2>report.err </dev/null || status=$?
	check "$sentence" is_report report.json "$status"
}

# ---- single faults: check, verdict, file written, content

CPU=sys/devices/system/cpu
HUGE=sys/kernel/mm/hugepages/hugepages-2048kB
ICE=sys/bus/pci/devices/0000:3b:00.0
MLX5=sys/bus/pci/devices/0000:5e:00.0
faults() {
	cat <<-END
		memory.hugepages fail $HUGE/free_hugepages 400
		memory.hugepages_node warn sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages 100
		memory.hugetlbfs warn proc/self/mounts proc /proc proc rw 0 0
		memory.stale_files warn dev/hugepages/rtemap_0 x
		memory.memlock fail proc/self/limits Max locked memory 8388608 8388608 bytes
		memory.cgroup fail sys/fs/cgroup/system.slice/memory.max 1048576
		memory.cgroup_hugetlb fail sys/fs/cgroup/system.slice/hugetlb.2MB.max 2097152
		memory.numa_balancing warn proc/sys/kernel/numa_balancing 1
		memory.ksm warn sys/kernel/mm/ksm/run 1
		memory.thp warn sys/kernel/mm/transparent_hugepage/enabled [always] madvise never
		cpu.online fail $CPU/online 0-2,4-7
		cpu.cpuset fail sys/fs/cgroup/system.slice/cpuset.cpus.effective 0-2
		cpu.quota warn sys/fs/cgroup/system.slice/tapline.service/cpu.max 50000 100000
		cpu.isolated warn $CPU/isolated 2,6-7
		cpu.nohz_full warn $CPU/nohz_full 2
		cpu.irqs warn proc/irq/40/effective_affinity_list 3
		cpu.irqs warn proc/irq/41/smp_affinity_list 0-7
		cpu.irqbalance warn proc/9/comm irqbalance
		cpu.governor warn $CPU/cpu3/cpufreq/scaling_governor powersave
		cpu.idle_states warn $CPU/cpu2/cpuidle/state1/disable 0
		cpu.smt warn $CPU/cpu2/topology/thread_siblings_list 1-2
		cpu.rt_throttling warn proc/sys/kernel/sched_rt_runtime_us 950000
		cpu.nmi_watchdog warn proc/sys/kernel/nmi_watchdog 1
		cpu.watchdog warn proc/sys/kernel/watchdog 1
		cpu.workqueues warn sys/devices/virtual/workqueue/cpumask ff
		cpu.steal warn proc/stat cpu 1000 0 100 9000 0 0 0 500 0 0
		cpu.thermal warn $CPU/cpu5/thermal_throttle/core_throttle_count 7
		cpu.thermal warn sys/class/thermal/thermal_zone0/temp 97000
		pci.lockdown warn sys/kernel/security/lockdown none [integrity] confidentiality
		pci.link_width warn $MLX5/current_link_width 4
		pci.link_speed warn $ICE/current_link_speed 2.5 GT/s PCIe
		pci.aer warn $ICE/aer_dev_correctable TOTAL_ERR_COR 3
		pci.aer fail $ICE/aer_dev_fatal TOTAL_ERR_FATAL 1
		pci.numa warn $ICE/numa_node 1
		link.carrier warn $MLX5/net/ens1/carrier 0
		link.mtu warn $MLX5/net/ens1/mtu 1400
		time.clocksource warn sys/devices/system/clocksource/clocksource0/current_clocksource hpet
		time.daemon warn proc/800/comm cron
		storage.filesystem warn proc/self/mountinfo 20 1 0:1 / / rw - tmpfs none rw
		dpdk.firmware warn $MLX5/infiniband/mlx5_0/fw_ver 16.20.1000
	END
}

# try_fault ID VERDICT COMMAND...: make one fault by the command; check that the check of that id reports it.
try_fault() {
	local id=$1 verdict=$2
	shift 2
	"$@"
	doctor_of --json >fault.json || true
	check_equal "$id says $verdict, and no other check changes: ${*: -2:1}" \
		"$(diff good.txt <(verdicts <fault.json) | grep '^>' || true)" "> $id $verdict"
}

# try_pair LINE LINE COMMAND...: do the same for a fault that changes two checks, in this order.
try_pair() {
	local first=$1 second=$2
	shift 2
	make_host
	"$@"
	doctor_of --json >fault.json || true
	check_equal "$first and $second, when it is so" \
		"$(diff good.txt <(verdicts <fault.json) | sed -n 's/^> //p')" "$first"$'\n'"$second"
}

without_nohz() {
	put proc/cmdline root=/dev/sda1
	put $CPU/nohz_full "(null)"
}

# put PATH WORD...
put() {
	local path=host/$1
	shift
	mkdir -p "$(dirname "$path")"
	echo "$*" >"$path"
}

# After a rename anywhere on the host the kernel rejects a path with "..", as in links of /sys, once.
try_renames() {
	python3 -c 'import os
open("there", "w").close()
while True:
    os.rename("there", "here")
    os.rename("here", "there")' &
	local pid=$! i
	wait_for 60 compgen -G '*here' >/dev/null || func_die "nothing is renamed"
	: >renamed.txt
	for ((i = 0; i < 20; i++)); do
		doctor_of --json >fault.json || true
		verdicts <fault.json | diff good.txt - >>renamed.txt || true
	done
	kill "$pid"
	check_equal "files renamed to another directory stay readable" "$(<renamed.txt)" ""
}

try_files() {
	local id verdict path content
	while read -r id verdict path content; do
		local had=false
		[[ ! -e host/$path ]] || { cp host/"$path" saved && had=true; }
		try_fault "$id" "$verdict" put "$path" "$content"
		rm host/"$path"
		! "$had" || cp saved host/"$path"
	done < <(faults)
}

# set_config OFFSET BYTES: modify the configuration space of the E810.
set_config() {
	printf '%b' "$2" | dd of="host/$ICE/config" bs=1 seek="$1" conv=notrunc status=none
}

count_smis() {
	printf '\xff\xff\xff\x00' | dd of=host/dev/cpu/0/msr bs=1 seek=52 conv=notrunc status=none # MSR 0x34
}

# Bind the E810 to another driver.
bind_to() {
	ln -sfn "../../../bus/pci/drivers/$1" "host/sys/devices/pci0000:3a/0000:3b:00.0/driver"
}

without_flag() {
	sed -i "s/ $1//" host/proc/cpuinfo
}

# Another function of the card, which stays with the kernel's driver.
add_neighbour() {
	mkdir -p "host/sys/devices/pci0000:3a/0000:3b:00.1" host/sys/bus/pci/drivers/ixgbe
	ln -s ../../../bus/pci/drivers/ixgbe "host/sys/devices/pci0000:3a/0000:3b:00.1/driver"
	ln -s ../../../devices/pci0000:3a/0000:3b:00.1 host/sys/bus/pci/devices/0000:3b:00.1
	ln -s ../../../../devices/pci0000:3a/0000:3b:00.1 host/sys/kernel/iommu_groups/40/devices/0000:3b:00.1
}

add_task() {
	mkdir -p host/proc/950/task/951
	printf 'Name:\tcron\nPPid:\t1\nCpus_allowed_list:\t0-7\n' >host/proc/950/task/951/status
}

limit_v1() {
	printf '4:memory:/old.slice\n0::/system.slice/tapline.service\n' >host/proc/self/cgroup
	put sys/fs/cgroup/memory/memory.limit_in_bytes 1048576
	put sys/fs/cgroup/memory/old.slice/memory.limit_in_bytes 9223372036854771712
}

# bond_roce NAME: name the RDMA device as the kernel does for two bonded ports.
bond_roce() {
	mv host/$MLX5/infiniband/mlx5_0 "host/$MLX5/infiniband/$1"
}

# make_virtual LINK: make the mlx5 card a virtual function of the ice's slot.
make_virtual() {
	ln -s "../0000:3b:00.0" "host/$MLX5/$1"
}

# limits: print the findings of pci.limits for each card.
limits() {
	doctor_of --json >limits.json || true
	jq -r '.checks[] | select(.id == "pci.limits").read' limits.json
}

# Each limit is named with its card.
try_limits() {
	make_host
	check "an E810's promiscuous mode is named" grep -q '^0000:3b:00.0: promiscuous, it also receives what functions of the same card send' <(limits)
	bond_roce mlx5_bond_0
	check "a bonded RoCE device is named" grep -q '0000:5e:00.0: is bonded as mlx5_bond_0:' <(limits)
	make_host
	make_virtual physfn
	check "the trust required by a virtual function is named" grep -q '0000:5e:00.0: is a virtual function: without trust' <(limits)
	put $ICE/device 0x1572
	check "an X710's source pruning is named" grep -q '^0000:3b:00.0: before DPDK 23.07 .*source pruning' <(limits)
	make_host
	rm host/usr/lib/firmware/intel/ice/ddp/ice.pkg
	check "an E810 without its DDP package is named" grep -q '^0000:3b:00.0: no DDP package' <(limits)
}

# Faults that need more than a line in a file, each on a separate host.
try_others() {
	local fault
	while read -r fault; do
		make_host
		# shellcheck disable=SC2086 # words
		try_fault $fault
	done <<-END
		memory.cgroup fail limit_v1
		cpu.flags fail without_flag sse4_2
		cpu.stray_tasks warn add_task
		cpu.smi warn count_smis
		pci.driver fail rm host/sys/devices/pci0000:3a/0000:5e:00.0/driver
		pci.vfio_module fail mv host/sys/bus/pci/drivers/vfio-pci host/sys/bus/pci/drivers/vfio
		pci.vfio_access fail rm host/dev/vfio/40
		pci.iommu_group fail add_neighbour
		pci.read_request warn set_config 88 \\x00\\x10
		pci.aspm warn set_config 96 \\x02
		pci.limits fail rm host/usr/lib/firmware/intel/ice/ddp/ice.pkg
		pci.limits warn bond_roce mlx5_bond_0
		time.tsc fail without_flag nonstop_tsc
		dpdk.pmds fail rm host$driver_dir/librte_net_ice.so.${driver_dir##*-}
		dpdk.rdma_core fail rm host/usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.44.0
	END
}

try_pairs() {
	try_pair "cpu.nohz_full warn" "cpu.rcu_nocbs warn" without_nohz
	try_pair "storage.directory fail" "storage.o_direct unknown" mv host/data host/elsewhere
	make_host
	try_fault memory.ksm unknown lead_outside
	[[ $driver_dir != /usr/lib/* ]] || try_fault dpdk.ieee1588 warn put_ixgbe
}

# An absolute link is resolved below the root, too.
lead_outside() {
	echo 1 >run
	ln -sf "$DIR/run" host/sys/kernel/mm/ksm/run
}

put_ixgbe() {
	make_host
	put $ICE/device 0x10fb
}

# ---- invalid files

# each_file COMMAND...: run the command with the name of each file of the host.
each_file() {
	local file
	while IFS= read -r -d '' file; do
		"$@" "$file"
	done < <(find host -type f -print0)
}

cut_end() {
	truncate -s -1 "$1" 2>/dev/null || true
}

# A copied configuration space or MSR has no newline.
cut_ends() {
	local file
	while IFS= read -r -d '' file; do
		cut_end "$file"
	done < <(find host -type f -size +0 ! -name config ! -name msr -print0)
}

make_random() {
	head -c $((RANDOM % 6000)) /dev/urandom >"$1"
}

make_huge() {
	echo 99999999999999999999999999999999999999 >"$1"
}

make_largest() {
	echo 9223372036854775807 >"$1"
}

make_negative() {
	echo -9223372036854775808 >"$1"
}

make_directory() {
	rm "$1" && mkdir "$1"
}

make_pipe() {
	rm "$1" && mkfifo "$1"
}

make_loop() {
	ln -sf "$(basename "$1")" "$1"
}

make_empty() {
	: >"$1"
}

try_nonsense() {
	local kind
	make_host
	cut_ends
	doctor_of --json >report.json || true
	check_equal "files without a final newline yield the same result" "$(verdicts <report.json)" "$(<good.txt)"
	for kind in random huge largest negative directory pipe loop empty; do
		make_host
		each_file "make_$kind"
		survives "a host whose files are all $kind is reported" doctor_of --json
		check_equal "the output is a shell script" "$(doctor_of --fix-script | shellcheck -)" ""
	done
	head -c 3000000 /dev/zero | tr '\0' 1 >long
	make_host
	each_file cp long
	survives "a host with files of 3 MB each is reported" doctor_of --json
}

# ---- the script, on a simulated host: its commands are only noted

make_tools() {
	local tool
	mkdir -p tools
	for tool in modprobe systemctl setpci mountpoint mount; do
		printf '#!/bin/sh\necho "%s $*" >>called\n' "$tool" >"tools/$tool"
	done
	chmod +x tools/*
}

# run_script [undo]
run_script() {
	sed "s#\(/proc\|/sys\|/dev\)/\(sys\|irq\|devices\|kernel\|hugepages\)#$DIR/host&#g" fix.sh >fix-here.sh
	PATH=$PWD/tools:$PATH TL_UNDO=$PWD/undo.sh sh fix-here.sh "$@"
}

files_of_host() {
	find host -type f -exec sha256sum {} + | sort
}

break_much() {
	put $HUGE/nr_hugepages 100
	put $HUGE/free_hugepages 100
	put proc/sys/kernel/numa_balancing 1
	put sys/kernel/mm/ksm/run 1
	put dev/hugepages/rtemap_1 x
	put $CPU/cpu3/cpufreq/scaling_governor powersave
	put $CPU/cpu2/cpuidle/state1/disable 0
	put proc/irq/40/effective_affinity_list 3
	put proc/sys/kernel/nmi_watchdog 1
	put $CPU/isolated ""
	put proc/9/comm irqbalance
	set_config 96 '\x02'
}

try_script() {
	make_host
	doctor_of --fix-script >fix.sh
	check_equal "on a well-configured host the script does nothing" "$(grep -cv '^#\|^$\|^set -eu$' fix.sh)" 0
	break_much
	files_of_host | grep -v 'rtemap_1\|irq/40/effective' >broken
	doctor_of --fix-script >fix.sh || true
	check "shellcheck accepts the script" shellcheck fix.sh
	check_equal "the script does not reboot" "$(grep -v '^#' fix.sh | grep -c reboot)" 0
	check "required kernel command line options are shown" grep -q '^#   isolcpus=managed_irq,domain,2-3$' fix.sh
	make_tools
	check "the script runs" run_script
	put proc/irq/40/effective_affinity_list "$(<host/proc/irq/40/smp_affinity_list)"
	doctor_of --json >report.json || true
	check_equal "the fixes take effect" "$(diff good.txt <(verdicts <report.json) | sed -n 's/^> //p' | sort)" \
		"$(printf '%s\n' 'cpu.irqbalance warn' 'cpu.isolated warn' 'cpu.smt warn' 'memory.hugepages fail' 'pci.aspm warn')"
	check_equal "the required number of hugepages is requested" "$(<host/$HUGE/nr_hugepages)" 528
	check "tools are called for the other fixes" grep -q '^setpci -s 0000:5e:00.0 CAP_EXP+10.w' called
	files_of_host >before
	check "the script runs again" run_script
	check_equal "a second run changes nothing" "$(files_of_host)" "$(<before)"
	check "the script can be undone" run_script undo
	check_equal "undo restores each file" "$(files_of_host | grep -v 'rtemap_1\|irq/40/effective')" "$(<broken)"
	check "undo starts a stopped service" grep -q '^systemctl enable --now irqbalance' called
	check "a second undo has no effect" run_script undo
}

# ---- the kernel's receive path: four queues of ens1, with interrupts on a worker, another node, and twice on CPU 0

make_receive() {
	local n=50 cpu
	make_host
	{
		echo "           CPU0       CPU1       CPU2       CPU3       CPU4       CPU5       CPU6       CPU7"
		for cpu in 2 5 0 0; do
			echo " $n: 0 0 0 0 0 0 0 0 PCI-MSI 1-edge mlx5_comp$((n - 50))@pci:0000:5e:00.0"
			put $MLX5/msi_irqs/$n msix >&2
			put proc/irq/$n/smp_affinity_list $cpu >&2
			put proc/irq/$n/effective_affinity_list $cpu >&2
			n=$((n + 1))
		done
	} >interrupts
	cp interrupts host/proc/interrupts
	put $MLX5/net/ens1/queues/rx-0/rps_cpus 00
	put $MLX5/net/ens1/queues/rx-1/rps_cpus 00
	put $MLX5/net/ens1/queues/tx-0/xps_cpus 0f
	put $MLX5/net/ens1/queues/tx-1/xps_cpus f0
}

# check_of FILE ID: print verdict and value of a check.
check_of() {
	jq -r --arg id "$2" '.checks[] | select(.id == $id) | "\(.verdict) \(.read)"' "$1"
}

# receive_of ID: print the value of the check on the simulated host.
receive_of() {
	timeout 60 "$TAPLINE" doctor --root host -c kernel.json --json >receive.json || true
	check_of receive.json "receive.$1"
}

try_receive() {
	local irq
	make_receive
	check_equal "misplaced interrupts are counted" "$(receive_of irqs)" \
		"warn ens1: of 4 interrupts 1 on cores of workers, 1 not on the card's node, 1 too many on their core"
	check_equal "disabled RPS is ok" "$(receive_of rps)" "ok ens1: off"
	check_equal "XPS that covers each CPU is ok" "$(receive_of xps)" "ok ens1: each CPU has a queue"
	put $MLX5/net/ens1/queues/rx-1/rps_cpus 05
	check_equal "RPS to a worker is reported" "$(receive_of rps)" "warn ens1: goes to workers: CPUs 2"
	put $MLX5/net/ens1/queues/tx-1/xps_cpus 70
	check_equal "XPS that omits a CPU is reported" "$(receive_of xps)" "warn ens1: CPUs 7 have no queue"
	timeout 60 "$TAPLINE" doctor --root host -c kernel.json --fix-script >fix.sh || true
	check "shellcheck accepts the script for interrupts" shellcheck fix.sh
	check "the script for interrupts runs" run_script
	check_equal "each interrupt has a worker-free core of the card's node" \
		"$(cat host/proc/irq/5[0-3]/smp_affinity_list | tr '\n' ' ')" "0 1 3 0 "
	for irq in 50 51 52 53; do
		cp host/proc/irq/$irq/smp_affinity_list host/proc/irq/$irq/effective_affinity_list
	done
	check_equal "the check passes" "$(receive_of irqs)" "ok ens1: 4 interrupts, spread over the cores of the card's node"
	check "undo runs" run_script undo
	check_equal "undo restores the interrupts" "$(cat host/proc/irq/5[0-3]/smp_affinity_list | tr '\n' ' ')" "2 5 0 0 "
}

# ---- this machine

try_live() {
	survives "this host is reported" timeout 60 "$TAPLINE" doctor --json
	check_equal "the output for interrupts is a shell script" "$("$TAPLINE" doctor --fix-script | shellcheck -)" ""
	survives "this host is reported with a configuration" timeout 60 "$TAPLINE" doctor -c live.json --json
	LD_PRELOAD=$tuned_nic "$TAPLINE" doctor -c live.json --json >tuned.json || true
	check_equal "the ring of an interface, and its largest, are read from the driver" "$(check_of tuned.json receive.rings)" \
		"warn lo: 512 of 4096 descriptors"
	check_equal "its interrupt moderation is, too" "$(check_of tuned.json receive.moderation)" "warn lo: 30 us"
	LD_PRELOAD=$tuned_nic ADAPTIVE_NIC=1 "$TAPLINE" doctor -c live.json --json >tuned.json || true
	check_equal "and whether it adapts" "$(check_of tuned.json receive.moderation)" "warn lo: adaptive"
	check "the disk is written to only on request" \
		jq -e '.checks[] | select(.id == "storage.rate") | .verdict == "unknown"' report.json
	cp "$TAPLINE" tapline
	chmod 755 "$DIR"
	survives "user nobody gets a report of this host" \
		setpriv --reuid 65534 --regid 65534 --clear-groups ./tapline doctor --json
	chmod 700 host/sys host/dev
	survives "a host without read permission is reported" \
		setpriv --reuid 65534 --regid 65534 --clear-groups ./tapline doctor --root host -c doctor.json --json
}

func_begin
driver_dir=$(find_drivers)
cat >doctor.json <<J
{"eal": {"memory_mb": 1024},
 "ports": [{"name": "a", "device": "0000:3b:00.0", "lcores": [2]}, {"name": "b", "device": "0000:5e:00.0", "lcores": [3]}],
 "capture": [{"port": "a", "path": "/data/%Y/a.pcapng", "rotate_bytes": "1G"}]}
J
cat >live.json <<J
{"eal": {"huge": false}, "ports": [{"name": "a", "device": "lo"}], "capture": [{"port": "a", "path": "$DIR/a.pcapng"}]}
J
echo '{"ports": [{"name": "a", "device": "nope0"}]}' >gone.json
echo '{"eal": {"memory_mb": 1024}, "ports": [{"name": "a", "device": "ens1", "lcores": [2]}]}' >kernel.json

[[ $driver_dir == */pmds-* ]] || func_die "DPDK's drivers are not where they could be told from: $driver_dir"
make_host
doctor_of --json >good.json || true
verdicts <good.json >good.txt
# Support of O_DIRECT depends on the file system of the test.
check_equal "on a well-configured host every check passes except those without files" "$(grep -v ' ok$\|^storage.o_direct' good.txt)" \
	"$(printf '%s unknown\n' link.pause link.fec time.synchronized storage.free storage.rate)"
check "the report is complete" is_report good.json 0
put $HUGE/free_hugepages 0
put sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages 4
check "free 1 GiB pages count like 2 MiB pages" grep -q '^  ok  *hugepages  *4096 MiB free' <(doctor_of)
make_host
check_equal "the text has a line for each check" "$(doctor_of | grep -c '^  \(ok\|warn\|fail\|unknown\) ')" \
	"$(wc -l <good.txt)"
check_equal "output to a file has no colours" "$(doctor_of | grep -c $'\033')" 0
put proc/sys/kernel/numa_balancing 1
check_equal "a failed check shows its reason and fix" "$(doctor_of | grep -A2 '  numa_balancing ' | tr -s ' ')" \
	" warn numa_balancing 1"$'\n'" why: $(jq -r '.checks[] | select(.id == "memory.numa_balancing").why' good.json)
 fix: sysctl -w kernel.numa_balancing=0"
make_host
doctor_of --json --measure-disk >report.json
check "a disk is measured on request" \
	jq -e '.checks[] | select(.id == "storage.rate") | .read | test("^/data: [0-9]+ MB/s")' report.json
check_equal "the measurement leaves no file" "$(ls host/data)" ""

try_renames
try_files
try_others
try_limits
try_pairs

mkdir empty
"$TAPLINE" doctor --root empty --json >empty.json
check_equal "on an empty host only the version of DPDK is known" \
	"$(verdicts <empty.json | grep -v ' unknown$')" "dpdk.version ok"
survives "an empty host is reported with a configuration" "$TAPLINE" doctor --root empty -c doctor.json --json
check_equal "the page of doctor lists each check with reason and fix" \
	"$(jq -r '.checks[] | "| `\(.id)` | \(.why) | \(.fix) |"' empty.json)" \
	"$(grep '^| `[a-z]*\.' "$func_root/docs/doctor.md")"

try_nonsense
try_script
try_receive
try_live

"$TAPLINE" doctor -c gone.json --json >report.json || true
check_json "a missing interface fails" report.json \
	'.checks[] | select(.id == "link.carrier") | .verdict == "fail" and (.read | test("nope0"))'
echo '{"ports": [{"name": "a", "device": "0000:7f:00.0"}]}' >gone.json
"$TAPLINE" doctor -c gone.json --json >report.json || true
check_json "a missing card fails, and the fix says where to find its address" report.json '.checks[] | select(.id == "pci.driver") |
	.verdict == "fail" and (.read | test("7f:00.0: no such device")) and (.fix | test("No such device: .*bind --list"))'
check_equal "an unknown option has exit status 2" "$(status_of "$TAPLINE" doctor --nope)" 2
check_equal "an operand has exit status 2" "$(status_of "$TAPLINE" doctor doctor.json)" 2
check_equal "both outputs at once have exit status 2" "$(status_of "$TAPLINE" doctor --json --fix-script)" 2
check_equal "measuring without a disk has exit status 2" "$(status_of "$TAPLINE" doctor --measure-disk)" 2
check_equal "a missing root has exit status 2" "$(status_of "$TAPLINE" doctor --root nowhere)" 2
check_equal "a missing configuration has exit status 2" "$(status_of "$TAPLINE" doctor -c nowhere.json)" 2
