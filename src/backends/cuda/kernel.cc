// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernel.h"

#include <fmt/ranges.h>

#include <bit>

#include "backends/cuda/device.h"
#include "backends/cuda/driver.h"
#include "backends/cuda/kernel_cache.h"
#include "backends/cuda/nvrtc.h"
#include "core/check.h"

namespace octet::cuda {
namespace {

struct SourceText {
  std::string_view family;
  std::string_view text;
};

// Written by cmake/OctetKernels.cmake: kPrelude, kParams, and kSources with a row for each family.
#include "cuda_kernels/sources.inc"

std::string_view text_of(std::string_view family) {
  for (const SourceText& source : kSources) {
    if (source.family == family) return source.text;
  }
  OCTET_CHECK(!"a family of kernels/families.def");
  return {};
}

}  // namespace

void KernelSource::set(std::string_view name, s64 value) {
  constants.push_back(fmt::format("{}={}", name, value));
}

void KernelSource::set(std::string_view name, const std::string& value) {
  constants.push_back(fmt::format("{}={}", name, value));
}

void KernelSource::set(std::string_view name, f32 value) {
  constants.push_back(fmt::format("{}=f32_bits(0x{:08x}u)", name, std::bit_cast<u32>(value)));
}

std::string KernelSource::key() const {
  std::string key = family;
  for (const std::string& constant : constants) key += ' ' + constant;
  return key;
}

std::string KernelSource::text() const {
  std::string text(kPrelude);
  text += kParams;
  for (const std::string& constant : constants) {
    const size_t at = constant.find('=');
    text += fmt::format("#define {} {}\n", constant.substr(0, at), constant.substr(at + 1));
  }
  text += text_of(family);
  return text;
}

std::vector<char> compile_kernel(const KernelSource& source, const std::string& arch) {
  return compile_text(source.text(), source.family + ".cu", arch);
}

Kernel::Kernel(const CudaDevice& device, std::vector<char> cubin, std::string name)
    : device_(device), name_(std::move(name)) {
  const Driver& api = driver();
  device_.make_current();
  check(api.cuModuleLoadData(&module_, cubin.data()), "to load a kernel");
  check(api.cuModuleGetFunction(&function_, module_, "octet_kernel"), "to find a kernel");
}

Kernel::~Kernel() {
  if (device_.try_make_current()) driver().cuModuleUnload(module_);
}

void Kernel::allow_shared_bytes(s64 bytes) const {
  constexpr s64 kAlwaysAllowed = 48 << 10;
  if (bytes <= kAlwaysAllowed) return;
  device_.make_current();
  check(driver().cuFuncSetAttribute(function_, kMaxDynamicSharedBytes, static_cast<int>(bytes)),
        "to give a kernel shared memory");
}

std::shared_ptr<const Kernel> load_kernel(const CudaDevice& device, const KernelSource& source) {
  const std::string key = source.key();
  if (std::shared_ptr<const Kernel> known = device.kernels().find(key)) return known;
  const KernelImage image{source.text(),
                          fmt::format("{}", fmt::join(compile_options(device.arch()), " ")),
                          nvrtc().major, nvrtc().minor};
  std::vector<char> cubin = read_kernel(image);
  if (cubin.empty()) {
    cubin = compile_kernel(source, device.arch());
    keep_kernel(image, cubin);
  }
  return device.kernels().add(
      key, std::make_shared<const Kernel>(device, std::move(cubin), source.family));
}

}  // namespace octet::cuda
