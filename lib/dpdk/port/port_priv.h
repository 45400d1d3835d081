// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Shared by the files of port: the port itself and its backends: a DPDK device, own sockets of a kernel interface, a
// capture file.

#include <stdatomic.h>
#include <sys/socket.h>

#include <tl_err.h>
#include <tl_pcapfile.h>
#include <tl_port.h>

struct rte_eth_conf;
struct rte_eth_dev_info;
struct rte_flow;

struct tl_port_ops {
	int (*open)(struct tl_port *port, struct tl_err *err);
	int (*start)(struct tl_port *port, struct tl_err *err);
	void (*begin_account)(struct tl_port *port); // may be NULL
	bool (*quiesce)(struct tl_port *port);
	bool (*ended)(const struct tl_port *port, struct tl_err *err); // NULL: never
	void (*sample)(struct tl_port *port, struct tl_port_stats *out);
	int (*set_groups)(struct tl_port *port, const uint8_t (*macs)[TL_ETHER_ADDR_LEN], uint32_t n);
	void (*close)(struct tl_port *port);
};

extern const struct tl_port_ops tl_port_eth_ops;
extern const struct tl_port_ops tl_port_packet_ops;
extern const struct tl_port_ops tl_port_file_ops;

// Sockets opened by a kernel-backed driver, and the kernel's counts on them.
struct tl_kernel_sockets {
	int fd[TL_PORT_QUEUES_MAX];
	unsigned n;
	int spare_fd;			      // of tl_kernel_open_spare(); 0: none
	uint64_t seen;			      // of all sockets
	uint64_t dropped[TL_PORT_QUEUES_MAX]; // by each socket
					      // Both are accumulated: reading AF_PACKET's counters clears them.
};

// Longer frames are cut at the size of a block; GSO's 64 KiB are far below that.
#define TL_PACKET_BLOCK_BYTES (256u << 10)
#define TL_PACKET_SEGMENTS_MAX 5 // mbufs for the longest frame
#define TL_PACKET_VIEWS (TL_BURST + TL_PACKET_SEGMENTS_MAX - 1)
// Received frames between two flushes of a burst's replies. A send call of a driver, with its doorbell or system call,
// costs as much as some messages; frames to a kernel interface have a call each.
#define TL_ETH_EARLY_PKTS 32
#define TL_SLOT_EARLY_PKTS 8
#define TL_PACKET_TAG_BYTES 4 // of VLAN, for which the kernel leaves room before each frame

// Queue of a kernel interface that is not sent to. The kernel fills blocks of frames; a burst is mbufs that
// point to the frames of one block in place. These mbufs are fixed, never from a pool: the port keeps a reference to
// each. A block is returned when all its frames have been passed on and freed.
struct tl_packet_queue {
	uint8_t *ring;
	uint8_t *next;	    // next frame to pass on
	uint32_t blocks;    // a power of two
	uint32_t block;	    // index of the current block, read or awaited
	uint32_t left_pkts; // in that block
	bool has_block;	    // the block belongs to user space
	bool has_chains;    // in the last burst
	uint16_t lent;	    // views in the last burst
	struct rte_mbuf views[TL_PACKET_VIEWS];
} TL_CACHE_ALIGNED;

// Queue of a kernel interface that is also sent to. The kernel puts each frame into a slot, where it is visible at
// once; it is copied into an mbuf, and the slot returned.
struct tl_slot_queue {
	uint8_t *ring;
	struct rte_mempool *pool;
	uint32_t slots;	     // a power of two
	uint32_t slot;	     // index of the current slot, read or awaited
	uint32_t slot_bytes; // a power of two
	int fd;		     // for sending
	bool unsendable;     // the last send call ended at a frame that the kernel never takes
} TL_CACHE_ALIGNED;

struct tl_port_file {
	struct tl_pcap_reader *reader;
	struct tl_pcap_frame pending; // read from the file, not yet delivered for lack of an mbuf
	bool has_pending;
	uint64_t seen_pkts; // of the reader
	atomic_int ended;   // 0: no; 1: end of file; 2: broken file
};

