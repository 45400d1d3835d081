// SPDX-License-Identifier: BSD-3-Clause
// Fast retransmission, which can be disabled: the linker replaces the stack's functions by these (--wrap). The timers
// are disabled in sim.c.

#include "sim.h"

void __real_tl_tcp_cc_repair(struct tl_tcp *c);
void __wrap_tl_tcp_cc_repair(struct tl_tcp *c);
void __real_tl_tcp_cc_dup_ack(struct tl_tcp *c);
void __wrap_tl_tcp_cc_dup_ack(struct tl_tcp *c);

static bool is_disabled(const struct tl_tcp *c)
{
	const struct wire *wire = c->net->cfg.tx->backend;
	const struct sim *sim = wire->user;

	return sim->without == SIM_WITHOUT_FAST;
}

// Losses found by RACK.
void __wrap_tl_tcp_cc_repair(struct tl_tcp *c)
{
	if (!is_disabled(c))
		__real_tl_tcp_cc_repair(c);
}

// Losses found by three duplicate ACKs.
void __wrap_tl_tcp_cc_dup_ack(struct tl_tcp *c)
{
	if (!is_disabled(c))
		__real_tl_tcp_cc_dup_ack(c);
}
