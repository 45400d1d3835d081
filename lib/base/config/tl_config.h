// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// config: the one JSON file of `tapline run`, read and validated once into one const struct. Independent of DPDK: the
// existence of a device is checked when it is opened.
//
// Threads: any, one at a time per object. Memory: tl_config_load() allocates, tl_config_free() releases everything,
// strings included.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tl_base.h>
#include <tl_choices.h>
#include <tl_units.h>

struct tl_err;
struct json_t;

#define TL_CONFIG_NAME_MAX 32
#define TL_CONFIG_PORTS_MAX 16
#define TL_CONFIG_PROBES_MAX 40 // per second, as stamped replies
#define TL_CONFIG_QUEUES_MAX 16
#define TL_CONFIG_DESCRIPTORS_MIN 64
#define TL_CONFIG_DESCRIPTORS_MAX 32768
#define TL_CONFIG_NEIGHBOURS_MAX 64
#define TL_CONFIG_RULES_MAX 256
#define TL_CONFIG_CAPTURES_MAX 64
#define TL_CONFIG_ECHOES_MAX 1000
#define TL_CONFIG_POLICE_MAX 16 // classes of a recording
#define TL_CONFIG_SHAPES_MAX 16
#define TL_CONFIG_REPLAYS_MAX 16
#define TL_CONFIG_CLASSES_MAX 10000 // of a shape
#define TL_CONFIG_SHARES_MAX 16
#define TL_CONFIG_MEMBERS_MAX 64 // classes of a share
#define TL_CONFIG_NO_SHARE UINT32_MAX
#define TL_CONFIG_CLASS_DEPTH_MAX 7	       // below the shape
#define TL_CONFIG_RATE_MAX (UINT64_C(1) << 42) // bit/s
#define TL_CONFIG_PACE_MIN 8000		       // bit/s
#define TL_CONFIG_LCORE_AUTO UINT32_MAX
#define TL_CONFIG_QUEUE_AUTO UINT32_MAX

// Choices: see tl_choices.h.
#define TL_IDLES(X) X(TL_IDLE_AUTO, "auto") X(TL_IDLE_POLL, "poll") X(TL_IDLE_ADAPTIVE, "adaptive")
enum tl_idle { TL_IDLES(TL_CHOICE_VALUE) };
#define TL_CONFIG_FRAGMENTS(X) X(TL_CONFIG_FRAGMENTS_REASSEMBLE, "reassemble") X(TL_CONFIG_FRAGMENTS_COUNT, "count")
enum tl_config_fragments { TL_CONFIG_FRAGMENTS(TL_CHOICE_VALUE) };
#define TL_CONFIG_CHECKSUMS(X) X(TL_CONFIG_CHECKSUMS_AUTO, "auto") X(TL_CONFIG_CHECKSUMS_SOFTWARE, "software")
enum tl_config_checksums { TL_CONFIG_CHECKSUMS(TL_CHOICE_VALUE) };
#define TL_CONFIG_DIRECTIONS(X) X(TL_CONFIG_BOTH, "both") X(TL_CONFIG_RX, "rx") X(TL_CONFIG_TX, "tx")
enum tl_config_direction { TL_CONFIG_DIRECTIONS(TL_CHOICE_VALUE) };
#define TL_CONFIG_STORES(X) X(TL_CONFIG_STORE_MEMORY, "memory") X(TL_CONFIG_STORE_FILES, "files")
enum tl_config_store { TL_CONFIG_STORES(TL_CHOICE_VALUE) };
#define TL_CONFIG_MODES(X) X(TL_CONFIG_MODE_CONTINUOUS, "continuous") X(TL_CONFIG_MODE_TRIGGER, "trigger")
enum tl_config_mode { TL_CONFIG_MODES(TL_CHOICE_VALUE) };
#define TL_CONFIG_ORDERS(X) X(TL_CONFIG_ORDER_ARRIVAL, "arrival") X(TL_CONFIG_ORDER_TIME, "time")
enum tl_config_order { TL_CONFIG_ORDERS(TL_CHOICE_VALUE) };
#define TL_CONFIG_FORMATS(X) X(TL_CONFIG_PCAPNG, "pcapng") X(TL_CONFIG_PCAP_NS, "pcap-ns")
enum tl_config_format { TL_CONFIG_FORMATS(TL_CHOICE_VALUE) };
#define TL_CONFIG_COMPRESSIONS(X) X(TL_CONFIG_COMPRESS_NONE, "none") X(TL_CONFIG_COMPRESS_ZSTD, "zstd")
enum tl_config_compress { TL_CONFIG_COMPRESSIONS(TL_CHOICE_VALUE) };
#define TL_CONFIG_POLICE_UNITS(X) X(TL_CONFIG_POLICE_BYTES, "bytes") X(TL_CONFIG_POLICE_PKTS, "packets")
enum tl_config_police_unit { TL_CONFIG_POLICE_UNITS(TL_CHOICE_VALUE) };
#define TL_CONFIG_CONGESTIONS(X) X(TL_CONFIG_CONGESTION_NEWRENO, "newreno") X(TL_CONFIG_CONGESTION_NONE, "none")
enum tl_config_congestion { TL_CONFIG_CONGESTIONS(TL_CHOICE_VALUE) };
#define TL_CONFIG_SANDBOXES(X) X(TL_CONFIG_SANDBOX_ON, "on") X(TL_CONFIG_SANDBOX_OFF, "off")
// Roles of an RX queue's lcore. A queue that only records hands frames of echoes over to another lcore.
#define TL_CONFIG_ROLES(X)                                                                                             \
	X(TL_CONFIG_ROLE_BOTH, "both") X(TL_CONFIG_ROLE_ECHO, "echo") X(TL_CONFIG_ROLE_RECORD, "record")
