#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Install missing dependencies from Debian's packages: `run` to build and run, `build` to build the tests as well, `test` to run
# them, `vm` for the tests with an emulated NIC, `bench` for the tools that tests/bench/capture.sh compares with, `dpdk` for
# tools/build-dpdk.sh, `debian` for tools/test-debian.sh, `package` to build the Debian package, `soak` for tests/soak.sh. Use no
# network if everything is installed.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/mirror.sh"

run_packages=(
	gcc libc6-dev meson ninja-build pkgconf libdpdk-dev libpcap-dev libjansson-dev liburing-dev libzstd-dev
	libgcrypt20-dev libisal-dev libseccomp-dev libcap-dev
	ethtool iproute2 jq procps socat
)
build_packages=("${run_packages[@]}" libcunit1-dev python3)
package_packages=("${run_packages[@]}" debhelper dpkg-dev)
test_packages=(
	"${build_packages[@]}"
	binutils clang clang-format debhelper debootstrap dpkg-dev e2fsprogs groff-base iputils-arping iputils-ping
	netcat-openbsd nodejs openssl python3-jsonschema shellcheck systemd tcpdump tshark valgrind zstd
)
vm_packages=(adduser e2fsprogs kmod systemd udev xz-utils)
bench_packages=(
	dpdk-dev fio netsniff-ng tcpdump wireshark-common
)
dpdk_packages=(
	dpkg-dev gcc libc6-dev libbpf-dev libelf-dev libibverbs-dev libnuma-dev libpcap-dev libxdp-dev meson ninja-build patch
	pkgconf python3-pyelftools xz-utils
)
qemu_oldest=8 # the first with an igb

usage() {
	echo "usage: tools/install-deps.sh run|build|test|vm|bench|dpdk|debian|package|soak"
}

is_installed() {
	[[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

install_missing() {
	local missing=() package
	for package in "$@"; do
		is_installed "$package" || missing+=("$package")
	done
	((${#missing[@]})) || return 0
	if ((EUID != 0)); then
		echo "install-deps: not installed: ${missing[*]}; run this as root, or: apt-get install ${missing[*]}" >&2
		return 1
	fi
	echo "install-deps: installing ${missing[*]}" >&2
	apt_get update && apt_get install --no-install-recommends "${missing[@]}"
}

# install_stopped PACKAGE SERVICE: install a package without starting its service, now or at boot.
install_stopped() {
	! is_installed "$1" || return 0
	if ((EUID == 0)) && [[ ! -e /usr/sbin/policy-rc.d ]]; then
		trap 'rm -f /usr/sbin/policy-rc.d' EXIT
		printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
		chmod 755 /usr/sbin/policy-rc.d
	fi
	install_missing "$1" && update-rc.d "$2" disable >/dev/null
}

# tshark has an installation prompt: debconf takes the default.
apt_get() {
	local log
	log=$(mktemp)
	if ! DEBIAN_FRONTEND=noninteractive apt-get -qq -y "$@" </dev/null >"$log" 2>&1; then
		tail -n 20 "$log" >&2
		rm -f "$log"
		echo "install-deps: apt-get $1 failed" >&2
		return 1
	fi
	rm -f "$log"
}

# qemu_major Installed|Candidate: print the major version of that row of the policy; 0 if there is none.
qemu_major() {
	local version
	version=$(apt-cache policy qemu-system-x86 | sed -n "s/^  $1: \([0-9]*:\)\?\([0-9]*\).*/\2/p")
	echo "${version:-0}"
}

# Debian 12's QEMU is too old, that of its backports is not. Only this package is taken from backports, through a private list of
# sources: the system's lists stay unchanged.
install_qemu() {
	(($(qemu_major Installed) < qemu_oldest)) || return 0
	if (($(qemu_major Candidate) >= qemu_oldest)); then
		install_missing qemu-system-x86
	elif ((EUID != 0)); then
		echo "install-deps: no QEMU $qemu_oldest or newer installed; run this as root" >&2
		return 1
	else
		install_backport qemu-system-x86
	fi
}

# install_backport PACKAGE
install_backport() {
	local dir codename suite mirror status=0
	mirror=$(debian_mirror) || { echo "install-deps: apt has no Debian archive in its sources; install $1 by hand" >&2 && return 1; }
	codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	dir=$(mktemp -d)
	chmod 755 "$dir"
	mkdir -p "$dir/lists/partial"
	for suite in "$codename" "$codename-updates" "$codename-backports"; do
		echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main"
	done >"$dir/sources.list"
	local own=(-o "Dir::Etc::SourceList=$dir/sources.list" -o Dir::Etc::SourceParts=- -o "Dir::State::Lists=$dir/lists")
	echo "install-deps: installing $1 from $codename-backports" >&2
	{ apt_get update "${own[@]}" &&
		apt_get install "${own[@]}" --no-install-recommends -t "$codename-backports" "$1"; } || status=1
	rm -rf "$dir"
	return "$status"
}

# The sanitizers and libFuzzer are not part of clang, but of a package named after its version: 14 on Debian 12, 19 on 13.
clang_runtime_package() {
	local version
	version=$(clang -dumpversion)
	echo "libclang-rt-${version%%.*}-dev"
}

case ${1:-} in
run)
	install_missing "${run_packages[@]}"
	;;
build)
	install_missing "${build_packages[@]}"
	;;
test)
	install_missing "${test_packages[@]}"
	install_missing "$(clang_runtime_package)"
	install_stopped nginx nginx # a server for recorded sessions
	;;
vm)
	install_missing "${vm_packages[@]}"
	install_qemu
	;;
bench)
	install_missing "${bench_packages[@]}"
	;;
dpdk)
	install_missing "${dpdk_packages[@]}"
	;;
package)
	install_missing "${package_packages[@]}"
	;;
debian)
	install_missing debootstrap
	;;
soak)
	install_missing "${test_packages[@]}" python3-scapy
	;;
-h | --help)
	usage
	;;
*)
	usage >&2
	exit 2
	;;
esac
