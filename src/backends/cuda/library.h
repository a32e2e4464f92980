// SPDX-License-Identifier: Apache-2.0
// Libraries that are opened when they are first needed, once for the process.
#pragma once

#include <dlfcn.h>
#include <sys/stat.h>

#include <cstdlib>
#include <string>
#include <variant>

#include "core/check.h"
#include "octet/error.h"

namespace octet::cuda {

inline constexpr auto kMissing = Error::Code::unsupported;

inline std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// A library by path or by the name that the system's loader looks up; stays open as long as the process. Of a FIFO the loader would wait
// for the other end.
inline void* open_library(const std::string& name) {
  struct stat facts {};
  if (name.find('/') != name.npos && stat(name.c_str(), &facts) == 0 && S_ISFIFO(facts.st_mode))
    fail(kMissing, "'{}' is no library but a pipe", name);
  return dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
}

inline void* symbol_of(void* library, const char* symbol, const std::string& path) {
  void* found = dlsym(library, symbol);
  if (found == nullptr)
    fail(kMissing, "'{}' has no function {}; a newer NVIDIA driver is needed", path, symbol);
  return found;
}

// What the first call found holds for the process: a library or the Error.
template <class T>
using Found = std::variant<T, Error>;

template <class T, class Load>
Found<T> find(const Load& load) {
  try {
    return load();
  } catch (const Error& error) {
    return error;
  }
}

template <class T>
const T& found(const Found<T>& result) {
  if (const Error* error = std::get_if<Error>(&result)) throw *error;
  return std::get<T>(result);
}

}  // namespace octet::cuda
