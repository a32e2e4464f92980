// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/types.h"
#include "octet/search.h"

namespace octet {
namespace {

nlohmann::ordered_json known(f64 value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nullptr;
}

nlohmann::ordered_json trial_json(const SearchTrial& trial) {
  return {{"int8", trial.int8},
          {"method", trial.method ? nlohmann::ordered_json(to_string(*trial.method)) : nullptr},
          {"real", trial.real},
          {"codes", trial.codes},
          {"value", trial.value},
          {"error", trial.error},
          {"verified", known(trial.verified)},
          {"us", trial.us},
          {"run_us", known(trial.run_us)},
          {"bytes", trial.bytes > 0 ? nlohmann::ordered_json(trial.bytes) : nullptr},
          {"on_front", trial.on_front}};
}

}  // namespace

std::string to_json(const SearchResult& result) {
  auto trials = nlohmann::ordered_json::array(), real = nlohmann::ordered_json::array();
  for (const SearchTrial& trial : result.trials) trials.push_back(trial_json(trial));
  for (const RealLayer& layer : result.real) {
    real.push_back({{"layer", layer.layer},
                    {"op", layer.op},
                    {"cost", known(layer.cost)},
                    {"alone", layer.alone},
                    {"saved_us", layer.saved_us}});
  }
  return nlohmann::ordered_json{{"met", result.met},
                                {"verified", result.verified},
                                {"stopped", result.stopped},
                                {"chosen", result.chosen},
                                {"fp32_verified", known(result.fp32_verified)},
                                {"searched_samples", result.searched_samples},
                                {"verified_samples", result.verified_samples},
                                {"passes", result.passes},
                                {"real_layers", std::move(real)},
                                {"trials", std::move(trials)}}
      .dump();
}

}  // namespace octet
