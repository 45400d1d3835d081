// SPDX-License-Identifier: BSD-3-Clause
// Timer wheel. Each connection is in it at most once, for its earliest deadline: the cost depends on the number of
// expiries, not of connections.
//
// A deadline that moves later only changes a field: the connection wakes at the old time, finds nothing due, and is
// reinserted. One that moves earlier by more than 4 ms is inserted with a delay of 4 ms: by then its ACK has usually
// arrived. So the data path rarely touches the wheel, with one busy connection as with a million quiet ones.
//
// Near slots hold the ticks of this round (1.07 s) and the next; far slots hold one later round each. During a round
// the far slot of the next is cascaded evenly, some connections per tick, so no tick moves all that are due within a
// second. Deadlines beyond the last far slot wake early, every 18 minutes.

#include "tcp_table.h"
#include "tcp_wheel.h"

#define ROUND_TICKS (UINT64_C(1) << TL_TCP_ROUND_SHIFT)

static uint64_t round_of(uint64_t tick)
{
	return tick >> TL_TCP_ROUND_SHIFT;
}

static struct tl_tcp_slot *near_slot(struct tl_tcp_wheel *wheel, uint64_t tick)
{
	return &wheel->near[tick & (TL_TCP_NEAR_SLOTS - 1)];
}

static struct tl_tcp_far *far_slot(struct tl_tcp_wheel *wheel, uint64_t round)
{
	return &wheel->far[round & (TL_TCP_FAR_SLOTS - 1)];
}

// ---- insert and remove

static void wheel_remove(struct tl_tcp *c)
{
	if (c->wheel_ns != TL_TCP_TIMER_OFF) {
		LIST_REMOVE(c, wheel);
		if (c->far != NULL)
			c->far->n--;
		c->far = NULL;
	}
	c->wheel_ns = TL_TCP_TIMER_OFF;
	c->due_ns = TL_TCP_TIMER_OFF;
}

static void insert_near(struct tl_tcp *c, struct tl_tcp_wheel *wheel, uint64_t tick)
{
	LIST_INSERT_HEAD(near_slot(wheel, tick), c, wheel);
}

static void insert_far(struct tl_tcp *c, struct tl_tcp_wheel *wheel, uint64_t round)
{
	c->far = far_slot(wheel, round);
	c->far->n++;
	LIST_INSERT_HEAD(&c->far->slot, c, wheel);
}

static void insert(struct tl_tcp *c, uint64_t due_ns)
{
	struct tl_tcp_wheel *wheel = &c->net->tcp->wheel;
	uint64_t from_ns = tl_max_u64(due_ns, c->net->now_ns);
	uint64_t tick = (from_ns >> TL_TCP_TICK_SHIFT) + 1; // first tick not before the deadline
	uint64_t ahead = round_of(tick) - round_of(wheel->tick);

	wheel_remove(c);
	if (ahead >= TL_TCP_FAR_SLOTS) {
		ahead = TL_TCP_FAR_SLOTS - 1;
		due_ns = (round_of(wheel->tick) + ahead) << (TL_TCP_ROUND_SHIFT + TL_TCP_TICK_SHIFT);
	}
	c->wheel_ns = due_ns;
	c->due_ns = due_ns;
	if (ahead <= 1)
		insert_near(c, wheel, tick);
	else
		insert_far(c, wheel, round_of(wheel->tick) + ahead);
}

void tl_tcp_wheel_insert(struct tl_tcp *c)
{
	uint64_t earliest_ns = TL_TCP_TIMER_OFF;

	for (unsigned i = 0; i < TL_TCP_TIMERS; i++)
		earliest_ns = tl_min_u64(earliest_ns, c->deadline_ns[i]);
	if (earliest_ns < c->wheel_ns)
		insert(c, earliest_ns);
	else
		c->due_ns = c->wheel_ns;
}

void tl_tcp_timer_arm(struct tl_tcp *c, uint64_t deadline_ns)
{
	if (!tl_tcp_timer_defer(c, &c->net->tcp->wheel, c->net->now_ns, deadline_ns))
		insert(c, deadline_ns);
}

