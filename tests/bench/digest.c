// SPDX-License-Identifier: BSD-3-Clause
// Measure the cost of a digest on the writer thread: bench_digest. Print JSON.
//
// Uses as many slabs as --buffer has by default, in turn, so that each comes from memory, as from an RX lcore. The time
// is CPU time of the thread: other load on the host matters only by cache evictions.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tl_digest.h>

#define SLABS 64
#define SLAB_BYTES (1u << 20)
#define ROUNDS 15
#define RECORD_BYTES 92.0 // of a frame of 60 bytes

static double thread_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int ascending(const void *a, const void *b)
{
	double diff = *(const double *)a - *(const double *)b;

	return (diff > 0) - (diff < 0);
}

// Return seconds per byte: the median of the rounds.
static double measure(enum tl_digest_kind kind, const uint8_t *slabs)
{
	double s[ROUNDS];
	uint64_t sum = 0;

	for (int round = 0; round < ROUNDS; round++) {
		double begin = thread_s();
		for (uint32_t i = 0; i < SLABS; i++) {
			const uint8_t *slab = slabs + (size_t)i * SLAB_BYTES;
			struct tl_digest digest = {0};
			if (kind == TL_DIGEST_NONE) // the checksum of reused files
				sum += tl_pcapng_check(slab, SLAB_BYTES);
			else
				digest = tl_digest_unit(kind, slab, SLAB_BYTES, 0, i);
			sum += tl_digest_check(&digest);
		}
		s[round] = (thread_s() - begin) / SLABS / SLAB_BYTES;
	}
	qsort(s, ROUNDS, sizeof(s[0]), ascending);
	return sum == 0 ? 0 : s[ROUNDS / 2];
}

int main(void)
{
	uint8_t *slabs = malloc((size_t)SLABS * SLAB_BYTES);

	if (slabs == NULL)
		return 1;
	tl_digest_prepare();
	for (size_t i = 0; i < (size_t)SLABS * SLAB_BYTES; i++)
		slabs[i] = (uint8_t)(i * 2654435761u >> 24);
	printf("{");
	for (enum tl_digest_kind kind = TL_DIGEST_NONE; kind < TL_DIGEST_KINDS; kind++) {
		double s = measure(kind, slabs);
		printf("%s\"%s\": {\"ns_per_byte\": %.4f, \"mb_per_s\": %.0f, \"mpps_of_60_bytes\": %.1f}",
			kind == TL_DIGEST_NONE ? "" : ", ", kind == TL_DIGEST_NONE ? "sum" : tl_digest_name(kind),
			s * 1e9, 1e-6 / s, 1e-6 / s / RECORD_BYTES);
	}
	printf("}\n");
	free(slabs);
	return 0;
}
