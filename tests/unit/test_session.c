// SPDX-License-Identifier: BSD-3-Clause
// lib/pcap/session, with segments built by the test: the sessions, the data of each side, its order, and incomplete
// sessions.

#include <stdio.h>

#include "tl_test_session.h"

#define WINDOW_BYTES ((uint32_t)TL_SESSION_HELD_MAX)

TL_TEST("a request and its response are steps with their times")
{
	struct recording r = begin();

	record_handshake(&r);
	record(&r, CLIENT, ACK, 1, 1, "GET /");
	record(&r, SERVER, ACK, 1, 6, "200 ");
	record(&r, SERVER, ACK, 5, 6, "OK");
	record(&r, CLIENT, ACK, 6, 7, "GET /b");
	record(&r, SERVER, ACK, 7, 12, "404");
	record_close(&r, 11, 9);
	const struct tl_session_stats *stats = finish(&r);
	CU_ASSERT_EQUAL(stats->used_pkts, 11);
	CU_ASSERT_EQUAL(stats->classes[TL_SESSION_COMPLETE], 1);
	CU_ASSERT(is_session(&r, 0, TL_SESSION_COMPLETE, "GET /GET /b", "200 OK404"));
	CU_ASSERT(is_script(&r, 0, "c5 s6 c6 s3 cF sF"));
	const struct tl_session *s = tl_session_at(r.set, 0);
	CU_ASSERT_EQUAL(s->first_ns, START_NS);
	CU_ASSERT_EQUAL(s->steps[1].at_ns, START_NS + 4 * TL_NS_PER_US);
	CU_ASSERT_EQUAL(s->steps[1].last_ns, START_NS + 5 * TL_NS_PER_US);
	CU_ASSERT_EQUAL(s->end[CLIENT].port_be, tl_be16(40000));
	CU_ASSERT_EQUAL(s->end[SERVER].port_be, tl_be16(80));
	CU_ASSERT_EQUAL(s->end[SERVER].ip.byte[3], 2);
	tl_session_destroy(r.set);
}

TL_TEST("the side that sent the SYN is the client, also with the lower port and over IPv6")
{
	struct recording r = begin();

	r.client_port = 20; // the lower one
	r.ip6 = true;
	record_handshake(&r);
	record(&r, SERVER, ACK, 1, 1, "220 ready");
	record(&r, CLIENT, ACK, 1, 10, "QUIT");
	record_close(&r, 4, 9);
	finish(&r);
	CU_ASSERT(is_session(&r, 0, TL_SESSION_COMPLETE, "QUIT", "220 ready"));
	CU_ASSERT(is_script(&r, 0, "s9 c4 cF sF"));
	CU_ASSERT(tl_session_at(r.set, 0)->is_ip6);
	CU_ASSERT_EQUAL(tl_session_at(r.set, 0)->end[CLIENT].port_be, tl_be16(20));
	tl_session_destroy(r.set);
}

TL_TEST("retransmissions add nothing")
{
	struct recording r = begin();

	record(&r, CLIENT, SYN, 0, 0, "");
	record_handshake(&r);
	record(&r, CLIENT, ACK, 1, 1, "abc");
	record(&r, CLIENT, ACK, 1, 1, "abc");
	record(&r, CLIENT, ACK, 3, 1, "cdef"); // one byte repeated
	record(&r, SERVER, ACK, 1, 7, "xy");
	record(&r, CLIENT, ACK, 1, 1, "abcdef"); // after the answer
	record(&r, SERVER, ACK, 1, 7, "xy");
	record_close(&r, 6, 2);
	record(&r, SERVER, FIN | ACK, 3, 7, "");
	finish(&r);
	CU_ASSERT_EQUAL(tl_session_count(r.set), 1);
	CU_ASSERT(is_session(&r, 0, TL_SESSION_COMPLETE, "abcdef", "xy"));
	CU_ASSERT(is_script(&r, 0, "c6 s2 cF sF"));
	tl_session_destroy(r.set);
}

TL_TEST("reordered segments are put in order")
{
	struct recording r = begin();

	record_handshake(&r);
	record(&r, CLIENT, FIN | ACK, 9, 1, "ij");
	record(&r, CLIENT, ACK, 4, 1, "de");
	record(&r, CLIENT, ACK, 7, 1, "gh");
	record(&r, CLIENT, ACK, 5, 1, "efgh"); // covers the buffered one on both sides
	record(&r, CLIENT, ACK, 1, 1, "abcd");
	record(&r, SERVER, FIN | ACK, 1, 12, "");
	finish(&r);
	CU_ASSERT(is_session(&r, 0, TL_SESSION_COMPLETE, "abcdefghij", ""));
	CU_ASSERT(is_script(&r, 0, "c10 cF sF"));
	CU_ASSERT_EQUAL(tl_session_at(r.set, 0)->steps[0].last_ns, START_NS + 7 * TL_NS_PER_US);
	tl_session_destroy(r.set);
}

