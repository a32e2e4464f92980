// SPDX-License-Identifier: Apache-2.0
// Objects that programs derive from the library's classes, which do what none should: they throw, give nothing, less than nothing or too much. The
// library says that in the log, or lives with it.
#include <climits>

#include "expect.h"
#include "stories.h"

namespace hostile::stories {
namespace {

// Of a stream: how many bytes it says that it gave or took.
enum class Bytes { none, fewer_than_none, half, more, throwing };
constexpr Bytes kWrongBytes[] = {Bytes::none, Bytes::fewer_than_none, Bytes::half, Bytes::more,
                                 Bytes::throwing};

int64_t count_of(Bytes bytes, int64_t asked) {
  switch (bytes) {
    case Bytes::none:
      return 0;
    case Bytes::fewer_than_none:
      return -1;
    case Bytes::half:
      return asked / 2;
    case Bytes::more:
      return INT64_MAX;
    case Bytes::throwing:
      raise();
  }
  return 0;
}

std::string name_of(Bytes bytes) { return std::to_string(static_cast<int>(bytes)); }

class WrongReader final : public IStreamReader {
 public:
  explicit WrongReader(Bytes bytes) : bytes_(bytes) {}
  int64_t read(void*, int64_t asked) override { return count_of(bytes_, asked); }

 private:
  Bytes bytes_;
};

class WrongReaderV2 final : public IStreamReaderV2 {
 public:
  WrongReaderV2(Bytes bytes, bool seeks) : bytes_(bytes), seeks_(seeks) {}
  int64_t read(void*, int64_t asked, cudaStream_t) override { return count_of(bytes_, asked); }
  bool seek(int64_t, SeekPosition) override { return seeks_ || bytes_ == Bytes::none; }

 private:
  Bytes bytes_;
  bool seeks_;
};

class WrongWriter final : public IStreamWriter {
 public:
  explicit WrongWriter(Bytes bytes) : bytes_(bytes) {}
  int64_t write(void const*, int64_t asked) override { return count_of(bytes_, asked); }

 private:
  Bytes bytes_;
};

// y = relu(x).
void small_network(World& world) {
  ITensor& x = world.input();
  world.network().markOutput(
      *world.network().addActivation(x, ActivationType::kRELU)->getOutput(0));
}

enum class Wrong {
  batch_size_zero,
  batch_size_negative,
  batch_size_huge,
  batch_throws,
  batch_of_nothing,
  cache_of_nothing,
  cache_empty,
  cache_throws,
  algorithm_none,
  write_throws,
  kinds
};

class WrongCalibrator final : public IInt8EntropyCalibrator2 {
 public:
  explicit WrongCalibrator(Wrong wrong) : wrong_(wrong) {}
  int32_t getBatchSize() const override {
    if (wrong_ == Wrong::batch_size_zero) return 0;
    if (wrong_ == Wrong::batch_size_negative) return INT_MIN;
    return wrong_ == Wrong::batch_size_huge ? INT_MAX : 1;
  }
  bool getBatch(void** bindings, char const**, int32_t) override {
    if (wrong_ == Wrong::batch_throws) raise();
    if (calls_++ > 1) return false;
    bindings[0] = wrong_ == Wrong::batch_of_nothing ? nullptr : values_;
    return true;
  }
  void const* readCalibrationCache(std::size_t& length) override {
    if (wrong_ == Wrong::cache_throws) raise();
    length = wrong_ == Wrong::cache_of_nothing ? SIZE_MAX : 0;
    return wrong_ == Wrong::cache_empty ? values_ : nullptr;
  }
  void writeCalibrationCache(void const*, std::size_t) override {
    if (wrong_ == Wrong::write_throws) raise();
  }
  CalibrationAlgoType getAlgorithm() override {
    return wrong_ == Wrong::algorithm_none ? static_cast<CalibrationAlgoType>(99)
                                           : CalibrationAlgoType::kENTROPY_CALIBRATION_2;
  }

 private:
  Wrong wrong_;
  int calls_ = 0;
  float values_[256] = {1, 2, -1};
};

class ThrowingMonitor final : public IProgressMonitor {
 public:
  explicit ThrowingMonitor(int where) : where_(where) {}
  void phaseStart(char const*, char const*, int32_t) override {
    if (where_ == 0) raise();
  }
  bool stepComplete(char const*, int32_t) override {
    if (where_ == 1) raise();
    return where_ != 3;
  }
  void phaseFinish(char const*) override {
    if (where_ == 2) raise();
  }

 private:
  int where_;
};

class ThrowingProfiler final : public IProfiler {
 public:
  void reportLayerTime(char const*, float) override { raise(); }
};

class ThrowingLogger final : public ILogger {
 public:
  void log(Severity, char const*) override { raise(); }
};

class ThrowingRecorder final : public IErrorRecorder {
 public:
  int32_t getNbErrors() const override { return -1; }
  ErrorCode getErrorCode(int32_t) const override { raise(); }
  ErrorDesc getErrorDesc(int32_t) const override { return nullptr; }
  bool hasOverflowed() const override { raise(); }
  void clear() override { raise(); }
  bool reportError(ErrorCode, ErrorDesc) override { raise(); }
  RefCount incRefCount() override { raise(); }
  RefCount decRefCount() override { raise(); }
};

class WrongAllocator final : public IOutputAllocator {
 public:
  explicit WrongAllocator(int how) : how_(how) {}
  void* reallocateOutput(char const*, void*, uint64_t, uint64_t) override {
    if (how_ == 1) raise();
    return how_ == 0 ? nullptr : memory_;
  }
  void notifyShape(char const*, Dims const&) override {
    if (how_ == 2) raise();
  }

