// SPDX-License-Identifier: BSD-3-Clause
// AF_XDP: an XDP program of four instructions hands each frame of receive queue 0 to a socket; the kernel writes it
// into the program's memory (UMEM) and its descriptor into a ring. The program returns the memory by a second ring. In
// the skb mode that happens after the driver, in copy mode within it, and with zero-copy the NIC itself writes. The
// program is attached by a link, so that any end of the process detaches it.

#include <errno.h>
#include <linux/if_link.h>
#include <linux/if_xdp.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ladder_bpf.h"
#include "ladder_priv.h"

#define CHUNK_BYTES 2048u
#define RELEASE_MS 2000 // the kernel frees the queue of a socket that was closed some time later
#define BUSY_US 20
#define BUSY_BUDGET 64

struct ring {
	uint8_t *map;
	size_t bytes;
	uint32_t *producer, *consumer, *flags;
	void *entries;
};

struct lane {
	int fd, map_fd, program_fd, link_fd;
	bool busy;
	uint8_t *umem;
	uint32_t umem_bytes, chunks; // chunks is also the size of both rings
	struct ring rx, fill;
};

static void close_lane(void *arg)
{
	struct lane *lane = arg;
	const int fds[] = {lane->link_fd, lane->fd, lane->program_fd, lane->map_fd};

	for (unsigned i = 0; i < TL_ARRAY_LEN(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	if (lane->rx.map != NULL)
		munmap(lane->rx.map, lane->rx.bytes);
	if (lane->fill.map != NULL)
		munmap(lane->fill.map, lane->fill.bytes);
	if (lane->umem != NULL)
		munmap(lane->umem, lane->umem_bytes);
}

static int create_umem(struct lane *lane, uint32_t bytes, struct tl_err *err)
{
	uint32_t chunks = bytes / CHUNK_BYTES, unused = 1;

	lane->umem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (lane->umem == MAP_FAILED) {
		lane->umem = NULL;
		return tl_fail(err, -ENOMEM, "not enough memory");
	}
	lane->umem_bytes = bytes;
	lane->chunks = chunks;
	const struct xdp_umem_reg umem = {.addr = (uintptr_t)lane->umem, .len = bytes, .chunk_size = CHUNK_BYTES};
	if (setsockopt(lane->fd, SOL_XDP, XDP_UMEM_REG, &umem, sizeof(umem)) != 0 ||
		setsockopt(lane->fd, SOL_XDP, XDP_UMEM_FILL_RING, &chunks, sizeof(chunks)) != 0 ||
		setsockopt(lane->fd, SOL_XDP, XDP_UMEM_COMPLETION_RING, &unused, sizeof(unused)) != 0 ||
		setsockopt(lane->fd, SOL_XDP, XDP_RX_RING, &chunks, sizeof(chunks)) != 0)
		return tl_fail(err, -errno, "setsockopt(XDP_UMEM_REG): %s", strerror(errno));
	return 0;
}

static int map_ring(const struct lane *lane, const struct xdp_ring_offset *at, uint64_t page, size_t entry_bytes,
	struct ring *out, struct tl_err *err)
{
	size_t bytes = at->desc + lane->chunks * entry_bytes;
	void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, lane->fd, (off_t)page);

	if (map == MAP_FAILED)
		return tl_fail(err, -errno, "mmap of an AF_XDP ring: %s", strerror(errno));
	out->map = map;
	out->bytes = bytes;
	out->producer = (uint32_t *)(void *)(out->map + at->producer);
	out->consumer = (uint32_t *)(void *)(out->map + at->consumer);
	out->flags = (uint32_t *)(void *)(out->map + at->flags);
	out->entries = out->map + at->desc;
	return 0;
}

static int map_rings(struct lane *lane, struct tl_err *err)
{
	struct xdp_mmap_offsets at;
	socklen_t bytes = sizeof(at);

	if (getsockopt(lane->fd, SOL_XDP, XDP_MMAP_OFFSETS, &at, &bytes) != 0)
		return tl_fail(err, -errno, "getsockopt(XDP_MMAP_OFFSETS): %s", strerror(errno));
	int rc = map_ring(lane, &at.rx, XDP_PGOFF_RX_RING, sizeof(struct xdp_desc), &lane->rx, err);
	if (rc == 0)
		rc = map_ring(lane, &at.fr, XDP_UMEM_PGOFF_FILL_RING, sizeof(uint64_t), &lane->fill, err);
	if (rc != 0)
		return rc;
	for (uint32_t i = 0; i < lane->chunks; i++)
		((uint64_t *)lane->fill.entries)[i] = (uint64_t)i * CHUNK_BYTES;
	__atomic_store_n(lane->fill.producer, lane->chunks, __ATOMIC_RELEASE);
	return 0;
}

// return bpf_redirect_map(&map, ctx->rx_queue_index, XDP_PASS): other queues go on to the stack.
static int load_program(struct lane *lane)
{
	union bpf_attr map = {.map_type = BPF_MAP_TYPE_XSKMAP};

	map.key_size = map.value_size = sizeof(uint32_t);
	map.max_entries = 1;
	lane->map_fd = ladder_bpf(BPF_MAP_CREATE, &map);
	if (lane->map_fd < 0)
		return lane->map_fd;
	const struct bpf_insn code[] = {
		{.code = BPF_LDX | BPF_W | BPF_MEM, .dst_reg = BPF_REG_2, .src_reg = BPF_REG_1, .off = 16},
		{.code = BPF_LD | BPF_DW | BPF_IMM,
			.dst_reg = BPF_REG_1,
			.src_reg = BPF_PSEUDO_MAP_FD,
			.imm = lane->map_fd},
		{.code = 0}, // upper half of the constant
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_3, .imm = XDP_PASS},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_redirect_map},
		{.code = BPF_JMP | BPF_EXIT},
	};
	lane->program_fd = ladder_bpf_load(BPF_PROG_TYPE_XDP, code, TL_ARRAY_LEN(code));
	return lane->program_fd < 0 ? lane->program_fd : 0;
}

