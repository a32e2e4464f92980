// SPDX-License-Identifier: Apache-2.0
// The time of each layer, as the table of --dumpProfile and the file of --exportProfile.
#pragma once

#include <string>
#include <vector>

namespace octet::cli::trtexec {

struct LayerTimes {
  std::string name;
  std::vector<float> ms;  // of each iteration
};

// Lines without prefix.
std::vector<std::string> profile_table(const std::vector<LayerTimes>& layers);
std::string profile_json(const std::vector<LayerTimes>& layers);

}  // namespace octet::cli::trtexec
