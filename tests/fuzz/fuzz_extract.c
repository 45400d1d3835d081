// SPDX-License-Identifier: BSD-3-Clause
// Extract from any bytes, as a recording without and with a sidecar built from them: the output can be read to its end,
// and holds the counted packets.

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tl_err.h>
#include <tl_extract.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
__attribute__((weak)) int LLVMFuzzerRunDriver(
	int *argc, char ***argv, int (*one)(const uint8_t *, size_t)); // libFuzzer's

static char dir[64], in_path[80], out_path[80], again_path[80], index_path[80];

static void require(int truth)
{
	if (!truth)
		abort();
}

static void clean_up(void)
{
	unlink(in_path);
	unlink(out_path);
	unlink(again_path);
	unlink(index_path);
	rmdir(dir);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *parent = getenv("TMPDIR");

	snprintf(dir, sizeof(dir), "%.40s/tl-fuzz-extract-XXXXXX", parent != NULL ? parent : "/tmp");
	require(mkdtemp(dir) != NULL);
	snprintf(in_path, sizeof(in_path), "%s/in", dir);
	snprintf(out_path, sizeof(out_path), "%s/out", dir);
	snprintf(again_path, sizeof(again_path), "%s/again", dir);
	snprintf(index_path, sizeof(index_path), "%s/in" TL_INDEX_SUFFIX, dir);
	atexit(clean_up);
	if (LLVMFuzzerRunDriver == NULL) // messages per input would hide their names; libFuzzer has -close_fd_mask=2
		require(freopen("/dev/null", "w", stderr) != NULL);
	return 0;
}

static void put_file(const char *path, const uint8_t *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
}

static uint64_t extract(const char *from, const char *to, struct tl_extract_cfg cfg, int *out_rc)
{
	struct tl_extract_stats stats;
	struct tl_err err;

	cfg.paths = &from;
	cfg.n_paths = 1;
	cfg.out = to;
	*out_rc = tl_extract_run(&cfg, &stats, &err);
	require(stats.records_matched <= stats.records_read);
	return stats.records_matched;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct tl_extract_cfg all = {.to_ns = UINT64_MAX};
	const struct tl_extract_cfg some = {
		.to_ns = UINT64_MAX, .n_hosts = 1, .hosts = {{.low = 0xffffc0000209}}, .filter = "ip or ip6"};
	const char *path = in_path;
	struct tl_extract_cfg reindex = {.paths = &path, .n_paths = 1};
	struct tl_extract_stats stats;
	struct tl_err err;
	int rc;

	put_file(in_path, data, size);
	unlink(index_path);
	uint64_t matched = extract(in_path, out_path, all, &rc);
	require(extract(out_path, again_path, all, &rc) == matched && rc == 0);
	uint64_t found = extract(in_path, out_path, some, &rc);
	tl_extract_reindex(&reindex, &stats, &err);
	require(extract(in_path, out_path, some, &rc) == found);
	put_file(index_path, data, size);
	require(extract(in_path, out_path, some, &rc) == found);
	return 0;
}
