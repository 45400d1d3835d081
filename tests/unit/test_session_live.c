// SPDX-License-Identifier: BSD-3-Clause
// lib/pcap/session: sessions taken one by one, while frames are added.

#include "tl_test_session.h"

#define IDLE_NS (100 * TL_NS_PER_S)
#define MEMORY_BYTES (UINT64_C(64) << 20)

static struct recording begin_live(uint64_t memory_bytes)
{
	return begin_with(&(struct tl_session_cfg){
		.memory_bytes = memory_bytes, .pause_ns = UINT64_MAX, .idle_ns = IDLE_NS, .udp = true});
}

static struct recording begin_open(enum tl_session_offer offer)
{
	return begin_with(&(struct tl_session_cfg){
		.memory_bytes = MEMORY_BYTES, .pause_ns = UINT64_MAX, .idle_ns = IDLE_NS, .udp = true, .offer = offer});
}

// Record a session of two bytes and three.
static void record_session(struct recording *r)
{
	record_handshake(r);
	record(r, CLIENT, ACK, 1, 1, "ab");
	record(r, SERVER, ACK, 1, 3, "cde");
	record_close(r, 2, 3);
}

static uint64_t memory(const struct recording *r)
{
	return tl_session_get_stats(r->set)->memory_bytes;
}

// Let time pass, in which other frames are recorded.
static void pass(struct recording *r, uint64_t ns)
{
	bool udp = r->udp, to_group = r->to_group;

	r->udp = r->to_group = true; // belongs to no flow
	for (uint64_t end_ns = r->ts_ns + ns; r->ts_ns < end_ns; r->ts_ns += TL_NS_PER_S)
		record_datagram(r, CLIENT, "");
	r->udp = udp;
	r->to_group = to_group;
}

// Take a session of this class, and release it.
static bool takes(struct recording *r, uint64_t number, enum tl_session_class class)
{
	const struct tl_session *s = tl_session_take(r->set, 1);
	bool is_right = s != NULL && s->number == number && s->class == class;

	if (s != NULL)
		tl_session_release(r->set, s, 1);
	return is_right;
}

static void end_live(struct recording *r, uint64_t sessions)
{
	uint64_t sum = 0;

	tl_session_end(r->set);
	while (tl_session_take(r->set, 1) != NULL)
		continue;
	for (int i = 0; i < TL_SESSION_CLASSES; i++)
		sum += tl_session_get_stats(r->set)->classes[i];
	CU_ASSERT_EQUAL(sum, sessions);
	tl_session_destroy(r->set);
}

