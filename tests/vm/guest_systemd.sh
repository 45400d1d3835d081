#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Guest part of run.sh systemd: docs/deploy.md from the installation to the service, then a stopped process and a wrong
# configuration. run.sh checks the files in /out. ROOT is in the environment.
set -euo pipefail
source "$ROOT/tests/vm/guest_lib.sh"

TAPLINE=/usr/local/bin/tapline
SOCKET=/run/tapline/market.sock
unit=tapline@market

# show NAME UNIT PROPERTY...: note values of the properties, in the order of systemd.
show() {
	local name=$1 of=$2
	shift 2
	systemctl show "${@/#/--property=}" "$of" | sort | xargs >"/out/$name.show"
}

# ---- docs/deploy.md, steps 1 to 5

install_files() {
	cp -r /out/installed/. /
	addgroup --system vfio
	adduser --system --group --no-create-home --home /var/lib/tapline tapline
	adduser tapline vfio
	systemctl daemon-reload
	udevadm control --reload
}

hugepages() {
	mkdir -p /etc/tapline
	echo "0 2M 200" >/etc/tapline/hugepages.conf
	try hugepages systemctl enable --now tapline-hugepages
	journalctl -u tapline-hugepages -o cat >/out/hugepages.journal
	cat /proc/sys/vm/nr_hugepages >/out/hugepages
}

# configure NAME DEVICE KEYS: of its recording.
configure() {
	cat >"/etc/tapline/$1.json" <<-END
		{"eal": {"memory_mb": 128},
		"ports": [{"name": "$1", "device": "$2"}],
		"capture": [{"port": "$1", "buffer_bytes": "16M", $3}],
		"control": {"socket": "/run/tapline/$1.sock"}}
	END
}

# An emulated CPU under load may take seconds instead of milliseconds.
allow_slowness() {
	mkdir -p /etc/systemd/system/tapline@.service.d
	printf '[Service]\nWatchdogSec=20\n' >/etc/systemd/system/tapline@.service.d/slow.conf
	systemctl daemon-reload
}

# ---- the service

# record N: send the frames; return when this Tapline has written N.
record() {
	"$ROOT/tests/lib/send_pcap.py" "$peer_if" /out/in.pcap 1000 >/dev/null
	wait_for 60 status_has ".captures[0].written_pkts >= $1"
}

# begun_again: check whether systemd has started a new process that replies.
begun_again() {
	[[ $(systemctl show --value -p NRestarts "$unit") == 1 ]] && status_has true
}

runs() {
	local pid
	try start systemctl enable --now "$unit"
	show start "$unit" ActiveState SubState Result NRestarts
	pid=$(systemctl show --value -p MainPID "$unit")
	grep -E '^(Uid|Groups|CapEff|NoNewPrivs|Seccomp):' "/proc/$pid/status" >/out/rights || true
	stat -c '%G %a' /dev/vfio/[0-9]* >/out/group || true
	record 100
	wait_for 60 told_status || true
	show recorded "$unit" StatusText
	try reload systemctl reload "$unit"
	record 200
	try stop systemctl stop "$unit"
	show stop "$unit" ActiveState Result ExecMainStatus NRestarts
	find /var/lib/tapline -type f -printf '%f\n' | sort >/out/stopped.files
}

told_status() {
	systemctl show --value -p StatusText "$unit" | grep -q 'recorded 100'
}

stands_still() {
	systemctl start "$unit"
	record 100
	kill -s STOP "$(systemctl show --value -p MainPID "$unit")"
	wait_for 120 begun_again || true
	show again "$unit" ActiveState SubState NRestarts
	record 100
	systemctl stop "$unit"
	show again_stopped "$unit" Result ExecMainStatus
	journalctl -u "$unit" -o cat --no-pager >/out/journal.log
}

others() {
	configure kernel "$peer_if" '"path": "null:"'
	try kernel systemctl start tapline@kernel
	show kernel tapline@kernel ActiveState NRestarts
	systemctl stop tapline@kernel
	show kernel_stopped tapline@kernel Result ExecMainStatus
	echo '{"ports": 1}' >/etc/tapline/wrong.json
	try wrong systemctl start tapline@wrong
	show wrong tapline@wrong ActiveState Result ExecMainStatus NRestarts
	journalctl -u tapline@kernel -u tapline@wrong -o cat --no-pager >/out/others.log
}

cat /proc/1/comm >/out/first
systemctl --version | head -n 1 >/out/version
udevadm settle
install_files
hugepages
"$TAPLINE" bind --persist "$NIC"
udevadm settle
peer_begin
configure market "$NIC" '"path": "/var/lib/tapline/market.pcapng", "rotate_bytes": "16M", "keep_files": 8'
allow_slowness
runs
stands_still
others
mkdir /out/files
cp /var/lib/tapline/* /out/files/
systemctl --failed --plain --no-legend >/out/failed
