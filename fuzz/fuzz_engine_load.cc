// SPDX-License-Identifier: Apache-2.0
// Any bytes as an engine file: as they are, and with every checksum made right. What loads is written and loads again.
#include "fuzz/fuzz.h"
#include "runtime/engine_file.h"
#include "runtime/forge_testing.h"

namespace octet::fuzz {
namespace {

void load(std::span<const std::byte> bytes) {
  const Model model = read_engine(test::exact_copy(bytes), bytes.size());
  const std::vector<std::byte> written = write_engine(model);
  try {
    read_engine(test::exact_copy(written), written.size());
  } catch (const Error& error) {
    found(error.what());
  }
}

void test_one(const Input& input) {
  std::vector<std::byte> bytes(input.bytes().begin(), input.bytes().end());
  survives([&] { load(bytes); });
  test::repair(bytes);
  survives([&] { load(bytes); });
}

}  // namespace

const Target kTarget{.memory = s64{64} << 20, .run = test_one};

}  // namespace octet::fuzz
