// SPDX-License-Identifier: BSD-3-Clause
// Sandbox: each test runs in its own process, because restrictions are permanent.

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/io_uring.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <seccomp.h>

#include <tl_base.h>
#include <tl_err.h>
#include <tl_guard.h>
#include <tl_sanitizer.h>
#include <tl_test.h>

#define ALLOWED "allowed"
#define NAME_BYTES 16 // as in the kernel

#define REAL(function) ((typeof(&(function)))dlsym(RTLD_NEXT, #function))

static char dir[] = "/tmp/tl_test_guard_XXXXXX";

// ---- faults

static bool keeps_capabilities, lacks_memory;

int cap_set_proc(cap_t set)
{
	if (!keeps_capabilities)
		return REAL(cap_set_proc)(set);
	errno = EPERM;
	return -1;
}

scmp_filter_ctx seccomp_init(uint32_t action)
{
	return lacks_memory ? NULL : REAL(seccomp_init)(action);
}

static int entries_left = -1; // of a directory, before an error; -1: no error

struct dirent *readdir(DIR *directory)
{
	if (entries_left == 0) {
		errno = EIO;
		return NULL;
	}
	entries_left -= entries_left > 0;
	return REAL(readdir)(directory);
}

// ---- children

// Run fn in a child. Return its wait status.
static int status_of(int (*fn)(void))
{
	fflush(NULL);
	pid_t child = fork();
	int status = -1;

	if (child == 0)
		_exit(fn());
	waitpid(child, &status, 0);
	return status;
}

static bool is_killed(int (*fn)(void))
{
	int status = status_of(fn);

	return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
}

static bool is_fine(int (*fn)(void))
{
	int status = status_of(fn);

	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		printf("# status %#x\n", (unsigned)status);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Restrict this process to dir.
static struct tl_guard_state enter_keeping(bool net_admin)
{
	const char *dirs[] = {dir};
	const struct tl_guard_cfg cfg = {.dirs = dirs, .n_dirs = 1, .keeps_net_admin = net_admin};
	struct tl_guard_state state = {0};
	struct tl_err err = {""};

	if (tl_guard_enter(&cfg, &state, &err) != 0 || tl_guard_drop(&cfg, &state, &err) != 0) {
		printf("# %s\n", err.text);
		fflush(stdout);
		_exit(99);
	}
	return state;
}

static struct tl_guard_state enter(void)
{
	return enter_keeping(false);
}

// Support by kernel and build, asked without the module: a kernel without Landlock and a sanitizer build are no
// failures.
static int landlock_version(void)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return version > 0 ? (int)version : 0;
}

static bool has_seccomp(void)
{
	return !TL_SANITIZED && prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0;
}

static int enter_all(void)
{
	bool filtered = has_seccomp();
	int version = landlock_version();
	struct tl_guard_state state = enter();

	return state.landlock == version && state.seccomp == filtered && state.no_new_privs ? 0 : 1;
}

TL_TEST("each restriction that kernel and build support is in force")
{
	CU_ASSERT_TRUE(is_fine(enter_all));
}

static int enter_without_memory(void)
{
	const char *dirs[] = {dir};
	const struct tl_guard_cfg cfg = {.dirs = dirs, .n_dirs = 1};
	struct tl_guard_state state = {0};
	struct tl_err err = {""};

	lacks_memory = true;
	int rc = tl_guard_enter(&cfg, &state, &err);
	return rc == -ENOMEM && !state.seccomp && strstr(err.text, "no memory for the rules of seccomp") != NULL ? 0
														 : 1;
}

TL_TEST("without memory for its rules the process is not left without seccomp")
{
	if (has_seccomp())
		CU_ASSERT_TRUE(is_fine(enter_without_memory));
}

static int try_open(const char *name, int flags)
{
	int fd = open(name, flags | O_CLOEXEC, 0600);
	int rc = fd >= 0 ? 0 : errno;

	if (fd >= 0)
		close(fd);
	return rc;
}

// ---- files

static int files_of_the_directory(void)
{
	char from[64], to[64];

	enter();
	snprintf(from, sizeof(from), "%s/a", dir);
	snprintf(to, sizeof(to), "%s/b", dir);
	if (try_open(from, O_CREAT | O_WRONLY) != 0)
		return 1;
	int fd = open(from, O_WRONLY | O_CLOEXEC);
	bool all = ftruncate(fd, 3) == 0 && rename(from, to) == 0 && link(to, from) == 0 && unlink(to) == 0 &&
		   unlink(from) == 0;
	close(fd);
	return all ? 0 : 2;
}

