#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Debian package: built from the tree, installed in a new minimal Debian of this release, used there, removed.
set -euo pipefail
# The new Debian is in memory, and is removed with the test.
((EUID != 0)) || [[ -n ${TL_OWN_MOUNTS:-} ]] || TL_OWN_MOUNTS=1 exec unshare --mount "$0"
source "$(dirname "$0")/../lib/func.sh"
source "$func_root/tests/lib/installed.sh"
source "$func_root/tools/lib/mirror.sh"

mirror=$(debian_mirror) || mirror=''
suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)

# lacks: prints the missing requirements of this host.
lacks() {
	local tool
	for tool in dpkg-buildpackage dh debootstrap; do
		command -v "$tool" >/dev/null || { echo "there is no $tool" && return; }
	done
	[[ -n $mirror ]] || { echo "apt has no Debian archive in its sources" && return; }
	python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=20)' \
		"$mirror/dists/$suite/Release" 2>/dev/null || echo "$mirror has no $suite, or is out of reach"
}

# At the same path each time, and with the cache that dh hides with the home directory, for hits in ccache.
build_package() {
	mkdir source
	tar -C "$func_root" --exclude='./build*' --exclude='./obj-*' --exclude=./.git --exclude=./demo-out -c . | tar -C source -x
	mount --bind "$DIR" /mnt
	! command -v ccache >/dev/null || export CCACHE_DIR="${CCACHE_DIR:-$(ccache --get-config cache_dir)}"
	(cd /mnt/source && DEB_BUILD_OPTIONS="noautodbgsym terse parallel=$(nproc)" dpkg-buildpackage -b -us -uc)
}

make_root() {
	mkdir root
	mount -t tmpfs -o size=1500m,mode=755 tapline-package root
	debootstrap --variant=minbase "$suite" root "$mirror"
	cp /etc/resolv.conf root/etc/
	mount --bind /sys root/sys # EAL reads modules and CPUs there
	mount -o remount,bind,ro root/sys
}

in_root() {
	unshare --mount --pid --fork --mount-proc="$DIR/root/proc" chroot "$DIR/root" "$@"
}

# apt_get OPTION...: install one package with its requirements only.
apt_get() {
	in_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends "$@" </dev/null
}

builds() {
	build_package >build.log 2>&1 &
	local builder=$!
	make_root >root.log 2>&1 || func_die "debootstrap failed"
	wait "$builder" || func_die "the package does not build"
	check "the package builds" cp tapline_*_amd64.deb root/tmp/
	check_equal "its version equals the program's" "$(dpkg-deb -f tapline_*_amd64.deb Version)" \
		"$("$TAPLINE" --version | sed 's/tapline //')"
	if command -v lintian >/dev/null; then
		check_equal "lintian finds no error" "$(lintian --fail-on none tapline_*.changes 2>/dev/null | grep '^[EW]:' || true)" ""
	else
		skip "lintian finds no error in it" "there is no lintian"
	fi
}

installs() {
	apt_get update >apt.log 2>&1 || func_die "apt-get update failed"
	check "apt installs the package with its dependencies" apt_get install "/tmp/$(basename tapline_*_amd64.deb)"
	check_equal "the installed files equal the packed ones" "$(in_root dpkg --verify tapline)" ""
	check "the user tapline exists" in_root getent passwd tapline
	check "the group vfio exists" in_root getent group vfio
	check_equal "no service is started at boot" "$(find root/etc/systemd -name '*tapline*')" ""
	check_equal "every file of \`meson install\` is in its place below /usr" "$(missing_files)" ""
	check_equal "units start the installed program" "$(missing_programs "$DIR/root" /usr)" ""
	check_equal "the package changes no setting of the host" "$(host_settings root)" ""
}

missing_files() {
	LC_ALL=C comm -13 <(files_below root/usr) <(installed_files | LC_ALL=C sort)
}

works() {
	check_equal "the installed program prints its version" "$(in_root tapline --version)" "$("$TAPLINE" --version)"
	python3 "$func_root/tests/lib/make_numbered.py" root/tmp/in.pcap 100 60 || func_die "no input"
	cat >root/tmp/record.json <<-'END'
		{
			"eal": {"huge": false},
			"ports": [{"name": "in", "device": "pcap:/tmp/in.pcap"}],
			"capture": [{"port": "in", "path": "/tmp/out.pcapng"}]
		}
	END
	check "the installed program records a file" in_root tapline run /tmp/record.json
	check_equal "the recording has every frame" "$(capinfos -Mrc -T root/tmp/out.pcapng | cut -f 2)" 100
	check "the installed program accepts the supplied configurations" \
		in_root tapline run --check /usr/share/doc/tapline/examples/record.json
}

left_in_root() {
	find root -xdev \( -path root/proc -o -path root/sys -o -path root/tmp -o -path root/var/log -o -path root/var/cache \) -prune -o -name '*tapline*' -print
	in_root getent passwd tapline || true
}

is_removed() {
	mkdir -p root/var/lib/tapline
	touch root/var/lib/tapline/lan.pcapng
	check "apt purges the package" apt_get purge tapline
	check_equal "recordings and their owner are kept" "$(find root/var/lib/tapline -type f; in_root id -un tapline)" \
		"root/var/lib/tapline/lan.pcapng"$'\n'tapline
	rm -r root/var/lib/tapline
	apt_get install "/tmp/$(basename tapline_*_amd64.deb)" >>apt.log 2>&1 || func_die "it cannot be installed again"
	apt_get purge tapline >>apt.log 2>&1 || func_die "it cannot be purged again"
	check_equal "without recordings nothing remains" "$(left_in_root)" ""
}

# Remove the new Debian before its parent directory.
end() {
	local status=$?
	set +e
	umount --recursive --lazy "$DIR/root" 2>/dev/null
	(exit "$status")
	func_end
}

func_begin
trap end EXIT
reason=$(lacks)
if [[ -n $reason ]]; then
	skip "the Debian package builds, installs, works and goes" "$reason"
	exit
fi
builds
installs
works
is_removed
