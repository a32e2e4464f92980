// SPDX-License-Identifier: Apache-2.0
#include "cli/samples/output_errors.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/fail.h"
#include "cli/output/standard_files.h"
#include "octet/compile.h"

namespace octet::cli {
namespace {

void check_same(const char* what, const std::vector<TensorInfo>& reference,
                const std::vector<TensorInfo>& tested, const std::string& model) {
  bool same = reference.size() == tested.size();
  for (size_t i = 0; same && i < tested.size(); ++i) same = reference[i].name == tested[i].name;
  if (same) return;
  const auto names = [](const std::vector<TensorInfo>& infos) {
    std::string text;
    for (const TensorInfo& info : infos) text += (text.empty() ? "'" : ", '") + info.name + "'";
    return text;
  };
  fail(Error::Code::invalid_argument,
       "{}: its {} are {}, but those of the engine are {}; is it the model that the engine was "
       "built from?",
       model, what, names(reference), names(tested));
}

}  // namespace

Engine reference_for(const EngineSource& source, const Engine& engine) {
  const std::filesystem::path model = readable(source.path);
  CompileOptions options;
  options.weights_root = source.model.weights_root;
  options.plan.simulate = true;
  options.threads = source.threads;
  for (const TensorInfo& input : engine.inputs()) {
    if (input.type.shape.is_static()) options.input_shapes[input.name] = input.type.shape;
  }
  const bool built = model.extension() == ".octet" || begins_as_engine(model);
  Engine reference = built ? Engine::load(model) : compile(model, options);
  check_same("inputs", reference.inputs(), engine.inputs(), model.string());
  check_same("outputs", reference.outputs(), engine.outputs(), model.string());
  return reference;
}

std::string decibels(double value) {
  if (std::isfinite(value)) return fmt::format("{:.2f} dB", value);
  return value > 0 ? "exact" : "none in common";
}

nlohmann::ordered_json sqnr_json(double value) {
  if (std::isfinite(value)) return value;
  return value > 0 ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(kWorstSqnrDb);
}

void OutputErrors::add(const std::vector<Tensor>& reference, const std::vector<Tensor>& tested) {
  each_.resize(reference.size());
  for (size_t i = 0; i < reference.size(); ++i) {
    const std::vector<float> expected = to_floats(reference[i]);
    const std::vector<float> got = to_floats(tested[i]);
    if (expected.size() != got.size()) {
      fail(Error::Code::invalid_argument, "output {}: the reference gives {}, the engine {}", i,
           to_string(reference[i].type()), to_string(tested[i].type()));
    }
    each_[i].add(expected, got);
    all_.add(expected, got);
  }
}

}  // namespace octet::cli
