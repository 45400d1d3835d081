# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What the guests with two NICs share: one is Tapline's, the other the kernel's, which plays the peer. Sourced; TAPLINE and
# ROOT are in the environment.

source "$ROOT/tools/lib/process.sh"

NIC=0000:00:05.0 PEER=0000:00:08.0
# shellcheck disable=SC2034
NIC_IP=10.99.0.1 PEER_IP=10.99.0.2

# bind_vfio BDF
bind_vfio() {
	local device=/sys/bus/pci/devices/$1
	echo vfio-pci >"$device/driver_override"
	[[ ! -e $device/driver ]] || echo "$1" >"$device/driver/unbind"
	echo "$1" >/sys/bus/pci/drivers_probe
	basename "$(readlink "$device/driver")" >/out/driver
	basename "$(readlink "$device/iommu_group")" >/out/iommu_group
}

# peer_begin: the kernel's NIC. One send queue: several send flows in an order of their own.
peer_begin() {
	peer_if=$(ls "/sys/bus/pci/devices/$PEER/net")
	ethtool -L "$peer_if" combined 1
	ip link set "$peer_if" up
	ip address add "$PEER_IP/24" dev "$peer_if"
	wait_for 20 grep -q 1 "/sys/class/net/$peer_if/carrier"
}

# ended NAME: the exit status of the Tapline in the background.
ended() {
	local status=0
	wait "$tapline_pid" || status=$?
	echo "$status" >"/out/$1.status"
}

# two_nics_begin: in a directory of its own, with hugepages.
two_nics_begin() {
	cd "$(mktemp -d)"
	ulimit -l unlimited
	echo 256 >/proc/sys/vm/nr_hugepages
	bind_vfio "$NIC"
	peer_begin
}
