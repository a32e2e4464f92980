// SPDX-License-Identifier: Apache-2.0
// NVRTC's interface over g++.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "backends/cuda/driver_types.h"
#include "compile.h"
#include "image.h"
#include "ptx.h"

using octet::emulator::Compiled;

struct _nvrtcProgram {
  std::string source;
  Compiled compiled;
  std::string ptx = {};
};

namespace {

long environment_number(const char* name, long otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::strtol(value, nullptr, 10) : otherwise;
}

constexpr nvrtcResult kInvalidInput = 3, kInvalidProgram = 4, kInvalidOption = 5, kCompilation = 6;

// The options that mean something to g++; -arch and its like do not.
std::vector<std::string> defines_of(int count, const char* const* options) {
  std::vector<std::string> defines;
  for (int i = 0; i < count; ++i) {
    const std::string option = options[i];
    const bool alone = option == "-D" || option == "-U";
    if (alone && i + 1 < count) defines.push_back(option + options[++i]);
    if (!alone && (option.starts_with("-D") || option.starts_with("-U"))) defines.push_back(option);
    for (const std::string& name :
         {std::string("--define-macro="), std::string("--undefine-macro=")})
      if (option.starts_with(name))
        defines.push_back((name[2] == 'd' ? "-D" : "-U") + option.substr(name.size()));
  }
  return defines;
}

// What CUDA 13.0 knows, or OCTET_EMULATED_NVRTC_ARCHS, "80,90".
std::vector<int> targets() {
  const char* asked = std::getenv("OCTET_EMULATED_NVRTC_ARCHS");
  std::vector<int> all;
  for (const char* at = asked; at != nullptr && *at != 0;) {
    char* end = nullptr;
    all.push_back(static_cast<int>(std::strtol(at, &end, 10)));
    at = *end == ',' ? end + 1 : end;
  }
  return asked != nullptr ? all : std::vector{75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};
}

// "-arch=sm_90a", "-arch=compute_90".
struct Target {
  octet::emulator::ImageTarget image;
  bool is_ptx = false;
};

// False where it is not known.
bool read_target(int count, const char* const* options, Target& target) {
  for (int i = 0; i < count; ++i) {
    const std::string option = options[i];
    if (!option.starts_with("-arch=")) continue;
    target.is_ptx = option.starts_with("-arch=compute_");
    target.image.number =
        static_cast<int>(std::strtol(option.c_str() + option.find('_') + 1, nullptr, 10));
    target.image.alone = option.ends_with('a');
    const std::vector<int> known = targets();
    return std::find(known.begin(), known.end(), target.image.number) != known.end();
  }
  return true;
}

int cuda_version() {
  constexpr long kUsual = 13000;
  const long asked = environment_number("OCTET_EMULATED_NVRTC_VERSION", 0);
  return static_cast<int>(asked == 0 ? kUsual : asked);
}

void keep_for(const Target& target, _nvrtcProgram& program) {
  using octet::emulator::ptx_of, octet::emulator::ptx_version, octet::emulator::set_image_target;
  if (target.is_ptx) {
    program.ptx =
        ptx_of(program.compiled.image, {ptx_version(cuda_version()), target.image.number, 0});
    program.compiled.image.clear();
  } else {
    set_image_target(program.compiled.image, target.image);
  }
}

}  // namespace

extern "C" {
#define NVRTC(name, parameters) nvrtcResult name parameters;
#include "backends/cuda/nvrtc_functions.def"
#undef NVRTC

nvrtcResult nvrtcVersion(int* major, int* minor) {
  if (major == nullptr || minor == nullptr) return kInvalidInput;
  const long version = environment_number("OCTET_EMULATED_NVRTC_VERSION", 0);
  *major = version == 0 ? 13 : static_cast<int>(version / 1000);
  *minor =
      version == 0 ? octet::emulator::compiler_version() : static_cast<int>(version % 1000 / 10);
  return 0;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* source, const char*, int headers,
                               const char* const*, const char* const*) {
  if (program == nullptr || source == nullptr || headers != 0) return kInvalidInput;
  *program = new _nvrtcProgram{source, {}};
  return 0;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char* const* options) {
  if (program == nullptr) return kInvalidProgram;
  if (const long failure = environment_number("OCTET_EMULATED_NVRTC_FAIL", 0); failure != 0)
    return static_cast<nvrtcResult>(failure);
  Target target;
  if (!read_target(count, options, target)) return kInvalidOption;
  program->compiled = octet::emulator::compile(program->source, defines_of(count, options));
  if (!program->compiled.ok) return kCompilation;
  keep_for(target, *program);
  return 0;
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t* bytes) {
  if (program == nullptr) return kInvalidProgram;
  *bytes = program->compiled.log.size() + 1;
  return 0;
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* log) {
  if (program == nullptr) return kInvalidProgram;
  std::memcpy(log, program->compiled.log.c_str(), program->compiled.log.size() + 1);
  return 0;
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t* bytes) {
  if (program == nullptr || !program->compiled.ok) return kInvalidProgram;
  *bytes = program->compiled.image.size();
  return 0;
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* cubin) {
  if (program == nullptr || !program->compiled.ok) return kInvalidProgram;
  std::memcpy(cubin, program->compiled.image.data(), program->compiled.image.size());
  return 0;
}

nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t* bytes) {
  if (program == nullptr || !program->compiled.ok) return kInvalidProgram;
  *bytes = program->ptx.size() + 1;
  return 0;
}

nvrtcResult nvrtcGetPTX(nvrtcProgram program, char* ptx) {
  if (program == nullptr || !program->compiled.ok) return kInvalidProgram;
  std::memcpy(ptx, program->ptx.c_str(), program->ptx.size() + 1);
  return 0;
}

nvrtcResult nvrtcGetNumSupportedArchs(int* count) {
  if (count == nullptr) return kInvalidInput;
  *count = static_cast<int>(targets().size());
  return 0;
}

nvrtcResult nvrtcGetSupportedArchs(int* archs) {
  if (archs == nullptr) return kInvalidInput;
  const std::vector<int> all = targets();
  std::copy(all.begin(), all.end(), archs);
  return 0;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  if (program == nullptr || *program == nullptr) return kInvalidProgram;
  delete *program;
  *program = nullptr;
  return 0;
}

}  // extern "C"