// Stamps in received mbufs.
struct tl_port_stamping {
	enum tl_ts_source source; // TL_TS_TSC: none
	int offset;		  // in the mbuf
	uint64_t flag;
	uint32_t unit_ns;	      // resolution of a file's times; 0: unknown
	bool timesync;		      // enabled since the device was started
	bool clock_by_speed;	      // enabling it sets the clock's increment from the link speed
	uint64_t timesync_bps;	      // that speed; 0: no link, or not relevant
	bool reads_phc;		      // the clock is a PHC of nanoseconds, else one of unknown ticks
	struct tl_clock_track *track; // track of that clock; NULL: not yet, or none
};

// Departure times in sent mbufs.
struct tl_port_sending {
	int offset;
	uint64_t flag; // 0: the device cannot send at a time, or it is not requested
};

// Counters of the NIC's MAC, by their identifiers among the xstats.
#define TL_PORT_MAC_COUNTS 42

struct tl_port_mac {
	// Properties of the driver (mac_counts.c).
	bool verified, queue_drops, adds;
	unsigned seen_end, lost_end, n; // ends in ids: frames seen, then lost, then with errors; n 0: none known
	uint64_t ids[TL_PORT_MAC_COUNTS];
	uint64_t seen_before; // count of the MAC when the port was started
};

// Values of these counters.
struct tl_port_mac_counts {
	uint64_t seen;
	uint64_t lost;	 // not in imissed
	uint64_t errors; // in addition to ierrors, or instead of them
};

// Counters of a device at the start and the end of a run.
struct tl_port_account {
	struct tl_port_stats before; // when lcores began to poll: earlier losses are not accounted
	struct tl_port_stats end;    // at the last quiesce
	bool ended;
};

// Received frames of a queue by their mark. Written by the queue's lcore.
struct tl_marked {
	uint16_t (*burst)(struct tl_rxq *q, struct tl_burst *b); // backend of tl_eth_marked_burst()
	uint64_t pkts[TL_PORT_MARK_MAX + 1];
} TL_CACHE_ALIGNED;

// Installed flow rules.
struct tl_port_rules {
	struct rte_flow **flow; // by rule; an entry is NULL if the rule is not in the NIC. NULL: no rules
	bool installed;
	char refusal[192];	  // why not; empty: no rule was refused
	struct tl_marked *marked; // by queue; NULL: no rule has a mark
	bool counts_drops;	  // one counter has all frames dropped by rules
	uint64_t drop_counter;	  // identifier among the xstats
};

// Runtime events of a port.
struct tl_port_events {
	atomic_bool removed; // written by DPDK threads
	bool reported;	     // removal reported to the user
	int config_fd;	     // PCI configuration space; -1: none or unreadable
	const char *device;  // DPDK device name for event callbacks; NULL: none
	struct tl_port_link link;
	uint32_t carrier_downs;	     // of a kernel interface, at the last look
	_Atomic(uint64_t) speed_bps; // at the last link check; written by main; 0: unknown
	uint64_t next_ask_ns;	     // time of the next link query of a NIC, CLOCK_MONOTONIC
};

// Kernel interface of a device that DPDK drives beside it.
struct tl_port_shared {
	char name[16];
	uint16_t mtu; // when the device was configured; 0: no interface
};

// Frames that an isolated port copies from the kernel's interface.
struct tl_port_copies {
	char iface[TL_PORT_IFACE_CHARS];
	struct tl_kernel_sockets sockets; // one, or none
	struct tl_slot_queue slots;
	struct tl_rxq rxq;
	uint32_t n_groups; // groups that the interface receives for the port
	uint8_t groups[TL_PORT_GROUPS_MAX][TL_ETHER_ADDR_LEN];
};

