#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Build Tapline in another Debian, with another DPDK, compiler and libc, and run its unit tests and those functional tests that
# use DPDK's drivers of kernel interfaces, or the suites that a pattern names. Debian 13 has DPDK 24.11, Debian 14 has 25.11. The root
# of Debian's packages is created once and kept.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/lib/mirror.sh

declare -A names=([13]=trixie [14]=forky)
packages=(
	gcc libc6-dev meson ninja-build pkgconf libdpdk-dev libpcap-dev libjansson-dev liburing-dev libzstd-dev libcunit1-dev
	libgcrypt20-dev libisal-dev libseccomp-dev libcap-dev
	ethtool iproute2 iputils-ping jq netcat-openbsd procps python3 socat tcpdump tshark
)
suites=('unit/*' func/{timestamps,kernel_port,udp_echo,tcp_echo,client_port,latency_report})
if_made=false keep_build='' release='' root=''

usage() {
	cat <<-END
		usage: tools/test-debian.sh [--if-made] [--root DIR] [--suites PATTERN] [--keep-build] 13|14
		  --if-made         skip when its root has not been made yet
		  --root DIR        where its root is, or shall be made (/opt/tapline/debian-N)
		  --suites PATTERN  only suites whose name matches this shell pattern, such as 'ixgbe/*', 'func/tcp_echo' or 'unit/port'
		  --keep-build      continue the root's last build, which must be of this directory
		  --help            this
		As root. The root takes 1.2 GB and, the first time, some minutes; delete it as you like.
	END
}

while (($#)); do
	case $1 in
	--if-made) if_made=true ;;
	--keep-build) keep_build=1 ;;
	--root | --suites)
		(($# >= 2)) || { usage >&2 && exit 2; }
		if [[ $1 == --root ]]; then root=$2; else suites=("$2"); fi
		shift
		;;
	--help)
		usage
		exit
		;;
	*) release=$1 ;;
	esac
	shift
done
[[ -n $release && -n ${names[$release]:-} ]] || { usage >&2 && exit 2; }
((EUID == 0)) || { echo "test-debian: a root of its own needs root" >&2 && exit 1; }
root=$(realpath -m "${root:-/opt/tapline/debian-$release}")

# inside COMMAND...: run a command in the root, with this tree as /src, in namespaces that end with it. `ip netns` requires the
# root to be a mount.
inside() {
	# shellcheck disable=SC2016
	unshare --mount --pid --fork --kill-child bash -ec '
		root=$1 src=$2
		shift 2
		mount --bind "$root" "$root"
		mount --bind "$src" "$root/src"
		mount -o remount,bind,ro "$root/src"
		mount -t proc proc "$root/proc"
		mount -t tmpfs tmpfs "$root/run"
		mount --rbind /sys "$root/sys"
		mount --rbind /dev "$root/dev"
		exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C "$@"' - "$root" "$PWD" "$@"
}

# install_packages: install the packages missing in the root, such as after its creation. Like debootstrap, ignore the expiry date
# of package lists: a mirror of Debian 14, which is not released yet, may be outdated.
install_packages() {
	# shellcheck disable=SC2016
	inside sh -c '
		dpkg-query -W -f "\${db:Status-Status}\n" "$@" 2>&1 | grep -qvx installed || exit 0
		export DEBIAN_FRONTEND=noninteractive
		apt-get -qq -o Acquire::Check-Valid-Until=false update && apt-get -qq -y install --no-install-recommends "$@"' \
		sh "${packages[@]}" >&2
}

# Create the root under another name and rename it when complete, so that an existing root is always complete.
make_root() {
	local made=$root root=$root.new mirror
	tools/install-deps.sh debian
	mirror=$(debian_mirror) || { echo "test-debian: apt has no Debian archive in its sources" >&2 && return 1; }
	rm -rf "$root"
	mkdir -p "$root"
	echo "test-debian: making $made of Debian's packages" >&2
	debootstrap --variant=minbase --keyring=/usr/share/keyrings/debian-archive-keyring.gpg "${names[$release]}" "$root" \
		"$mirror" /usr/share/debootstrap/scripts/sid >&2
	mkdir -p "$root/src"
	install_packages
	mv "$root" "$made"
}

# shellcheck disable=SC2016
build='
	[ -n "$1" ] || rm -rf /build
	{ [ -e /build/build.ninja ] || meson setup -Dwerror=true /build /src; } >/build.log 2>&1 && ninja -C /build >>/build.log 2>&1 || {
		echo "not ok - it builds with DPDK $(pkg-config --modversion libdpdk)"
		tail -n 30 /build.log | sed "s/^/#   /"
		exit 1
	}
	shift
	echo "ok - it builds with DPDK $(pkg-config --modversion libdpdk)"'

# A suite that prints no result fails, as with tools/test.sh.
# shellcheck disable=SC2016
test='
	status=0
	export TL_BUILD=/build
	ln -sfn /src/drivers-config /drivers-config # beside the build, as in a tree
	suite() {
		timeout 300 "$2" >/suite.log 2>&1 </dev/null || { echo "not ok - $1: ended with status $?" >>/suite.log; status=1; }
		grep -qE "^(ok|not ok|skip) - " /suite.log || { echo "not ok - $1: printed no result" >>/suite.log; status=1; }
		cat /suite.log
	}
	cd /
	for pattern in "$@"; do
		found=false
		for file in /build/tests/unit/test_* /src/tests/func/*_test.sh /src/tests/ixgbe/*_test.sh; do
			[ -f "$file" ] && [ -x "$file" ] || continue
			name=$(basename "${file%_test.sh}")
			name=$(basename "$(dirname "$file")")/${name#test_}
			case $name in $pattern) found=true && suite "$name" "$file" ;; esac
		done
		$found || { echo "test-debian: no suite is called $pattern" >&2; status=1; }
	done
	exit $status'

if [[ ! -d $root ]] && $if_made; then
	echo "skip - Debian $release: its root has not been made (tools/test-debian.sh $release)"
	exit 0
fi
[[ -d $root ]] || make_root
if ! install_packages; then
	echo "skip - Debian $release: functional tests: its root lacks packages that cannot be installed now"
	suites=('unit/*')
fi
inside sh -c "$build$test" sh "$keep_build" "${suites[@]}" | sed -u "s/^\(ok\|not ok\|skip\) - /\1 - Debian $release: /"
