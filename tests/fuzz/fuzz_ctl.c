// SPDX-License-Identifier: BSD-3-Clause
// Fuzz the control socket with a client's bytes: a complete line is one request, its reply arrives complete, and
// anything else is dropped without a reply.

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ctl_priv.h"

#define INPUT_MAX (1u << 17) // within the buffer of a socket
#define CLIENT_MS 60000	     // never reached, on a busy host either
#define REPLY "{\"ok\": true}"
#define NO_MEMORY "{\"ok\": false, \"error\": \"no memory for a reply\"}\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	unsigned requests;
	char line[INPUT_MAX]; // verb and name, joined again
	bool is_known;
};

static void require(bool holds)
{
	if (!holds)
		abort();
}

static char *answer(void *ctx, const struct tl_ctl_request *request)
{
	struct seen *seen = ctx;

	require(strpbrk(request->verb, " \n") == NULL);
	require(request->name == NULL || strchr(request->name, '\n') == NULL);
	require(request->uid == getuid() && request->may_operate);
	seen->requests++;
	seen->is_known = strcmp(request->verb, "status") == 0;
	strcpy(seen->line, request->verb);
	if (request->name != NULL)
		strcat(strcat(seen->line, " "), request->name);
	return seen->is_known ? strdup(REPLY) : NULL;
}

// Return the length of the line at the start of the input, or -1 if it has no end or is too long.
static ssize_t line_chars(const uint8_t *data, size_t size)
{
	size_t room = size < TL_CTL_COMMAND_MAX - 1 ? size : TL_CTL_COMMAND_MAX - 1;

	for (size_t i = 0; i < room && data[i] != '\0'; i++)
		if (data[i] == '\n')
			return (ssize_t)i;
	return -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen seen = {0};
	struct tl_ctl ctl = {.owner = getuid(),
		.operators = TL_CTL_NO_GROUP,
		.client_ms = CLIENT_MS,
		.answer = answer,
		.ctx = &seen};
	char reply[256] = "";
	int ends[2];

	if (size > INPUT_MAX)
		return 0;
	require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
	require(send(ends[0], data, size, 0) == (ssize_t)size && shutdown(ends[0], SHUT_WR) == 0);
	tl_ctl_serve_client(&ctl, ends[1]);
	close(ends[1]);
	ssize_t chars = line_chars(data, size), n = read(ends[0], reply, sizeof(reply) - 1);
	close(ends[0]);
	require(seen.requests == (chars >= 0));
	if (chars < 0) {
		require(n <= 0); // -1: connection reset with unread bytes
		return 0;
	}
	require(strlen(seen.line) == (size_t)chars && memcmp(seen.line, data, (size_t)chars) == 0);
	require(strcmp(reply, seen.is_known ? REPLY : NO_MEMORY) == 0 || n < 0);
	return 0;
}
