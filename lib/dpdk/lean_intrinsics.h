// SPDX-License-Identifier: BSD-3-Clause
// Keep rte_vect.h from including every intrinsic of the compiler, which takes three quarters of the time to compile a
// file that includes rte_mbuf.h. SSE4 suffices for the CPUs that DPDK is packaged for. Included before any other header
// (meson.build); a compiler whose guards have other names includes all.
#pragma once

#if defined(__x86_64__) && !defined(__AVX__)
#define _X86INTRIN_H_INCLUDED // gcc
#define __X86INTRIN_H	      // clang
#include <smmintrin.h>
#endif
