// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Model of Intel's 82599 (and of the differences of the X540 and X550) behind the registers that DPDK's driver maps.
//
// Threads: the driver's, which enter by a trap (trap.c), and one of the model, for the wire and the tests (wire.c).
//          Any access to a card requires the model's only lock, which trap.c and wire.c take.
// Memory:  the cards exist as long as the process. The model accesses the driver's memory as DMA does: addresses are
//          virtual, because EAL runs with IOVA as VA.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "regs.h"

#define BAR_BYTES 0x20000u
#define CARDS_MAX 4
#define QUEUES 128
#define STAT_QUEUES 16
#define FRAME_MAX 16384u // 8.2.3.22.13 MAXFRS ends at 15.5 KB
#define CRC_BYTES 4

enum mac { MAC_82599, MAC_X540, MAC_X550 };

struct card;

// Effect of reads and writes at `count` offsets from `first` on, `stride` bytes apart. NULL: the register keeps the
// written value.
struct row {
	uint32_t first, count, stride;
	uint32_t (*read)(struct card *card, uint32_t offset);
	void (*write)(struct card *card, uint32_t offset, uint32_t value);
};

// A received or sent frame, without CRC.
struct frame {
	struct frame *next;
	uint32_t bytes;
	uint8_t data[];
};

struct frames {
	struct frame *first, **last;
	uint64_t bytes, n;
};

// Headers that the parser (7.1.6 and 7.1.11 of the datasheet) finds in a frame. Offsets are from its first byte; 0:
// none.
struct headers {
	uint16_t ethertype; // after the VLAN tags
	uint16_t vlan;	    // of the outer tag
	bool tagged;
	uint16_t l3, l4;     // of an unfragmented packet
	uint16_t l4_bytes;   // by the IP header
	uint8_t l4_proto;    // 6, 17, 132 where l4 is set
	uint8_t packet_type; // bits 4 to 11 of the descriptor (7.1.6.2)
	bool v6, fragment;
	bool ip_bad, l4_checked, l4_bad;
};

// Decision on the queue of a frame (7.1.2).
struct route {
	uint8_t queue;
	uint8_t rss_type; // 7.1.6.1
	uint32_t hash;
	bool drop;
	bool fdir_match;
	bool is_1588; // by an ethertype filter
};

struct fdir_filter {
	bool used, drop;
	uint8_t queue, l4_type; // FDIRCMD.L4TYPE
	uint32_t src, dst, ports;
	uint16_t vlan, flex, index, hash; // FDIRHASH: software index, hash
};

#define FDIR_FILTERS 2048

// A clock of 8.2.3.26: ticks at the time at_ns of CLOCK_MONOTONIC.
struct phc {
	uint64_t ticks, at_ns;
	uint64_t rx_latch, tx_latch;
	uint64_t stops; // times it was stopped by TIMINCA
};

// Meaning of the current byte on the I2C bus.
enum i2c_mode { I2C_IDLE, I2C_ADDRESS, I2C_OFFSET, I2C_READ };

enum wire_kind { WIRE_NONE, WIRE_LOOP, WIRE_PEER, WIRE_TAP };

struct wire {
	enum wire_kind kind;
	struct card *peer;
	char tap_name[16];
	int tap_fd;
	char flaws[64];	    // faults of the card, for tests that must detect them: "rss", "drops", "bytes", "lose"
	unsigned flawed;    // frames processed by "bytes" and "lose"
	unsigned early;	    // frames that arrive as soon as the receiver is enabled
	struct frames sent; // WIRE_NONE: frames not yet taken by tests
};

struct card {
	char address[16];
	uint16_t device;
	enum mac mac;
	bool has_sfp, is_copper;
	unsigned uio;  // number of /dev/uioN
	int irq_fd;    // our end of it, -1: closed
	bool irq_open; // the driver has allowed the next interrupt
	int bar_fd, config_fd;
	uint8_t *bar; // at the driver's mapping
	bool gone;    // reads return all ones
	bool held;    // doorbells of receive queues are delayed
	uint64_t accesses;

	uint32_t reg[BAR_BYTES / 4];
	const struct row *rows[BAR_BYTES / 4];
	uint16_t nvm[0x400];
	struct {
		unsigned bits; // clocked since the chip was selected
		uint32_t in;   // the last 16 of command and address
		bool out;
	} spi;
	uint8_t mac_addr[6];

