# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Borrows 2 MiB hugepages from the kernel and gives them back.

hugepages_dir=/sys/kernel/mm/hugepages/hugepages-2048kB
hugepages_mount=/dev/hugepages
hugepages_lock=/run/lock/tapline-hugepages
hugepages_added=0
hugepages_mounted=

# hugepages_take PAGES: makes sure that so many are free and hugetlbfs is mounted. On failure nothing has changed.
hugepages_take() {
	[[ -w $hugepages_dir/nr_hugepages ]] || return 1
	hugepages_grow "$1" && hugepages_attach && return 0
	hugepages_give_back
	return 1
}

# Adds, and later subtracts, so that others who do the same at the same time get theirs back too.
hugepages_add() {
	(
		flock -w 10 9 || exit
		echo $(($(<"$hugepages_dir/nr_hugepages") + $1)) >"$hugepages_dir/nr_hugepages"
	) 9>"$hugepages_lock" 2>/dev/null
}

hugepages_grow() {
	local free missing
	free=$(<"$hugepages_dir/free_hugepages")
	missing=$(($1 - free))
	((missing > 0)) || return 0
	local before
	before=$(<"$hugepages_dir/nr_hugepages")
	hugepages_add "$missing" || return
	hugepages_added=$(($(<"$hugepages_dir/nr_hugepages") - before)) # the kernel gives what it has
	((hugepages_added >= missing))
}

hugepages_attach() {
	! grep -q ' hugetlbfs ' /proc/mounts || return 0
	[[ -d $hugepages_mount ]] || return 1
	mount -t hugetlbfs none "$hugepages_mount" 2>/dev/null || return 1
	hugepages_mounted=yes
}

hugepages_give_back() {
	[[ -z $hugepages_mounted ]] || umount "$hugepages_mount"
	((hugepages_added == 0)) || hugepages_add $((-hugepages_added))
	hugepages_mounted=
	hugepages_added=0
}