static int attach(struct lane *lane, const struct tl_ladder_cfg *cfg, int mode, struct tl_err *err)
{
	union bpf_attr link = {0}, entry = {0};
	uint32_t queue = 0, fd = (uint32_t)lane->fd;

	int rc = load_program(lane);
	if (rc != 0)
		return tl_fail(err, rc, "bpf(BPF_PROG_LOAD): %s", strerror(-rc));
	entry.map_fd = (uint32_t)lane->map_fd;
	entry.key = (uintptr_t)&queue;
	entry.value = (uintptr_t)&fd;
	rc = ladder_bpf(BPF_MAP_UPDATE_ELEM, &entry);
	link.link_create.prog_fd = (uint32_t)lane->program_fd;
	link.link_create.target_ifindex = cfg->ifindex;
	link.link_create.attach_type = BPF_XDP;
	link.link_create.flags = mode == LADDER_XDP_SKB ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
	if (rc == 0)
		rc = lane->link_fd = ladder_bpf(BPF_LINK_CREATE, &link);
	return rc >= 0 ? 0 : tl_fail(err, rc, "cannot attach an XDP program to %s: %s", cfg->ifname, strerror(-rc));
}

static int bind_queue(struct lane *lane, const struct tl_ladder_cfg *cfg, int mode, struct tl_err *err)
{
	const struct sockaddr_xdp address = {.sxdp_family = AF_XDP,
		.sxdp_ifindex = cfg->ifindex,
		.sxdp_flags = mode == LADDER_XDP_ZEROCOPY ? XDP_ZEROCOPY : XDP_COPY};
	int rc = -EBUSY;

	for (unsigned ms = 0; rc == -EBUSY && ms < RELEASE_MS; ms++) {
		rc = bind(lane->fd, (const struct sockaddr *)&address, sizeof(address)) == 0 ? 0 : -errno;
		if (rc == -EBUSY)
			(void)poll(NULL, 0, 1);
	}
	return rc == 0 ? 0
		       : tl_fail(err, rc, "bind(AF_XDP, %s) to queue 0 of %s: %s",
				 mode == LADDER_XDP_ZEROCOPY ? "zero-copy" : "copy", cfg->ifname, strerror(-rc));
}

