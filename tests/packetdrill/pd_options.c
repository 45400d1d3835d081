// SPDX-License-Identifier: BSD-3-Clause
// Socket options supported by the stack.

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "pd_like.h"
#include "pd_socket.h"
#include "tcp_loss.h"
#include "tcp_table.h"
#include "tcp_wheel.h"

// The stack takes its options when a connection is opened; those that can change later are changed here.
static int too_late(const struct tl_pd_socket *s)
{
	return s->tcp != NULL || s->listener != NULL ? -EISCONN : 0;
}

static void set_send_buffer(struct tl_pd_socket *s, uint32_t bytes)
{
	s->opts.send_buffer_bytes = bytes;
	if (s->tcp == NULL)
		return;
	s->tcp->send_limit = tl_min_u32(bytes, s->tcp->ring_mask + 1);
	tl_tcp_set_recv_window(s->tcp, s->tcp->recv_window);
}

static void set_keepalive(struct tl_pd_socket *s, uint64_t idle_ns)
{
	s->opts.keepalive_idle_ns = idle_ns;
	if (s->tcp == NULL || !s->opened)
		return;
	s->tcp->keepalive_idle_ns = idle_ns;
	tl_tcp_keepalive_start(s->tcp);
}

// Set the MSS of all connections of a script from the link's MTU.
static int set_mss(struct tl_pd_socket *s, uint32_t mss)
{
	uint32_t mtu = mss + TL_IPV4_LEN + TL_TCP_LEN;

	if (mss < 88 || mss > 32767 || s->tcp != NULL || tl_pd_stack_address(&s->host->stack, 0) != 0)
		return -EINVAL;
	struct tl_net *net = s->host->stack.net;
	net->cfg.mtu = (uint16_t)tl_min_u32(net->cfg.mtu, mtu);
	s->mss = (uint16_t)mss;
	return 0;
}

static int set_linger(struct tl_pd_socket *s, const void *value, socklen_t len)
{
	struct linger linger;

	if (len != sizeof(linger))
		return -EINVAL;
	memcpy(&linger, value, sizeof(linger));
	s->reset_on_close = linger.l_onoff != 0 && linger.l_linger == 0;
	return 0;
}

static int set_socket_option(struct tl_pd_socket *s, int name, uint32_t number)
{
	const uint64_t idle_ns = 2 * 3600 * TL_NS_PER_S; // RFC 1122, section 4.2.3.6

	switch (name) {
	case SO_REUSEADDR:
	case SO_REUSEPORT:
	case SO_OOBINLINE: // urgent data always is in line
		return 0;
	case SO_RCVBUF:
		s->opts.recv_window_bytes = number;
		return too_late(s);
	case SO_SNDBUF:
		set_send_buffer(s, number);
		return 0;
	case SO_KEEPALIVE:
		set_keepalive(s, number == 0 ? 0 : s->idle_ns != 0 ? s->idle_ns : idle_ns);
		return 0;
	default:
		return -ENOPROTOOPT;
	}
}

static int set_tcp_option(struct tl_pd_socket *s, int name, uint32_t number)
{
	switch (name) {
	case TCP_NODELAY: // Nagle is always off
		if (number == 0)
			return -ENOPROTOOPT;
		tl_pd_socket_push(s);
		return 0;
	case TCP_KEEPIDLE:
		s->idle_ns = number * TL_NS_PER_S;
		set_keepalive(s, s->idle_ns);
		return 0;
	case TCP_USER_TIMEOUT:
		s->opts.user_timeout_ms = number;
		if (s->tcp != NULL)
			s->tcp->user_timeout_ns = number * TL_NS_PER_MS;
		return 0;
	case TCP_MAXSEG:
		return set_mss(s, number);
	case TCP_CORK:
		s->corked = number != 0;
		if (!s->corked)
			tl_pd_socket_push(s);
		return 0;
	default:
		return -ENOPROTOOPT;
	}
}

int tl_pd_socket_set(struct tl_pd_socket *s, int level, int name, const void *value, socklen_t len)
{
	uint32_t number;

	if (level == SOL_SOCKET && name == SO_LINGER)
		return set_linger(s, value, len);
	if (len != sizeof(number))
		return -EINVAL;
	memcpy(&number, value, sizeof(number));
	if (level == SOL_SOCKET)
		return set_socket_option(s, name, number);
	return level == IPPROTO_TCP ? set_tcp_option(s, name, number) : -ENOPROTOOPT;
}

// States in the kernel's numbering.
static uint8_t kernel_state(const struct tl_tcp *c)
{
	static const uint8_t STATES[] = {
		[TL_TCPS_CLOSED] = TCP_CLOSE,
		[TL_TCPS_SYN_SENT] = TCP_SYN_SENT,
		[TL_TCPS_SYN_RECEIVED] = TCP_SYN_RECV,
		[TL_TCPS_ESTABLISHED] = TCP_ESTABLISHED,
		[TL_TCPS_FIN_WAIT_1] = TCP_FIN_WAIT1,
		[TL_TCPS_FIN_WAIT_2] = TCP_FIN_WAIT2,
		[TL_TCPS_CLOSE_WAIT] = TCP_CLOSE_WAIT,
		[TL_TCPS_CLOSING] = TCP_CLOSING,
		[TL_TCPS_LAST_ACK] = TCP_LAST_ACK,
		[TL_TCPS_TIME_WAIT] = TCP_TIME_WAIT,
	};
	return STATES[c->state];
}

