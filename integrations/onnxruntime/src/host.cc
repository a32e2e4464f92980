// SPDX-License-Identifier: Apache-2.0
#include "host.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <new>

namespace octet_ort {
namespace {

using octet::Error;

template <class Function>
void take(Table table, int place, Function& function) {
  function = reinterpret_cast<Function>(const_cast<void*>(table[place]));
}

void take_all(Table api, HostFunctions& to) {
#define FUNCTION(place, result, name, parameters) take(api, place, to.name);
#include "host_api.def"
#undef FUNCTION
  const auto ep = static_cast<Table>(to.GetEpApi());
#define EP_FUNCTION(place, result, name, parameters) take(ep, place, to.name);
#include "host_api.def"
#undef EP_FUNCTION
  const auto editor = static_cast<Table>(to.GetModelEditorApi());
  if (editor == nullptr) return;  // a minimal build, which writes no models
#define EDITOR_FUNCTION(place, result, name, parameters) take(editor, place, to.name);
#include "host_api.def"
#undef EDITOR_FUNCTION
}

int code_of(Error::Code code) {
  switch (code) {
    case Error::Code::invalid_model:
      return kInvalidGraph;
    case Error::Code::unsupported:
      return kNotImplemented;
    case Error::Code::invalid_argument:
      return kInvalidArgument;
    case Error::Code::internal:
      return kRuntimeException;
    default:
      return kEpFail;
  }
}

// A host of any version can be told something: CreateStatus is the first function of all its tables.
OrtStatus* refusal(const OrtApiBase& base, uint32_t minor, const std::string& text) {
  const void* oldest = base.GetApi(minor == 0 ? 1 : minor);
  if (oldest == nullptr) return nullptr;
  HostFunctions functions;
  take(static_cast<Table>(oldest), 0, functions.CreateStatus);
  return functions.CreateStatus(kNotImplemented, text.c_str());
}

}  // namespace

uint32_t minor_of(std::string_view version) {
  const size_t dot = version.find('.');
  uint32_t minor = 0;
  if (dot == std::string_view::npos) return 0;
  std::from_chars(version.data() + dot + 1, version.data() + version.size(), minor);
  return minor;
}

std::unique_ptr<Host> negotiate(const OrtApiBase& base, OrtStatus*& status) {
  const std::string runtime = base.GetVersionString();
  const uint32_t minor = minor_of(runtime);
  const uint32_t version = std::min(minor, kNewestVersion);
  const void* api = version < kOldestVersion ? nullptr : base.GetApi(version);
  if (api == nullptr) {
    status = refusal(base, minor,
                     "Octet's execution provider needs ONNX Runtime 1." +
                         std::to_string(kOldestVersion) + " or later; this is " + runtime);
    return nullptr;
  }
  auto host = std::make_unique<Host>();
  take_all(static_cast<Table>(api), *host);
  host->version = version;
  host->runtime = runtime;
  return host;
}

void Host::check(OrtStatus* status) const {
  if (status == nullptr) return;
  const std::string text = GetErrorMessage(status);
  ReleaseStatus(status);
  throw Error(Error::Code::internal, "ONNX Runtime: " + text);
}

OrtStatus* Host::status_of(const Error& error) const {
  return CreateStatus(code_of(error.code()), (std::string("Octet: ") + error.what()).c_str());
}

OrtStatus* Host::guarded(const std::function<void()>& body) const {
  try {
    body();
    return nullptr;
  } catch (const Error& error) {
    return status_of(error);
  } catch (const std::bad_alloc&) {
    return CreateStatus(kEpFail, "Octet: out of memory");
  } catch (const std::exception& error) {
    return CreateStatus(kRuntimeException, (std::string("Octet: ") + error.what()).c_str());
  } catch (...) {
    return CreateStatus(kRuntimeException, "Octet: an exception of an unknown type");
  }
}

void Log::write(Severity severity, const std::string& text) const {
  if (logger_ == nullptr) return;
  OrtStatus* status = host_->Logger_LogMessage(logger_, severity, ("Octet: " + text).c_str(),
                                               "octet", 0, "OctetExecutionProvider");
  if (status != nullptr) host_->ReleaseStatus(status);
}

}  // namespace octet_ort
