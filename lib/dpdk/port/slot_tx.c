// SPDX-License-Identifier: BSD-3-Clause
// Send to a kernel interface: a system call per frame, which returns when the device, or the other end of a veth, has
// the frame. A TX ring takes longer, and does not report dropped frames (docs/decisions/014).

#include "port_priv.h"

#include <errno.h>
#include <linux/net_tstamp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "flush.h"

#define TO_BE_STAMPED RTE_MBUF_F_TX_IEEE1588_TMST

// Have the kernel stamp a frame when its driver takes it: kernel_stamp.c reads the stamp.
static void request_stamp(struct msghdr *message, char *control, size_t size)
{
	const uint32_t flag = SOF_TIMESTAMPING_TX_SOFTWARE;

	message->msg_control = control;
	message->msg_controllen = size;
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(message);
	*cmsg = (struct cmsghdr){
		.cmsg_level = SOL_SOCKET, .cmsg_type = SO_TIMESTAMPING, .cmsg_len = CMSG_LEN(sizeof(flag))};
	memcpy(CMSG_DATA(cmsg), &flag, sizeof(flag));
}

// Send a frame in parts, as a replay has them beyond TL_PORT_SEGMENT_BYTES, or one to be stamped.
static __attribute__((noinline)) bool send_message(int fd, const struct rte_mbuf *m)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(uint32_t))] = {0};
	struct iovec parts[TL_PORT_SEGMENTS_MAX];
	struct msghdr message = {.msg_iov = parts};

	if ((m->ol_flags & TO_BE_STAMPED) != 0)
		request_stamp(&message, control, sizeof(control));
	for (; m != NULL && message.msg_iovlen < TL_PORT_SEGMENTS_MAX; m = m->next)
		parts[message.msg_iovlen++] = (struct iovec){rte_pktmbuf_mtod(m, void *), m->data_len};
	if (m == NULL)
		return sendmsg(fd, &message, MSG_DONTWAIT) >= 0;
	errno = EMSGSIZE;
	return false;
}

static bool send_frame(int fd, const struct rte_mbuf *m)
{
	if (TL_UNLIKELY(m->nb_segs != 1 || (m->ol_flags & TO_BE_STAMPED) != 0))
		return send_message(fd, m);
	return send(fd, rte_pktmbuf_mtod(m, void *), m->data_len, MSG_DONTWAIT) >= 0;
}

// Anything else passes: a full queue (ENOBUFS, EAGAIN), no carrier (ENOBUFS), an interface that is down (ENETDOWN).
static bool is_never_taken(int error)
{
	return error == EMSGSIZE || error == EINVAL;
}

uint16_t tl_slot_send(struct tl_txq *q, struct rte_mbuf **pkts, uint16_t n)
{
	struct tl_slot_queue *s = q->backend;
	uint16_t taken = 0;

	while (taken < n && TL_LIKELY(send_frame(s->fd, pkts[taken])))
		taken++;
	s->unsendable = taken < n && is_never_taken(errno);
	rte_pktmbuf_free_bulk(pkts, taken);
	return taken;
}

static void drop_first(struct tl_txq *q)
{
	tl_txq_free_dropped(q, q->pkts[0]);
	tl_count(&q->drop_tx_pkts, 1);
	q->n--;
	q->delayed = q->delayed != 0 ? q->delayed - 1 : 0;
	memmove(&q->pkts[0], &q->pkts[1], q->n * sizeof(q->pkts[0]));
}

// A frame that the kernel never takes, such as one longer than a lowered MTU, must not hold up those behind it.
void tl_slot_flush(struct tl_txq *q)
{
	const struct tl_slot_queue *s = q->backend;

	tl_txq_flush_by(q, tl_slot_send);
	while (TL_UNLIKELY(q->n != 0 && s->unsendable)) {
		drop_first(q);
		if (q->n != 0)
			tl_txq_flush_by(q, tl_slot_send);
	}
}
