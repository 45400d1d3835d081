// SPDX-License-Identifier: BSD-3-Clause
// The verdict on a session.

#include "session_priv.h"

#define TLS_HANDSHAKE 22 // RFC 8446, section 5.1
#define TLS_MAJOR 3	 // of legacy_record_version, from SSL 3.0 on
#define TLS_MINOR_MAX 4	 // TLS 1.3
#define TLS_RECORD_MAX (1u << 14)
#define TLS_CLIENT_HELLO 1
#define TLS_HELLO_AT 5	     // after the record header
#define TLS_HELLO_HEAD 4     // type, and length in 3 bytes
#define TLS_HELLO_MAX 131396 // all fields at their largest (RFC 8446, section 4.1.2)

bool session_has_ended(const struct session *s)
{
	return s->reset || (s->stream[0].fin_done && s->stream[1].fin_done);
}

bool session_is_over(const struct session *s)
{
	return s->empty || session_has_ended(s);
}

// True if bytes are missing: others wait for them, or they were sent and never seen.
static bool has_hole(const struct session_stream *stream)
{
	return stream->held != NULL || (stream->fin_at != UINT64_MAX && !stream->fin_done) ||
	       stream->sent > stream->expected + (stream->fin_done ? 1 : 0);
}

static enum tl_session_class class_of(const struct session *s)
{
	const struct session_stream *client = &s->stream[TL_SESSION_CLIENT], *server = &s->stream[TL_SESSION_SERVER];

	if (s->pub.is_udp)
		return TL_SESSION_COMPLETE;
	if (client->known && !server->known && !s->opened)
		return TL_SESSION_UNOPENED;
	if (!client->known || !server->known)
		return TL_SESSION_NO_SYN;
	if (has_hole(client) || has_hole(server))
		return TL_SESSION_HOLE;
	return session_is_over(s) ? TL_SESSION_COMPLETE : TL_SESSION_NO_END;
}

// True if n bytes begin with a record whose first message is a ClientHello: no other follows it in the record.
static bool is_client_hello(const uint8_t *data, uint64_t n)
{
	if (n <= TLS_HELLO_AT || data[0] != TLS_HANDSHAKE || data[1] != TLS_MAJOR || data[2] > TLS_MINOR_MAX ||
		data[TLS_HELLO_AT] != TLS_CLIENT_HELLO)
		return false;
	uint32_t record = tl_load_be16(data + 3);
	if (record < TLS_HELLO_HEAD || record > TLS_RECORD_MAX)
		return false;
	if (n < TLS_HELLO_AT + TLS_HELLO_HEAD)
		return true;
	uint32_t hello = (uint32_t)data[6] << 16 | tl_load_be16(data + 7);
	return hello + TLS_HELLO_HEAD >= record && hello <= TLS_HELLO_MAX;
}

bool session_is_tls_known(const struct session *s)
{
	const struct session_stream *client = &s->stream[TL_SESSION_CLIENT], *server = &s->stream[TL_SESSION_SERVER];

	return server->expected != 0 || client->expected >= TLS_HELLO_AT + TLS_HELLO_HEAD ||
	       (client->expected != 0 && client->data[0] != TLS_HANDSHAKE);
}

void session_publish(struct session *s)
{
	for (int side = 0; side < 2; side++) {
		s->pub.data[side] = s->stream[side].data;
		s->pub.bytes[side] = s->stream[side].data != NULL ? s->stream[side].expected : 0;
	}
	s->pub.steps = s->steps;
	s->pub.is_tls =
		!s->pub.is_udp && is_client_hello(s->pub.data[TL_SESSION_CLIENT], s->pub.bytes[TL_SESSION_CLIENT]);
}

void session_classify(struct tl_session_set *set, struct session *s)
{
	enum tl_session_class class = s->empty ? s->pub.class : class_of(s);

	if (class != TL_SESSION_COMPLETE)
		session_empty(set, s, class);
	s->pub.class = class;
	session_publish(s);
	set->stats.classes[class]++;
}