static int files_elsewhere(void)
{
	enter();
	if (try_open("/etc/passwd", O_RDONLY) != EACCES || try_open("/tmp/tl_test_guard", O_CREAT | O_WRONLY) != EACCES)
		return 1;
	return rename("/etc/passwd", "/etc/passwd2") == -1 && errno == EACCES ? 0 : 2;
}

TL_TEST("files can be created, renamed and removed in the directory only")
{
	if (landlock_version() == 0)
		return;
	CU_ASSERT_TRUE(is_fine(files_of_the_directory));
	CU_ASSERT_TRUE(is_fine(files_elsewhere));
}

// Through these files code that is protected from writing could be replaced.
static int memory_files(void)
{
	char path[64];

	enter();
	snprintf(path, sizeof(path), "/proc/self/task/%d/mem", (int)gettid());
	return try_open(path, O_RDWR) == EACCES && try_open("/proc/self/mem", O_RDWR) == EACCES ? 0 : 1;
}

TL_TEST("no thread can open the memory of the process for writing")
{
	if (landlock_version() != 0)
		CU_ASSERT_TRUE(is_fine(memory_files));
}

static int missing_directory(void)
{
	const char *dirs[] = {"/nowhere/at/all"};
	struct tl_guard_state state = {0};
	struct tl_err err;
	int rc = tl_guard_enter(&(struct tl_guard_cfg){.dirs = dirs, .n_dirs = 1}, &state, &err);

	return rc == -ENOENT && strstr(err.text, "/nowhere/at/all") != NULL ? 0 : 1;
}

TL_TEST("a missing directory is named")
{
	if (landlock_version() != 0)
		CU_ASSERT_TRUE(is_fine(missing_directory));
}

// Landlock restricts TCP from version 4 on.
static int tcp_sockets(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	enter();
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) != -1 || errno != EACCES)
		return 1;
	address.sin_port = htons(9);
	return connect(fd, (const struct sockaddr *)&address, sizeof(address)) == -1 && errno == EACCES ? 0 : 2;
}

TL_TEST("TCP sockets can neither bind nor connect")
{
	if (landlock_version() >= 4)
		CU_ASSERT_TRUE(is_fine(tcp_sockets));
}

// ---- system calls

static int run_a_program(void)
{
	enter();
	execl("/bin/true", "true", NULL);
	return 0;
}

static int trace_a_process(void)
{
	enter();
	return (int)syscall(SYS_ptrace, 0, 0, 0, 0);
}

static int make_memory_executable(void)
{
	enter();
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return page != MAP_FAILED && mprotect(page, 4096, PROT_READ | PROT_EXEC) == -1 && errno == ENOSYS ? 0 : 1;
}

static int signal_a_process(void)
{
	siginfo_t info = {.si_code = SI_QUEUE};
	pid_t parent = getppid();

	enter();
	if (syscall(SYS_tgkill, parent, parent, 0) != -1 || errno != ENOSYS ||
		syscall(SYS_rt_tgsigqueueinfo, parent, parent, 0, &info) != -1 || errno != ENOSYS)
		return 1;
	return pthread_kill(pthread_self(), 0) == 0 ? 0 : 2;
}

static int make_a_call_that_is_not_listed(void)
{
	enter();
	return syscall(SYS_acct, NULL) == -1 && errno == ENOSYS ? 0 : 1;
}

TL_TEST("no thread can signal another process")
{
	if (has_seccomp())
		CU_ASSERT_TRUE(is_fine(signal_a_process));
}

TL_TEST("executing a program kills the process")
{
	if (!has_seccomp())
		return;
	CU_ASSERT_TRUE(is_killed(run_a_program));
	CU_ASSERT_TRUE(is_killed(trace_a_process));
	CU_ASSERT_TRUE(is_fine(make_a_call_that_is_not_listed));
	CU_ASSERT_TRUE(is_fine(make_memory_executable));
}

static void *as_lcore(void *open_what)
{
	tl_guard_thread(TL_GUARD_LCORE, NULL);
	if (open_what != NULL)
		(void)!open(open_what, O_RDONLY | O_CLOEXEC);
	return NULL;
}