TL_TEST("of overlapping bytes the first captured are kept")
{
	struct recording r = begin();

	record_handshake(&r);
	record(&r, CLIENT, ACK, 4, 1, "DEF");
	record(&r, CLIENT, ACK, 2, 1, "bcdefgh"); // covers the buffered one on both sides
	record(&r, CLIENT, ACK, 1, 1, "aBCDEFGHi");
	record_close(&r, 9, 0);
	finish(&r);
	CU_ASSERT(is_session(&r, 0, TL_SESSION_COMPLETE, "abcDEFghi", ""));
	tl_session_destroy(r.set);
}

TL_TEST("sequence numbers wrap")
{
	struct recording r = begin();

	r.isn[CLIENT] = UINT32_MAX - 3;
	r.isn[SERVER] = UINT32_MAX;
	record_handshake(&r);
	record(&r, CLIENT, ACK, 4, 1, "defg");
	record(&r, CLIENT, ACK, 1, 1, "abc");
	record(&r, SERVER, ACK, 1, 8, "xyz");
	record(&r, CLIENT, ACK, 1, 4, "abcdefg");
	record_close(&r, 7, 3);
	finish(&r);
	CU_ASSERT(is_session(&r, 0, TL_SESSION_COMPLETE, "abcdefg", "xyz"));
	tl_session_destroy(r.set);
}

TL_TEST("a gap makes a session incomplete")
{
	struct recording r = begin();

	record_handshake(&r);
	record(&r, CLIENT, ACK, 1, 1, "abc");
	record(&r, CLIENT, ACK, 5, 1, "ef");
	record_close(&r, 6, 0);
	const struct tl_session_stats *stats = finish(&r);
	CU_ASSERT(is_session(&r, 0, TL_SESSION_HOLE, "", ""));
	CU_ASSERT_EQUAL(stats->classes[TL_SESSION_HOLE], 1);
	CU_ASSERT_EQUAL(tl_session_at(r.set, 0)->n_steps, 0);
	tl_session_destroy(r.set);
}

TL_TEST("acknowledged bytes that were not recorded are a gap")
{
	struct recording r = begin();

	record_handshake(&r);
	record(&r, CLIENT, ACK, 1, 1, "abc");
	record(&r, SERVER, ACK, 1, 4, "");
	record(&r, CLIENT, ACK, 4, 8, ""); // 7 bytes of the server are missing in the recording
	record(&r, CLIENT, RST, 4, 0, "");
	finish(&r);
	CU_ASSERT(is_session(&r, 0, TL_SESSION_HOLE, "", ""));
	tl_session_destroy(r.set);
}

TL_TEST("bytes that were sent before a RST and not recorded are a gap")
{
	struct recording r = begin();

	record_handshake(&r);
	record(&r, CLIENT, RST | ACK, 101, 1, ""); // the whole request is missing
	r.client_port++;			   // acknowledged by the RST
	record_handshake(&r);
	record(&r, SERVER, RST | ACK, 1, 101, "");
	r.client_port++; // the whole response
	record_handshake(&r);
	record(&r, CLIENT, ACK, 1, 1, "GET1");
	record(&r, SERVER, RST | ACK, 3001, 5, "");
	r.client_port++; // the last bytes of the client; its RST acknowledges nothing
	record_handshake(&r);
	record(&r, CLIENT, ACK, 1, 1, "GET1");
	record(&r, SERVER, ACK, 1, 5, "OK");
	record(&r, CLIENT, RST, 9, 7, "");
	r.client_port++; // nothing: the place before the RST is that of the FIN
	record_handshake(&r);
	record(&r, SERVER, FIN | ACK, 1, 1, "OK");
	record(&r, CLIENT, ACK, 1, 4, "GET1");
	record(&r, SERVER, RST, 4, 99, "");
	finish(&r);
	for (uint64_t i = 0; i < 4; i++)
		CU_ASSERT(is_session(&r, i, TL_SESSION_HOLE, "", ""));
	CU_ASSERT(is_session(&r, 4, TL_SESSION_COMPLETE, "GET1", "OK"));
	CU_ASSERT(is_script(&r, 4, "s2 sF c4 sR"));
	tl_session_destroy(r.set);
}

