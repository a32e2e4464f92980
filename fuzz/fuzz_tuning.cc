// SPDX-License-Identifier: Apache-2.0
// Any text as a tuning file. What is accepted is written and read back equal.
#include "fuzz/fuzz.h"
#include "octet/tuning.h"

namespace octet::fuzz {
namespace {

constexpr s64 kMemory = s64{4} << 20;

void run(const std::string& text) {
  const std::string written = to_json(tuning_from_json(text, "fuzz.json"));
  if (to_json(tuning_from_json(written, "written.json")) != written) found(written.c_str());
}

}  // namespace
}  // namespace octet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace octet;
  fuzz::limit_memory(fuzz::kMemory);
  fuzz::survives([&] { fuzz::run({reinterpret_cast<const char*>(data), size}); });
  return 0;
}
