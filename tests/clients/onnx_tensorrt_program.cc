// SPDX-License-Identifier: Apache-2.0
// NVIDIA's own parser (onnx-tensorrt) makes a network of ours: onnx_tensorrt_program MODEL PLAN. Compiled with NVIDIA's headers. Where the model leaves
// sizes open, the profile has 1 to 4 for the first dimension and 128 for the others.
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include "NvInfer.h"
#include "NvOnnxParser.h"

using namespace nvinfer1;

namespace {

class Logger final : public ILogger {
 public:
  void log(Severity severity, char const* text) noexcept override {
    if (severity <= Severity::kWARNING) std::printf("log: %s\n", text);
  }
};

int failed(const char* what) {
  std::printf("failed: %s\n", what);
  return 1;
}

void set_profile(IBuilder& builder, INetworkDefinition& network, IBuilderConfig& config) {
  IOptimizationProfile* profile = builder.createOptimizationProfile();
  bool open = false;
  for (int32_t i = 0; i < network.getNbInputs(); ++i) {
    ITensor& input = *network.getInput(i);
    Dims sizes = input.getDimensions();
    bool one_is_open = false;
    for (int32_t d = 0; d < sizes.nbDims; ++d) {
      if (sizes.d[d] >= 0) continue;
      one_is_open = true;
      if (d > 0) sizes.d[d] = 128;
    }
    if (!one_is_open) continue;
    open = true;
    const bool open_batch = sizes.d[0] < 0;
    for (const auto& [which, batch] :
         {std::pair(OptProfileSelector::kMIN, 1), std::pair(OptProfileSelector::kOPT, 2),
          std::pair(OptProfileSelector::kMAX, 4)}) {
      if (open_batch) sizes.d[0] = batch;
      profile->setDimensions(input.getName(), which, sizes);
    }
  }
  if (open) config.addOptimizationProfile(profile);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return failed("usage: MODEL PLAN");
  Logger logger;
  const std::unique_ptr<IBuilder> builder(createInferBuilder(logger));
  const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
  const std::unique_ptr<nvonnxparser::IParser> parser(nvonnxparser::createParser(*network, logger));
  if (!parser->parseFromFile(argv[1], static_cast<int>(ILogger::Severity::kWARNING))) {
    for (int i = 0; i < parser->getNbErrors(); ++i)
      std::printf("%s: node %d: %s (%s:%d)\n", parser->getError(i)->nodeOperator(),
                  parser->getError(i)->node(), parser->getError(i)->desc(),
                  parser->getError(i)->file(), parser->getError(i)->line());
    return failed("no network");
  }
  const std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
  config->setFlag(BuilderFlag::kINT8);
  set_profile(*builder, *network, *config);
  const std::unique_ptr<IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  if (plan == nullptr) return failed("no plan");
  std::ofstream(argv[2], std::ios::binary)
      .write(static_cast<const char*>(plan->data()), static_cast<std::streamsize>(plan->size()));
  std::printf("layers %d\n", network->getNbLayers());
}
