// SPDX-License-Identifier: BSD-3-Clause
// Self-test over DPDK's ring device, which returns every frame, through a wire with one fault.

#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>

#include <tl_err.h>
#include <tl_selftest.h>
#include <tl_test.h>
#include <tl_test_eal.h>
#include <tl_test_port.h>

#define EVERY 50 // the fault affects every EVERY-th frame

enum flaw { NONE, LOSE, TWICE, DAMAGE, STRANGE };

// Interposed between the self-test and the port's flush.
struct wire {
	void (*flush)(struct tl_txq *q);
	enum flaw flaw;
	unsigned frames;
};

struct rig {
	struct tl_port *port;
	struct wire wire;
	struct tl_selftest_cfg cfg;
	struct tl_selftest_result result;
	struct tl_err err;
	atomic_bool stop;
	const char *stop_at, *down_at; // checks before which it is stopped, or the link goes down
};

static struct tl_clock *test_clock;
static struct rig rig;

static struct rte_mbuf *copy(struct rte_mbuf *m)
{
	return rte_pktmbuf_copy(m, m->pool, 0, UINT32_MAX);
}

// Change a byte of the run's number.
static struct rte_mbuf *strange(struct rte_mbuf *m)
{
	struct rte_mbuf *other = copy(m);

	rte_pktmbuf_mtod(other, uint8_t *)[42] ^= 1;
	return other;
}

static void spoil(struct tl_txq *q, struct wire *wire)
{
	struct rte_mbuf *m = q->pkts[0];

	switch (wire->flaw) {
	case LOSE:
		rte_pktmbuf_free(m);
		q->n = 0;
		break;
	case TWICE:
		q->pkts[q->n++] = copy(m);
		break;
	case DAMAGE:
		rte_pktmbuf_mtod(m, uint8_t *)[m->data_len - 1] ^= 1;
		break;
	case STRANGE:
		q->pkts[q->n++] = strange(m);
		break;
	case NONE:
		break;
	}
}

static void flush(struct tl_txq *q)
{
	struct wire *wire = &rig.wire;

	if (q->n == 1 && ++wire->frames % EVERY == 0)
		spoil(q, wire);
	wire->flush(q);
}

static void at_check(void *ctx, const struct tl_selftest_check *check)
{
	if (rig.stop_at != NULL && strcmp(check->id, rig.stop_at) == 0)
		atomic_store(&rig.stop, true);
	if (rig.down_at != NULL && strcmp(check->id, rig.down_at) == 0)
		CU_ASSERT_EQUAL(rte_eth_dev_set_link_down(tl_port_rxq(rig.port, 0)->port_id), 0);
}

static int run(enum flaw flaw, const char *stop_at, const char *down_at)
{
	static unsigned number;
	char text[32];

	snprintf(text, sizeof(text), "vdev:net_ring_loop%u", number++); // DPDK keeps a ring of that name
	rig = (struct rig){.port = tl_test_port(text, 1, test_clock), .stop_at = stop_at, .down_at = down_at};
	CU_ASSERT_PTR_NOT_NULL_FATAL(rig.port);
	struct tl_txq *tx = tl_port_txq(rig.port, 0);
	rig.wire = (struct wire){.flush = tx->flush_fn, .flaw = flaw};
	tx->flush_fn = flush;
	rig.cfg = (struct tl_selftest_cfg){.ports = {rig.port},
		.n_ports = 1,
		.clock = test_clock,
		.run = 77,
		.silence_ns = 100 * TL_NS_PER_MS,
		.rate_ns = 10 * TL_NS_PER_MS,
		.stop = &rig.stop,
		.progress = at_check};
	return tl_selftest_run(&rig.cfg, &rig.result, &rig.err);
}

static void end(void)
{
	tl_selftest_fini(&rig.result);
	tl_port_close(rig.port);
}

static const struct tl_selftest_check *check_of(const char *id)
{
	for (unsigned i = 0; i < rig.result.n; i++)
		if (strcmp(rig.result.checks[i].id, id) == 0)
			return &rig.result.checks[i];
	CU_FAIL_FATAL("no such check");
	return NULL;
}

static json_int_t figure(const char *id, const char *name)
{
	return json_integer_value(json_object_get(check_of(id)->figures, name));
}

static void expect(const char *id, enum tl_selftest_verdict verdict)
{
	const struct tl_selftest_check *check = check_of(id);

	CU_ASSERT_EQUAL(check->verdict, verdict);
	if (check->verdict != verdict)
		printf("# %s: %s: %s\n", id, tl_selftest_verdict_name(check->verdict), check->text);
}