TL_TEST("a RST or FIN outside any window has no effect")
{
	struct recording r = begin();

	record_handshake(&r);
	record(&r, CLIENT, ACK, 1, 1, "GET1");
	record(&r, SERVER, RST, 0x40000000, 5, "");
	record(&r, SERVER, RST | ACK, WINDOW_BYTES + 2, 500, "");
	record(&r, SERVER, RST, 0 - WINDOW_BYTES, 5, "");
	record(&r, SERVER, FIN | ACK, 0x30000000, 5, "");
	record(&r, SERVER, FIN | ACK, WINDOW_BYTES + 2, 5, "");
	record(&r, SERVER, ACK, 1, 5, "OK");
	record_close(&r, 4, 2);
	r.client_port++; // within a window
	record_handshake(&r);
	record(&r, CLIENT, RST, 1 - WINDOW_BYTES, 1, "");
	record(&r, CLIENT, ACK, 1, 1, "ignored");
	r.client_port++;
	record_handshake(&r);
	record(&r, SERVER, FIN | ACK, WINDOW_BYTES + 1, 1, "");
	const struct tl_session_stats *stats = finish(&r);
	CU_ASSERT_EQUAL(stats->used_pkts, 22);
	CU_ASSERT_EQUAL(tl_session_count(r.set), 3);
	CU_ASSERT(is_session(&r, 0, TL_SESSION_COMPLETE, "GET1", "OK"));
	CU_ASSERT(is_script(&r, 0, "c4 s2 cF sF"));
	CU_ASSERT(is_script(&r, 1, "cR"));
	CU_ASSERT(is_session(&r, 2, TL_SESSION_HOLE, "", ""));
	tl_session_destroy(r.set);
}

TL_TEST("a truncated segment makes a session incomplete, unless its bytes are known")
{
	struct recording r = begin();

	record_handshake(&r);
	r.cut_bytes = 2;
	record(&r, CLIENT, ACK, 1, 1, "abc");
	r.cut_bytes = 0;
	record_close(&r, 3, 0);
	r.client_port = 40001;
	record_handshake(&r);
	record(&r, CLIENT, ACK, 1, 1, "abc");
	r.cut_bytes = 2;
	record(&r, CLIENT, ACK, 1, 1, "abc"); // repeated: already known
	r.cut_bytes = 3 + TL_TCP_LEN - 4;     // only the ports
	record(&r, CLIENT, ACK, 1, 1, "abc");
	r.cut_bytes = 0;
	record_close(&r, 3, 0);
	const struct tl_session_stats *stats = finish(&r);
	CU_ASSERT(is_session(&r, 0, TL_SESSION_CUT, "", ""));
	CU_ASSERT(is_session(&r, 1, TL_SESSION_COMPLETE, "abc", ""));
	CU_ASSERT_EQUAL(stats->truncated_pkts, 1);
	tl_session_destroy(r.set);
}

TL_TEST("a session without the SYN of one side has no script")
{
	struct recording r = begin();

	record(&r, SERVER, ACK, 100, 100, "abc");
	record(&r, CLIENT, ACK, 100, 103, "def");
	record_close(&r, 200, 200);
	r.client_port = 40001; // the client's SYN is missing
	record(&r, SERVER, SYN | ACK, 0, 1, "");
	record(&r, SERVER, SYN | ACK, 0, 1, "");
	record(&r, CLIENT, ACK, 1, 1, "abc");
	record_close(&r, 3, 0);
	r.client_port = 40002; // the server's
	record(&r, CLIENT, SYN, 0, 0, "");
	record(&r, CLIENT, ACK, 1, 1, "abc");
	record_close(&r, 3, 0);
	finish(&r);
	CU_ASSERT_EQUAL(tl_session_count(r.set), 3);
	for (uint64_t i = 0; i < 3; i++) {
		CU_ASSERT(is_session(&r, i, TL_SESSION_NO_SYN, "", ""));
		CU_ASSERT_EQUAL(tl_session_at(r.set, i)->end[SERVER].port_be, tl_be16(80));
	}
	tl_session_destroy(r.set);
}

TL_TEST("a SYN may be captured after the SYN-ACK")
{
	struct recording r = begin();

	record(&r, SERVER, SYN | ACK, 0, 1, "");
	record(&r, CLIENT, SYN, 0, 0, "");
	record(&r, CLIENT, ACK, 1, 1, "abc");
	record_close(&r, 3, 0);
	finish(&r);
	CU_ASSERT_EQUAL(tl_session_count(r.set), 1);
	CU_ASSERT(is_session(&r, 0, TL_SESSION_COMPLETE, "abc", ""));
	tl_session_destroy(r.set);
}

TL_TEST("a session with one FIN has no end")
{
	struct recording r = begin();

	record_handshake(&r);
	record(&r, CLIENT, ACK, 1, 1, "abc");
	record(&r, CLIENT, FIN | ACK, 4, 1, ""); // one side only
	finish(&r);
	CU_ASSERT(is_session(&r, 0, TL_SESSION_NO_END, "", ""));
	tl_session_destroy(r.set);
}

TL_TEST("a refused or unanswered connection was never established")
{
	struct recording r = begin();

	record(&r, CLIENT, SYN, 0, 0, "");
	record(&r, SERVER, RST | ACK, 0, 1, "");
	r.client_port = 40001;
	record(&r, CLIENT, SYN, 0, 0, "");
	record(&r, CLIENT, SYN, 0, 0, "");
	const struct tl_session_stats *stats = finish(&r);
	CU_ASSERT_EQUAL(stats->classes[TL_SESSION_UNOPENED], 2);
	tl_session_destroy(r.set);
}

