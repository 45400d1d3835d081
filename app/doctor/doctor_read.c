// SPDX-License-Identifier: BSD-3-Clause
// Read files below an untrusted directory.

#include "doctor_read.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <tl_base.h>

#define NAMES_MAX 100000
#define OPEN_TRIES 1000

// Format the arguments behind fmt into char name[].
#define FORMAT_PATH(name, fmt)                                                                                         \
	char name[TL_TREE_PATH_MAX];                                                                                   \
	va_list args;                                                                                                  \
	va_start(args, fmt);                                                                                           \
	vsnprintf(name, sizeof(name), fmt, args);                                                                      \
	va_end(args)

int tl_tree_open(const char *root, struct tl_tree *out)
{
	*out = (struct tl_tree){.live = root[0] == '\0' || strcmp(root, "/") == 0};
	out->root_fd = open(out->live ? "/" : root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return out->root_fd < 0 ? -errno : 0;
}

void tl_tree_close(struct tl_tree *tree)
{
	close(tree->root_fd);
}

int tl_tree_fd(const struct tl_tree *tree, int flags, const char *path)
{
	struct open_how how = {.flags = (uint64_t)(flags | O_CLOEXEC | (flags & O_PATH ? 0 : O_NONBLOCK)),
		.mode = (flags & O_TMPFILE) == O_TMPFILE ? 0600 : 0,
		.resolve = RESOLVE_IN_ROOT};
	long fd;
	int tries = OPEN_TRIES;

	do // openat2(2): EAGAIN if a concurrent rename or mount prevents a safe check of ".."
		fd = syscall(SYS_openat2, tree->root_fd, path, &how, sizeof(how));
	while (fd < 0 && errno == EAGAIN && --tries > 0);
	if (fd < 0 && tree->live && (errno == ENOSYS || errno == EPERM)) // before Linux 5.6, and in some containers
		fd = open(path, flags | O_CLOEXEC | O_NONBLOCK, 0600);
	return fd < 0 ? -errno : (int)fd;
}

static int open_regular(const struct tl_tree *tree, const char *path)
{
	struct stat status;
	int fd = tl_tree_fd(tree, O_RDONLY, path);

	if (fd < 0)
		return fd;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
		return fd;
	close(fd);
	return -EINVAL;
}

ssize_t tl_tree_bytes(const struct tl_tree *tree, char *buf, size_t size, const char *path)
{
	int fd = open_regular(tree, path);
	size_t used = 0;
	ssize_t got = 0;

	if (fd < 0)
		return fd;
	while (used < size - 1 && (got = read(fd, buf + used, size - 1 - used)) > 0)
		used += (size_t)got;
	int error = errno;
	close(fd);
	buf[used] = '\0';
	return got < 0 ? -error : (ssize_t)used;
}

static void make_printable(char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (text[i] != '\n' && text[i] != '\t' && (text[i] < ' ' || text[i] > '~'))
			text[i] = '?';
}

char *tl_tree_text(const struct tl_tree *tree, const char *path)
{
	char *text = malloc(TL_TREE_FILE_MAX);
	ssize_t bytes = text != NULL ? tl_tree_bytes(tree, text, TL_TREE_FILE_MAX, path) : -ENOMEM;

	if (bytes < 0) {
		free(text);
		return NULL;
	}
	make_printable(text, (size_t)bytes);
	return text;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

// Read the first line of a small file, trimmed. False: unreadable, or too long.
static bool read_line(const struct tl_tree *tree, const char *path, char *buf, size_t size)
{
	ssize_t bytes = tl_tree_bytes(tree, buf, size, path);

	if (bytes < 0 || (size_t)bytes == size - 1)
		return false;
	make_printable(buf, (size_t)bytes);
	buf[strcspn(buf, "\n")] = '\0';
	size_t end = strlen(buf), begin = strspn(buf, " \t");
	while (end > begin && is_blank(buf[end - 1]))
		end--;
	memmove(buf, buf + begin, end - begin);
	buf[end - begin] = '\0';
	return true;
}

struct tl_fact_num tl_fact_is(int64_t value)
{
	return (struct tl_fact_num){.known = true, .value = value};
}

struct tl_fact_text tl_fact_says(const char *text)
{
	struct tl_fact_text fact = {.known = true};

	snprintf(fact.text, sizeof(fact.text), "%s", text);
	make_printable(fact.text, strlen(fact.text));
	return fact;
}

struct tl_fact_num tl_fact_parse(const char *text, int base)
{
	char *end;

	errno = 0;
	long long value = strtoll(text, &end, base);
	if (end == text || *end != '\0' || errno != 0)
		return (struct tl_fact_num){0};
	return tl_fact_is(value);
}

struct tl_fact_num tl_tree_num(const struct tl_tree *tree, const char *path_fmt, ...)
{
	FORMAT_PATH(path, path_fmt);
	char line[64];

	return read_line(tree, path, line, sizeof(line)) ? tl_fact_parse(line, 10) : (struct tl_fact_num){0};
}

struct tl_fact_num tl_tree_hex(const struct tl_tree *tree, const char *path_fmt, ...)
{
	FORMAT_PATH(path, path_fmt);
	char line[64];

	return read_line(tree, path, line, sizeof(line)) ? tl_fact_parse(line, 16) : (struct tl_fact_num){0};
}

struct tl_fact_text tl_tree_line(const struct tl_tree *tree, const char *path_fmt, ...)
{
	FORMAT_PATH(path, path_fmt);
	struct tl_fact_text fact = {0};

	fact.known = read_line(tree, path, fact.text, sizeof(fact.text));
	return fact;
}

struct tl_fact_cpus tl_tree_cpus(const struct tl_tree *tree, const char *path_fmt, ...)
{
	FORMAT_PATH(path, path_fmt);
	char line[4096];

	return read_line(tree, path, line, sizeof(line)) ? tl_cpus_parse_list(line) : (struct tl_fact_cpus){0};
}

struct tl_fact_text tl_tree_link(const struct tl_tree *tree, const char *path_fmt, ...)
{
	FORMAT_PATH(path, path_fmt);
	char target[TL_TREE_PATH_MAX] = "";

	int fd = tl_tree_fd(tree, O_PATH | O_NOFOLLOW, path);
	if (fd < 0)
		return fd == -ENOENT ? tl_fact_says("") : (struct tl_fact_text){0};
	ssize_t bytes = readlinkat(fd, "", target, sizeof(target) - 1);
	close(fd);
	const char *slash = strrchr(target, '/');
	if (bytes <= 0)
		return (struct tl_fact_text){0};
	return tl_fact_says(slash != NULL ? slash + 1 : target);
}

bool tl_tree_exists(const struct tl_tree *tree, const char *path_fmt, ...)
{
	FORMAT_PATH(path, path_fmt);
	int fd = tl_tree_fd(tree, O_PATH, path);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int tl_tree_each(const struct tl_tree *tree, const char *path, void (*visit)(void *ctx, const char *name), void *ctx)
{
	int fd = tl_tree_fd(tree, O_RDONLY | O_DIRECTORY, path);
	const struct dirent *entry;

	if (fd < 0)
		return fd;
	DIR *dir = fdopendir(fd);
	if (dir == NULL) {
		close(fd);
		return -ENOMEM;
	}
	for (unsigned n = 0; n < NAMES_MAX && (entry = readdir(dir)) != NULL; n++)
		if (entry->d_name[0] != '.')
			visit(ctx, entry->d_name);
	closedir(dir);
	return 0;
}

struct tl_fact_text tl_fact_chosen(const struct tl_fact_text *words)
{
	const char *begin = strchr(words->text, '['), *end = begin != NULL ? strchr(begin, ']') : NULL;
	struct tl_fact_text out = {.known = words->known};

	if (end == NULL)
		return *words;
	snprintf(out.text, sizeof(out.text), "%.*s", (int)(end - begin - 1), begin + 1);
	return out;
}

bool tl_line_after(const char *text, const char *begin, char *buf, size_t size)
{
	size_t chars = strlen(begin);

	while (strncmp(text, begin, chars) != 0) {
		text = strchr(text, '\n');
		if (text == NULL)
			return false;
		text++;
	}
	text += chars;
	text += strspn(text, " \t");
	size_t rest = strcspn(text, "\n");
	while (rest > 0 && is_blank(text[rest - 1]))
		rest--;
	snprintf(buf, size, "%.*s", (int)tl_min_u64(rest, size - 1), text);
	return true;
}

bool tl_tree_line_after(const struct tl_tree *tree, const char *path, const char *begin, char *buf, size_t size)
{
	char *text = tl_tree_text(tree, path);
	bool found = text != NULL && tl_line_after(text, begin, buf, size);

	free(text);
	return found;
}
