// SPDX-License-Identifier: Apache-2.0
#include "capi/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

namespace octet::capi {
namespace {

octet_status status_of(Error::Code code) {
  switch (code) {
    case Error::Code::invalid_model:
      return OCTET_INVALID_MODEL;
    case Error::Code::unsupported:
      return OCTET_UNSUPPORTED;
    case Error::Code::invalid_argument:
      return OCTET_INVALID_ARGUMENT;
    case Error::Code::out_of_memory:
      return OCTET_OUT_OF_MEMORY;
    case Error::Code::io:
      return OCTET_IO;
    case Error::Code::cancelled:
      return OCTET_CANCELLED;
    case Error::Code::internal:
      return OCTET_INTERNAL;
  }
  return OCTET_INTERNAL;
}

struct Option {
  std::string_view field;  // Error::field()
  const char* option;
};

// What a program in C can change.
constexpr Option kOptions[] = {
    {"CalibrationOptions.cache", "octet_build_options.cache"},
    {"CalibrationOptions.cache_of_any_model", "OCTET_BUILD_CACHE_OF_ANY_MODEL"},
    {"CalibrationOptions.constant_data", "OCTET_BUILD_CONSTANT_DATA"},
    {"CalibrationOptions.equalize", "OCTET_BUILD_NO_EQUALIZE"},
    {"CalibrationOptions.method", "octet_build_options.method"},
    {"CalibrationOptions.methods", "octet_build_options.method"},
    {"CalibrationOptions.ranges", "octet_build_options.ranges"},
    {"CompileOptions.calibration", "octet_build_options.data"},
    {"CompileOptions.input_shapes", "octet_build_options.input_shapes"},
    {"ContextOptions.threads", "octet_context_options.threads"},
    {"DataOptions.preprocess", "octet_build_options.preprocess"},
    {"DataOptions.skip_bad", "OCTET_BUILD_SKIP_BAD"},
    {"Limits.memory", "octet_set_memory_limit"},
    {"PluginInfo.path", "octet_load_plugin"},
    {"PrecisionPlan.constraints", "octet_build_options.layer_types"},
    {"PrecisionPlan.keep_float", "octet_build_options.keep_float"},
};

const char* option_of(std::string_view field) {
  const Option* found = std::ranges::find(kOptions, field, &Option::field);
  return found != std::end(kOptions) ? found->option : "";
}

// Where not even an error can be made.
octet_error& exhausted() {
  static octet_error error{OCTET_OUT_OF_MEMORY, "out of memory", "out of memory", {}, {}};
  return error;
}

octet_status give(octet_error** error, const Error& thrown) noexcept {
  const octet_status status = status_of(thrown.code());
  if (error == nullptr) return status;
  try {
    *error = new octet_error{status, thrown.message(), thrown.what(), option_of(thrown.field()),
                             thrown.context()};
  } catch (...) {
    *error = &exhausted();
  }
  return status;
}

octet_status give(octet_error** error, Error::Code code, const char* message) noexcept {
  try {
    return give(error, Error(code, message));
  } catch (...) {
    if (error != nullptr) *error = &exhausted();
    return status_of(code);
  }
}

uint64_t size_of(const void* sized, const Layout& layout) {
  uint64_t size = 0;
  std::memcpy(&size, sized, sizeof size);
  if (size >= layout.first && size <= kLargestStruct) return size;
  refuse(fmt::format("{0}.size is {1}; set it to sizeof({0}), which is {2} here", layout.type, size,
                     layout.known));
}

}  // namespace

octet_status report(octet_error** error) noexcept {
  try {
    throw;
  } catch (const Error& thrown) {
    return give(error, thrown);
  } catch (const std::bad_alloc&) {
    return give(error, Error::Code::out_of_memory, "the system gives no more memory");
  } catch (const std::exception& thrown) {
    return give(error, Error::Code::internal, thrown.what());
  } catch (...) {
    return give(error, Error::Code::internal,
                "an exception that is none of the standard library's");
  }
}

void refuse(std::string message) { throw Error(Error::Code::invalid_argument, std::move(message)); }

void need(const void* pointer, const char* name) {
  if (pointer == nullptr) refuse(fmt::format("{} is NULL", name));
}

std::string text_of(const char* text) { return text != nullptr ? text : ""; }

int64_t checked_bytes(uint64_t bytes) {
  if (bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    refuse(fmt::format("{} bytes are more than any memory has", bytes));
  return static_cast<int64_t>(bytes);
}

void read_sized(const void* from, void* to, const Layout& layout) {
  const uint64_t size = size_of(from, layout), common = std::min(size, layout.known);
  const auto* bytes = static_cast<const unsigned char*>(from);
  if (std::any_of(bytes + common, bytes + size, [](unsigned char byte) { return byte != 0; })) {
    throw Error(Error::Code::unsupported,
                fmt::format("{} has {} bytes and sets something behind the {} that this library of "
                            "Octet knows; use a newer liboctet_c, or leave that field 0",
                            layout.type, size, layout.known));
  }
  std::memcpy(to, from, common);
}

void check_step(const void* element, uint64_t step, const Layout& layout) {
  uint64_t size = 0;
  std::memcpy(&size, element, sizeof size);
  if (size != step)
    refuse(
        fmt::format("an array of {0} has elements of {1} and of {2} bytes; set size of each to "
                    "sizeof({0})",
                    layout.type, step, size));
}

void write_sized(void* to, const void* from, const Layout& layout) {
  constexpr uint64_t kSize = sizeof(uint64_t);
  const uint64_t common = std::min(size_of(to, layout), layout.known);
  std::memcpy(static_cast<char*>(to) + kSize, static_cast<const char*>(from) + kSize,
              common - kSize);
}

}  // namespace octet::capi

octet_status octet_error_status(const octet_error* error) {
  return error != nullptr ? error->status : OCTET_OK;
}

const char* octet_error_message(const octet_error* error) {
  return error != nullptr ? error->message.c_str() : "";
}

uint64_t octet_error_context_count(const octet_error* error) {
  return error != nullptr ? error->context.size() : 0;
}

const char* octet_error_context(const octet_error* error, uint64_t index) {
  return index < octet_error_context_count(error) ? error->context[index].c_str() : "";
}

const char* octet_error_text(const octet_error* error) {
  return error != nullptr ? error->text.c_str() : "";
}

const char* octet_error_option(const octet_error* error) {
  return error != nullptr ? error->option.c_str() : "";
}

void octet_error_free(octet_error* error) {
  if (error != &octet::capi::exhausted()) delete error;
}
