// SPDX-License-Identifier: BSD-3-Clause
// Check that connections arrive at the queues computed from the card's own key and table.

#include "selftest_priv.h"

#include <string.h>

#define FLOWS 256u
#define BATCH 32u

struct spread {
	uint16_t queue[FLOWS];
	uint32_t of_queue[TL_PORT_QUEUES_MAX];
};

static void note(void *ctx, const struct tl_selftest_frame *frame)
{
	struct spread *spread = ctx;

	if (frame->number >= FLOWS)
		return;
	spread->queue[frame->number] = frame->queue;
	spread->of_queue[frame->queue]++;
}

static bool send_all(struct tl_selftest *t, struct spread *spread)
{
	memset(spread->queue, 0xFF, sizeof(spread->queue));
	for (uint32_t first = 0; first < FLOWS; first += BATCH) {
		uint32_t sent = 0;
		for (uint32_t i = first; i < first + BATCH; i++) {
			struct tl_selftest_flow flow = tl_selftest_flow(i);
			sent += tl_selftest_send(t, &flow, i, TL_SELFTEST_BYTES_MIN);
		}
		if (sent != BATCH || tl_selftest_await(t, sent, note, spread) < sent)
			return false;
	}
	return true;
}

static uint32_t count_strays(const struct spread *spread, const struct tl_port_rss *rss)
{
	uint32_t strays = 0;

	for (uint32_t i = 0; i < FLOWS; i++) {
		struct tl_selftest_flow flow = tl_selftest_flow(i);
		strays += spread->queue[i] !=
			  tl_rss_queue(rss, flow.src_be, flow.dst_be, flow.src_port_be, flow.dst_port_be);
	}
	return strays;
}

static json_t *figures_of(const struct spread *spread, uint16_t queues, const struct tl_port_rss *rss)
{
	json_t *list = json_array();

	for (uint16_t q = 0; q < queues; q++)
		json_array_append_new(list, json_integer(spread->of_queue[q]));
	return json_pack(
		"{s:i, s:o, s:i}", "flows", (int)FLOWS, "of_queue", list, "table_entries", (int)rss->reta_size);
}

void tl_selftest_check_rss(struct tl_selftest *t, struct tl_selftest_check *check)
{
	uint16_t queues = tl_port_config(t->way.rx_port)->rx_queues, used = 0;
	struct spread spread = {0};
	struct tl_port_rss rss = {0};

	if (queues == 1) {
		tl_selftest_verdict(
			check, NULL, TL_SELFTEST_NOT_AVAILABLE, "the port has one receive queue, or no RSS");
		return;
	}
	bool predictable = tl_port_rss(t->way.rx_port, &rss);
	tl_selftest_begin_phase(t);
	bool all = send_all(t, &spread);
	for (uint16_t q = 0; q < queues; q++)
		used += spread.of_queue[q] != 0;
	json_t *figures = figures_of(&spread, queues, &rss);
	uint32_t strays = predictable ? count_strays(&spread, &rss) : 0;
	if (!all)
		tl_selftest_verdict(check, figures, TL_SELFTEST_FAIL, "some of %u frames did not arrive", FLOWS);
	else if (strays != 0)
		tl_selftest_verdict(check, figures, TL_SELFTEST_FAIL,
			"%u of %u connections arrived on another queue than by the NIC's key and table", strays, FLOWS);
	else if (used < queues)
		tl_selftest_verdict(check, figures, TL_SELFTEST_FAIL, "%u connections arrived on %u of %u queues only",
			FLOWS, used, queues);
	else if (!predictable)
		tl_selftest_verdict(check, figures, TL_SELFTEST_NOT_AVAILABLE,
			"the driver does not report key and table; %u connections arrived on all %u queues", FLOWS,
			queues);
	else
		tl_selftest_verdict(check, figures, TL_SELFTEST_PASS,
			"%u connections arrived on the %u queues given by the NIC's key and table", FLOWS, queues);
}