static struct tcp_info info_of(const struct tl_tcp *c)
{
	if (c == NULL)
		return (struct tcp_info){.tcpi_state = TCP_CLOSE};
	return (struct tcp_info){
		.tcpi_state = kernel_state(c),
		.tcpi_backoff = c->backoff,
		.tcpi_snd_wscale = c->snd_scale,
		.tcpi_rcv_wscale = c->rcv_scale,
		.tcpi_rto = (uint32_t)(c->rto_ns / TL_NS_PER_US),
		.tcpi_snd_mss = c->mss,
		.tcpi_rcv_mss = c->mss,
		.tcpi_options = (c->stamped ? TCPI_OPT_TIMESTAMPS : 0) | (c->sack ? TCPI_OPT_SACK : 0) |
				(c->offer_scale ? TCPI_OPT_WSCALE : 0),
		.tcpi_ca_state = c->backoff != 0			? TCP_CA_Loss
				 : c->in_recovery			? TCP_CA_Recovery
				 : c->n_sacked != 0 || c->dup_acks != 0 ? TCP_CA_Disorder
									: TCP_CA_Open,
		.tcpi_advmss = tl_tcp_link_mss(c->net, c->key),
		.tcpi_sacked = c->n_sacked != 0 ? tl_tcp_sacked_bytes(c) / c->mss : 0,
		.tcpi_unacked = (c->snd_max - c->snd_una + c->mss - 1) / c->mss,
		.tcpi_rtt = (uint32_t)(c->srtt_ns / TL_NS_PER_US),
		.tcpi_rttvar = (uint32_t)(c->rttvar_ns / TL_NS_PER_US),
		.tcpi_snd_ssthresh = c->ssthresh / c->mss,
		.tcpi_snd_cwnd = c->cwnd / c->mss,
	};
}

static int put(void *value, socklen_t *len, const void *from, size_t size)
{
	if (*len > size)
		*len = (socklen_t)size;
	memcpy(value, from, *len);
	return 0;
}

static int put_number(void *value, socklen_t *len, int number)
{
	return put(value, len, &number, sizeof(number));
}

static int get_socket_option(struct tl_pd_socket *s, int name, void *value, socklen_t *len)
{
	enum { MEMORY_FACTS = 9 }; // of SO_MEMINFO, all unsupported
	static const uint32_t no_facts[MEMORY_FACTS];
	const struct tl_pd_flags *flags = &s->host->flags;
	bool heard = s->tcp != NULL && s->tcp->state >= TL_TCPS_SYN_RECEIVED;
	uint16_t mss = heard ? s->tcp->mss : s->last_mss;
	int error = s->error;

	switch (name) {
	case SO_ERROR:
		s->error = 0;
		return put_number(value, len, error);
	case SO_RCVBUF:
		return put_number(value, len, tl_pd_like_rcvbuf(mss, flags->like));
	case SO_SNDBUF:
		return put_number(value, len,
			(int)(s->opts.send_buffer_bytes != 0 ? s->opts.send_buffer_bytes : flags->send_bytes));
	case SO_KEEPALIVE:
		return put_number(value, len, s->opts.keepalive_idle_ns != 0);
	case SO_MEMINFO:
		return put(value, len, no_facts, sizeof(no_facts));
	default:
		return -ENOPROTOOPT;
	}
}

// Fill unknown members with zeros.
static int put_info(const struct tl_tcp *c, void *value, socklen_t *len)
{
	struct tcp_info info = info_of(c);

	memset(value, 0, *len);
	memcpy(value, &info, *len < sizeof(info) ? *len : sizeof(info));
	return 0;
}

static int get_tcp_option(struct tl_pd_socket *s, int name, void *value, socklen_t *len)
{
	enum { CC_FACTS = 5 }; // of TCP_CC_INFO, all unsupported
	static const uint32_t no_facts[CC_FACTS];
	uint16_t mss = s->mss != 0 ? s->mss : TL_TCP_DEFAULT_MSS;

	switch (name) {
	case TCP_INFO:
		return put_info(s->tcp, value, len);
	case TCP_CC_INFO:
		return put(value, len, &no_facts, sizeof(no_facts));
	case TCP_MAXSEG:
		return put_number(value, len, s->tcp != NULL ? s->tcp->mss : mss);
	case TCP_NODELAY:
		return put_number(value, len, 1);
	case TCP_KEEPIDLE:
		return put_number(value, len, (int)((s->idle_ns != 0 ? s->idle_ns : 7200 * TL_NS_PER_S) / TL_NS_PER_S));
	case TCP_USER_TIMEOUT:
		return put_number(value, len, (int)s->opts.user_timeout_ms);
	default:
		return -ENOPROTOOPT;
	}
}

int tl_pd_socket_get(struct tl_pd_socket *s, int level, int name, void *value, socklen_t *len)
{
	if (level == SOL_SOCKET)
		return get_socket_option(s, name, value, len);
	return level == IPPROTO_TCP ? get_tcp_option(s, name, value, len) : -ENOPROTOOPT;
}