enum tl_config_role { TL_CONFIG_ROLES(TL_CHOICE_VALUE) };
enum tl_config_sandbox { TL_CONFIG_SANDBOXES(TL_CHOICE_VALUE) };

struct tl_config_eal {
	bool huge;	     // "huge", default true
	bool huge_optional;  // no key: ordinary memory if hugepages are unavailable at the start of DPDK
	uint32_t memory_mb;  // "memory_mb", 64..65536, default 512: limit for all memory of DPDK
	uint32_t main_lcore; // "main_lcore", 0..1023, default 0: control and statistics
};

// "neighbours" of a port: a host with a static MAC.
struct tl_config_neighbour {
	uint32_t ip_be;	   // "ip", on the port's link
	struct tl_ip6 ip6; // used instead when set
	uint8_t mac[6];	   // "mac"
};

enum tl_config_rss { TL_CONFIG_RSS_DEFAULT, TL_CONFIG_RSS_SYMMETRIC, TL_CONFIG_RSS_INNER };
enum tl_config_proto { TL_CONFIG_PROTO_ANY, TL_CONFIG_PROTO_TCP, TL_CONFIG_PROTO_UDP };

// Addresses that a rule matches.
struct tl_config_prefix {
	uint8_t bits;	// leading bits that are compared; 0: any address
	uint8_t ip[16]; // network byte order, the other bits 0; of IPv4 the first 4 bytes
};

#define TL_CONFIG_MARK_MAX 255 // of a rule: drivers take 24 bits and more, a port has at most 256 rules

// "flow_rules" of a port: what the NIC itself is to do with frames. A frame matches if each item that is present does.
struct tl_config_rule {
	uint8_t version;	     // 4 or 6: the addresses'; without addresses 4
	struct tl_config_prefix src; // "src_ip", with or without a prefix length
	struct tl_config_prefix dst; // "dst_ip", the same
	enum tl_config_proto proto;  // "proto": "tcp", "udp"; required with ports
	uint32_t src_port, dst_port; // "src_port", "dst_port", 1..65535; 0 when absent: any
	uint32_t queue;		     // "queue", below the port's rx_queues; TL_CONFIG_QUEUE_AUTO when absent
	bool drop;		     // "drop": true; a rule has either this or "queue"
	uint32_t mark;		     // "mark", 1..TL_CONFIG_MARK_MAX, no two rules of a port the same; 0 when absent
	uint32_t line;		     // of the file; 0: not of a file
	const char *derived;	     // no key: reason of the plan for a rule of its own, static; NULL: of the file
};

