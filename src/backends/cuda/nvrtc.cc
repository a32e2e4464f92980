// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/nvrtc.h"

#include <algorithm>
#include <filesystem>
#include <mutex>

#include "backends/cuda/arch/architecture.h"
#include "backends/cuda/library.h"
#include "core/own_file.h"

namespace octet::cuda {
namespace {

namespace fs = std::filesystem;

constexpr nvrtcResult kCompilerOutOfMemory = 1, kInvalidOption = 5, kCompilation = 6;

// Newest version first, in one folder.
std::vector<std::string> libraries_in(const fs::path& folder) {
  std::vector<std::string> paths;
  for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}) {
    std::error_code error;
    if (fs::exists(folder / name, error)) paths.push_back((folder / name).string());
  }
  return paths;
}

void append(std::vector<std::string>& all, const std::vector<std::string>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

// Below a site-packages folder of Python: CUDA 13's packages share a folder, those of 12 have one each.
void append_python(std::vector<std::string>& all, const fs::path& site) {
  for (const char* part : {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"})
    append(all, libraries_in(site / part));
}

constexpr const char* kPackages[] = {"site-packages", "dist-packages"};

bool is_packages(const fs::path& name) {
  return std::ranges::any_of(kPackages, [&](const char* packages) { return name == packages; });
}

// Of every Python whose libraries lie in that folder.
void append_pythons(std::vector<std::string>& all, const fs::path& lib) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(lib, error)) {
    for (const char* packages : kPackages) append_python(all, entry.path() / packages);
  }
}

// What pip has put beside Octet: the module lies in a package of site-packages, the programs in bin and libexec/octet of its environment.
// Nowhere else above: a folder such as /tmp is anybody's, and what is found is loaded.
void append_own_environment(std::vector<std::string>& all) {
  constexpr int kLevels = 3;
  fs::path folder = fs::path(own_file()).parent_path();
  for (int i = 0; i < kLevels && folder.has_relative_path(); ++i) {
    const fs::path below = folder.filename();
    folder = folder.parent_path();
    if (is_packages(folder.filename())) append_python(all, folder);
    if (below == "bin" || below == "libexec") append_pythons(all, folder / "lib");
  }
}

std::vector<std::string> nvrtc_places() {
  if (const std::string own = environment("OCTET_NVRTC"); !own.empty()) return {own};
  std::vector<std::string> places;
  for (const char* home : {"CUDA_HOME", "CUDA_PATH"}) {
    const std::string folder = environment(home);
    if (!folder.empty()) append(places, libraries_in(fs::path(folder) / "lib64"));
  }
  append_own_environment(places);
  append(places, {"libnvrtc.so.13", "libnvrtc.so.12"});
  append(places, libraries_in("/usr/local/cuda/lib64"));
  const std::string venv = environment("VIRTUAL_ENV");
  if (venv.empty()) return places;
  append_pythons(places, fs::path(venv) / "lib");
  return places;
}

Nvrtc load_nvrtc() {
  std::string tried;
  for (const std::string& place : nvrtc_places()) {
    tried += (tried.empty() ? "" : ", ") + place;
    void* library = open_library(place);
    if (library == nullptr) continue;
    Nvrtc nvrtc;
    nvrtc.path = place;
    const char* lacks = nullptr;
#define NVRTC(name, parameters)                                               \
  nvrtc.name = reinterpret_cast<decltype(nvrtc.name)>(dlsym(library, #name)); \
  if (nvrtc.name == nullptr) lacks = #name;
#include "backends/cuda/nvrtc_functions.def"
#undef NVRTC
    if (lacks != nullptr) {
      tried += fmt::format(" (has no function {})", lacks);
      continue;
    }
    nvrtc.nvrtcVersion(&nvrtc.major, &nvrtc.minor);
    if (nvrtc.major >= kOldestCompiler) return nvrtc;
    tried += fmt::format(" (is of CUDA {}.{}, and {}.0 is needed)", nvrtc.major, nvrtc.minor,
                         kOldestCompiler);
  }
  fail(kMissing,
       "CUDA's run-time compiler (libnvrtc) is missing; install the CUDA toolkit, or the Python "
       "package in the active environment (pip install nvidia-cuda-nvrtc-cu12), or name the "
       "library in OCTET_NVRTC. Tried: {}",
       tried);
}

// Destroyed on every way out.
class Program {
 public:
  Program(const Nvrtc& nvrtc, const std::string& text, const std::string& name) : nvrtc_(nvrtc) {
    check_result(
        nvrtc_.nvrtcCreateProgram(&program_, text.c_str(), name.c_str(), 0, nullptr, nullptr),
        name);
  }
  ~Program() { nvrtc_.nvrtcDestroyProgram(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  std::vector<char> compile(const std::vector<std::string>& options, bool to_ptx) {
    std::vector<const char*> words;
    for (const std::string& option : options) words.push_back(option.c_str());
    const nvrtcResult result =
        nvrtc_.nvrtcCompileProgram(program_, static_cast<int>(words.size()), words.data());
    if (result == kCompilation)
      fail(Error::Code::internal, "a kernel does not compile:\n{}", log());
    check_result(result, options.front());
    return to_ptx ? result_of(nvrtc_.nvrtcGetPTXSize, nvrtc_.nvrtcGetPTX, options.front())
                  : result_of(nvrtc_.nvrtcGetCUBINSize, nvrtc_.nvrtcGetCUBIN, options.front());
  }

 private:
  using Size = decltype(Nvrtc::nvrtcGetCUBINSize);
  using Get = decltype(Nvrtc::nvrtcGetCUBIN);
  std::vector<char> result_of(Size size, Get get, const std::string& what) const {
    size_t bytes = 0;
    check_result(size(program_, &bytes), what);
    std::vector<char> result(bytes);
    check_result(get(program_, result.data()), what);
    return result;
  }

  // What is no fault of the source.
  void check_result(nvrtcResult result, const std::string& what) const {
    if (result == 0) return;
    fail(result == kCompilerOutOfMemory ? Error::Code::out_of_memory : kMissing,
         "the compiler '{}' (CUDA {}.{}) does not take {}: error {}{}", nvrtc_.path, nvrtc_.major,
         nvrtc_.minor, what, result,
         result == kInvalidOption ? "; a newer one is needed for this chip" : "");
  }

  std::string log() {
    size_t bytes = 0;
    nvrtc_.nvrtcGetProgramLogSize(program_, &bytes);
    std::string log(bytes, '\0');
    nvrtc_.nvrtcGetProgramLog(program_, log.data());
    return log;
  }

  const Nvrtc& nvrtc_;
  nvrtcProgram program_ = nullptr;
};

}  // namespace

const Nvrtc& nvrtc() {
  static const Found<Nvrtc> result = find<Nvrtc>(load_nvrtc);
  return found(result);
}

std::vector<int> compiler_targets() {
  const Nvrtc& compiler = nvrtc();
  int count = 0;
  if (compiler.nvrtcGetNumSupportedArchs(&count) != 0 || count <= 0) return {};
  std::vector<int> targets(static_cast<size_t>(count));
  if (compiler.nvrtcGetSupportedArchs(targets.data()) != 0) return {};
  return targets;
}

std::vector<std::string> compile_options(const std::string& arch) {
  std::vector<std::string> options = {"-arch=" + arch, "-fmad=false", "-default-device", "-w"};
  append(options, options_for(arch));
  return options;
}

std::vector<char> compile_here(const std::string& text, const std::string& name,
                               const std::string& arch) {
  static std::mutex mutex;  // the compiler is one for the process
  const Nvrtc& compiler = nvrtc();
  const std::lock_guard lock(mutex);
  return Program(compiler, text, name).compile(compile_options(arch), is_ptx(arch));
}

}  // namespace octet::cuda
