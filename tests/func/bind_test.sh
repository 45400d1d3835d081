#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# tapline bind and unbind on simulated hosts: a tree of files in place of /sys, /proc, /run and /etc. tests/vm covers
# the real kernel.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

NIC=0000:3b:00.0 TWIN=0000:3b:00.1

# device ADDRESS DRIVER GROUP [CLASS [VENDOR]]: make a device; DRIVER and GROUP may be "-".
device() {
	local dir=root/sys/bus/pci/devices/$1
	mkdir -p "$dir"
	echo "${5:-0x8086}" >"$dir/vendor"
	echo 0x10fb >"$dir/device"
	echo "${4:-0x020000}" >"$dir/class"
	echo 0 >"$dir/numa_node"
	echo "(null)" >"$dir/driver_override"
	[[ $2 == - ]] || driver "$1" "$2"
	[[ $3 == - ]] || ln -s "../../../../kernel/iommu_groups/$3" "$dir/iommu_group"
}

# driver ADDRESS DRIVER: check that the device has this driver.
driver() {
	mkdir -p "root/sys/bus/pci/drivers/$2"
	: >"root/sys/bus/pci/drivers/$2/unbind"
	has_driver "$@"
}

has_driver() {
	ln -sfn "../../drivers/$2" "root/sys/bus/pci/devices/$1/driver"
}

driver_of() {
	basename "$(readlink "root/sys/bus/pci/devices/$1/driver")"
}

# A file is overwritten from its beginning, as the kernel's files are.
set_unsafe() {
	echo "$1" >root/sys/module/vfio/parameters/enable_unsafe_noiommu_mode
}

unsafe() {
	head -c 1 root/sys/module/vfio/parameters/enable_unsafe_noiommu_mode
}

# interface ADDRESS NAME
interface() {
	mkdir -p "root/sys/bus/pci/devices/$1/net/$2" "root/sys/class/net/$2"
}

# host: make a server with a NIC of two ports, each in its own IOMMU group, and vfio-pci.
host() {
	rm -rf root
	mkdir -p root/sys/bus/pci/drivers/vfio-pci root/proc/net root/sys/module/vfio/parameters
	: >root/sys/bus/pci/drivers_probe
	echo N >root/sys/module/vfio/parameters/enable_unsafe_noiommu_mode
	device "$NIC" ixgbe 7
	device "$TWIN" ixgbe 8
	interface "$NIC" ten0
	interface "$TWIN" ten1
	printf 'Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\neth0\t00000000\t0102A8C0\t0003\t0\t0\t0\t00000000\n' \
		>root/proc/net/route
}

# says SENTENCE STATUS TEXT COMMAND...: check the exit status, and a text in the output.
says() {
	local sentence=$1 want=$2 text=$3 status=0 before
	shift 3
	before=$(find root -type f -exec cksum {} + | sort)
	"$TAPLINE" "$@" --root root >out.txt 2>&1 </dev/null || status=$?
	if [[ $status == "$want" ]] && grep -qF -- "$text" out.txt &&
		{ [[ $want != 2 ]] || [[ $before == "$(find root -type f -exec cksum {} + | sort)" ]]; }; then
		ok "$sentence"
	else
		not_ok "$sentence" "status $status, or something changed: $(<out.txt)"
	fi
}