 private:
  int how_;
  char memory_[4096];
};

}  // namespace

void streams_of_plans() {
  World world;
  for (const Bytes bytes : kWrongBytes) {
    WrongReader reader(bytes);
    refused(world.logger, "a plan of reader " + name_of(bytes), [&] {
      return Own<ICudaEngine>(world.runtime().deserializeCudaEngine(reader)) != nullptr;
    });
    for (const bool seeks : {false, true}) {
      WrongReaderV2 second(bytes, seeks);
      refused(world.logger, "a plan of the second reader " + name_of(bytes), [&] {
        return Own<ICudaEngine>(world.runtime().deserializeCudaEngine(second)) != nullptr;
      });
    }
  }
  small_network(world);
  for (const Bytes bytes : kWrongBytes) {
    if (bytes == Bytes::more) continue;
    WrongWriter writer(bytes);
    refused(world.logger, "a plan to writer " + name_of(bytes), [&] {
      return world.builder().buildSerializedNetworkToStream(world.network(), world.config(),
                                                            writer);
    });
  }
}

void calibrators() {
  for (int wrong = 0; wrong < static_cast<int>(Wrong::kinds); ++wrong) {
    World world;
    small_network(world);
    WrongCalibrator calibrator(static_cast<Wrong>(wrong));
    world.config().setFlag(BuilderFlag::kINT8);
    world.config().setInt8Calibrator(&calibrator);
    const bool bears = wrong <= static_cast<int>(Wrong::batch_size_huge) ||
                       wrong == static_cast<int>(Wrong::cache_of_nothing) ||
                       wrong == static_cast<int>(Wrong::cache_empty) ||
                       wrong == static_cast<int>(Wrong::algorithm_none);
    if (bears) {
      builds(world);
    } else {
      refused(world.logger, "calibrator " + std::to_string(wrong), [&] { return builds(world); });
    }
    world.config().setInt8Calibrator(nullptr);
    expect(builds(world), "a build without it");
  }
}

void progress_monitors() {
  for (const int where : {0, 1, 2, 3}) {
    World world;
    small_network(world);
    ThrowingMonitor monitor(where);
    world.config().setProgressMonitor(&monitor);
    refused(world.logger, "monitor " + std::to_string(where), [&] { return builds(world); });
    world.config().setProgressMonitor(nullptr);
    expect(builds(world), "a build without it");
  }
}

void profilers() {
  World world;
  ThrowingProfiler profiler;
  IExecutionContext& context = world.context();
  context.setProfiler(&profiler);
  context.setInputShape("x", Dims2{2, 4});
  context.setTensorAddress("x", world.values);
  context.setTensorAddress("y", world.values + 64);
  refused(world.logger, "a run", [&] { return context.enqueueV3(nullptr); });
  context.setEnqueueEmitsProfile(false);
  expect(context.enqueueV3(nullptr), "a run that is not told");
  refused(world.logger, "its report", [&] { return context.reportToProfiler(); });
  context.setProfiler(nullptr);
  context.setEnqueueEmitsProfile(true);
  expect(context.enqueueV3(nullptr), "a run without it");
}

void loggers_and_recorders() {
  ThrowingLogger logger;
  const Own<IBuilder> builder(createInferBuilder(logger));
  const Own<INetworkDefinition> network(builder->createNetworkV2(1));
  expect(network->addInput(nullptr, DataType::kFLOAT, Dims2{1, 4}) == nullptr, "no input");
  const Own<IBuilderConfig> config(builder->createBuilderConfig());
  expect(builder->buildSerializedNetwork(*network, *config) == nullptr, "no plan of nothing");
  const Own<IParser> parser(nvonnxparser::createParser(*network, logger));
  expect(!parser->parse("no model", 8), "no model");
  const Own<IRuntime> runtime(createInferRuntime(logger));
  expect(runtime->deserializeCudaEngine("no plan", 7) == nullptr, "no plan");

  World world;
  ThrowingRecorder recorder;
  world.builder().setErrorRecorder(&recorder);
  world.network().setErrorRecorder(&recorder);
  world.runtime().setErrorRecorder(&recorder);
  world.engine().setErrorRecorder(&recorder);
  world.context().setErrorRecorder(&recorder);
  expect(!world.context().setInputShape("nothing", Dims2{1, 4}), "no input");
  expect(world.runtime().deserializeCudaEngine("no plan", 7) == nullptr, "no plan");
  expect(world.network().addInput(nullptr, DataType::kFLOAT, Dims2{1, 4}) == nullptr, "no input");
  expect(!world.builder().isNetworkSupported(world.network(), world.config()), "no network");
  getPluginRegistry()->setErrorRecorder(&recorder);
  expect(getPluginRegistry()->loadLibrary("/nowhere.so") == nullptr, "no library");
  getPluginRegistry()->setErrorRecorder(nullptr);
}

void output_allocators() {
  for (const int how : {0, 1, 2}) {
    World world;
    IExecutionContext& context = world.context();
    WrongAllocator allocator(how);
    context.setInputShape("x", Dims2{2, 4});
    context.setTensorAddress("x", world.values);
    context.setTensorAddress("y", nullptr);
    context.setOutputAllocator("y", &allocator);
    refused(world.logger, "a run with allocator " + std::to_string(how),
            [&] { return context.enqueueV3(nullptr); });
    context.setOutputAllocator("y", nullptr);
    context.setTensorAddress("y", world.values + 64);
    expect(context.enqueueV3(nullptr), "a run without it");
  }
}

}  // namespace hostile::stories
