// SPDX-License-Identifier: Apache-2.0
// The border between C and C++: no exception passes it, no pointer is believed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "capi/handles.h"
#include "octet/error.h"

namespace octet::capi {

// The exception that is being handled, as a status and, where it is wanted, an object.
octet_status report(octet_error** error) noexcept;

template <class Body>
octet_status guarded(octet_error** error, const Body& body) noexcept {
  if (error != nullptr) *error = nullptr;
  try {
    body();
    return OCTET_OK;
  } catch (...) {
    return report(error);
  }
}

[[noreturn]] void refuse(std::string message);  // Error(invalid_argument)
// Throws for NULL: "engine is NULL".
void need(const void* pointer, const char* name);

// For functions that make an object: what `body` returns is given away.
template <class Handle, class Body>
octet_status made(Handle** out, octet_error** error, const Body& body) noexcept {
  if (out != nullptr) *out = nullptr;
  return guarded(error, [&] {
    need(out, "out");
    *out = body().release();
  });
}

std::string text_of(const char* text);  // "" for NULL
// A number of bytes as the C++ API takes it.
int64_t checked_bytes(uint64_t bytes);

// A struct that begins with its size: what it is called, how large it was in ABI 1, and is in this library.
struct Layout {
  const char* type;
  uint64_t first;
  uint64_t known;
};
// More than this is no size of a struct, but memory that nobody has set.
inline constexpr uint64_t kLargestStruct = 1024;

// A struct that grows keeps the number that it had here.
inline constexpr Layout kTensorInfo{"octet_tensor_info", 88, sizeof(octet_tensor_info)};
inline constexpr Layout kTensor{"octet_tensor", 112, sizeof(octet_tensor)};
inline constexpr Layout kBuildOptions{"octet_build_options", 184, sizeof(octet_build_options)};
inline constexpr Layout kInputProfile{"octet_input_profile", 80, sizeof(octet_input_profile)};
inline constexpr Layout kContextOptions{"octet_context_options", 40, sizeof(octet_context_options)};
inline constexpr Layout kRun{"octet_run", 56, sizeof(octet_run)};
inline constexpr Layout kCopy{"octet_copy", 48, sizeof(octet_copy)};

static_assert(kTensorInfo.first <= kTensorInfo.known && kTensor.first <= kTensor.known &&
              kBuildOptions.first <= kBuildOptions.known &&
              kInputProfile.first <= kInputProfile.known &&
              kContextOptions.first <= kContextOptions.known && kRun.first <= kRun.known &&
              kCopy.first <= kCopy.known);

// Throws where the struct's size cannot be right, or where bytes behind those that this library knows are not 0. What the caller does not
// know is left as `to` has it.
void read_sized(const void* from, void* to, const Layout& layout);
// Writes as much as the caller has room for, its size apart.
void write_sized(void* to, const void* from, const Layout& layout);

// Throws where an element says that it is of another size than the first one, by which it was found.
void check_step(const void* element, uint64_t step, const Layout& layout);

// The struct as this library knows it; all defaults for NULL.
template <class Struct>
Struct struct_of(const Struct* given, const Layout& layout) {
  Struct own{};
  if (given != nullptr) read_sized(given, &own, layout);
  return own;
}

// Element `index` of an array, whose first element says how far apart they are.
template <class Struct>
Struct element_of(const Struct* array, uint64_t index, const Layout& layout) {
  Struct own = struct_of(array, layout);
  if (index == 0) return own;
  const char* at = reinterpret_cast<const char*>(array) + own.size * index;
  check_step(at, own.size, layout);
  own = {};
  read_sized(at, &own, layout);
  return own;
}

}  // namespace octet::capi
