// SPDX-License-Identifier: Apache-2.0
#include "stories.h"

#include "expect.h"

namespace hostile::stories {
namespace {

struct Parts {
  World world;  // whose plan is taken
  Logger logger;
  Own<IRuntime> runtime{createInferRuntime(logger)};
  Own<ICudaEngine> engine{runtime->deserializeCudaEngine(world.plan().data(), world.plan().size())};
  Own<IExecutionContext> context{engine->createExecutionContext()};
  float memory[64] = {};

  void run() {
    expect(context->setInputShape("x", Dims2{2, 4}), "sizes");
    context->setTensorAddress("x", memory);
    context->setTensorAddress("y", memory + 16);
    expect(context->enqueueV3(nullptr), "a run");
    expect(context->getTensorShape("y").d[0] == 2, "sizes of the output");
  }
};

}  // namespace

void runtime_before_engine() {
  Parts parts;
  parts.runtime.reset();
  parts.run();
  expect(parts.engine->getNbIOTensors() == 2, "tensors");
}

void engine_before_contexts() {
  Parts parts;
  const Own<IEngineInspector> inspector(parts.engine->createEngineInspector());
  parts.engine.reset();
  parts.run();
  expect(parts.context->getEngine().getNbIOTensors() == 2, "an engine to ask");
  expect(parts.context->setOptimizationProfileAsync(0, nullptr), "the profile");
  refused(parts.logger, "another profile",
          [&] { return parts.context->setOptimizationProfileAsync(1, nullptr); });
  expect(parts.context->setInputTensorAddress("x", parts.memory), "an input");
  expect(parts.context->getOutputTensorAddress("y") != nullptr, "an output");
  expect(inspector->getEngineInformation(LayerInformationFormat::kJSON) != nullptr, "layers");
}

void context_before_inspector() {
  Parts parts;
  const Own<IEngineInspector> inspector(parts.engine->createEngineInspector());
  expect(inspector->setExecutionContext(parts.context.get()), "a context");
  parts.run();
  expect(inspector->getExecutionContext() == parts.context.get(), "the context");
  parts.context.reset();
  expect(inspector->getExecutionContext() == nullptr, "no context any more");
  expect(inspector->getLayerInformation(0, LayerInformationFormat::kONELINE) != nullptr, "a layer");
}

void engine_before_refitter() {
  Parts parts;
  const Own<IRefitter> refitter(createInferRefitter(*parts.engine, parts.logger));
  expect(refitter != nullptr, "a refitter");
  parts.engine.reset();
  const float four[4] = {1, 2, 3, 4};
  expect(refitter->setWeights("added", WeightsRole::kCONSTANT, Weights{DataType::kFLOAT, four, 4}),
         "weights");
  expect(refitter->refitCudaEngine(), "a refit");
  parts.run();
  expect(parts.memory[16] == 1, "a run with the new weights");
}

void refitter_before_parser() {
  Parts parts;
  Own<IRefitter> refitter(createInferRefitter(*parts.engine, parts.logger));
  const Own<IParserRefitter> parser(nvonnxparser::createParserRefitter(*refitter, parts.logger));
  refitter.reset();
  refused(parts.logger, "a refit without its refitter",
          [&] { return parser->refitFromBytes("no model", 8); });
}

void network_before_parser() {
  Logger logger;
  const Own<IBuilder> builder(createInferBuilder(logger));
  Own<INetworkDefinition> network(builder->createNetworkV2(1));
  const Own<IParser> parser(nvonnxparser::createParser(*network, logger));
  network.reset();
  refused(logger, "a parser without its network", [&] { return parser->parse("no model", 8); });
  refused(logger, "its file", [&] { return parser->parseFromFile("/nowhere.onnx", 0); });
  refused(logger, "its support", [&] { return parser->supportsModelV2("no model", 8); });
  expect(parser->getLayerOutputTensor("x", 0) == nullptr, "its layers");
}

void timing_cache_before_configuration() {
  World world;
  Own<ITimingCache> cache(world.config().createTimingCache(nullptr, 0));
  expect(world.config().setTimingCache(*cache, false), "a cache");
  expect(world.config().getTimingCache() == cache.get(), "the cache");
  cache.reset();
  expect(world.config().getTimingCache() == nullptr, "no cache any more");
  world.input();
  world.use();
}

void builder_before_all() {
  Logger logger;
  Own<IBuilder> builder(createInferBuilder(logger));
  const Own<INetworkDefinition> network(builder->createNetworkV2(1));
  const Own<IBuilderConfig> config(builder->createBuilderConfig());
  ITensor* x = network->addInput("x", DataType::kFLOAT, Dims2{1, 4});
  builder.reset();
  network->markOutput(*network->addIdentity(*x)->getOutput(0));
  expect(network->getNbLayers() == 1, "a layer");
  const Own<IBuilder> other(createInferBuilder(logger));
  const Own<IHostMemory> plan(other->buildSerializedNetwork(*network, *config));
  expect(plan != nullptr, "a plan by another builder");
}

void logger_before_registry() {
  {
    Logger gone;
    const Own<IBuilder> builder(createInferBuilder(gone));
  }
  expect(getPluginRegistry()->loadLibrary("/nowhere/libplugins.so") == nullptr, "no library");
  Logger logger;
  Recorder recorder(logger);
  getPluginRegistry()->setErrorRecorder(&recorder);
  refused(logger, "no library",
          [] { return getPluginRegistry()->loadLibrary("/nowhere/libplugins.so") != nullptr; });
  expect(logger.last.find("/nowhere/libplugins.so") != std::string::npos, "its path");
  getPluginRegistry()->setErrorRecorder(nullptr);
}

void c_functions() {
  World world;
  Logger logger;
  constexpr int32_t kVersion = NV_TENSORRT_VERSION;
  expect(createInferBuilder_INTERNAL(nullptr, kVersion) == nullptr, "a builder without a logger");
  expect(createInferRuntime_INTERNAL(nullptr, kVersion) == nullptr, "a runtime without a logger");
  for (const int32_t version : {-1, 0, 1, 8601, 90100, 110000, 2147483647}) {
    refused(logger, "a program of another version",
            [&] { return createInferBuilder_INTERNAL(&logger, version) != nullptr; });
    refused(logger, "a program of another version",
            [&] { return createInferRuntime_INTERNAL(&logger, version) != nullptr; });
    refused(logger, "a program of another version", [&] {
      return createInferRefitter_INTERNAL(&world.engine(), &logger, version) != nullptr;
    });
  }
  refused(logger, "a refitter of nothing",
          [&] { return createInferRefitter_INTERNAL(nullptr, &logger, kVersion) != nullptr; });
  expect(createInferRefitter_INTERNAL(&world.engine(), nullptr, kVersion) == nullptr,
         "a refitter without a logger");
  refused(logger, "a parser of nothing",
          [&] { return createNvOnnxParser_INTERNAL(nullptr, &logger, 100) != nullptr; });
  refused(logger, "a parser's refitter of nothing",
          [&] { return createNvOnnxParserRefitter_INTERNAL(nullptr, &logger, 100) != nullptr; });
  for (const int32_t capability : {-1, 7}) {
    expect(getBuilderPluginRegistry(static_cast<EngineCapability>(capability)) != nullptr,
           "a registry");
  }
  setInternalLibraryPath(nullptr);
}

void plugin_libraries() {
  Logger logger;
  Recorder recorder(logger);
  IPluginRegistry& registry = *getPluginRegistry();
  registry.setErrorRecorder(&recorder);
  for (const char* path : {HOSTILE_PLUGINS_OF_8, HOSTILE_PLUGINS_OF_NOTHING, "/dev/null", "/"}) {
    refused(logger, path, [&] { return registry.loadLibrary(path) != nullptr; });
  }
  expect(registry.getCreator("FromLibrary", "1", "") == nullptr, "no creator of theirs");
  registry.deregisterLibrary(nullptr);
  registry.deregisterLibrary(&registry);
  registry.setErrorRecorder(nullptr);
}

}  // namespace hostile::stories
