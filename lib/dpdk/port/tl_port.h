// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// port: one network port, whatever is behind it: a PCI NIC, a kernel interface, an AF_XDP socket, a capture file or
// any DPDK virtual device. Frames come in bursts with a timestamp each, go out through a tl_txq, and every frame that
// the port saw is accounted for.
//
// Threads: rx, tx and wait of one queue on its lcore; everything else on main. Memory: open/close; the rx and tx
// calls never allocate (mbufs come from the port's pool).

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>
#include <tl_clock.h>
#include <tl_clock_track.h>
#include <tl_wire.h>

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

struct tl_err;
struct tl_family_facts;
struct tl_port;

#define TL_BURST 64
#define TL_PORT_QUEUES_MAX 16

// A burst of frames. An lcore owns the mbufs and frees them after every service has seen the burst; a service that
// keeps one takes a reference.
struct tl_burst {
	uint16_t n;
	uint16_t queue;
	uint64_t unstamped; // bit i: frame i has no stamp of the queue's source; its time is that of the poll
	uint64_t sent;	    // bit i: the host sent frame i itself, on a kernel interface that shows both directions
	uint64_t tsc;	    // when rx_burst (or tx_burst) returned
	uint64_t last_tsc;  // when the lcore's poll before it returned; 0: there was none on this lcore
	uint64_t mono_ns;   // the same, for timers
	struct rte_mbuf *pkts[TL_BURST];
	uint64_t ts_ns[TL_BURST];      // since 1970, from the queue's timestamp source
	uint32_t wire_bytes[TL_BURST]; // length on the wire without FCS, even where the frame arrived cut
	struct tl_pkt pkt[TL_BURST];   // parsed; valid only where the lcore parses
};

// Where a timestamp comes from. None stands in for another: what lacks its stamp is marked and counted.
enum tl_ts_source {
	TL_TS_AUTO, // no source but a wish: the best that a port has
	TL_TS_TSC,
	TL_TS_NIC_RX,  // taken by the NIC, of each frame
	TL_TS_NIC_PTP, // taken by the NIC, of PTP frames only
	TL_TS_NIC_TX,  // taken by the NIC, of a frame it sent
	TL_TS_KERNEL,
	TL_TS_FILE,
};
const char *tl_ts_source_name(enum tl_ts_source source); // "tsc", "nic-rx", "nic-ptp", "nic-tx", "kernel", "file"

enum tl_port_kind { TL_PORT_PCI, TL_PORT_KERNEL, TL_PORT_XDP, TL_PORT_FILE, TL_PORT_VDEV };

// PORT as the user writes it, taken apart.
struct tl_port_spec {
	enum tl_port_kind kind;
	char text[256]; // as given
	char arg[240];	// PCI address (without DPDK's arguments of the device), interface name, file name or devargs
};

// Parses the PORT grammar (see docs/ports.md). Checks form only. Returns 0 or -EINVAL.
int tl_port_spec_parse(const char *text, struct tl_port_spec *out, struct tl_err *err);

// What a NIC has to have for stamps of its own.
struct tl_port_nic {
	bool stamps;   // it puts them into mbufs
	bool by_phc;   // by the clock that stamps what it sends, too
	bool sends_at; // it sends mbufs at a time
	int (*read_clock)(uint16_t port_id, uint64_t *ticks);
};

