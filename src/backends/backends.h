// SPDX-License-Identifier: Apache-2.0
// The devices of this build; backends.def lists who brings them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "plan/device.h"
#include "plan/offer.h"

namespace octet {

// "cpu", "test:1". It lives as long as the process. Throws Error(invalid_argument) for a name that no backend knows.
const Device& find_device(std::string_view name);

// Plans for the device of this name, with the CPU as its host.
Target make_target(std::string_view device, int threads, std::shared_ptr<const Tuning> tuning);

}  // namespace octet
