// SPDX-License-Identifier: BSD-3-Clause
// Link of both ends, and whether frames sent by one arrive at the other.

#include "selftest_priv.h"

#include <inttypes.h>

#define PAUSE_NS (200 * TL_NS_PER_MS)
#define PROBES 16
#define TURNS 1000

// ---- link

static bool await_link(const struct tl_selftest *t, struct tl_port *port, uint64_t until_ns)
{
	while (!tl_port_await_link(port, PAUSE_NS))
		if (tl_clock_now_ns(t->cfg->clock) > until_ns || tl_selftest_stopped(t))
			return false;
	return true;
}

void tl_selftest_check_link(struct tl_selftest *t, struct tl_selftest_check *check)
{
	uint64_t until_ns = tl_clock_now_ns(t->cfg->clock) + t->cfg->link_wait_ns;
	bool tx_up = await_link(t, t->way.tx_port, until_ns), rx_up = await_link(t, t->way.rx_port, until_ns);
	uint64_t tx_mbps = tl_port_speed_bps(t->way.tx_port) / 1000000;
	uint64_t rx_mbps = tl_port_speed_bps(t->way.rx_port) / 1000000;
	json_t *figures = json_pack("{s:b, s:b, s:I, s:I}", "from_up", tx_up, "to_up", rx_up, "from_mbps",
		(json_int_t)tx_mbps, "to_mbps", (json_int_t)rx_mbps);

	if (!tx_up || !rx_up) {
		t->cannot = "there is no link";
		tl_selftest_verdict(check, figures, TL_SELFTEST_FAIL,
			"port %u has no link: check cable, transceiver and loopback plug",
			tx_up ? t->way.to : t->way.from);
	} else if (tx_mbps != rx_mbps) {
		tl_selftest_verdict(check, figures, TL_SELFTEST_FAIL,
			"one end has %" PRIu64 " Mbit/s, the other %" PRIu64, tx_mbps, rx_mbps);
	} else if (tx_mbps == 0) {
		tl_selftest_verdict(check, figures, TL_SELFTEST_PASS, "up; the driver reports no speed");
	} else {
		tl_selftest_verdict(check, figures, TL_SELFTEST_PASS, "up, %" PRIu64 " Mbit/s", tx_mbps);
	}
}

void tl_selftest_check_link_stays(struct tl_selftest *t, struct tl_selftest_check *check)
{
	struct tl_port_link from, to;

	tl_port_watch(t->way.tx_port);
	tl_port_watch(t->way.rx_port);
	tl_port_link(t->way.tx_port, &from);
	tl_port_link(t->way.rx_port, &to);
	uint64_t downs = from.downs + (t->way.from != t->way.to ? to.downs : 0);
	json_t *figures = json_pack("{s:I}", "downs", (json_int_t)downs);

	if (!from.known || !to.known)
		tl_selftest_verdict(check, figures, TL_SELFTEST_NOT_AVAILABLE, "the driver reports no link state");
	else if (downs != 0)
		tl_selftest_verdict(check, figures, TL_SELFTEST_FAIL, "the link went down %" PRIu64 " times", downs);
	else
		tl_selftest_verdict(check, figures, TL_SELFTEST_PASS, "the link was up at every look");
}

// ---- cable

// True if sent frames return to the port that sent them.
static bool is_looped_back(struct tl_selftest *t)
{
	struct tl_selftest_way way = t->way;
	uint32_t ours = 0;

	t->way.rx_port = way.tx_port;
	for (unsigned turn = 0; turn < TURNS && ours == 0; turn++)
		ours = tl_selftest_poll(t, NULL, NULL);
	t->way = way;
	return ours != 0;
}

void tl_selftest_check_cable(struct tl_selftest *t, struct tl_selftest_check *check)
{
	uint32_t sent = 0;

	tl_selftest_begin_phase(t);
	for (uint32_t i = 0; i < PROBES; i++) {
		struct tl_selftest_flow flow = tl_selftest_flow(i);
		sent += tl_selftest_send(t, &flow, i, TL_SELFTEST_BYTES_MIN);
	}
	uint32_t came = tl_selftest_await(t, sent, NULL, NULL);
	json_t *figures = json_pack("{s:i, s:i}", "sent", (int)sent, "received", (int)came);
	if (came == PROBES) {
		tl_selftest_verdict(check, figures, TL_SELFTEST_PASS, "%u frames of %u arrived", came, PROBES);
		return;
	}
	t->cannot = "frames do not arrive";
	if (sent < PROBES)
		tl_selftest_verdict(
			check, figures, TL_SELFTEST_FAIL, "port %u took %u frames of %u", t->way.from, sent, PROBES);
	else if (t->way.from != t->way.to && came == 0 && is_looped_back(t))
		tl_selftest_verdict(check, figures, TL_SELFTEST_FAIL,
			"port %u receives its own frames: loopback plug or loopback mode", t->way.from);
	else
		tl_selftest_verdict(check, figures, TL_SELFTEST_FAIL,
			"%u frames of %u arrived: join the two ports by a cable, or one port to itself by a loopback plug",
			came, PROBES);
}
