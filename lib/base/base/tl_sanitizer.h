// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// sanitizer: whether this is a build with a sanitizer, by gcc's macros or by clang's features. TL_SANITIZED is 1 or 0.

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TL_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TL_SANITIZED 1
#endif
#endif
#ifndef TL_SANITIZED
#define TL_SANITIZED 0
#endif
