// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// extract: copies selected records out of recordings into one pcapng file, with unchanged options and nanoseconds, on
// request without the outer headers of encapsulated frames, and reads only the slabs that their sidecars (tl_index.h)
// do not exclude.
//
// Reads our recordings, other pcapng files, and classic pcap. It yields to a running recording: reads are limited in
// bytes per second and bypass the page cache where the file system allows, or are dropped from it.
//
// Threads: one call at a time per configuration; everything runs on the caller's thread. Memory: freed before return.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>
#include <tl_index.h>

#define TL_EXTRACT_HOSTS_MAX 64
#define TL_EXTRACT_PORTS_MAX 64

struct tl_err;

struct tl_extract_stats {
	uint64_t files;		   // files read
	uint64_t files_indexed;	   // read through their sidecar
	uint64_t files_unindexed;  // our recordings, read whole
	uint64_t files_gone;	   // removed before they could be opened
	uint64_t files_incomplete; // truncated: being written, cut off, or damaged there
	uint64_t slabs_total;	   // slabs of our recordings
	uint64_t slabs_read;
	uint64_t slabs_damaged;	  // skipped slabs: damaged, with others after them
	uint64_t records_damaged; // packets in these, by their HEADs
	uint64_t areas_damaged;	  // skipped parts without a HEAD: unknown numbers of slabs and packets
	uint64_t bytes_damaged;	  // of the file, in both
	uint64_t bytes_total;	  // size of all files
	uint64_t bytes_read;	  // with sidecars
	uint64_t records_read;
	uint64_t records_matched;
	uint64_t records_peeled; // written without outer headers or VLAN tags
	uint64_t written_bytes;
};

struct tl_extract_cfg {
	const char *const *paths; // files, and directories of files
	uint32_t n_paths;
	const char *out; // "-": standard output

	uint64_t from_ns, to_ns;			  // since 1970: from <= time < to
	struct tl_index_addr hosts[TL_EXTRACT_HOSTS_MAX]; // source or destination; none: any
	uint32_t n_hosts;
	uint16_t ports[TL_EXTRACT_PORTS_MAX]; // source or destination; none: any
	uint32_t n_ports;
	bool inner;	    // hosts and ports of the innermost packet (tl_encap.h); the filter is used as given
	const char *filter; // tcpdump syntax, or NULL
	bool decap;	    // write the innermost packet: an Ethernet frame without VLAN tags, or a raw IP packet

	uint64_t rate_bytes; // read limit, bytes per second; 0: none
	bool no_index;	     // ignore sidecars

	void (*progress)(void *ctx, const struct tl_extract_stats *stats); // called from time to time; or NULL
	void *ctx;
};

// Extract. Return 0; -EINVAL for errors of the call (a path, the filter, an output that is an input), or another
// -errno for failures, with a message. Readable data is extracted in any case: the first error of a file is returned at
// the end; -EBADMSG: a file that no recording is writing has damaged slabs before others.
int tl_extract_run(const struct tl_extract_cfg *cfg, struct tl_extract_stats *stats, struct tl_err *err);

// Rebuild the sidecar of each of our complete recordings. Of cfg it uses paths, rate, inner and progress; in
// stats records_matched counts indexed records, and written_bytes the bytes of sidecars. Return as above.
int tl_extract_reindex(const struct tl_extract_cfg *cfg, struct tl_extract_stats *stats, struct tl_err *err);