TL_TEST("the script has the order of FINs and the side that reset")
{
	struct recording r = begin();

	record_handshake(&r); // the server closes first, and the client still sends
	record(&r, SERVER, FIN | ACK, 1, 1, "bye");
	record(&r, CLIENT, ACK, 1, 5, "last");
	record(&r, CLIENT, FIN | ACK, 5, 5, "");
	record(&r, SERVER, ACK, 5, 6, "");
	r.client_port++; // a RST from the server
	record_handshake(&r);
	record(&r, CLIENT, ACK, 1, 1, "abc");
	record(&r, SERVER, RST | ACK, 1, 4, "");
	record(&r, CLIENT, ACK, 4, 1, "ignored");
	r.client_port++; // one from the client
	record_handshake(&r);
	record(&r, CLIENT, RST, 1, 0, "");
	r.client_port++; // both at once: neither FIN acknowledges the other
	record_handshake(&r);
	record(&r, CLIENT, FIN | ACK, 1, 1, "");
	record(&r, SERVER, FIN | ACK, 1, 1, "");
	record(&r, CLIENT, ACK, 2, 2, "");
	record(&r, SERVER, ACK, 2, 2, "");
	finish(&r);
	CU_ASSERT(is_script(&r, 0, "s3 sF c4 cF"));
	CU_ASSERT(is_script(&r, 1, "c3 sR"));
	CU_ASSERT(is_script(&r, 2, "cR"));
	CU_ASSERT(is_script(&r, 3, "cF sF"));
	CU_ASSERT_EQUAL(tl_session_get_stats(r.set)->classes[TL_SESSION_COMPLETE], 4);
	tl_session_destroy(r.set);
}

TL_TEST("keepalives and window probes add no bytes")
{
	struct recording r = begin();

	record_handshake(&r);
	record(&r, CLIENT, ACK, 0, 1, "x"); // a keepalive before any data, with a byte
	record(&r, CLIENT, ACK, 1, 1, "abc");
	record(&r, CLIENT, ACK, 3, 1, "");  // one without a byte
	record(&r, CLIENT, ACK, 3, 1, "?"); // one with a byte
	record(&r, SERVER, ACK, 1, 4, "");
	record(&r, CLIENT, ACK, 4, 1, "d"); // a zero-window probe is a byte of the stream
	record(&r, CLIENT, ACK, 4, 1, "def");
	record_close(&r, 6, 0);
	finish(&r);
	CU_ASSERT(is_session(&r, 0, TL_SESSION_COMPLETE, "abcdef", ""));
	tl_session_destroy(r.set);
}

TL_TEST("bytes after a FIN are ignored")
{
	struct recording r = begin();

	record_handshake(&r);
	record(&r, CLIENT, FIN | ACK, 1, 1, "abc");
	record(&r, CLIENT, ACK, 4, 1, "junk");
	record(&r, CLIENT, ACK, 1, 1, "abcjunk");
	record(&r, SERVER, FIN | ACK, 1, 5, "");
	finish(&r);
	CU_ASSERT(is_session(&r, 0, TL_SESSION_COMPLETE, "abc", ""));
	tl_session_destroy(r.set);
}

TL_TEST("a new connection on the same ports is another session")
{
	struct recording r = begin();

	record_handshake(&r);
	record(&r, CLIENT, ACK, 1, 1, "one");
	record_close(&r, 3, 0);
	record(&r, CLIENT, RST, 5, 0, ""); // late
	r.isn[CLIENT] = 900000;
	r.isn[SERVER] = 20;
	record_handshake(&r);
	record(&r, CLIENT, ACK, 1, 1, "two");
	r.isn[CLIENT] = 7; // without an end of the second
	record_handshake(&r);
	record(&r, CLIENT, ACK, 1, 1, "three");
	record_close(&r, 5, 0);
	r.client_port++; // of a connection that began before the recording
	record(&r, SERVER, ACK, 500, 1, "end");
	record_handshake(&r);
	record(&r, CLIENT, ACK, 1, 1, "five");
	record_close(&r, 4, 0);
	finish(&r);
	CU_ASSERT_EQUAL(tl_session_count(r.set), 5);
	CU_ASSERT(is_session(&r, 0, TL_SESSION_COMPLETE, "one", ""));
	CU_ASSERT(is_session(&r, 1, TL_SESSION_NO_END, "", ""));
	CU_ASSERT(is_session(&r, 2, TL_SESSION_COMPLETE, "three", ""));
	CU_ASSERT(is_session(&r, 3, TL_SESSION_NO_SYN, "", ""));
	CU_ASSERT(is_session(&r, 4, TL_SESSION_COMPLETE, "five", ""));
	tl_session_destroy(r.set);
}

