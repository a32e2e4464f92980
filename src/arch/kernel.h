// SPDX-License-Identifier: Apache-2.0
// Declares a kernel of one architecture: OCTET_X86_64(void, add_u8_avx2, const BinaryRun& run); or OCTET_AARCH64(...). Tables of kernels,
// lowerings and tests read alike on every machine: elsewhere the kernel is null, and no instruction set there has what its row needs. Included
// by instruction-set files. OCTET_GENERIC builds without any.
#pragma once

#define OCTET_ABSENT_KERNEL(result, name, ...) constexpr result (*name)(__VA_ARGS__) = nullptr

#if defined(__x86_64__) && !defined(OCTET_GENERIC)
#define OCTET_X86_64(result, name, ...) result name(__VA_ARGS__)
#else
#define OCTET_X86_64(result, name, ...) OCTET_ABSENT_KERNEL(result, name, __VA_ARGS__)
#endif

#if defined(__aarch64__) && !defined(OCTET_GENERIC)
#define OCTET_AARCH64(result, name, ...) result name(__VA_ARGS__)
#else
#define OCTET_AARCH64(result, name, ...) OCTET_ABSENT_KERNEL(result, name, __VA_ARGS__)
#endif
