#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Steps of an administrator in the machine of tests/lib/systemd_machine.sh, without checks: tests/func/systemd_test.sh
# checks the files in OUT.
#
# usage: systemd_driver.sh OUT
set -uo pipefail
out=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$root/tools/lib/process.sh"

manager_is_up() {
	[[ $(systemctl is-system-running 2>/dev/null) == @(running|degraded) ]]
}

# try NAME COMMAND...: run the command; store its output and status.
try() {
	local name=$1 status=0
	shift
	"$@" 2>>"$out/try.log" || status=$?
	echo "$status" >"$out/$name.status"
}

# show NAME UNIT PROPERTY...: store the properties, in the order of systemd.
show() {
	local name=$1 unit=$2
	shift 2
	systemctl show "${@/#/--property=}" "$unit" | sort | xargs >"$out/$name.show"
}

# configure NAME DEVICE
configure() {
	cat >"/run/configs/$1.json" <<-END
		{"eal": {"huge": false, "memory_mb": 128}, "ports": [{"name": "lan", "device": "$2"}],
		"capture": [{"port": "lan", "path": "/var/lib/tapline/$1.pcapng", "buffer_bytes": "16M"}],
		"control": {"socket": "/run/tapline/$1.sock"}}
	END
}

# written NAME N: check whether N frames are written.
written() {
	/run/bin/tapline status --socket "/run/tapline/$1.sock" --json 2>/dev/null | jq -e ".captures[0].written_pkts >= $2" >/dev/null
}

# has_files NAME N: check whether the recording has N files, complete or not.
has_files() {
	(($(find /var/lib/tapline -name "$1*.pcapng" -o -name "$1*.pcapng.part" | wc -l) >= $2))
}

# serve NAME DEVICE: start, record 100 frames, begin a new file, stop.
serve() {
	local pid
	configure "$1" "$2"
	try "$1.start" systemctl start "tapline@$1"
	show "$1.started" "tapline@$1" ActiveState SubState Result NRestarts
	pid=$(systemctl show --value -p MainPID "tapline@$1")
	sed -nE 's/^(Uid|CapEff|CapBnd|NoNewPrivs|Seccomp):\s*(\S*).*/\1=\2/p' "/proc/$pid/status" | xargs >"$out/$1.rights"
	"$root/tests/lib/send_pcap.py" peer0 "$out/in.pcap" 1000 >/dev/null
	wait_for 60 written "$1" 100
	try "$1.reload" systemctl reload "tapline@$1"
	wait_for 60 has_files "$1" 2
	try "$1.stop" systemctl stop "tapline@$1"
	show "$1.stopped" "tapline@$1" ActiveState Result ExecMainStatus
}

# devices: open devices inside the unit. ENXIO: no driver here; EPERM: denied by the unit.
devices() {
	cat >/run/bin/open <<-'END'
		#!/bin/bash
		for name in null urandom vfio/vfio loop-control; do
			said=$( { : <"/dev/$name"; } 2>&1) && said=open
			echo "$name=${said##*: }"
		done | xargs -d '\n' >/var/lib/tapline/devices
	END
	chmod 755 /run/bin/open
	mkdir /run/units/tapline@devices.service.d
	printf '[Service]\nExecStartPre=/run/bin/open\n' >/run/units/tapline@devices.service.d/open.conf
	systemctl daemon-reload
	configure devices nothing0
	systemctl start tapline@devices 2>/dev/null
	cp /var/lib/tapline/devices "$out/devices"
}

wrong() {
	echo '{"ports": 1}' >/run/configs/wrong.json
	try wrong systemctl start tapline@wrong
	show wrong tapline@wrong ActiveState Result ExecMainStatus NRestarts
}

main() {
	wait_for 30 manager_is_up || return
	systemctl --version | head -n 1 >"$out/version"
	ip link add app0 type veth peer name peer0
	ip link set app0 up
	ip link set peer0 up
	serve kernel app0
	serve xdp xdp:app0
	wrong
	devices
	cp /var/lib/tapline/*.pcapng "$out/"
}

main
: >"$out/done"