struct tl_port {
	const struct tl_port_ops *ops;
	struct tl_port_cfg cfg;
	char name[32];
	struct rte_mempool *pool;
	uint8_t mac[TL_ETHER_ADDR_LEN];
	uint16_t port_id;
	uint64_t speed_bps;	 // of a kernel interface opened without DPDK; 0: unknown
	char dev_name[64];	 // of a virtual device created by the port, else empty
	uint16_t rx_descriptors; // as granted by the device
	bool started;
	bool promisc;	    // of a DPDK device
	bool promisc_set;   // promiscuous mode set by the port: reset at close
	bool allmulti;	    // of a kernel interface
	bool tx_checksums;  // the device computes those of TCP and UDP
	char multicast[24]; // method of receiving groups, for the probe table
	int socket_domain;  // of these sockets; AF_UNSPEC: none
	struct tl_kernel_sockets sockets;
	struct tl_port_stamping stamping;
	struct tl_port_sending sending;
	bool drops_unknown; // see tl_port_stats
	bool counts_queues; // xstats identifier of each receive queue's drop counter, if the driver has one
	uint64_t queue_counters[TL_PORT_QUEUES_MAX];
	struct tl_port_mac mac_counts;
	struct tl_port_account account;
	struct tl_port_stats sampled; // last valid sample of a driver
	struct tl_port_file file;
	struct tl_port_rules rules;
	uint8_t rss_key[TL_PORT_RSS_KEY_MAX]; // drivers read it when they start the device
	struct tl_port_shares shares;	      // size 0: unknown
	const char *outer_why;		      // why the NIC does not hash innermost headers; NULL: it does
	struct tl_port_events events;
	struct tl_port_shared shared;
	struct tl_port_copies copies;
	struct tl_rxq rxq[TL_PORT_QUEUES_MAX];
	struct tl_txq txq[TL_PORT_QUEUES_MAX];
	struct tl_burst sent[TL_PORT_QUEUES_MAX];
};

static inline bool tl_port_is_nic(const struct tl_port *port)
{
	return tl_port_traits(&port->cfg.spec)->nic;
}

static inline bool tl_port_is_kernels(const struct tl_port *port)
{
	return tl_port_traits(&port->cfg.spec)->interface;
}

// presence.c: open the files read by tl_port_torn_out(), from the port's opening to its end.
void tl_port_open_presence(struct tl_port *port);
void tl_port_close_presence(struct tl_port *port);

// isolate.c: check an isolated port before DPDK is started: its kernel interface is up, and the kernel does not have
// the port's address. Isolate the device between the set-up of its queues and its start.
int tl_isolate_check(const struct tl_port_cfg *cfg, struct tl_err *err);
int tl_isolate_device(struct tl_port *port, struct tl_err *err);
// Remove the queueing discipline that net_tap leaves on the kernel's interface, once its device is closed.
void tl_isolate_clean(const struct tl_port *port);

// copies.c. The filter takes a program of libpcap's syntax for the frames to copy.
#define TL_COPIES_FILTER 512
void tl_copies_filter(const struct tl_port_cfg *cfg, char filter[TL_COPIES_FILTER]);
int tl_copies_open(struct tl_port *port, struct tl_err *err);
int tl_copies_start(struct tl_port *port, struct tl_err *err);
// Receive groups on the kernel's interface. Return 0 or -errno.
int tl_copies_set_groups(struct tl_port *port, const uint8_t (*macs)[TL_ETHER_ADDR_LEN], uint32_t n);
// Add frames that the kernel offered, and those lost, to the port's.
void tl_copies_sample(struct tl_port *port, struct tl_port_stats *out);
// Stop the intake, and wait until the lcore has taken all frames, at most a second.
void tl_copies_quiesce(struct tl_port *port);
void tl_copies_close(struct tl_port *port);

// shared.c. Before the device is configured; once it is stopped.
void tl_port_note_shared(struct tl_port *port);
void tl_port_restore_shared(const struct tl_port *port);

