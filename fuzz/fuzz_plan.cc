// SPDX-License-Identifier: Apache-2.0
// Any bytes as what a plan of TensorRT's interface says of itself, of its plugins and of its build, and as the fields that a plugin is made
// from. What is accepted is written and read back equal.
#include <nlohmann/json.hpp>

#include "fuzz/fuzz.h"
#include "octet/refit.h"
#include "octet/tensorrt_plan.h"
#include "tensorrt/engine/plan_info.h"
#include "tensorrt/plugins/fields.h"
#include "tensorrt/plugins/json.h"

// The library's own, which is not part of this program.
extern "C" nvinfer1::ILogger* getLogger() noexcept { return nullptr; }

namespace octet::fuzz {
namespace {

void read_plan(std::span<const std::byte> bytes) {
  const std::optional<TensorRtPlan> plan = tensorrt_plan(bytes);
  if (!plan) return;
  const std::string written = to_bytes(*plan);
  if (to_bytes(*tensorrt_plan(std::as_bytes(std::span(written)))) != written) found("a plan");
}

void read_refit(const std::string& text) {
  const CompileOptions options = refit_options(text);
  const auto cache = options.calibration ? options.calibration->cache : nullptr;
  const std::string written = refit_text(options, cache);
  const CompileOptions again = refit_options(written);
  const auto cache_again = again.calibration ? again.calibration->cache : nullptr;
  if (refit_text(again, cache_again) != written) found("how a plan was built");
}

void read_plugins(std::span<const std::byte> bytes) {
  for (const octet_trt::PluginRecord& plugin : octet_trt::attached_plugins(bytes)) {
    octet_trt::PluginRecord again = octet_trt::plugin_from(octet_trt::to_json(plugin));
    again.state = plugin.state;
    if (key_of(again) != key_of(plugin)) found(plugin.layer.c_str());
  }
}

void read_fields(std::string_view bytes) {
  const octet_trt::FieldStore fields = octet_trt::read_fields(bytes);
  const std::string written = octet_trt::write_fields({}, fields.collection());
  if (octet_trt::read_fields(written).collection().nbFields != fields.collection().nbFields)
    found("fields");
}

void test_one(const Input& input) {
  survives([&] { read_plan(input.bytes()); });
  survives([&] { read_refit(std::string(input.text())); });
  survives([&] { read_plugins(input.bytes()); });
  survives([&] { read_fields(input.text()); });
}

}  // namespace

const Target kTarget{.memory = s64{4} << 20, .run = test_one};

}  // namespace octet::fuzz
