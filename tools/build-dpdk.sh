#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Build a private DPDK into a prefix: from Debian's source archive, with the time stamps of sent and received PTP frames
# (RTE_LIBRTE_IEEE1588) that Debian's package lacks, and with only the parts that Tapline uses. apt verifies the source against
# the archive's signed index.
set -euo pipefail
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
source "$root/tools/lib/mirror.sh"
source "$root/tools/lib/options.sh"

# DPDK version of each Debian release.
declare -A suites=([22.11]=bookworm [24.11]=trixie [25.11]=forky)
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# common/iavf is required by i40e and ice.
drivers=bus/auxiliary,bus/pci,bus/vdev,common/iavf,common/mlx5,mempool/ring
drivers+=,net/af_packet,net/af_xdp,net/memif,net/mlx5,net/null,net/pcap,net/ring,net/tap,net/virtio,net/vmxnet3
drivers+=,net/e1000,net/i40e,net/ice,net/ixgbe
drivers+=,net/intel/e1000,net/intel/i40e,net/intel/iavf,net/intel/ice,net/intel/ixgbe # their paths in 25.11
# Libraries that neither these drivers nor Tapline needs.
idle_libs=acl,bbdev,bitratestats,cfgfile,compressdev,distributor,dmadev,efd,eventdev,fib,flow_classify,gpudev,graph,gro
idle_libs+=,ip_frag,ipsec,jobstats,kni,latencystats,lpm,member,metrics,node,pipeline,port,power,rawdev,regexdev,reorder
idle_libs+=,rib,sched,stack,table,vhost

version=22.11 prefix='' jobs=$(nproc) without=''

usage() {
	cat <<-END
		usage: tools/build-dpdk.sh [--version 22.11|24.11|25.11] [--prefix DIR] [--without DRIVER,...] [--jobs N]
		  --version V   which long-term release, from Debian 12, 13 or 14 (22.11)
		  --prefix DIR  where to install it (/opt/tapline/dpdk-V)
		  --without L   leave these drivers out; net/mlx5 takes as long as all others together
		  --jobs N      so many compilers at once ($jobs)
		  --help        this
		Then: meson setup -Ddpdk_prefix=DIR build. Does nothing when DIR holds just that already.
		Status 3: Debian's archive does not give the source.
		As root it installs what it needs.
	END
}

die() {
	echo "build-dpdk: $*" >&2
	exit 1
}

say() {
	echo "build-dpdk: $*" >&2
}

parse_options() {
	read_options --version= --prefix= --without= --jobs= -- "$@"
	[[ -n ${suites[$version]:-} && $jobs =~ ^[1-9][0-9]*$ ]] || { usage >&2 && exit 2; }
	prefix=$(realpath -m "${prefix:-/opt/tapline/dpdk-$version}")
	work=$prefix.work
	note=$prefix/share/tapline-dpdk # version installed there
	recipe="DPDK $version for Tapline, without ${without:-nothing}"
}

# DPDK loads no driver from below a world-writable directory; the build would be useless.
check_prefix() {
	local dir=$prefix
	until [[ $dir == / ]]; do
		dir=$(dirname "$dir")
		[[ ! -e $dir || -z $(find "$dir" -maxdepth 0 -perm -o=w) ]] ||
			die "DPDK loads no drivers from below $dir, which anybody may write to: take another --prefix"
	done
	[[ ! -e $prefix || -z $(ls -A "$prefix") ]] || die "$prefix holds something else: remove it, or take another --prefix"
	mkdir -p "$(dirname "$prefix")" || die "take another --prefix"
}

# enabled: print the list for Meson.
enabled() {
	tr , '\n' <<<"$drivers" | grep -vxF "$(tr , '\n' <<<"${without:-none}")" | paste -sd ,
}

# private_apt COMMAND...: run apt with a private list of sources; the system's lists stay unchanged.
private_apt() {
	"$@" -o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=- -o "Dir::State::Lists=$work/lists" \
		-o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root
}

fetch() {
	local suite=${suites[$version]} full mirror
	mkdir -p "$work"/{lists,cache}/partial
	mirror=$(debian_mirror 2>"$work/log") || fetch_failed "apt has no Debian archive in its sources"
	echo "deb-src [signed-by=$keyring] $mirror $suite main" >"$work/sources.list"
	say "reading Debian's list of sources ($suite)"
	private_apt apt-get -qq update >"$work/log" 2>&1 || fetch_failed "the list of sources cannot be read"
	full=$(private_apt apt-cache showsrc --only-source dpdk 2>>"$work/log" | sed -n "s/^Version: \(.*\)/\1/p" |
		grep "^$version\." | sort -V | tail -n 1) || fetch_failed "Debian $suite has no DPDK $version"
	say "downloading and verifying dpdk $full"
	(cd "$work" && private_apt apt-get -qq source --download-only "dpdk=$full") >>"$work/log" 2>&1 ||
		fetch_failed "the source of dpdk $full cannot be downloaded"
	(cd "$work" && dpkg-source --no-overwrite-dir -x dpdk_*.dsc source) >>"$work/log" 2>&1 ||
		fail "the source of dpdk $full cannot be unpacked"
}

# Exit with status 3, a skip for tests, if the source is not available.
fetch_failed() {
	tail -n 15 "$work/log" >&2
	say "$*"
	rm -rf "$work"
	exit 3
}

fail() {
	tail -n 15 "$work/log" >&2
	die "$* (log: $work/log)"
}

# Since 23.11 libraries are selected by name; before that most could not be left out, though they are not needed.
libs_option() {
	if grep -q "^option('enable_libs'" "$work/source/meson_options.txt"; then
		echo -Denable_libs=bpf,security,cryptodev,hash,gso
	else
		sed -i 's/^disabled_libs = \[\]/optional_libs += libraries\n&/' "$work/source/lib/meson.build"
		echo "-Ddisable_libs=$idle_libs"
	fi
}

# every N: print every N-th line of ninja.
every() {
	awk -v step="$1" 'match($0, /^\[[0-9]+\/[0-9]+\]/) { split(substr($0, 2, RLENGTH - 2), n, "/")
		if (n[1] % step == 0 || n[1] == n[2]) { print "build-dpdk: " n[1] " of " n[2] " steps"; fflush() } }' >&2
}

# Use the generic CPU: the result runs under an emulator and under valgrind. Drivers choose their vector code at start. Each
# library finds the others by its own path: a driver loaded later would find the system's.
build() {
	say "configuring"
	meson setup "$work/build" "$work/source" --prefix="$prefix" --libdir=lib -Dplatform=generic \
		-Dc_args=-DRTE_LIBRTE_IEEE1588 "-Dc_link_args=-Wl,-rpath,$prefix/lib" -Dtests=false '-Ddisable_apps=*' -Denable_docs=false \
		"-Denable_drivers=$(enabled)" "$(libs_option)" >>"$work/log" 2>&1 || fail "meson refused"
	nice ninja -C "$work/build" -j "$jobs" | tee -a "$work/log" | every 50 || fail "the build failed"
	meson install -C "$work/build" --no-rebuild >>"$work/log" 2>&1 || fail "$prefix cannot be written"
	mkdir -p "$prefix/share"
	echo "$recipe" >"$note"
	say "installed: $(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --modversion libdpdk) in $prefix"
}

parse_options "$@"
if [[ $(cat "$note" 2>/dev/null) == "$recipe" ]]; then
	say "$prefix holds it already"
	exit 0
fi
check_prefix
"$root/tools/install-deps.sh" dpdk
rm -rf "$work"
fetch
build
rm -rf "$work"