refusals() {
	host
	says "a NIC that does not exist is named" 2 "no PCI device 0000:99:00.0" bind 99:00.0
	says "an invalid address is refused" 2 '"eth0" is not a PCI address' bind eth0
	says "a missing address has exit status 2" 2 "which NIC?" bind
	check_equal "binding without root is refused" "$(unshare --user "$TAPLINE" bind "$NIC" 2>&1)" \
		"tapline: error: bind needs root (with --dry-run it does not)"
	device 0000:00:00.0 - - 0x060000
	says "a device that is not a NIC is refused" 2 "is not a network device" bind 00:00.0
	device 0000:5e:00.0 mlx5_core 9 0x020000 0x15b3
	says "a Mellanox NIC is left with its driver" 2 "mlx5_core. Leave it there" bind 5e:00.0

	sed -i 's/^eth0/ten0/' root/proc/net/route
	says "the interface of the default route is refused" 2 "ten0, which carries the default route" bind "$NIC"
	says "if one of two NICs is refused, neither is changed" 2 "default route" bind "$TWIN" "$NIC"
	sed -i 's/^ten0/bond0/' root/proc/net/route
	mkdir -p root/sys/class/net/ten0/upper_vlan5 root/sys/class/net/vlan5/upper_bond0
	says "a NIC below the bond of the default route is refused" 2 "carries the default route" bind "$NIC"
	host
	printf '%032d 00 %032d 00 %032d 00000400 00000001 00000000 00000003     ten0\n' 0 0 0 >root/proc/net/ipv6_route
	says "an IPv6 default route is respected" 2 "carries the default route" bind "$NIC"
	host
	mv root/sys/bus/pci/devices/$NIC/net/ten0 root/sys/bus/pci/devices/$NIC/net/lo
	export SSH_CONNECTION="127.0.0.1 50000 127.0.0.1 22"
	says "the interface of the login is refused" 2 "lo, which carries your login" bind "$NIC"
	unset SSH_CONNECTION

	host
	ln -sfn ../../../../kernel/iommu_groups/7 root/sys/bus/pci/devices/$TWIN/iommu_group
	says "a partial IOMMU group is refused" 2 "shares IOMMU group 7 with $TWIN" bind "$NIC"
	says "a complete IOMMU group is accepted" 0 "$TWIN: ixgbe -> vfio-pci" bind --dry-run "$NIC" "$TWIN"
	mkdir -p root/etc/udev/rules.d && touch "root/etc/udev/rules.d/70-tapline-$TWIN.rules"
	says "an IOMMU group whose other devices are bound at boot is accepted" 0 "$NIC: ixgbe -> vfio-pci" bind --dry-run "$NIC"
	rm "root/etc/udev/rules.d/70-tapline-$TWIN.rules"
	rm root/sys/bus/pci/devices/$NIC/iommu_group
	says "a NIC without an IOMMU is refused" 2 "is not behind an IOMMU" bind "$NIC"
	says "a NIC without an IOMMU is accepted on request with a warning" 0 "can write to all memory" bind --no-iommu --dry-run "$NIC"
}

plans() {
	host
	"$TAPLINE" bind --dry-run --root root "$NIC" >plan.txt
	grep -v '^#' plan.txt | sed 's/  #.*//' >steps.txt
	check_equal "a dry run prints the writes in order" "$(<steps.txt)" \
		"echo vfio-pci > root/sys/bus/pci/devices/$NIC/driver_override
echo $NIC > root/sys/bus/pci/devices/$NIC/driver/unbind
echo $NIC > root/sys/bus/pci/drivers_probe"
	check "a dry run changes nothing" grep -q null "root/sys/bus/pci/devices/$NIC/driver_override"
	"$TAPLINE" bind --list --root root >list.txt
	check_equal "the list of an unknown host has exit status 2" \
		"$("$TAPLINE" bind --list --root nowhere 2>&1 || echo $?)" \
		"tapline: error: --root: no directory nowhere/sys: name a directory with sys, proc, run and etc of a host
2"
	check "the list shows driver, group, node and interface of each NIC" \
		grep -Eq "^$NIC +8086:10fb +ixgbe +7 +0 +ten0" list.txt
}

# moves ADDRESS FROM TO: do the kernel's part when a NIC is unbound and probed. The files are FIFOs:
# the driver link is changed before the next write is accepted.
moves() {
	timeout 20 cat "root/sys/bus/pci/drivers/$2/unbind"
	[[ $2 == "$3" ]] || has_driver "$1" "$3"
	[[ $3 == vfio-pci ]] || rm -rf root/sys/class/vfio
	[[ $3 != vfio-pci || -e root/sys/bus/pci/devices/$1/iommu_group ]] || mkdir -p root/sys/class/vfio/noiommu-0
	timeout 20 cat root/sys/bus/pci/drivers_probe
} >/dev/null