static void *as_lcore_with_capabilities(void *open_what)
{
	keeps_capabilities = true;
	return as_lcore(open_what);
}

// A driver's log file, in the only directory that the process may write to.
static void *as_driver_that_logs(void *log)
{
	tl_guard_thread(TL_GUARD_LCORE, NULL);
	errno = 0;
	return fopen(log, "a+") == NULL && errno == EACCES ? (void *)ALLOWED : NULL;
}

static void *as_lcore_that_connects(void *arg)
{
	tl_guard_thread(TL_GUARD_LCORE, NULL);
	return socket(AF_UNIX, SOCK_DGRAM, 0) < 0 ? arg : NULL;
}

static void *as_files(void *with_socket)
{
	char path[64];

	tl_guard_thread(TL_GUARD_FILES, NULL);
	snprintf(path, sizeof(path), "%s/of_a_thread", dir);
	int rc = try_open(path, O_CREAT | O_WRONLY);
	unlink(path);
	if (with_socket != NULL)
		(void)!socket(AF_UNIX, SOCK_DGRAM, 0);
	return rc == 0 ? (void *)ALLOWED : NULL;
}

static void *as_files_with_a_new_ring(void *arg)
{
	struct io_uring_params params = {0};

	tl_guard_thread(TL_GUARD_FILES, NULL);
	(void)!syscall(SYS_io_uring_setup, 1, &params);
	return arg;
}

// Type a character into the controlling terminal, which the shell of the user reads afterwards. The kernel ignores the
// upper half of the request.
static void *as_lcore_that_types(void *terminal)
{
	static const uint64_t requests[] = {TIOCSTI, TIOCSTI | UINT64_C(1) << 32, TIOCLINUX};
	int fd = *(int *)terminal;

	tl_guard_thread(TL_GUARD_LCORE, NULL);
	for (size_t i = 0; i < TL_ARRAY_LEN(requests); i++)
		if (syscall(SYS_ioctl, fd, requests[i], "x") != -1 || errno != ENOSYS)
			return NULL;
	return isatty(fd) ? (void *)ALLOWED : NULL;
}

static void *as_compute(void *with_file)
{
	tl_guard_thread(TL_GUARD_COMPUTE, NULL);
	free(malloc(1 << 20)); // a separate mapping
	if (with_file != NULL)
		(void)!open(with_file, O_RDONLY | O_CLOEXEC);
	return (void *)ALLOWED;
}

static void *result_of(void *(*main)(void *), void *arg)
{
	pthread_t thread;
	void *result;

	enter();
	pthread_create(&thread, NULL, main, arg);
	pthread_join(thread, &result);
	return result;
}

static int lcore_opens(void)
{
	result_of(as_lcore, dir);
	return 0;
}

static int lcore_polls(void)
{
	return result_of(as_lcore, NULL) == NULL ? 0 : 1;
}

static int lcore_types(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (master < 0 || unlockpt(master) != 0 || setsid() < 0)
		return 2;
	int terminal = open(ptsname(master), O_RDWR | O_CLOEXEC); // the first of a session controls it
	return result_of(as_lcore_that_types, &terminal) != NULL ? 0 : 1;
}

static int driver_logs(void)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/driver_log", dir);
	return result_of(as_driver_that_logs, path) != NULL && access(path, F_OK) != 0 ? 0 : 1;
}

static int lcore_connects(void)
{
	result_of(as_lcore_that_connects, NULL);
	return 0;
}

static int writer_writes(void)
{
	return result_of(as_files, NULL) != NULL ? 0 : 1;
}

static int lcore_with_capabilities_opens(void)
{
	result_of(as_lcore_with_capabilities, dir);
	return 0;
}

static int writer_connects(void)
{
	result_of(as_files, dir);
	return 0;
}

static int writer_makes_a_ring(void)
{
	result_of(as_files_with_a_new_ring, NULL);
	return 0;
}

static int converter_converts(void)
{
	return result_of(as_compute, NULL) != NULL ? 0 : 1;
}

static int converter_opens(void)
{
	result_of(as_compute, dir);
	return 0;
}

