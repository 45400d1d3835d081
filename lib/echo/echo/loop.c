// SPDX-License-Identifier: BSD-3-Clause
// UDP ports that answer every datagram: an echo that replied to them would start an endless loop, for which one
// datagram with a forged source suffices.

#include "echo_priv.h"

// Services of RFC 862 to 868, which inetd refuses as well; DNS, TFTP and NTP, some of whose servers answer errors with
// errors (CVE-2024-2169, CVE-2009-3563). Port 0 requests no reply (RFC 768).
static const uint16_t services[] = {
	0,
	7,   // echo
	11,  // active users
	13,  // daytime
	17,  // quote of the day
	19,  // character generator
	37,  // time
	53,  // DNS
	69,  // TFTP
	123, // NTP
};

static void note(struct tl_echo_host *host, uint16_t port_be)
{
	host->answering[port_be / 64] |= UINT64_C(1) << (port_be % 64);
}

void tl_echo_note_answering(struct tl_echo_host *host, const struct tl_echo_host_cfg *cfg)
{
	for (size_t i = 0; i < TL_ARRAY_LEN(services); i++)
		note(host, tl_be16(services[i]));
	for (uint32_t i = 0; i < cfg->n_udp_ports; i++)
		note(host, cfg->udp_ports_be[i]);
	for (uint32_t i = 0; i < cfg->n_echoes; i++)
		if (cfg->echoes[i].kind == TL_ECHO_KIND_UDP)
			note(host, cfg->echoes[i].listen_port_be);
}