TL_TEST("a connection whose SYN is missing, on the ports of a session that has ended, is another session")
{
	struct recording r =
		begin_with(&(struct tl_session_cfg){.memory_bytes = 1 << 20, .session_bytes = 5, .pause_ns = 0});

	record_handshake(&r);
	record(&r, CLIENT, ACK, 1, 1, "one");
	record_close(&r, 3, 0);
	record(&r, SERVER, ACK, 1, 4, "late");
	record(&r, SERVER, ACK, WINDOW_BYTES + 1, 4, "late"); // within a window
	r.isn[SERVER] += 700000000;
	r.isn[CLIENT] += 1900000000;
	record(&r, CLIENT, RST, 1, 1, "");
	record(&r, CLIENT, ACK, 1, 1, "");
	CU_ASSERT_EQUAL(tl_session_count(r.set), 1);
	record(&r, SERVER, ACK, 1, 1, "two");
	record(&r, CLIENT, ACK, 1, 4, "two");
	CU_ASSERT_EQUAL(tl_session_count(r.set), 2);
	r.client_port++; // one beyond the limit goes on
	record_handshake(&r);
	record(&r, CLIENT, ACK, 1, 1, "longer");
	record(&r, CLIENT, ACK, 2 * WINDOW_BYTES, 1, "longer");
	const struct tl_session_stats *stats = finish(&r);
	CU_ASSERT_EQUAL(stats->used_pkts, stats->frames_pkts);
	CU_ASSERT_EQUAL(tl_session_count(r.set), 3);
	CU_ASSERT(is_session(&r, 0, TL_SESSION_COMPLETE, "one", ""));
	CU_ASSERT(is_session(&r, 1, TL_SESSION_NO_SYN, "", ""));
	CU_ASSERT(is_session(&r, 2, TL_SESSION_BEYOND, "", ""));
	tl_session_destroy(r.set);
}

TL_TEST("a SYN repeated after a RST begins another session, a SYN-ACK does not")
{
	struct recording r = begin();

	record(&r, CLIENT, SYN, 0, 0, "");
	record(&r, SERVER, RST | ACK, (uint32_t)-5000, 1, "");
	record_handshake(&r);
	record(&r, CLIENT, ACK, 1, 1, "abc");
	record(&r, SERVER, RST | ACK, 1, 4, "");
	record(&r, SERVER, SYN | ACK, 0, 1, "");
	finish(&r);
	CU_ASSERT_EQUAL(tl_session_count(r.set), 2);
	CU_ASSERT(is_session(&r, 0, TL_SESSION_UNOPENED, "", ""));
	CU_ASSERT(is_session(&r, 1, TL_SESSION_COMPLETE, "abc", ""));
	tl_session_destroy(r.set);
}

TL_TEST("a thousand interleaved sessions are distinguished")
{
	struct recording r = begin();

	for (uint16_t i = 0; i < 1000; i++) {
		r.client_port = (uint16_t)(40000 + i);
		r.isn[CLIENT] = i * 77777u;
		record_handshake(&r);
	}
	for (uint16_t i = 0; i < 1000; i++) {
		char text[16];
		r.client_port = (uint16_t)(40000 + i);
		r.isn[CLIENT] = i * 77777u;
		snprintf(text, sizeof(text), "%04u", i);
		record(&r, CLIENT, ACK, 1, 1, text);
		record_close(&r, 4, 0);
	}
	finish(&r);
	CU_ASSERT_EQUAL(tl_session_count(r.set), 1000);
	CU_ASSERT(is_session(&r, 0, TL_SESSION_COMPLETE, "0000", ""));
	CU_ASSERT(is_session(&r, 999, TL_SESSION_COMPLETE, "0999", ""));
	CU_ASSERT_EQUAL(tl_session_at(r.set, 999)->number, 1000);
	tl_session_destroy(r.set);
}

TL_TEST("only a ClientHello marks a session as TLS")
{
	// Type, version and length of the record; type and length of the message, of which a part may be missing.
	static const struct {
		uint8_t bytes[9];
		uint32_t len;
		bool is_tls;
	} hellos[] = {
		{{22, 3, 1, 2, 0, 1, 0, 1, 0xfc}, 9, true},	  // the whole message in the record
		{{22, 3, 4, 0x40, 0, 1, 1, 0xff, 0xff}, 9, true}, // its first part
		{{22, 3, 0, 0, 4, 1}, 6, true},
		{{22, 3, 1, 2, 0, 1, 0xff, 0xff}, 8, true},	   // the length is missing
		{{22, 3, 1, 2, 0, 2, 0, 1, 0xfc}, 9, false},	   // a ServerHello
		{{22, 3, 1, 2, 0}, 5, false},			   // nothing follows
		{{22, 3, 5, 2, 0, 1, 0, 1, 0xfc}, 9, false},	   // no version
		{{22, 3, 1, 0x40, 1, 1, 1, 0xff, 0xff}, 9, false}, // a record beyond 2^14
		{{22, 3, 1, 0, 3, 1}, 6, false},		   // without room for the length
		{{22, 3, 1, 2, 0, 1, 0, 1, 0xfb}, 9, false},	   // bytes behind the message
		{{22, 3, 1, 2, 0, 1, 2, 1, 0x44}, 9, true},	   // the longest
		{{22, 3, 1, 2, 0, 1, 2, 1, 0x45}, 9, false},
		{{22, 3, 0xff, 0xff, 0xff, 1, 'a', 'b', 'c'}, 9, false},
	};
	struct recording r = begin();

	for (size_t i = 0; i < TL_ARRAY_LEN(hellos); i++) {
		r.client_port++;
		record_handshake(&r);
		record_bytes(&r, CLIENT, ACK, 1, 1, hellos[i].bytes, hellos[i].len);
		record_close(&r, hellos[i].len, 0);
	}
	finish(&r);
	for (size_t i = 0; i < TL_ARRAY_LEN(hellos); i++)
		CU_ASSERT_EQUAL(tl_session_at(r.set, i)->is_tls, hellos[i].is_tls);
	tl_session_destroy(r.set);
}