// mac_counts.c. driver: as DPDK names it. read() returns the counts of the MAC since it was reset; false if the driver
// has none.
void tl_port_find_mac_counts(struct tl_port *port, const char *driver);
bool tl_port_read_mac_counts(const struct tl_port *port, struct tl_port_mac_counts *out);
// Subtract the losses of a device before a run.
void tl_port_subtract(struct tl_port_stats *stats, const struct tl_port_stats *before);
// Close the account of a run on a port that cannot be stopped: end is the device's counters at the end of the run, now
// (in and out) its current ones, rx_pkts the frames polled by then. A frame that arrived after the end may have been
// polled and then counts as seen; drops after the end count as far as frames seen before the end are missing.
void tl_port_close_account(const struct tl_port_stats *end, uint64_t rx_pkts, struct tl_port_stats *now);

// rules.c. After the device was started: install all planned rules, or none; warn if the port can do without.
void tl_port_install_rules(struct tl_port *port);
// Before it is stopped.
void tl_port_remove_rules(struct tl_port *port);
// True if a rule has a mark: the port does not start without its rules.
bool tl_port_has_marks(const struct tl_port *port);
// Read the frames dropped by rules into out.
void tl_port_rule_drops(const struct tl_port *port, struct tl_port_stats *out);

// rss.c. Configure RSS over all queues. Return 0 or -errno with a message.
int tl_port_configure_rss(
	struct tl_port *port, const struct rte_eth_dev_info *info, struct rte_eth_conf *conf, struct tl_err *err);
// Configure the device; if it refuses an RSS level, without it. Return 0 or -errno of the driver.
int tl_port_configure_device(struct tl_port *port, uint16_t rx, uint16_t tx, struct rte_eth_conf *conf);
// After the start: read the shares of the queues back, and warn if the driver did not keep the key.
void tl_port_read_shares(struct tl_port *port);
// After the start: spread frames over the queues of cfg.rss_queues. Return 0 or -errno with a message.
int tl_port_spread(struct tl_port *port, struct tl_err *err);

// attach.c: set port_id to the device's.
int tl_port_attach(struct tl_port *port, struct tl_err *err);

// absent.c
// Return the directory in which EAL looks for PCI devices.
const char *tl_port_sysfs_devices(void);
// Fail with the cause that no driver took a PCI device.
int tl_port_refuse_absent(const struct tl_port *port, struct tl_err *err);
// Format the name of Debian's package of a DPDK driver, whose drivers are in dir: "librte-net-ice23".
void tl_port_driver_package(const char *pmd, const char *dir, char *buf, size_t size);

// pool.c: create the pool for a number of mbufs that the driver may hold per queue and direction; room_bytes: capacity
// of one.
int tl_port_make_pool(struct tl_port *port, uint32_t room_bytes, uint32_t rx_descriptors, uint32_t tx_descriptors,
	struct tl_err *err);
// Return the bytes of a frame that one mbuf of a NIC must hold.
uint32_t tl_port_nic_room(uint32_t mtu);
// Bytes of a frame beside its payload: header, CRC, two VLAN tags.
#define TL_PORT_FRAME_OVERHEAD (TL_ETHER_LEN + 4u + 8u)
#define TL_PORT_ROOM_MIN RTE_MBUF_DEFAULT_DATAROOM

// stamps.c. Choose the source before the device is configured; offered: the device can stamp. If mbufs are to carry the
// stamps, their offset is known afterwards.
int tl_port_choose_stamps(struct tl_port *port, bool offered, struct tl_err *err);
// Open a clock that was not readable before the start.
int tl_port_start_stamps(struct tl_port *port, struct tl_err *err);
void tl_port_end_stamps(struct tl_port *port);
// Set the timestamp source of a device's queue.
void tl_port_stamp_queue(const struct tl_port *port, struct tl_rxq *q);

