// SPDX-License-Identifier: BSD-3-Clause
// The host under test: EAL without hugepages or devices, a queue of its frames, and the router that replies to its ARP.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include <tl_err.h>

#define TL_TEST_EAL_MB "96" // packetdrill locks all of it in memory
#include "tl_test_eal.h"

#include "pd_like.h"
#include "pd_stack.h"

#define STEP_US 250
#define START_US UINT64_C(1000000000)
#define MBUFS 4095

#define DEFAULT_IP UINT32_C(0xc0a80002) // 192.168.0.2
#define NET_MASK UINT32_C(0xffff0000)	// packetdrill's default

static const uint8_t HOST_MAC[TL_ETHER_ADDR_LEN] = {2, 0, 0, 0, 0, 1};
static const uint8_t ROUTER_MAC[TL_ETHER_ADDR_LEN] = {2, 0, 0, 0, 0, 2};

// ---- frames of the host

static void keep_packet(struct tl_pd_stack *stack, const uint8_t *frame)
{
	const struct tl_ipv4_hdr *ip = (const struct tl_ipv4_hdr *)(frame + TL_ETHER_LEN);
	size_t len = tl_be16(ip->total_len_be); // without the padding
	struct tl_pd_packet *packet = malloc(sizeof(*packet) + len + TL_PD_LIKE_ROOM);

	if (packet == NULL)
		abort();
	packet->at_us = stack->now_us;
	memcpy(packet->bytes, ip, len);
	packet->len = tl_pd_like_packet(packet->bytes, len, stack->flags->like);
	STAILQ_INSERT_TAIL(&stack->sent, packet, link);
}

static void flush(struct tl_txq *tx)
{
	struct tl_pd_stack *stack = tx->backend;

	for (uint16_t i = 0; i < tx->n; i++) {
		const uint8_t *frame = rte_pktmbuf_mtod(tx->pkts[i], const uint8_t *);
		const struct tl_ether_hdr *ether = (const struct tl_ether_hdr *)frame;
		const struct tl_arp_hdr *arp = (const struct tl_arp_hdr *)(ether + 1);

		if (ether->type_be == tl_be16(TL_ETHERTYPE_IPV4))
			keep_packet(stack, frame);
		else if (arp->op_be == tl_be16(1) && arp->target_ip_be != stack->ip_be)
			stack->asked_be = arp->target_ip_be;
		rte_pktmbuf_free(tx->pkts[i]);
	}
	tx->n = 0;
}

// ---- frames for the host

static int give_frame(struct tl_pd_stack *stack, uint16_t type_be, const void *bytes, size_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(stack->pool);
	if (m == NULL)
		return -ENOBUFS;
	struct tl_burst burst = {.n = 1, .mono_ns = stack->now_us * TL_NS_PER_US, .pkts = {m}};
	struct tl_ether_hdr *ether = rte_pktmbuf_mtod(m, struct tl_ether_hdr *);

	memcpy(ether->dst, HOST_MAC, sizeof(ether->dst));
	memcpy(ether->src, ROUTER_MAC, sizeof(ether->src));
	ether->type_be = type_be;
	memcpy(ether + 1, bytes, len);
	m->data_len = (uint16_t)(TL_ETHER_LEN + len);
	m->pkt_len = m->data_len;
	tl_wire_parse((const uint8_t *)ether, m->data_len, &burst.pkt[0]);
	tl_net_input(stack->net, &burst);
	rte_pktmbuf_free(m);
	return 0;
}

static void answer_arp(struct tl_pd_stack *stack)
{
	struct tl_arp_hdr reply = {
		.hw_type_be = tl_be16(1),
		.proto_be = tl_be16(TL_ETHERTYPE_IPV4),
		.hw_len = TL_ETHER_ADDR_LEN,
		.proto_len = sizeof(stack->ip_be),
		.op_be = tl_be16(2),
		.sender_ip_be = stack->asked_be,
		.target_ip_be = stack->ip_be,
	};

	memcpy(reply.sender_mac, ROUTER_MAC, sizeof(reply.sender_mac));
	memcpy(reply.target_mac, HOST_MAC, sizeof(reply.target_mac));
	stack->asked_be = 0;
	give_frame(stack, tl_be16(TL_ETHERTYPE_ARP), &reply, sizeof(reply));
}