struct tl_config_port {
	char *name;			       // "name", required, unique, [A-Za-z0-9_-]{1,31}
	char *device;			       // "device", required: PORT grammar, kept as text here
	uint32_t rx_queues;		       // "rx_queues", 1..16, default 1
	uint32_t lcores[TL_CONFIG_QUEUES_MAX]; // "lcores", one per RX queue, each used once in the file and not the
					       // main lcore; default "auto": TL_CONFIG_LCORE_AUTO each
	enum tl_config_role roles[TL_CONFIG_QUEUES_MAX]; // "roles", one per RX queue; "both" when absent
	enum tl_config_rss rss; // "rss": "default" (default): the driver's key; "symmetric", "inner"
	uint32_t rss_queues;	// "rss_queues": bit i: queue i takes frames without a rule; 0 when absent: all do
	uint32_t n_flow_rules;	// "flow_rules", at most 256, default none; no two match the same frame
	struct tl_config_rule flow_rules[TL_CONFIG_RULES_MAX];
	bool isolate;		 // "isolate", default false: frames without a rule stay with the kernel
	uint32_t isolate_line;	 // of the file; 0: not of a file
	uint32_t rx_descriptors; // "rx_descriptors", 64..32768; 0 when absent: by the port's role and driver
	uint32_t tx_descriptors; // "tx_descriptors", the same
	uint32_t ip_be, mask_be; // "ip" as "192.0.2.1/24"; 0 when absent: a capture-only port
	uint32_t gateway_be;	 // "gateway", inside the prefix; 0 when absent
	struct tl_ip6 ip6;	 // "ip6" as "2001:db8::1/64"; :: when absent
	uint8_t ip6_bits;	 // prefix length
	struct tl_ip6 gateway6;	 // "gateway6", inside the prefix or link-local; :: when absent
	uint32_t vlan;		 // "vlan", 1..4094; 0 when absent: untagged
	uint32_t mtu;		 // "mtu", 576..9600, default 1500
	uint32_t ttl;		 // "ttl", 1..255, default 64
	uint32_t dscp;		 // "dscp", 0..63, default 0
	enum tl_config_fragments ip_fragments; // "ip_fragments": "reassemble" (default), "count"
	uint32_t neighbour_entries;	       // "neighbour_entries", 128..65536, default 1024
	uint32_t n_neighbours;		       // "neighbours", at most 64, default none
	struct tl_config_neighbour neighbours[TL_CONFIG_NEIGHBOURS_MAX];
	bool ptp;			       // "ptp_probes_per_s" or "reply_stamps_per_s" is present: the NIC stamps
	uint32_t ptp_probes_per_s;	       // "ptp_probes_per_s", 0..40; not 0 only on a port with an echo
	uint32_t reply_stamps_per_s;	       // "reply_stamps_per_s", the same; both together at most 40
	enum tl_config_checksums tx_checksums; // "tx_checksums": "auto" (default), "software"
	bool promisc;			       // "promisc", default true
	bool take;			       // "take", default false: allow AF_XDP on the interface of the login
	enum tl_ts_source timestamps;	       // "timestamps": "auto" (default), "tsc", "nic-rx", "kernel", "file"
	enum tl_idle idle;		       // "idle": "auto" (default), "poll", "adaptive"
};

// "trigger" of a recording: saved data and conditions.
struct tl_config_trigger {
	enum tl_config_store store; // "store": "memory" (default), "files"
	uint64_t pre_seconds;	    // "pre_seconds", 0 .. 86400, default 10
	uint64_t pre_bytes;	    // "pre_bytes", 0 (what the buffer holds, default) or 64 KiB .. 64 GiB
	uint64_t post_seconds;	    // "post_seconds", 0 .. 86400, default 10
	char *filter;		    // "filter", tcpdump syntax, or NULL
	bool on_drop;		    // "on_drop", default false
	uint64_t echo_latency_us;   // "echo_latency_us", 0 (never, default) or 1 .. 60000000
};

