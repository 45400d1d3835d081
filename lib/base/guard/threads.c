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
#define KERNEL_WORKER "iou-" // threads of io_uring: they have the rights of the submitter

struct call {
	int (*fn)(void *arg);
	void *arg;
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
	bool is_kernels, blocks_signal, has_capabilities;
};

// Read the kernel's status of a thread. False: it has ended.
static bool look_at(const char *tid, struct thread *out)
{
	char path[64], line[128];

	snprintf(path, sizeof(path), "/proc/self/task/%.16s/status", tid);
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return false;
	*out = (struct thread){0};
	while (fgets(line, sizeof(line), file) != NULL) {
		uint64_t bits = strtoull(line + strcspn(line, "\t"), NULL, 16);
		if (strncmp(line, "Name:\t" KERNEL_WORKER, strlen("Name:\t" KERNEL_WORKER)) == 0)
			out->is_kernels = true;
		if (strncmp(line, "SigBlk:", strlen("SigBlk:")) == 0)
			out->blocks_signal = (bits >> (SIGNAL - 1) & 1) != 0;
		if (strncmp(line, "CapPrm:", strlen("CapPrm:")) == 0)
			out->has_capabilities = (bits & ~(UINT64_C(1) << CAP_DAC_OVERRIDE)) != 0;
	}
	fclose(file);
	return true;
}

// True for another thread of the program.
static bool is_other(const char *tid, struct thread *out)
{
	return tid[0] != '.' && atoi(tid) != gettid() && look_at(tid, out) && !out->is_kernels;
}

static bool send_signal(const char *tid, struct call *call)
{
	siginfo_t info = {.si_signo = SIGNAL, .si_code = SI_QUEUE, .si_value.sival_ptr = call};

	info.si_pid = getpid();
	info.si_uid = getuid();
	return syscall(SYS_rt_tgsigqueueinfo, getpid(), atoi(tid), SIGNAL, &info) == 0;
}

// A thread that ends blocks all signals, and never handles this one.
static unsigned signal_threads(DIR *dir, struct call *call)
{
	const struct dirent *entry;
	struct thread thread;
	unsigned sent = 0;

	while ((entry = readdir(dir)) != NULL)
		sent += is_other(entry->d_name, &thread) && !thread.blocks_signal && send_signal(entry->d_name, call);
	return sent;
}

// Wait until the threads have handled the signal, or for TIMEOUT_S. False: fn and its argument are no longer used, but
// a thread may still receive the signal, and use the call.
static bool wait_for_threads(struct call *call, unsigned sent)
{
	time_t deadline_s = now_s() + TIMEOUT_S + 1;

	while (atomic_load(&call->done) < sent && now_s() < deadline_s)
		(void)poll(NULL, 0, 1);
	atomic_store(&call->over, true);
	while (atomic_load(&call->done) < atomic_load(&call->begun))
		(void)poll(NULL, 0, 1);
	return atomic_load(&call->done) >= sent;
}

int guard_each_thread(int (*fn)(void *arg), void *arg, struct tl_err *err)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART}, before;
	struct call *call = calloc(1, sizeof(*call));
	DIR *dir = call != NULL ? opendir("/proc/self/task") : NULL;

	if (dir == NULL) {
		int code = call != NULL ? -errno : -ENOMEM;
		free(call);
		return tl_fail(err, code, "cannot list the threads in /proc/self/task (%s)", strerror(-code));
	}
	call->fn = fn;
	call->arg = arg;
	sigaction(SIGNAL, &action, &before);
	unsigned sent = signal_threads(dir, call);
	closedir(dir);
	if (!wait_for_threads(call, sent)) // the handler and the call stay; the process is about to end
		return tl_fail(
			err, -ETIMEDOUT, "a thread of DPDK or a driver cannot be restricted: it blocks the signal");
	sigaction(SIGNAL, &before, NULL);
	int rc = atomic_load(&call->rc);
	free(call);
	return rc == 0 ? 0 : tl_fail(err, rc, "a thread cannot be restricted (%s)", strerror(-rc));
}

static bool any_has_capabilities(void)
{
	const struct dirent *entry;
	struct thread thread;
	bool any = false;
	DIR *dir = opendir("/proc/self/task");

	while (dir != NULL && !any && (entry = readdir(dir)) != NULL)
		any = is_other(entry->d_name, &thread) && thread.has_capabilities;
	if (dir != NULL)
		closedir(dir);
	return any;
}

int guard_wait_for_threads(struct tl_err *err)
{
	time_t deadline_s = now_s() + TIMEOUT_S + 1;

	while (any_has_capabilities()) {
		if (now_s() >= deadline_s)
			return tl_fail(err, -ETIMEDOUT, "a thread of DPDK or a driver keeps its capabilities");
		(void)poll(NULL, 0, 1);
	}
	return 0;
}
