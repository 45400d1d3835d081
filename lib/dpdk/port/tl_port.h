// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// port: one network port of any kind: a PCI NIC, a kernel interface, an AF_XDP socket, a capture file or any DPDK
// virtual device. Frames arrive in bursts with a timestamp each, leave through a tl_txq, and every frame that the port
// saw is accounted for.
//
// Threads: rx, tx and wait of one queue on its lcore; everything else on main. Memory: open/close; the rx and tx
// calls never allocate (mbufs come from the port's pool).

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>
#include <tl_choices.h>
#include <tl_clock.h>
#include <tl_clock_track.h>
#include <tl_ledger.h>
#include <tl_wire.h>

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

struct tl_config_rule;
struct tl_err;
struct tl_family_facts;
struct tl_marked;
struct tl_port;
struct tl_port_cfg;
struct tl_port_ops;
struct tl_rules_plan;

#define TL_BURST 64
#define TL_PORT_QUEUES_MAX 16

// Burst of frames. An lcore owns the mbufs and frees them after every service has processed the burst; a service that
// keeps one takes a reference.
struct tl_burst {
	uint16_t n;
	uint16_t queue;
	uint64_t unstamped; // bit i: frame i has no stamp of the queue's source; its time is that of the poll
	uint64_t sent;	    // bit i: the host sent frame i itself, on a kernel interface that shows both directions
	uint64_t tsc;	    // when rx_burst (or tx_burst) returned
	uint64_t last_tsc;  // when the lcore's previous poll returned; 0: first poll on this lcore
	uint64_t mono_ns;   // the same, for timers
	struct rte_mbuf *pkts[TL_BURST];
	uint64_t ts_ns[TL_BURST];      // since 1970, from the queue's timestamp source
	uint32_t wire_bytes[TL_BURST]; // length on the wire without FCS, even where the frame arrived cut
	struct tl_pkt pkt[TL_BURST];   // parsed, by the service that needs it
};

const char *tl_ts_source_name(enum tl_ts_source source); // "tsc", "nic-rx", "nic-ptp", "nic-tx", "kernel", "file"

enum tl_port_kind { TL_PORT_PCI, TL_PORT_KERNEL, TL_PORT_XDP, TL_PORT_FILE, TL_PORT_VDEV };

// Parsed PORT argument.
struct tl_port_spec {
	enum tl_port_kind kind;
	char text[256]; // as given
	char arg[240];	// PCI address (without DPDK's arguments of the device), interface name, file name or devargs
};

#define TL_TS_BIT(source) (1u << (source))

// Capabilities of a kind of port; the rows are in spec.c.
struct tl_port_traits {
	const char *prefix;	 // of PORT; NULL: none
	bool nic;		 // spec.arg is the address of a PCI device
	bool interface;		 // spec.arg is the name of a kernel interface
	bool devargs;		 // spec.arg is the name of a virtual device of DPDK and its arguments
	bool dpdk;		 // frames pass through a DPDK driver, which holds mbufs
	bool sends;		 // frames can be sent
	bool shows_sent;	 // received frames include those that the host sends
	bool bpf;		 // AF_XDP: a BPF program takes the frames from the kernel
	unsigned sources;	 // of stamps, TL_TS_BIT() of each, as far as known without the device
	const char *way;	 // of receiving, for users
	const char *way_sending; // the same of a port that also sends; NULL: no other
	const char *drops;	 // source of drop counts, for users
	int (*check)(const struct tl_port_cfg *cfg, struct tl_err *err); // see tl_port_check(); NULL: nothing to check
	const struct tl_port_ops *ops;
};
const struct tl_port_traits *tl_port_traits(const struct tl_port_spec *spec);

// True for a device that only a DPDK driver sees, not the kernel: it can stamp frames itself.
static inline bool tl_port_is_drivers(const struct tl_port_spec *spec)
{
	return tl_port_traits(spec)->dpdk && !tl_port_traits(spec)->interface;
}

