// SPDX-License-Identifier: BSD-3-Clause
// Control socket: server on a thread and client in one process.

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tl_ctl.h>
#include <tl_err.h>
#include <tl_test.h>

#include "ctl_priv.h"

struct server {
	struct tl_ctl *ctl;
	char path[64];
	atomic_bool stop;
	pthread_t thread;
};

static char *answer(void *ctx, const struct tl_ctl_request *request)
{
	const char *command = request->verb;

	if (strcmp(command, "who") == 0) {
		char *text = malloc(64);
		snprintf(text, 64, "%u %d %d %s", (unsigned)request->uid, (int)request->pid, request->may_operate,
			request->name);
		return text;
	}
	if (strcmp(command, "size") == 0) {
		char *text = malloc(32);
		snprintf(text, 32, "%zu", strlen(request->name));
		return text;
	}
	if (strcmp(command, "long") == 0) {
		char *text = malloc(1000001);
		memset(text, 'x', 1000000);
		text[1000000] = '\0';
		return text;
	}
	return strcmp(command, "status") == 0 ? strdup("{\"up\": true}") : NULL;
}

static void *serve(void *arg)
{
	struct server *s = arg;

	while (!s->stop) {
		struct pollfd fd = {.fd = tl_ctl_fd(s->ctl), .events = POLLIN};
		if (poll(&fd, 1, 5) == 1)
			tl_ctl_serve(s->ctl);
	}
	return NULL;
}

static int open_at(const char *path, gid_t operators, struct tl_ctl **out, struct tl_err *err)
{
	return tl_ctl_open(&(struct tl_ctl_cfg){.path = path, .operators = operators, .answer = answer}, out, err);
}

static void start_for(struct server *s, gid_t operators)
{
	struct tl_err err;

	*s = (struct server){0};
	snprintf(s->path, sizeof(s->path), "/tmp/tl_test_ctl_%d.sock", (int)getpid());
	CU_ASSERT_EQUAL_FATAL(open_at(s->path, operators, &s->ctl, &err), 0);
	pthread_create(&s->thread, NULL, serve, s);
}

static void start(struct server *s)
{
	start_for(s, TL_CTL_NO_GROUP);
}

static void stop(struct server *s)
{
	s->stop = true;
	pthread_join(s->thread, NULL);
	tl_ctl_close(s->ctl);
}

TL_TEST("a command receives its complete reply")
{
	struct server s;
	struct tl_err err;
	char *text;

	start(&s);
	CU_ASSERT_EQUAL_FATAL(tl_ctl_ask(s.path, "status", &text, &err), 0);
	CU_ASSERT_STRING_EQUAL(text, "{\"up\": true}");
	free(text);
	CU_ASSERT_EQUAL_FATAL(tl_ctl_ask(s.path, "long", &text, &err), 0);
	CU_ASSERT_EQUAL(strlen(text), 1000000);
	free(text);
	stop(&s);
}

TL_TEST("a command of many classes arrives whole")
{
	enum { CLASSES_BYTES = 3 << 20 };
	char *command = malloc(CLASSES_BYTES + 1), *text;
	struct server s;
	struct tl_err err;

	memset(command, 'x', CLASSES_BYTES);
	memcpy(command, "size ", 5);
	command[CLASSES_BYTES] = '\0';
	start(&s);
	CU_ASSERT_EQUAL_FATAL(tl_ctl_ask(s.path, command, &text, &err), 0);
	CU_ASSERT_EQUAL(strtoul(text, NULL, 10), CLASSES_BYTES - 5);
	free(text);
	free(command);
	stop(&s);
}

TL_TEST("without memory for the reply a command gets an error")
{
	struct server s;
	struct tl_err err;
	char *text;

	start(&s);
	CU_ASSERT_EQUAL_FATAL(tl_ctl_ask(s.path, "nothing", &text, &err), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"ok\": false, \"error\": \"no memory"));
	free(text);
	stop(&s);
}

