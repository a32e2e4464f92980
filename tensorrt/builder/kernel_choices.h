// SPDX-License-Identifier: Apache-2.0
// What a timing cache is to a build: its choices of kernels go into the plan, whose contexts take them. A thorough build (level 4 and more) measures
// those that it lacks and adds them to it.
#pragma once

#include <string>

#include "octet/engine.h"
#include "tensorrt/builder/config.h"
#include "tensorrt/engine/plan_info.h"

namespace octet_trt {

// As JSON of octet/tuning.h; empty where no cache is set, or it is not to be used. `info`: bindings, profiles and plugins of the plan. Throws octet::Error
// where the build must not miss a choice, and does.
std::string choices_of_kernels(const octet::Engine& engine, const Config& config,
                               const PlanInfo& info);

}  // namespace octet_trt