// Parse the PORT grammar (see docs/ports.md). Checks the form only. Return 0 or -EINVAL.
int tl_port_spec_parse(const char *text, struct tl_port_spec *out, struct tl_err *err);

// Capabilities that a NIC needs for its own stamps.
struct tl_port_nic {
	bool stamps;   // writes them into mbufs
	bool by_phc;   // the same clock stamps sent frames, too
	bool sends_at; // sends mbufs at a time
	int (*read_clock)(uint16_t port_id, uint64_t *ticks);
};

struct tl_port_cfg {
	const char *name; // borrowed
	struct tl_port_spec spec;
	uint16_t rx_queues;
	bool fewer_queues;	 // rx_queues is the maximum: a device with fewer, or without RSS, gets fewer
	bool loopback;		 // the device loops sent frames back; drivers that cannot may ignore it
	uint16_t tx_queues;	 // one per lcore that sends; 0 for capture only
	uint16_t rx_descriptors; // per queue; 0: by the port's role and driver, see tl_port_rx_descriptors()
	uint16_t tx_descriptors; // per queue; 0: 1024
	uint32_t tx_waiting;	 // frames that class trees in front of the TX queues may hold, in total
	uint16_t mtu;
	bool promisc;
	bool take;		       // allow AF_XDP on the interface of the default route or the login
	bool ptp;		       // stamped PTP frames are required: use driver paths that support them
	bool rx_only;		       // frames sent by the host itself on a kernel interface are not wanted
	enum tl_ts_source timestamps;  // of received frames
	bool send_at;		       // frames leave at a time, if the device can
	const struct tl_port_nic *nic; // NULL: the device's; tests supply their own
	bool tx_checksums; // the device computes those of TCP and UDP, if it can: recorded ones differ from sent ones
	const struct tl_clock *clock;
	int socket_id;	     // NUMA node of rings, packets and recordings; SOCKET_ID_ANY: the device's own
	bool rss_symmetric;  // both directions of a flow arrive on the same queue
	bool rss_inner;	     // the NIC is to hash the innermost headers, if it can
	uint32_t rss_queues; // bit i: RSS gives frames to queue i; 0: to all queues
	bool isolate;	     // frames without a rule stay with the kernel, whose interface the device shares
	uint32_t ip_be;	     // of an isolated port with a stack: own addresses; 0, ::: none
	struct tl_ip6 ip6;
	const struct tl_config_rule *rules;	// flow rules; borrowed until the port is closed
	const struct tl_rules_plan *rules_plan; // which of them the NIC can have; borrowed likewise; NULL: no rules
};

// Return the descriptors to request for an RX queue; the device may grant others. A port of a NIC that only records
// buffers more frames while its lcore does not run: 4096, with mlx5 8192.
uint16_t tl_port_rx_descriptors(const struct tl_port_cfg *cfg, bool mlx5);
uint16_t tl_port_tx_descriptors(const struct tl_port_cfg *cfg);

// Return the DPDK memory needed for packets and rings of a port, before it is opened.
uint64_t tl_port_memory_bytes(const struct tl_port_cfg *cfg, bool mlx5);

// Written by the queue's lcore only.
struct tl_rxq_stats {
	uint64_t rx_pkts, rx_bytes;
	TL_RXQ_COUNTERS(TL_COUNTER_FIELD)
};

// Gate for a NIC's stamps. On trial and shut every stamp is compared with the poll that received its frame; open, the
// first and the last of each burst. An impossible stamp shuts the gate: frames then have the poll's time, until many
// consecutive stamps were right.
enum tl_gate_state { TL_GATE_TRIAL, TL_GATE_OPEN, TL_GATE_SHUT };
const char *tl_gate_state_name(enum tl_gate_state state); // "trial", "open", "shut"

// Stamp that shut the gate.
struct tl_port_offence {
	uint64_t ticks;	 // by the NIC's clock
	uint64_t tsc;	 // when the poll returned
	int64_t late_ns; // delay of the stamp against that
	bool was_open;
};

