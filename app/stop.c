// SPDX-License-Identifier: BSD-3-Clause
// A signal handler reaches static memory only: this is the one flag of the process.

#include "stop.h"

#include <signal.h>
#include <stddef.h>

static atomic_bool stop;

void tl_stop_request(void)
{
	atomic_store_explicit(&stop, true, memory_order_relaxed);
}

static void on_signal(int signal_number)
{
	tl_stop_request();
}

const atomic_bool *tl_stop_on_signals(void)
{
	const struct sigaction action = {.sa_handler = on_signal};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	return &stop;
}

bool tl_stop_requested(void)
{
	return atomic_load_explicit(&stop, memory_order_relaxed);
}
