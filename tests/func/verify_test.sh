#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# `tapline verify`: digests that another program recomputes, one byte changed at many offsets, files that are truncated,
# recovered, extracted from, or without digests, and names with terminal control characters.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

LIB=$(dirname "$PEER_PY")

# capture ARG...
capture() {
	timeout 60 "$TAPLINE" capture -i pcap:in.pcap "$@" >results 2>>capture.log </dev/null
}

# verify NAME PATH...: write results to NAME.json, the status to verify_status.
verify() {
	local name=$1
	shift
	verify_status=0
	timeout 60 "$TAPLINE" verify --json "$@" >"$name.json" 2>"$name.log" || verify_status=$?
}

# ---- written digests

another_program_computes_them_alike() {
	local kind
	for kind in crc32c sha256; do
		capture -w "$kind.pcapng" --digest "$kind"
		check "$kind: digests and chain are as the documentation says" "$LIB/check_digests.py" "$kind.pcapng"
		verify "$kind" "$kind.pcapng"
		check_equal "$kind: the file is good: status 0" "$verify_status" 0
		check_json "$kind: and all of it was looked at" "$kind.json" \
			".good and .files[0].outcome == \"good\" and .files[0].digest == \"$kind\" and
			.files[0].good_bytes == $(stat -c %s "$kind.pcapng") and .files[0].records == 20000"
		check_equal "$kind: tshark reads it, and nothing but its packets" \
			"$(tshark -r "$kind.pcapng" -T fields -e frame.number 2>tshark.log | tail -n 1)" 20000
		check "$kind: capinfos does" grep -q '20 k\|20000' <(capinfos -M -c "$kind.pcapng")
		check "$kind: tcpdump does" test "$(tcpdump -nr "$kind.pcapng" 2>/dev/null | wc -l)" == 20000
	done
}

# change FILE OFFSET: flip bits of one byte.
change() {
	python3 -c 'import sys
with open(sys.argv[1], "r+b") as file:
    file.seek(int(sys.argv[2]))
    byte = file.read(1)[0]
    file.seek(int(sys.argv[2]))
    file.write(bytes([byte ^ 0x40]))' "$1" "$2"
}

names_the_slab_of_any_byte() {
	local from to at wrong=0 places=0
	cp sha256.pcapng changed.pcapng
	while read -r from to; do
		for at in "$from" $((from + 45)) $((from + 56)) $(((from + to) / 2)) $((to - 1)); do
			change changed.pcapng "$at"
			verify changed changed.pcapng
			jq -e ".files[0].outcome == \"damaged\" and .files[0].damaged == [{\"from\": $from, \"to\": $to}]" \
				changed.json >/dev/null && [[ $verify_status == 1 ]] || ((++wrong))
			change changed.pcapng "$at"
			((++places))
		done
	done < <("$LIB/check_digests.py" sha256.pcapng)
	check_equal "one byte at $places places: each is named to its slab, with status 1" "$wrong" 0
	check "there are some" test "$places" -ge 20
	change changed.pcapng 5000
	check "the range is printed in words" grep -q 'damaged: bytes 4096 to' <("$TAPLINE" verify changed.pcapng)
}

# ---- modified files

cut_and_recovered_files_say_so() {
	local size
	size=$(stat -c %s crc32c.pcapng)
	head -c $((size - 4096)) crc32c.pcapng >cut.pcapng.part
	verify cut cut.pcapng.part
	check_json "a file that was not closed is incomplete" cut.json \
		".files[0].outcome == \"incomplete\" and .files[0].chain_end_bytes == $((size - 4096))"
	check_equal "which is not good: status 1" "$verify_status" 1
	timeout 60 "$TAPLINE" recover cut.pcapng.part >/dev/null 2>&1
	verify cut cut.pcapng
	check_json "a recovered one reports the early end of its chain" cut.json \
		".files[0].outcome == \"recovered\" and .files[0].records == 20000 and .files[0].damaged == [] and
		.files[0].chain_end_bytes == $((size - 4096))"
}

extract_leaves_out_what_is_damaged() {
	timeout 60 "$TAPLINE" extract --json changed.pcapng -w out.pcapng >extract.json 2>extract.log
	check_json "extract leaves a damaged slab out" extract.json \
		'.slabs_damaged == 1 and .records_matched > 1000 and .records_matched < 20000'
	check "and says so" grep -q 'from byte 4096 to .* is damaged' extract.log
	timeout 60 "$TAPLINE" extract --json crc32c.pcapng -w out.pcapng >extract.json 2>extract.log
	check_json "of a good file it takes all" extract.json '.slabs_damaged == 0 and .records_matched == 20000'
}

rings_are_verified() {
	mkdir ring
	capture -w ring/r.pcapng --digest crc32c --rotate 4M --keep-files 3
	capture -w ring/r.pcapng --digest crc32c --rotate 4M --keep-files 3
	echo hello >ring/notes.txt
	verify ring ring
	check_equal "all files of a ring that writes them again are good" "$verify_status" 0
	check_json "there are three" ring.json '[.files[].outcome] == ["good", "good", "good"]'
}

others_are_told_apart() {
	local wrong
	capture -w plain.pcapng
	verify plain plain.pcapng
	check_json "a recording without digests is reported as such" plain.json '.files[0].outcome == "no-digests"'
	check_equal "which is not good: status 1" "$verify_status" 1
	verify foreign in.pcap
	check_json "a file of another program is foreign" foreign.json '.files[0].outcome == "foreign"'
	verify missing nowhere.pcapng
	check_equal "one that is not there is an error" "$verify_status" 1
	verify call --bytes in.pcap
	check_equal "a wrong call has status 2" "$verify_status" 2
	verify call
	check_equal "and so has one without a file" "$verify_status" 2
	for wrong in '--compress zstd' '--format pcap-ns'; do
		# shellcheck disable=SC2086
		check "digests do not go with $wrong" test "$(
			"$TAPLINE" capture -i pcap:in.pcap -w no.pcapng --digest crc32c $wrong >/dev/null 2>&1
			echo $?
		)" == 2
	done
}

names_reach_no_terminal() {
	local name=$'evil\e]0;x\a\e[2J.pcapng' command
	cp cut.pcapng "$name"
	for command in verify recover 'extract -w out.pcapng'; do
		# shellcheck disable=SC2086
		timeout 60 "$TAPLINE" $command "$name" >names.log 2>&1 || true
		check_equal "${command%% *}: no control character of a name is printed" "$(tr -d '\n\40-\176' <names.log | wc -c)" 0
	done
	timeout 60 "$TAPLINE" verify "$name" >names.log 2>&1 || true
	check "the name is shown escaped" grep -qF 'evil\x1b]0;x\x07\x1b[2J.pcapng' names.log
}

func_begin verify
"$LIB/make_pcap.py" in.pcap 20000
another_program_computes_them_alike
names_the_slab_of_any_byte
cut_and_recovered_files_say_so
extract_leaves_out_what_is_damaged
rings_are_verified
others_are_told_apart
names_reach_no_terminal
func_end
