// SPDX-License-Identifier: Apache-2.0
// Any text as a tuning file. What is accepted is written and read back equal.
#include "fuzz/fuzz.h"
#include "octet/tuning.h"

namespace octet::fuzz {
namespace {

void run(const std::string& text) {
  const std::string written = to_json(tuning_from_json(text, "fuzz.json"));
  if (to_json(tuning_from_json(written, "written.json")) != written) found(written.c_str());
}

void test_one(const Input& input) {
  survives([&] { run(std::string(input.text())); });
}

}  // namespace

const Target kTarget{.memory = s64{4} << 20, .run = test_one};

}  // namespace octet::fuzz