	unsigned speed_mbps;  // of the link, 0: down
	struct frames buffer; // packet buffer: frames that wait for descriptors
	uint32_t held_tail[QUEUES];
	uint64_t context[QUEUES][2][2]; // transmit contexts
	struct fdir_filter fdir[FDIR_FILTERS];
	struct phc phc;
	struct wire wire;
	struct {
		bool scl, sda, out; // both lines as driven by the driver, and SDA as driven by the module
		enum i2c_mode mode;
		unsigned clocks; // of a byte and its acknowledgement
		uint8_t byte, offset;
	} i2c;
	uint8_t sfp[256];
};

static inline uint32_t get(const struct card *card, uint32_t offset)
{
	return card->reg[offset / 4];
}

static inline void set(struct card *card, uint32_t offset, uint32_t value)
{
	card->reg[offset / 4] = value;
}

// Return the address of a receive queue's register: queues 0 to 63 at 0x1000, the others at 0xD000.
static inline uint32_t rx_reg(unsigned queue, uint32_t name)
{
	return (queue < 64 ? 0x1000u : 0xC000u) + 0x40 * queue + name;
}

static inline uint32_t tx_reg(unsigned queue, uint32_t name)
{
	return 0x6000u + 0x40 * queue + name;
}

static inline uint16_t be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t be32(const uint8_t *p)
{
	return (uint32_t)be16(p) << 16 | be16(p + 2);
}

// ---- card.c
extern struct card cards[CARDS_MAX];
extern unsigned n_cards;
void cards_find(void); // reads the directory in SYSFS_PCI_DEVICES
struct card *card_by_address(const char *address);
uint32_t card_read(struct card *card, uint32_t offset);
void card_write(struct card *card, uint32_t offset, uint32_t value);
void card_reset(struct card *card);

// ---- trap.c
void trap_begin(void);
void model_lock(void);
void model_unlock(void);
// End the process: the driver uses a feature that is not modelled.
void model_lacks(const char *what, uint64_t value) __attribute__((noreturn));

// ---- frames.c
struct frame *frame_new(const uint8_t *data, uint32_t bytes); // NULL: too long
void frames_push(struct frames *list, struct frame *frame);
struct frame *frames_pop(struct frames *list); // the caller frees it; NULL: empty
void frames_clear(struct frames *list);

// ---- nvm.c, phy.c, sfp.c
void nvm_fill(struct card *card);
void nvm_load(struct card *card); // after a reset
uint16_t nvm_word(const struct card *card, uint32_t word);
void sfp_fill(struct card *card);

// ---- parse.c, rss.c, filters.c, fdir.c
void parse(const struct frame *frame, struct headers *out);
uint16_t checksum(const uint8_t *p, uint32_t bytes, uint32_t sum); // folded, not inverted
uint32_t pseudo_sum(const uint8_t *ip, bool v6, uint8_t proto, uint32_t l4_bytes);
void rss_route(const struct card *card, const struct frame *frame, const struct headers *h, struct route *route);
bool filters_route(const struct card *card, const struct frame *frame, const struct headers *h, struct route *route);
bool fdir_route(struct card *card, const struct frame *frame, const struct headers *h, struct route *route);

// ---- rx.c, tx.c
void rx_arrive(struct card *card, const uint8_t *data, uint32_t bytes); // input a frame from the wire, without CRC
void rx_drain(struct card *card); // move frames with descriptors out of the packet buffer
void tx_kick(struct card *card);  // send pending frames

// ---- stamps.c
// Latch the stamp of a PTP frame if the latch is empty; return true if the descriptor has to report it.
bool stamp_received(struct card *card, const struct frame *frame, bool is_1588);
void stamp_sent(struct card *card);

// ---- stats.c
void count(struct card *card, uint32_t offset, uint64_t n);
void count_octets(struct card *card, uint32_t low, uint64_t n); // a pair of low and high registers
void count_size(struct card *card, uint32_t first, uint32_t bytes_with_crc);

// ---- link.c
void link_set(struct card *card, unsigned speed_mbps);
void interrupt(struct card *card, uint32_t cause);

// ---- unplug.c
void vanish(struct card *card); // reads return all ones
void unplug(struct card *card); // and the kernel reports the removal

// ---- wire.c, control.c
void wire_begin(void);
void wire_send(struct card *card, struct frame *frame); // takes over the frame
bool has_flaw(const struct card *card, const char *flaw);
int control_listen(void);
bool control_serve(int fd); // one request and its reply; false: the client has closed

extern const struct row card_rows[], nvm_rows[], phy_rows[], sfp_rows[], link_rows[], rx_rows[], tx_rows[], fdir_rows[],
	stamp_rows[], stats_rows[];
