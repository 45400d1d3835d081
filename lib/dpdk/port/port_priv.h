// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What the files of port share: the port itself and its backends: a DPDK device, a kernel interface's socket of our
// own, a capture file.

#include <stdatomic.h>

#include <tl_err.h>
#include <tl_pcapfile.h>
#include <tl_port.h>

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

// The sockets that a kernel-backed driver opened, and what the kernel counted on them.
struct tl_kernel_sockets {
	int fd[TL_PORT_QUEUES_MAX];
	unsigned n;
	int spare_fd;			      // of tl_kernel_open_spare(); 0: none
	uint64_t seen;			      // of all
	uint64_t dropped[TL_PORT_QUEUES_MAX]; // by each
					      // Both are summed up: reading AF_PACKET's counters clears them.
};

// Longer frames are cut at a block's size; GSO's 64 KiB are far from that.
#define TL_PACKET_BLOCK_BYTES (256u << 10)
#define TL_PACKET_SEGMENTS_MAX 5 // mbufs for the longest frame
#define TL_PACKET_VIEWS (TL_BURST + TL_PACKET_SEGMENTS_MAX - 1)
#define TL_PACKET_TAG_BYTES 4 // of VLAN, which the kernel leaves room for before each frame

// A queue of a kernel interface that is only received from. The kernel fills blocks of frames; a burst is mbufs that
// show frames of one block where they lie. They are always the same ones, never from a pool: the port keeps a reference
// to each. A block goes back when all its frames have been handed out and freed.
struct tl_packet_queue {
	uint8_t *ring;
	uint8_t *next;	    // the next frame to hand out
	uint32_t blocks;    // a power of two
	uint32_t block;	    // the one that is read, or waited for
	uint32_t left_pkts; // of it
	bool has_block;	    // it is ours
	bool has_chains;    // in the last burst
	uint16_t lent;	    // views in the last burst
	struct rte_mbuf views[TL_PACKET_VIEWS];
} TL_CACHE_ALIGNED;

struct tl_port_file {
	struct tl_pcap_reader *reader;
	struct tl_pcap_frame pending; // read from the file, not yet given out for want of an mbuf
	bool has_pending;
	uint64_t seen_pkts; // by the reader
	atomic_int ended;   // 0: no; 1: end of file; 2: broken file
};

// Stamps that received mbufs carry.
struct tl_port_stamping {
	enum tl_ts_source source; // TL_TS_TSC: they carry none
	int offset;		  // in the mbuf
	uint64_t flag;
	uint32_t unit_ns;	      // of a file's times; 0: unknown
	bool timesync;		      // enabled since the device was started
	bool clock_by_speed;	      // enabling it sets the clock's increment by the speed of the link
	uint64_t timesync_bps;	      // that speed; 0: no link, or no matter
	bool reads_phc;		      // the clock is a PHC of nanoseconds, else one of unknown ticks
	struct tl_clock_track *track; // of that clock; NULL: not yet, or there is none
};

// Times in sent mbufs.
struct tl_port_sending {
	int offset;
	uint64_t flag; // 0: the device does not send at a time, or nobody wants it
};

// Counters of the NIC's MAC, by their identifiers among the xstats.
#define TL_PORT_MAC_COUNTS 42

struct tl_port_mac {
	// Of the driver (mac_counts.c).
	bool verified, queue_drops, adds;
	unsigned seen_end, lost_end, n; // of those in ids: frames seen, then lost, then with errors; n 0: none is known
	uint64_t ids[TL_PORT_MAC_COUNTS];
	uint64_t seen_before; // by the MAC when the port was started
};

// What they say.
struct tl_port_mac_counts {
	uint64_t seen;
	uint64_t lost;	 // not in imissed
	uint64_t errors; // beside ierrors, or in their place
};

// Counters of a device at the begin and the end of a run.
struct tl_port_account {
	struct tl_port_stats before; // when lcores began to poll: what was lost by then belongs to nobody
	struct tl_port_stats end;    // at the last quiesce
	bool ended;
};

// Runtime events of a port.
struct tl_port_events {
	atomic_bool removed; // written by DPDK threads
	bool reported;	     // removal reported to the user
	int config_fd;	     // PCI configuration space; -1: none or unreadable
	const char *device;  // DPDK device name for event callbacks; NULL: none
	struct tl_port_link link;
	_Atomic(uint64_t) speed_bps; // at the last look; written by main; 0: unknown
	uint64_t next_ask_ns;	     // when a NIC may be asked again, of CLOCK_MONOTONIC
};

// The kernel's interface of a device that DPDK drives beside it.
struct tl_port_shared {
	char name[16];
	uint16_t mtu; // when the device was configured; 0: there is none
};