// gate.c. The first may only be called before frames arrive.
void tl_port_gate_init(struct tl_port_gate *gate);
void tl_port_watch_gate(struct tl_port *port);
// True if a gate has passed a stamp. On the thread that polls; a shut gate is the caller's matter.
bool tl_port_gate_has_passed(const struct tl_port *port);

// send_at.c. Choose whether frames are sent at a time, once stamps are chosen; offered: the device can.
void tl_port_choose_send_at(struct tl_port *port, bool offered);

// watch.c: from start to close.
void tl_port_begin_watch(struct tl_port *port);
void tl_port_end_watch(struct tl_port *port);
// Query the link of the device, a NIC at most once a second, and store it. Main only.
void tl_port_look_at_link(struct tl_port *port);
// True if a NIC may be queried at this time; it then counts as queried.
bool tl_port_link_due(struct tl_port_events *events, uint64_t now_ns);
// True if the device was removed; err (may be NULL) receives the message.
bool tl_port_removed(const struct tl_port *port, struct tl_err *err);

// drops.c
// True if the device's driver counts no frames that found no room.
bool tl_port_drops_are_unknown(const struct tl_port *port, const char *driver);
// Distribute the port's drops in out over its queues.
void tl_port_socket_drops(const struct tl_port *port, struct tl_port_stats *out);
void tl_port_find_queue_counters(struct tl_port *port);
// Many drivers have a drop counter per queue that stays 0: the counters are used while their sum is the port's imissed.
// ixgbe's queues count drops apart from that, and this function adds them.
void tl_port_queue_drops(const struct tl_port *port, struct tl_port_stats *out);

// HOT. Give all frames of a burst the time of its poll.
static inline void tl_port_stamp_by_poll(const struct tl_rxq *q, struct tl_burst *b)
{
	uint64_t wall_ns = tl_clock_wall_ns(q->clock, b->tsc);

	for (uint16_t i = 0; i < b->n; i++)
		b->ts_ns[i] = wall_ns;
}

// HOT: the backends' burst and flush functions.
uint16_t tl_eth_burst(struct tl_rxq *q, struct tl_burst *b);
// Burst of mbufs that carry stamps.
uint16_t tl_eth_stamped_burst(struct tl_rxq *q, struct tl_burst *b);
// Burst of a NIC, behind its gate.
uint16_t tl_eth_gated_burst(struct tl_rxq *q, struct tl_burst *b);
// With marks: counts them.
uint16_t tl_eth_marked_burst(struct tl_rxq *q, struct tl_burst *b);
uint16_t tl_packet_burst(struct tl_rxq *q, struct tl_burst *b);
// The same with the times of polls.
uint16_t tl_packet_polled_burst(struct tl_rxq *q, struct tl_burst *b);
void tl_packet_free(struct rte_mbuf *const *pkts, uint16_t n);
uint16_t tl_slot_burst(struct tl_rxq *q, struct tl_burst *b);
void tl_eth_flush(struct tl_txq *q);
void tl_slot_flush(struct tl_txq *q);
uint16_t tl_eth_send(struct tl_txq *q, struct rte_mbuf **pkts, uint16_t n);
uint16_t tl_slot_send(struct tl_txq *q, struct rte_mbuf **pkts, uint16_t n);
uint16_t tl_file_burst(struct tl_rxq *q, struct tl_burst *b);
void tl_file_flush(struct tl_txq *q);

// txq_dp.c: keep the frames after the first n for the next flush.
void tl_txq_keep_waiting(struct tl_txq *q, uint16_t n);

// packet.c
void tl_packet_init(struct tl_packet_queue *p, void *ring, uint32_t blocks);
struct tl_packet_option {
	const char *what; // for the message
	int level, name;
	const void *value;
	socklen_t len;
};
int tl_packet_set_options(
	const struct tl_port *port, int fd, const struct tl_packet_option *options, unsigned n, struct tl_err *err);