int tl_pd_stack_give(struct tl_pd_stack *stack, const void *packet, size_t len)
{
	if (len > stack->flags->mtu)
		return -EMSGSIZE;
	return give_frame(stack, tl_be16(TL_ETHERTYPE_IPV4), packet, len);
}

struct tl_pd_packet *tl_pd_stack_take(struct tl_pd_stack *stack)
{
	struct tl_pd_packet *packet = STAILQ_FIRST(&stack->sent);

	if (packet == NULL)
		return NULL;
	STAILQ_REMOVE_HEAD(&stack->sent, link);
	const struct tl_pd_packet *next = STAILQ_FIRST(&stack->sent);
	if (stack->flags->like == TL_PD_LIKE_LINUX)
		tl_pd_like_push(&stack->like, packet->bytes, packet->at_us, next != NULL ? next->bytes : NULL,
			next != NULL ? next->at_us : 0);
	return packet;
}

// ---- time

void tl_pd_stack_work(struct tl_pd_stack *stack)
{
	if (stack->net == NULL)
		return;
	tl_net_tick(stack->net, stack->now_us * TL_NS_PER_US);
	tl_txq_flush(&stack->tx);
	while (stack->asked_be != 0) {
		answer_arp(stack);
		tl_txq_flush(&stack->tx);
	}
}

void tl_pd_stack_step(struct tl_pd_stack *stack, uint64_t until_us)
{
	uint64_t next_us = stack->now_us + STEP_US;

	stack->now_us = next_us < until_us ? next_us : until_us;
	tl_pd_stack_work(stack);
}

// ---- set-up and end

static uint32_t router_be(uint32_t ip)
{
	uint32_t first = (ip & NET_MASK) + 1;

	return tl_be32(ip != first ? first : first + 1);
}

int tl_pd_stack_address(struct tl_pd_stack *stack, uint32_t ip_be)
{
	if (stack->net != NULL)
		return ip_be == 0 || ip_be == stack->ip_be ? 0 : -EADDRNOTAVAIL;
	struct tl_err err = {0};
	struct tl_net_cfg cfg = {
		.name = "packetdrill",
		.tx = &stack->tx,
		.pool = stack->pool,
		.ip_be = ip_be != 0 ? ip_be : tl_be32(DEFAULT_IP),
		.mask_be = tl_be32(NET_MASK),
		.mtu = (uint16_t)stack->flags->mtu,
		.max_conns = stack->flags->conns,
		.send_buffer_bytes = stack->flags->send_bytes,
		.socket_id = SOCKET_ID_ANY,
		.seed = 1,
	};

	memcpy(cfg.mac, HOST_MAC, sizeof(cfg.mac));
	cfg.gateway_be = router_be(tl_be32(cfg.ip_be));
	if (tl_net_create(&cfg, &stack->net, &err) != 0) {
		fprintf(stderr, "--so_flags, or the address: %s\n", err.text);
		exit(2);
	}
	stack->ip_be = cfg.ip_be;
	tl_pd_stack_work(stack);
	return 0;
}

void tl_pd_stack_init(struct tl_pd_stack *stack, const struct tl_pd_flags *flags)
{
	tl_test_eal_start();
	*stack = (struct tl_pd_stack){.flags = flags, .now_us = START_US};
	STAILQ_INIT(&stack->sent);
	stack->tx.flush_fn = flush;
	stack->tx.backend = stack;
	stack->pool = rte_pktmbuf_pool_create("packetdrill", MBUFS, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (stack->pool == NULL) {
		fprintf(stderr, "no mbuf pool: %s\n", rte_strerror(rte_errno));
		exit(1);
	}
}

void tl_pd_stack_fini(struct tl_pd_stack *stack)
{
	struct tl_pd_packet *packet;

	tl_net_destroy(stack->net);
	tl_txq_flush(&stack->tx);
	while ((packet = tl_pd_stack_take(stack)) != NULL)
		free(packet);
	rte_mempool_free(stack->pool);
	rte_eal_cleanup();
}
