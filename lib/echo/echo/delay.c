// SPDX-License-Identifier: BSD-3-Clause
// Set-up of the delays of a host.

#include "delay.h"

#include <errno.h>

#include <rte_malloc.h>

static void delay_free_blocks(struct tl_echo_delay *d, uint32_t n)
{
	uint8_t *memory = d->blocks;

	for (uint32_t i = n; i > 0; i--) {
		struct delay_block *block = (void *)(memory + (size_t)(i - 1) * DELAY_BLOCK_BYTES);
		block->next = d->free;
		d->free = block;
	}
	d->n_free = n;
}

static void delay_free_streams(struct tl_echo *echo, uint32_t n)
{
	struct delay_stream *streams = echo->delay->streams;

	for (uint32_t i = n; i > 0; i--) {
		streams[i - 1] = (struct delay_stream){.echo = echo, .next_free = echo->delay->free_stream};
		echo->delay->free_stream = &streams[i - 1];
	}
}

static int delay_init(struct tl_echo *echo, uint32_t index, int socket_id, struct tl_err *err)
{
	const struct tl_echo_cfg *cfg = &echo->cfg;
	uint32_t streams = cfg->kind == TL_ECHO_KIND_TCP ? cfg->max_connections : 1;
	struct tl_echo_delay *d = rte_zmalloc_socket("tl_delay", sizeof(*d), TL_CACHE_LINE, socket_id);

	echo->delay = d;
	if (d != NULL) {
		d->blocks = rte_zmalloc_socket(
			"tl_delay", (size_t)cfg->delay_limit * DELAY_BLOCK_BYTES, TL_CACHE_LINE, socket_id);
		d->streams =
			rte_zmalloc_socket("tl_delay", streams * sizeof(struct delay_stream), TL_CACHE_LINE, socket_id);
	}
	if (d == NULL || d->blocks == NULL || d->streams == NULL)
		return tl_fail(err, -ENOMEM,
			"echo %s: no memory for %u delayed messages; lower \"delay_limit\", or raise \"memory_mb\"",
			echo->name, cfg->delay_limit);
	delay_free_blocks(d, cfg->delay_limit);
	delay_free_streams(echo, streams);
	d->all.echo = echo;
	d->random = index; // the same delays in each run
	tl_hist_init(&d->lateness);
	tl_delay_fill(d->after_ns, cfg);
	return 0;
}

int tl_delays_init(struct tl_echo_host *host, int socket_id, struct tl_err *err)
{
	bool some = false;
	int rc = 0;

	for (uint32_t i = 0; i < host->n_echoes && rc == 0; i++) {
		if (host->echoes[i].cfg.delay_ns == 0)
			continue;
		rc = delay_init(&host->echoes[i], i, socket_id, err);
		some = true;
	}
	if (rc != 0 || !some)
		return rc;
	host->delays = rte_zmalloc_socket("tl_delays", sizeof(*host->delays), TL_CACHE_LINE, socket_id);
	if (host->delays == NULL)
		return tl_fail(err, -ENOMEM, "no memory for delayed messages; raise \"memory_mb\"");
	tl_wheel_init(&host->delays->wheel, 0);
	return 0;
}

void tl_delays_fini(struct tl_echo_host *host)
{
	for (uint32_t i = 0; i < host->n_echoes; i++) {
		struct tl_echo_delay *d = host->echoes[i].delay;
		if (d == NULL)
			continue;
		rte_free(d->blocks);
		rte_free(d->streams);
		rte_free(d);
	}
	rte_free(host->delays);
}

bool tl_echo_delay_service(struct tl_echo_host *host, struct tl_service *out)
{
	*out = (struct tl_service){
		.ctx = host, .poll = tl_delay_poll, .next_ns = tl_delay_next_ns, .finish = tl_delay_end};
	return host->delays != NULL;
}

bool tl_echo_lateness(const struct tl_echo_host *host, uint32_t index, struct tl_hist *out)
{
	const struct tl_echo_delay *d = host->echoes[index].delay;

	if (d != NULL)
		tl_hist_copy(out, &d->lateness);
	return d != NULL;
}