// Rates and bursts of a meter (RFC 2697, RFC 2698, RFC 4115).
struct tl_config_meter {
	enum tl_config_police_unit unit; // "unit": "bytes" (default), "packets"
	uint64_t cir;			 // "cir", required: bit/s or packets/s, 1 .. 2^42
	uint64_t cbs;			 // "cbs", required: bytes or packets, 1 .. 576460752; a frame at least
	uint64_t ebs;			 // "ebs", the same; 0 when absent
	uint64_t eir;			 // "eir", with "ebs"; 0 when absent
	uint64_t pir, pbs;		 // "pir", from cir, and "pbs"; 0 when absent: both
	bool aware;			 // "aware": frames arrive with the colour of their DSCP; default false
};

// Action of a policer on frames or messages of a colour: "pass", "drop", or {"dscp", "pcp"}.
struct tl_config_action {
	bool drop;
	bool has_dscp, has_pcp; // are present
	uint32_t dscp, pcp;	// "dscp", 0..63; "pcp", 0..7
};

// "police" of an echo or of a class of a shape.
struct tl_config_policer {
	struct tl_config_meter meter;	    // first: shares its keys; cir 0: absent
	struct tl_config_action actions[3]; // "green", "yellow" (default "pass"), "red" (default "drop")
};

// Class of a recording.
struct tl_config_police {
	struct tl_config_meter meter; // first: shares its keys
	char *name;		      // "name", required, unique in the recording
	char *match;		      // expression for "match", "vlan", "dscp" and "prefix"; NULL: "default"
	uint32_t vlan;		      // "vlan", 1..4094; 0 when absent
	bool has_dscp;		      // "dscp" is present
	uint32_t dscp;		      // "dscp", 0..63
	uint8_t version;	      // of "prefix": 4 or 6; 0 when absent
	struct tl_config_prefix prefix;
	bool is_default;	// "default", default false: unmatched frames; the last class
	uint32_t snaplen;	// "snaplen" of yellow frames, 14..262144 bytes, default 64
	enum tl_police_per per; // "per": "class" (default), "flow", "source"
	uint32_t meters;	// "meters", a power of two, 64..1048576, default 65536
	uint32_t line;		// of the file; 0: not of a file
};

// Tiers of a share: those of nonprod get what prod leaves, beyond their floors.
#define TL_CONFIG_TIERS(X) X(TL_CONFIG_TIER_PROD, "prod") X(TL_CONFIG_TIER_NONPROD, "nonprod")
enum tl_config_tier { TL_CONFIG_TIERS(TL_CHOICE_VALUE) };

