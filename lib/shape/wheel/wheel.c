// SPDX-License-Identifier: BSD-3-Clause
// Set-up of a wheel.

#include <tl_wheel.h>

void tl_wheel_init(struct tl_wheel *wheel, uint64_t now_ns)
{
	*wheel = (struct tl_wheel){.now_ns = now_ns, .next_ns = TL_WHEEL_NEVER};
}
