# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Two network namespaces joined by a veth pair, set up for the appliance: its end has no address, because its own stack owns it;
# neither end has IPv6, which would send unsolicited frames; offloads are off, because with them the kernel leaves checksums
# incomplete and sends segments of 64 KiB.

# netns_pair NS_A IF_A NS_B IF_B: create both namespaces and join them.
netns_pair() {
	netns_create "$1"
	netns_create "$3"
	netns_join "$@"
}

# netns_join NS_A IF_A NS_B IF_B: join existing namespaces.
netns_join() {
	ip -netns "$1" link add "$2" type veth peer name "$4" netns "$3"
	netns_link_up "$1" "$2"
	netns_link_up "$3" "$4"
}

netns_create() {
	ip netns add "$1"
	ip netns exec "$1" sysctl -qe -w net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
	ip -netns "$1" link set lo up
}

netns_link_up() {
	ip netns exec "$1" ethtool -K "$2" tx off rx off tso off gso off gro off >/dev/null
	ip -netns "$1" link set "$2" up
}

# netns_address NS IF ADDRESS/PREFIX: add an address of the kernel, and the route for multicast.
netns_address() {
	ip -netns "$1" address add "$3" dev "$2"
	ip -netns "$1" route add 224.0.0.0/4 dev "$2"
}

# netns_delete NS...: delete those that exist, with their interfaces.
netns_delete() {
	local ns
	for ns in "$@"; do
		[[ ! -e /run/netns/$ns ]] || ip netns delete "$ns"
	done
}
