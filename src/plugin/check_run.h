// SPDX-License-Identifier: Apache-2.0
// The checks of one combination. Each returns what it tried, and throws Error for what it finds; a crash names the stage (isolated.h).
#pragma once

#include <string>

#include "plugin/check_case.h"
#include "plugin/check_device.h"

namespace octet {

struct CheckContext {
  const PluginOp& op;
  const PluginCombination& combination;
  int threads = 4;
  u64 seed = 1;
  const CheckDevice* device = nullptr;  // of a combination for its pointers
};

std::string check_memory(const CheckContext& context);   // guard pages, poison, inputs left alone
std::string check_results(const CheckContext& context);  // all written, twice the same
std::string check_against_reals(const CheckContext& context);  // within one code
std::string check_layouts(
    const CheckContext& context);  // as other combinations of the same numbers
std::string check_threads(const CheckContext& context);  // one instance at once
std::string check_leaks(const CheckContext& context);
std::string check_process(const CheckContext& context);  // what a run leaves as it was

// Of a combination for a device's pointers, in place of those on the host.
std::string check_device_memory(const CheckContext& context);  // margins, inputs left alone
std::string check_stream(
    const CheckContext& context);  // all work is the stream's, none is waited for
std::string check_streams(const CheckContext& context);  // one instance in several at once

// Of the operator.
std::string check_shapes(const PluginOp& op, u64 seed);
std::string check_attributes(const PluginOp& op, u64 seed);
std::string check_state(const PluginOp& op, u64 seed);

}  // namespace octet
