// SPDX-License-Identifier: Apache-2.0
#include "world.h"

#include <cstdlib>

namespace hostile {
namespace {

[[noreturn]] void broken(const char* what, const Logger& logger) {
  std::fprintf(stderr, "hostile: the usual program has no %s: %s\n", what, logger.last.c_str());
  std::_Exit(3);
}

template <class T>
T& made(Own<T>& slot, const char* what, const Logger& logger, const std::function<T*()>& make) {
  if (slot == nullptr) slot.reset(make());
  if (slot == nullptr) broken(what, logger);
  return *slot;
}

constexpr uint32_t kExplicit = 1U;

}  // namespace

Plugin::Shapes& Plugin::shapes() {
  static Shapes one;
  return one;
}

Plugin::Attached& Plugin::attached() {
  static Attached one;
  return one;
}

World::World() {
  for (auto& text : texts) text = "x";
  for (auto& tensor : tensors) tensor = nullptr;
  for (auto& binding : bindings) binding = memory.data();
}

World::~World() {
  parser_refitter_.reset();
  refitter_.reset();
  context_.reset();
  kept_.clear();
  engine_.reset();
  runtime_.reset();
  parser_.reset();
  network_.reset();
  other_.reset();
  config_.reset();
  timing_cache_.reset();
  builder_.reset();
}

IBuilder& World::builder() {
  return made<IBuilder>(builder_, "builder", logger, [this] { return createInferBuilder(logger); });
}

INetworkDefinition& World::network() {
  return made<INetworkDefinition>(network_, "network", logger,
                                  [this] { return builder().createNetworkV2(kExplicit); });
}

IBuilderConfig& World::config() {
  return made<IBuilderConfig>(config_, "configuration", logger,
                              [this] { return builder().createBuilderConfig(); });
}

ITensor& World::input() {
  if (input_ == nullptr) input_ = network().addInput("usual", DataType::kFLOAT, Dims4{1, 4, 8, 8});
  if (input_ == nullptr) broken("input", logger);
  for (auto& tensor : tensors) tensor = input_;
  return *input_;
}

ITensor& World::integers() {
  if (integers_ == nullptr) {
    static const int32_t four[4] = {0, 1, 2, 3};
    IConstantLayer* constant =
        network().addConstant(Dims{1, {4}}, Weights{DataType::kINT32, four, 4});
    if (constant == nullptr) broken("constant", logger);
    integers_ = constant->getOutput(0);
  }
  return *integers_;
}

ITensor& World::foreign() {
  if (foreign_ == nullptr) {
    other_.reset(builder().createNetworkV2(kExplicit));
    foreign_ = other_->addInput("x", DataType::kFLOAT, Dims4{1, 4, 8, 8});
  }
  return *foreign_;
}

ILoop& World::loop() {
  ILoop* loop = network().addLoop();
  if (loop == nullptr) broken("loop", logger);
  return *loop;
}

IIfConditional& World::conditional() {
  IIfConditional* conditional = network().addIfConditional();
  if (conditional == nullptr) broken("condition", logger);
  return *conditional;
}

IAttention& World::attention() {
  IAttention* attention =
      network().addAttention(input(), input(), input(), AttentionNormalizationOp::kSOFTMAX, false);
  if (attention == nullptr) broken("attention", logger);
  return *attention;
}

IOptimizationProfile& World::profile() {
  IOptimizationProfile* profile = builder().createOptimizationProfile();
  if (profile == nullptr) broken("profile", logger);
  return *profile;
}

ITimingCache& World::timing_cache() {
  return made<ITimingCache>(timing_cache_, "timing cache", logger,
                            [this] { return config().createTimingCache(nullptr, 0); });
}

IParser& World::parser() {
  return made<IParser>(parser_, "parser", logger,
                       [this] { return nvonnxparser::createParser(network(), logger); });
}

// y = relu(x) + a constant, that can be refitted.
const std::vector<char>& World::plan() {
  if (!plan_.empty()) return plan_;
  const Own<INetworkDefinition> network(builder().createNetworkV2(kExplicit));
  const Own<IBuilderConfig> config(builder().createBuilderConfig());
  ITensor* x = network->addInput("x", DataType::kFLOAT, Dims2{-1, 4});
  IConstantLayer* constant =
      network->addConstant(Dims2{1, 4}, Weights{DataType::kFLOAT, values, 4});
  constant->setName("added");
  ILayer* relu = network->addActivation(*x, ActivationType::kRELU);
  ILayer* sum = network->addElementWise(*relu->getOutput(0), *constant->getOutput(0),
                                        ElementWiseOperation::kSUM);
  sum->getOutput(0)->setName("y");
  network->markOutput(*sum->getOutput(0));
  IOptimizationProfile& sizes = profile();
  for (const auto select : {OptProfileSelector::kMIN, OptProfileSelector::kOPT})
    sizes.setDimensions("x", select, Dims2{1, 4});
  sizes.setDimensions("x", OptProfileSelector::kMAX, Dims2{8, 4});
  config->addOptimizationProfile(&sizes);
  config->setFlag(BuilderFlag::kREFIT);
  const Own<IHostMemory> bytes(builder().buildSerializedNetwork(*network, *config));
  if (bytes == nullptr) broken("plan", logger);
  const auto* first = static_cast<const char*>(bytes->data());
  plan_.assign(first, first + bytes->size());
  return plan_;
}

IRuntime& World::runtime() {
  return made<IRuntime>(runtime_, "runtime", logger, [this] { return createInferRuntime(logger); });
}

ICudaEngine& World::engine() {
  return made<ICudaEngine>(engine_, "engine", logger, [this] {
    return runtime().deserializeCudaEngine(plan().data(), plan().size());
  });
}

IExecutionContext& World::context() {
  return made<IExecutionContext>(context_, "context", logger, [this] {
    IExecutionContext* context = engine().createExecutionContext();
    context->setInputShape("x", Dims2{1, 4});
    context->setTensorAddress("x", memory.data());
    context->setTensorAddress("y", memory.data() + 4096);
    return context;
  });
}

IRefitter& World::refitter() {
  return made<IRefitter>(refitter_, "refitter", logger,
                         [this] { return createInferRefitter(engine(), logger); });
}

IParserRefitter& World::parser_refitter() {
  return made<IParserRefitter>(parser_refitter_, "parser's refitter", logger, [this] {
    return nvonnxparser::createParserRefitter(refitter(), logger);
  });
}

void World::use() {
  if (refitter_ != nullptr) refitter_->refitCudaEngine();
  if (engine_ != nullptr) context();
  if (context_ != nullptr) context_->enqueueV3(nullptr);
  if (network_ == nullptr) return;
  if (network_->getNbOutputs() == 0) {
    ILayer* last = layer_;
    if (last == nullptr) last = network_->addIdentity(input());
    ITensor* output = last == nullptr ? nullptr : last->getOutput(0);
    if (output == nullptr) return;
    output->getDimensions();
    output->getType();
    network_->markOutput(*output);
  }
  const Own<ICudaEngine> engine(builder().buildEngineWithConfig(network(), config()));
  if (engine == nullptr) return;
  const Own<IExecutionContext> context(engine->createExecutionContext());
  // Memory of the usual program holds no more.
  for (int32_t i = 0; context != nullptr && i < engine->getNbIOTensors(); ++i) {
    const char* name = engine->getIOTensorName(i);
    const Dims sizes = context->getTensorShape(name);
    auto bytes = int64_t{8};
    for (int32_t axis = 0; axis < sizes.nbDims; ++axis) {
      if (__builtin_mul_overflow(bytes, sizes.d[axis], &bytes)) return;
    }
    if (bytes < 0 || bytes > static_cast<int64_t>(memory.size())) return;
    context->setTensorAddress(name, memory.data());
  }
  if (context != nullptr) context->enqueueV3(nullptr);
}

}  // namespace hostile
