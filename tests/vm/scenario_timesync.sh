# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# The scenario timesync: stamps of replies and PTP frames, by two builds of DPDK. Sourced by run.sh.

# need_ptp: set TAPLINE_PTP.
need_ptp() {
	TAPLINE_PTP=${TL_BUILD_PTP:-$func_root/build-ptp}/app/tapline
	[[ ! -x $TAPLINE_PTP ]] || return 0
	skip "stamps of PTP frames" "no $TAPLINE_PTP (tools/build-dpdk.sh; meson setup -Ddpdk_prefix=... build-ptp)"
	exit 0
}

# sequences: of the probes that the peer saw, in their order.
sequences() {
	tshark -r out/probes.pcap -Y 'eth.src == 02:00:00:00:00:05' -T fields -e ptp.v2.sequenceid 2>/dev/null
}

judge_probes() {
	local sent
	sent=$(jq .port.ptp.probes_sent out/stamped.json)
	check_equal "the echo with stamps ends with status 0" "$(cat out/stamped.status)" 0
	check_json "it echoes meanwhile" out/udp.json '.sizes == 6 and .wrong == []'
	check_json "it sends PTP probes and its ledger holds" out/stamped.json '.ledger_ok and .port.ptp.probes_sent >= 20'
	check_equal "the peer sees each probe once, in order" "$(sequences | xargs)" "$(seq -s ' ' 0 $((${sent:-1} - 1)))"
	check_json "each probe has a stamp of its own from the NIC" out/stamped.json '.port.ptp | .stamps_sent and
		.probes_stamped == .probes_sent and .probes_lost == 0 and .tx_to_wire_ns.count == .probes_stamped and
		.tx_to_wire_ns.source == "nic-tx"'
	check_json "a stamp is of the time when its probe left" out/stamped.json '.port.ptp | .bound_ns > 0 and
		.bound_ns < 1e8 and .tx_to_wire_ns.max < 1e8 + .bound_ns'
	check_json "received PTP frames are seen, the first with a stamp, which the emulated NIC then keeps" out/stamped.json '
		.port.ptp | .ptp_received_pkts == 8 and .ptp_stamped_pkts == 1 and .ptp_busy_pkts == 7 and
		.wire_to_poll_ns.count == 1 and .wire_to_poll_ns.source == "nic-ptp"'
}

# The emulated NIC stamps no received frame but PTP: the way begins with the poll.
judge_replies() {
	check_json "replies have stamps of their own from the NIC, and every marked one is accounted for" out/stamped.json '
		.port.ptp.replies | .replies_marked >= 10 and .replies_timed >= .replies_marked - 1 and
		.replies_untimed == 0 and .trigger_source == "tsc" and .latency_ns.count == .replies_timed and
		.tx_to_wire_ns.count == .replies_timed and .latency_ns.min > 0 and .latency_ns.source == "nic-tx"'
	check_json "the report of the replies has them and their parts" out/stamped.latency/lan-replies.json '
		.method == "software" and .trigger_source == "tsc" and .reply_source == "nic-tx" and .matched >= 9 and
		([.stages[].name] == ["poll_to_tx", "tx_to_wire"])'
	check_equal "every sample is in the CSV" "$(grep -c '^[0-9]' out/stamped.latency/lan-replies.csv)" \
		"$(jq .port.ptp.replies.replies_timed out/stamped.json)"
	check_json "without reply_stamps_per_s no reply is marked" out/unstamped.json '.port.ptp.replies == null'
}

# The same of the probes' report, whose fields are those of every latency report.
judge_report() {
	check_json "the report of the probes has method probe and the sources of its stamps" out/stamped.latency/lan-probes.json '
		.method == "probe" and .trigger_source == "tsc" and .reply_source == "nic-tx" and .valid'
	check_equal "it has the probes' times" "$(jq .latency_ns.p50 out/stamped.latency/lan-probes.json)" \
		"$(jq .port.ptp.tx_to_wire_ns.p50 out/stamped.json)"
	check_json "without stamps it is invalid" out/unstamped.latency/lan-probes.json '.matched == 0 and (.valid | not)'
}

judge_silence() {
	check_equal "Debian's DPDK ends with status 0 too" "$(cat out/unstamped.status)" 0
	check_json "its probes leave without a stamp, and are counted as lost" out/unstamped.json '.ledger_ok and
		(.port.ptp | (.stamps_sent | not) and .probes_sent >= 20 and .probes_stamped == 0 and
		.probes_lost == .probes_sent and .tx_to_wire_ns.p50 == null)'
	check "it says that this DPDK does not ask for stamps" grep -q 'built without RTE_LIBRTE_IEEE1588' out/unstamped.log
}

timesync() {
	need_ptp
	"$func_root/tests/lib/make_ptp.py" out/ptp.pcap 8
	vm_boot "$vm_dir/guest_timesync.sh" "${nics[@]}"
	vm_end
	judge_probes
	judge_replies
	judge_silence
	judge_report
}
