// SPDX-License-Identifier: BSD-3-Clause
// Departure times of the segments of paced connections. A connection whose next segment has to wait is in a timing
// wheel of 1 ns: the wheel of the other timers has ticks of 262 us.

#include <stddef.h>

#include <tl_port.h>

#include "tcp_loss.h"
#include "tcp_output.h"
#include "tcp_pace.h"
#include "tcp_table.h"

#define WAKE_MAX 32 // connections per turn of the lcore, and send call
#define PART_MASK ((UINT64_C(1) << TL_TCP_PACE_SHIFT) - 1)

// Return the time from which the bytes of the next frame count. A frame that had to wait and leaves late is on
// schedule.
static uint64_t begin_ns(const struct tl_tcp *c)
{
	bool waited = c->pace_wakes || c->pace.slot != TL_WHEEL_OUT;
	uint64_t late_ns = waited ? TL_TCP_PACE_LATE_NS : 0;

	return tl_max_u64(c->net->now_ns, late_ns) - late_ns;
}

// Fractions of a nanosecond carry over, so that the rate is exact, and no frame leaves before its time.
void tl_tcp_pace_charge(struct tl_tcp *c, uint32_t bytes)
{
	uint64_t from_ns = begin_ns(c);

	if (c->pace_at_ns < from_ns) {
		c->pace_at_ns = from_ns;
		c->pace_part = PART_MASK;
	}
	bytes += c->net->cfg.vlan != 0 ? TL_VLAN_LEN : 0;
	uint64_t sum = bytes * c->pace_step + c->pace_part;
	c->pace_at_ns += sum >> TL_TCP_PACE_SHIFT;
	c->pace_part = (uint32_t)(sum & PART_MASK);
}

void tl_tcp_pace_wait(struct tl_tcp *c)
{
	struct tl_wheel *wheel = &c->net->tcp->paced;
	bool waited = c->pace.slot != TL_WHEEL_OUT;

	if (wheel->levels == 0) // few digits differ from a time close ahead
		wheel->now_ns = tl_max_u64(c->net->now_ns, wheel->now_ns);
	tl_wheel_schedule(wheel, &c->pace, tl_max_u64(c->pace_at_ns, wheel->now_ns));
	if (!waited && c->ops->paced != NULL)
		c->ops->paced(c->ctx, c);
}

// Send what is due: a retransmission before new data.
static void wake(struct tl_tcp *c)
{
	bool resend = c->pace_resend;

	c->pace_resend = false;
	c->pace_wakes = true;
	if (resend)
		tl_tcp_cc_resume(c);
	if (tl_tcp_unsent(c))
		tl_tcp_output(c);
	c->pace_wakes = false;
}

// Take the earliest connection that is due; NULL: none is.
static struct tl_tcp *pop(struct tl_net *net)
{
	struct tl_wheel_node *node = tl_wheel_pop(&net->tcp->paced, net->now_ns);

	return node != NULL ? (void *)((char *)node - offsetof(struct tl_tcp, pace)) : NULL;
}

static __attribute__((noinline)) uint16_t wake_due(struct tl_net *net, uint64_t mono_ns)
{
	struct tl_tcp *c;
	uint16_t n = 0;

	tl_net_set_time(net, mono_ns);
	for (; n < WAKE_MAX && tl_txq_has_room(net->cfg.tx) && (c = pop(net)) != NULL; n++)
		wake(c);
	return n;
}

uint16_t tl_tcp_pace(struct tl_net *net, uint64_t mono_ns)
{
	return TL_LIKELY(mono_ns < net->tcp->paced.next_ns) ? 0 : wake_due(net, mono_ns);
}

uint64_t tl_tcp_pace_next_ns(const struct tl_net *net)
{
	return net->tcp->paced.next_ns;
}
