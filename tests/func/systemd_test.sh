#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The unit under a real systemd, without a separate machine: the host's systemd, as the first process of namespaces.
# TL_SYSTEMD names another release's program, in the directory of its systemctl. tests/vm (systemd) covers NICs by
# vfio-pci.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

systemd=${TL_SYSTEMD:-/usr/lib/systemd/systemd}
spaces=(--mount --pid --net --ipc --uts --cgroup)

# ended NAME ACTION: print the status of systemctl and systemd's output.
ended() {
	cat "out/$1.$2.status" "out/$1.$3.show" 2>/dev/null | xargs
}

# judge_port NAME CAPABILITIES BOUND: check the capabilities of the process once its ports are open, and their bound.
judge_port() {
	check_equal "$1: systemctl start returns when the service is ready" "$(ended "$1" start started)" \
		"0 ActiveState=active NRestarts=0 Result=success SubState=running"
	check_equal "$1: the process has the rights of the unit and keeps those required" "$(cat "out/$1.rights")" \
		"Uid=64711 CapEff=$2 CapBnd=$3 NoNewPrivs=1 Seccomp=2"
	check_equal "$1: systemctl reload starts a new file" "$(cat "out/$1.reload.status") $(find out -name "$1*.pcapng" | wc -l)" "0 2"
	check_equal "$1: systemctl stop ends the service with status 0" \
		"$(ended "$1" stop stopped)" "0 ActiveState=inactive ExecMainStatus=0 Result=success"
	check_equal "$1: the frames are in the files" \
		"$(cat out/"$1"*.pcapng >/dev/null; for f in out/"$1"*.pcapng; do tshark -r "$f" -Y 'udp.port == 5001' 2>/dev/null; done | wc -l)" 100
}

func_begin
if grep -q '__[at]san_init' <(nm -D "$TAPLINE"); then
	skip "the unit under systemd" "the program is built with a sanitizer"
	exit
fi
if [[ ! -x $systemd ]] || ! unshare "${spaces[@]}" --fork bash -c 'mount -t cgroup2 none /sys/fs/cgroup' 2>/dev/null; then
	skip "the unit under systemd" "there is no $systemd, or no cgroup2 to be mounted"
	exit
fi
mkdir out
"$func_root/tests/lib/make_numbered.py" out/in.pcap 100 200
[[ -z ${TL_SYSTEMD:-} ]] || PATH=$(dirname "$TL_SYSTEMD"):$PATH
unshare "${spaces[@]}" --fork --kill-child "$func_root/tests/lib/systemd_machine.sh" "$DIR/out" "$systemd" "$(realpath "$TAPLINE")" \
	>machine.log 2>&1 &
machine=$!
machine_is_done() {
	[[ -e out/done ]] || is_gone "$machine"
}
wait_for 240 machine_is_done || true
stop_process "$machine" KILL 2>/dev/null || true
if [[ ! -s out/version ]]; then
	skip "the unit under systemd" "systemd does not start in namespaces here"
	exit
fi
echo "# $(<out/version)"
judge_port kernel 0000000000000000 0000000000003000
judge_port xdp 0000008000201000 0000008000203000
check_equal "xdp: its program is detached" "$(grep -i 'libxdp.*error' out/xdp.log || true)" ""
check "xdp: the output is read" grep -q '^port lan (xdp:app0)' out/xdp.log
check_equal "a service with an invalid configuration is not restarted" "$(cat out/wrong.status out/wrong.show | xargs)" \
	"1 ActiveState=failed ExecMainStatus=2 NRestarts=0 Result=exit-code"
check_equal "only the devices of vfio may be opened" "$(cat out/devices)" \
	"null=open urandom=open vfio/vfio=No such device loop-control=Operation not permitted"