struct tl_port_cfg {
	const char *name; // borrowed
	struct tl_port_spec spec;
	uint16_t rx_queues;
	bool fewer_queues;  // rx_queues is the most: a device with fewer, or that spreads nothing over them, gets what
			    // it has
	bool loopback;	    // the device gives back what it sends; drivers that cannot may ignore it
	uint16_t tx_queues; // one per lcore that sends; 0 for capture only
	uint16_t rx_descriptors; // of each queue; 0: by the port's role and driver, see tl_port_rx_descriptors()
	uint16_t tx_descriptors; // the same; 0: 1024
	uint16_t mtu;
	bool promisc;
	bool take;		       // allow AF_XDP on the interface of the default route or the login
	bool ptp;		       // stamped PTP frames are wanted: of the driver's paths the ones that can
	bool rx_only;		       // nobody wants the frames that the host itself sends on a kernel interface
	enum tl_ts_source timestamps;  // of received frames
	bool send_at;		       // frames are to leave at a time, if the device can
	const struct tl_port_nic *nic; // NULL: the device itself; a test's own
	bool tx_checksums; // the device makes those of TCP and UDP, if it can: what is recorded of them is not what
			   // leaves
	const struct tl_clock *clock;
	int socket_id; // NUMA node of rings, packets and recordings; SOCKET_ID_ANY: the device's own
};

// Descriptors of an RX queue that are asked for; the device may give others. A port of a NIC that only records holds
// more frames while its lcore is kept from it: 4096, with mlx5 8192.
uint16_t tl_port_rx_descriptors(const struct tl_port_cfg *cfg, bool mlx5);
uint16_t tl_port_tx_descriptors(const struct tl_port_cfg *cfg);

// What the packets and rings of a port take of DPDK's memory, before it is opened.
uint64_t tl_port_memory_bytes(const struct tl_port_cfg *cfg, bool mlx5);

// Written by its lcore only.
struct tl_rxq_stats {
	uint64_t rx_pkts, rx_bytes;
	uint64_t altered_pkts;	 // not as they were on the wire: see tl_port_stats
	uint64_t unstamped_pkts; // without a stamp of the queue's source
};

// The gate in front of a NIC's stamps. On trial and shut each stamp is compared with the poll that took its frame, open
// the first and the last of each burst. One that cannot be of that poll shuts it: frames have the poll's time then,
// until many stamps in a row were right.
enum tl_gate_state { TL_GATE_TRIAL, TL_GATE_OPEN, TL_GATE_SHUT };
const char *tl_gate_state_name(enum tl_gate_state state); // "trial", "open", "shut"

// The stamp that shut the gate.
struct tl_port_offence {
	uint64_t ticks;	 // by the NIC's clock
	uint64_t tsc;	 // when the poll returned
	int64_t late_ns; // of the stamp, against that
	bool was_open;
};

// Written by its lcore; main reads the offence after the closure that it belongs to.
struct tl_port_gate {
	uint64_t since_tsc; // a frame of the next burst came after this
	uint64_t poll_tsc;  // the return of the last poll
	uint32_t left;	    // right stamps in a row until it opens
	atomic_int state;   // enum tl_gate_state
	atomic_uint_fast64_t closures;
	uint64_t refused_pkts;
	struct tl_port_offence offence;
	uint64_t told; // main's: closures
};

struct tl_rxq {
	uint16_t (*burst)(struct tl_rxq *q, struct tl_burst *b); // HOT: fills pkts, ts_ns, wire_bytes, n, tsc, mono_ns
	struct tl_rxq_stats stats;
	uint16_t port_id, queue_id;
	uint16_t descriptors; // of a NIC's ring; 0: not known
	uint32_t frame_max; // longest frame that the wire can carry; where the kernel may hand over longer ones, else 0
	enum tl_ts_source source;
	int stamp_offset;		    // of the stamp in an mbuf that has the flag
	uint64_t stamp_flag;		    // 0: this queue's stamps are not in mbufs
	const struct tl_clock_track *track; // what such a stamp means
	int wait_fd;			    // to sleep on until frames arrive; -1: none
	bool gathers; // frames come many at a time, with their times: an adaptive lcore sleeps as soon as there is none
	const struct tl_clock *clock;
	struct tl_port *port;
	void *backend;
	struct tl_port_gate gate; // of TL_TS_NIC_RX
} TL_CACHE_ALIGNED;

#define TL_TXQ_MAX (2 * TL_BURST)

