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
		check "$kind: digests and chain follow the documentation" "$LIB/check_digests.py" "$kind.pcapng"
		verify "$kind" "$kind.pcapng"
		check_equal "$kind: an intact file has exit status 0" "$verify_status" 0
		check_json "$kind: the entire file was verified" "$kind.json" \
			".good and .files[0].outcome == \"good\" and .files[0].digest == \"$kind\" and
			.files[0].good_bytes == $(stat -c %s "$kind.pcapng") and .files[0].records == 20000"
		check_equal "$kind: tshark reads only its packets" \
			"$(tshark -r "$kind.pcapng" -T fields -e frame.number 2>tshark.log | tail -n 1)" 20000
		check "$kind: capinfos reads the file" grep -q '20 k\|20000' <(capinfos -M -c "$kind.pcapng")
		check "$kind: tcpdump reads the file" test "$(tcpdump -nr "$kind.pcapng" 2>/dev/null | wc -l)" == 20000
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
	check_equal "one changed byte at $places places: each is attributed to its slab, with status 1" "$wrong" 0
	check "places were found" test "$places" -ge 20
	change changed.pcapng 5000
	check "the range is printed in words" grep -q 'damaged: bytes 4096 to' <("$TAPLINE" verify changed.pcapng)
}

# ---- modified files

cut_and_recovered_files_say_so() {
	local size
	size=$(stat -c %s crc32c.pcapng)
	head -c $((size - 4096)) crc32c.pcapng >cut.pcapng.part
	verify cut cut.pcapng.part
	check_json "a file without an epilogue is reported as incomplete" cut.json \
		".files[0].outcome == \"incomplete\" and .files[0].chain_end_bytes == $((size - 4096))"
	check_equal "an incomplete file has exit status 1" "$verify_status" 1
	timeout 60 "$TAPLINE" recover cut.pcapng.part >/dev/null 2>&1
	verify cut cut.pcapng
	check_json "a recovered file reports the early end of its chain" cut.json \
		".files[0].outcome == \"recovered\" and .files[0].records == 20000 and .files[0].damaged == [] and
		.files[0].chain_end_bytes == $((size - 4096))"
}

extract_leaves_out_what_is_damaged() {
	local status=0
	timeout 60 "$TAPLINE" extract --json changed.pcapng -w out.pcapng >extract.json 2>extract.log || status=$?
	check_equal "extract of a damaged file ends with status 1" "$status" 1
	check_json "extract excludes a damaged slab" extract.json \
		'.slabs_damaged == 1 and .records_matched > 1000 and .records_matched < 20000'
	check "the damaged slab is reported" grep -q 'from byte 4096 to .* is damaged' extract.log
	timeout 60 "$TAPLINE" extract --json crc32c.pcapng -w out.pcapng >extract.json 2>extract.log
	check_json "extract uses all slabs of an intact file" extract.json '.slabs_damaged == 0 and .records_matched == 20000'
}

rings_are_verified() {
	mkdir ring
	capture -w ring/r.pcapng --digest crc32c --rotate 4M --keep-files 3
	capture -w ring/r.pcapng --digest crc32c --rotate 4M --keep-files 3
	echo hello >ring/notes.txt
	verify ring ring
	check_equal "all files of a ring with reuse verify as good" "$verify_status" 0
	check_json "the ring has three files" ring.json '[.files[].outcome] == ["good", "good", "good"]'
	check "other files are named" grep -qF 'ring/notes.txt: not a recording of tapline, left out' ring.log
}

# A disk can lose a whole file, after a power failure for example.
lost_files_are_not_good() {
	local lost
	lost=$(find ring -name '*.pcapng' | sort | head -n 1)
	cp -r ring zeros
	truncate -s 0 "${lost/ring/zeros}" && truncate -s 4M "${lost/ring/zeros}"
	verify zeros zeros
	check_equal "a file of zeros in a directory has exit status 1" "$verify_status" 1
	check_json "a file of zeros is reported" zeros.json '(.good | not) and ([.files[].outcome] | sort) == ["blank", "good", "good"]'
	truncate -s 0 "${lost/ring/zeros}"
	verify empty zeros
	check_equal "an empty file in a directory has exit status 1" "$verify_status" 1
	mkdir none && echo hello >none/notes.txt
	verify none none
	check_equal "a directory without a recording has exit status 1" "$verify_status" 1
	check_json "a directory without a recording is not good" none.json \
		'(.good | not) and (.files[0] | .outcome == "failed" and .path == "none" and (.why | startswith("has no recording")))'
}

others_are_told_apart() {
	local wrong
	capture -w plain.pcapng
	verify plain plain.pcapng
	check_json "a recording without digests is reported as such" plain.json '.files[0].outcome == "no-digests"'
	check_equal "a recording without digests has exit status 1" "$verify_status" 1
	verify foreign in.pcap
	check_json "a file of another program is reported as foreign" foreign.json '.files[0].outcome == "foreign"'
	verify missing nowhere.pcapng
	check_equal "a missing file is an error" "$verify_status" 1
	verify call --bytes in.pcap
	check_equal "an invalid call has exit status 2" "$verify_status" 2
	verify call
	check_equal "a call without a file has exit status 2" "$verify_status" 2
	for wrong in '--compress zstd' '--format pcap-ns'; do
		# shellcheck disable=SC2086
		check "digests are refused with $wrong" test "$(
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
	mv "$name" $'evil\xc2\x9b2J.pcapng' # CSI, of C1
	for command in verify recover; do
		timeout 60 "$TAPLINE" "$command" --json "$PWD"/evil* >names.json 2>/dev/null || true
		check_equal "$command --json: no control character of a name is printed" "$(tr -d '\n\40-\176' <names.json | wc -c)" 0
	done
	mv evil* "$name"
	timeout 60 "$TAPLINE" verify "$name" >names.log 2>&1 || true
	check "the name is printed escaped" grep -qF 'evil\x1b]0;x\x07\x1b[2J.pcapng' names.log
}

func_begin verify
"$LIB/make_pcap.py" in.pcap 20000
another_program_computes_them_alike
names_the_slab_of_any_byte
cut_and_recovered_files_say_so
extract_leaves_out_what_is_damaged
rings_are_verified
lost_files_are_not_good
others_are_told_apart
names_reach_no_terminal
func_end
