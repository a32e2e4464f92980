// SPDX-License-Identifier: Apache-2.0
// What octet plugin new writes.
#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "core/check.h"
#include "core/file.h"
#include "octet/plugins.h"

namespace octet {
namespace {

constexpr std::string_view kSource =
    R"(// @NAME@: an operator for Octet. docs/plugins.md explains each line.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "octet/plugin_cpp.h"

namespace {

using namespace octet::plugin;

struct @NAME@ {
  // Attributes come as declared below; throw Refused("why") for what cannot work together.
  explicit @NAME@(const Attributes& attributes) : slope(attributes.f("slope")) {}

  // What it computes. Replace it.
  float value(float x) const { return x < 0 ? slope * x : x; }

  // The shapes of the outputs from those of the inputs.
  void shapes(Shapes& s) const { s.same(0, 0); }

  // The float evaluation, which calibration and comparisons run.
  void reals(Call& call) const {
    const float* x = call.input(0).data<float>();
    float* y = call.output(0).data<float>();
    call.parallel(call.input(0).elements(), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = value(x[i]);
    });
  }

  // The same on codes: real = scale * (code - zero_point), for each tensor with its own.
  void codes(Call& call) const {
    const Tensor in = call.input(0), out = call.output(0);
    uint8_t table[256];
    for (int q = 0; q < 256; ++q) {
      const float real = value(in.scale() * static_cast<float>(q - in.zero_point()));
      const float code = std::nearbyint(real / out.scale()) + static_cast<float>(out.zero_point());
      table[q] = static_cast<uint8_t>(std::min(255.0f, std::max(0.0f, code)));
    }
    const uint8_t* x = in.data<uint8_t>();
    uint8_t* y = out.data<uint8_t>();
    call.parallel(in.elements(), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = table[x[i]];
    });
  }

  float slope;
};

Library make() {
  return std::move(Library("@NAME@", "0.1.0")
                       .add(Operator<@NAME@>("org.example", "@NAME@", 1)
                                .real("slope", 0.1f)
                                .between(0, 1)
                                .input({"x"})
                                .output({"y"})
                                .shapes<&@NAME@::shapes>()
                                .combination<&@NAME@::reals>("reals", {f32()}, {f32()})
                                .combination<&@NAME@::codes>("int8", {u8()}, {u8()})
                                .example({{1, 8, 5, 7}})));
}

}  // namespace

OCTET_PLUGIN(make())
)";

constexpr std::string_view kCMake = R"(cmake_minimum_required(VERSION 3.16)
project(@NAME@ CXX)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

# Headers alone: nothing of Octet is linked.
find_path(OCTET_INCLUDE octet/plugin.h REQUIRED)
find_program(OCTET octet REQUIRED)

add_library(@NAME@ MODULE @NAME@.cc)
target_include_directories(@NAME@ PRIVATE ${OCTET_INCLUDE})
target_compile_options(@NAME@ PRIVATE -Wall -Wextra)
# The entry alone is seen from outside.
set_target_properties(@NAME@ PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)

enable_testing()
add_test(NAME check COMMAND ${OCTET} plugin check $<TARGET_FILE:@NAME@>)
)";

std::string filled(std::string_view text, const std::string& name) {
  std::string result(text);
  constexpr std::string_view kMark = "@NAME@";
  for (size_t at = 0; (at = result.find(kMark, at)) != std::string::npos; at += name.size())
    result.replace(at, kMark.size(), name);
  return result;
}

void write(const std::filesystem::path& path, const std::string& text) {
  AtomicFile file(path);
  file.write({reinterpret_cast<const u8*>(text.data()), text.size()});
  file.commit();
}

}  // namespace

void new_plugin(const std::string& name, const std::filesystem::path& folder) {
  constexpr size_t kLongest = 64;
  const auto fits = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  const bool letter = !name.empty() && std::isalpha(static_cast<unsigned char>(name[0])) != 0;
  if (!letter || name.size() > kLongest || !std::all_of(name.begin(), name.end(), fits))
    fail(Error::Code::invalid_argument,
         "'{}' is no name of an operator: a letter, then letters, digits and _, at most {}", name,
         kLongest);
  std::error_code error;
  if (!std::filesystem::create_directory(folder, error))
    fail(Error::Code::io, "'{}' cannot be made: {}", folder.string(),
         error ? error.message() : "it is there already");
  write(folder / (name + ".cc"), filled(kSource, name));
  write(folder / (std::string("CMakeLists") + ".txt"), filled(kCMake, name));
}

}  // namespace octet
