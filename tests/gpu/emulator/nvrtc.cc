// SPDX-License-Identifier: Apache-2.0
// NVRTC's interface over g++.
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "backends/cuda/driver_types.h"
#include "compile.h"

using octet::emulator::Compiled;

struct _nvrtcProgram {
  std::string source;
  Compiled compiled;
};

namespace {

long environment_number(const char* name, long otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::strtol(value, nullptr, 10) : otherwise;
}

constexpr nvrtcResult kInvalidInput = 3, kInvalidProgram = 4, kCompilation = 6;

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
  program->compiled = octet::emulator::compile(program->source, defines_of(count, options));
  return program->compiled.ok ? 0 : kCompilation;
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

nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  if (program == nullptr || *program == nullptr) return kInvalidProgram;
  delete *program;
  *program = nullptr;
  return 0;
}

}  // extern "C"