// Frames on their way out. push() collects, flush() sends at once. What the port has no room for stays for the next
// flush, before what comes.
struct tl_txq {
	struct rte_mbuf *pkts[TL_TXQ_MAX];
	uint16_t n;
	uint16_t port_id, queue_id;
	bool checksums;			    // the device makes those of TCP and UDP in frames that ask for it
	void (*flush_fn)(struct tl_txq *q); // sends pkts[0..n), leaves less than TL_TXQ_MAX; tests put their own here
	// The last flush that sent something: when the tx_burst call began and returned.
	uint64_t begin_tsc, end_tsc;
	uint64_t tx_pkts, tx_bytes, drop_tx_pkts;
	// Sent frames for the recording: where on_sent is set each frame gets a reference before it is sent, and
	// on_sent is handed those that were accepted, after they were sent; it borrows them.
	void (*on_sent)(void *ctx, struct tl_burst *sent);
	void *on_sent_ctx;
	struct tl_burst *sent;
	const struct tl_clock *clock;
	void *backend; // for a test's flush_fn
} TL_CACHE_ALIGNED;

// HOT. Takes ownership of the mbuf. Sends only when there is a burst.
static inline void tl_txq_push(struct tl_txq *q, struct rte_mbuf *m)
{
	q->pkts[q->n++] = m;
	if (TL_UNLIKELY(q->n >= TL_BURST))
		q->flush_fn(q);
}

// HOT. Whether the port takes frames. If not, a burst waits already; what can wait elsewhere should, and beyond
// TL_TXQ_MAX frames are dropped.
static inline bool tl_txq_has_room(const struct tl_txq *q)
{
	return TL_LIKELY(q->n < TL_BURST);
}

// HOT. Send what was pushed.
static inline void tl_txq_flush(struct tl_txq *q)
{
	if (q->n != 0)
		q->flush_fn(q);
}

// HOT. The stamp that the NIC put into a received frame, by its own clock. False: it has none.
static inline bool tl_rxq_ticks(const struct tl_rxq *q, const struct rte_mbuf *m, uint64_t *ticks)
{
	if ((m->ol_flags & q->stamp_flag) == 0)
		return false;
	*ticks = *RTE_MBUF_DYNFIELD(m, q->stamp_offset, const rte_mbuf_timestamp_t *);
	return true;
}

// HOT. Hand the sent frames to the recording and release them; called after the latency-critical work.
void tl_txq_record_sent(struct tl_txq *q);

// Drops what the port had no room for, and counts it.
void tl_txq_drop_waiting(struct tl_txq *q);

// A kernel interface may hand over frames that were never on the wire: segments not yet cut or already put together,
// with an echo also fragments put together, or frames cut at the ring's frame size. They are counted in altered_pkts:
// recorded, but not as they were.

// The port's own account. hw_seen comes from the kernel's socket, the MAC or the file reader; where no such source
// exists verified is false and hw_seen repeats rx_pkts plus the drops.
struct tl_port_stats {
	uint64_t hw_seen_pkts, drop_nic_pkts, drop_nombuf_pkts, drop_error_pkts;
	bool verified;
	bool has_mac;		// the driver counts what the MAC saw, and the port is promiscuous
	uint64_t mac_seen_pkts; // that count; not verified: that drivers count so has only been read in their sources
	bool drops_by_queue; // the kernel or the driver tells of each queue, and what it tells adds up to drop_nic_pkts
	uint64_t queue_drop_nic_pkts[TL_PORT_QUEUES_MAX];
};

// Frames that the port saw and nobody received.
static inline uint64_t tl_port_drops(const struct tl_port_stats *stats)
{
	return stats->drop_nic_pkts + stats->drop_nombuf_pkts + stats->drop_error_pkts;
}

// Whether a port of this kind can have the timestamps that are wanted. Returns 0, or -EINVAL with those that it has.
int tl_port_check_stamps(const struct tl_port_cfg *cfg, struct tl_err *err);

