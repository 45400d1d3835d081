// SPDX-License-Identifier: BSD-3-Clause
// SHA-256 of a file, equal to that of sha256sum(1).

#include <tl_digest.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gcrypt.h>

#define READ_BYTES (1u << 20)

// Add the whole file to the hash. Return 0 or -errno.
static int add_all(gcry_md_hd_t hash, int fd, void *buf, uint64_t *out_bytes)
{
	ssize_t n;

	*out_bytes = 0;
	while ((n = read(fd, buf, READ_BYTES)) != 0) {
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n < 0)
			continue;
		gcry_md_write(hash, buf, (size_t)n);
		*out_bytes += (uint64_t)n;
	}
	return 0;
}

static int hash_fd(int fd, struct tl_digest *out, uint64_t *out_bytes)
{
	gcry_md_hd_t hash;
	void *buf = malloc(READ_BYTES);

	tl_digest_prepare();
	if (buf == NULL || gcry_md_open(&hash, GCRY_MD_SHA256, 0) != 0) {
		free(buf);
		return -ENOMEM;
	}
	int rc = add_all(hash, fd, buf, out_bytes);
	if (rc == 0)
		memcpy(out->byte, gcry_md_read(hash, GCRY_MD_SHA256), sizeof(out->byte));
	gcry_md_close(hash);
	free(buf);
	return rc;
}

int tl_digest_file(const char *path, struct tl_digest *out, uint64_t *out_bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat status;

	if (fd < 0)
		return -errno;
	int rc = fstat(fd, &status) != 0 ? -errno : S_ISREG(status.st_mode) ? hash_fd(fd, out, out_bytes) : -EINVAL;
	close(fd);
	return rc;
}
