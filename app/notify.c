// SPDX-License-Identifier: BSD-3-Clause
// Implement the protocol of sd_notify(3) without libsystemd.

#include "notify.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

// Fill in the address from the variable; a leading @ selects the abstract namespace. Return its length, or 0.
static socklen_t manager_address(struct sockaddr_un *address)
{
	const char *path = getenv("NOTIFY_SOCKET");
	size_t chars = path != NULL ? strlen(path) : 0;

	if (chars < 2 || chars >= sizeof(address->sun_path) || (path[0] != '/' && path[0] != '@'))
		return 0;
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(address->sun_path, path, chars);
	if (path[0] == '@')
		address->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + chars);
}

void tl_notify(const char *fmt, ...)
{
	struct sockaddr_un address;
	char text[512];
	va_list args;
	socklen_t len = manager_address(&address);

	if (len == 0)
		return;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	va_start(args, fmt);
	int chars = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (chars > 0 && chars < (int)sizeof(text))
		(void)sendto(fd, text, (size_t)chars, MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&address, len);
	close(fd);
}

uint64_t tl_notify_watchdog_ns(void)
{
	const char *us = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

	if (us == NULL || (pid != NULL && atoll(pid) != getpid()))
		return 0;
	return strtoull(us, NULL, 10) * TL_NS_PER_US;
}
