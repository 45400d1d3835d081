// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// rates: rates, sizes and times in the units of tc(8). A value is a number, with or without decimals, and a unit,
// without space between them; the case of a unit does not matter. A part below one bit/s, byte or ns is cut off, as tc
// does.
//
// Threads: any; every function is pure. Memory: none.

#include <stdint.h>

struct tl_err;

// Parse a rate to bit/s. Units: none or bit, kbit, mbit, gbit, tbit (powers of 1000), kibit, mibit, gibit, tibit
// (powers of 1024), and the same of bytes per second: bps, kbps ... kibps ... Return 0; or -EINVAL (no number, unknown
// unit) or -ERANGE (beyond 2^63 - 1), with the place and the units in *err.
int tl_parse_rate(const char *text, uint64_t *out_bps, struct tl_err *err);

// Parse a size to bytes. Units, all in powers of 1024: none or b, k, kb, kib and so on to t, tb, tib; kbit, mbit, gbit:
// that many bits. Return as above.
int tl_parse_size(const char *text, uint64_t *out_bytes, struct tl_err *err);

// Parse a time to ns. Units: ns, us, ms, s; a unit is required. Return as above.
int tl_parse_span(const char *text, uint64_t *out_ns, struct tl_err *err);