struct tl_port {
	const struct tl_port_ops *ops;
	struct tl_port_cfg cfg;
	char name[32];
	struct rte_mempool *pool;
	uint8_t mac[TL_ETHER_ADDR_LEN];
	uint16_t port_id;
	uint64_t speed_bps;	 // of an interface of our own; 0: unknown
	char dev_name[64];	 // of a virtual device that we created, else empty
	uint16_t rx_descriptors; // that the device gives
	bool started;
	bool promisc;	    // a device of DPDK's is
	bool promisc_set;   // by us: undone at close
	bool tx_checksums;  // the device makes those of TCP and UDP
	char multicast[24]; // how groups are received, for the probe table
	struct tl_kernel_sockets sockets;
	struct tl_port_stamping stamping;
	struct tl_port_sending sending;
	bool counts_queues; // the driver has a counter of each receive queue's drops: its identifier among the xstats
	uint64_t queue_counters[TL_PORT_QUEUES_MAX];
	struct tl_port_mac mac_counts;
	struct tl_port_account account;
	struct tl_port_stats sampled; // the last that a driver said
	struct tl_port_file file;
	struct tl_port_events events;
	struct tl_port_shared shared;
	struct tl_rxq rxq[TL_PORT_QUEUES_MAX];
	struct tl_txq txq[TL_PORT_QUEUES_MAX];
	struct tl_burst sent[TL_PORT_QUEUES_MAX];
};

static inline bool tl_port_is_kernels(const struct tl_port *port)
{
	return port->cfg.spec.kind == TL_PORT_KERNEL || port->cfg.spec.kind == TL_PORT_XDP;
}

// presence.c: what tl_port_torn_out() looks at, from the port's opening to its end.
void tl_port_open_presence(struct tl_port *port);
void tl_port_close_presence(struct tl_port *port);

// shared.c. Before the device is configured; once it is stopped.
void tl_port_note_shared(struct tl_port *port);
void tl_port_restore_shared(const struct tl_port *port);

// mac_counts.c. driver: as DPDK names it. read() gives what the MAC has counted since it was reset; false where the
// driver does not tell.
void tl_port_find_mac_counts(struct tl_port *port, const char *driver);
bool tl_port_read_mac_counts(const struct tl_port *port, struct tl_port_mac_counts *out);
// Takes off what a device had lost before a run.
void tl_port_subtract(struct tl_port_stats *stats, const struct tl_port_stats *before);
// The account of a run on a port that cannot be stopped: end is what the device said when the run ended, now (in and
// out) what it says now, rx_pkts what was polled by then. What came after the end may have been polled and then counts
// as seen; what was dropped after the end counts where something seen before it lacks.
void tl_port_close_account(const struct tl_port_stats *end, uint64_t rx_pkts, struct tl_port_stats *now);

// attach.c: port_id is the device's then.
int tl_port_attach(struct tl_port *port, struct tl_err *err);

// absent.c
// The directory in which EAL looks for PCI devices.
const char *tl_port_sysfs_devices(void);
// Fails with the cause, of a PCI device that no driver took.
int tl_port_refuse_absent(const struct tl_port *port, struct tl_err *err);
// Debian's package of a driver of DPDK, whose drivers are in dir: "librte-net-ice23".
void tl_port_driver_package(const char *pmd, const char *dir, char *buf, size_t size);

// pool.c: the driver may hold so many mbufs per queue of each direction; room_bytes is what one must hold.
int tl_port_make_pool(struct tl_port *port, uint32_t room_bytes, uint32_t rx_descriptors, uint32_t tx_descriptors,
	struct tl_err *err);
// Bytes of a frame that one mbuf of a NIC must hold.
uint32_t tl_port_nic_room(uint32_t mtu);
// Of a frame beside its payload: header, CRC, two VLAN tags.
#define TL_PORT_FRAME_OVERHEAD (TL_ETHER_LEN + 4u + 8u)
#define TL_PORT_ROOM_MIN RTE_MBUF_DEFAULT_DATAROOM

// stamps.c. Chooses the source, for a device that offers to stamp or not, before it is configured. Where mbufs are to
// carry the stamps, their place in them is known then.
int tl_port_choose_stamps(struct tl_port *port, bool offered, struct tl_err *err);
// Makes a clock readable that was not before the start.
int tl_port_start_stamps(struct tl_port *port, struct tl_err *err);
void tl_port_end_stamps(struct tl_port *port);
// Tells a queue of a device what its source is.
void tl_port_stamp_queue(const struct tl_port *port, struct tl_rxq *q);

// gate.c. The first may only be called before frames come.
void tl_port_gate_init(struct tl_port_gate *gate);
void tl_port_watch_gate(struct tl_port *port);

// send_at.c. Chooses whether frames are sent at a time, for a device that offers it or not, once stamps are chosen.
void tl_port_choose_send_at(struct tl_port *port, bool offered);

