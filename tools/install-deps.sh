#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs from Debian's packages what is needed and not there: `run` to build and run, `test` for the tests as well.
# Asks the network for nothing when everything is there.
set -euo pipefail

run_packages=(
	gcc libc6-dev meson ninja-build pkgconf libdpdk-dev libpcap-dev libjansson-dev liburing-dev
	ethtool iproute2 jq procps
)
test_packages=(
	"${run_packages[@]}"
	binutils clang clang-format iputils-arping iputils-ping libcunit1-dev netcat-openbsd python3 socat tcpdump tshark
)

usage() {
	echo "usage: tools/install-deps.sh run|test"
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

# tshark asks a question on installation: debconf takes the default.
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

# The sanitizers and libFuzzer come apart from clang, in a package named after its version: 14 on Debian 12, 19 on 13.
clang_runtime_package() {
	local version
	version=$(clang -dumpversion)
	echo "libclang-rt-${version%%.*}-dev"
}

case ${1:-} in
run)
	install_missing "${run_packages[@]}"
	;;
test)
	install_missing "${test_packages[@]}"
	install_missing "$(clang_runtime_package)"
	;;
-h | --help)
	usage
	;;
*)
	usage >&2
	exit 2
	;;
esac
