// SPDX-License-Identifier: BSD-3-Clause
// Fuzz the parser of encapsulated frames: results lie within the bytes, in bounded depth; parsing the innermost packet
// finds no further layer, and parsing a prefix of the bytes finds no more than parsing all of them. The bytes are
// parsed as Ethernet, and as the link type chosen by the last byte.

#include <stdlib.h>

#include <tl_encap.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static enum tl_link link_of(const struct tl_encap *encap)
{
	if (encap->ethernet)
		return TL_LINK_ETHERNET;
	return encap->ethertype == TL_ETHERTYPE_IPV4 ? TL_LINK_IPV4 : TL_LINK_IPV6;
}

static void check(enum tl_link link, const uint8_t *data, uint32_t len)
{
	struct tl_encap whole, part, again;

	tl_encap_parse_link(link, data, len, &whole);
	require(whole.off <= whole.network_off && whole.network_off <= whole.end && whole.end <= len);
	require(whole.tunnels <= TL_ENCAP_TUNNELS_MAX && whole.tags <= TL_ENCAP_TAGS_MAX);
	require((whole.tunnels == 0) == (whole.off == 0));
	require(whole.ethernet || whole.tunnels == 0 || (tl_encap_is_ip(&whole) && whole.off == whole.network_off));
	if (whole.tunnels != 0 && whole.tunnels < TL_ENCAP_TUNNELS_MAX) {
		tl_encap_parse_link(link_of(&whole), data + whole.off, whole.end - whole.off, &again);
		require(again.tunnels == 0 && again.off == 0 && again.ethertype == whole.ethertype);
		require(again.network_off == whole.network_off - whole.off && again.tags == whole.tags);
	}
	tl_encap_parse_link(link, data, len / 2, &part);
	require(part.tunnels <= whole.tunnels && part.off <= whole.off);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum tl_link link = size != 0 ? data[size - 1] % TL_LINKS : TL_LINK_ETHERNET;

	check(TL_LINK_ETHERNET, data, (uint32_t)size);
	if (size != 0)
		check(link, data, (uint32_t)size - 1);
	return 0;
}
