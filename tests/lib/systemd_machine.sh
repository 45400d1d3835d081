#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The first process of a machine made of namespaces (tests/func/systemd_test.sh): prepare the environment of the units,
# start systemd_driver.sh in the background, and become systemd. Mounts are visible in this namespace only.
#
# usage: systemd_machine.sh OUT SYSTEMD TAPLINE   (in new mount, process, network, IPC, host name and cgroup namespaces)
set -euo pipefail
systemd=$2 tapline=$3
root=/run/tree out=/run/out # the same paths if they are below /tmp, too

# node NAME MAJOR MINOR: make a device with access for everyone.
node() {
	mkdir -p "$(dirname "/dev/$1")"
	mknod -m 666 "/dev/$1" c "$2" "$3"
}

devices() {
	mount -t tmpfs -o mode=755 none /dev
	node null 1 3
	node zero 1 5
	node full 1 7
	node random 1 8
	node urandom 1 9
	node tty 5 0
	node vfio/vfio 10 196
	node loop-control 10 237
	mkdir /dev/hugepages
}

# Add the users of the units, in copies of the host's files.
user() {
	local file
	for file in passwd group; do
		grep -v '^tapline:' "/etc/$file" >"$out/$file" || true
	done
	echo 'tapline:x:64711:64711::/var/lib/tapline:/usr/sbin/nologin' >>"$out/passwd"
	echo 'tapline:x:64711:' >>"$out/group"
	mount --bind "$out/passwd" /etc/passwd
	mount --bind "$out/group" /etc/group
}

units() {
	local target
	for target in sysinit basic shutdown network default rescue emergency; do
		printf '[Unit]\nDefaultDependencies=no\n' >"/run/units/$target.target"
	done
	sed "s|@BINDIR@|/run/bin|; s|@DATADIR@|/usr/share|; s|/etc/tapline/|/run/configs/|" \
		"$root/drivers-config/systemd/tapline@.service.in" >/run/units/tapline@.service
	mkdir /run/units/tapline@.service.d /run/units/tapline@xdp.service.d
	# A busy machine, without a journal.
	printf '[Service]\nWatchdogSec=60\nStandardError=append:%s/%%i.log\n' "$out" >/run/units/tapline@.service.d/test.conf
	cp "$root/drivers-config/systemd/xdp.conf" /run/units/tapline@xdp.service.d/
}

mount --make-rprivate /
mount -t proc none /proc
mount -t tmpfs -o mode=755 none /run
mkdir /run/systemd /run/lock /run/units /run/bin /run/configs "$root" "$out"
mount --bind "$(dirname "$0")/../.." "$root"
mount --bind "$1" "$out"
cp "$tapline" /run/bin/tapline
cd /
mount -t tmpfs none /tmp
mount -t tmpfs -o mode=755 none /var/lib
mount -t cgroup2 none /sys/fs/cgroup
mount -t bpf -o mode=700 none /sys/fs/bpf || true # as systemd does outside of containers; libxdp tries it
devices
user
units
ip link set lo up
# Programs that a different release starts.
[[ $systemd == /usr/lib/systemd/systemd ]] || mount --bind "$(dirname "$systemd")" /usr/lib/systemd
"$root/tests/lib/systemd_driver.sh" "$out" >"$out/driver.log" 2>&1 &
exec env -i PATH="$PATH" container=tapline SYSTEMD_UNIT_PATH=/run/units \
	"$systemd" --system --unit=default.target --log-target=console
