// SPDX-License-Identifier: BSD-3-Clause
// Send UDP frames from a kernel interface as fast as one CPU can: bench_blast INTERFACE FRAMES BYTES. Uses a ring of
// AF_PACKET, past the queueing discipline. Print the duration in nanoseconds.

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>

#define SLOT_BYTES 2048u
#define SLOTS 512u
#define BATCH 64u // frames per system call
#define DATA_OFFSET (TPACKET2_HDRLEN - sizeof(struct sockaddr_ll))
#define FRAME_MIN 60u
#define FRAME_MAX 1514u

static const uint8_t headers[] = {0x02, 0, 0, 0, 0, 1, 0x02, 0, 0, 0, 0, 2, 0x08, 0x00, // nonexistent destination
	0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 1, 1,		// lengths are filled in
	0x04, 0x00, 0x13, 0x89, 0, 0, 0, 0};

static void die(const char *what)
{
	fprintf(stderr, "bench_blast: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int open_socket(const char *interface)
{
	struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex(interface)};
	struct tpacket_req ring = {.tp_block_size = SLOT_BYTES * SLOTS,
		.tp_block_nr = 1,
		.tp_frame_size = SLOT_BYTES,
		.tp_frame_nr = SLOTS};
	int version = TPACKET_V2, on = 1;
	int fd = socket(AF_PACKET, SOCK_RAW, 0); // protocol 0: receives nothing

	if (fd < 0 || setsockopt(fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) != 0 ||
		setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof(on)) != 0 ||
		setsockopt(fd, SOL_PACKET, PACKET_TX_RING, &ring, sizeof(ring)) != 0 ||
		bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		die(interface);
	return fd;
}

static struct tpacket2_hdr *slot(uint8_t *ring, uint64_t i)
{
	return (struct tpacket2_hdr *)(ring + i % SLOTS * SLOT_BYTES);
}

static void fill_slots(uint8_t *ring, uint32_t bytes)
{
	for (uint32_t i = 0; i < SLOTS; i++) {
		uint8_t *frame = (uint8_t *)slot(ring, i) + DATA_OFFSET;
		uint16_t ip_bytes = htons((uint16_t)(bytes - 14)), udp_bytes = htons((uint16_t)(bytes - 34));

		memcpy(frame, headers, sizeof(headers));
		memcpy(frame + 16, &ip_bytes, sizeof(ip_bytes));
		memcpy(frame + 38, &udp_bytes, sizeof(udp_bytes));
		slot(ring, i)->tp_len = bytes;
	}
}

// Wait until the kernel has sent all frames.
static void flush(int fd)
{
	while (send(fd, NULL, 0, 0) < 0)
		if (errno != EINTR && errno != ENOBUFS && errno != EAGAIN)
			die("send");
}

static void blast(int fd, uint8_t *ring, uint64_t frames)
{
	for (uint64_t i = 0; i < frames; i++) {
		struct tpacket2_hdr *head = slot(ring, i);

		while (__atomic_load_n(&head->tp_status, __ATOMIC_ACQUIRE) != TP_STATUS_AVAILABLE)
			flush(fd);
		__atomic_store_n(&head->tp_status, TP_STATUS_SEND_REQUEST, __ATOMIC_RELEASE);
		if ((i + 1) % BATCH == 0)
			flush(fd);
	}
	flush(fd);
}

int main(int argc, char **argv)
{
	uint64_t frames = argc == 4 ? strtoull(argv[2], NULL, 10) : 0;
	uint32_t bytes = argc == 4 ? (uint32_t)strtoul(argv[3], NULL, 10) : 0;

	if (frames == 0 || bytes < FRAME_MIN || bytes > FRAME_MAX) {
		fprintf(stderr, "usage: bench_blast INTERFACE FRAMES BYTES (60..1514)\n");
		return 2;
	}
	int fd = open_socket(argv[1]);
	uint8_t *ring = mmap(NULL, SLOT_BYTES * SLOTS, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		die("mmap");
	fill_slots(ring, bytes);
	uint64_t begin_ns = now_ns();
	blast(fd, ring, frames);
	printf("%" PRIu64 "\n", now_ns() - begin_ns);
	return 0;
}