# gives_back SENTENCE MESSAGE OPTION...: bind the NIC and its twin, which vfio-pci rejects.
gives_back() {
	local sentence=$1 message=$2 status=0
	shift 2
	rm root/sys/bus/pci/{drivers/ixgbe/unbind,drivers_probe}
	mkfifo root/sys/bus/pci/{drivers/{ixgbe,vfio-pci}/unbind,drivers_probe}
	(
		moves "$NIC" ixgbe vfio-pci
		moves "$TWIN" ixgbe "$TWIN_TO"
		[[ $TWIN_TO == ixgbe ]] || moves "$TWIN" "$TWIN_TO" ixgbe
		moves "$NIC" vfio-pci ixgbe
	) &
	timeout 20 "$TAPLINE" bind "$@" "$NIC" "$TWIN" --root root >out.txt 2>err.txt </dev/null || status=$?
	check_equal "$sentence: status 1" "$status" 1
	check_equal "$sentence: no NIC is bound" "$(driver_of "$NIC") $(driver_of "$TWIN")" "ixgbe ixgbe"
	check "$sentence: the reason is printed" grep -qF -- "$message" err.txt
	check "$sentence: the outcome of the first NIC is printed" grep -qxF \
		"tapline: error: $NIC is with ixgbe again: the NICs of a call are all bound, or none" err.txt
	check_equal "$sentence: no NIC is reported as bound" "$(<out.txt)" ""
	check_equal "$sentence: no state is stored" "$(find root/run root/etc -type f 2>/dev/null)" ""
}

all_or_none() {
	local refused="the kernel bound $TWIN to ixgbe, not to vfio-pci"

	host
	TWIN_TO=ixgbe gives_back "vfio-pci does not bind the second of two NICs" "$refused"
	host
	rm root/sys/bus/pci/devices/{"$NIC","$TWIN"}/iommu_group
	TWIN_TO=ixgbe gives_back "the same without an IOMMU" "$refused" --no-iommu
	check_equal "the mode of vfio is restored" "$(unsafe)" N
	host
	mkdir -p root/etc/udev
	ln -s /proc/nowhere root/etc/udev/rules.d
	TWIN_TO=vfio-pci gives_back "the rule for the next boot cannot be written" "70-tapline-$NIC.rules" --persist
}

# The kernel's switch for all devices.
without_iommu() {
	host
	rm root/sys/bus/pci/devices/$NIC/iommu_group
	says "a NIC without an IOMMU that vfio-pci does not bind is an error" 1 "not to vfio-pci" bind --no-iommu "$NIC"
	check_equal "the mode of vfio is restored after a failed bind without an IOMMU" "$(unsafe)" N
	set_unsafe Y
	says "with the mode enabled by others a failed bind is an error" 1 "not to vfio-pci" bind --no-iommu "$NIC"
	check_equal "the mode of vfio stays enabled" "$(unsafe)" Y

	host
	rm root/sys/bus/pci/devices/$NIC/iommu_group
	driver "$NIC" vfio-pci
	set_unsafe Y
	says "unbind of a NIC succeeds" 0 "the kernel's choice" unbind "$NIC"
	check_equal "unbind does not change a mode that bind did not enable" "$(unsafe)" Y
	mkdir -p root/run/tapline-bind root/sys/class/vfio/noiommu-3
	echo N >root/run/tapline-bind/no-iommu
	says "a dry run reports the change of mode" 0 "# the last NIC without an IOMMU switches" unbind --dry-run "$NIC"
	says "while another device needs the mode, the command to end it is printed" 0 \
		"echo N > root/sys/module/vfio/parameters/enable_unsafe_noiommu_mode" unbind "$NIC"
	check_equal "the mode of vfio stays enabled for another device" "$(unsafe)" Y
	rm -r root/sys/class/vfio/noiommu-3
	says "unbind of the last NIC succeeds" 0 "the kernel's choice" unbind "$NIC"
	check_equal "the last unbind disables the mode of vfio" "$(unsafe)" N
	set_unsafe Y
	says "a second unbind succeeds" 0 "the kernel's choice" unbind "$NIC"
	check_equal "a second unbind does not change the mode" "$(unsafe)" Y
}