// Written by its lcore; main reads the offence after the closure that it belongs to.
struct tl_port_gate {
	uint64_t since_tsc; // lower limit of the arrival of the next burst
	uint64_t poll_tsc;  // return of the last poll
	uint32_t left;	    // consecutive right stamps still needed to open
	atomic_int state;   // enum tl_gate_state
	atomic_uint_fast64_t closures;
	uint64_t refused_pkts;
	struct tl_port_offence offence;
	uint64_t seen; // main's: closures so far
};

struct tl_rxq {
	uint16_t (*burst)(struct tl_rxq *q, struct tl_burst *b); // HOT: set pkts, ts_ns, wire_bytes, n, tsc, mono_ns
	// HOT: free frames of a burst whose mbufs are the queue's own, on its lcore; NULL: they are of a pool
	void (*free)(struct rte_mbuf *const *pkts, uint16_t n);
	struct tl_rxq_stats stats;
	uint16_t port_id, queue_id;
	uint16_t descriptors; // of a NIC's ring; 0: unknown
	uint32_t frame_max;   // longest frame on the wire if the kernel may deliver longer ones, else 0
	enum tl_ts_source source;
	int stamp_offset;		    // of the stamp in an mbuf with the flag
	uint64_t stamp_flag;		    // 0: this queue's stamps are not in mbufs
	const struct tl_clock_track *track; // conversion of such a stamp
	int wait_fd;			    // descriptor to sleep on until frames arrive; -1: none
	bool gathers; // frames arrive in batches, with their times: an adaptive lcore sleeps after the first empty poll
	const struct tl_clock *clock;
	struct tl_port *port;
	void *backend;
	struct tl_port_gate gate; // of TL_TS_NIC_RX
	struct tl_marked *marked; // with marked flow rules, else NULL
} TL_CACHE_ALIGNED;

// HOT. Free the frames of a burst of q, on its lcore.
static inline void tl_rxq_free(const struct tl_rxq *q, struct tl_burst *b)
{
	if (q->free != NULL)
		q->free(b->pkts, b->n);
	else
		rte_pktmbuf_free_bulk(b->pkts, b->n);
}

#define TL_PORT_MARK_MAX 255

// HOT. Return the mark of a received frame, that of its flow rule; 0: none.
static inline uint32_t tl_frame_mark(const struct rte_mbuf *m)
{
	if ((m->ol_flags & RTE_MBUF_F_RX_FDIR_ID) == 0 || m->hash.fdir.hi > TL_PORT_MARK_MAX)
		return 0;
	return m->hash.fdir.hi;
}

#define TL_TXQ_MAX (2 * TL_BURST)

// Frames to send. push() collects, flush() sends at once. Frames that do not fit the port remain for the next flush,
// before later ones.
struct tl_txq {
	struct rte_mbuf *pkts[TL_TXQ_MAX];
	uint16_t n;
	uint16_t delayed; // number of the first ones, counted in delayed_tx_pkts
	uint16_t port_id, queue_id;
	uint16_t early_pkts; // received frames of a burst between two flushes, after a first one; 0: flush once
	bool checksums;	     // the device computes those of TCP and UDP in frames that request it
	void (*flush_fn)(struct tl_txq *q); // send pkts[0..n), leave less than TL_TXQ_MAX; tests supply their own
	// The backend's send call, without the queue and its counters: frees the frames that it accepts, and returns
	// their number; the others stay the caller's.
	uint16_t (*send)(struct tl_txq *q, struct rte_mbuf **pkts, uint16_t n);
	// Last flush that sent a frame: start and return of its tx_burst call.
	uint64_t begin_tsc, end_tsc;
	TL_TXQ_COUNTERS(TL_COUNTER_FIELD)
	// Sent frames for the recording: if on_sent is set, each frame gets a reference before it is sent; on_sent then
	// receives the accepted ones, after they were sent, and borrows them.
	void (*on_sent)(void *ctx, struct tl_burst *sent);
	void *on_sent_ctx;
	struct tl_burst *sent;
	const struct tl_clock *clock;
	// Called for each frame that is dropped, before it is freed; NULL: none.
	void (*on_dropped)(void *ctx, const struct rte_mbuf *m);
	void *on_dropped_ctx;
	void *backend; // for flush_fn
	void *shaper;  // the same, of a queue behind a class tree (tl_shape.h)
} TL_CACHE_ALIGNED;

