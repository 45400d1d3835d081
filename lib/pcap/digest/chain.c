// SPDX-License-Identifier: BSD-3-Clause
// CHAIN block, which closes a recording with digests.

#include <tl_digest.h>

#include <errno.h>
#include <string.h>

// Layout as in docs/recording.md.
struct chain_block {
	uint32_t type;
	uint32_t total_bytes;
	uint32_t kind;
	uint32_t reserved; // 0
	uint64_t units;
	uint64_t end_bytes;
	uint8_t digest[TL_DIGEST_BYTES];
	uint32_t total_bytes_again;
} __attribute__((packed));

_Static_assert(sizeof(struct chain_block) == TL_DIGEST_CHAIN_BYTES, "CHAIN has no holes");

void tl_digest_chain_put(void *buf, const struct tl_digest_chain *chain)
{
	struct chain_block block = {
		.type = TL_PCAPNG_CHAIN,
		.total_bytes = sizeof(block),
		.kind = chain->kind,
		.units = chain->units,
		.end_bytes = chain->end_bytes,
		.total_bytes_again = sizeof(block),
	};

	memcpy(block.digest, chain->digest.byte, sizeof(block.digest));
	memcpy(buf, &block, sizeof(block));
}

int tl_digest_chain_get(const void *buf, uint32_t size, struct tl_digest_chain *out)
{
	struct chain_block block;

	if (size < sizeof(block))
		return -EINVAL;
	memcpy(&block, buf, sizeof(block));
	if (block.type != TL_PCAPNG_CHAIN || block.total_bytes != sizeof(block) ||
		block.total_bytes_again != sizeof(block) || block.kind == TL_DIGEST_NONE ||
		block.kind >= TL_DIGEST_KINDS)
		return -EINVAL;
	*out = (struct tl_digest_chain){
		.kind = (enum tl_digest_kind)block.kind, .units = block.units, .end_bytes = block.end_bytes};
	memcpy(out->digest.byte, block.digest, sizeof(block.digest));
	return 0;
}

bool tl_digest_same_chain(const struct tl_digest_chain *a, const struct tl_digest_chain *b)
{
	return a->kind == b->kind && a->units == b->units && a->end_bytes == b->end_bytes &&
	       memcmp(a->digest.byte, b->digest.byte, TL_DIGEST_BYTES) == 0;
}
