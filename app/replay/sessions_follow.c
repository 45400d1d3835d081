// SPDX-License-Identifier: BSD-3-Clause
// Sessions of a running recording: of each file that gets its name in a directory, once it is complete. The recording
// waits for nothing here.

#include "replay_args.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <tl_log.h>

#define LOOK_NS (10 * TL_NS_PER_MS)
#define FRAMES_AT_ONCE 64

int tl_sessions_follow_open(struct tl_sessions_run *run, struct tl_err *err)
{
	const char *dir = run->args->words[0];

	run->follow.fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (run->follow.fd < 0)
		return tl_fail(err, -errno, "--follow: inotify: %s", strerror(errno));
	if (inotify_add_watch(run->follow.fd, dir, IN_MOVED_TO | IN_MOVE_SELF | IN_ONLYDIR) < 0)
		return tl_fail(err, -errno, "--follow: %.300s: %s", dir, strerror(errno));
	tl_info("replay: follows %s", dir);
	return 0;
}

void tl_sessions_follow_close(struct tl_sessions_run *run)
{
	if (run->follow.is_open)
		tl_extract_source_close(&run->follow.source);
	if (run->follow.fd >= 0)
		close(run->follow.fd);
}

// ---- completed files

static bool has_end(const char *name, const char *end)
{
	size_t len = strlen(name), end_len = strlen(end);

	return len >= end_len && strcmp(name + len - end_len, end) == 0;
}

// True for a complete file: not hidden, incomplete, or an index.
static bool is_complete(const char *name)
{
	return name[0] != '.' && !has_end(name, ".part") && !has_end(name, ".tlx");
}

// Return true if there is an event.
static bool has_event(struct tl_sessions_follow *f)
{
	if (f->at < f->have)
		return true;
	ssize_t got = read(f->fd, f->events, sizeof(f->events));
	f->at = 0;
	f->have = got > 0 ? (size_t)got : 0;
	return f->have != 0;
}

// Return 1 with the name of the next completed file; 0: there is none; or -errno with a message.
static int next_name(struct tl_sessions_run *run, const char **name, struct tl_err *err)
{
	struct tl_sessions_follow *f = &run->follow;

	while (has_event(f)) {
		const struct inotify_event *event = (const void *)(f->events + f->at);
		f->at += sizeof(*event) + event->len;
		if ((event->mask & IN_Q_OVERFLOW) != 0) {
			f->unread_files++;
			tl_warn("--follow: files were completed faster than they are read: some are skipped");
		} else if ((event->mask & (IN_IGNORED | IN_MOVE_SELF)) != 0) {
			return tl_fail(err, -ENOENT, "--follow: %.300s was removed or renamed", run->args->words[0]);
		} else if (event->len != 0 && is_complete(event->name)) {
			*name = event->name;
			return 1;
		}
	}
	return 0;
}

static int open_next(struct tl_sessions_run *run, struct tl_err *err)
{
	struct tl_sessions_follow *f = &run->follow;
	struct tl_err damage;
	const char *name;

	int rc = next_name(run, &name, err);
	if (rc <= 0)
		return rc;
	snprintf(f->path, sizeof(f->path), "%.3800s/%s", run->args->words[0], name);
	rc = tl_extract_source_open(&f->source, f->path, &damage);
	f->is_open = rc == 0;
	f->files += rc == 0;
	tl_replay_schedule_file(&run->schedule, false);
	if (rc == -ENOENT) {
		f->unread_files++;
		tl_warn("--follow: %.300s was removed before it was read", f->path);
	} else if (rc != 0 && !tl_extract_may_be_capture(f->path)) {
		tl_info("--follow: %.300s does not begin like a capture, and is left out", f->path);
	} else if (rc != 0) {
		tl_sessions_note_damage(run, &damage);
	}
	return 0;
}

// ---- frames and sessions

static void pass_sessions(struct tl_sessions_run *run)
{
	const struct tl_session *session;

	while ((session = tl_session_take(run->set, (uint32_t)run->args->sessions.scale)) != NULL)
		if (session->is_again)
			tl_player_update(run->player, session);
		else
			tl_player_add(run->player, session);
}

static int read_some(struct tl_sessions_run *run, struct tl_err *err)
{
	struct tl_sessions_follow *f = &run->follow;
	struct tl_pcap_frame frame;
	struct tl_err damage;
	int rc = 0;

	for (int i = 0; i < FRAMES_AT_ONCE && f->is_open && rc == 0; i++) {
		int found = tl_extract_source_next(&f->source, &frame, &damage);
		if (found == 1)
			rc = tl_sessions_take_frame(run, &frame, err);
		if (found < 0)
			tl_sessions_note_damage(run, &damage);
		f->is_open = found == 1 || (found < 0 && tl_extract_source_skip(&f->source));
		if (!f->is_open)
			tl_extract_source_close(&f->source);
	}
	pass_sessions(run);
	return rc;
}

int tl_sessions_follow_turn(struct tl_sessions_run *run, uint64_t now_ns, struct tl_err *err)
{
	struct tl_sessions_follow *f = &run->follow;
	int rc = 0;

	if (!f->is_open && now_ns >= f->next_look_ns) {
		f->next_look_ns = now_ns + LOOK_NS;
		rc = open_next(run, err);
	}
	return rc == 0 && f->is_open ? read_some(run, err) : rc;
}

void tl_sessions_follow_end(struct tl_sessions_run *run)
{
	struct tl_err ignored;
	const char *name;

	tl_session_end(run->set);
	pass_sessions(run);
	run->follow.unread_files += run->follow.is_open;
	while (next_name(run, &name, &ignored) == 1)
		run->follow.unread_files++;
}
