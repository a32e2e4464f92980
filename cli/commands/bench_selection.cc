// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/bench_selection.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/output/terminal.h"
#include "octet/machine.h"
#include "octet/selection.h"

namespace octet::cli {
namespace {

using Json = nlohmann::ordered_json;

// What the report comes to.
struct Verdict {
  int64_t wrong = 0;
  int64_t different = 0;
  double chosen_us = 0;
  double fastest_us = 0;
  const LayerSelection* worst = nullptr;  // the wrong choice that costs most time

  explicit Verdict(const SelectionReport& report) {
    const auto loss = [](const LayerSelection& layer) {
      return layer.kernels[0].microseconds - layer.kernels[layer.fastest()].microseconds;
    };
    for (const LayerSelection& layer : report.layers) {
      chosen_us += layer.kernels[0].microseconds;
      fastest_us += layer.kernels[layer.fastest()].microseconds;
      if (!layer.same_results()) ++different;
      if (!layer.wrong) continue;
      ++wrong;
      if (worst == nullptr || loss(layer) > loss(*worst)) worst = &layer;
    }
  }
};

void print_table(const SelectionReport& report, const Verdict& verdict,
                 const SelectionFlags& flags) {
  Table table({{"LAYER", false, 40},
               {"CHOSEN"},
               {"US", true},
               {"FASTEST"},
               {"US", true},
               {"RATIO", true},
               {"OF", true},
               {""}});
  for (const LayerSelection& layer : report.layers) {
    const KernelTime& chosen = layer.kernels[0];
    const KernelTime& fastest = layer.kernels[layer.fastest()];
    table.add({layer.layer.name, chosen.kernel, fmt::format("{:.1f}", chosen.microseconds),
               fastest.kernel, fmt::format("{:.1f}", fastest.microseconds),
               fmt::format("{:.2f}", layer.ratio()), std::to_string(layer.kernels.size()),
               std::string(layer.wrong ? "wrong" : "") +
                   (layer.same_results() ? "" : " results differ")});
  }
  table.print();
  fmt::print(
      "\n{} of {} choices wrong, chosen {:.1f} us, fastest {:.1f} us; {} layers have one kernel; "
      "{}\n",
      verdict.wrong, report.layers.size(), verdict.chosen_us, verdict.fastest_us, report.single,
      device_info(flags.device).level);
}

Json to_json(const LayerSelection& layer) {
  Json kernels = Json::array();
  for (const KernelTime& time : layer.kernels) {
    kernels.push_back({{"kernel", time.kernel},
                       {"time_us", time.microseconds},
                       {"microseconds", time.microseconds},  // of schema 1
                       {"cost", time.cost},
                       {"same_result", time.same_result}});
  }
  return {{"name", layer.layer.name},
          {"op", layer.layer.op},
          {"signature", layer.layer.signature},
          {"chosen", layer.kernels[0].kernel},
          {"choice", to_string(layer.layer.choice)},
          {"fastest", layer.kernels[layer.fastest()].kernel},
          {"ratio", layer.ratio()},
          {"wrong", layer.wrong},
          {"macs", layer.layer.macs},
          {"kernels", std::move(kernels)}};
}

void print_object(const SelectionReport& report, const Verdict& verdict,
                  const SelectionFlags& flags) {
  Json layers = Json::array();
  for (const LayerSelection& layer : report.layers) layers.push_back(to_json(layer));
  print_json({{"layers", std::move(layers)},
              {"wrong", verdict.wrong},
              {"different", verdict.different},
              {"chosen_us", verdict.chosen_us},
              {"fastest_us", verdict.fastest_us},
              {"single", report.single},
              {"passed", !flags.tune.given() ? verdict.wrong + verdict.different == 0
                                             : verdict.different == 0},
              {"tolerance", flags.tolerance},
              {"threads", flags.threads},
              {"device", flags.device},
              {"isa", device_info(flags.device).level}});
}

void print_kernels(const LayerSelection& layer, const SelectionFlags& flags) {
  Table table({{"KERNEL"}, {"US", true}, {"GMAC/S", true}, {"ESTIMATED CYCLES", true}, {""}});
  for (const KernelTime& time : layer.kernels) {
    const double rate = static_cast<double>(layer.layer.macs) / (time.microseconds * 1e3);
    const bool chosen = &time == &layer.kernels.front();
    table.add({time.kernel, fmt::format("{:.1f}", time.microseconds),
               layer.layer.macs > 0 ? fmt::format("{:.1f}", rate) : "",
               time.cost > 0 ? fmt::format("{:.0f}", time.cost) : "",
               std::string(chosen ? "chosen" : "") + (time.same_result ? "" : " result differs")});
  }
  table.print();
  fmt::print("\n{}; {}\n", sanitize(layer.layer.signature), device_info(flags.device).level);
}

}  // namespace

int bench_layer(const std::string& signature, const SelectionFlags& flags) {
  SelectionOptions options;
  options.threads = flags.threads;
  options.tolerance = flags.tolerance;
  options.tuning = flags.tuning;
  options.device = flags.device;
  const LayerSelection layer = measure_layer(signature, options);
  if (flags.json) {
    Json object = to_json(layer);
    object["threads"] = flags.threads;
    object["device"] = flags.device;
    object["isa"] = device_info(flags.device).level;
    print_json(object);
  } else {
    print_kernels(layer, flags);
  }
  if (layer.same_results()) return kDone;
  print_error("the kernels give different results");
  return kThresholdFailed;
}

int assert_selection(const Engine& engine, std::span<const Tensor> inputs,
                     const SelectionFlags& flags) {
  SelectionOptions options;
  options.threads = flags.threads;
  options.tolerance = flags.tolerance;
  options.tuning = flags.tuning;
  options.device = flags.device;
  // What the file has for other layers and machines stays. Read first: a file that is none of ours ends this early.
  Tuning tuning;
  std::error_code unknown;
  if (flags.tune.given() && std::filesystem::exists(flags.tune.path(), unknown))
    tuning = load_tuning(flags.tune.path());
  const SelectionReport report = measure_selection(engine, inputs, options);
  const Verdict verdict(report);
  flags.json ? print_object(report, verdict, flags) : print_table(report, verdict, flags);
  if (verdict.different > 0)
    print_error(fmt::format("kernels of {} layers give different results", verdict.different));
  if (flags.tune.given()) {
    tune(report, flags.threads, tuning);
    write(flags.tune, tuning);
    return verdict.different > 0 ? kThresholdFailed : kDone;
  }
  if (verdict.wrong > 0) {
    const LayerSelection& worst = *verdict.worst;
    print_error(
        fmt::format("{} of {} layers run a kernel that is not the fastest; in '{}' {} takes {:.2f} "
                    "times as long as {}",
                    verdict.wrong, report.layers.size(), worst.layer.name, worst.kernels[0].kernel,
                    worst.ratio(), worst.kernels[worst.fastest()].kernel));
  }
  return verdict.wrong + verdict.different > 0 ? kThresholdFailed : kDone;
}

}  // namespace octet::cli