struct tl_config_capture {
	char *port_name;		    // "port", required
	uint32_t port;			    // index into ports[]
	char *filter;			    // "filter", tcpdump syntax, or NULL
	bool has_marks;			    // "marks": record only received frames of the rules with these marks
	bool marks[TL_CONFIG_MARK_MAX + 1]; // by mark
	uint32_t snaplen;		    // "snaplen", 0 (everything, default) or 14..262144 bytes
	enum tl_config_direction direction; // "direction": "both" (default), "rx", "tx"
	char *path;		      // "path", required: file name with strftime conversions, "-" (stdout), "null:"
	uint64_t rotate_bytes;	      // "rotate_bytes", 0 (never, default) or 4 MiB .. 16 TiB; integer or "64M"
	uint64_t rotate_seconds;      // "rotate_seconds", 0 (never, default) or 1 .. 31536000
	uint64_t rotate_packets;      // "rotate_packets", 0 (never, default) or 1 .. 2^53
	uint32_t keep_files;	      // "keep_files", 0 (all, default) or 2 .. 1000000
	uint64_t keep_bytes;	      // "keep_bytes", 0 (all, default) or 8 MiB .. 1024 TiB
	uint64_t min_free_bytes;      // "min_free_bytes", 0 (default) .. 1024 TiB
	enum tl_writer_full on_full;  // "on_full": "pause" (default), "recycle"
	enum tl_writer_sync fsync;    // "fsync": "auto" (default), "never", "close"
	bool index;		      // "index", default true where there are several files
	uint64_t buffer_bytes;	      // "buffer_bytes", 4 MiB .. 64 GiB, default 64 MiB, per RX queue; integer or "64M"
	enum tl_writer_io io;	      // "io": "io_uring" (default), "pwrite"
	enum tl_config_order order;   // "order": "arrival" (default), "time"
	uint32_t order_window_ms;     // "order_window_ms", 1..1000, default 100
	enum tl_config_format format; // "format": "pcapng" (default), "pcap-ns"
	enum tl_config_compress compress; // "compress": "none" (default), "zstd"
	uint32_t compress_level;	  // "compress_level", 1..19, default 1
	uint32_t compress_threads;	  // "compress_threads", 1..16, default 1
	enum tl_digest_kind digest;	  // "digest": "none" (default), "crc32c", "sha256"
	uint32_t cutoff_bytes;		  // "cutoff_bytes", 0 (off, default) or 1 KiB .. 1 GiB; integer or "64K"
	uint32_t cutoff_flows;	  // "cutoff_flows", a power of two, 1024 .. 64 Mi, default 1 Mi; integer or "1M"
	bool inner;		  // "inner", default false; filter is then "inner(...)" around the key's text
	enum tl_config_mode mode; // "mode": "continuous" (default), "trigger"
	struct tl_config_trigger trigger; // "trigger", only with that mode
	uint32_t n_classes;		  // "classes", at most 16, default none
	struct tl_config_police classes[TL_CONFIG_POLICE_MAX];
	char *share_name;	  // "share": name of a share of the disk, NULL: none
	uint32_t share;		  // its index; TL_CONFIG_NO_SHARE
	enum tl_config_tier tier; // "tier", only with "share"
	uint32_t weight;	  // "weight", 1 .. 1000000, default 1, likewise
	uint64_t floor;		  // "floor", bit/s, 0 (none, default) or 1 .. 2^42, likewise
	uint64_t count;		  // not a key: set by `tapline capture --count`; 0 = no limit
};

// "outliers" of an echo: messages with a long residence time are kept with their context.
struct tl_config_outliers {
	uint64_t above_us; // "above_us", 1..60000000, required
	uint32_t keep;	   // "keep", 1..1024, default 32
};

