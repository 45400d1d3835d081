// SPDX-License-Identifier: BSD-3-Clause
// Check that every frame is counted once: arriving ones by the port, by the driver and by the MAC; and lost ones, for
// lack of polling.

#include "selftest_priv.h"

#include <inttypes.h>

#include <rte_ethdev.h>

#define FRAMES 1024u
#define BATCH 32u // in transit at once: within the size of any ring
#define FLOWS 16u

// ---- every frame once

struct tally {
	uint8_t seen[FRAMES];
	uint32_t last[FLOWS]; // number of the last frame of each flow, + 1
	uint32_t came, again, damaged, disordered;
};

static void note(void *ctx, const struct tl_selftest_frame *frame)
{
	struct tally *tally = ctx;

	if (frame->number >= FRAMES) {
		tally->damaged++;
		return;
	}
	uint32_t flow = frame->number % FLOWS;
	tally->damaged += !frame->whole;
	tally->again += tally->seen[frame->number];
	tally->came += !tally->seen[frame->number];
	tally->disordered += frame->number + 1 < tally->last[flow];
	tally->seen[frame->number] = 1;
	tally->last[flow] = frame->number + 1;
}

// Send frames of 60 to 1514 bytes, each length about once. If some do not arrive, the others are not tried.
static uint32_t send_all(struct tl_selftest *t, struct tally *tally)
{
	uint32_t sent = 0;

	for (uint32_t i = 0; i < FRAMES && !tl_selftest_stopped(t); i++) {
		uint32_t bytes =
			TL_SELFTEST_BYTES_MIN + i * (TL_SELFTEST_BYTES_MAX - TL_SELFTEST_BYTES_MIN) / (FRAMES - 1);
		struct tl_selftest_flow flow = tl_selftest_flow(i % FLOWS);
		sent += tl_selftest_send(t, &flow, i, bytes);
		if ((i + 1) % BATCH == 0 && tally->came < sent &&
			tl_selftest_await(t, sent - tally->came, note, tally) < sent - tally->came)
			break;
	}
	return sent;
}

// Read the driver's counts, if they are its own; the kernel's would be cleared by reading.
static bool driver_counts(const struct tl_port *port, uint16_t port_id, struct rte_eth_stats *out)
{
	return !tl_port_counts_by_sockets(port) && rte_eth_stats_get(port_id, out) == 0;
}

struct driver_account {
	bool known;
	struct rte_eth_stats tx, rx;
};

static void read_drivers(const struct tl_selftest *t, struct driver_account *out)
{
	out->known = driver_counts(t->way.tx_port, t->way.tx->port_id, &out->tx) &&
		     driver_counts(t->way.rx_port, tl_port_rxq(t->way.rx_port, 0)->port_id, &out->rx);
}

struct counted {
	struct tally tally;
	uint32_t sent;
	struct tl_selftest_account before, after;
	struct driver_account driver_before, driver_after;
};

static json_t *figures_of(const struct counted *c)
{
	json_t *figures = json_pack("{s:i, s:i, s:i, s:i, s:i, s:I, s:I, s:b, s:I}", "sent", (int)c->sent, "received",
		(int)c->tally.came, "duplicated", (int)c->tally.again, "damaged", (int)c->tally.damaged, "disordered",
		(int)c->tally.disordered, "drops", (json_int_t)tl_selftest_drops(&c->before, &c->after), "foreign",
		(json_int_t)(c->after.foreign_pkts - c->before.foreign_pkts), "hw_seen_verified",
		c->after.port.verified, "hw_seen",
		(json_int_t)(c->after.port.hw_seen_pkts - c->before.port.hw_seen_pkts));

	if (c->driver_after.known && figures != NULL)
		json_object_update_new(
			figures, json_pack("{s:I, s:I}", "driver_sent",
					 (json_int_t)(c->driver_after.tx.opackets - c->driver_before.tx.opackets),
					 "driver_received",
					 (json_int_t)(c->driver_after.rx.ipackets - c->driver_before.rx.ipackets)));
	return figures;
}

static void check_frames(const struct counted *c, struct tl_selftest_check *check, json_t *figures)
{
	const struct tally *tally = &c->tally;

	if (tally->came < c->sent)
		tl_selftest_verdict(check, figures, TL_SELFTEST_FAIL,
			"%u frames of %u did not arrive; the receiving port counts %" PRIu64 " as dropped",
			c->sent - tally->came, c->sent, tl_selftest_drops(&c->before, &c->after));
	else if (c->sent < FRAMES)
		tl_selftest_verdict(check, figures, TL_SELFTEST_FAIL, "the port took %u frames of %u", c->sent, FRAMES);
	else
		tl_selftest_verdict(check, figures, TL_SELFTEST_FAIL,
			"of %u frames %u were duplicated, %u damaged, %u reordered", c->sent, tally->again,
			tally->damaged, tally->disordered);
}

static bool accounts_agree(const struct counted *c)
{
	uint64_t seen = c->after.port.hw_seen_pkts - c->before.port.hw_seen_pkts;

	return seen == c->after.rx_pkts - c->before.rx_pkts + tl_selftest_drops(&c->before, &c->after);
}

