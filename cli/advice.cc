// SPDX-License-Identifier: Apache-2.0
#include "cli/advice.h"

namespace octet::cli {
namespace {

struct Advice {
  std::string_view field;
  const char* flag;  // a command that lacks it does not give the advice
  std::string_view line;
};

constexpr Advice kAdvice[] = {
    {"DataOptions.preprocess", "--letterbox",
     "--letterbox WxH pads images to one size, --resize WxH stretches them"},
    {"DataOptions.skip_bad", "--skip-bad", "--skip-bad counts unusable files and goes on"},
    {"CalibrationOptions.cache", "--calib-cache",
     "--calib-cache names another cache, or one that is still to be made"},
    {"CalibrationOptions.method", "--calib-method",
     "--calib gives data, --calib-method another method"},
    {"CalibrationOptions.cache_of_any_model", "--force-cache",
     "--force-cache takes the cache of another model"},
    {"CalibrationOptions.device", "--device", "--device cpu runs the model, as without the flag"},
    {"CalibrationOptions.equalize", "--equalize", "--equalize on takes it as it is"},
    {"CalibrationOptions.constant_data", "--constant-data", "--constant-data builds nevertheless"},
    {"CalibrationOptions.methods", "--calib-method",
     "octet inspect lists the tensors of the layers"},
    {"CalibrationOptions.ranges", "--ranges", "octet inspect lists the tensors of the layers"},
    {"CompileOptions.calibration", "--calib",
     "--calib DIR names a folder of images or arrays, --calib-cache FILE a cache"},
    {"CompileOptions.input_shapes", "--shape", "--shape gives a shape, e.g. --shape x:1x3x224x224"},
    {"CompileOptions.weights_root", "--weights-root",
     "--weights-root DIR names the folder that all links to weights lie and end in"},
    {"ContextOptions.threads", "--threads",
     "fewer --threads ask less of the system; ulimit -u and the limits of a container bound them"},
    {"Limits.loop_trips", "--max-loop-trips",
     "a higher --max-loop-trips lets it go on, if it has to"},
    {"Limits.memory", "--max-memory", "a higher --max-memory allows more, if the machine has it"},
    {"PrecisionPlan.accuracy_time", "--favor",
     "--favor takes speed, accuracy, or a number of per cent from 0 to 100"},
    {"PrecisionPlan.constraints", "--precision",
     "--precision asks for types, --output-type for those of results; --constraints prefer takes "
     "what can be had"},
    {"PrecisionPlan.target", "--for", "--best chooses types for the machine that --for names"},
    {"PluginInfo.path", "--plugin", "--plugin FILE loads a library that has them"},
    {"work_limit", "--max-work", "a higher --max-work lets it run, however long that takes"},
    {"PrecisionPlan.keep_float", "--keep-float",
     "--keep-float takes the names that octet inspect lists"},
};

}  // namespace

std::string_view advice_for(std::string_view field, const CLI::App& command) {
  for (const Advice& advice : kAdvice) {
    if (advice.field != field) continue;
    if (command.get_option_no_throw(advice.flag) != nullptr) return advice.line;
  }
  return {};
}

}  // namespace octet::cli
