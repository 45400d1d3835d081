// SPDX-License-Identifier: BSD-3-Clause
// Stamping by the kernel, of frames sent to an interface. Its clock is CLOCK_REALTIME; it stamps no received PTP
// frames.

#include "timesync_priv.h"

#include <errno.h>
#include <time.h>

static int enable(void *ctx)
{
	return tl_port_enable_sent_stamps(ctx);
}

static void disable(void *ctx)
{
	(void)ctx; // only marked frames are stamped
}

static int read_clock(void *ctx, uint64_t *ns)
{
	struct timespec now;

	(void)ctx;
	clock_gettime(CLOCK_REALTIME, &now);
	*ns = (uint64_t)now.tv_sec * TL_NS_PER_S + (uint64_t)now.tv_nsec;
	return 0;
}

static int read_sent(void *ctx, uint64_t *ns)
{
	return tl_port_read_sent_stamp(ctx, ns) ? 0 : -EINVAL;
}

static int read_received(void *ctx, uint32_t latch, uint64_t *ns)
{
	(void)ctx, (void)latch, (void)ns;
	return -EINVAL;
}

const struct tl_timesync_ops tl_timesync_kernel_ops = {
	.enable = enable,
	.disable = disable,
	.read_clock = read_clock,
	.read_sent = read_sent,
	.read_received = read_received,
	.bits = 64,
	.silence = "its driver does not request the kernel's stamps, although it reports them",
};
