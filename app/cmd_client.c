// SPDX-License-Identifier: BSD-3-Clause
// tapline client: measures an echo from outside, with sockets of the kernel.

#include "app.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <tl_client.h>
#include <tl_log.h>
#include <tl_units.h>

static atomic_bool stop;

static void ask_to_stop(int signal_number)
{
	atomic_store_explicit(&stop, true, memory_order_relaxed);
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = ask_to_stop};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

static void describe(const struct tl_client_progress *progress, char *text, size_t size)
{
	double elapsed_s = (double)progress->elapsed_ns / (double)TL_NS_PER_S;
	double total_s = (double)progress->total_ns / (double)TL_NS_PER_S;

	if (progress->phase == TL_CLIENT_CONNECTING)
		snprintf(text, size, "waiting for the connection, %.0f of %.10g s", elapsed_s, total_s);
	else if (progress->phase == TL_CLIENT_SENDING)
		snprintf(text, size, "%.0f of %.10g s, sent %" PRIu64 ", received %" PRIu64, elapsed_s, total_s,
			progress->sent, progress->received);
	else
		snprintf(text, size, "waiting for missing echoes, sent %" PRIu64 ", received %" PRIu64, progress->sent,
			progress->received);
}

static void show_progress(void *ctx, const struct tl_client_progress *progress)
{
	const bool *tty = ctx;
	char text[128];

	describe(progress, text, sizeof(text));
	if (*tty)
		fprintf(stderr, "\r\033[K%s", text);
	else
		tl_info("%s", text);
}

static int show_result(const struct tl_client_result *result, bool as_json)
{
	if (!as_json) {
		tl_client_result_print(result, stdout);
		return fflush(stdout) == 0 ? 0 : -errno;
	}
	json_t *json = tl_client_result_json(result);
	int ret = json == NULL ? -ENOMEM : json_dumpf(json, stdout, JSON_INDENT(2)) == 0 ? 0 : -EIO;
	json_decref(json);
	fputc('\n', stdout);
	return ret == 0 && fflush(stdout) != 0 ? -errno : ret;
}

static int measure(struct tl_client_args *args)
{
	struct tl_client_result result;
	struct tl_err err;
	bool tty = isatty(STDERR_FILENO) == 1;
	const struct tl_client_hooks hooks = {.stop = &stop, .progress = show_progress, .ctx = &tty};

	if (getrandom(&args->cfg.seed, sizeof(args->cfg.seed), 0) < 0)
		args->cfg.seed = (uint64_t)getpid();
	catch_signals();
	int ret = tl_client_run(&args->cfg, &hooks, &result, &err);
	if (tty)
		fputs("\r\033[K", stderr);
	if (ret != 0) {
		tl_error("%s", err.text);
		return TL_EXIT_FAILED;
	}
	ret = show_result(&result, args->json);
	if (ret != 0)
		tl_error("cannot write the results to stdout: %s", strerror(-ret));
	if (tl_client_judge(&result, &err) != 0) {
		tl_error("%s", err.text);
		return TL_EXIT_FAILED;
	}
	return ret == 0 ? TL_EXIT_OK : TL_EXIT_FAILED;
}

int tl_cmd_client(int argc, char **argv)
{
	struct tl_client_args args;
	struct tl_err err;

	if (tl_client_parse_args(argc, argv, &args, &err) != 0) {
		tl_error("%s", err.text);
		return TL_EXIT_USAGE;
	}
	if (args.help) {
		tl_client_print_help(stdout);
		return 0;
	}
	return measure(&args);
}
