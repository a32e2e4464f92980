// SPDX-License-Identifier: Apache-2.0
// Any bytes as an engine file: as they are, and with every checksum made right. What loads is written and loads again.
#include "fuzz/fuzz.h"
#include "runtime/engine_file.h"
#include "runtime/forge_testing.h"

namespace octet::fuzz {
namespace {

constexpr s64 kMemory = s64{64} << 20;

void load(std::span<const std::byte> bytes) {
  const Model model = read_engine(test::exact_copy(bytes), bytes.size());
  const std::vector<std::byte> written = write_engine(model);
  try {
    read_engine(test::exact_copy(written), written.size());
  } catch (const Error& error) {
    found(error.what());
  }
}

}  // namespace
}  // namespace octet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace octet;
  fuzz::limit_memory(fuzz::kMemory);
  const auto* first = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> bytes(first, first + size);
  fuzz::survives([&] { fuzz::load(bytes); });
  test::repair(bytes);
  fuzz::survives([&] { fuzz::load(bytes); });
  return 0;
}