TL_TEST("the socket has mode 0660 and is removed at close")
{
	struct server s;
	struct stat st;

	start(&s);
	CU_ASSERT_EQUAL(stat(s.path, &st), 0);
	CU_ASSERT_EQUAL(st.st_mode & 07777, 0660);
	stop(&s);
	CU_ASSERT_EQUAL(stat(s.path, &st), -1);
}

TL_TEST("a second server on the same path is refused")
{
	struct server s;
	struct tl_ctl *second;
	struct tl_err err;

	start(&s);
	CU_ASSERT_EQUAL(open_at(s.path, TL_CTL_NO_GROUP, &second, &err), -EBUSY);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, s.path));
	stop(&s);
}

TL_TEST("a socket left by a dead process is replaced")
{
	struct server s;
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/tl_test_ctl_%d.sock", (int)getpid());
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	CU_ASSERT_EQUAL_FATAL(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd); // the socket file remains
	start(&s);
	stop(&s);
}

TL_TEST("a file that is not a socket is left alone")
{
	char path[64];
	struct tl_ctl *ctl;
	struct tl_err err;

	snprintf(path, sizeof(path), "/tmp/tl_test_ctl_%d.txt", (int)getpid());
	fclose(fopen(path, "w"));
	CU_ASSERT_EQUAL(open_at(path, TL_CTL_NO_GROUP, &ctl, &err), -EEXIST);
	CU_ASSERT_EQUAL(unlink(path), 0);
}

TL_TEST("an unusable path is detected in advance")
{
	struct tl_err err;

	CU_ASSERT_EQUAL(tl_ctl_check("/tmp/no-such-directory/x.sock", &err), -ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(
		err.text, "/tmp/no-such-directory/x.sock: cannot create /tmp/no-such-directory/x.sock.tapline-lock"));
	CU_ASSERT_EQUAL(tl_ctl_check("/dev/null/x.sock", &err), -ENOTDIR);
	CU_ASSERT_EQUAL(tl_ctl_check("x.sock", NULL), 0);
}

TL_TEST("a request without a listener is reported")
{
	struct tl_err err;
	char *text;

	CU_ASSERT_EQUAL(tl_ctl_ask("/tmp/no-such-appliance.sock", "status", &text, &err), -ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/tmp/no-such-appliance.sock"));
}

TL_TEST("a silent client does not delay the next one")
{
	struct server s;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct tl_err err;
	char *text;

	start(&s);
	memcpy(address.sun_path, s.path, strlen(s.path));
	int silent = socket(AF_UNIX, SOCK_STREAM, 0);
	CU_ASSERT_EQUAL(connect(silent, (struct sockaddr *)&address, sizeof(address)), 0);
	CU_ASSERT_EQUAL_FATAL(tl_ctl_ask(s.path, "status", &text, &err), 0);
	free(text);
	close(silent);
	stop(&s);
}

TL_TEST("a request that does not fit is refused, not truncated")
{
	char *command = malloc(TL_CTL_COMMAND_MAX), path[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 1];
	struct tl_err err;
	char *text;

	memset(command, 'x', TL_CTL_COMMAND_MAX);
	command[TL_CTL_COMMAND_MAX - 1] = '\0'; // one byte too long with its newline
	CU_ASSERT_EQUAL(tl_ctl_ask("/nowhere", command, &text, &err), -E2BIG);
	command[TL_CTL_COMMAND_MAX - 2] = '\0';
	CU_ASSERT_EQUAL(tl_ctl_ask("/nowhere", command, &text, &err), -ENOENT);
	free(command);
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0'; // the full length of the address, without NUL
	CU_ASSERT_EQUAL(tl_ctl_ask(path, "status", &text, &err), -ENAMETOOLONG);
	CU_ASSERT_EQUAL(tl_ctl_check(path, &err), -ENAMETOOLONG);
}

static struct sockaddr_un address_of(const struct server *s)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	memcpy(address.sun_path, s->path, strlen(s->path));
	return address;
}

