// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// extract: copies the records that are asked for out of recordings into one pcapng file, options and nanoseconds as
// they were, and reads no more of the recordings than their sidecars (tl_index.h) say it must.
//
// Reads ours and any other pcapng file, and classic pcap. It gives way to a recording that runs: reading is limited in
// bytes per second, past the page cache where the file system allows, and forgotten by it where not.
//
// Threads: one call at a time per configuration; everything happens on the caller's thread. Memory: freed before
// return.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>
#include <tl_index.h>

#define TL_EXTRACT_HOSTS_MAX 64
#define TL_EXTRACT_PORTS_MAX 64

struct tl_err;

struct tl_extract_stats {
	uint64_t files;		   // looked at
	uint64_t files_indexed;	   // of these, read through their sidecar
	uint64_t files_unindexed;  // of these, our recordings that had to be read whole
	uint64_t files_gone;	   // had vanished before they could be opened
	uint64_t files_incomplete; // end in the middle: being written, cut off, or damaged there
	uint64_t slabs_total;	   // known of, in our recordings
	uint64_t slabs_read;
	uint64_t slabs_damaged; // left out: not whole, and others follow
	uint64_t bytes_total;	// of all files
	uint64_t bytes_read;	// sidecars included
	uint64_t records_read;
	uint64_t records_matched;
	uint64_t written_bytes;
};

struct tl_extract_cfg {
	const char *const *paths; // files, and directories of files
	uint32_t n_paths;
	const char *out; // "-": standard output

	uint64_t from_ns, to_ns;			  // since 1970: from <= time < to
	struct tl_index_addr hosts[TL_EXTRACT_HOSTS_MAX]; // source or destination is one of these; none: any
	uint32_t n_hosts;
	uint16_t ports[TL_EXTRACT_PORTS_MAX]; // the same
	uint32_t n_ports;
	const char *filter; // tcpdump syntax, or NULL

	uint64_t rate_bytes; // a second, of reading; 0: no limit
	bool no_index;	     // read everything, as if there were no sidecars

	void (*progress)(void *ctx, const struct tl_extract_stats *stats); // now and then; or NULL
	void *ctx;
};

// Returns 0; -EINVAL for what the caller has to correct (a path, the filter, an output that is an input), or another
// -errno for work that failed, with a sentence. What can be read is extracted in any case: the first error of a file is
// returned at the end.
int tl_extract_run(const struct tl_extract_cfg *cfg, struct tl_extract_stats *stats, struct tl_err *err);

// Writes the sidecar of each of our complete recordings among the paths anew. Of cfg it takes paths, rate and progress;
// in stats records_matched counts what is indexed, and written_bytes is that of the sidecars. Returns as above.
int tl_extract_reindex(const struct tl_extract_cfg *cfg, struct tl_extract_stats *stats, struct tl_err *err);