TL_TEST("a system call of another thread class kills the process")
{
	if (!has_seccomp())
		return;
	CU_ASSERT_TRUE(is_fine(lcore_polls));
	CU_ASSERT_TRUE(is_killed(lcore_opens));
	CU_ASSERT_TRUE(is_killed(lcore_with_capabilities_opens));
	CU_ASSERT_TRUE(is_killed(lcore_connects));
	CU_ASSERT_TRUE(is_fine(writer_writes));
	CU_ASSERT_TRUE(is_killed(writer_connects));
	CU_ASSERT_TRUE(is_killed(writer_makes_a_ring));
	CU_ASSERT_TRUE(is_fine(converter_converts));
	CU_ASSERT_TRUE(is_killed(converter_opens));
}

TL_TEST("no thread can type into the terminal of its user")
{
	if (has_seccomp())
		CU_ASSERT_TRUE(is_fine(lcore_types));
}

TL_TEST("a driver that opens its log on an lcore gets an error and continues")
{
	if (has_seccomp())
		CU_ASSERT_TRUE(is_fine(driver_logs));
}

// ---- threads started before the restriction

struct early {
	bool blocks, ends; // blocks signals for a while; and ends then
	atomic_bool go, running;
	atomic_int open_errno;
	bool has_capabilities, may_gain, is_filtered;
};

static bool has_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	return syscall(SYS_capget, &head, data) != 0 || (data[0].permitted | data[1].permitted) != 0;
}

static sem_t looked; // the restriction has looked at the threads, and waits for one

int poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	sem_post(&looked);
	return ppoll(fds, n, &(struct timespec){.tv_nsec = timeout_ms * 1000000}, NULL);
}

// Block all signals until this thread has been seen to block them.
static void block_signals(struct early *early)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	early->running = true;
	sem_wait(&looked);
	if (!early->ends)
		pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void *early_main(void *arg)
{
	struct early *early = arg;

	if (early->blocks)
		block_signals(early);
	if (early->ends)
		return NULL;
	early->running = true;
	while (!early->go)
		usleep(1000);
	early->open_errno = try_open("/etc/passwd", O_RDONLY);
	early->has_capabilities = has_capabilities();
	early->may_gain = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1;
	early->is_filtered = prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == SECCOMP_MODE_FILTER;
	return NULL;
}

static void enter_beside(struct early *early)
{
	pthread_t thread;

	sem_init(&looked, 0, 0);
	pthread_create(&thread, NULL, early_main, early);
	while (!early->running)
		usleep(1000);
	enter();
	early->go = true;
	sem_post(&looked); // if the thread was passed over
	pthread_join(thread, NULL);
}

static int restrict_beside(struct early early)
{
	int version = landlock_version();
	bool filtered = has_seccomp();

	enter_beside(&early);
	if (early.has_capabilities || early.may_gain || early.is_filtered != filtered || has_capabilities())
		return 1;
	return version == 0 || early.open_errno == EACCES ? 0 : 2;
}

static int restrict_an_early_thread(void)
{
	return restrict_beside((struct early){0});
}

static int restrict_a_blocking_thread(void)
{
	return restrict_beside((struct early){.blocks = true});
}

static int enter_beside_an_ending_thread(void)
{
	enter_beside(&(struct early){.blocks = true, .ends = true});
	return 0;
}

TL_TEST("threads started earlier are restricted")
{
	CU_ASSERT_TRUE(is_fine(restrict_an_early_thread));
}

TL_TEST("a thread that blocks signals for a while is restricted")
{
	CU_ASSERT_TRUE(is_fine(restrict_a_blocking_thread));
}

TL_TEST("a thread that ends with blocked signals is not waited for")
{
	CU_ASSERT_TRUE(is_fine(enter_beside_an_ending_thread));
}

static sem_t go_on, has_gone_on; // of the hasty thread
static bool has_hasty_thread;

static void step_hasty_thread(void)
{
	sem_post(&go_on);
	sem_wait(&has_gone_on);
}

// Stop before and after the signal until the hasty thread has taken its next step.
long syscall(long number, ...)
{
	bool steps = number == SYS_rt_tgsigqueueinfo && has_hasty_thread;
	long args[6];
	va_list list;

	va_start(list, number);
	for (size_t i = 0; i < TL_ARRAY_LEN(args); i++)
		args[i] = va_arg(list, long);
	va_end(list);
	if (steps)
		step_hasty_thread();
	long rc = REAL(syscall)(number, args[0], args[1], args[2], args[3], args[4], args[5]);
	if (steps)
		step_hasty_thread();
	return rc;
}

