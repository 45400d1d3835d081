# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Borrows 2 MiB hugepages from the kernel and gives them back. hugetlbfs need not be mounted: the appliance takes its memory
# through memfd.

hugepages_dir=/sys/kernel/mm/hugepages/hugepages-2048kB
hugepages_borrowed=0

# hugepages_take PAGES: makes sure that so many are free. On failure nothing has changed.
hugepages_take() {
	local missing
	[[ -w $hugepages_dir/nr_hugepages ]] || return
	missing=$(($1 - $(<"$hugepages_dir/free_hugepages")))
	((missing > 0)) || return 0
	hugepages_borrowed=$(hugepages_change "$missing")
	((hugepages_borrowed >= missing)) && return
	hugepages_give_back
	return 1
}

hugepages_give_back() {
	((hugepages_borrowed == 0)) || hugepages_change $((-hugepages_borrowed)) >/dev/null
	hugepages_borrowed=0
}

# hugepages_change DIFFERENCE: prints by how many there are more now, for the kernel gives what it has. Adds and subtracts,
# never restores, so that others who do the same meanwhile get theirs back too.
hugepages_change() {
	local lock before file=$hugepages_dir/nr_hugepages
	exec {lock}<"$file"
	flock "$lock"
	before=$(<"$file")
	echo $((before + $1)) >"$file"
	echo $(($(<"$file") - before))
	exec {lock}<&-
}