TL_TEST("a session is taken when both sides have closed")
{
	struct recording r = begin_live(MEMORY_BYTES);

	record_handshake(&r);
	record(&r, CLIENT, ACK, 1, 1, "ab");
	record(&r, SERVER, ACK, 1, 3, "cde");
	record(&r, CLIENT, FIN | ACK, 3, 4, "");
	CU_ASSERT_PTR_NULL(tl_session_take(r.set, 1));
	record(&r, SERVER, FIN | ACK, 4, 4, "");
	const struct tl_session *s = tl_session_take(r.set, 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	CU_ASSERT_EQUAL(s->class, TL_SESSION_COMPLETE);
	CU_ASSERT_EQUAL(s->n_steps, 4);
	CU_ASSERT_EQUAL(memcmp(s->data[SERVER], "cde", 3), 0);
	CU_ASSERT_PTR_NULL(tl_session_take(r.set, 1));
	tl_session_release(r.set, s, 1);
	end_live(&r, 1);
}

TL_TEST("late segments of a session that was taken begin no other")
{
	struct recording r = begin_live(MEMORY_BYTES);

	record_session(&r);
	CU_ASSERT_TRUE(takes(&r, 1, TL_SESSION_COMPLETE));
	record(&r, CLIENT, ACK, 4, 5, "");
	record(&r, SERVER, FIN | ACK, 4, 4, "");
	record(&r, CLIENT, RST, 4, 5, "");
	CU_ASSERT_PTR_NULL(tl_session_take(r.set, 1));
	end_live(&r, 1);
}

TL_TEST("a session without its SYN, on the ports of one that was taken, is taken, too")
{
	struct recording r = begin_live(MEMORY_BYTES);

	record_session(&r);
	CU_ASSERT_TRUE(takes(&r, 1, TL_SESSION_COMPLETE));
	r.isn[CLIENT] += 700000000;
	record(&r, CLIENT, ACK, 1, 1, "ab");
	record(&r, CLIENT, ACK, 3, 1, "cd");
	CU_ASSERT_TRUE(takes(&r, 2, TL_SESSION_NO_SYN));
	end_live(&r, 2);
}

TL_TEST("an open session whose last bytes before a RST are missing is taken again without content")
{
	struct recording r = begin_open(TL_SESSION_AT_DATA);

	record_handshake(&r);
	record(&r, CLIENT, ACK, 1, 1, "ab");
	const struct tl_session *s = tl_session_take(r.set, 1);
	record(&r, SERVER, RST, 9, 3, "");
	CU_ASSERT_PTR_EQUAL(tl_session_take(r.set, 1), s);
	CU_ASSERT(s->is_again && !s->is_open && s->class == TL_SESSION_HOLE && s->n_steps == 0);
	tl_session_release(r.set, s, 1);
	end_live(&r, 1);
}

TL_TEST("another session of the same ports is taken, too")
{
	struct recording r = begin_live(MEMORY_BYTES);

	record_session(&r);
	r.isn[CLIENT] += 100000;
	r.isn[SERVER] += 100000;
	record_session(&r);
	CU_ASSERT_TRUE(takes(&r, 1, TL_SESSION_COMPLETE));
	CU_ASSERT_TRUE(takes(&r, 2, TL_SESSION_COMPLETE));
	r.isn[CLIENT] += 100000;
	record_handshake(&r);
	r.isn[CLIENT] += 100000;
	record_handshake(&r); // the one before never ended
	CU_ASSERT_TRUE(takes(&r, 3, TL_SESSION_NO_END));
	end_live(&r, 4);
}

TL_TEST("a content is valid until its last use has ended")
{
	struct recording r = begin_live(MEMORY_BYTES);

	record_session(&r);
	const struct tl_session *s = tl_session_take(r.set, 3);
	pass(&r, 2 * IDLE_NS);
	tl_session_release(r.set, s, 2);
	CU_ASSERT_EQUAL(memcmp(s->data[CLIENT], "ab", 2), 0);
	uint64_t before = memory(&r);
	tl_session_release(r.set, s, 1);
	CU_ASSERT(memory(&r) < before);
	end_live(&r, 1);
}

TL_TEST("a session without frames ends, and a flow is taken then")
{
	struct recording r = begin_live(MEMORY_BYTES);

	record_handshake(&r);
	pass(&r, IDLE_NS - 2 * TL_NS_PER_S);
	CU_ASSERT_PTR_NULL(tl_session_take(r.set, 1));
	record(&r, CLIENT, ACK, 1, 1, "ab"); // it is not idle
	pass(&r, IDLE_NS - 2 * TL_NS_PER_S);
	CU_ASSERT_PTR_NULL(tl_session_take(r.set, 1));
	pass(&r, 4 * TL_NS_PER_S);
	CU_ASSERT_TRUE(takes(&r, 1, TL_SESSION_NO_END));
	r.udp = true;
	record_datagram(&r, CLIENT, "question");
	record_datagram(&r, SERVER, "answer");
	CU_ASSERT_PTR_NULL(tl_session_take(r.set, 1));
	pass(&r, IDLE_NS + 2 * TL_NS_PER_S);
	CU_ASSERT_TRUE(takes(&r, 2, TL_SESSION_COMPLETE));
	end_live(&r, 2);
}

TL_TEST("steps of the clock end no session")
{
	struct recording r = begin_live(MEMORY_BYTES);

	record_handshake(&r);
	r.ts_ns += 86400 * TL_NS_PER_S;
	record(&r, CLIENT, ACK, 1, 1, "ab");
	r.ts_ns -= 2 * 86400 * TL_NS_PER_S;
	record(&r, SERVER, ACK, 1, 3, "cde");
	CU_ASSERT_PTR_NULL(tl_session_take(r.set, 1));
	record_close(&r, 2, 3);
	CU_ASSERT_TRUE(takes(&r, 1, TL_SESSION_COMPLETE));
	pass(&r, IDLE_NS + 2 * TL_NS_PER_S); // time goes on after the step: the ports are free
	record_session(&r);
	CU_ASSERT_TRUE(takes(&r, 2, TL_SESSION_COMPLETE));
	end_live(&r, 2);
}

TL_TEST("memory does not grow with the number of sessions")
{
	struct recording r = begin_live(TL_SESSION_MEMORY_MIN + (1 << 20));
	uint64_t beyond = 0;

	for (unsigned i = 0; i < 20000; i++) {
		r.client_port = (uint16_t)(1024 + i);
		record_session(&r);
		beyond += !takes(&r, i + 1, TL_SESSION_COMPLETE);
		r.ts_ns += TL_NS_PER_S;
	}
	CU_ASSERT_EQUAL(beyond, 0);
	CU_ASSERT(tl_session_get_stats(r.set)->memory_max_bytes < 1 << 20);
	end_live(&r, 20000);
}

TL_TEST("after a lack of memory sessions are found again")
{
	struct recording r = begin_live(TL_SESSION_MEMORY_MIN);
	const struct tl_session_stats *stats = tl_session_get_stats(r.set);
	const struct tl_session *s;

	for (r.client_port = 1024; stats->beyond_pkts == 0; r.client_port++)
		record_session(&r);
	uint64_t found = r.client_port - 1024u - 1;
	pass(&r, 2 * IDLE_NS);
	for (uint64_t i = 0; i < found; i++) {
		s = tl_session_take(r.set, 1);
		CU_ASSERT_PTR_NOT_NULL_FATAL(s);
		tl_session_release(r.set, s, 1);
	}
	record_session(&r);
	CU_ASSERT_TRUE(takes(&r, found + 1, TL_SESSION_COMPLETE));
	end_live(&r, found + 1);
}

TL_TEST("an open session is taken with its first bytes, when it has grown, and at its end")
{
	struct recording r = begin_open(TL_SESSION_AT_DATA);

	record_handshake(&r);
	CU_ASSERT_PTR_NULL(tl_session_take(r.set, 1));
	record(&r, CLIENT, ACK, 1, 1, "ab");
	const struct tl_session *s = tl_session_take(r.set, 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	CU_ASSERT(s->is_open && !s->is_again && s->class == TL_SESSION_COMPLETE && s->n_steps == 1);
	record(&r, SERVER, ACK, 1, 3, ""); // nothing new
	CU_ASSERT_PTR_NULL(tl_session_take(r.set, 1));
	record(&r, CLIENT, ACK, 3, 1, "fg");
	record(&r, CLIENT, ACK, 5, 1, "h");
	record(&r, SERVER, ACK, 1, 6, "cde");
	CU_ASSERT_PTR_EQUAL(tl_session_take(r.set, 1), s);
	CU_ASSERT(s->is_open && s->is_again && s->taken_bytes == 2 && s->n_steps == 3);
	CU_ASSERT(s->steps[0].bytes == 2 && s->steps[1].bytes == 3 && s->steps[2].bytes == 3);
	CU_ASSERT_EQUAL(memcmp(s->data[CLIENT], "abfgh", 5), 0);
	record_close(&r, 5, 3);
	CU_ASSERT_PTR_EQUAL(tl_session_take(r.set, 1), s);
	CU_ASSERT(!s->is_open && s->is_again && s->class == TL_SESSION_COMPLETE && s->n_steps == 5);
	CU_ASSERT_PTR_NULL(tl_session_take(r.set, 1));
	tl_session_release(r.set, s, 1);
	end_live(&r, 1);
}

TL_TEST("an open session can be taken when both sides have opened")
{
	struct recording r = begin_open(TL_SESSION_AT_SYN);

	record(&r, CLIENT, SYN, 0, 0, "");
	CU_ASSERT_PTR_NULL(tl_session_take(r.set, 1)); // the server may refuse
	record(&r, SERVER, SYN | ACK, 0, 1, "");
	const struct tl_session *s = tl_session_take(r.set, 1);
	CU_ASSERT(s != NULL && s->is_open && s->n_steps == 0);
	end_live(&r, 1);
}

TL_TEST("an open session is taken when it is known to be one of TLS")
{
	struct recording r = begin_open(TL_SESSION_AT_DATA);

	record_handshake(&r);
	record(&r, CLIENT, ACK, 1, 1, "\x16\x03\x01");
	CU_ASSERT_PTR_NULL(tl_session_take(r.set, 1));
	record(&r, CLIENT, ACK, 4, 1, "??\x01\x01\x01");
	CU_ASSERT_PTR_NULL(tl_session_take(r.set, 1));
	record(&r, CLIENT, ACK, 9, 1, "\x01");
	const struct tl_session *s = tl_session_take(r.set, 1);
	CU_ASSERT(s != NULL && s->is_open && s->is_tls);
	end_live(&r, 1);
}

TL_TEST("an open flow is taken with its first datagram, when it has grown, and at its end")
{
	static const enum tl_session_offer offers[] = {TL_SESSION_AT_DATA, TL_SESSION_AT_SYN};

	for (size_t i = 0; i < TL_ARRAY_LEN(offers); i++) {
		struct recording r = begin_open(offers[i]);
		r.udp = true;
		record_datagram(&r, CLIENT, "ab");
		const struct tl_session *s = tl_session_take(r.set, 1);
		CU_ASSERT_PTR_NOT_NULL_FATAL(s);
		CU_ASSERT(s->is_udp && s->is_open && !s->is_again && s->n_steps == 1);
		CU_ASSERT_PTR_NULL(tl_session_take(r.set, 1));
		record_datagram(&r, SERVER, "cde");
		record_datagram(&r, SERVER, "");
		CU_ASSERT_PTR_EQUAL(tl_session_take(r.set, 1), s);
		CU_ASSERT(s->is_open && s->is_again && s->taken_bytes == 2 && s->n_steps == 3);
		CU_ASSERT(s->steps[1].bytes == 3 && s->steps[2].bytes == 0);
		pass(&r, IDLE_NS + 2 * TL_NS_PER_S);
		CU_ASSERT_PTR_EQUAL(tl_session_take(r.set, 1), s);
		CU_ASSERT(!s->is_open && s->is_again && s->class == TL_SESSION_COMPLETE && s->n_steps == 3);
		CU_ASSERT_FALSE(s->may_go_on);
		tl_session_release(r.set, s, 1);
		record_datagram(&r, CLIENT, "ab"); // the next flow
		tl_session_end(r.set);
		s = tl_session_take(r.set, 1);
		CU_ASSERT(s != NULL && !s->is_open && s->may_go_on);
		end_live(&r, 2);
	}
}

TL_TEST("an open session that becomes incomplete is taken again without content")
{
	for (int idle = 0; idle < 2; idle++) {
		struct recording r = begin_open(TL_SESSION_AT_DATA);
		record_handshake(&r);
		record(&r, CLIENT, ACK, 1, 1, "ab");
		const struct tl_session *s = tl_session_take(r.set, 1);
		r.cut_bytes = 1;
		if (!idle)
			record(&r, SERVER, ACK, 1, 3, "cde");
		r.cut_bytes = 0;
		if (idle)
			pass(&r, IDLE_NS + 2 * TL_NS_PER_S);
		CU_ASSERT_PTR_EQUAL(tl_session_take(r.set, 1), s);
		CU_ASSERT(s->is_again && !s->is_open && s->taken_bytes == 2 && s->bytes[CLIENT] == 0);
		CU_ASSERT_EQUAL(s->class, idle ? TL_SESSION_NO_END : TL_SESSION_CUT);
		tl_session_release(r.set, s, 1);
		end_live(&r, 1);
	}
}

TL_TEST("an open session that is released is neither collected nor taken again")
{
	struct recording r = begin_open(TL_SESSION_AT_DATA);

	record_handshake(&r);
	record(&r, CLIENT, ACK, 1, 1, "ab");
	const struct tl_session *s = tl_session_take(r.set, 2);
	record(&r, SERVER, ACK, 1, 3, "cde"); // it waits when it is released
	uint64_t before = memory(&r);
	tl_session_release(r.set, s, 2);
	CU_ASSERT(memory(&r) < before);
	CU_ASSERT_PTR_NULL(tl_session_take(r.set, 2));
	before = memory(&r);
	record(&r, CLIENT, ACK, 3, 4, "fgh");
	record_close(&r, 5, 3);
	CU_ASSERT_EQUAL(memory(&r), before);
	CU_ASSERT_PTR_NULL(tl_session_take(r.set, 2));
	r.isn[CLIENT] += 100000;
	r.isn[SERVER] += 100000;
	record_session(&r); // of the same ports
	s = tl_session_take(r.set, 2);
	CU_ASSERT(s != NULL && s->number == 2);
	end_live(&r, 2);
}

int main(void)
{
	return tl_test_run("session_live");
}