// What can be known of a port before EAL is started: whether the interface exists, is up and may be taken, or the file
// is one of frames. Returns 0, or -errno with a sentence.
int tl_port_check(const struct tl_port_cfg *cfg, struct tl_err *err);

// Opens and configures; no frame is received before start. Returns 0 or -errno with a sentence.
int tl_port_open(const struct tl_port_cfg *cfg, struct tl_port **out, struct tl_err *err);
int tl_port_start(struct tl_port *port, struct tl_err *err);

// The lcores poll from now on: what a NIC lost before, for want of somebody who polls, belongs to nobody.
void tl_port_begin_account(struct tl_port *port);

// Let nothing more in, so that what is queued can be drained and the accounts closed exactly. Frames that arrive after
// this belong to nobody. False where the port cannot do that: frames go on coming until it is closed. Of a NIC whose
// MAC counts the account ends here all the same: with what it has seen by now, and what is polled of later frames.
bool tl_port_quiesce(struct tl_port *port);

// After that, while the lcores still poll: waits until they have received all that was let in, where that can be told.
// The kernel counts a frame before it hands it over, and on a busy host milliseconds may lie in between. False: not in
// time.
bool tl_port_settle(struct tl_port *port, uint32_t timeout_ms);

// Restores promiscuous mode, stops, frees; a device that was torn out is left as it is. The port must not be polled any
// more.
void tl_port_close(struct tl_port *port);

struct tl_rxq *tl_port_rxq(struct tl_port *port, uint16_t queue);
struct tl_txq *tl_port_txq(struct tl_port *port, uint16_t queue);
const struct tl_port_cfg *tl_port_config(const struct tl_port *port);
const uint8_t *tl_port_mac(const struct tl_port *port);
// At the last look at the link, 0: unknown. Any thread: it does not ask the device.
uint64_t tl_port_speed_bps(const struct tl_port *port);

// The longest frame that the port sends, without FCS; one with an 802.1Q tag may be 4 bytes longer. A kernel
// interface's is that of its own MTU.
uint32_t tl_port_frame_limit(const struct tl_port *port);

// Frames that the device says it has sent, since any time: a NIC's or virtual device's driver, or of a kernel interface
// the kernel, for everybody who sends there. False where nobody tells. Main only.
bool tl_port_sent(const struct tl_port *port, uint64_t *out_pkts);

// Waits until what is sent can leave: the cable is in, the other side is up; or so long.
// Returns whether it can; true where nobody knows. Main only.
bool tl_port_await_link(struct tl_port *port, uint64_t timeout_ns);

// The line rate of a port that is not open: what the kernel says of its interface. 0: unknown.
uint64_t tl_port_expected_bps(const struct tl_port_spec *spec);

struct rte_mempool *tl_port_pool(const struct tl_port *port);
uint32_t tl_port_mbufs_in_use(const struct tl_port *port);

// True once a port has given its last frame: a file at its end, an interface that is gone, or a NIC that was taken
// away. Where that is a failure, err (may be NULL) says why.
bool tl_port_ended(const struct tl_port *port, struct tl_err *err);

// Looks whether a PCI device is gone for ever: torn out, or removed by the kernel. What was read from it last may be
// all ones, its driver must do nothing more, and DPDK must be abandoned (tl_eal_abandon). False where that cannot be
// told. Main only.
bool tl_port_torn_out(struct tl_port *port);

void tl_port_sample(struct tl_port *port, struct tl_port_stats *out);

// Looks whether the link has gone or come, and says so; about once a second. Returns whether it has come since the last
// look. A device that is taken away is noticed between two looks: see tl_port_ended().
bool tl_port_watch(struct tl_port *port);

// The link, at the last look.
struct tl_port_link {
	bool known, up;
	uint64_t downs; // times it was found to have gone
};
void tl_port_link(const struct tl_port *port, struct tl_port_link *out);

// Receive the frames of these groups (0 allowed): the NIC's filter, if they are at most TL_PORT_GROUPS_MAX, else
// allmulticast, else promiscuous.
#define TL_PORT_GROUPS_MAX 160
int tl_port_set_groups(struct tl_port *port, const uint8_t (*macs)[TL_ETHER_ADDR_LEN], uint32_t n);

