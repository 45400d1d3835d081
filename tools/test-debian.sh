#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds Tapline and runs its unit tests in another Debian: another DPDK, compiler and libc. Debian 13 has DPDK 24.11,
# Debian 14 has 25.11. The root, of Debian's packages, is made once and kept.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

declare -A names=([13]=trixie [14]=forky)
packages=gcc,libc6-dev,meson,ninja-build,pkgconf,libdpdk-dev,libpcap-dev,libjansson-dev,liburing-dev,libzstd-dev
packages+=,libcunit1-dev,iproute2,python3-minimal
if_made=false release=''

usage() {
	cat <<-END
		usage: tools/test-debian.sh [--if-made] 13|14
		  --if-made  skip when its root, /opt/tapline/debian-N, has not been made yet
		  --help     this
		As root. The root takes 900 MB and, the first time, some minutes; delete it as you like.
	END
}

while (($#)); do
	case $1 in
	--if-made) if_made=true ;;
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
root=/opt/tapline/debian-$release

make_root() {
	tools/install-deps.sh debian
	rm -rf "$root.new"
	mkdir -p "$(dirname "$root")"
	echo "test-debian: making $root of Debian's packages" >&2
	debootstrap --variant=minbase --include="$packages" --keyring=/usr/share/keyrings/debian-archive-keyring.gpg \
		"${names[$release]}" "$root.new" http://deb.debian.org/debian /usr/share/debootstrap/scripts/sid >&2
	mkdir -p "$root.new/src"
	mv "$root.new" "$root"
}

# inside COMMAND...: in the root, with this tree as /src, in namespaces that end with it.
inside() {
	# shellcheck disable=SC2016
	unshare --mount --pid --fork --kill-child bash -ec '
		root=$1 src=$2
		shift 2
		mount --bind "$src" "$root/src"
		mount -o remount,bind,ro "$root/src"
		mount -t proc proc "$root/proc"
		mount --rbind /sys "$root/sys"
		mount --rbind /dev "$root/dev"
		exec chroot "$root" "$@"' - "$root" "$PWD" "$@"
}

# shellcheck disable=SC2016
build_and_test='
	cd /src
	rm -rf /build
	meson setup -Dwerror=true /build >/build.log 2>&1 && ninja -C /build >>/build.log 2>&1 || {
		echo "not ok - it builds with DPDK $(pkg-config --modversion libdpdk)"
		tail -n 30 /build.log | sed "s/^/#   /"
		exit 1
	}
	echo "ok - it builds with DPDK $(pkg-config --modversion libdpdk)"
	status=0
	for suite in /build/tests/unit/test_*; do
		[ -f "$suite" ] && [ -x "$suite" ] || continue
		timeout 300 "$suite" || status=1
	done
	exit $status'

if [[ ! -d $root ]] && $if_made; then
	echo "skip - Debian $release: its root has not been made (tools/test-debian.sh $release)"
	exit 0
fi
[[ -d $root ]] || make_root
inside env PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C sh -c "$build_and_test" |
	sed -u "s/^\(ok\|not ok\) - /\1 - Debian $release: /"