void tl_tcp_timers_stop(struct tl_tcp *c)
{
	for (unsigned i = 0; i < TL_TCP_TIMERS; i++)
		c->deadline_ns[i] = TL_TCP_TIMER_OFF;
	wheel_remove(c);
}

// ---- advance

static void check_armed(struct tl_tcp_wheel *wheel, uint64_t tick)
{
	struct tl_tcp **list = &wheel->armed[tick & (TL_TCP_ARM_TICKS - 1)];
	struct tl_tcp *c = *list, *next;
	uint64_t n = 0;

	*list = NULL;
	for (; c != NULL; c = next, n++) {
		next = c->armed_next;
		c->armed = false;
		tl_tcp_wheel_insert(c);
	}
	wheel->visits += n;
}

static void cascade(struct tl_tcp_wheel *wheel)
{
	struct tl_tcp_far *far = far_slot(wheel, round_of(wheel->tick) + 1);
	struct tl_tcp *c;

	for (uint32_t n = 0; n < wheel->quota && (c = LIST_FIRST(&far->slot)) != NULL; n++) {
		wheel->visits++;
		wheel_remove(c);
		tl_tcp_wheel_insert(c);
	}
}

static void wake_slot(struct tl_tcp_table *table, struct tl_tcp_slot *slot)
{
	struct tl_tcp_slot due = *slot;
	struct tl_tcp *c;

	LIST_INIT(slot);
	if (due.lh_first != NULL)
		due.lh_first->wheel.le_prev = &due.lh_first;
	while ((c = LIST_FIRST(&due)) != NULL) { // callbacks may end, and so remove, other connections of the list
		table->wheel.visits++;
		wheel_remove(c);
		tl_tcp_enter(table);
		tl_tcp_wake(c);
		tl_tcp_leave(table);
	}
}

static void set_tick(struct tl_tcp_wheel *wheel, uint64_t tick)
{
	wheel->tick = tick;
	wheel->armed_last = (tick - 1) & (TL_TCP_ARM_TICKS - 1);
}

static void turn(struct tl_tcp_table *table, uint64_t tick)
{
	struct tl_tcp_wheel *wheel = &table->wheel;

	set_tick(wheel, tick);
	if ((tick & (ROUND_TICKS - 1)) == 0)
		wheel->quota = (far_slot(wheel, round_of(tick) + 1)->n + ROUND_TICKS - 1) >> TL_TCP_ROUND_SHIFT;
	check_armed(wheel, tick);
	cascade(wheel);
	wake_slot(table, near_slot(wheel, tick));
}

// Catch up after a stall: expire all near slots, and the far slots that may be due.
static void jump(struct tl_tcp_table *table, uint64_t tick)
{
	struct tl_tcp_wheel *wheel = &table->wheel;
	uint64_t round = round_of(wheel->tick) + 1;
	uint64_t last = tl_min_u64(round_of(tick) + 1, round + TL_TCP_FAR_SLOTS - 1);

	set_tick(wheel, tick);
	wheel->quota = 0;
	for (unsigned i = 0; i < TL_TCP_ARM_TICKS; i++)
		check_armed(wheel, i);
	for (unsigned i = 0; i < TL_TCP_NEAR_SLOTS; i++)
		wake_slot(table, &wheel->near[i]);
	for (; round <= last; round++)
		wake_slot(table, &far_slot(wheel, round)->slot);
}

// Apart from tl_tcp_tick(), which has nothing to save while the tick has not moved.
static __attribute__((noinline)) void advance(struct tl_tcp_table *table, uint64_t tick)
{
	if (tick > table->wheel.tick + TL_TCP_NEAR_SLOTS)
		jump(table, tick);
	while (table->wheel.tick < tick)
		turn(table, table->wheel.tick + 1);
}

void tl_tcp_tick(struct tl_net *net)
{
	struct tl_tcp_table *table = net->tcp;
	uint64_t tick = net->now_ns >> TL_TCP_TICK_SHIFT;

	if (net->tcp_pending)
		tl_tcp_burst_done(net);
	if (table->wheel.tick < tick)
		advance(table, tick);
}