static void *hasty_main(void *arg)
{
	cap_t none = cap_init();
	sigset_t all;

	sigfillset(&all);
	sem_wait(&go_on);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	sem_post(&has_gone_on);
	sem_wait(&go_on);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	cap_set_proc(none);
	cap_free(none);
	sem_post(&has_gone_on);
	sem_wait(&go_on);
	pthread_sigmask(SIG_UNBLOCK, &all, NULL);
	return arg;
}

static int enter_beside_a_hasty_thread(void)
{
	pthread_t thread;

	has_hasty_thread = true;
	pthread_create(&thread, NULL, hasty_main, NULL);
	enter();
	sem_post(&go_on);
	pthread_join(thread, NULL);
	return 0;
}

TL_TEST("a signalled thread that restricts itself handles the signal later")
{
	CU_ASSERT_TRUE(is_fine(enter_beside_a_hasty_thread));
}

static int drop_without_a_list(void)
{
	const struct tl_guard_cfg cfg = {0};
	struct tl_guard_state state;
	struct tl_err err;

	return tl_guard_drop(&cfg, &state, &err) == -EIO ? 0 : 1;
}

TL_TEST("threads that cannot be listed are not taken for restricted")
{
	for (entries_left = 0; entries_left <= 3; entries_left++) // ".", "..", the only thread
		CU_ASSERT_TRUE(is_fine(drop_without_a_list));
	entries_left = -1;
}

// ---- the user

static int become_nobody(void)
{
	struct tl_guard_state state;
	struct tl_err err;

	if (tl_guard_set_user("nobody", &err) != 0 || geteuid() == 0 || getegid() == 0)
		return 1;
	int raw = socket(AF_PACKET, SOCK_RAW, 0); // opening a port remains possible
	state = enter();
	if (raw < 0 || socket(AF_PACKET, SOCK_RAW, 0) >= 0 || has_capabilities())
		return 2;
	return strcmp(state.user, "nobody") == 0 && strcmp(state.capabilities, "=") == 0 && setuid(0) != 0 ? 0 : 3;
}

static int keep_net(void)
{
	return strcmp(enter_keeping(true).capabilities, "cap_net_admin=ep") == 0 ? 0 : 1;
}

TL_TEST("only NET_ADMIN is kept for a driver that restores an interface")
{
	if (geteuid() == 0)
		CU_ASSERT_TRUE(is_fine(keep_net));
}

static void *named(void *name)
{
	tl_guard_thread(TL_GUARD_FILES, "of-its-own");
	pthread_getname_np(pthread_self(), name, NAME_BYTES);
	return name;
}

static int name_a_thread(void)
{
	struct tl_err err;
	pthread_t thread;
	char name[NAME_BYTES] = "";

	if (tl_guard_set_user("nobody", &err) != 0)
		return 1;
	enter();
	pthread_create(&thread, NULL, named, name);
	pthread_join(thread, NULL);
	return strcmp(name, "of-its-own") == 0 ? 0 : 2;
}

static int become_nobody_known(void)
{
	struct tl_err err;

	return tl_guard_set_user("no-such-user", &err) == -ENOENT && strstr(err.text, "no-such-user") != NULL ? 0 : 1;
}

static int become_and_return(void)
{
	struct tl_err err;

	return tl_guard_set_user("nobody", &err) == 0 && geteuid() != 0 && setuid(0) == -1 ? 0 : 1;
}

TL_TEST("root switches to a user with the right to open ports, which is dropped later")
{
	CU_ASSERT_TRUE(is_fine(become_nobody_known));
	if (geteuid() != 0)
		return;
	CU_ASSERT_TRUE(is_fine(become_and_return));
	if (has_seccomp()) // setuid() kills a restricted process
		CU_ASSERT_TRUE(is_killed(become_nobody));
}

TL_TEST("threads are named after root is dropped")
{
	if (geteuid() == 0)
		CU_ASSERT_TRUE(is_fine(name_a_thread));
}

int main(void)
{
	if (mkdtemp(dir) == NULL)
		return 1;
	chmod(dir, 0777);
	int status = tl_test_run("guard");
	rmdir(dir);
	return status;
}
