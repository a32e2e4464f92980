// SPDX-License-Identifier: Apache-2.0
// Modules, their kernels, and what a launch must keep to.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "device.h"
#include "image.h"
#include "launch.h"
#include "ptx.h"

struct CUmod_st {
  CUcontext context;
  void* library;
  EmulatedModule description;
};

struct CUfunc_st {
  CUmodule module;
  std::string name;
  const EmulatedKernel* kernel;
  size_t most_dynamic;
  unsigned launches = 0;
};

using namespace octet::emulator;

namespace {

Handles<CUmod_st>& modules() {
  static auto* all = new Handles<CUmod_st>;
  return *all;
}

Handles<CUfunc_st>& functions() {
  static auto* all = new Handles<CUfunc_st>;
  return *all;
}

EmulatedTensorMap tensor_map(void* base, std::uint32_t dimensions, const std::uint64_t* sizes,
                             const std::uint64_t* strides) {
  EmulatedTensorMap map = {};
  map.base = static_cast<unsigned char*>(base);
  std::fill_n(map.sizes, 4, 1);
  std::fill_n(map.box, 4, 1);
  for (std::uint32_t i = 0; i < dimensions; ++i) map.sizes[i] = static_cast<unsigned>(sizes[i]);
  for (std::uint32_t i = 0; i + 1 < dimensions; ++i)
    map.strides[i] = static_cast<unsigned>(strides[i]);
  return map;
}

// What the driver asks of a map of bytes, whose rows are not interleaved.
bool is_map(const EmulatedTensorMap& map, std::uint32_t dimensions, const std::uint64_t* sizes,
            const std::uint64_t* strides) {
  constexpr std::uint64_t kMostSize = std::uint64_t{1} << 32, kMostStride = std::uint64_t{1} << 40;
  constexpr unsigned kAlignment = 16, kMostBox = 256;
  bool fits =
      reinterpret_cast<std::uintptr_t>(map.base) % kAlignment == 0 && map.box[0] % kAlignment == 0;
  for (std::uint32_t i = 0; i < dimensions; ++i)
    fits =
        fits && sizes[i] >= 1 && sizes[i] <= kMostSize && map.box[i] >= 1 && map.box[i] <= kMostBox;
  for (std::uint32_t i = 0; i + 1 < dimensions; ++i)
    fits = fits && strides[i] % kAlignment == 0 && strides[i] < kMostStride;
  return fits;
}

CUresult give(const EmulatedTensorMap& map, CUtensorMap* result) {
  static_assert(sizeof map <= sizeof *result);
  std::memset(result, 0, sizeof *result);
  std::memcpy(result, &map, sizeof map);
  return octet::cuda::kSuccess;
}

// The bytes at `image`, as far as they can be read: the system copies them, and says where it cannot.
std::string readable_bytes(const void* image, size_t bytes) {
  const int file = memfd_create("image", 0);
  std::string copy;
  if (write(file, image, bytes) == static_cast<ssize_t>(bytes)) {
    copy.resize(bytes);
    if (pread(file, copy.data(), bytes, 0) != static_cast<ssize_t>(bytes)) copy.clear();
  }
  close(file);
  return copy;
}

// Machine code runs on chips of its generation that are not older; "a" says: on its own alone.
bool runs_here(ImageTarget target) {
  const int chip = capability_number();
  if (target.number == 0 || target.number == chip) return true;
  return !target.alone && target.number / 10 == chip / 10 && target.number < chip;
}

// PTX runs on all later chips, if the driver knows its language.
CUresult read_ptx(const void* at, const PtxHead& head, std::string& image) {
  if (head.version > ptx_version(driver_version())) return octet::cuda::kUnsupportedPtx;
  if (head.target > capability_number()) return kNoBinary;
  const std::string text = readable_bytes(at, kMostPtxHead + 2 * head.bytes);
  image = text.empty() ? text : image_of_ptx(text.substr(kMostPtxHead));
  return is_image(image) ? 0 : kInvalidPtx;
}

CUresult read_image(const void* at, std::string& image) {
  const std::string header = readable_bytes(at, sizeof(Elf64_Ehdr));
  static_assert(sizeof(Elf64_Ehdr) == kMostPtxHead);
  if (PtxHead head; read_ptx_head(header, head)) return read_ptx(at, head, image);
  const size_t bytes = header.empty() ? 0 : image_size(header.data());
  if (bytes == 0) return kInvalidImage;
  image = readable_bytes(at, bytes);
  if (image.compare(kMarkAt, 3, "EMU") != 0) return kNoBinary;
  if (!is_image(image)) return kInvalidImage;
  return runs_here(image_target(image.data())) ? 0 : kNoBinary;
}

void* open_image(const std::string& image) {
  std::error_code error;
  std::string path = std::filesystem::temp_directory_path(error) / "octet_emulated_XXXXXX";
  const int file = mkstemp(path.data());
  if (file < 0) return nullptr;
  const std::string bytes = unsealed(image);  // the loader does not mind for which chip it is
  const bool written =
      write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  close(file);
  void* library = written ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  unlink(path.c_str());
  return library;
}

size_t static_bytes(const CUmod_st& module) {
  return static_cast<size_t>(module.description.static_end - module.description.static_begin);
}

}  // namespace

