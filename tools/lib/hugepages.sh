# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Borrow 2 MiB hugepages from the kernel and return them. hugetlbfs need not be mounted: the appliance takes its memory through
# memfd.

hugepages_dir=/sys/kernel/mm/hugepages/hugepages-2048kB
hugepages_borrowed=0

# hugepages_take PAGES: ensure that this number is free. A failure leaves the pool unchanged.
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

# hugepages_change DIFFERENCE: change the pool and print the actual difference, for the kernel may provide fewer pages. Add and
# subtract, never restore, so that concurrent borrowers get theirs back too.
hugepages_change() {
	local lock before file=$hugepages_dir/nr_hugepages
	exec {lock}<"$file"
	flock "$lock"
	before=$(<"$file")
	echo $((before + $1)) >"$file"
	echo $(($(<"$file") - before))
	exec {lock}<&-
}
