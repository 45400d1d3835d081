// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Choices: settings with a few values. A list X(value, word) gives the enum, for the module that acts on it, and the
// words of the configuration. Here are the lists that a module needs; those of the configuration alone are in
// tl_config.h.

#define TL_CHOICE_VALUE(value, word) value,
#define TL_CHOICE_WORD(value, word) word,

// Source of a timestamp. Sources are never mixed silently: a frame without its stamp is marked and counted.
#define TL_TS_SOURCES(X)                                                                                               \
	X(TL_TS_AUTO, "auto") /* only as a request: the best source of the port */                                     \
	X(TL_TS_TSC, "tsc")                                                                                            \
	X(TL_TS_NIC_RX, "nic-rx") /* by the NIC, each frame */                                                         \
	X(TL_TS_KERNEL, "kernel")                                                                                      \
	X(TL_TS_FILE, "file")
enum tl_ts_source {
	TL_TS_SOURCES(TL_CHOICE_VALUE) // those that can be requested
	TL_TS_NIC_PTP,		       // by the NIC, PTP frames only
	TL_TS_NIC_TX,		       // by the NIC, a sent frame
};

#define TL_WRITER_IOS(X) X(TL_WRITER_IO_URING, "io_uring") X(TL_WRITER_IO_PWRITE, "pwrite")
enum tl_writer_io { TL_WRITER_IOS(TL_CHOICE_VALUE) };

// Policy for a full disk: wait for space and count the loss, or remove the oldest file and continue.
#define TL_WRITER_FULLS(X) X(TL_WRITER_FULL_PAUSE, "pause") X(TL_WRITER_FULL_RECYCLE, "recycle")
enum tl_writer_full { TL_WRITER_FULLS(TL_CHOICE_VALUE) };

// Auto: at close if files of the ring are reused, else never.
#define TL_WRITER_SYNCS(X)                                                                                             \
	X(TL_WRITER_SYNC_AUTO, "auto") X(TL_WRITER_SYNC_NEVER, "never") X(TL_WRITER_SYNC_CLOSE, "close")
enum tl_writer_sync { TL_WRITER_SYNCS(TL_CHOICE_VALUE) };

// Kind of the check in a HEAD: our own sum, or the beginning of a digest (tl_digest.h).
#define TL_DIGESTS(X) X(TL_DIGEST_NONE, "none") X(TL_DIGEST_CRC32C, "crc32c") X(TL_DIGEST_SHA256, "sha256")
enum tl_digest_kind { TL_DIGESTS(TL_CHOICE_VALUE) TL_DIGEST_KINDS };

#define TL_ECHO_KINDS(X)                                                                                               \
	X(TL_ECHO_KIND_MCAST_TO_TCP, "mcast_to_tcp") X(TL_ECHO_KIND_TCP, "tcp") X(TL_ECHO_KIND_UDP, "udp")
enum tl_echo_kind { TL_ECHO_KINDS(TL_CHOICE_VALUE) };

// Action for a message that does not fit into the TCP send buffer.
#define TL_ECHO_FULLS(X)                                                                                               \
	X(TL_ECHO_FULL_DROP, "drop")   /* drop the message, counted in drop_full_msgs */                               \
	X(TL_ECHO_FULL_RESET, "reset") /* the same, and reset the connection: the peer does not read */
enum tl_echo_full { TL_ECHO_FULLS(TL_CHOICE_VALUE) };

// Distribution of a delay.
#define TL_JITTERS(X) X(TL_JITTER_UNIFORM, "uniform") X(TL_JITTER_NORMAL, "normal") X(TL_JITTER_PARETO, "pareto")
enum tl_jitter { TL_JITTERS(TL_CHOICE_VALUE) };

// Fields of the hash that selects the queue of a frame within its class.
#define TL_FAIRS(X)                                                                                                    \
	X(TL_FAIR_NONE, "none") /* one queue */                                                                        \
	X(TL_FAIR_FLOW, "flow") /* both addresses, protocol and ports */                                               \
	X(TL_FAIR_SOURCE, "source")                                                                                    \
	X(TL_FAIR_DESTINATION, "destination")
enum tl_fair { TL_FAIRS(TL_CHOICE_VALUE) };

// Frames of a class of a recording that share a meter.
#define TL_POLICE_PERS(X)                                                                                              \
	X(TL_POLICE_PER_CLASS, "class")                                                                                \
	X(TL_POLICE_PER_FLOW, "flow") /* those of a flow, as tl_flow.h defines it */                                   \
	X(TL_POLICE_PER_SOURCE, "source")
enum tl_police_per { TL_POLICE_PERS(TL_CHOICE_VALUE) };
