// SPDX-License-Identifier: Apache-2.0
// What commands say of data that a network is fed: how they were prepared, in one line; what is wrong with them; and how much of them
// codes clip.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "octet/data.h"
#include "octet/input_profile.h"

namespace octet::cli {

// On standard error, each line once a process.
void say_handling(const DataHandling& handling);
nlohmann::ordered_json handling_json(const DataHandling& handling);

// "--scale 255 --mean 0.485,0.456,0.406"; empty where no flag helps.
std::string flags_of(const InputDoubt& doubt);

struct DataChecks {
  std::vector<DataHandling> handlings = {};  // of photos, of arrays
  std::vector<InputDoubt> doubts = {};
  std::vector<InputWatch::Clipped> clipped = {};  // of inputs that have codes

  // One sentence for each doubt, and for each input of which much is clipped for no other reason.
  std::vector<std::string> warnings() const;
};
nlohmann::ordered_json clipped_json(const std::vector<InputWatch::Clipped>& clipped);
// Keys "prepared", "doubts" and "clipped".
void add_checks(const DataChecks& checks, nlohmann::ordered_json& object);

}  // namespace octet::cli