// HOT. Take ownership of the mbuf and queue it. Sends only when there is a full burst.
static inline void tl_txq_push(struct tl_txq *q, struct rte_mbuf *m)
{
	q->pkts[q->n++] = m;
	if (TL_UNLIKELY(q->n >= TL_BURST))
		q->flush_fn(q);
}

// HOT. True if the port accepts frames. If not, a burst is waiting already; frames that can wait elsewhere should, and
// beyond TL_TXQ_MAX frames are dropped.
static inline bool tl_txq_has_room(const struct tl_txq *q)
{
	return TL_LIKELY(q->n < TL_BURST);
}

// HOT. Send pushed frames.
static inline void tl_txq_flush(struct tl_txq *q)
{
	if (q->n != 0)
		q->flush_fn(q);
}

// HOT. Read the stamp that the NIC wrote into a received frame, by its own clock. False: there is none.
static inline bool tl_rxq_ticks(const struct tl_rxq *q, const struct rte_mbuf *m, uint64_t *ticks)
{
	if ((m->ol_flags & q->stamp_flag) == 0)
		return false;
	*ticks = *RTE_MBUF_DYNFIELD(m, q->stamp_offset, const rte_mbuf_timestamp_t *);
	return true;
}

// HOT. Pass the sent frames to the recording and release them; called after the latency-critical work.
void tl_txq_record_sent(struct tl_txq *q);

// HOT. Free a pushed frame that is not sent, and report it.
void tl_txq_free_dropped(struct tl_txq *q, struct rte_mbuf *m);

// Drop and count frames that did not fit the port.
void tl_txq_drop_waiting(struct tl_txq *q);

// A kernel interface may deliver frames that were never on the wire: segments not yet cut or already merged, or frames
// truncated at the ring's frame size. They are counted in altered_pkts: recorded, but not as they were.

// The port's own account. hw_seen is from the kernel's socket, the MAC or the file reader; without such a source
// verified is false and hw_seen is rx_pkts plus the drops.
struct tl_port_stats {
	uint64_t hw_seen_pkts;
	TL_PORT_PARTS(TL_COUNTER_FIELD)
	bool verified;
	bool rule_drops_unknown; // the NIC drops frames for flow rules and does not count them
	bool drops_unknown;	 // neither driver nor kernel counts frames dropped at full queues: 0 may be wrong
	bool has_mac;		 // the driver counts frames seen by the MAC, and the port is promiscuous
	uint64_t mac_seen_pkts;	 // that count; not verified: known only from the driver's source
	bool drops_by_queue;	 // kernel or driver report drops per queue, and their sum is drop_nic_pkts
	uint64_t queue_drop_nic_pkts[TL_PORT_QUEUES_MAX];
};

// Return the frames that the port saw but did not deliver.
static inline uint64_t tl_port_drops(const struct tl_port_stats *stats)
{
#define TL_PORT_DROP(name) +stats->name
	return 0 TL_PORT_PARTS(TL_PORT_DROP);
}

// Check that a port of this kind can have the requested timestamps. Return 0, or -EINVAL and the available ones.
int tl_port_check_stamps(const struct tl_port_cfg *cfg, struct tl_err *err);

// Check a port as far as possible before EAL is started: the interface exists, is up and may be used, or the file
// contains frames. Return 0, or -errno with a message.
int tl_port_check(const struct tl_port_cfg *cfg, struct tl_err *err);

// Open and configure; no frame is received before start. Return 0 or -errno with a message.
int tl_port_open(const struct tl_port_cfg *cfg, struct tl_port **out, struct tl_err *err);
int tl_port_start(struct tl_port *port, struct tl_err *err);