static void check_accounts(const struct counted *c, struct tl_selftest_check *check, json_t *figures)
{
	uint64_t out = c->driver_after.tx.opackets - c->driver_before.tx.opackets;
	uint64_t in = c->driver_after.rx.ipackets - c->driver_before.rx.ipackets;
	uint64_t polled = c->after.rx_pkts - c->before.rx_pkts;

	if (!accounts_agree(c))
		tl_selftest_verdict(check, figures, TL_SELFTEST_FAIL,
			"%u frames arrived, but the account does not add up: hw_seen is not the sum of polled and dropped frames",
			c->sent);
	else if (c->driver_after.known && (out < c->sent || in != polled))
		tl_selftest_verdict(check, figures, TL_SELFTEST_FAIL,
			"%u frames were sent and %" PRIu64 " polled, but the driver counts %" PRIu64 " and %" PRIu64,
			c->sent, polled, out, in);
	else
		tl_selftest_verdict(check, figures, TL_SELFTEST_PASS,
			"%u frames of 60 to 1514 bytes arrived once, whole and in order; %s", c->sent,
			c->after.port.verified ? "the count of an independent source agrees"
					       : "only the driver counts them");
}

void tl_selftest_check_counters(struct tl_selftest *t, struct tl_selftest_check *check)
{
	struct counted c = {0};

	tl_selftest_begin_phase(t);
	read_drivers(t, &c.driver_before);
	tl_selftest_account(t, &c.before);
	t->way.compares = true;
	c.sent = send_all(t, &c.tally);
	t->way.compares = false;
	tl_selftest_account(t, &c.after);
	read_drivers(t, &c.driver_after);
	json_t *figures = figures_of(&c);
	if (c.sent < FRAMES || c.tally.came < c.sent || c.tally.again + c.tally.damaged + c.tally.disordered != 0)
		check_frames(&c, check, figures);
	else
		check_accounts(&c, check, figures);
}

// ---- unpolled frames

// More frames than the rings and the packet buffer of a port hold: 512 KiB of ixgbe's are 8192 frames, AF_PACKET's ring
// as many.
#define OVERRUN 65536u
#define OTHERS 16u // foreign frames, such as the kernel's, that may be among the lost ones

struct overrun {
	uint32_t sent, came;
	uint64_t drops;
	bool refused;
};

// Receive until all are accounted for, or no more arrive.
static void receive_rest(struct tl_selftest *t, const struct tl_selftest_account *before,
	struct tl_selftest_account *after, struct overrun *o)
{
	uint64_t until_ns = tl_clock_now_ns(t->cfg->clock) + t->cfg->silence_ns;
	bool late = false;

	while (o->came < o->sent && !late && !tl_selftest_stopped(t)) {
		late = tl_clock_now_ns(t->cfg->clock) >=
		       until_ns; // before the poll: this thread may have been suspended
		uint32_t more = tl_selftest_poll(t, NULL, NULL);
		if (more != 0) {
			o->came += more;
			until_ns = tl_clock_now_ns(t->cfg->clock) + t->cfg->silence_ns;
			late = false;
			continue;
		}
		tl_selftest_account(t, after);
		o->drops = tl_selftest_drops(before, after);
		if (o->came + o->drops >= o->sent && o->drops != 0)
			return;
	}
	tl_selftest_account(t, after);
	o->drops = tl_selftest_drops(before, after);
}

static void check_overrun(const struct overrun *o, uint64_t foreign, struct tl_selftest_check *check)
{
	uint64_t missing = o->sent - tl_min_u64(o->came, o->sent);
	json_t *figures =
		json_pack("{s:I, s:I, s:I, s:I, s:b}", "sent", (json_int_t)o->sent, "received", (json_int_t)o->came,
			"drops", (json_int_t)o->drops, "foreign", (json_int_t)foreign, "refused", o->refused);

	if (missing > o->drops)
		tl_selftest_verdict(check, figures, TL_SELFTEST_FAIL,
			"%" PRIu64 " of %u frames are missing, and no counter shows %" PRIu64 " of them", missing,
			o->sent, missing - o->drops);
	else if (o->drops > missing + foreign + OTHERS)
		tl_selftest_verdict(check, figures, TL_SELFTEST_FAIL,
			"%" PRIu64 " of %u frames are missing, but %" PRIu64 " are counted", missing, o->sent,
			o->drops);
	else if (o->drops == 0)
		tl_selftest_verdict(check, figures, TL_SELFTEST_NOT_AVAILABLE, "%s",
			o->refused
				? "the sender was held back (pause frames are on, or the port has no wire): nothing was lost"
				: "the buffers held every frame: nothing was lost");
	else
		tl_selftest_verdict(check, figures, TL_SELFTEST_PASS,
			"%" PRIu64 " of %u frames were lost while the queue was not polled, and each was counted",
			missing, o->sent);
}

// Nothing is polled until all frames are sent.
void tl_selftest_check_drops(struct tl_selftest *t, struct tl_selftest_check *check)
{
	struct tl_selftest_flow flow = tl_selftest_flow(0);
	struct tl_selftest_account before, after;
	struct overrun o = {0};

	tl_selftest_begin_phase(t);
	tl_selftest_account(t, &before);
	while (o.sent < OVERRUN && !o.refused && !tl_selftest_stopped(t)) {
		o.refused = !tl_selftest_send(t, &flow, o.sent, TL_SELFTEST_BYTES_MIN);
		o.sent += !o.refused;
	}
	receive_rest(t, &before, &after, &o);
	check_overrun(&o, after.foreign_pkts - before.foreign_pkts, check);
}
