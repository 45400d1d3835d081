// SPDX-License-Identifier: BSD-3-Clause
// io_uring with zero-copy receive (zcrx, Linux 6.15): a NIC that splits headers writes the payload of one receive queue
// to memory of the program, and completions say where. This rung asks for it, one step after another, and gives the
// first refusal as its reason. It has no code to receive: Linux serves TCP sockets only (io_zcrx_recv() in
// io_uring/zcrx.c), and the ladder's frames are datagrams. Definitions are of include/uapi/linux/io_uring/zcrx.h:
// liburing has them from 2.10 on.

#include <errno.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <liburing.h>

#include "ladder_priv.h"

#define ZC_REGISTER_IFQ 32 // IORING_REGISTER_ZCRX_IFQ
#define ZC_OP_RECV 58	   // IORING_OP_RECV_ZC
#define ZC_USER_MEMORY 1   // IORING_MEM_REGION_TYPE_USER
#define ZC_RECV_MULTISHOT (1u << 1)
#define ENTRIES 8
#define REFILL_ENTRIES 4096u
#define REFILL_BYTES (REFILL_ENTRIES * 16 + 4096) // entries behind a header
#define NO_INTERFACE INT_MAX

struct zc_region { // io_uring_region_desc: the ring that returns memory
	uint64_t address, bytes;
	uint32_t flags, id;
	uint64_t mmap_offset, reserved[4];
};

struct zc_area { // io_uring_zcrx_area_reg: memory for the payload
	uint64_t address, bytes, token;
	uint32_t flags, dmabuf_fd;
	uint64_t reserved[2];
};

struct zc_queue { // io_uring_zcrx_ifq_reg
	uint32_t ifindex, queue, entries, flags;
	uint64_t area, region;
	uint32_t head, tail, first, reserved1;
	uint64_t reserved2[2];
	uint32_t id, reserved3;
	uint64_t reserved4[3];
};
_Static_assert(sizeof(struct zc_region) == 64 && sizeof(struct zc_area) == 48 && sizeof(struct zc_queue) == 96,
	"sizes of the kernel's structures");

struct lane {
	struct ladder_lane base;
	struct io_uring ring; // io_uring_queue_exit() if has_ring
	bool has_ring;
	uint8_t *memory; // area, then region
	size_t area_bytes;
};

static void close_lane(void *arg)
{
	struct lane *lane = arg;

	if (lane->has_ring)
		io_uring_queue_exit(&lane->ring); // gives the queue back to the driver
	if (lane->memory != NULL)
		munmap(lane->memory, lane->area_bytes + REFILL_BYTES);
	ladder_close_socket(lane);
}

static int create_ring(struct lane *lane, uint32_t bytes, struct tl_err *err)
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_CQE32 | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN};
	int rc = io_uring_queue_init_params(ENTRIES, &lane->ring, &params);

	if (rc != 0)
		return tl_fail(err, rc, "io_uring_setup(CQE32, DEFER_TASKRUN): %s", strerror(-rc));
	lane->has_ring = true;
	void *memory = mmap(NULL, bytes + REFILL_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return tl_fail(err, -ENOMEM, "not enough memory");
	lane->memory = memory;
	lane->area_bytes = bytes;
	return 0;
}

// Register queue 0 of an interface. Return 0 or -errno.
static int register_queue(struct lane *lane, unsigned ifindex)
{
	struct zc_area area = {.address = (uintptr_t)lane->memory, .bytes = lane->area_bytes};
	struct zc_region region = {.address = (uintptr_t)(lane->memory + lane->area_bytes),
		.bytes = REFILL_BYTES,
		.flags = ZC_USER_MEMORY};
	struct zc_queue queue = {
		.ifindex = ifindex, .entries = REFILL_ENTRIES, .area = (uintptr_t)&area, .region = (uintptr_t)&region};

	return syscall(SYS_io_uring_register, lane->ring.ring_fd, ZC_REGISTER_IFQ, &queue, 1) == 0 ? 0 : -errno;
}

// Ask the kernel about an interface that does not exist: one that knows the call says so.
static int ask_kernel(struct lane *lane, struct tl_err *err)
{
	int rc = register_queue(lane, NO_INTERFACE);

	if (rc == -ENODEV)
		return 0;
	return tl_fail(err, rc != 0 ? rc : -EIO, "io_uring_register(ZCRX_IFQ): %s: %s", strerror(-rc),
		rc == -EINVAL	    ? "this kernel has no zero-copy receive (Linux 6.15)"
		: rc == -EOPNOTSUPP ? "this kernel was built without it (CONFIG_IO_URING_ZCRX)"
				    : "the kernel refuses it");
}

static int ask_driver(struct lane *lane, const struct tl_ladder_cfg *cfg, struct tl_err *err)
{
	int rc = register_queue(lane, cfg->ifindex);

	if (rc == 0)
		return 0;
	return tl_fail(err, rc, "io_uring_register(ZCRX_IFQ) of queue 0 of %s: %s: %s", cfg->ifname, strerror(-rc),
		rc == -EOPNOTSUPP ? "its driver does not let the program give the memory of a queue"
		: rc == -EINVAL	  ? "is header split on (ethtool -G, tcp-data-split on, hds-thresh 0)?"
				  : "the driver refuses it");
}

// Request payloads of datagrams. Always fail: the kernel refuses, or there is no code for what it would answer.
static int ask_socket(struct lane *lane, struct tl_err *err)
{
	struct io_uring_cqe *cqe;

	lane->base.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (lane->base.fd < 0)
		return tl_fail(err, -errno, "UDP socket: %s", strerror(errno));
	struct io_uring_sqe *sqe = io_uring_get_sqe(&lane->ring);
	io_uring_prep_rw(ZC_OP_RECV, sqe, lane->base.fd, NULL, 0, 0);
	sqe->ioprio |= ZC_RECV_MULTISHOT;
	int rc = io_uring_submit(&lane->ring);
	if (rc >= 0 && (rc = io_uring_peek_cqe(&lane->ring, &cqe)) == 0)
		rc = cqe->res;
	if (rc < 0 && rc != -EAGAIN)
		return tl_fail(
			err, rc, "io_uring RECV_ZC of a UDP socket: %s: Linux does this for TCP only", strerror(-rc));
	return tl_fail(err, -ENOTSUP, "the kernel accepts RECV_ZC of a UDP socket, which Tapline does not support");
}

static int open_lane(void *arg, const struct tl_ladder_rung *rung, const struct tl_ladder_cfg *cfg, struct tl_err *err)
{
	struct lane *lane = arg;

	lane->base.fd = -1;
	int rc = create_ring(lane, cfg->buffer_bytes, err);
	if (rc == 0)
		rc = ask_kernel(lane, err);
	if (rc == 0)
		rc = ask_driver(lane, cfg, err);
	return rc == 0 ? ask_socket(lane, err) : rc;
}

const struct tl_ladder_ops ladder_uring_zc = {sizeof(struct lane), open_lane, NULL, NULL, NULL, close_lane};