// Start the account, when lcores begin to poll: frames lost by the NIC before that are not accounted.
void tl_port_begin_account(struct tl_port *port);

// Stop the intake, so that queued frames can be drained and the accounts closed exactly. Frames that arrive after this
// are not accounted. False if the port cannot do that: frames continue to arrive until it is closed. For a NIC whose
// MAC counts, the account is closed here all the same: with the frames seen by now, and those polled later.
bool tl_port_quiesce(struct tl_port *port);

// After tl_port_quiesce(), while the lcores still poll: wait until they have received all admitted frames, if their
// number is known. The kernel counts a frame before it delivers it, and on a busy host milliseconds may pass in
// between. False: timeout.
bool tl_port_settle(struct tl_port *port, uint32_t timeout_ms);

// Restore promiscuous mode, stop, free; a device that was torn out is left as it is. The port must no longer be polled.
void tl_port_close(struct tl_port *port);

struct tl_rxq *tl_port_rxq(struct tl_port *port, uint16_t queue);

// Return the queue of frames that an isolated port with an address copies from the kernel's interface, for one lcore:
// ARP, neighbour discovery, IGMP and MLD. They are not among the frames of tl_port_rxq(). NULL: none.
struct tl_rxq *tl_port_copies(struct tl_port *port);
struct tl_txq *tl_port_txq(struct tl_port *port, uint16_t queue);
const struct tl_port_cfg *tl_port_config(const struct tl_port *port);
const uint8_t *tl_port_mac(const struct tl_port *port);
// Return the speed at the last link check, 0: unknown. Any thread: does not query the device.
uint64_t tl_port_speed_bps(const struct tl_port *port);

// Return the longest frame that the port sends, without FCS; one with an 802.1Q tag may be 4 bytes longer. A kernel
// interface's follows from its own MTU, and frames longer than TL_PORT_SEGMENT_BYTES can be chained mbufs of up to
// TL_PORT_SEGMENTS_MAX segments, unless sent frames are recorded.
#define TL_PORT_SEGMENT_BYTES 32832u // half of the longest frame at least, with a tag
#define TL_PORT_SEGMENTS_MAX 2
uint32_t tl_port_frame_limit(const struct tl_port *port);

// Return the frames sent by the device's count, from an arbitrary start: of a NIC's or virtual device's driver, or of
// the kernel for its interface, including frames of other senders. False if no count exists. Main only.
bool tl_port_sent(const struct tl_port *port, uint64_t *out_pkts);

// Stamps by the kernel of frames that a port sends to its interface, if marked by tl_tx_stamp_take(). True if the
// driver supports them: a started port of the kind TL_PORT_KERNEL. Main only.
bool tl_port_stamps_sent(const struct tl_port *port);
int tl_port_enable_sent_stamps(const struct tl_port *port); // 0 or -errno
// Take the last stamp so far, in ns since 1970. False: none is new.
bool tl_port_read_sent_stamp(const struct tl_port *port, uint64_t *ns);

// Wait until frames can leave: cable connected, link partner up; or until the timeout. Return whether they can; true
// if unknown. Main only.
bool tl_port_await_link(struct tl_port *port, uint64_t timeout_ns);

// Return the line rate of a port that is not open: the kernel's value for its interface. 0: unknown.
uint64_t tl_port_expected_bps(const struct tl_port_spec *spec);

struct rte_mempool *tl_port_pool(const struct tl_port *port);
uint32_t tl_port_mbufs_in_use(const struct tl_port *port);

// True once a port has delivered its last frame: a file at its end, a removed interface, or a removed NIC. If that is a
// failure, err (may be NULL) has the cause.
bool tl_port_ended(const struct tl_port *port, struct tl_err *err);

// Check whether a PCI device is gone for good: torn out, or removed by the kernel. The last values read from it may be
// all ones, its driver must no longer run, and DPDK must be abandoned (tl_eal_abandon). False if unknown. Main only.
bool tl_port_torn_out(struct tl_port *port);