TL_TEST("a good loop passes all available checks")
{
	CU_ASSERT_EQUAL(run(NONE, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig.result.counts[TL_SELFTEST_FAIL], 0);
	expect("link", TL_SELFTEST_PASS);
	expect("cable", TL_SELFTEST_PASS);
	expect("counters", TL_SELFTEST_PASS);
	expect("rss", TL_SELFTEST_NOT_AVAILABLE);
	expect("stamps", TL_SELFTEST_NOT_AVAILABLE);
	expect("drops", TL_SELFTEST_NOT_AVAILABLE); // a full ring rejects frames
	CU_ASSERT_EQUAL(figure("counters", "received"), 1024);
	CU_ASSERT_EQUAL(figure("rate_large", "sent"), figure("rate_large", "received"));
	CU_ASSERT_EQUAL(rig.result.foreign_pkts, 0);
	CU_ASSERT_EQUAL(rig.result.n, rig.result.counts[0] + rig.result.counts[1] + rig.result.counts[2]);
	end();
}

static void counters_fail_with(enum flaw flaw, const char *name)
{
	CU_ASSERT_EQUAL(run(flaw, NULL, NULL), 0);
	expect("cable", TL_SELFTEST_PASS);
	expect("counters", TL_SELFTEST_FAIL);
	CU_ASSERT(figure("counters", name) > 0);
	end();
}

TL_TEST("a lost frame fails the counter check")
{
	CU_ASSERT_EQUAL(run(LOSE, NULL, NULL), 0);
	expect("counters", TL_SELFTEST_FAIL);
	CU_ASSERT(figure("counters", "received") < figure("counters", "sent"));
	CU_ASSERT_EQUAL(figure("counters", "drops"), 0);
	expect("drops", TL_SELFTEST_FAIL); // the ring has no counter for frames lost on the wire
	end();
}

TL_TEST("a duplicate frame fails the counter check")
{
	counters_fail_with(TWICE, "duplicated");
}

TL_TEST("a changed byte fails the counter check")
{
	counters_fail_with(DAMAGE, "damaged");
}

TL_TEST("frames of another run count as foreign and are not a fault")
{
	CU_ASSERT_EQUAL(run(STRANGE, NULL, NULL), 0);
	expect("counters", TL_SELFTEST_PASS);
	CU_ASSERT(figure("counters", "foreign") > 0);
	CU_ASSERT(rig.result.foreign_pkts > 0);
	end();
}

TL_TEST("without a link no other check runs")
{
	CU_ASSERT_EQUAL(run(NONE, NULL, "link"), 0);
	expect("link", TL_SELFTEST_FAIL);
	expect("cable", TL_SELFTEST_NOT_AVAILABLE);
	expect("rate_large", TL_SELFTEST_NOT_AVAILABLE);
	CU_ASSERT_EQUAL(tl_count_read(&tl_port_txq(rig.port, 0)->tx_pkts), 0);
	end();
}

TL_TEST("a link down during the test is reported")
{
	CU_ASSERT_EQUAL(run(NONE, NULL, "link_stays"), 0);
	expect("link", TL_SELFTEST_PASS);
	expect("link_stays", TL_SELFTEST_FAIL);
	CU_ASSERT_EQUAL(figure("link_stays", "downs"), 1);
	end();
}

TL_TEST("a cancelled run ends at once")
{
	CU_ASSERT_EQUAL(run(NONE, "counters", NULL), -EINTR);
	CU_ASSERT_EQUAL(rig.result.n, 3); // link, cable and the stopped one
	CU_ASSERT_EQUAL(tl_port_mbufs_in_use(rig.port), 0);
	end();
}

TL_TEST("the report lists every check and contains no address")
{
	char mac[TL_ETHER_TEXT];

	CU_ASSERT_EQUAL(run(NONE, NULL, NULL), 0);
	json_t *checks = tl_selftest_checks_json(&rig.result), *port = tl_selftest_port_json(rig.port);
	CU_ASSERT_EQUAL(json_array_size(checks), rig.result.n);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(json_array_get(checks, 0), "id")), "link");
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(json_array_get(checks, 0), "verdict")), "pass");
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(port, "driver")), "net_ring");
	CU_ASSERT(json_integer_value(json_object_get(json_object_get(port, "xstats"), "rx_good_packets")) > 1024);
	char *text = json_dumps(port, 0);
	CU_ASSERT_PTR_NULL(strstr(text, tl_format_ether(tl_port_mac(rig.port), mac)));
	free(text);
	json_decref(checks);
	json_decref(port);
	end();
}

int main(void)
{
	tl_test_eal_start();
	test_clock = tl_clock_create();
	int status = tl_test_run("selftest");
	tl_clock_destroy(test_clock);
	return status;
}
