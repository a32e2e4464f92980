// SPDX-License-Identifier: Apache-2.0
// Where libFuzzer enters each target, under the target's limits.
#include "fuzz/fuzz.h"
#include "octet/limits.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using octet::fuzz::kTarget;
  octet::Limits limits;
  limits.memory = kTarget.memory;
  limits.loop_trips = 16;
  octet::set_limits(limits);
  kTarget.run({data, size});
  return 0;
}
