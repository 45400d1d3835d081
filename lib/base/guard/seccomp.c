// SPDX-License-Identifier: BSD-3-Clause
// seccomp: system calls that a thread may make. A call useful only to an intruder ends the process; any other unlisted
// call fails with ENOSYS, for which libraries have a fallback.

#include "guard_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <seccomp.h>

#include <tl_base.h>

// Unassigned option of prctl(2), answered by the filter of the process to indicate its presence to its threads.
#define PROBE 0x544c
#define PROBE_ANSWER EOWNERDEAD

#define CALLS(...)                                                                                                     \
	(const int[])                                                                                                  \
	{                                                                                                              \
		__VA_ARGS__, END                                                                                       \
	}
#define S(name) SCMP_SYS(name)
#define END INT32_MIN

// For every thread: memory, clocks, locks and open descriptors.
static const int *const everywhere = CALLS(S(read), S(write), S(readv), S(writev), S(pread64), S(preadv), S(preadv2),
	S(lseek), S(close), S(fstat), S(newfstatat), S(statx), S(munmap), S(mremap), S(madvise), S(brk), S(mbind),
	S(futex), S(nanosleep), S(clock_nanosleep), S(clock_gettime), S(clock_getres), S(gettimeofday), S(time),
	S(gettid), S(getpid), S(getppid), S(rt_sigprocmask), S(rt_sigreturn), S(rt_sigaction), S(sigaltstack),
	S(sched_yield), S(sched_getaffinity), S(sched_setaffinity), S(getcpu), S(rseq), S(set_robust_list),
	S(membarrier), S(exit), S(exit_group), S(tgkill), S(restart_syscall), S(poll), S(ppoll), S(epoll_wait),
	S(epoll_pwait), S(epoll_ctl), S(clock_adjtime), S(adjtimex), S(getrandom), S(getrusage), S(sysinfo), S(uname),
	S(setpriority), S(getpriority), S(get_mempolicy), S(capget), S(capset), S(seccomp), S(getuid), S(geteuid),
	S(getgid), S(getegid), S(arch_prctl));

// Frames through open sockets.
static const int *const sockets_open =
	CALLS(S(sendto), S(sendmsg), S(sendmmsg), S(recvfrom), S(recvmsg), S(recvmmsg), S(getsockopt), S(ioctl));

static const int *const files = CALLS(S(open), S(openat), S(openat2), S(access), S(faccessat), S(faccessat2), S(mkdir),
	S(mkdirat), S(readlink), S(readlinkat), S(getdents64), S(getcwd), S(stat), S(lstat), S(statfs), S(fstatfs),
	S(rename), S(renameat), S(renameat2), S(link), S(linkat), S(unlink), S(unlinkat), S(ftruncate), S(fallocate),
	S(fsync), S(fdatasync), S(sync_file_range), S(syncfs), S(fadvise64), S(flock), S(fcntl), S(fchmod), S(pwrite64),
	S(pwritev), S(pwritev2), S(copy_file_range), S(utimensat), S(dup), S(dup2), S(dup3), S(io_uring_enter),
	S(ioctl));

// For set-up and end: threads, sockets, ports.
static const int *const set_up = CALLS(S(clone), S(clone3), S(socket), S(socketpair), S(connect), S(bind), S(listen),
	S(accept), S(accept4), S(shutdown), S(setsockopt), S(getsockname), S(getpeername), S(signalfd4), S(eventfd2),
	S(epoll_create), S(epoll_create1), S(timerfd_create), S(timerfd_settime), S(pipe2), S(memfd_create), S(mlock),
	S(munlock), S(mlock2), S(set_mempolicy), S(prlimit64), S(getrlimit), S(setrlimit), S(umask), S(msync), S(sync),
	S(rt_sigpending), S(rt_sigtimedwait), S(rt_tgsigqueueinfo), S(setitimer), S(landlock_create_ruleset),
	S(landlock_add_rule), S(landlock_restrict_self), S(sched_setscheduler), S(sched_getscheduler),
	S(sched_getparam), S(sched_get_priority_max), S(sched_get_priority_min), S(mincore), S(io_uring_setup),
	S(io_uring_register));

// For no thread: other programs, other processes, the kernel itself.
static const int *const never = CALLS(S(execve), S(execveat), S(ptrace), S(process_vm_readv), S(process_vm_writev),
	S(kexec_load), S(kexec_file_load), S(init_module), S(finit_module), S(delete_module), S(mount), S(umount2),
	S(pivot_root), S(chroot), S(unshare), S(setns), S(reboot), S(swapon), S(swapoff), S(keyctl), S(add_key),
	S(request_key), S(perf_event_open), S(userfaultfd), S(open_by_handle_at), S(setuid), S(setgid), S(setresuid),
	S(setresgid), S(setreuid), S(setregid), S(setgroups), S(fork), S(vfork));

// Files and new sockets, refused to threads that need none.
static const int *const no_files = CALLS(S(open), S(openat2), S(creat), S(rename), S(renameat), S(renameat2), S(link),
	S(linkat), S(symlink), S(symlinkat), S(unlink), S(unlinkat), S(io_uring_setup), S(socket), S(connect), S(bpf));
static const int *const no_openat = CALLS(S(openat)); // on an lcore: add_open()
static const int *const no_sockets = CALLS(
	S(socket), S(connect), S(bind), S(listen), S(bpf), S(io_uring_setup)); // of a ring without restrictions, too