// Send a byte every 50 ms, until the server closes the connection or limit bytes are sent. Return the number of bytes
// sent.
static int trickle(const struct server *s, int limit)
{
	struct sockaddr_un address = address_of(s);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	int sent = 0;

	CU_ASSERT_EQUAL_FATAL(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	for (; sent < limit && send(fd, "x", 1, MSG_NOSIGNAL) == 1; sent++)
		(void)poll(&(struct pollfd){.fd = fd}, 1, 50); // returns at once when the server closes the connection
	close(fd);
	return sent;
}

// Send these bytes. Return the number of bytes of the reply.
static ssize_t exchange(const struct server *s, const char *bytes, size_t len)
{
	struct sockaddr_un address = address_of(s);
	char reply[64];
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	CU_ASSERT_EQUAL_FATAL(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	CU_ASSERT_EQUAL(send(fd, bytes, len, MSG_NOSIGNAL), (ssize_t)len);
	ssize_t n = recv(fd, reply, sizeof(reply), 0);
	close(fd);
	return n;
}

TL_TEST("a command with a NUL byte is refused, not truncated")
{
	struct server s;

	start(&s);
	CU_ASSERT_TRUE(exchange(&s, "status\n", 7) > 0);
	CU_ASSERT_TRUE(exchange(&s, "status\0all\n", 11) <= 0);
	stop(&s);
}

TL_TEST("a client that sends single bytes has one deadline")
{
	struct server s;

	start(&s);
	CU_ASSERT_TRUE(trickle(&s, 200) < 100); // 200 bytes take 10 s, far beyond any deadline, on a busy host too
	stop(&s);
}

TL_TEST("a client that does not read has the same deadline")
{
	struct server s;
	struct tl_err err;
	char *text;

	start(&s);
	struct sockaddr_un address = address_of(&s);
	int deaf = socket(AF_UNIX, SOCK_STREAM, 0);
	CU_ASSERT_EQUAL_FATAL(connect(deaf, (struct sockaddr *)&address, sizeof(address)), 0);
	CU_ASSERT_EQUAL(write(deaf, "long\n", 5), 5);
	CU_ASSERT_EQUAL_FATAL(tl_ctl_ask(s.path, "status", &text, &err), 0);
	free(text);
	close(deaf);
	stop(&s);
}

// Query the caller's identity, as a process of this user and group, and of one more group, or of none.
static void ask_with(const char *path, uid_t uid, gid_t gid, const gid_t *more, char *out, size_t size)
{
	int pipe_fds[2];

	CU_ASSERT_EQUAL_FATAL(pipe(pipe_fds), 0);
	pid_t child = fork();
	if (child == 0) {
		char *text = NULL;
		if (setgroups(more != NULL, more) == 0 && setresgid(gid, gid, gid) == 0 &&
			setresuid(uid, uid, uid) == 0 && tl_ctl_ask(path, "who is it", &text, NULL) == 0)
			(void)!write(pipe_fds[1], text, strlen(text));
		_exit(0);
	}
	close(pipe_fds[1]);
	ssize_t n = read(pipe_fds[0], out, size - 1);
	out[n > 0 ? n : 0] = '\0';
	close(pipe_fds[0]);
	waitpid(child, NULL, 0);
}

static void ask_as(const char *path, uid_t uid, gid_t gid, char *out, size_t size)
{
	ask_with(path, uid, gid, NULL, out, size);
}

// Check whether a user with this primary group, and of a second one, may change anything.
static bool may_operate(gid_t operators, gid_t gid, gid_t more)
{
	struct server s;
	char text[64];
	int may = -1;

	start_for(&s, operators);
	CU_ASSERT_EQUAL(chmod(s.path, 0666), 0);
	ask_with(s.path, 4000, gid, &more, text, sizeof(text));
	CU_ASSERT(sscanf(text, "%*u %*d %d", &may) == 1);
	stop(&s);
	return may == 1;
}

TL_TEST("operators are a group, whichever of their groups it is, and nobody without one")
{
	if (geteuid() != 0)
		return;
	CU_ASSERT_TRUE(may_operate(4711, 4000, 4711));
	CU_ASSERT_TRUE(may_operate(4711, 4711, 4000));
	CU_ASSERT_FALSE(may_operate(4711, 4000, 4001));
	CU_ASSERT_FALSE(may_operate(TL_CTL_NO_GROUP, 4000, 4001));
}

TL_TEST("a verb handler receives the sender and its permission")
{
	struct server s;
	char text[64], expected[64];
	unsigned uid;
	int pid, may;

	if (geteuid() != 0)
		return;
	start_for(&s, 4711);
	CU_ASSERT_EQUAL(chmod(s.path, 0666), 0); // for all users
	ask_as(s.path, 0, 0, text, sizeof(text));
	CU_ASSERT_EQUAL(sscanf(text, "%u %d %d", &uid, &pid, &may), 3);
	CU_ASSERT_TRUE(uid == 0 && pid > 0 && pid != getpid() && may == 1);
	snprintf(expected, sizeof(expected), "0 %d 1 is it", pid);
	CU_ASSERT_STRING_EQUAL(text, expected);
	ask_as(s.path, 4000, 4000, text, sizeof(text));
	CU_ASSERT_TRUE(sscanf(text, "%u %d %d", &uid, &pid, &may) == 3 && uid == 4000 && may == 0);
	ask_as(s.path, 4000, 4711, text, sizeof(text));
	CU_ASSERT_TRUE(sscanf(text, "%u %d %d", &uid, &pid, &may) == 3 && uid == 4000 && may == 1);
	stop(&s);
}

TL_TEST("a listener too busy to answer keeps its socket")
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct tl_ctl *second;
	struct tl_err err;
	int clients[2];

	snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/tl_test_ctl_%d.sock", (int)getpid());
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	CU_ASSERT_EQUAL_FATAL(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	CU_ASSERT_EQUAL_FATAL(listen(fd, 0), 0);
	for (int i = 0; i < 2; i++) { // the backlog is full
		clients[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
		(void)connect(clients[i], (struct sockaddr *)&address, sizeof(address));
	}
	CU_ASSERT_EQUAL(open_at(address.sun_path, TL_CTL_NO_GROUP, &second, &err), -EBUSY);
	CU_ASSERT_EQUAL(access(address.sun_path, F_OK), 0);
	for (int i = 0; i < 2; i++)
		close(clients[i]);
	close(fd);
	unlink(address.sun_path);
}

// Leave a stale socket x.sock in a new directory.
static void leave_socket(char *dir, struct sockaddr_un *address)
{
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
	snprintf(address->sun_path, sizeof(address->sun_path), "%s/x.sock", dir);
	int stale = socket(AF_UNIX, SOCK_STREAM, 0);
	CU_ASSERT_EQUAL_FATAL(bind(stale, (struct sockaddr *)address, sizeof(*address)), 0);
	close(stale);
}

static mode_t lock_mode;
static bool is_passed; // the lock, at the next look
static int next_holder;

// A look at the lock may find that its last holder removed the file, and that another process made and locked it anew.
int lstat(const char *path, struct stat *st)
{
	bool is_lock = strstr(path, ".tapline-lock") != NULL;

	if (is_lock && is_passed) {
		is_passed = false;
		unlink(path);
		next_holder = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		flock(next_holder, LOCK_EX);
	}
	int rc = fstatat(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
	if (is_lock)
		lock_mode = st->st_mode;
	return rc;
}

TL_TEST("a stale socket is kept while another process checks it")
{
	char dir[] = "/tmp/tl_test_ctl_XXXXXX", path[128];
	struct sockaddr_un address;
	struct tl_err err;

	leave_socket(dir, &address);
	snprintf(path, sizeof(path), "%s.tapline-lock", address.sun_path);
	int lock = open(path, O_RDWR | O_CREAT, 0600);
	CU_ASSERT_EQUAL(flock(lock, LOCK_EX), 0);
	CU_ASSERT_EQUAL(tl_ctl_check(address.sun_path, &err), -EBUSY);
	CU_ASSERT_EQUAL(access(address.sun_path, F_OK), 0);
	close(lock);
	CU_ASSERT_EQUAL(tl_ctl_check(address.sun_path, &err), 0);
	CU_ASSERT_EQUAL(access(address.sun_path, F_OK), -1);
	CU_ASSERT_EQUAL(rmdir(dir), 0);
}

TL_TEST("a lock on the directory of the socket, which any user can take, delays nothing")
{
	char dir[] = "/tmp/tl_test_ctl_XXXXXX";
	struct sockaddr_un address;
	struct tl_err err;

	leave_socket(dir, &address);
	int lock = open(dir, O_RDONLY | O_DIRECTORY);
	mode_t before = umask(0);
	CU_ASSERT_EQUAL(flock(lock, LOCK_EX), 0);
	CU_ASSERT_EQUAL(tl_ctl_check(address.sun_path, &err), 0);
	CU_ASSERT_EQUAL(lock_mode, S_IFREG | 0600);
	CU_ASSERT_EQUAL(access(address.sun_path, F_OK), -1);
	umask(before);
	close(lock);
	CU_ASSERT_EQUAL(rmdir(dir), 0);
}

TL_TEST("the lock of a removed file protects nothing")
{
	char dir[] = "/tmp/tl_test_ctl_XXXXXX", path[128];
	struct sockaddr_un address;
	struct tl_err err;

	leave_socket(dir, &address);
	snprintf(path, sizeof(path), "%s.tapline-lock", address.sun_path);
	is_passed = true;
	CU_ASSERT_EQUAL(tl_ctl_check(address.sun_path, &err), -EBUSY);
	CU_ASSERT_EQUAL(access(address.sun_path, F_OK), 0);
	close(next_holder);
	unlink(address.sun_path);
	unlink(path);
	CU_ASSERT_EQUAL(rmdir(dir), 0);
}

TL_TEST("a symbolic link in place of the lock is not followed")
{
	char dir[] = "/tmp/tl_test_ctl_XXXXXX", path[128], victim[128];
	struct sockaddr_un address;
	struct tl_err err;

	leave_socket(dir, &address);
	snprintf(path, sizeof(path), "%s.tapline-lock", address.sun_path);
	snprintf(victim, sizeof(victim), "%s/victim", dir);
	CU_ASSERT_EQUAL(symlink("victim", path), 0);
	CU_ASSERT_EQUAL(tl_ctl_check(address.sun_path, &err), -ELOOP);
	CU_ASSERT_EQUAL(access(victim, F_OK), -1);
	unlink(address.sun_path);
	unlink(path);
	CU_ASSERT_EQUAL(rmdir(dir), 0);
}

TL_TEST("the socket of a successor is not removed at close")
{
	struct server first, second;

	start(&first);
	CU_ASSERT_EQUAL(unlink(first.path), 0);
	start(&second);
	stop(&first);
	CU_ASSERT_EQUAL(access(second.path, F_OK), 0);
	stop(&second);
	CU_ASSERT_EQUAL(access(second.path, F_OK), -1);
}

TL_TEST("an unknown group is named in the error")
{
	struct tl_err err;
	gid_t gid = 1;

	CU_ASSERT_EQUAL(tl_ctl_find_group("root", &gid, &err), 0);
	CU_ASSERT_EQUAL(gid, 0);
	CU_ASSERT_EQUAL(tl_ctl_find_group("no-such-group", &gid, &err), -ENOENT);
	CU_ASSERT_STRING_EQUAL(err.text, "control.operators: no such group: \"no-such-group\"");
}

int main(void)
{
	return tl_test_run("ctl");
}
