// SPDX-License-Identifier: Apache-2.0
#include "gpu.h"

#include <dlfcn.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace octet::emulator {
namespace {

void* open_library(const char* variable) {
  const char* path = std::getenv(variable);
  void* library = path != nullptr ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (library == nullptr) ADD_FAILURE() << variable << " names no library";
  return library;
}

Gpu open_gpu() {
  Gpu opened;
  void* driver = open_library("OCTET_CUDA_DRIVER");
#define DRIVER(name, symbol, parameters) \
  opened.name = reinterpret_cast<decltype(opened.name)>(dlsym(driver, #symbol));
#include "backends/cuda/driver_functions.def"
#undef DRIVER
  void* nvrtc = open_library("OCTET_NVRTC");
#define NVRTC(name, parameters) \
  opened.name = reinterpret_cast<decltype(opened.name)>(dlsym(nvrtc, #name));
#include "backends/cuda/nvrtc_functions.def"
#undef NVRTC
  CUcontext context = nullptr;
  EXPECT_EQ(opened.cuInit(0), 0);
  EXPECT_EQ(opened.cuDevicePrimaryCtxRetain(&context, 0), 0);
  EXPECT_EQ(opened.cuCtxSetCurrent(context), 0);
  return opened;
}

}  // namespace

const Gpu& gpu() {
  static const Gpu opened = open_gpu();
  return opened;
}

Built build(const std::string& source, const std::vector<std::string>& options) {
  return build_for("sm_80", source, options);
}

Built build_for(const std::string& arch, const std::string& source,
                const std::vector<std::string>& options) {
  const std::string target = "-arch=" + arch;
  const bool is_ptx = arch.starts_with("compute_");
  nvrtcProgram program = nullptr;
  EXPECT_EQ(gpu().nvrtcCreateProgram(&program, source.c_str(), "kernel", 0, nullptr, nullptr), 0);
  std::vector<const char*> words = {target.c_str(), "-fmad=false"};
  for (const std::string& option : options) words.push_back(option.c_str());
  Built built;
  built.result = gpu().nvrtcCompileProgram(program, static_cast<int>(words.size()), words.data());
  size_t bytes = 0;
  EXPECT_EQ(gpu().nvrtcGetProgramLogSize(program, &bytes), 0);
  built.log.resize(bytes);
  EXPECT_EQ(gpu().nvrtcGetProgramLog(program, built.log.data()), 0);
  if (built.result == 0) {
    const auto size = is_ptx ? gpu().nvrtcGetPTXSize : gpu().nvrtcGetCUBINSize;
    const auto get = is_ptx ? gpu().nvrtcGetPTX : gpu().nvrtcGetCUBIN;
    EXPECT_EQ(size(program, &bytes), 0);
    built.image.resize(bytes);
    EXPECT_EQ(get(program, built.image.data()), 0);
  }
  EXPECT_EQ(gpu().nvrtcDestroyProgram(&program), 0);
  return built;
}

std::string kernel_file(const std::string& name) {
  std::ifstream in(std::string(OCTET_SOURCE_DIR) + "/src/backends/cuda/" + name);
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

std::string kernel_source(const std::string& text) {
  return kernel_file("device/prelude.cuh") + text;
}

std::string simple(const std::string& body, const std::string& before) {
  return kernel_source(
      "struct Pointers { const void* in; void* out; };\n" + before +
      "extern \"C\" __global__ void __launch_bounds__(256, 1) octet_kernel(const __grid_constant__ "
      "Pointers p) {\n"
      "  const s32* in = (const s32*)p.in; s32* out = (s32*)p.out;\n" +
      body + "}\n");
}

Kernel::Kernel(const std::string& source, const std::vector<std::string>& options) {
  const Built built = build(source, options);
  EXPECT_EQ(built.result, 0) << built.log;
  EXPECT_EQ(gpu().cuModuleLoadData(&module_, built.image.data()), 0);
  EXPECT_EQ(gpu().cuModuleGetFunction(&function, module_, "octet_kernel"), 0);
}

Kernel::~Kernel() { gpu().cuModuleUnload(module_); }

CUlaunchConfig shape(unsigned blocks, unsigned threads, unsigned shared, CUstream stream) {
  return {blocks, 1, 1, threads, 1, 1, shared, stream, nullptr, 0};
}

}  // namespace octet::emulator