CUresult cuModuleLoadData(CUmodule* module, const void* at) {
  EMULATED_ENTER("cuModuleLoadData", context);
  std::string image;
  if (const CUresult error = read_image(at, image)) return error;
  void* library = open_image(image);
  if (library == nullptr) return kInvalidImage;
  using Describe = EmulatedModule (*)();
  const auto describe = reinterpret_cast<Describe>(dlsym(library, "emulated_module"));
  if (describe == nullptr) return kInvalidImage;
  *module = modules().make(CUmod_st{current(), library, describe()});
  return 0;
}

CUresult cuModuleUnload(CUmodule module) {
  EMULATED_ENTER("cuModuleUnload", context);
  if (!modules().has(module)) return kInvalidHandle;
  finish_all(module->context);
  const std::set<CUfunc_st*> all = functions().all();
  for (CUfunction function : all)
    if (function->module == module) functions().destroy(function);
  dlclose(module->library);
  modules().destroy(module);
  return current()->sticky;
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  EMULATED_ENTER("cuModuleGetFunction", context);
  if (!modules().has(module)) return kInvalidHandle;
  for (CUfunction known : functions().all()) {
    if (known->module != module || known->name != name) continue;
    *function = known;
    return 0;
  }
  const std::string symbol = std::string("emulated_kernel_") + name;
  const void* kernel = dlsym(module->library, symbol.c_str());
  if (kernel == nullptr) return kNotFound;
  const size_t fixed = static_bytes(*module);
  *function = functions().make(CUfunc_st{module, name, static_cast<const EmulatedKernel*>(kernel),
                                         fixed < kSharedBytes ? kSharedBytes - fixed : 0});
  return 0;
}

CUresult cuFuncGetAttribute(int* value, int attribute, CUfunction function) {
  EMULATED_ENTER("cuFuncGetAttribute", context);
  if (!functions().has(function)) return kInvalidHandle;
  switch (attribute) {
    case 0:
      *value = function->kernel->max_threads;
      return 0;
    case octet::cuda::kStaticSharedBytes:
      *value = static_cast<int>(static_bytes(*function->module));
      return 0;
    case octet::cuda::kLocalBytes:
      *value = 0;
      return 0;
    case octet::cuda::kRegisters:
      *value = 32;
      return 0;
    case octet::cuda::kMaxDynamicSharedBytes:
      *value = static_cast<int>(function->most_dynamic);
      return 0;
    default:
      return kInvalidValue;
  }
}

CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value) {
  EMULATED_ENTER("cuFuncSetAttribute", context);
  if (!functions().has(function)) return kInvalidHandle;
  if (attribute == 9) return 0;  // how shared memory and cache share: a hint
  if (attribute != octet::cuda::kMaxDynamicSharedBytes || value < 0) return kInvalidValue;
  const auto bytes = static_cast<size_t>(value);
  if (bytes + static_bytes(*function->module) > shared_bytes_opt_in()) return kInvalidValue;
  function->most_dynamic = bytes;
  return 0;
}

