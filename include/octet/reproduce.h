// SPDX-License-Identifier: Apache-2.0
// A case (octet/case.h) built and run again on this machine, and what differs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "octet/case.h"
#include "octet/progress.h"

namespace octet {

// What is here other than in the case. Those that `changes_results` should not be there when program, model and data are the same;
// machines and kernels may differ.
struct Difference {
  std::string what;  // "isa", "options.keep_float", "decision of 'conv1'", "output 'y' of 'a.jpg'"
  std::string recorded;
  std::string here;
  bool changes_results = false;
  bool measured = false;  // of values alone, which Reproduction::sqnr_db measures
};

struct ReproduceOptions {
  std::filesystem::path model = {};   // in place of the case's
  std::optional<Engine> engine = {};  // tested in place of one that is built or the case's
  int threads = 1;
  Monitor monitor = {};
};

struct Reproduction {
  enum class How : uint8_t { nothing, given, kept, rebuilt };
  // Which engine was tested: the given one, the case's own, or one built again.
  How how = How::nothing;
  std::string not_rebuilt;                 // why; empty: it was
  bool same_engine = false;                // to the byte
  std::vector<Difference> differences;     // what could explain the others first
  int64_t runs = 0;                        // that were repeated
  int64_t outputs = 0, equal_outputs = 0;  // to the bit
  double sqnr_db = 0;  // of all outputs against the recorded ones; infinite: equal
};

std::string_view to_string(Reproduction::How how);  // "rebuilt"

// Builds the engine again where the case has the model, and the ranges if it needs any; else takes the engine that is there; and runs
// the recorded inputs. Throws Error for a model or an engine that is none.
Reproduction reproduce(const Case& from, const ReproduceOptions& options = {});

}  // namespace octet
