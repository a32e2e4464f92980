// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernel.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "backends/cuda/device.h"
#include "backends/cuda/driver.h"
#include "backends/cuda/kernel_cache.h"
#include "backends/cuda/library.h"
#include "backends/cuda/nvrtc.h"
#include "core/check.h"

namespace octet::cuda {
namespace {

struct SourceText {
  std::string_view name;
  std::string_view text;
};

using namespace std::string_view_literals;
// Written by cmake/OctetKernels.cmake: kFiles, what kernels may include by its path.
#include "cuda_kernels/sources.inc"

const SourceText* find_text(std::string_view name) {
  const auto found = std::ranges::find(kFiles, name, &SourceText::name);
  return found != std::end(kFiles) ? &*found : nullptr;
}

std::string file_of(const std::string& family, const char* file) {
  return fmt::format("backends/cuda/families/{}/{}", family, file);
}

// The file that a line includes; null for what is for the host's compiler alone (contract.h).
const SourceText* included_by(std::string_view line) {
  constexpr std::string_view kInclude = "#include \"";
  if (!line.starts_with(kInclude)) return nullptr;
  line.remove_prefix(kInclude.size());
  return find_text(line.substr(0, line.find('"')));
}

// A text with every file of ours that it includes in its place, the first time: one text is what goes to another process and what the cache knows a kernel by.
class Includes {
 public:
  std::string expanded(std::string_view text, std::string_view name) {
    std::string result = fmt::format("#line 1 \"{}\"\n", name);
    for (s64 number = 1; !text.empty(); ++number) {
      const std::string_view line = text.substr(0, text.find('\n') + 1);
      text.remove_prefix(line.size());
      if (const SourceText* file = included_by(line)) {
        if (seen_.insert(file->name).second) result += expanded(file->text, file->name);
        result += fmt::format("#line {} \"{}\"\n", number + 1, name);
      } else {
        result += line.starts_with("#pragma once") ? "\n" : line;
      }
    }
    return result;
  }

 private:
  std::set<std::string_view> seen_;
};

// `struct Made`: the spec as the kernel's constant, and what the node has written.
std::string made_text(const KernelSource& source) {
  std::string text = fmt::format(
      "namespace octet::cuda::{} {{\nstruct Made {{\n  static constexpr Spec spec() {{\n    Spec "
      "s{{}};\n",
      source.family);
  for (const std::string& constant : source.constants) {
    const std::string field = constant.substr(0, constant.find('='));
    const std::string value = constant.substr(field.size() + 1);
    text += fmt::format("    s.{} = decltype(s.{}){{{}}};\n", field, field, value);
  }
  text += "    return s;\n  }\n";
  for (const KernelFunction& function : source.functions) {
    text += fmt::format("  static __device__ __forceinline__ {} {{ return {}; }}\n", function.head,
                        function.value);
  }
  return text + "};\n}\n";
}

// Machine code, or PTX, that the driver cannot read: what made it is newer than the driver, or knows not the chip.
[[noreturn]] void refuse_image(const CudaDevice& device, const std::string& kernel,
                               CUresult result) {
  const Nvrtc& compiler = nvrtc();
  const int version = driver().version;
  fail(kMissing,
       "device {} ({}) does not take kernel {} ({}); its compiler '{}' is of CUDA {}.{} and the "
       "driver for CUDA {}.{}: install a newer driver, or a compiler of the driver's version",
       device.name(), device.chip().name, kernel, error_text(result), compiler.path, compiler.major,
       compiler.minor, version / 1000, version % 1000 / 10);
}

}  // namespace

std::string KernelSource::key() const {
  std::string key = family;
  for (const std::string& constant : constants) key += ' ' + constant;
  for (const KernelFunction& function : functions)
    key += fmt::format("\n{} = {}", function.head, function.value);
  return key;
}

std::string KernelSource::text() const {
  const std::string kernel = file_of(family, "kernel.cu");
  OCTET_CHECK(find_text(kernel) != nullptr);
  std::string text = "#include \"backends/cuda/device/prelude.cuh\"\n";
  text += fmt::format("#include \"{}\"\n", file_of(family, "spec.h"));
  if (!functions.empty()) text += "#include \"backends/cuda/device/snippets.cuh\"\n";
  text += made_text(*this);
  text += fmt::format("#include \"{}\"\n", kernel);
  return Includes().expanded(text, family);
}

std::string constant_text(F32Bits value) { return fmt::format("0x{:08x}u", value.bits); }

void fail_spec(const std::string& family, const char* reason) {
  fail(Error::Code::internal, "a kernel of {} was asked for that it is not: {}", family, reason);
}

s32 field_of(s64 value) {
  OCTET_CHECK(value >= std::numeric_limits<s32>::min() && value <= std::numeric_limits<s32>::max());
  return static_cast<s32>(value);
}

std::vector<char> compile_kernel(const KernelSource& source, const std::string& arch) {
  return compile_text(source.text(), source.family + ".cu", arch);
}

KernelImage image_of(const KernelSource& source, const std::string& arch) {
  return {source.text(), fmt::format("{}", fmt::join(compile_options(arch), " ")), nvrtc().major,
          nvrtc().minor};
}

std::vector<char> machine_code(const KernelSource& source, const std::string& arch) {
  const KernelImage image = image_of(source, arch);
  std::vector<char> cubin = read_kernel(image);
  if (cubin.empty()) {
    cubin = compile_kernel(source, arch);
    keep_kernel(image, cubin);
  }
  return cubin;
}

// The destructor cleans up behind a failure, too.
Kernel::Kernel(const CudaDevice& device, std::vector<char> cubin, std::string name)
    : Kernel(device, std::move(name)) {
  const Driver& api = driver();
  device_.make_current();
  const CUresult loaded = api.cuModuleLoadData(&module_, cubin.data());
  if (loaded == kInvalidImage || loaded == kNoBinary || loaded == kUnsupportedPtx)
    refuse_image(device_, name_, loaded);
  device_.check_call(loaded, "to load kernel " + name_);
  device_.check_call(api.cuModuleGetFunction(&function_, module_, "octet_kernel"),
                     "to find kernel " + name_);
}

Kernel::~Kernel() {
  if (module_ != nullptr && device_.try_make_current()) driver().cuModuleUnload(module_);
}

void Kernel::allow_shared_bytes(s64 bytes) const {
  constexpr s64 kAlwaysAllowed = 48 << 10;
  if (bytes <= kAlwaysAllowed) return;
  device_.make_current();
  device_.check_call(
      driver().cuFuncSetAttribute(function_, kMaxDynamicSharedBytes, static_cast<int>(bytes)),
      "to give shared memory to kernel " + name_);
}

std::shared_ptr<const Kernel> load_kernel(const CudaDevice& device, const KernelSource& source) {
  if (device.take() != nullptr) {
    device.take()(source);
    return nullptr;
  }
  const std::string key = source.key();
  if (std::shared_ptr<const Kernel> known = device.kernels().find(key)) return known;
  return device.kernels().add(key, std::make_shared<const Kernel>(
                                       device, machine_code(source, device.arch()), source.family));
}

}  // namespace octet::cuda