TL_TEST("a pause starts a new step")
{
	struct recording r =
		begin_with(&(struct tl_session_cfg){.memory_bytes = 1 << 20, .pause_ns = 10 * TL_NS_PER_US});

	record_handshake(&r);
	record(&r, CLIENT, ACK, 1, 1, "ab");
	record(&r, CLIENT, ACK, 3, 1, "cd");
	r.ts_ns += 10 * TL_NS_PER_US;
	record(&r, CLIENT, ACK, 5, 1, "ef");
	record_close(&r, 6, 0);
	finish(&r);
	CU_ASSERT(is_script(&r, 0, "c4 c2 cF sF"));
	tl_session_destroy(r.set);
}

TL_TEST("a RST without a session is counted as stray, and IPv4 checksums are not verified")
{
	struct recording r = begin();

	record(&r, CLIENT, RST, 1, 0, "");
	r.bad_checksum = true; // left to the NIC
	record_handshake(&r);
	record_close(&r, 0, 0);
	const struct tl_session_stats *stats = finish(&r);
	CU_ASSERT_EQUAL(stats->stray_pkts, 1);
	CU_ASSERT_EQUAL(tl_session_count(r.set), 1);
	CU_ASSERT(is_session(&r, 0, TL_SESSION_COMPLETE, "", ""));
	tl_session_destroy(r.set);
}

// ---- memory

TL_TEST("a session beyond its limit is kept without content")
{
	struct recording r = begin_with(
		&(struct tl_session_cfg){.memory_bytes = 1 << 20, .session_bytes = 5, .pause_ns = UINT64_MAX});

	record_handshake(&r);
	record(&r, CLIENT, ACK, 1, 1, "abc");
	record(&r, SERVER, ACK, 1, 4, "xy");
	record(&r, CLIENT, ACK, 4, 3, "d");
	record_close(&r, 4, 2);
	r.client_port++;
	record_handshake(&r);
	record(&r, CLIENT, ACK, 1, 1, "abcde");
	record_close(&r, 5, 0);
	finish(&r);
	CU_ASSERT(is_session(&r, 0, TL_SESSION_BEYOND, "", ""));
	CU_ASSERT(is_session(&r, 1, TL_SESSION_COMPLETE, "abcde", ""));
	tl_session_destroy(r.set);
}

static struct recording begin_udp(void)
{
	struct recording r = begin_with(&(struct tl_session_cfg){
		.memory_bytes = 64 << 20, .session_bytes = 100, .pause_ns = UINT64_MAX, .udp = true});

	r.udp = true;
	return r;
}

TL_TEST("each datagram of a UDP flow is a step")
{
	struct recording r = begin_udp();

	for (int version = 0; version < 2; version++) {
		r.ip6 = version == 1;
		record_datagram(&r, CLIENT, "ab");
		record_datagram(&r, CLIENT, "c");
		record_datagram(&r, SERVER, "xy");
		record_datagram(&r, SERVER, "");
	}
	const struct tl_session_stats *stats = finish(&r);
	CU_ASSERT_EQUAL(stats->used_pkts, 8);
	CU_ASSERT_EQUAL(tl_session_count(r.set), 2);
	for (uint64_t i = 0; i < 2; i++) {
		CU_ASSERT(is_session(&r, i, TL_SESSION_COMPLETE, "abc", "xy"));
		CU_ASSERT(is_script(&r, i, "c2 c1 s2 s0"));
		CU_ASSERT(tl_session_at(r.set, i)->is_udp);
		CU_ASSERT_EQUAL(tl_session_at(r.set, i)->is_ip6, i == 1);
	}
	tl_session_destroy(r.set);
}

