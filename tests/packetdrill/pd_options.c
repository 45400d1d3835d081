// SPDX-License-Identifier: BSD-3-Clause
// Socket options: those the stack has an answer to.

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include "pd_socket.h"
#include "tcp_priv.h"

// The stack takes its options when a connection is opened.
static int too_late(const struct tl_pd_socket *s)
{
	return s->tcp != NULL || s->listener != NULL ? -EISCONN : 0;
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
		s->opts.send_buffer_bytes = number;
		return too_late(s);
	case SO_KEEPALIVE:
		if (number == 0)
			s->opts.keepalive_idle_ns = 0;
		else if (s->opts.keepalive_idle_ns == 0)
			s->opts.keepalive_idle_ns = idle_ns;
		return too_late(s);
	default:
		return -ENOPROTOOPT;
	}
}

static int set_tcp_option(struct tl_pd_socket *s, int name, uint32_t number)
{
	switch (name) {
	case TCP_NODELAY: // Nagle is always off
		return number != 0 ? 0 : -ENOPROTOOPT;
	case TCP_KEEPIDLE:
		s->opts.keepalive_idle_ns = number * TL_NS_PER_S;
		return too_late(s);
	case TCP_USER_TIMEOUT:
		s->opts.user_timeout_ms = number;
		return too_late(s);
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

// As the kernel numbers them.
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

int tl_pd_socket_get(struct tl_pd_socket *s, int level, int name, void *value, socklen_t *len)
{
	if (level == SOL_SOCKET && name == SO_ERROR) {
		int error = s->error;
		s->error = 0;
		return put(value, len, &error, sizeof(error));
	}
	if (level == IPPROTO_TCP && name == TCP_INFO) {
		struct tcp_info info = info_of(s->tcp);
		return put(value, len, &info, sizeof(info));
	}
	if (level == IPPROTO_TCP && name == TCP_MAXSEG) {
		int mss = s->tcp != NULL ? s->tcp->mss : TL_TCP_DEFAULT_MSS;
		return put(value, len, &mss, sizeof(mss));
	}
	return -ENOPROTOOPT;
}