// watch.c: from the start to the close.
void tl_port_begin_watch(struct tl_port *port);
void tl_port_end_watch(struct tl_port *port);
// Asks the device for its link, a NIC at most once a second, and remembers it. Main only.
void tl_port_look_at_link(struct tl_port *port);
// Whether a NIC may be asked at this time; it is then counted as asked.
bool tl_port_link_due(struct tl_port_events *events, uint64_t now_ns);
// Whether the device was taken away; err (may be NULL) says so.
bool tl_port_removed(const struct tl_port *port, struct tl_err *err);

// drops.c: of which queue the drops are that out has of the port.
void tl_port_socket_drops(const struct tl_port *port, struct tl_port_stats *out);
void tl_port_find_queue_counters(struct tl_port *port);
// Many drivers have the counter of a queue and never count with it: they are believed while their sum is what the port
// has missed. ixgbe's queues drop beside that, which this adds.
void tl_port_queue_drops(const struct tl_port *port, struct tl_port_stats *out);

// HOT: the backends' burst and flush functions.
uint16_t tl_eth_burst(struct tl_rxq *q, struct tl_burst *b);
uint16_t tl_kernel_burst(struct tl_rxq *q, struct tl_burst *b);
// The same where the mbufs carry stamps.
uint16_t tl_eth_stamped_burst(struct tl_rxq *q, struct tl_burst *b);
// Of a NIC.
uint16_t tl_eth_gated_burst(struct tl_rxq *q, struct tl_burst *b);
uint16_t tl_kernel_stamped_burst(struct tl_rxq *q, struct tl_burst *b);
uint16_t tl_packet_burst(struct tl_rxq *q, struct tl_burst *b);
void tl_eth_flush(struct tl_txq *q);
uint16_t tl_file_burst(struct tl_rxq *q, struct tl_burst *b);
void tl_file_flush(struct tl_txq *q);

// packet.c
void tl_packet_init(struct tl_packet_queue *p, void *ring, uint32_t blocks);

// kernel.c
// The frame size of AF_PACKET's ring that holds every frame of the interface whole, up to 32 KiB: longer ones (the
// loopback's, or segments the kernel has yet to cut) arrive cut.
uint32_t tl_kernel_frame_bytes(const struct tl_port_cfg *cfg);
// The longest frame on the interface's wire: its MTU, the Ethernet header and two VLAN tags.
uint32_t tl_kernel_frame_max(const char *iface);
// The longest frame that the interface sends untagged, and that fits AF_PACKET's ring with a tag: DPDK's driver drops a
// longer one and says that it was sent.
uint32_t tl_kernel_send_limit(const struct tl_port_cfg *cfg);
// Whether the interface exists, is up and, where the port sends, has at least this MTU; for AF_XDP also that taking it
// does not cut the login off.
int tl_kernel_check(const struct tl_port_cfg *cfg, struct tl_err *err);
// Whether the file is one of frames.
int tl_file_check(const struct tl_port_cfg *cfg, struct tl_err *err);
// Sockets of the domain (AF_PACKET, AF_XDP) that this process holds now, oldest first.
void tl_kernel_list_sockets(int domain, struct tl_kernel_sockets *out);
// Leaves in after only what is not in before.
void tl_kernel_new_sockets(struct tl_kernel_sockets *after, const struct tl_kernel_sockets *before);
void tl_kernel_sample_packet(struct tl_kernel_sockets *sockets);
void tl_kernel_sample_xdp(struct tl_kernel_sockets *sockets);
// Has the kernel stamp frames when they reach it, once for all sockets, and not when it copies them to each.
void tl_kernel_stamp_early(const struct tl_kernel_sockets *sockets);
// From now on, until admit_packet: a frame is neither queued nor counted. False, with errno, if the socket refused.
bool tl_kernel_refuse_packets(int fd);
// The same for all, and none is on its way any more when it returns. False if a socket refused.
bool tl_kernel_quiesce_packet(struct tl_kernel_sockets *sockets);
// Open a packet socket without frames, while the process may: for what comes later, when it may not. The first
// tl_kernel_quiesce_packet() after this closes it, and so does tl_kernel_close_spare().
void tl_kernel_open_spare(struct tl_kernel_sockets *sockets);
void tl_kernel_close_spare(struct tl_kernel_sockets *sockets);
// Make the interface promiscuous until the spare socket is closed. Returns 0 or -errno.
int tl_kernel_set_promisc(const struct tl_kernel_sockets *sockets, const char *iface);
void tl_kernel_admit_packet(const struct tl_kernel_sockets *sockets); // undoes it
// The interface's address. -ENOTSUP: it carries no Ethernet.
int tl_kernel_mac(const struct tl_port_cfg *cfg, uint8_t mac[TL_ETHER_ADDR_LEN], struct tl_err *err);
// False where it cannot be told.
bool tl_kernel_link(const char *iface, bool *up);