// Detaching of an AF_XDP program, under a lock of libxdp in /run/xdp.
static const int *const bpf = CALLS(S(bpf));

struct list {
	uint32_t action;
	const int *calls;
};

// Allow ioctl(), except requests 0x5410 to 0x541E that are even: two of them type into the terminal, and so into the
// shell of the user who started the process. A request of which any bit differs is another one; the kernel ignores its
// upper half.
static int add_ioctl(scmp_filter_ctx filter)
{
	const uint32_t same = ~(uint32_t)(TIOCSTI ^ TIOCLINUX);
	int rc = 0;

	for (uint32_t bit = 1; bit != 0 && (rc == 0 || rc == -EEXIST); bit <<= 1)
		if ((same & bit) != 0)
			rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
				SCMP_A1(SCMP_CMP_MASKED_EQ, bit, ~(uint32_t)TIOCSTI & bit));
	return rc;
}

static int add_call(scmp_filter_ctx filter, uint32_t action, int call)
{
	if (call == S(ioctl))
		return add_ioctl(filter);
	if (call == S(tgkill) || call == S(rt_tgsigqueueinfo)) // signals to other processes of the user
		return seccomp_rule_add(filter, action, call, 1, SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
	return seccomp_rule_add(filter, action, call, 0);
}

static int add_list(scmp_filter_ctx filter, uint32_t action, const int *calls)
{
	int rc = 0;

	for (; *calls != END && rc == 0; calls++) {
		rc = add_call(filter, action, *calls);
		rc = rc == -EEXIST ? 0 : rc; // already present from another list
	}
	return rc;
}

// Refuse to make memory executable: native code is generated before.
static int add_memory(scmp_filter_ctx filter)
{
	struct scmp_arg_cmp not_executable = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
	int rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, not_executable);

	return rc != 0 ? rc : seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, not_executable);
}

static int add_prctl(scmp_filter_ctx filter)
{
	int rc =
		seccomp_rule_add(filter, SCMP_ACT_ERRNO(PROBE_ANSWER), SCMP_SYS(prctl), 1, SCMP_A0(SCMP_CMP_EQ, PROBE));

	return rc != 0 ? rc : seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1, SCMP_A0(SCMP_CMP_NE, PROBE));
}

// Allow a log of a driver that polls on an lcore: after a hardware error it appends to its own log file (mlx5:
// fopen("a+") of /var/log/dpdk_mlx5_*), and continues if it cannot: that call is refused. Any other way to open a file
// ends the process.
static int add_open(scmp_filter_ctx filter)
{
	struct scmp_arg_cmp appends = SCMP_A2(SCMP_CMP_MASKED_EQ, O_APPEND, O_APPEND);
	struct scmp_arg_cmp appends_not = SCMP_A2(SCMP_CMP_MASKED_EQ, O_APPEND, 0);
	int rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(openat), 1, appends);

	return rc != 0 ? rc : seccomp_rule_add(filter, SCMP_ACT_KILL_PROCESS, SCMP_SYS(openat), 1, appends_not);
}

// Load a filter of these lists. Return 0 or -errno.
static int load(const struct list *lists, size_t n, bool is_lcore, bool all_threads)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	int rc = filter != NULL ? 0 : -ENOMEM;

	if (rc == 0)
		rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, all_threads);
	if (rc == 0)
		rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1); // otherwise branches on lcores would be slower
	if (rc == 0)
		(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (rc == 0)
		rc = add_memory(filter);
	if (rc == 0)
		rc = add_prctl(filter);
	if (rc == 0 && is_lcore)
		rc = add_open(filter);
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = add_list(filter, lists[i].action, lists[i].calls);
	if (rc == 0)
		rc = seccomp_load(filter);
	seccomp_release(filter);
	return rc;
}

int guard_seccomp_process(bool with_bpf)
{
	const struct list lists[] = {{SCMP_ACT_ALLOW, everywhere}, {SCMP_ACT_ALLOW, sockets_open},
		{SCMP_ACT_ALLOW, files}, {SCMP_ACT_ALLOW, set_up}, {SCMP_ACT_KILL_PROCESS, never},
		{with_bpf ? SCMP_ACT_ALLOW : SCMP_ACT_KILL_PROCESS, bpf}};

	return load(lists, TL_ARRAY_LEN(lists), false, true);
}

int guard_seccomp_thread(enum tl_guard_class class)
{
	bool polls = class == TL_GUARD_LCORE || class == TL_GUARD_PLAYER;
	bool opens = class == TL_GUARD_FILES || class == TL_GUARD_PLAYER;
	const struct list lists[] = {{SCMP_ACT_ALLOW, everywhere}, {SCMP_ACT_KILL_PROCESS, never},
		{SCMP_ACT_ALLOW, polls ? sockets_open : everywhere}, {SCMP_ACT_ALLOW, opens ? files : everywhere},
		{SCMP_ACT_KILL_PROCESS, class == TL_GUARD_COMPUTE ? no_openat : never},
		{SCMP_ACT_KILL_PROCESS, opens ? no_sockets : no_files}};

	return load(lists, TL_ARRAY_LEN(lists), class == TL_GUARD_LCORE, false);
}

bool guard_seccomp_is_on(void)
{
	return prctl(PROBE, 0, 0, 0, 0) == -1 && errno == PROBE_ANSWER;
}