TL_TEST("the sender of the first datagram is the client of a UDP flow")
{
	struct recording r = begin_udp();

	record_datagram(&r, SERVER, "hello");			 // from the lower port and the higher address
	record_datagram(&r, CLIENT, "\026\003\003\000\001\001"); // no TLS record
	finish(&r);
	CU_ASSERT(is_session(&r, 0, TL_SESSION_COMPLETE, "hello", "\026\003\003"));
	CU_ASSERT_EQUAL(tl_session_at(r.set, 0)->end[CLIENT].port_be, tl_be16(80));
	tl_session_destroy(r.set);
}

TL_TEST("a UDP flow with a truncated datagram, or beyond its limit, has no content")
{
	struct recording r = begin_udp();

	record_datagram(&r, CLIENT, "abc");
	r.cut_bytes = 1;
	record_datagram(&r, SERVER, "xyz");
	r.cut_bytes = 0;
	record_datagram(&r, SERVER, "xyz");
	r.client_port++;
	for (int i = 0; i < 30; i++)
		record_datagram(&r, CLIENT, "wxyz");
	r.client_port++;
	r.cut_bytes = 2 + TL_UDP_LEN; // of the header, too
	record_datagram(&r, CLIENT, "v");
	const struct tl_session_stats *stats = finish(&r);
	CU_ASSERT(is_session(&r, 0, TL_SESSION_CUT, "", ""));
	CU_ASSERT(is_session(&r, 1, TL_SESSION_BEYOND, "", ""));
	CU_ASSERT_EQUAL(tl_session_count(r.set), 2);
	CU_ASSERT_EQUAL(stats->truncated_pkts, 1);
	tl_session_destroy(r.set);
}

TL_TEST("multicast datagrams are ignored")
{
	struct recording r = begin_udp();

	r.to_group = true;
	record_datagram(&r, CLIENT, "abc");
	r.ip6 = true;
	record_datagram(&r, CLIENT, "abc");
	CU_ASSERT_EQUAL(finish(&r)->ignored_pkts, 2);
	CU_ASSERT_EQUAL(tl_session_count(r.set), 0);
	tl_session_destroy(r.set);
}

TL_TEST("datagrams are ignored unless requested")
{
	struct recording r = begin();

	r.udp = true;
	record_datagram(&r, CLIENT, "abc");
	CU_ASSERT_EQUAL(finish(&r)->ignored_pkts, 1);
	CU_ASSERT_EQUAL(tl_session_count(r.set), 0);
	tl_session_destroy(r.set);
}

TL_TEST("memory is bounded, and sessions beyond the limit are counted")
{
	struct recording r = begin_with(&(struct tl_session_cfg){.memory_bytes = 256 << 10, .pause_ns = UINT64_MAX});
	char text[1200];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (uint16_t i = 0; i < 2000; i++) {
		r.client_port = (uint16_t)(10000 + i);
		record_handshake(&r);
		record(&r, CLIENT, ACK, 1, 1, text);
		record(&r, CLIENT, ACK, 10000, 1, text);
	}
	const struct tl_session_stats *stats = finish(&r);
	CU_ASSERT(stats->memory_max_bytes <= 256 << 10);
	CU_ASSERT(stats->classes[TL_SESSION_BEYOND] > 0);
	CU_ASSERT(stats->beyond_sessions > 0);
	CU_ASSERT_EQUAL(stats->beyond_sessions + tl_session_count(r.set), 2000);
	CU_ASSERT_EQUAL(stats->beyond_pkts, 5 * stats->beyond_sessions);
	tl_session_destroy(r.set);
}

TL_TEST("the number of segments buffered behind a gap is bounded")
{
	struct recording r = begin();

	record_handshake(&r);
	for (uint32_t i = 0; i <= TL_SESSION_PIECES_MAX; i++)
		record(&r, CLIENT, ACK, 10 + 2 * i, 1, "x");
	uint64_t before = tl_session_get_stats(r.set)->memory_bytes;
	record(&r, CLIENT, ACK, 1, 1, "abc");
	CU_ASSERT_EQUAL(tl_session_get_stats(r.set)->memory_bytes, before);
	finish(&r);
	CU_ASSERT(is_session(&r, 0, TL_SESSION_HOLE, "", ""));
	tl_session_destroy(r.set);
}

// ---- VLANs

// Set the tags of the next frames.
static void tag(struct recording *r, uint16_t outer, uint16_t inner)
{
	r->vlan[0] = outer;
	r->vlan[1] = inner;
}

