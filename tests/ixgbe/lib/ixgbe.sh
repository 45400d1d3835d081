# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034
# Functions of the tests on the modelled 82599, in addition to tests/lib/func.sh, which it sources: cards, frames on
# their wire, and the program with the model preloaded. Sourced by tests/ixgbe/*_test.sh.

source "$(dirname "${BASH_SOURCE[0]}")/../../lib/func.sh"

CARD=0000:01:00.0 TWIN=0000:01:00.1
CARD_PY=$func_root/tests/ixgbe/lib/card.py
MODEL=${TL_BUILD:-$func_root/build}/tests/ixgbe/libixgbe_model.so
func_name=ixgbe-$func_name

# ixgbe_begin SENTENCE: like func_begin; skip the suite if DPDK has no ixgbe driver. From here on $TAPLINE is the
# program with the model, in a namespace whose kernel is the peer of a card with the wire "tap tap0".
ixgbe_begin() {
	if ! compgen -G "/usr/lib/*/dpdk/pmds-*/librte_net_ixgbe.so*" >/dev/null; then
		skip "$1" "DPDK's driver of ixgbe is not installed (librte-net-ixgbe)"
		exit 0
	fi
	func_begin
	[[ -e $MODEL ]] || func_die "there is no $MODEL; build first"
	PEER_NS=$APP_NS PEER_IF=tap0
	netns_create "$APP_NS"
	export IXGBE_MODEL=$DIR/model.sock
	cat >tapline <<-END
		#!/bin/sh
		export SYSFS_PCI_DEVICES="$DIR/host/sys/bus/pci/devices" LD_PRELOAD="$MODEL"
		exec "$TAPLINE" "\$@"
	END
	chmod +x tapline
	TAPLINE=$DIR/tapline
}

# card ADDRESS DEVICE WIRE: add a card to the host; see tests/ixgbe/lib/card.py.
card() {
	"$CARD_PY" card host "$@" || func_die "no card $1"
}

# tap_begin: make the interface for a card with the wire "tap tap0"; the kernel's end has the peer's address.
tap_begin() {
	ip -netns "$APP_NS" tuntap add mode tap name tap0
	ip -netns "$APP_NS" link set tap0 up
	netns_address "$APP_NS" tap0 "$PEER_IP/24"
}

# ask VERB CARD [WORD]...: send a request to the model of the running program; print its reply.
ask() {
	"$CARD_PY" ask "$@"
}

# inject CARD FILE [TIMES], flood CARD FILE N, take CARD FILE: see card.py.
inject() {
	"$CARD_PY" inject "$@"
}

flood() {
	"$CARD_PY" flood "$@"
}

take() {
	"$CARD_PY" take "$@"
}

# card_config FILE PORT_KEYS [SECTION]...: write a configuration for $CARD; PORT_KEYS is JSON text such as ',
# "rx_queues": 2'.
card_config() {
	local file=$1 keys=$2 section
	shift 2
	{
		echo "{\"eal\": {\"huge\": false, \"memory_mb\": $MEMORY_MB}, \"process\": {\"sandbox\": \"off\"},"
		echo "\"ports\": [{\"name\": \"lan\", \"device\": \"$CARD\"$keys}]"
		for section in "$@"; do
			echo ", $section"
		done
		echo ', "control": {"socket": "control.sock"}}'
	} >"$file"
}

MEMORY_MB=256
RECORD='"capture": [{"port": "lan", "path": "out.pcapng", "buffer_bytes": 8388608}]'

# received N: check whether the port has received N frames; for wait_for.
received() {
	status_is ".port.rx_pkts >= $1"
}

# frames FILE [OPTION]...: print tshark's fields of each frame.
frames() {
	tshark -r "$@" -T fields -e frame.len -e frame.cap_len -e data 2>/dev/null
	tshark -r "$@" -x 2>/dev/null
}

same_frames() {
	diff <(frames "$1") <(frames "$2") | head -n 10
	return "${PIPESTATUS[0]}"
}

count_frames() {
	tshark -r "$@" 2>/dev/null | wc -l
}
