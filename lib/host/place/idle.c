// SPDX-License-Identifier: BSD-3-Clause
// Choice of an lcore's behaviour while idle.

#include <tl_place.h>

struct tl_place_idle tl_place_idle(
	const struct tl_config *config, const struct tl_place *place, uint32_t port, bool wakes, bool has_echo)
{
	const struct tl_config_port *cfg = &config->ports[port];

	if (place->shared[port] != 0) // polling would starve the control thread
		return (struct tl_place_idle){true, "a queue shares its CPU with the control thread"};
	if (cfg->idle != TL_IDLE_AUTO)
		return (struct tl_place_idle){cfg->idle == TL_IDLE_ADAPTIVE, "set in the configuration"};
	if (!wakes)
		return (struct tl_place_idle){false, "the device has no wake-up"};
	if (!has_echo)
		return (struct tl_place_idle){true, "no frame waits for an echo"};
	if (place->isolated[port] == cfg->rx_queues)
		return (struct tl_place_idle){false, "its CPUs are isolated"};
	return (struct tl_place_idle){true, "its CPUs are not isolated: other tasks may need them"};
}