TL_TEST("both VLAN tags distinguish sessions")
{
	static const uint16_t vlans[][2] = {{0, 0}, {7, 0}, {8, 0}, {7, 8}, {8, 7}, {7, 7}, {4094, 4094}};
	static const char *const answers[] = {"a", "bb", "ccc", "dddd", "eeeee", "ffffff", "ggggggg"};
	struct recording r = begin();

	r.tag_type = TL_ETHERTYPE_QINQ;
	for (int step = 0; step < 4; step++) {
		for (size_t i = 0; i < TL_ARRAY_LEN(vlans); i++) {
			tag(&r, vlans[i][0], vlans[i][1]);
			if (step == 0)
				record_handshake(&r);
			else if (step == 1)
				record(&r, CLIENT, ACK, 1, 1, "get");
			else if (step == 2)
				record(&r, SERVER, ACK, 1, 4, answers[i]);
			else
				record_close(&r, 3, (uint32_t)strlen(answers[i]));
		}
	}
	const struct tl_session_stats *stats = finish(&r);
	CU_ASSERT_EQUAL_FATAL(tl_session_count(r.set), TL_ARRAY_LEN(vlans));
	CU_ASSERT_EQUAL(stats->used_pkts, 8 * TL_ARRAY_LEN(vlans));
	CU_ASSERT_EQUAL(stats->tagged_pkts, 8 * (TL_ARRAY_LEN(vlans) - 1));
	for (size_t i = 0; i < TL_ARRAY_LEN(vlans); i++) {
		const struct tl_session *s = tl_session_at(r.set, i);
		CU_ASSERT(is_session(&r, i, TL_SESSION_COMPLETE, "get", answers[i]));
		CU_ASSERT_EQUAL(s->vlan[0], vlans[i][0]);
		CU_ASSERT_EQUAL(s->vlan[1], vlans[i][1]);
		CU_ASSERT_FALSE(s->is_ip6 || s->is_udp);
	}
	tl_session_destroy(r.set);
}

TL_TEST("the priority of a tag does not distinguish sessions")
{
	struct recording r = begin();

	for (unsigned i = 0; i < 2; i++) {
		uint16_t id = i == 0 ? 0 : 7;
		tag(&r, id, 0);
		record_handshake(&r);
		record(&r, CLIENT, ACK, 1, 1, "get");
		tag(&r, 0x6000 | id, 0);
		record(&r, SERVER, ACK, 1, 4, "it");
		tag(&r, 0xf000 | id, 0);
		record_close(&r, 3, 2);
	}
	const struct tl_session_stats *stats = finish(&r);
	CU_ASSERT_EQUAL_FATAL(tl_session_count(r.set), 2);
	CU_ASSERT(is_session(&r, 0, TL_SESSION_COMPLETE, "get", "it"));
	CU_ASSERT(is_session(&r, 1, TL_SESSION_COMPLETE, "get", "it"));
	CU_ASSERT_EQUAL(tl_session_at(r.set, 0)->vlan[0], 0);
	CU_ASSERT_EQUAL(tl_session_at(r.set, 1)->vlan[0], 7);
	CU_ASSERT_EQUAL(stats->tagged_pkts, 8);
	tl_session_destroy(r.set);
}

TL_TEST("with VLANs ignored, directions and copies in different VLANs are one session")
{
	struct recording r = begin_with(
		&(struct tl_session_cfg){.memory_bytes = 64 << 20, .pause_ns = UINT64_MAX, .any_vlan = true});

	record(&r, CLIENT, SYN, 0, 0, "");
	tag(&r, 9, 0);
	record(&r, SERVER, SYN | ACK, 0, 1, "");
	tag(&r, 0, 0);
	record(&r, CLIENT, ACK, 1, 1, "get");
	tag(&r, 9, 3);
	record(&r, CLIENT, ACK, 1, 1, "get"); // a copy
	record(&r, SERVER, ACK, 1, 4, "it");
	record_close(&r, 3, 2);
	const struct tl_session_stats *stats = finish(&r);
	CU_ASSERT_EQUAL_FATAL(tl_session_count(r.set), 1);
	CU_ASSERT(is_session(&r, 0, TL_SESSION_COMPLETE, "get", "it"));
	CU_ASSERT_EQUAL(tl_session_at(r.set, 0)->vlan[0], 0);
	CU_ASSERT_EQUAL(stats->tagged_pkts, 6);
	tl_session_destroy(r.set);
}

TL_TEST("VLANs distinguish UDP flows")
{
	struct recording r =
		begin_with(&(struct tl_session_cfg){.memory_bytes = 64 << 20, .pause_ns = UINT64_MAX, .udp = true});

	r.udp = r.ip6 = true;
	for (unsigned i = 0; i < 2; i++) {
		tag(&r, i == 0 ? 7 : 8, 0);
		record_datagram(&r, CLIENT, i == 0 ? "a?" : "b?");
		record_datagram(&r, SERVER, i == 0 ? "a!" : "b!");
	}
	finish(&r);
	CU_ASSERT_EQUAL_FATAL(tl_session_count(r.set), 2);
	CU_ASSERT(is_session(&r, 0, TL_SESSION_COMPLETE, "a?", "a!"));
	CU_ASSERT(is_session(&r, 1, TL_SESSION_COMPLETE, "b?", "b!"));
	CU_ASSERT_EQUAL(tl_session_at(r.set, 1)->vlan[0], 8);
	CU_ASSERT(tl_session_at(r.set, 1)->is_udp && tl_session_at(r.set, 1)->is_ip6);
	tl_session_destroy(r.set);
}

int main(void)
{
	return tl_test_run("session");
}