// True if the port's drops are the kernel's counts of sockets. The statistics of its driver must not be read: from DPDK
// 25.03 on that clears them (drivers/net/af_packet/rte_eth_af_packet.c:421).
bool tl_port_counts_by_sockets(const struct tl_port *port);

void tl_port_sample(struct tl_port *port, struct tl_port_stats *out);

// Check for a lost or restored link and log it; about once a second. Return whether the link was restored since the
// last check. A device removed between two checks is noticed: see tl_port_ended().
bool tl_port_watch(struct tl_port *port);

// Link state, at the last check.
struct tl_port_link {
	bool known, up;
	uint64_t downs; // losses of the link that were noticed
};
void tl_port_link(const struct tl_port *port, struct tl_port_link *out);

// Receive the frames of these groups (0 allowed): through the NIC's filter, if they are at most TL_PORT_GROUPS_MAX,
// else allmulticast, else promiscuous mode.
#define TL_PORT_GROUPS_MAX 160
int tl_port_set_groups(struct tl_port *port, const uint8_t (*macs)[TL_ETHER_ADDR_LEN], uint32_t n);

// Flow rules of a port, installed by tl_port_start(): all that the plan has, or none. If one has a mark, the port does
// not start without them. Main only.
struct tl_port_rule {
	bool installed;
	bool counted;	      // the NIC counts the rule's frames
	uint64_t hits_pkts;   // that count
	bool marked;	      // installed with a mark
	uint64_t marked_pkts; // received frames with the mark
};
void tl_port_rule(const struct tl_port *port, uint32_t index, struct tl_port_rule *out);
// Return the reason that no rule is installed; NULL: they are, or there are none.
const char *tl_port_rules_refusal(const struct tl_port *port);

// Write the driver that a device will probably have, as tl_doctor_pmd() names it, and its PCI ID, 0 without one. False:
// unknown. Before DPDK is started.
bool tl_port_expected_driver(const struct tl_port_spec *spec, char *driver, size_t size, uint16_t *device);

// Write the name of the kernel's interface that a device shares: of an mlx5, or the "remote" of a net_tap. False: none.
#define TL_PORT_IFACE_CHARS 16
bool tl_port_kernel_iface(const struct tl_port_spec *spec, char name[TL_PORT_IFACE_CHARS]);

// True if closing the port changes an interface of the kernel, for which main needs CAP_NET_ADMIN.
bool tl_port_changes_iface(const struct tl_port_spec *spec);

// RSS of a port for TCP over IPv4: key of the Toeplitz hash and table from the hash to a queue.
#define TL_PORT_RSS_KEY_MAX 64
#define TL_PORT_RETA_MAX 512
struct tl_port_rss {
	uint8_t key[TL_PORT_RSS_KEY_MAX];
	bool inner;	    // of the innermost headers
	uint16_t reta_size; // a power of two
	uint16_t reta[TL_PORT_RETA_MAX];
};

// After tl_port_start(). False if the driver does not report it, or uses another hash.
bool tl_port_rss(const struct tl_port *port, struct tl_port_rss *out);

// RSS of a started port as it was read back then. False: one queue, or tl_port_rss() is false.
struct tl_port_shares {
	bool symmetric;
	uint16_t entries[TL_PORT_QUEUES_MAX]; // of the table, for each queue: its share of many flows
	uint16_t size;			      // of the table
};
bool tl_port_shares(const struct tl_port *port, struct tl_port_shares *out);

// True if the NIC of a started port hashes the innermost headers of encapsulated frames that it knows, with a key that
// repeats every 16 bits, as read back. False: *why is the reason, static; NULL if cfg.rss_inner is false.
bool tl_port_hashes_inner(const struct tl_port *port, const char **why);

// Return the queue of a received segment.
uint16_t tl_rss_queue(
	const struct tl_port_rss *rss, uint32_t src_be, uint32_t dst_be, uint16_t src_port_be, uint16_t dst_port_be);