namespace {

bool between(unsigned value, unsigned most) { return value >= 1 && value <= most; }

CUresult check_sizes(const CUlaunchConfig& config, const CUfunc_st& function) {
  const bool grid = between(config.gridDimX, 0x7fffffff) && between(config.gridDimY, 65535) &&
                    between(config.gridDimZ, 65535);
  const bool block = between(config.blockDimX, 1024) && between(config.blockDimY, 1024) &&
                     between(config.blockDimZ, 64);
  if (!grid || !block) return kInvalidValue;
  const unsigned threads = config.blockDimX * config.blockDimY * config.blockDimZ;
  if (threads > 1024 || config.sharedMemBytes > function.most_dynamic) return kInvalidValue;
  return threads > static_cast<unsigned>(function.kernel->max_threads) ? kOutOfResources : 0;
}

// Clusters came with compute capability 9.0; their sizes divide the grid's.
CUresult check_attributes(const CUlaunchConfig& config) {
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config.attrs[i];
    if (attribute.id != octet::cuda::kLaunchCluster) continue;
    const unsigned* size = attribute.value.cluster;
    int major = 0;
    cuDeviceGetAttribute(&major, octet::cuda::kComputeMajor, current()->ordinal);
    const bool alone = size[0] == 1 && size[1] == 1 && size[2] == 1;
    if (!alone) return major < 9 ? kInvalidCluster : kNotSupported;
  }
  return 0;
}

bool is_programmatic(const CUlaunchConfig& config) {
  for (unsigned i = 0; i < config.numAttrs; ++i)
    if (config.attrs[i].id == octet::cuda::kLaunchProgrammaticDependent &&
        config.attrs[i].value.flag != 0)
      return true;
  return false;
}

}  // namespace

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                          void** extra) {
  constexpr unsigned kWatched = 8;  // of each kernel: to close memory takes long
  EMULATED_ENTER("cuLaunchKernelEx", context);
  if (config == nullptr || extra != nullptr) return kInvalidValue;
  if (!functions().has(function) || function->module->context != current()) return kInvalidHandle;
  if (const CUresult error = check_stream(config->hStream)) return error;
  if (const CUresult error = check_sizes(*config, *function)) return error;
  if (const CUresult error = check_attributes(*config)) return error;
  if (function->kernel->parameters != 0 && parameters == nullptr) return kInvalidValue;
  auto launch = std::make_shared<Launch>();
  *launch = {function->name,
             function->module->description,
             function->kernel,
             {config->gridDimX, config->gridDimY, config->gridDimZ},
             {config->blockDimX, config->blockDimY, config->blockDimZ},
             config->sharedMemBytes,
             {},
             is_programmatic(*config),
             function->launches++ < kWatched};
  for (int i = 0; i < function->kernel->parameters; ++i) {
    const char* value = static_cast<const char*>(parameters[i]);
    launch->values.emplace_back(value, value + function->kernel->sizes[i]);
  }
  return submit(config->hStream, [launch] { return run_grid(*launch); });
}

CUresult cuTensorMapEncodeTiled(CUtensorMap* result, int, std::uint32_t dimensions, void* base,
                                const std::uint64_t* sizes, const std::uint64_t* strides,
                                const std::uint32_t* box, const std::uint32_t*, int, int, int,
                                int) {
  EMULATED_ENTER("cuTensorMapEncodeTiled", driver);
  EmulatedTensorMap map = tensor_map(base, dimensions, sizes, strides);
  std::copy_n(box, dimensions, map.box);
  if (!is_map(map, dimensions, sizes, strides)) return kInvalidValue;
  return give(map, result);
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap* result, int, std::uint32_t dimensions, void* base,
                                 const std::uint64_t* sizes, const std::uint64_t* strides,
                                 const int* lower, const int* upper, std::uint32_t channels,
                                 std::uint32_t pixels, const std::uint32_t* steps, int, int, int,
                                 int) {
  EMULATED_ENTER("cuTensorMapEncodeIm2col", driver);
  EmulatedTensorMap map = tensor_map(base, dimensions, sizes, strides);
  map.box[0] = channels, map.pixels = pixels;
  std::copy_n(lower, 2, map.lower);
  std::copy_n(upper, 2, map.upper);
  std::copy_n(steps + 1, 2, map.steps);
  if (!is_map(map, dimensions, sizes, strides)) return kInvalidValue;
  return give(map, result);
}
