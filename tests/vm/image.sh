# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# The guest's kernel and initramfs, built from Debian's packages, unpacked and not installed. Sourced by run.sh.

vm_modules=(virtio_pci 9pnet_virtio 9p overlay igb vfio-pci vfio_iommu_type1 virtio_blk crc32c_generic ext4)
# More modules, loaded with vm_modules=steer on the kernel's command line: ip_gre creates interfaces.
vm_modules_steer=(tun veth sch_ingress sch_multiq cls_flower act_gact act_mirred act_skbedit vxlan geneve ip_gre)
vm_modules_qdisc=(veth sch_htb sch_tbf sch_prio sch_fq sch_mqprio sch_netem)

# image_fetch DIR: download the two packages to DIR, unless present. Fail if no mirror has them.
image_fetch() {
	local dir=$1 kernel
	[[ ! -e $dir/fetched ]] || return 0
	rm -rf "$dir"
	mkdir -p "$dir/packages"
	apt-get -qq update || true # outdated lists name removed packages
	kernel=$(apt-cache depends linux-image-amd64 | sed -n 's/^  Depends: \(linux-image-[^ ]*\)$/\1/p' | head -n 1)
	[[ -n $kernel ]] || return
	(cd "$dir/packages" && apt-get -qq -o APT::Sandbox::User=root download "$kernel" busybox-static) || return
	: >"$dir/fetched"
}

# image_make DIR: build DIR/vmlinuz and DIR/initramfs.gz from the packages in DIR.
image_make() {
	local dir=$1 package
	[[ ! $dir/initramfs.gz -nt $vm_dir/init || ! $dir/initramfs.gz -nt $vm_dir/image.sh ]] || return 0
	rm -rf "$dir/unpacked" "$dir/initramfs"
	for package in "$dir"/packages/*.deb; do
		dpkg-deb -x "$package" "$dir/unpacked" || return
	done
	cp "$dir"/unpacked/boot/vmlinuz-* "$dir/vmlinuz" || return
	mkdir -p "$dir"/initramfs/{bin,dev,modules,proc,sys}
	cp "$dir/unpacked/bin/busybox" "$dir/initramfs/bin/" 2>/dev/null ||
		cp "$dir/unpacked/usr/bin/busybox" "$dir/initramfs/bin/" || return
	cp "$vm_dir/init" "$dir/initramfs/" || return
	image_modules "$dir" || return
	(cd "$dir/initramfs" && find . | bin/busybox cpio -o -H newc 2>/dev/null) | gzip -1 >"$dir/initramfs.tmp" || return
	mv "$dir/initramfs.tmp" "$dir/initramfs.gz"
	rm -rf "$dir/unpacked" "$dir/initramfs"
}

# Modules with their dependencies, uncompressed: modules/order lists those of every scenario in load order, order.NAME
# more of them.
image_modules() {
	local dir=$1 version base
	base=$dir/unpacked
	[[ -d $base/lib/modules ]] || base=$dir/unpacked/usr
	version=$(basename "$base"/lib/modules/*)
	depmod -b "$base" "$version" || return
	image_order order "${vm_modules[@]}" || return
	image_order order.steer "${vm_modules_steer[@]}" && image_order order.qdisc "${vm_modules_qdisc[@]}"
}

# image_order FILE MODULE...: add modules to the image, and write the names of those that "order" does not load, in load order.
image_order() {
	local modules=$dir/initramfs/modules list=$1 file name
	shift
	for file in $(modprobe -d "$base" -S "$version" --show-depends -a "$@" |
		sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++'); do
		name=$(basename "$file" .xz)
		[[ $list == order ]] || ! grep -qxF "$name" "$modules/order" || continue
		case $file in
		*.xz) xz -dc "$file" >"$modules/$name" || return ;;
		*) cp "$file" "$modules/" || return ;;
		esac
		echo "$name"
	done >"$modules/$list"
	[[ -s $modules/$list ]]
}
