// SPDX-License-Identifier: Apache-2.0
// The ONNX Runtime that loaded the library: its version, its functions, its log, and the way between its statuses and our errors.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "octet/error.h"
#include "ort_abi.h"

namespace octet_ort {

// The version of the interface that we were written for, and the oldest that has all that we call. A host of a later version keeps the tables
// and structs of this one, so there is nothing to gain from asking for its own.
inline constexpr uint32_t kOldestVersion = 24;
inline constexpr uint32_t kNewestVersion = 24;

// The name that programs select the provider by.
inline constexpr const char* kProviderName = "OctetExecutionProvider";

// A table of functions as the host lays it out.
using Table = const void* const*;

struct HostFunctions {
#define FUNCTION(place, result, name, parameters) result(*name) parameters = nullptr;
#define EP_FUNCTION(place, result, name, parameters) result(*name) parameters = nullptr;
#define EDITOR_FUNCTION(place, result, name, parameters) result(*name) parameters = nullptr;
#include "host_api.def"
#undef FUNCTION
#undef EP_FUNCTION
#undef EDITOR_FUNCTION
};

struct Host : HostFunctions {
  uint32_t version = 0;  // that both sides speak
  std::string runtime;   // "1.31.1"

  // Ends with an octet::Error where the status is one, which it frees.
  void check(OrtStatus* status) const;
  // A status of what `octet::Error` says.
  OrtStatus* status_of(const octet::Error& error) const;
  // Calls what may throw; nothing but a status leaves.
  OrtStatus* guarded(const std::function<void()>& body) const;
};

// Null where the host is older than kOldestVersion; `status` then says so as far as the host can be told.
std::unique_ptr<Host> negotiate(const OrtApiBase& base, OrtStatus*& status);

// Of a version text "1.31.1" the 31; 0 for a text that is none.
uint32_t minor_of(std::string_view version);

// One line for the host's log. Null loggers are silent.
class Log {
 public:
  Log(const Host& host, const OrtLogger* logger) : host_(&host), logger_(logger) {}
  void write(Severity severity, const std::string& text) const;

 private:
  const Host* host_;
  const OrtLogger* logger_;
};

}  // namespace octet_ort
