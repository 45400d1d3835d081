// SPDX-License-Identifier: BSD-3-Clause
// Checks of the directories of recordings.

#include "doctor_priv.h"

#include <inttypes.h>
#include <string.h>

#include <tl_units.h>

#define LEAST_FREE_BYTES (UINT64_C(1) << 30)
#define LEAST_SECONDS 60

static void judge_directory_of(const struct tl_fact_disk *disk, struct tl_finding *f)
{
	if (!disk->exists.known)
		tl_found(f, TL_VERDICT_UNKNOWN, "%s: could not be read", disk->path);
	else if (!disk->exists.value)
		tl_found(f, TL_VERDICT_FAIL, "%s: is not there", disk->path);
	else
		tl_found(f, disk->writable.value ? TL_VERDICT_OK : TL_VERDICT_FAIL, "%s: may %sbe written to",
			disk->path, disk->writable.value ? "" : "not ");
}

static void judge_filesystem_of(const struct tl_fact_disk *disk, struct tl_finding *f)
{
	static const char *const good[] = {"ext4", "xfs"};
	bool fits = false;

	if (!disk->filesystem.known) {
		tl_found(f, TL_VERDICT_UNKNOWN, "%s: could not be read", disk->path);
		return;
	}
	for (size_t i = 0; i < TL_ARRAY_LEN(good); i++)
		fits |= strcmp(disk->filesystem.text, good[i]) == 0;
	tl_found(f, fits ? TL_VERDICT_OK : TL_VERDICT_WARN, "%s: %s", disk->path, disk->filesystem.text);
}

static void judge_o_direct_of(const struct tl_fact_disk *disk, struct tl_finding *f)
{
	if (!disk->o_direct.known)
		tl_found(f, TL_VERDICT_UNKNOWN, "%s: could not be tried", disk->path);
	else
		tl_found(f, disk->o_direct.value ? TL_VERDICT_OK : TL_VERDICT_WARN, "%s: %s", disk->path,
			disk->o_direct.value ? "taken" : "refused");
}

static void judge_free_of(const struct tl_fact_disk *disk, struct tl_finding *f)
{
	char free_text[32], want_text[32];

	if (!disk->free_bytes.known) {
		tl_found(f, TL_VERDICT_UNKNOWN, "%s: known only of a mounted file system", disk->path);
		return;
	}
	uint64_t free_bytes = (uint64_t)disk->free_bytes.value;
	uint64_t least = tl_max_u64(disk->min_free_bytes, LEAST_FREE_BYTES);
	uint64_t want = least + tl_max_u64(disk->keep_bytes, LEAST_SECONDS * disk->line_bytes_per_s);
	tl_found(f,
		free_bytes < least  ? TL_VERDICT_FAIL
		: free_bytes < want ? TL_VERDICT_WARN
				    : TL_VERDICT_OK,
		"%s: %s free of %s wanted", disk->path, tl_format_bytes(free_bytes, free_text, sizeof(free_text)),
		tl_format_bytes(want, want_text, sizeof(want_text)));
}

static void judge_rate_of(const struct tl_fact_disk *disk, struct tl_finding *f)
{
	const struct tl_fact_num *rate = &disk->measured_bytes_per_s;

	if (!rate->known)
		tl_found(f, TL_VERDICT_UNKNOWN, "%s: not measured (--measure-disk)", disk->path);
	else if (disk->line_bytes_per_s == 0)
		tl_found(f, TL_VERDICT_OK, "%s: %" PRIi64 " MB/s; the line rate is not known", disk->path,
			rate->value / 1000000);
	else
		tl_found(f, (uint64_t)rate->value >= disk->line_bytes_per_s ? TL_VERDICT_OK : TL_VERDICT_WARN,
			"%s: %" PRIi64 " MB/s of a line rate of %" PRIu64, disk->path, rate->value / 1000000,
			disk->line_bytes_per_s / 1000000);
}

static const struct tl_check checks[] = {
	{"storage.directory", TL_CAN_FAIL, "The program does not start if a recording cannot create its file.",
		"Create the directory, owned by the user that runs Tapline.", .judge_disk = judge_directory_of},
	{"storage.filesystem", TL_CAN_WARN,
		"ext4 and xfs support direct writes at full rate and preallocation; tmpfs, zfs, nfs and overlays do not.",
		"Record to ext4 or xfs on a separate disk.", .judge_disk = judge_filesystem_of},
	{"storage.o_direct", TL_CAN_WARN,
		"Without O_DIRECT writes go through the page cache, and stall for seconds when it is full.",
		"Record to a file system with O_DIRECT, such as ext4 or xfs.", .judge_disk = judge_o_direct_of},
	{"storage.free", TL_CAN_WARN | TL_CAN_FAIL,
		"A full disk ends the recording: it needs room for its ring of files, or for a minute at line rate.",
		"Free space, or set keep_bytes or keep_files.", .judge_disk = judge_free_of},
	{"storage.rate", TL_CAN_WARN, "At line rate a slower disk fills the buffers; then frames are dropped.",
		"Use a faster disk, filters, snaplen or compression.", .judge_disk = judge_rate_of},
};

const struct tl_check_group tl_doctor_storage = {checks, TL_ARRAY_LEN(checks)};
