// SPDX-License-Identifier: BSD-3-Clause
// AF_PACKET: a socket below the IP stack (packet(7)). The kernel clones the skb of each frame to every such socket.

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ladder_bpf.h"
#include "ladder_priv.h"

// Offset of the source port's low byte from the network header, where a fanout program's data begins.
#define SOURCE_PORT_LOW 21

static int open_socket(struct tl_err *err)
{
	int one = 1, fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0); // protocol 0: nothing before bind()

	if (fd < 0)
		return tl_fail(err, -errno, "socket(AF_PACKET): %s", strerror(errno));
	(void)setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)); // Linux 4.20
	return fd;
}

int ladder_buffer(const struct ladder_lane *lane, uint32_t bytes, struct tl_err *err)
{
	const struct timeval wait = {.tv_usec = TL_LADDER_WAIT_MS * 1000};
	int half = (int)(bytes / 2); // the kernel doubles it: socket(7)

	if (setsockopt(lane->fd, SOL_SOCKET, SO_RCVBUFFORCE, &half, sizeof(half)) != 0 ||
		setsockopt(lane->fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) != 0)
		return tl_fail(err, -errno, "setsockopt(SO_RCVBUFFORCE): %s", strerror(errno));
	return 0;
}

int ladder_ignore_sent(int fd, struct tl_err *err)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, SKF_AD_OFF + SKF_AD_PKTTYPE),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	};
	const struct sock_fprog program = {TL_ARRAY_LEN(code), code};

	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) != 0)
		return tl_fail(err, -errno, "setsockopt(SO_ATTACH_FILTER): %s", strerror(errno));
	return 0;
}

static int fanout_cbpf(int fd)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, SOURCE_PORT_LOW),
		BPF_STMT(BPF_RET | BPF_A, 0),
	};
	const struct sock_fprog program = {TL_ARRAY_LEN(code), code};

	return setsockopt(fd, SOL_PACKET, PACKET_FANOUT_DATA, &program, sizeof(program)) == 0 ? 0 : -errno;
}

static int fanout_ebpf(int fd)
{
	const struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_6, .src_reg = BPF_REG_1},
		{.code = BPF_LD | BPF_B | BPF_ABS, .imm = SOURCE_PORT_LOW}, // R0 = byte of the skb in R6
		{.code = BPF_JMP | BPF_EXIT},
	};
	int program = ladder_bpf_load(BPF_PROG_TYPE_SOCKET_FILTER, code, TL_ARRAY_LEN(code));

	if (program < 0)
		return program;
	int rc = setsockopt(fd, SOL_PACKET, PACKET_FANOUT_DATA, &program, sizeof(program)) == 0 ? 0 : -errno;
	close(program); // the group holds it
	return rc;
}

static int join(int fd, const struct tl_ladder_rung *rung, const struct tl_ladder_cfg *cfg, struct tl_err *err)
{
	int value = cfg->group | rung->fanout << 16, rc = 0;

	if (setsockopt(fd, SOL_PACKET, PACKET_FANOUT, &value, sizeof(value)) != 0)
		return tl_fail(err, -errno, "setsockopt(PACKET_FANOUT): %s", strerror(errno));
	if (cfg->lane == 0 && rung->fanout == PACKET_FANOUT_CBPF)
		rc = fanout_cbpf(fd);
	if (cfg->lane == 0 && rung->fanout == PACKET_FANOUT_EBPF)
		rc = fanout_ebpf(fd);
	return rc == 0 ? 0 : tl_fail(err, rc, "setsockopt(PACKET_FANOUT_DATA): %s", strerror(-rc));
}

// Begin to receive what arrives at the interface, and join the rung's fanout group.
static int bind_to(int fd, const struct tl_ladder_rung *rung, const struct tl_ladder_cfg *cfg, struct tl_err *err)
{
	const struct sockaddr_ll address = {
		.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = (int)cfg->ifindex};
	bool alone = rung->fanout == TL_LADDER_ALONE;

	int rc = alone ? 0 : ladder_ignore_sent(fd, err);
	if (rc != 0)
		return rc;
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
		return tl_fail(err, -errno, "bind(AF_PACKET) to %s: %s", cfg->ifname, strerror(errno));
	return alone ? 0 : join(fd, rung, cfg, err);
}

int ladder_open_packet(
	void *arg, const struct tl_ladder_rung *rung, const struct tl_ladder_cfg *cfg, struct tl_err *err)
{
	struct ladder_lane *lane = arg;

	int rc = lane->fd = open_socket(err);
	if (rc >= 0)
		rc = rung->ops->set_up(lane, cfg, err);
	return rc == 0 ? bind_to(lane->fd, rung, cfg, err) : rc;
}

void ladder_close_socket(void *arg)
{
	struct ladder_lane *lane = arg;

	if (lane->fd >= 0)
		close(lane->fd);
}

uint64_t ladder_packet_drops(int fd, uint64_t *total)
{
	struct tpacket_stats_v3 stats = {0};
	socklen_t bytes = sizeof(stats);

	if (getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &stats, &bytes) == 0)
		*total += stats.tp_drops;
	return *total;
}

uint64_t ladder_dropped(void *arg)
{
	struct ladder_lane *lane = arg;

	return ladder_packet_drops(lane->fd, &lane->drops);
}