// Create and map a socket's ring of received frames, which the kernel stamps. version: TPACKET_V2, which ignores what
// its struct tpacket_req does not have, or TPACKET_V3.
struct tpacket_req3;
int tl_packet_make_ring(
	struct tl_port *port, int fd, int version, const struct tpacket_req3 *request, void **ring, struct tl_err *err);
// Bind a socket with a filter that rejects everything until the start, so that no frame is counted that is never
// received. with_sent: frames sent by the host are received, too.
int tl_packet_bind(const struct tl_port *port, int fd, const char *iface, bool with_sent, struct tl_err *err);

// slot.c: the queue becomes the RX queue's backend, and is the caller's to close.
int tl_slot_open(struct tl_port *port, uint16_t queue, int fd, struct tl_err *err);
void tl_slot_close(struct tl_slot_queue *s);

// kernel.c
// Return the frame size of AF_PACKET's ring that holds every frame of the interface whole, up to 32 KiB: longer ones
// (the loopback's, or segments that the kernel has not cut yet) are truncated.
uint32_t tl_kernel_frame_bytes(const struct tl_port_cfg *cfg);
// Return the room of a buffer of AF_XDP that holds every frame of the interface whole, behind the kernel's headroom.
uint32_t tl_kernel_xdp_room(const struct tl_port_cfg *cfg);
// Return the longest frame on the interface's wire: its MTU, the Ethernet header and two VLAN tags.
uint32_t tl_kernel_frame_max(const char *iface);
// Return the longest frame that the interface sends untagged, up to 64 KiB and the Ethernet header.
uint32_t tl_kernel_send_limit(const struct tl_port_cfg *cfg);
// Check that the interface exists, is up and, if the port sends, has at least this MTU; for AF_XDP also that using it
// does not cut off the login.
int tl_kernel_check(const struct tl_port_cfg *cfg, struct tl_err *err);
// Check that the file contains frames.
int tl_file_check(const struct tl_port_cfg *cfg, struct tl_err *err);
// Return the domain of the sockets by which a port of DPDK receives: AF_PACKET, AF_XDP or AF_UNSPEC, none.
int tl_kernel_socket_domain(const struct tl_port_spec *spec);
// List the sockets of the domain (AF_PACKET, AF_XDP) that this process has open, oldest first.
void tl_kernel_list_sockets(int domain, struct tl_kernel_sockets *out);
// Remove from after the sockets that are in before.
void tl_kernel_new_sockets(struct tl_kernel_sockets *after, const struct tl_kernel_sockets *before);
void tl_kernel_sample_packet(struct tl_kernel_sockets *sockets);
void tl_kernel_sample_xdp(struct tl_kernel_sockets *sockets);
// Reject frames until admit_packet: they are neither queued nor counted. False, with errno, if the socket refused.
bool tl_kernel_refuse_packets(int fd);
// Same as tl_kernel_refuse_packets(), for all sockets; on return no frame is in transit. False if a socket refused.
bool tl_kernel_quiesce_packet(struct tl_kernel_sockets *sockets);
// Open a packet socket without frames while the process has the privilege, for later use without it. The first
// tl_kernel_quiesce_packet() after this closes it, and so does tl_kernel_close_spare().
void tl_kernel_open_spare(struct tl_kernel_sockets *sockets);
void tl_kernel_close_spare(struct tl_kernel_sockets *sockets);
// Make the interface promiscuous until the spare socket is closed. Return 0 or -errno.
int tl_kernel_set_promisc(const struct tl_kernel_sockets *sockets, const char *iface);
void tl_kernel_admit_packet(const struct tl_kernel_sockets *sockets); // Undo tl_kernel_refuse_packets() on all sockets.
// Read the interface's address. -ENOTSUP: not Ethernet.
int tl_kernel_mac(const struct tl_port_cfg *cfg, uint8_t mac[TL_ETHER_ADDR_LEN], struct tl_err *err);
// Read the link state. False if it is unknown.
bool tl_kernel_link(const char *iface, bool *up);
