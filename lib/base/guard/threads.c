// SPDX-License-Identifier: BSD-3-Clause
// Calls a function in every thread of the process. Capabilities and Landlock are properties of a thread, and DPDK and
// its drivers have their own threads; each is therefore sent a signal, as the C library does for setuid().

#include "guard_priv.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include <linux/capability.h>
#include <unistd.h>

#include <tl_err.h>

#define SIGNAL (SIGRTMIN + 7)
#define TIMEOUT_S 10
#define LATE_MS 100	     // a signalled thread that has not ended has run by then
#define KERNEL_WORKER "iou-" // threads of io_uring: they have the rights of the submitter

struct call {
	int (*fn)(void *arg);
	void *arg;
	pid_t *signalled; // threads that were sent the signal
	size_t n_signalled;
	atomic_int rc;	   // first error
	atomic_uint begun; // threads that received the signal
	atomic_uint done;  // threads that have handled it
	atomic_bool over;  // fn is no longer called
};

static time_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	struct call *call = info->si_value.sival_ptr;
	int saved = errno, none = 0;

	atomic_fetch_add(&call->begun, 1);
	int rc = atomic_load(&call->over) ? 0 : call->fn(call->arg);
	if (rc != 0)
		(void)atomic_compare_exchange_strong(&call->rc, &none, rc);
	atomic_fetch_add(&call->done, 1);
	errno = saved;
}

struct thread {
	char name[32];
	bool is_kernels, blocks_signal, has_capabilities, has_no_new_privs;
};

static void read_line(char *line, struct thread *out)
{
	char *value = line + strcspn(line, "\t");
	uint64_t bits = strtoull(value, NULL, 16);

	if (strncmp(line, "Name:\t", strlen("Name:\t")) == 0)
		snprintf(out->name, sizeof(out->name), "%.*s", (int)strcspn(value + 1, "\n"), value + 1);
	if (strncmp(line, "SigBlk:", strlen("SigBlk:")) == 0)
		out->blocks_signal = (bits >> (SIGNAL - 1) & 1) != 0;
	if (strncmp(line, "CapPrm:", strlen("CapPrm:")) == 0)
		out->has_capabilities = (bits & ~(UINT64_C(1) << CAP_DAC_OVERRIDE)) != 0;
	if (strncmp(line, "NoNewPrivs:", strlen("NoNewPrivs:")) == 0)
		out->has_no_new_privs = bits != 0;
}

// Read the kernel's status of a thread. Return 1, 0: it has ended, or -errno.
static int look_at(pid_t tid, struct thread *out)
{
	char path[64], line[128];

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return errno == ENOENT ? 0 : -errno;
	*out = (struct thread){0};
	while (fgets(line, sizeof(line), file) != NULL)
		read_line(line, out);
	int error = ferror(file) ? errno : 0;
	out->is_kernels = strncmp(out->name, KERNEL_WORKER, strlen(KERNEL_WORKER)) == 0;
	fclose(file);
	return error == 0 ? 1 : error == ESRCH ? 0 : -error;
}

static bool lacks(const struct thread *thread, enum guard_goal goal)
{
	return goal == GUARD_NO_CAPABILITIES ? thread->has_capabilities : !thread->has_no_new_privs;
}

static bool is_signalled(const struct call *call, pid_t tid)
{
	for (size_t i = 0; i < call->n_signalled; i++)
		if (call->signalled[i] == tid)
			return true;
	return false;
}

// Send the signal to a thread, once. Return 0 or -errno.
static int send_signal(struct call *call, pid_t tid)
{
	siginfo_t info = {.si_signo = SIGNAL, .si_code = SI_QUEUE, .si_value.sival_ptr = call};

	if (is_signalled(call, tid))
		return 0;
	pid_t *more = reallocarray(call->signalled, call->n_signalled + 1, sizeof(*more));
	if (more == NULL)
		return -ENOMEM;
	call->signalled = more;
	info.si_pid = getpid();
	info.si_uid = getuid();
	if (syscall(SYS_rt_tgsigqueueinfo, getpid(), tid, SIGNAL, &info) != 0)
		return errno == ESRCH || errno == EAGAIN ? 0 : -errno; // it has ended, or is tried again
	call->signalled[call->n_signalled++] = tid;
	return 0;
}

// Signal the threads that lack the goal, except those that block the signal: they are starting, ending, or our own.
// Return 1 if no thread lacks the goal, 0 if one does, whose state is in last, or -errno.
static int signal_threads(struct call *call, enum guard_goal goal, struct thread *last)
{
	const struct dirent *entry;
	struct thread thread;
	DIR *dir = opendir("/proc/self/task");
	int rc = dir != NULL ? 1 : -errno;

	while (rc >= 0 && (errno = 0, entry = readdir(dir)) != NULL) {
		pid_t tid = atoi(entry->d_name);
		int found = tid == 0 || tid == gettid() ? 0 : look_at(tid, &thread);
		if (found < 0)
			rc = found;
		if (found <= 0 || thread.is_kernels || !lacks(&thread, goal))
			continue;
		*last = thread;
		rc = thread.blocks_signal ? 0 : send_signal(call, tid);
	}
	if (rc >= 0 && errno != 0) // of readdir()
		rc = -errno;
	if (dir != NULL)
		closedir(dir);
	return rc;
}

// Signal threads, also those created meanwhile, until none lacks the goal, or fn has failed.
static int reach_threads(struct call *call, enum guard_goal goal, struct tl_err *err)
{
	time_t deadline_s = now_s() + TIMEOUT_S + 1;
	struct thread last;
	int rc;

	while ((rc = signal_threads(call, goal, &last)) == 0 && atomic_load(&call->rc) == 0) {
		if (now_s() >= deadline_s)
			return tl_fail(err, -ETIMEDOUT,
				"thread \"%s\" of DPDK or a driver cannot be restricted: it blocks signal %d",
				last.name, SIGNAL);
		(void)poll(NULL, 0, 1);
	}
	return rc >= 0 ? 0 : tl_fail(err, rc, "cannot signal the threads in /proc/self/task (%s)", strerror(-rc));
}

// Wait until no thread is in fn, and for the signalled ones a moment. Free the call and restore the handler, unless one
// has not handled the signal: it has ended, is stuck, or has reached the goal by itself.
static void end_call(struct call *call, const struct sigaction *before)
{
	atomic_store(&call->over, true);
	for (unsigned ms = 0; atomic_load(&call->done) < call->n_signalled && ms < LATE_MS; ms++)
		(void)poll(NULL, 0, 1);
	while (atomic_load(&call->done) < atomic_load(&call->begun))
		(void)poll(NULL, 0, 1);
	free(call->signalled);
	if (atomic_load(&call->done) < call->n_signalled)
		return;
	sigaction(SIGNAL, before, NULL);
	free(call);
}

int guard_each_thread(enum guard_goal goal, int (*fn)(void *arg), void *arg, struct tl_err *err)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART}, before;
	struct call *call = calloc(1, sizeof(*call));

	if (call == NULL)
		return tl_fail(err, -ENOMEM, "no memory to restrict threads");
	call->fn = fn;
	call->arg = arg;
	sigaction(SIGNAL, &action, &before);
	int rc = reach_threads(call, goal, err);
	int failed = atomic_load(&call->rc);
	if (rc == 0 && failed != 0)
		rc = tl_fail(err, failed, "a thread cannot be restricted (%s)", strerror(-failed));
	end_call(call, &before);
	return rc;
}
