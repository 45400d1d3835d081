// SPDX-License-Identifier: BSD-3-Clause
// Fuzz edits of a frame, its truncation and its fragmentation: an edit that swaps two prefixes and two ports, applied
// twice, restores the frame; a valid checksum stays valid and a wrong one wrong; an added tag can be stripped;
// fragments fit the MTU, and contain the whole payload. The first byte chooses the other edits.

#include <stdlib.h>

#include <tl_edit.h>
#include <tl_fit.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FRAME_MAX 4096
#define FIT_MIN 14u // shorter than the headers of most packets

static void require(bool holds)
{
	if (!holds)
		abort();
}

// Copy into a block of the largest permitted size; the caller frees it.
static uint8_t *copy(const struct tl_edit *edit, const uint8_t *frame, uint32_t len, uint32_t *out_len)
{
	uint8_t *out = malloc(len + TL_EDIT_GROWTH);

	require(out != NULL);
	(void)tl_edit_copy(edit, frame, len, out, out_len);
	require(*out_len == tl_edit_copied_bytes(edit, frame, len));
	return out;
}

static void init_swap(struct tl_edit *edit)
{
	static const char *const maps[] = {"10.0.0.0/8=192.0.0.0/8", "192.0.0.0/8=10.0.0.0/8", "2000::/8=fd00::/8",
		"fd00::/8=2000::/8", "172.16.0.0/12=224.0.0.0/12", "224.0.0.0/12=172.16.0.0/12"};
	static const char *const ports[] = {"0-999=5000", "5000-5999=0"};

	tl_edit_init(edit);
	for (size_t i = 0; i < TL_ARRAY_LEN(maps); i++)
		require(tl_edit_add_map(edit, maps[i], NULL) == 0);
	for (size_t i = 0; i < TL_ARRAY_LEN(ports); i++)
		require(tl_edit_add_ports(edit, ports[i], NULL) == 0);
}

// A checksum of all ones, except where it represents 0, may come back as the equivalent 0.
static bool is_restored(const uint8_t *was, const uint8_t *is, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		if (was[i] == is[i])
			continue;
		if (i + 1 == len || was[i] != 0xff || was[i + 1] != 0xff || is[i] != 0 || is[i + 1] != 0)
			return false;
		i++;
	}
	return true;
}

static void check_sums(const uint8_t *was, const uint8_t *is, uint32_t len)
{
	struct tl_pkt before, after;

	tl_wire_parse(was, len, &before);
	tl_wire_parse(is, len, &after);
	require(before.kind == after.kind && before.ip6_kind == after.ip6_kind && before.l4_off == after.l4_off);
	bool summed = before.kind < TL_PKT_FRAG && before.kind != TL_PKT_OTHER && before.kind != TL_PKT_ARP &&
		      (before.kind != TL_PKT_IP6 || before.ip6_kind < TL_PKT_FRAG);
	if (summed)
		require(tl_wire_l4_cksum_ok(was, &before) == tl_wire_l4_cksum_ok(is, &after));
}

static void check_swap(const uint8_t *frame, uint32_t len)
{
	struct tl_edit edit;
	uint32_t once_len, twice_len;

	init_swap(&edit);
	uint8_t *once = copy(&edit, frame, len, &once_len);
	uint8_t *twice = copy(&edit, once, once_len, &twice_len);
	require(once_len == len && twice_len == len);
	require(is_restored(frame, twice, len));
	check_sums(frame, once, len);
	free(once);
	free(twice);
}

static void check_tag(const uint8_t *frame, uint32_t len)
{
	struct tl_edit edit;
	uint32_t added_len, stripped_len;

	tl_edit_init(&edit);
	require(tl_edit_set_vlan(&edit, "add:5", NULL) == 0);
	uint8_t *added = copy(&edit, frame, len, &added_len);
	require(tl_edit_set_vlan(&edit, "strip", NULL) == 0);
	uint8_t *stripped = copy(&edit, added, added_len, &stripped_len);
	require(added_len == len + TL_VLAN_LEN && stripped_len == len && memcmp(stripped, frame, len) == 0);
	free(added);
	free(stripped);
}

static void check_others(uint8_t choice, const uint8_t *frame, uint32_t len)
{
	struct tl_edit edit;
	uint32_t out_len;

	init_swap(&edit);
	edit.ttl = (choice & 1) != 0 ? 7 : TL_EDIT_KEEP;
	edit.dscp = (choice & 2) != 0 ? 46 : TL_EDIT_KEEP;
	edit.set_src_mac = edit.set_dst_mac = (choice & 4) != 0;
	require(tl_edit_add_step(&edit, "10.0.0.0/8+77", NULL) == 0 && tl_edit_add_step(&edit, "1-60000+7", NULL) == 0);
	tl_edit_set_loop(&edit, choice * UINT64_C(0x123456789));
	uint8_t *out = copy(&edit, frame, len, &out_len);
	check_sums(frame, out, len);
	free(out);
	require(tl_edit_set_vlan(&edit, (choice & 8) != 0 ? "strip" : "set:9", NULL) == 0);
	free(copy(&edit, frame, len, &out_len));
}

static void check_fragments(const uint8_t *frame, uint32_t len, uint32_t limit)
{
	struct tl_fit fit;
	uint8_t *out = malloc(limit), *at = NULL;
	uint32_t n, sum = 0;

	require(out != NULL);
	bool fits = tl_fit_begin(&fit, frame, len, limit);
	uint32_t left = fits ? fit.left : 0;
	const uint8_t *data = fits ? fit.data : NULL;
	while (fits && (n = tl_fit_next(&fit, out)) != 0) {
		at = out + fit.l2_bytes;
		uint32_t hdr = (at[0] & 0x0fu) * 4;
		require(n <= limit && fit.l2_bytes + hdr < n && n - fit.l2_bytes - hdr <= left - sum);
		require(memcmp(at + hdr, data + sum, n - fit.l2_bytes - hdr) == 0);
		sum += n - fit.l2_bytes - hdr;
	}
	require(sum == left);
	free(out);
}

static void check_cut(const uint8_t *frame, uint32_t len, uint32_t limit)
{
	struct tl_pkt before, after;
	uint8_t *out = malloc(len);

	require(out != NULL);
	memcpy(out, frame, len);
	tl_fit_cut(out, len, limit);
	tl_wire_parse(frame, len, &before);
	tl_wire_parse(out, limit, &after);
	if ((after.kind == TL_PKT_UDP || after.kind == TL_PKT_TCP) && before.kind == after.kind)
		require(tl_wire_l4_cksum_ok(frame, &before) == tl_wire_l4_cksum_ok(out, &after));
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1 + TL_ETHER_LEN || size > FRAME_MAX)
		return 0;
	uint32_t len = (uint32_t)size - 1;
	uint8_t *frame = malloc(len);
	require(frame != NULL);
	memcpy(frame, data + 1, len);
	check_swap(frame, len);
	check_tag(frame, len);
	check_others(data[0], frame, len);
	check_fragments(frame, len, FIT_MIN + data[0]);
	if (len > FIT_MIN + data[0])
		check_cut(frame, len, FIT_MIN + data[0]);
	free(frame);
	return 0;
}
