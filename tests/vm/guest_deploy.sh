#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Guest part of run.sh deploy: a NIC from the kernel's driver to its unplugging, with doctor, bind, an unprivileged user
# and a link that goes down. run.sh checks the files in /out. TAPLINE and ROOT are in the environment.
set -euo pipefail
source "$ROOT/tests/vm/guest_lib.sh"

NIC=0000:01:00.0
device=/sys/bus/pci/devices/$NIC
unit=$ROOT/drivers-config/systemd/tapline@.service.in
rule=$ROOT/drivers-config/udev/60-tapline-vfio.rules
user=4000 vfio=4001 # ids of the user tapline and the group vfio

# ---- the kernel's driver, and vfio-pci

driver() {
	basename "$(readlink "$device/driver")"
}

# bind_try NAME COMMAND...: run bind; note the NIC's driver afterwards.
bind_try() {
	try "$@"
	driver >"/out/$1.driver"
}

examine() {
	try "doctor_$1" sh -c '"$1" doctor -c config.json --json >"/out/doctor_$2.json"' - "$TAPLINE" "$1"
}

# interface_works: check that the kernel's interface receives.
interface_works() {
	local nic_if
	nic_if=$(ls "$device/net")
	ip link set "$nic_if" up promisc on
	wait_for 60 grep -q 1 "/sys/class/net/$nic_if/carrier"
	"$ROOT/tests/lib/send_pcap.py" "$peer_if" /out/in.pcap 1000 >/out/sent
	wait_for 60 received_by "/sys/class/net/$nic_if" || true
	cat "/sys/class/net/$nic_if/statistics/rx_packets" >/out/kernel_received
	ip link set "$nic_if" down
}

received_by() {
	(($(cat "$1/statistics/rx_packets") >= $(cat /out/sent)))
}

refuse() {
	local nic_if
	nic_if=$(ls "$device/net")
	bind_try bind_absent "$TAPLINE" bind "$NIC" 0000:7f:00.0
	ip link set "$nic_if" up
	ip address add 192.0.2.1/24 dev "$nic_if"
	ip route add default via 192.0.2.2
	bind_try bind_route "$TAPLINE" bind "$NIC"
	ip route delete default
	ip address flush dev "$nic_if"
	ip link set "$nic_if" down
}

# ---- an unprivileged user

# capabilities: print those of the unit, in the form of setpriv.
capabilities() {
	sed -n 's/^AmbientCapabilities=//p' "$unit" | tr '[:upper:]' '[:lower:]' | sed 's/cap_/+/g; s/ /,/g'
}

# as_user COMMAND...: run it like the unit.
as_user() {
	local caps
	caps=-all,$(capabilities)
	setpriv --reuid "$user" --regid "$user" --groups "$vfio" --no-new-privs \
		--bounding-set "$caps" --inh-caps "$caps" --ambient-caps "$caps" "$@"
}

# may_open: set permissions as the udev rule does; the guest has no udev.
may_open() {
	local group
	grep -q 'GROUP="vfio", MODE="0660"' "$rule"
	group=/dev/vfio/$(basename "$(readlink "$device/iommu_group")")
	chgrp "$vfio" "$group"
	chmod 0660 "$group"
}

capture_as_user() {
	try user_refused as_user timeout 240 ./tapline capture -i "$NIC" -w no.pcapng --duration 1
	may_open
	as_user timeout 240 ./tapline capture -i "$NIC" -w frames.pcapng --json >/out/capture.json 2>/out/capture.log &
	tapline_pid=$!
	wait_for 120 grep -q ' s  received' /out/capture.log
	"$ROOT/tests/lib/send_pcap.py" "$peer_if" /out/in.pcap 1000 >/dev/null
	wait_for 120 grep -Eq 'received [1-9][0-9]*' /out/capture.log || true
	grep -E '^(Uid|CapEff|Groups)' "/proc/$(pidof tapline)/status" >/out/capture.rights
}

# unplugged NAME: note how the background Tapline ended.
unplugged() {
	monitor device_del nic
	ended "$1"
	wait_for 60 test ! -e "$device" || true
	[[ -e $device ]] || echo gone >"/out/$1.gone"
}

plugged() {
	monitor device_add "$(cat /out/device)"
	wait_for 60 test -e "$device/net"
	"$TAPLINE" bind "$NIC"
	may_open
}

run_as_user() {
	as_user timeout 240 ./tapline run config.json --json >/out/run.json 2>/out/run.log &
	tapline_pid=$!
	wait_for 120 "$TAPLINE" status --socket control.sock >/out/status.log 2>&1
}

link_goes_and_comes() {
	"$ROOT/tests/lib/peer.py" udp_sizes "$NIC_IP" 7 0 100 1472 >/out/udp_before.json || true
	monitor set_link nic off
	wait_for 60 status_has '.port.link == "down"' && echo down >/out/link
	monitor set_link nic on
	wait_for 60 status_has '.port.link == "up"' && echo up >>/out/link
	"$ROOT/tests/lib/peer.py" udp_sizes "$NIC_IP" 7 0 100 1472 >/out/udp_after.json || true
}

cd "$(mktemp -d)"
cp "$TAPLINE" tapline # the user may not have access to the build directory
chown "$user:$user" .
cat >config.json <<-END
	{"ports": [{"name": "lan", "device": "$NIC", "ip": "$NIC_IP/24"}],
	"eal": {"memory_mb": 256},
	"echo": [{"port": "lan", "udp_listen": 7}],
	"capture": [{"port": "lan", "path": "echo.pcapng", "buffer_bytes": "16M"}],
	"control": {"socket": "control.sock"}}
END
peer_begin
examine before
refuse
bind_try bind "$TAPLINE" bind "$NIC"
bind_try unbind "$TAPLINE" unbind "$NIC"
interface_works
bind_try bind_again "$TAPLINE" bind "$NIC"
memory_begin
examine after
capture_as_user
unplugged capture
cp frames.pcapng /out/
plugged
run_as_user
link_goes_and_comes
unplugged run
cp echo.pcapng /out/
