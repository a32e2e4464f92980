// SPDX-License-Identifier: Apache-2.0
#include "cli/advice.h"

namespace octet::cli {
namespace {

struct Advice {
  std::string_view field;
  std::string_view line;
};

constexpr Advice kAdvice[] = {
    {"DataOptions.preprocess",
     "--letterbox WxH pads images to one size, --resize WxH stretches them"},
    {"DataOptions.skip_bad", "--skip-bad counts unusable files and goes on"},
    {"CalibrationOptions.cache",
     "--calib-cache names another cache, or one that is still to be made"},
    {"CalibrationOptions.method", "--calib gives data, --calib-method another method"},
    {"CalibrationOptions.cache_of_any_model", "--force-cache takes the cache of another model"},
    {"CalibrationOptions.methods", "octet inspect lists the tensors of the layers"},
    {"CalibrationOptions.ranges", "octet inspect lists the tensors of the layers"},
    {"CompileOptions.calibration",
     "--calib DIR names a folder of images or arrays, --calib-cache FILE a cache"},
    {"CompileOptions.input_shapes", "--shape gives a shape, e.g. --shape x:1x3x224x224"},
    {"Limits.loop_trips", "a higher --max-loop-trips lets it go on, if it has to"},
    {"Limits.memory", "a higher --max-memory allows more, if the machine has it"},
    {"PrecisionPlan.keep_float", "octet inspect lists the names that --keep-float takes"},
};

}  // namespace

std::string_view advice_for(std::string_view field) {
  for (const Advice& advice : kAdvice) {
    if (advice.field == field) return advice.line;
  }
  return {};
}

}  // namespace octet::cli
