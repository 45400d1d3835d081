// SPDX-License-Identifier: BSD-3-Clause
// Keys in the terminal while a replay runs.

#include "replay_keys.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include <tl_log.h>
#include <tl_units.h>

#include "replay_control.h"

#define ESCAPE '\033'
#define HELP "keys: space pauses and resumes, + and - change the speed, [ and ] or arrows seek by 10 s, q ends"

// ---- terminal

// Signals that end or stop the process while the terminal is changed. SIGINT and SIGTERM end the run in order.
static const int signals[] = {SIGQUIT, SIGHUP, SIGABRT, SIGSEGV, SIGPIPE, SIGTSTP};
static struct sigaction actions_before[TL_ARRAY_LEN(signals)];
static struct termios terminal_before, terminal_raw; // for the signal handler; set before it is installed

static bool is_foreground(void)
{
	return tcgetpgrp(STDIN_FILENO) == getpgrp();
}

// Restore the terminal, and let the signal do what it would have done. After a stop take the keys again.
static void on_signal(int number)
{
	const struct sigaction again = {.sa_handler = on_signal}, none = {.sa_handler = SIG_DFL};
	int error = errno;
	sigset_t only;

	(void)tcsetattr(STDIN_FILENO, TCSANOW, &terminal_before);
	sigaction(number, &none, NULL);
	sigemptyset(&only);
	sigaddset(&only, number);
	raise(number);
	sigprocmask(SIG_UNBLOCK, &only, NULL); // here it ends, or stops
	sigaction(number, &again, NULL);
	if (is_foreground())
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &terminal_raw);
	errno = error;
}

void tl_replay_keys_open(struct tl_replay_keys *keys)
{
	const struct sigaction action = {.sa_handler = on_signal};

	*keys = (struct tl_replay_keys){
		.on = isatty(STDIN_FILENO) == 1 && is_foreground() && tcgetattr(STDIN_FILENO, &terminal_before) == 0};
	if (!keys->on)
		return;
	terminal_raw = terminal_before;
	terminal_raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	terminal_raw.c_cc[VMIN] = 1;
	terminal_raw.c_cc[VTIME] = 0;
	for (size_t i = 0; i < TL_ARRAY_LEN(signals); i++)
		sigaction(signals[i], &action, &actions_before[i]);
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &terminal_raw);
	tl_info(HELP);
}

void tl_replay_keys_close(struct tl_replay_keys *keys)
{
	if (!keys->on)
		return;
	keys->on = false;
	(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal_before);
	for (size_t i = 0; i < TL_ARRAY_LEN(signals); i++)
		sigaction(signals[i], &actions_before[i], NULL);
}

int tl_replay_keys_fd(const struct tl_replay_keys *keys)
{
	return keys->on && is_foreground() ? STDIN_FILENO : -1; // in the background a read would stop the process
}

// ---- keys

// Execute a verb, and print the state after it, or the error.
static void operate(struct tl_replay_session *s, const char *verb, const char *value)
{
	struct tl_replay_stats stats;
	char position[32];
	struct tl_err err;

	if (tl_replay_operate(s, verb, value, &err) != 0) {
		tl_warn("%s", err.text);
		return;
	}
	tl_replay_sample(s->replay, &stats);
	tl_info("%s: %s at %s, speed %" PRIu64 ".%02" PRIu64, verb,
		stats.state == TL_REPLAY_PLAYING  ? "playing"
		: stats.state == TL_REPLAY_PAUSED ? "paused"
						  : "seeking",
		tl_format_ns(stats.position_ns, position, sizeof(position)), stats.speed / TL_REPLAY_MILLION,
		stats.speed % TL_REPLAY_MILLION / 10000);
}

// Double or halve the speed, within its range.
static void change_speed(struct tl_replay_session *s, bool faster)
{
	struct tl_replay_stats stats;
	char value[32];

	tl_replay_sample(s->replay, &stats);
	uint64_t speed = faster ? tl_min_u64(2 * stats.speed, TL_REPLAY_SPEED_MAX)
				: tl_max_u64(stats.speed / 2, TL_REPLAY_SPEED_MIN);
	snprintf(value, sizeof(value), "%" PRIu64 ".%06" PRIu64, speed / TL_REPLAY_MILLION, speed % TL_REPLAY_MILLION);
	operate(s, "speed", value);
}

static void toggle_pause(struct tl_replay_session *s)
{
	struct tl_replay_stats stats;

	tl_replay_sample(s->replay, &stats);
	operate(s, stats.paused ? "resume" : "pause", NULL);
}

// Return the key that a byte completes, with the brackets for the arrows; 0: none yet, or none.
static char key_of(struct tl_replay_keys *keys, char byte)
{
	bool arrow = keys->escape == 2;

	if (byte == ESCAPE || (keys->escape == 1 && (byte == '[' || byte == 'O'))) {
		keys->escape = byte == ESCAPE ? 1 : 2;
		return 0;
	}
	keys->escape = arrow && strchr("0123456789;", byte) != NULL ? 2 : 0; // parameters of the sequence
	if (!arrow)
		return byte;
	return byte == 'C' ? ']' : byte == 'D' ? '[' : 0;
}

static bool press(struct tl_replay_session *s, char key)
{
	switch (key) {
	case ' ':
		toggle_pause(s);
		return false;
	case '+':
	case '-':
		change_speed(s, key == '+');
		return false;
	case '[':
	case ']':
		operate(s, "seek", key == ']' ? "+10s" : "-10s");
		return false;
	case 'h':
	case '?':
		tl_info(HELP);
		return false;
	default:
		return key == 'q';
	}
}

bool tl_replay_keys_read(struct tl_replay_keys *keys, struct tl_replay_session *session)
{
	char bytes[64];
	ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));
	bool ends = false;

	if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) // the terminal is gone
		tl_replay_keys_close(keys);
	for (ssize_t i = 0; i < n; i++)
		ends |= press(session, key_of(keys, bytes[i]));
	return ends;
}