static int prefer_busy(struct lane *lane, struct tl_err *err)
{
	const int one = 1, us = BUSY_US, budget = BUSY_BUDGET;

	lane->busy = true;
	if (setsockopt(lane->fd, SOL_SOCKET, SO_PREFER_BUSY_POLL, &one, sizeof(one)) != 0 ||
		setsockopt(lane->fd, SOL_SOCKET, SO_BUSY_POLL, &us, sizeof(us)) != 0 ||
		setsockopt(lane->fd, SOL_SOCKET, SO_BUSY_POLL_BUDGET, &budget, sizeof(budget)) != 0)
		return tl_fail(err, -errno, "setsockopt(SO_PREFER_BUSY_POLL): %s", strerror(errno));
	return 0;
}

static int open_lane(void *arg, const struct tl_ladder_rung *rung, const struct tl_ladder_cfg *cfg, struct tl_err *err)
{
	struct lane *lane = arg;

	lane->map_fd = lane->program_fd = lane->link_fd = -1;
	lane->fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	int rc = lane->fd < 0 ? tl_fail(err, -errno, "socket(AF_XDP): %s", strerror(errno)) : 0;
	if (rc == 0)
		rc = create_umem(lane, cfg->buffer_bytes, err);
	if (rc == 0)
		rc = map_rings(lane, err);
	if (rc == 0)
		rc = bind_queue(lane, cfg, rung->mode, err);
	if (rc == 0 && rung->mode == LADDER_XDP_BUSY)
		rc = prefer_busy(lane, err);
	return rc == 0 ? attach(lane, cfg, rung->mode, err) : rc;
}

// Take the frames in the RX ring, and return their chunks by the fill ring. Return their number.
static uint32_t take_frames(struct lane *lane, struct tl_ladder_sink *sink)
{
	uint32_t mask = lane->chunks - 1, begin = *lane->rx.consumer, fill = *lane->fill.producer;
	uint32_t end = __atomic_load_n(lane->rx.producer, __ATOMIC_ACQUIRE);

	for (uint32_t i = begin; i != end; i++) {
		const struct xdp_desc *frame = &((const struct xdp_desc *)lane->rx.entries)[i & mask];
		tl_ladder_take(sink, lane->umem + frame->addr, frame->len);
		((uint64_t *)lane->fill.entries)[fill++ & mask] = frame->addr & ~(uint64_t)(CHUNK_BYTES - 1);
	}
	__atomic_store_n(lane->rx.consumer, end, __ATOMIC_RELEASE);
	__atomic_store_n(lane->fill.producer, fill, __ATOMIC_RELEASE);
	return end - begin;
}

static int receive(void *arg, struct tl_ladder_sink *sink, const atomic_bool *stop)
{
	struct lane *lane = arg;
	struct pollfd wait = {.fd = lane->fd, .events = POLLIN};

	while (!atomic_load_explicit(stop, memory_order_relaxed)) {
		uint64_t begin_ns = lane->busy ? tl_ladder_now_ns() : 0;
		if (lane->busy) // runs the driver's receive routine in this thread
			(void)recvfrom(lane->fd, NULL, 0, MSG_DONTWAIT, NULL, NULL);
		else if (poll(&wait, 1, TL_LADDER_WAIT_MS) < 0 && errno != EINTR)
			return -errno;
		if (take_frames(lane, sink) > 0 && lane->busy)
			tl_count(&sink->busy_ns, tl_ladder_now_ns() - begin_ns);
	}
	return 0;
}

static uint64_t dropped(void *arg)
{
	struct lane *lane = arg;
	struct xdp_statistics stats = {0};
	socklen_t bytes = sizeof(stats);

	return getsockopt(lane->fd, SOL_XDP, XDP_STATISTICS, &stats, &bytes) == 0
		       ? stats.rx_dropped + stats.rx_ring_full
		       : 0;
}

const struct tl_ladder_ops ladder_xdp = {sizeof(struct lane), open_lane, NULL, receive, dropped, close_lane};