# These files accept writes, but no driver changes: a kernel that refuses.
faults() {
	host
	says "a kernel that does not bind the NIC to vfio-pci is an error" 1 "bound $NIC to ixgbe, not to vfio-pci" bind "$NIC"
	check_equal "all changes are undone" "$(head -n 1 root/sys/bus/pci/devices/$NIC/driver_override)" ""
	check "no state is stored" test ! -e "root/run/tapline-bind/$NIC"
	rm -r root/sys/bus/pci/drivers/vfio-pci
	says "a kernel without vfio-pci is an error that names modprobe" 1 "modprobe vfio-pci" bind "$NIC"
}

memory() {
	local rule=root/etc/udev/rules.d/70-tapline-$NIC.rules
	host
	driver "$NIC" vfio-pci
	says "a NIC already bound to vfio-pci is unchanged" 0 "is with vfio-pci already" bind --persist "3b:00.0"
	check "a persistent binding creates a udev rule" \
		grep -q "KERNEL==\"$NIC\", RUN+=\"'/.*/tapline' bind $NIC\"" "$rule"
	mkdir -p root/run/tapline-bind
	echo ixgbe >"root/run/tapline-bind/$NIC"
	says "unbind requires the previous driver" 0 "$NIC: vfio-pci -> ixgbe" unbind --dry-run "$NIC"
	says "unbind reports when the kernel binds another driver" 1 "not to ixgbe" unbind "$NIC"
	rm "root/run/tapline-bind/$NIC"
	says "without a stored driver the kernel chooses" 0 "the kernel's choice" unbind "$NIC"
	check "unbind removes the rule" test ! -e "$rule"
	says "a device with its kernel driver is not unbound" 2 "is not with vfio-pci but with ixgbe" unbind "$TWIN"
}

# bind_into SENTENCE TEXT: check that bind fails with the text, and that root's file, the target of the link, is
# unchanged.
bind_into() {
	echo precious >root/etc/passwd
	says "$1" 1 "$2" bind "$NIC"
	check_equal "$1: the file of root is unchanged" "$(<root/etc/passwd)" precious
}

# bind must not follow a symbolic link in its state directory.
hostile_directory() {
	host
	mkdir -p root/run/tapline-bind root/etc
	ln -s ../../etc/passwd "root/run/tapline-bind/$NIC"
	bind_into "a link where a driver is remembered is not followed" "a symbolic link is in its path"
	host
	mkdir -p root/run root/etc
	ln -s ../etc root/run/tapline-bind
	ln -s passwd "root/etc/$NIC"
	bind_into "a symbolic link in place of the directory is not followed" "a symbolic link is in its path"
	host
	mkdir -p root/run/tapline-bind root/etc
	chown 4000 root/run/tapline-bind
	bind_into "a directory of another user is refused" "must belong to root"
	host
	mkdir -p root/run/tapline-bind root/etc
	chmod 777 root/run/tapline-bind
	bind_into "a directory writable by others is refused" "must belong to root"
	host
	says "no state is stored where the service's user may write" 1 "not to vfio-pci" bind "$NIC"
	check "the state directory is its own directory below /run" test -d root/run/tapline-bind -a ! -e root/run/tapline
}

# persist_from DIR: print the rule that the program writes when it is installed there.
persist_from() {
	mkdir -p "$1"
	cp "$TAPLINE" "$1/tapline"
	rm -f "root/etc/udev/rules.d/70-tapline-$NIC.rules"
	"$1/tapline" bind --persist "$NIC" --root root >out.txt 2>&1
}

quoted_rule() {
	host
	driver "$NIC" vfio-pci
	check "a program path with a space and a % is bound at boot" persist_from "a 5% \$b"
	check "its path is quoted in the rule" \
		grep -qF "RUN+=\"'$PWD/a 5%% \$\$b/tapline' bind $NIC\"" "root/etc/udev/rules.d/70-tapline-$NIC.rules"
	check_equal "a path that cannot be quoted is refused" "$(persist_from "it's" && echo accepted || cat out.txt)" \
		"tapline: error: \"$PWD/it's/tapline\" is not allowed in a udev rule: install the program where the path has no quotes, backslashes or control characters"
	check "a refused path leaves no rule" test ! -e "root/etc/udev/rules.d/70-tapline-$NIC.rules"
}

func_begin
refusals
plans
faults
all_or_none
without_iommu
memory
hostile_directory
quoted_rule
