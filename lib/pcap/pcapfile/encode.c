// SPDX-License-Identifier: BSD-3-Clause
// Encoder of the opening and closing blocks of a recording: section header, interface descriptions, statistics.

#include <tl_pcapfile.h>

#define PCAP_OURS 0x50414c54u	 // "TLAP"
#define PCAP_SNAPLEN_MAX 262144u // limit of libpcap
#define OPT_END 0
#define OPT_COMMENT 1
#define SHB_HARDWARE 2
#define SHB_OS 3
#define SHB_USERAPPL 4
#define IF_NAME 2
#define IF_DESCRIPTION 3
#define IF_SPEED 8
#define IF_TSRESOL 9
#define IF_FILTER 11
#define ISB_STARTTIME 2
#define ISB_ENDTIME 3
#define ISB_IFRECV 4
#define ISB_IFDROP 5
#define ISB_FILTERACCEPT 6
#define ISB_OSDROP 7
#define ISB_USRDELIV 8
#define TSRESOL_NS 9	  // 10^-9 s
#define FILTER_AS_TEXT 0u // first byte of if_filter: tcpdump syntax follows

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "blocks are laid out in the order of the CPU");

// A block being written. used keeps increasing after an overflow of the buffer; end_block() checks it once.
struct block {
	uint8_t *buf;
	uint64_t size;
	uint64_t used;
};

static void put(struct block *block, const void *bytes, uint64_t len)
{
	if (len != 0 && block->used + len <= block->size)
		memcpy(block->buf + block->used, bytes, len);
	block->used += len;
}

static void put_u16(struct block *block, uint16_t value)
{
	put(block, &value, sizeof(value));
}

static void put_u32(struct block *block, uint32_t value)
{
	put(block, &value, sizeof(value));
}

static void put_padding(struct block *block)
{
	static const uint8_t zeros[4];

	put(block, zeros, -block->used & 3u);
}

static void put_option(struct block *block, uint16_t code, const void *value, uint16_t len)
{
	put_u16(block, code);
	put_u16(block, len);
	put(block, value, len);
	put_padding(block);
}

// Write a text option. The length field has 16 bits: a longer text is truncated.
static void put_text(struct block *block, uint16_t code, const char *text)
{
	if (text != NULL)
		put_option(block, code, text, (uint16_t)strnlen(text, UINT16_MAX));
}

static void put_filter(struct block *block, const char *filter)
{
	static const uint8_t kind = FILTER_AS_TEXT;

	if (filter == NULL)
		return;
	uint16_t len = (uint16_t)strnlen(filter, UINT16_MAX - 1);
	put_u16(block, IF_FILTER);
	put_u16(block, len + 1);
	put(block, &kind, sizeof(kind));
	put(block, filter, len);
	put_padding(block);
}

// Write a timestamp: two words, the high one first.
static void put_time(struct block *block, uint64_t ns)
{
	put_u32(block, (uint32_t)(ns >> 32));
	put_u32(block, (uint32_t)ns);
}

static void put_time_option(struct block *block, uint16_t code, uint64_t ns)
{
	if (ns == UINT64_MAX)
		return;
	put_u16(block, code);
	put_u16(block, 8);
	put_time(block, ns);
}

static void put_counter(struct block *block, uint16_t code, uint64_t value)
{
	if (value != UINT64_MAX)
		put_option(block, code, &value, sizeof(value));
}

static struct block begin_block(void *buf, uint32_t size, uint32_t type)
{
	struct block block = {.buf = buf, .size = size};

	put_u32(&block, type);
	put_u32(&block, 0); // length, known at the end
	return block;
}

static uint32_t end_block(struct block *block)
{
	put_option(block, OPT_END, NULL, 0);
	uint64_t total = block->used + 4;
	put_u32(block, (uint32_t)total);
	if (total > block->size)
		return 0;
	memcpy(block->buf + 4, &(uint32_t){(uint32_t)total}, 4);
	return (uint32_t)total;
}

uint32_t tl_pcapng_put_shb(void *buf, uint32_t size, const struct tl_pcapng_shb *shb)
{
	static const uint64_t length_unknown = UINT64_MAX;
	struct block block = begin_block(buf, size, TL_PCAPNG_SHB);

	put_u32(&block, TL_PCAPNG_BYTE_ORDER);
	put_u16(&block, 1); // version 1.0
	put_u16(&block, 0);
	put(&block, &length_unknown, sizeof(length_unknown));
	put_text(&block, SHB_HARDWARE, shb->hardware);
	put_text(&block, SHB_OS, shb->os);
	put_text(&block, SHB_USERAPPL, shb->application);
	put_text(&block, OPT_COMMENT, shb->comment);
	return end_block(&block);
}

uint32_t tl_pcapng_put_idb(void *buf, uint32_t size, const struct tl_pcapng_idb *idb)
{
	static const uint8_t resolution = TSRESOL_NS;
	struct block block = begin_block(buf, size, TL_PCAPNG_IDB);

	put_u16(&block, TL_PCAPNG_LINKTYPE_ETHERNET);
	put_u16(&block, 0);
	put_u32(&block, idb->snaplen);
	put_text(&block, IF_NAME, idb->name);
	put_text(&block, IF_DESCRIPTION, idb->description);
	if (idb->speed_bps != 0)
		put_option(&block, IF_SPEED, &idb->speed_bps, sizeof(idb->speed_bps));
	put_option(&block, IF_TSRESOL, &resolution, sizeof(resolution));
	put_filter(&block, idb->filter);
	return end_block(&block);
}

void tl_pcapng_set_linktype(void *buf, uint16_t linktype)
{
	memcpy((uint8_t *)buf + 8, &linktype, sizeof(linktype));
}

uint32_t tl_pcapng_put_isb(void *buf, uint32_t size, const struct tl_pcapng_isb *isb)
{
	struct block block = begin_block(buf, size, TL_PCAPNG_ISB);

	put_u32(&block, isb->interface_id);
	put_time(&block, isb->ts_ns);
	put_time_option(&block, ISB_STARTTIME, isb->start_ns);
	put_time_option(&block, ISB_ENDTIME, isb->end_ns);
	put_counter(&block, ISB_IFRECV, isb->received_pkts);
	put_counter(&block, ISB_IFDROP, isb->if_dropped_pkts);
	put_counter(&block, ISB_FILTERACCEPT, isb->accepted_pkts);
	put_counter(&block, ISB_OSDROP, isb->os_dropped_pkts);
	put_counter(&block, ISB_USRDELIV, isb->delivered_pkts);
	return end_block(&block);
}

// draft-ietf-opsawg-pcap, section 4
uint32_t tl_pcap_put_header(void *buf, uint32_t size, uint32_t snaplen)
{
	uint32_t header[6] = {TL_PCAP_MAGIC_NS, 2u | 4u << 16, 0, PCAP_OURS, snaplen != 0 ? snaplen : PCAP_SNAPLEN_MAX,
		TL_PCAPNG_LINKTYPE_ETHERNET};

	if (size < sizeof(header))
		return 0;
	memcpy(buf, header, sizeof(header));
	return sizeof(header);
}

bool tl_pcap_is_ours(const void *buf, uint32_t size)
{
	uint32_t header[TL_PCAP_HEADER_BYTES / 4];

	if (size < sizeof(header))
		return false;
	memcpy(header, buf, sizeof(header));
	return header[0] == TL_PCAP_MAGIC_NS && header[3] == PCAP_OURS && header[5] == TL_PCAPNG_LINKTYPE_ETHERNET;
}
