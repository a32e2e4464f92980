// SPDX-License-Identifier: Apache-2.0
// Any text as a preprocessing file. What is accepted is written and read back equal, and applied to a small image.
#include "data/preprocess.h"
#include "fuzz/fuzz.h"

namespace octet::fuzz {
namespace {

constexpr s64 kMemory = s64{4} << 20;

void run(const std::string& text) {
  const Preprocess preprocess = preprocess_from_json(text, "fuzz.json");
  const std::string written = to_json(preprocess);
  if (!(preprocess_from_json(written, "written.json") == preprocess)) found(written.c_str());
  Image image{5, 4, 3, std::vector<u8>(5 * 4 * 3, 100)};
  preprocess_image(image, preprocess, "fuzz");
}

}  // namespace
}  // namespace octet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace octet;
  fuzz::limit_memory(fuzz::kMemory);
  fuzz::survives([&] { fuzz::run({reinterpret_cast<const char*>(data), size}); });
  return 0;
}
