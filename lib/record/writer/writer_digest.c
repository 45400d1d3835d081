// SPDX-License-Identifier: BSD-3-Clause
// Digests of written data, and the chain of them that closes a file. They are computed on the writing thread: on the
// writer for slabs and statistics, on the helper or the writer for the opening and closing blocks; never on an RX
// lcore.

#include "writer_priv.h"

bool tl_writer_has_heads(const struct tl_writer *writer, const struct tl_writer_file *file)
{
	return !file->stream && !writer->cfg.opaque;
}

static bool has_digests(const struct tl_writer *writer, const struct tl_writer_file *file)
{
	return writer->cfg.digest != TL_DIGEST_NONE && tl_writer_has_heads(writer, file);
}

struct tl_digest tl_writer_sign_unit(const struct tl_writer *writer, const struct tl_writer_file *file, uint8_t *unit,
	uint32_t bytes, uint32_t head_at, uint64_t offset)
{
	uint8_t *head = unit + head_at;
	struct tl_digest digest = {0};

	tl_pcapng_set_kind(head, file->id, writer->cfg.digest);
	if (writer->cfg.digest != TL_DIGEST_NONE) {
		digest = tl_digest_unit(writer->cfg.digest, unit, bytes, head_at, offset);
		tl_pcapng_set_check(head, tl_digest_check(&digest));
		return digest;
	}
	// Only in a reused file can stale data look like written data.
	bool sums = file->reused && head_at == 0;
	tl_pcapng_set_check(head, sums ? tl_pcapng_check(unit, bytes) : 0);
	return digest;
}

void tl_writer_sign(const struct tl_writer *writer, struct tl_writer_write *write)
{
	struct tl_pcapng_head head;

	if (tl_writer_has_heads(writer, write->file) && tl_pcapng_get_head(write->data, write->len_bytes, &head) == 0)
		write->digest =
			tl_writer_sign_unit(writer, write->file, write->data, head.used_bytes, 0, write->offset_bytes);
}

void tl_writer_chain_add(
	const struct tl_writer *writer, struct tl_writer_file *file, const struct tl_digest *unit, uint64_t end_bytes)
{
	if (!has_digests(writer, file))
		return;
	file->chain.kind = writer->cfg.digest;
	tl_digest_chain_add(&file->chain, unit, end_bytes);
}

uint32_t tl_writer_put_chain(const struct tl_writer *writer, const struct tl_writer_file *file, uint8_t *buffer)
{
	if (!has_digests(writer, file))
		return 0;
	tl_digest_chain_put(buffer, &file->chain);
	return TL_DIGEST_CHAIN_BYTES;
}
