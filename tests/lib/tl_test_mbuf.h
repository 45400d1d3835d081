// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// test_mbuf: an mbuf around heap memory of exactly the frame's size, so that a sanitizer detects a read past its end,
// which it cannot do inside a mempool.
//
// Threads: main. Memory: the mbuf is the caller's; freeing it frees the heap memory.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

static inline void tl_test_mbuf_free_bytes(void *addr, void *opaque)
{
	free(addr);
	free(opaque);
}

// Return an mbuf with the frame; NULL: the pool is empty.
static inline struct rte_mbuf *tl_test_mbuf(struct rte_mempool *pool, const uint8_t *frame, uint16_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	struct rte_mbuf_ext_shared_info *info = calloc(1, sizeof(*info));
	uint8_t *bytes = malloc(len + (len == 0));

	if (m == NULL || info == NULL || bytes == NULL) {
		rte_pktmbuf_free(m);
		tl_test_mbuf_free_bytes(bytes, info);
		return NULL;
	}
	memcpy(bytes, frame, len);
	info->free_cb = tl_test_mbuf_free_bytes;
	info->fcb_opaque = info;
	rte_mbuf_ext_refcnt_set(info, 1);
	rte_pktmbuf_attach_extbuf(m, bytes, 0, len, info);
	m->data_len = len;
	m->pkt_len = len;
	return m;
}