struct tl_config_echo {
	char *name;	 // "name", default "echo<index>", unique
	char *port_name; // "port", required
	uint32_t port;	 // index into ports[]; that port must have an address of each family that the echo uses
	// "queue", below the port's rx_queues: its lcore owns the echo; default "auto": TL_CONFIG_QUEUE_AUTO
	uint32_t queue;
	enum tl_echo_kind mode;
	// mode MCAST_TO_TCP: "receive": {"group", "udp_port", "source"?}, "send": {"tcp_connect": "A:P"}
	uint32_t group_be;
	uint32_t n_groups;	       // "groups" from group_be on, 1..16000, default 1; IPv4
	uint32_t source_be;	       // 0 = any source
	struct tl_ip6 group6, source6; // used instead when group6 is set
	uint16_t udp_port_be;
	uint32_t connect_ip_be;
	struct tl_ip6 connect_ip6; // used instead when set
	uint16_t connect_port_be;
	// mode TCP: "tcp_listen": port; mode UDP: "udp_listen": port
	uint16_t listen_port_be;
	uint32_t send_buffer_bytes; // "send_buffer_bytes", 4 KiB .. 16 MiB, a power of two, default 64 KiB (TCP modes)
	enum tl_echo_full on_full;  // "on_full": "drop" (default), "reset" (TCP modes)
	bool warm;		    // "warm", default true (mode MCAST_TO_TCP)
	uint32_t user_timeout_seconds;	      // "user_timeout_seconds", 1..3600, default 20 (TCP modes)
	bool user_timeout_option;	      // "user_timeout_option", default false (TCP modes)
	uint32_t keepalive_seconds;	      // "keepalive_seconds", 0 (never) or 1..86400, default 30 (TCP modes)
	uint32_t rto_min_us;		      // "rto_min_us", 1000..a quarter of the timeout, default 200000
	uint64_t pace_bps;		      // "pace_bps", bit/s, 8000 .. 2^42, default 0: not paced (TCP modes)
	uint32_t reconnect_min_ms;	      // "reconnect_min_ms", 1..3600000, default 100 (MCAST_TO_TCP)
	uint32_t reconnect_max_ms;	      // "reconnect_max_ms", reconnect_min_ms..3600000, default 5000 (same)
	enum tl_config_congestion congestion; // "congestion": "newreno" (default), "none" (TCP modes)
	uint32_t max_connections;	      // "max_connections", 1..1048576, default 1024 (mode TCP)
	uint32_t send_buffers;		      // "send_buffers", 1..1048576, default 4096 (mode TCP)
	bool stages;			      // "stages", default false; implied by "outliers" and "samples"
	struct tl_config_outliers outliers;   // "outliers"; above_us 0 when absent
	uint32_t samples;		      // "samples", 0 (none, default) or 1 .. 16777216
	uint64_t delay_ns, jitter_ns;	      // "delay", 0 when absent, .. 10 s; jitter_ns at most delay_ns
	enum tl_jitter jitter;
	uint32_t delay_limit;		 // "delay_limit", 64..1048576, default 4096
	struct tl_config_policer police; // "police" (modes MCAST_TO_TCP, UDP)
};

// Drops of a leaf beside those at its limits: none, or by CoDel (RFC 8289).
#define TL_CLASS_DROPPING(X) X(TL_CLASS_DROP_LIMIT, "limit") X(TL_CLASS_DROP_CODEL, "codel")
enum tl_class_drop { TL_CLASS_DROPPING(TL_CHOICE_VALUE) };

// A class of a share.
struct tl_config_member {
	char *name;		  // "class", required: "wan/ssh", all of one shape
	enum tl_config_tier tier; // "tier": "prod" (default), "nonprod"
	uint32_t weight;	  // "weight", 1 .. 1000000, default 1
	uint64_t floor;		  // "floor", up to its ceil; 0 when absent; at least its rate counts
};

// Weight of the hosts of a prefix in a class with queues by host.
struct tl_config_weight {
	struct tl_config_prefix prefix; // "prefix", required, once per class
	uint8_t version;		// of IP
	uint32_t weight;		// "weight", required, 1..100
};

// Class of a shape. The first one is the shape itself; each is followed by the classes below it.
struct tl_config_class {
	char *name;	  // "name", required, unique in the shape
	uint32_t place;	  // index of the class itself
	uint32_t parent;  // index of the class above it
	uint32_t depth;	  // classes above it
	uint32_t nth;	  // place in the "classes" of its parent
	uint32_t line;	  // of the file; 0: not of a file
	bool has_classes; // "classes" is present, up to 10000 in the shape, 7 deep; the other classes are leaves
	uint64_t rate;	  // "rate", bit/s, 0 (no guarantee, default) or 1 .. 2^42
	uint64_t ceil;	  // "ceil", from rate; 0 when absent: rate, or without one the parent's ceil
	uint64_t burst;	  // "burst", bytes; 0 when absent: two frames and 1 ms of rate
	uint64_t cburst;  // "cburst", the same of ceil
	uint32_t quantum; // "quantum", bytes; 0 when absent: in proportion to the rates of siblings
	uint32_t prio;	  // "prio", 0..7, default 0
	// Leaves:
	char *match;	    // "match": expression in tcpdump's syntax; for "echo" generated; NULL: "default"
	char *echo_name;    // "echo", instead of "match"
	bool is_default;    // "default": class of unmatched frames; one per shape
	enum tl_fair fair;  // "fair": "none" (default), "flow", "source", "destination"
	uint32_t flows;	    // "flows", a power of two up to 65536, default 1024, only with "fair"
	uint32_t n_weights; // "weights", up to 64, only with "fair": "source" or "destination"; other hosts: 1
	struct tl_config_weight *weights;
	uint32_t limit;		 // "limit", 1..65536 frames, default 1000
	uint64_t limit_bytes;	 // "limit_bytes", 0 (none, default) or 1 .. 2^32
	uint32_t limit_ms;	 // "limit_ms", 0 (none, default) or 1 .. 60000
	enum tl_class_drop drop; // "drop": "limit" (default), "codel"
	uint32_t target_us;   // "target_us", 1 .. 1000000, default 5000, at most interval_ms; only with "drop": "codel"
	uint32_t interval_ms; // "interval_ms", 1 .. 60000, default 100, likewise
	struct tl_config_member member;	 // of a share; weight 0: none
	struct tl_config_policer police; // "police"
};