// Properties of the stamps of received frames.
struct tl_port_stamps {
	enum tl_ts_source source;
	uint32_t unit_ns;  // resolution; 0: unknown
	bool has_bound;	   // false: no bound is known
	uint64_t bound_ns; // against CLOCK_REALTIME
	bool has_nic_clock;
	struct tl_clock_track_stats nic_clock;
	bool by_phc; // the NIC's clock stamps sent frames, too
};
void tl_port_stamps(const struct tl_port *port, struct tl_port_stamps *out);

// Account of the gates of all queues; state is the worst. False: the port has no stamps of a NIC.
struct tl_port_gate_stats {
	enum tl_gate_state state;
	uint64_t closures;     // times that a gate was shut
	uint64_t refused_pkts; // frames whose stamps were discarded: also in unstamped_pkts
};
bool tl_port_gate(const struct tl_port *port, struct tl_port_gate_stats *out);

// Compare the NIC's clock, if its stamps are used, and warn of a shut gate; about once a second, after
// tl_clock_discipline().
void tl_port_discipline(struct tl_port *port);

// Enable the stamping of PTP frames, and the PHC: once after each start of the device, and with ixgbe, whose clock
// increment depends on the link speed, after each change of that; else no effect. With ixgbe and no link it takes up to
// 9 s. Return 0 or the driver's error.
int tl_port_enable_timesync(struct tl_port *port);

// Return the result of the last comparison. False: the NIC's clock is not used.
bool tl_port_clock_reading(const struct tl_port *port, struct tl_clock_reading *out);

// Frames that leave at a time: with cfg.send_at, if the device sends them by the clock that stamps its received frames.
// True if it does, and no gate is shut; valid after the start.
bool tl_port_sends_at(const struct tl_port *port);

// True if a frame may get a time now: a received stamp has shown that the clock that is read is the one that stamps.
// On the thread that polls the port.
bool tl_port_may_send_at(const struct tl_port *port);

// Schedule a frame, not yet pushed or not yet flushed, for this time since 1970. Return the time of that tick of the
// NIC's clock. The time must still be ahead when the device gets the frame, by less than seconds.
uint64_t tl_port_send_at(const struct tl_port *port, struct rte_mbuf *m, uint64_t ns);

// The same for hot code, if tl_port_sends_at(): a scheduled frame has the flag, and a tick of the NIC's clock at the
// offset. tl_clock_apply() of the line converts ns since 1970 to ticks; it holds for about a second before and after
// near_ns, until the next tl_port_discipline().
struct tl_port_send_field {
	int offset;
	uint64_t flag;
};
struct tl_port_send_field tl_port_send_field(const struct tl_port *port);
struct tl_clock_line tl_port_send_line(const struct tl_port *port, uint64_t near_ns);

// COLD. Read the driver's counts of frames that did not leave at their time, or may not have; 0 for missing counters.
#define TL_PORT_SEND_FAULTS 7
const char *tl_port_send_fault_name(unsigned fault);
void tl_port_send_faults(const struct tl_port *port, uint64_t counts[TL_PORT_SEND_FAULTS]);

// Print the port's capabilities, as a text table on stderr.
void tl_port_print_probe(const struct tl_port *port);

// Read the facts that a PCI device reports. False for other ports.
bool tl_port_family_facts(const struct tl_port *port, struct tl_family_facts *out);

// COLD. Read how many descriptors of a NIC's ring hold frames that wait. On the lcore of the queue. False: unknown.
bool tl_rxq_ring_used(const struct tl_rxq *q, uint32_t *used);

// COLD. Sleep until a frame may be present, or timeout_us passed. An lcore with idle "adaptive" calls it after empty
// polls. any_queue: a frame of any queue of the port wakes it, as it may be handed over; q NULL: none does. Returns
// whether one did.
bool tl_rxq_wait(const struct tl_rxq *q, bool any_queue, uint32_t timeout_us);
