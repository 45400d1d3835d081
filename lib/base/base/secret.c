// SPDX-License-Identifier: BSD-3-Clause
// Secrets from getrandom(2).

#include "tl_secret.h"

#include <errno.h>
#include <stdint.h>
#include <sys/random.h>

int tl_secret_fill(void *out, size_t bytes)
{
	uint8_t *at = out, *end = at + bytes;

	while (at < end) {
		ssize_t n = getrandom(at, (size_t)(end - at), 0);
		if (n < 0 && errno != EINTR)
			return -errno;
		at += n > 0 ? n : 0;
	}
	return 0;
}