// A rate that several shapes, classes of one, or recordings share.
struct tl_config_share {
	char *name;	    // "name", required, unique
	uint64_t rate;	    // "rate", required; 0: "measured"
	uint32_t n_classes; // "classes", at most 64: the members, instead of shapes
	struct tl_config_member classes[TL_CONFIG_MEMBERS_MAX];
};

// A class tree in front of the send queue of an lcore.
struct tl_config_shape {
	char *name;	 // "name", required, unique
	char *port_name; // "port", required: one with an echo or a replay
	uint32_t port;	 // index into ports[]
	uint32_t queue;	 // "queue", whose lcore sends; TL_CONFIG_QUEUE_AUTO when absent: the only one; 0 of a replay
	uint64_t rate;	 // "rate", required
	uint64_t burst;	 // "burst"
	uint32_t overhead_bytes;  // "overhead", 0..64, default 0: added to the length of each frame
	char *share_name;	  // "share": name of a share, NULL: none
	uint32_t share;		  // its index; TL_CONFIG_NO_SHARE
	uint32_t class_share;	  // index of the share that lists classes of it, if there is one
	enum tl_config_tier tier; // "tier", only with "share"
	uint32_t weight;	  // "weight", 1 .. 1000000, default 1, likewise
	uint64_t floor;	    // "floor", up to rate, likewise; 0 when absent; at least the rates of its classes counts
	uint32_t n_classes; // 1 + those of "classes"
	uint32_t fallback;  // index of the default class
	uint32_t frames;    // sum of the limits of its leaves
	uint32_t mtu;	    // longest frame of the port, with overhead
	struct tl_config_class *classes;
};

#define TL_CONFIG_NO_LIST UINT32_MAX

// Value of a key of a replay, as the option of `tapline replay` takes it.
struct tl_config_setting {
	const char *key; // static: "line_rate"
	char *text;	 // NULL: a switch that is on
	uint32_t nth;	 // place in the list of the key; TL_CONFIG_NO_LIST: no list
	uint32_t line;	 // of the file; 0: not of a file
};

// Recordings sent from a port, or two.
struct tl_config_replay {
	char *name;	   // "name", required, unique
	char *port_name;   // "port", required: one that sends nothing else
	uint32_t port;	   // index into ports[]
	char *second_name; // "second_port", the same for the frames of the other side; default NULL: none
	uint32_t second;   // index into ports[], valid with second_name
	uint32_t lcore;	   // "lcore", default "auto": TL_CONFIG_LCORE_AUTO
	uint32_t n_settings;
	struct tl_config_setting *settings; // the other keys, "files" first
};

// True if the replay sends from this port.
static inline bool tl_config_sends(const struct tl_config_replay *replay, uint32_t port)
{
	return replay->port == port || (replay->second_name != NULL && replay->second == port);
}

struct tl_config_control {
	char *socket;	 // "socket", path of the UNIX socket, default NULL: none
	char *operators; // "operators", group whose members may pause, resume, rotate and trigger, default NULL: none
};

struct tl_config_process {
	char *user;			// "user", to run as once the ports are open; default NULL: the initial user
	enum tl_config_sandbox sandbox; // "sandbox": "on" (default), "off"
};

