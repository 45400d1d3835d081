// SPDX-License-Identifier: BSD-3-Clause
// Server of the control socket.

#include "ctl_priv.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tl_err.h>
#include <tl_files.h>
#include <tl_units.h>

#define CLIENT_MS 200
#define BYTES_PER_MS 8192 // that a client sends or takes at least
#define GROUPS_MAX 256

int tl_ctl_find_group(const char *name, gid_t *out, struct tl_err *err)
{
	const struct group *group = getgrnam(name);

	if (group == NULL)
		return tl_fail(err, -ENOENT, "control.operators: no such group: \"%s\"", name);
	*out = group->gr_gid;
	return 0;
}

int tl_ctl_open(const struct tl_ctl_cfg *cfg, struct tl_ctl **out, struct tl_err *err)
{
	struct tl_ctl *ctl = calloc(1, sizeof(*ctl));

	if (ctl == NULL)
		return tl_fail(err, -ENOMEM, "control socket %s: out of memory", cfg->path);
	*ctl = (struct tl_ctl){.owner = geteuid(),
		.operators = cfg->operators,
		.client_ms = CLIENT_MS,
		.answer = cfg->answer,
		.ctx = cfg->ctx};
	int rc = tl_ctl_address(cfg->path, &ctl->address, err);
	if (rc == 0)
		rc = tl_ctl_listen(ctl, err);
	if (rc != 0) {
		free(ctl);
		return rc;
	}
	*out = ctl;
	return 0;
}

int tl_ctl_fd(const struct tl_ctl *ctl)
{
	return ctl->fd;
}

static uint64_t now_ms(void)
{
	return tl_mono_ns() / TL_NS_PER_MS;
}

// Wait for the client. False: timeout.
static bool wait_for(int fd, short events, uint64_t deadline_ms)
{
	struct pollfd poll_fd = {.fd = fd, .events = events};
	uint64_t now = now_ms();

	return now < deadline_ms && poll(&poll_fd, 1, (int)(deadline_ms - now)) == 1;
}

// Read one command line, without its newline, for the caller to free. NULL: none in time, or no text, or too long.
static char *read_command(int fd, unsigned client_ms)
{
	uint64_t deadline_ms = now_ms() + client_ms;
	size_t used = 0, size = 0;
	char *line = NULL;

	while (tl_ctl_reserve(&line, &size, used, TL_CTL_COMMAND_MAX) &&
		wait_for(fd, POLLIN, deadline_ms + used / BYTES_PER_MS)) {
		ssize_t n = recv(fd, line + used, size - 1 - used, MSG_DONTWAIT);
		if (n <= 0)
			break;
		char *newline = memchr(line + used, '\n', (size_t)n);
		size_t chars = newline != NULL ? (size_t)(newline - line) - used : (size_t)n;
		if (memchr(line + used, '\0', chars) != NULL)
			break;
		used += chars;
		line[used] = '\0';
		if (newline != NULL)
			return line;
	}
	free(line);
	return NULL;
}

static void send_all(int fd, const char *text, unsigned client_ms)
{
	uint64_t deadline_ms = now_ms() + client_ms;
	size_t len = strlen(text), sent = 0;

	while (sent < len && wait_for(fd, POLLOUT, deadline_ms + sent / BYTES_PER_MS)) {
		ssize_t n = send(fd, text + sent, len - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno != EAGAIN)
			return;
		sent += n > 0 ? (size_t)n : 0;
	}
}

// True if the client's process had this group when it connected.
static bool is_member(int fd, gid_t primary, gid_t group)
{
	gid_t groups[GROUPS_MAX];
	socklen_t size = sizeof(groups);

	if (group == TL_CTL_NO_GROUP || primary == group)
		return group != TL_CTL_NO_GROUP;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) != 0)
		return false;
	for (size_t i = 0; i < size / sizeof(groups[0]); i++)
		if (groups[i] == group)
			return true;
	return false;
}

// Split the line and set the sender's credentials. False: the kernel reports none.
static bool make_request(const struct tl_ctl *ctl, int fd, char *line, struct tl_ctl_request *out)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	char *space = strchr(line, ' ');

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
		return false;
	if (space != NULL)
		*space = '\0';
	*out = (struct tl_ctl_request){.verb = line,
		.name = space != NULL ? space + 1 : NULL,
		.uid = peer.uid,
		.pid = peer.pid,
		.may_operate = peer.uid == 0 || peer.uid == ctl->owner || is_member(fd, peer.gid, ctl->operators)};
	return true;
}

void tl_ctl_serve_client(const struct tl_ctl *ctl, int fd)
{
	struct tl_ctl_request request;
	char *line = read_command(fd, ctl->client_ms);

	if (line != NULL && make_request(ctl, fd, line, &request)) {
		char *answer = ctl->answer(ctl->ctx, &request);
		const char *failed = "{\"ok\": false, \"error\": \"no memory for a reply\"}\n";
		send_all(fd, answer != NULL ? answer : failed, ctl->client_ms);
		free(answer);
	}
	free(line);
}

void tl_ctl_serve(struct tl_ctl *ctl)
{
	int fd = accept4(ctl->fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	tl_ctl_serve_client(ctl, fd);
	close(fd);
}

void tl_ctl_close(struct tl_ctl *ctl)
{
	struct stat now;

	if (ctl == NULL)
		return;
	if (lstat(ctl->address.sun_path, &now) == 0 && tl_is_same_inode(&now, &ctl->file))
		unlink(ctl->address.sun_path);
	close(ctl->fd);
	free(ctl);
}
