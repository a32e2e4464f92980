// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/builder/quiet_channels.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "octet/error.h"
#include "octet/inspect.h"

namespace octet_trt {
namespace {

constexpr int kMadeUpSamples = 4;

// The same numbers on every machine.
class Noise {
 public:
  // From 0 to 1.
  float next() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<float>(state_ >> 40) / static_cast<float>(1 << 24);
  }

 private:
  uint64_t state_ = 1;
};

// Whether an input is ever negative is not known: every other sample is.
octet::Tensor made_up(const MadeUpInput& input, int sample, Noise& noise) {
  octet::Tensor tensor(octet::Dtype::f32, input.shape);
  auto* values = reinterpret_cast<float*>(tensor.mutable_data());
  const float least = sample % 2 == 0 ? 0 : -input.most;
  for (int64_t i = 0; i < input.shape.elements(); ++i)
    values[i] = least + (input.most - least) * noise.next();
  return tensor;
}

octet::SampleSource made_up_samples(const std::vector<MadeUpInput>& inputs) {
  return [inputs, sample = 0, noise = Noise()](std::vector<octet::Tensor>& tensors) mutable {
    if (sample == kMadeUpSamples) return false;
    tensors.clear();
    for (const MadeUpInput& input : inputs) tensors.push_back(made_up(input, sample, noise));
    ++sample;
    return true;
  };
}

float most_of(const Tensor& tensor) {
  if (!tensor.range) return 1;
  const float most = std::max(std::abs(tensor.range->min), std::abs(tensor.range->max));
  return most > 0 ? most : 1;
}

}  // namespace

std::vector<MadeUpInput> made_up_inputs(const Network& network, const Config& config,
                                        const std::vector<Binding>& bindings) {
  std::vector<MadeUpInput> inputs;
  size_t place = 0;
  for (const Binding& binding : bindings) {
    if (!binding.is_input) continue;
    const Tensor& tensor = *network.network_inputs()[place++];
    Dims dims = binding.dims;
    if (!config.profiles().empty()) {
      const auto& shapes = config.profiles()[0].shapes;
      const auto found = shapes.find(binding.name);
      if (found != shapes.end()) dims = to_dims(found->second[1]);
    }
    if (network.is_implicit()) dims = with_front(1, dims);
    if (dims.nbDims > 0 && dims.d[0] < 0) dims.d[0] = 1;
    const bool is_real = binding.type == DataType::kFLOAT || binding.type == DataType::kHALF;
    if (!is_real || volume(dims) <= 0) return {};
    inputs.push_back({to_shape(dims), most_of(tensor)});
  }
  return inputs;
}

std::map<std::string, std::string> layers_of_quiet_channels(
    std::string_view model, const octet::CompileOptions& options,
    const std::vector<MadeUpInput>& inputs) {
  octet::CompileOptions shown;
  shown.threads = options.threads;
  shown.monitor = options.monitor;
  shown.weights_folder = options.weights_folder;
  shown.plan.int8 = true;
  shown.calibration.emplace();
  shown.calibration->samples = made_up_samples(inputs);
  shown.calibration->raw_pixels = true;
  // What equalizes channels takes data, too.
  shown.calibration->equalize = false;
  std::map<std::string, std::string> found;
  try {
    const octet::Engine engine = octet::compile(std::as_bytes(std::span(model)), shown);
    for (const octet::LayerInfo& layer : octet::inspect(engine).layers) {
      if (layer.reason_code == octet::ReasonCode::channel_loss && !layer.nodes.empty())
        found.emplace(layer.nodes.front(), layer.reason);
    }
  } catch (const octet::Error& error) {
    // What is wrong with the model is told when it is built; that somebody ends the build is no matter of the model.
    if (error.code() == octet::Error::Code::cancelled) throw;
  }
  return found;
}

}  // namespace octet_trt