// How a port's RSS spreads TCP over IPv4: the key of the Toeplitz hash and the table from the hash to a queue.
#define TL_PORT_RSS_KEY_MAX 64
#define TL_PORT_RETA_MAX 512
struct tl_port_rss {
	uint8_t key[TL_PORT_RSS_KEY_MAX];
	uint16_t reta_size; // a power of two
	uint16_t reta[TL_PORT_RETA_MAX];
};

// After tl_port_start(). False where the driver does not tell, or spreads by something else.
bool tl_port_rss(const struct tl_port *port, struct tl_port_rss *out);

// The queue that a received segment lands on.
uint16_t tl_rss_queue(
	const struct tl_port_rss *rss, uint32_t src_be, uint32_t dst_be, uint16_t src_port_be, uint16_t dst_port_be);

// What is known of the stamps of received frames.
struct tl_port_stamps {
	enum tl_ts_source source;
	uint32_t unit_ns;  // they are multiples of; 0: unknown
	bool has_bound;	   // false: nothing can bound them
	uint64_t bound_ns; // against CLOCK_REALTIME
	bool has_nic_clock;
	struct tl_clock_track_stats nic_clock;
	bool by_phc; // the NIC's clock is the one that stamps what is sent, too
};
void tl_port_stamps(const struct tl_port *port, struct tl_port_stamps *out);

// The account of all queues' gates; state is the worst. False: the port has no stamps of a NIC.
struct tl_port_gate_stats {
	enum tl_gate_state state;
	uint64_t closures;     // times it was shut
	uint64_t refused_pkts; // frames whose stamps were not used: they are in unstamped_pkts, too
};
bool tl_port_gate(const struct tl_port *port, struct tl_port_gate_stats *out);

// Compares the NIC's clock, where its stamps are used, and warns of a gate that was shut; about once a second, after
// tl_clock_discipline().
void tl_port_discipline(struct tl_port *port);

// Switches on the stamping of PTP frames, and the PHC: once after each start of the device, and of ixgbe, whose clock's
// increment follows the speed of the link, after each change of that; else does nothing. Of ixgbe without a link it
// takes up to 9 s. Returns 0 or what the driver says.
int tl_port_enable_timesync(struct tl_port *port);

// Result of the last comparison. False: the NIC's clock is not used.
bool tl_port_clock_reading(const struct tl_port *port, struct tl_clock_reading *out);

// Frames that leave at a time: with cfg.send_at, where the device sends them by the clock that it stamps what it
// receives by. Started, the port can say whether it does.
bool tl_port_sends_at(const struct tl_port *port);

// The frame, not yet pushed or not yet flushed, shall leave at this time, since 1970. Returns the time of that tick of
// the NIC's clock. The time must not be over when the device gets the frame, nor seconds away.
uint64_t tl_port_send_at(const struct tl_port *port, struct rte_mbuf *m, uint64_t ns);

// COLD. What the driver has counted of frames that did not leave at their time, or may not have; 0 what it does not
// count.
#define TL_PORT_SEND_FAULTS 7
const char *tl_port_send_fault_name(unsigned fault);
void tl_port_send_faults(const struct tl_port *port, uint64_t counts[TL_PORT_SEND_FAULTS]);

// What the port can do, as a table of text on stderr.
void tl_port_print_probe(const struct tl_port *port);

// What a PCI device says of itself. False for other ports.
bool tl_port_family_facts(const struct tl_port *port, struct tl_family_facts *out);

// COLD. Sleep until a frame may be there, or timeout_us passed. An lcore with idle "adaptive" calls it after empty
// polls. any_queue: a frame of any queue of the port wakes it, as it may be handed over. Returns whether one did.
bool tl_rxq_wait(const struct tl_rxq *q, bool any_queue, uint32_t timeout_us);