struct tl_config {
	char *file; // as given, for messages
	struct tl_config_eal eal;
	uint32_t n_ports, n_captures, n_echoes, n_shapes, n_shares, n_replays;
	struct tl_config_port ports[TL_CONFIG_PORTS_MAX];
	struct tl_config_capture *captures; // n_captures
	struct tl_config_echo *echoes;	    // n_echoes
	struct tl_config_shape shapes[TL_CONFIG_SHAPES_MAX];
	struct tl_config_replay replays[TL_CONFIG_REPLAYS_MAX];
	struct tl_config_share shares[TL_CONFIG_SHARES_MAX];
	struct tl_config_control control;
	struct tl_config_process process;
};

// Read and validate a file. Return 0 and set *out (caller frees), or a negative errno with one sentence in err:
// "FILE:LINE: $.ports[1].ip: "10.0.0.300/24" is not an IPv4 address with a prefix, such as 192.0.2.1/24".
int tl_config_load(const char *path, struct tl_config **out, struct tl_err *err);

// Same from memory; name is the name of the file in messages.
int tl_config_load_text(const char *text, size_t len, const char *name, struct tl_config **out, struct tl_err *err);

// A key set by a command line, and its option as written there.
struct tl_config_option {
	const char *key;    // key of the capture or port, such as "keep_files"
	const char *option; // "--keep-files"
};

// Same from the JSON built from a command line (jansson's json_t, borrowed). An error names the option, if it is among
// the n_options, instead of a line: "--keep-files: 1 is not 0 or a whole number from …".
int tl_config_load_options(const struct json_t *root, const struct tl_config_option *options, size_t n_options,
	struct tl_config **out, struct tl_err *err);

// Read a new version of the entry "shape"[index] (jansson's json_t, borrowed), and check it with the rest of the
// configuration. Return 0 and fill *out (caller frees it with tl_config_free_shape()), or a negative errno with one
// sentence, whose path begins at the entry.
int tl_config_load_shape(const struct tl_config *config, uint32_t index, const struct json_t *entry,
	struct tl_config_shape *out, struct tl_err *err);
void tl_config_free_shape(struct tl_config_shape *shape);

// Return the replay that sends from a port; NULL: none.
const struct tl_config_replay *tl_config_replay_from(const struct tl_config *config, uint32_t port);

// Return the floor of a class in its share: "floor" of the member, at least the rate of the class.
uint64_t tl_config_member_floor(const struct tl_config_class *cls);

// Return the floor of a shape in its share: "floor", at least the sum of the rates of its classes.
uint64_t tl_config_shape_floor(const struct tl_config_shape *shape);

void tl_config_free(struct tl_config *config);

// True if both are absent, or the same.
bool tl_config_same_policer(const struct tl_config_policer *a, const struct tl_config_policer *b);

// True if the hosts of both classes have the same weights, in one order.
bool tl_config_same_weights(const struct tl_config_class *a, const struct tl_config_class *b);

// True if the lcore of a queue may own echoes.
static inline bool tl_config_answers(const struct tl_config_port *port, uint32_t queue)
{
	return port->roles[queue] != TL_CONFIG_ROLE_RECORD;
}

// True if the frames of a queue are in the port's recordings.
static inline bool tl_config_records(const struct tl_config_port *port, uint32_t queue)
{
	return port->roles[queue] != TL_CONFIG_ROLE_ECHO;
}

// True if a frame may match both rules.
bool tl_config_rules_overlap(const struct tl_config_rule *a, const struct tl_config_rule *b);

// Format what a rule matches: "dst 239.1.1.1 udp dst port 5001".
#define TL_CONFIG_RULE_TEXT 160
const char *tl_config_rule_text(const struct tl_config_rule *rule, char text[TL_CONFIG_RULE_TEXT]);

// True if two echoes that receive multicast have a group in common.
bool tl_config_share_a_group(const struct tl_config_echo *a, const struct tl_config_echo *b);
