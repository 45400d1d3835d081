# SPDX-License-Identifier: BSD-3-Clause
# Summarize each scenario of echo.sh from one object per run: name, round, lost, valid, invalid, rtt_ns. Figures come from runs
# that the client reported as valid, ratios from rounds whose kernel run was valid too; null: no such run.

def median: sort | if length == 0 then null else (.[(length - 1) / 2 | floor] + .[length / 2 | floor]) / 2 end;
def good: map(select(.valid and .rtt_ns.p50 != null));

(map(select(.name == "kernel-socat")) | good | map({key: "\(.round)", value: .rtt_ns.p50}) | from_entries) as $reference |
group_by(.name) | map(
	good as $good |
	($good | map(select($reference["\(.round)"]) | .rtt_ns.p50 / $reference["\(.round)"])) as $ratios |
	{name: .[0].name, lost: (map(.lost // 0) | add), rounds: length, valid_rounds: ($good | length),
	 invalid: (map(.invalid // []) | add | unique),
	 rtt_ns: (["min", "p50", "p90", "p99"] | map({key: ., value: (. as $key | $good | map(.rtt_ns[$key]) | median)}) | from_entries),
	 ratio_rounds: ($ratios | length),
	 p50_ratio_to_kernel: ($ratios | median | if . == null then null else . * 1000 | round / 1000 end)})
