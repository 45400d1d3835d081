# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Borrows 2 MiB hugepages from the kernel and gives them back.

hugepages_dir=/sys/kernel/mm/hugepages/hugepages-2048kB
hugepages_mount=/dev/hugepages
hugepages_before=
hugepages_mounted=

# hugepages_take PAGES: makes sure that so many are free and hugetlbfs is mounted. On failure nothing has changed.
hugepages_take() {
	[[ -w $hugepages_dir/nr_hugepages ]] || return 1
	hugepages_grow "$1" && hugepages_attach && return 0
	hugepages_give_back
	return 1
}

hugepages_grow() {
	local free
	free=$(<"$hugepages_dir/free_hugepages")
	((free < $1)) || return 0
	hugepages_before=$(<"$hugepages_dir/nr_hugepages")
	echo $((hugepages_before + $1 - free)) >"$hugepages_dir/nr_hugepages" 2>/dev/null || return 1
	(($(<"$hugepages_dir/free_hugepages") >= $1))
}

hugepages_attach() {
	! grep -q ' hugetlbfs ' /proc/mounts || return 0
	[[ -d $hugepages_mount ]] || return 1
	mount -t hugetlbfs none "$hugepages_mount" 2>/dev/null || return 1
	hugepages_mounted=yes
}

hugepages_give_back() {
	[[ -z $hugepages_mounted ]] || umount "$hugepages_mount"
	[[ -z $hugepages_before ]] || echo "$hugepages_before" >"$hugepages_dir/nr_hugepages"
	hugepages_mounted=
	hugepages_before=
}
