// SPDX-License-Identifier: Apache-2.0
// Calibration on the scalar reference, whatever the machine has.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace octet::cli {

// Plans of this process take the scalar reference while it lives. No thread runs yet that could look at the environment.
class ReferenceLevel {
 public:
  ReferenceLevel() {
    if (const char* level = std::getenv(kVariable)) before_ = level;
    ::setenv(kVariable, "none", 1);
  }
  ~ReferenceLevel() { before_ ? ::setenv(kVariable, before_->c_str(), 1) : ::unsetenv(kVariable); }
  ReferenceLevel(const ReferenceLevel&) = delete;
  ReferenceLevel& operator=(const ReferenceLevel&) = delete;

 private:
  static constexpr const char* kVariable = "OCTET_CPU_ISA";
  std::optional<std::string> before_;
};

}  // namespace octet::cli
