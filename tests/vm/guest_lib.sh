# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034,SC2154
# Shared functions of the guests with two NICs: one belongs to Tapline, the other to the kernel, which is the peer.
# Sourced; TAPLINE and ROOT are in the environment.

source "$ROOT/tools/lib/process.sh"

NIC=0000:00:05.0 PEER=0000:00:08.0
NIC_IP=10.99.0.1 PEER_IP=10.99.0.2

# bind_vfio BDF
bind_vfio() {
	local device=/sys/bus/pci/devices/$1
	"$TAPLINE" bind "$1" >&2
	basename "$(readlink "$device/driver")" >/out/driver
	basename "$(readlink "$device/iommu_group")" >/out/iommu_group
}

# try NAME COMMAND...: note its output and exit status.
try() {
	local name=$1 status=0
	shift
	"$@" >"/out/$name.log" 2>&1 || status=$?
	echo "$status" >"/out/$name.status"
}

# monitor COMMAND...: run a command of QEMU's monitor through run.sh; return when it is done.
wishes=0
monitor() {
	wishes=$((wishes + 1))
	echo "$*" >/out/wish.new
	mv /out/wish.new "/out/wish.$wishes"
	wait_for 60 test ! -e "/out/wish.$wishes"
}

# status_has FILTER: check jq's filter on the status of the running Tapline.
status_has() {
	"$TAPLINE" status --socket "${SOCKET:-control.sock}" --json 2>/dev/null | jq -e "$1" >/dev/null
}

# peer_begin: set up the kernel's NIC. One TX queue, because several reorder flows.
peer_begin() {
	peer_if=$(ls "/sys/bus/pci/devices/$PEER/net")
	ethtool -L "$peer_if" combined 1
	ip link set "$peer_if" up
	ip address add "$PEER_IP/24" dev "$peer_if"
	wait_for 60 grep -q 1 "/sys/class/net/$peer_if/carrier"
}

# ended NAME: note the exit status of the background Tapline.
ended() {
	local status=0
	wait "$tapline_pid" || status=$?
	echo "$status" >"/out/$1.status"
}

# memory_begin: reserve hugepages, and permit locked memory.
memory_begin() {
	ulimit -l unlimited
	echo 256 >/proc/sys/vm/nr_hugepages
}

# two_nics_begin: start in a new directory, with hugepages.
two_nics_begin() {
	cd "$(mktemp -d)" || return
	memory_begin
	bind_vfio "$NIC"
	peer_begin
}
