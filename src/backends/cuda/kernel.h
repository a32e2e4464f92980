// SPDX-License-Identifier: Apache-2.0
// Kernels: compiled for the layer at hand from the sources in families/, kept on disk (kernel_cache.h), loaded once for a device.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "backends/cuda/contract.h"
#include "backends/cuda/driver_types.h"
#include "core/check.h"
#include "core/types.h"

namespace octet::cuda {

class CudaDevice;
struct KernelImage;  // kernel_cache.h

// A function that a node writes into its kernel: a member of `struct Made`. It may name what device/snippets.cuh has.
struct KernelFunction {
  std::string head;   // "f32 element(f32 a)"
  std::string value;  // what it returns: "math_exp(a)"
};

// A kernel of a family, a folder of families/: source_of() below makes it of the family's Spec.
struct KernelSource {
  std::string family;
  std::vector<std::string> constants;  // "window.cin=64"
  std::vector<KernelFunction> functions = {};

  // What a kernel is known by: family, constants and functions.
  std::string key() const;
  // The whole text that is compiled.
  std::string text() const;
};

// A value as constants of a kernel are written.
std::string constant_text(F32Bits value);
template <class T>
requires std::is_arithmetic_v<T> || std::is_enum_v<T> std::string constant_text(T value) {
  return fmt::format("{}", static_cast<s64>(value));
}

template <class T, u32 kMost>
void append_fields(const List<T, kMost>& list, const std::string& prefix,
                   std::vector<std::string>& to);

template <class Spec>
void append_fields(const Spec& spec, const std::string& prefix, std::vector<std::string>& to) {
  for_each_field(spec, [&]<class Field>(const char* name, const Field& field) {
    if constexpr (requires { constant_text(field); }) {
      to.push_back(fmt::format("{}{}={}", prefix, name, constant_text(field)));
    } else {
      append_fields(field, prefix + name + '.', to);
    }
  });
}

template <class T, u32 kMost>
void append_fields(const List<T, kMost>& list, const std::string& prefix,
                   std::vector<std::string>& to) {
  to.push_back(fmt::format("{}count={}", prefix, list.count));
  for (s32 i = 0; i < list.count; ++i)
    append_fields(list.at[i], fmt::format("{}at[{}].", prefix, i), to);
}

// Who offers a kernel has checked that there are so many.
template <class T, u32 kMost>
void append(List<T, kMost>& list, const T& value) {
  OCTET_CHECK(list.count < static_cast<s32>(kMost));
  list.at[list.count++] = value;
}

// Throws Error(internal): a lowering has made a spec that its own family refuses.
[[noreturn]] void fail_spec(const std::string& family, const char* reason);
// The kernel of families/FAMILY/ for its `spec`, which holds the family's rules.
template <class Spec>
KernelSource source_of(std::string family, const Spec& spec) {
  if constexpr (requires { refusal(spec); }) {
    const char* reason = refusal(spec);
    if (reason != nullptr) fail_spec(family, reason);
  }
  KernelSource source{std::move(family), {}};
  append_fields(spec, "", source.constants);
  return source;
}
// For a field of s32; a size that does not fit is our bug, since who offers a kernel has checked it.
s32 field_of(s64 value);

// A function on a device, as long as it is held.
class Kernel {
 public:
  Kernel(const CudaDevice& device, std::vector<char> cubin, std::string name);
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  const std::string& name() const { return name_; }
  CUfunction function() const { return function_; }
  // Must be called before a launch that asks for more than 48 KB of shared memory.
  void allow_shared_bytes(s64 bytes) const;

 private:
  Kernel(const CudaDevice& device, std::string name) : device_(device), name_(std::move(name)) {}

  const CudaDevice& device_;
  const std::string name_;
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
};

// Of the device: one that is in use, or loaded from the cache on disk, or compiled. Any number of threads may ask. Throws Error with
// the compiler's words. Null of a device that takes sources (CudaDevice::take).
std::shared_ptr<const Kernel> load_kernel(const CudaDevice& device, const KernelSource& source);

// Machine code for a target such as "sm_90a", PTX for one such as "compute_90". Throws Error(internal) with the compiler's words: the sources are ours.
std::vector<char> compile_kernel(const KernelSource& source, const std::string& arch);
// What it is made from.
KernelImage image_of(const KernelSource& source, const std::string& arch);
// The same, from the cache where it has it.
std::vector<char> machine_code(const KernelSource& source, const std::string& arch);

}  // namespace octet::cuda
