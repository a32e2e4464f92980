// SPDX-License-Identifier: Apache-2.0
// A plugin of open sizes for the tests of what becomes of plugins: it multiplies by a factor, on reals or on codes with the scales that it is
// told, and counts what is done to it.
#pragma once

#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "octet/tensor.h"
#include "support.h"

namespace trt_test {

// What was done to all plugins of a test together.
struct PluginCounts {
  std::atomic<int> alive = 0, initialized = 0, attached = 0, configured = 0, enqueued = 0,
                   deserialized = 0;
  std::mutex mutex;                    // of the rest
  cudaStream_t stream = nullptr;       // of the last run
  std::vector<PluginTensorDesc> last;  // of the last run
};

// What a plugin does wrong, if anything.
enum class Fault {
  kNone,
  kNullClone,
  kThrowsInClone,
  kReturnsItself,
  kThrowsInShapes,
  kNegativeSize,
  kLargeSize,  // which is no fault where sizes have 64 bits
  kNoOutputs,
  kNoFormats,
  kHalvesAlone,  // which is no fault
  kThrowsInFormats,
  kWritesMore,
  kThrowsInSerialize,
  kFailsInitialize,
  kFailsEnqueue,
  kThrowsInEnqueue,
  kNullDeserialized,
  kAsksForTooMuch,
};

struct FactorSettings {
  PluginCounts* counts = nullptr;
  Fault fault = Fault::kNone;
  // What tensors may be on codes; reals may lie in rows.
  std::function<bool(int, const PluginTensorDesc*)> codes = [](int, const PluginTensorDesc*) {
    return false;
  };
};

inline FactorSettings& factor_settings() {
  static FactorSettings settings;
  return settings;
}

class FactorPlugin : public IPluginV2DynamicExt {
 public:
  FactorPlugin(float factor, int inputs) : factor_(factor), inputs_(inputs) { count().alive += 1; }
  ~FactorPlugin() override { count().alive -= 1; }

  IPluginV2DynamicExt* clone() const override {
    if (fault() == Fault::kNullClone) return nullptr;
    if (fault() == Fault::kThrowsInClone) throw std::runtime_error("no more of these");
    if (fault() == Fault::kReturnsItself) return const_cast<FactorPlugin*>(this);
    return new FactorPlugin(factor_, inputs_);
  }
  DimsExprs getOutputDimensions(int32_t, DimsExprs const* inputs, int32_t,
                                IExprBuilder& builder) override {
    if (fault() == Fault::kThrowsInShapes) throw std::runtime_error("what shapes?");
    DimsExprs out = inputs[0];
    if (fault() == Fault::kNegativeSize) out.d[0] = builder.constant(-3);
    if (fault() == Fault::kLargeSize) {
      out.d[0] = builder.operation(DimensionOperation::kPROD, *builder.constant(1 << 20),
                                   *builder.constant(1 << 20));
    }
    return out;
  }
  bool supportsFormatCombination(int32_t pos, PluginTensorDesc const* inOut, int32_t,
                                 int32_t) override {
    if (fault() == Fault::kThrowsInFormats) throw std::runtime_error("formats");
    if (fault() == Fault::kNoFormats) return inOut[pos].type == DataType::kHALF && pos == 0;
    if (fault() == Fault::kHalvesAlone)
      return inOut[pos].type == DataType::kHALF && inOut[pos].format == TensorFormat::kLINEAR;
    if (inOut[pos].type == DataType::kINT8) return factor_settings().codes(pos, inOut);
    return inOut[pos].type == DataType::kFLOAT && inOut[pos].format == TensorFormat::kLINEAR &&
           (pos == 0 || inOut[0].type == DataType::kFLOAT || inputs_ > 1);
  }
  void configurePlugin(DynamicPluginTensorDesc const* in, int32_t, DynamicPluginTensorDesc const*,
                       int32_t) override {
    count().configured += 1;
    EXPECT_EQ(in[0].desc.dims.nbDims, in[0].max.nbDims);
  }
  size_t getWorkspaceSize(PluginTensorDesc const*, int32_t, PluginTensorDesc const*,
                          int32_t) const override {
    return fault() == Fault::kAsksForTooMuch ? static_cast<size_t>(-1) : 1000;
  }
  int32_t enqueue(PluginTensorDesc const* in, PluginTensorDesc const* out,
                  void const* const* inputs, void* const* outputs, void* workspace,
                  cudaStream_t) override;
  DataType getOutputDataType(int32_t, DataType const* types, int32_t) const override {
    return types[0];
  }
  char const* getPluginType() const override { return "Factor_TEST"; }
  char const* getPluginVersion() const override { return "2"; }
  int32_t getNbOutputs() const override { return fault() == Fault::kNoOutputs ? 0 : 1; }
  int32_t initialize() override {
    count().initialized += 1;
    return fault() == Fault::kFailsInitialize ? 7 : 0;
  }
  void terminate() override { count().initialized -= 1; }
  void attachToContext(cudnnContext*, cublasContext*, IGpuAllocator*) override {
    count().attached += 1;
  }
  void detachFromContext() override { count().attached -= 1; }
  size_t getSerializationSize() const override { return sizeof factor_ + sizeof inputs_; }
  void serialize(void* buffer) const override {
    if (fault() == Fault::kThrowsInSerialize) throw 5;
    auto* to = static_cast<char*>(buffer);
    std::memcpy(to, &factor_, sizeof factor_);
    std::memcpy(to + sizeof factor_, &inputs_, sizeof inputs_);
    if (fault() == Fault::kWritesMore) to[getSerializationSize() + 100] = 1;
  }
  void destroy() override { delete this; }
  void setPluginNamespace(char const* space) override { space_ = space; }
  char const* getPluginNamespace() const override { return space_.c_str(); }

 private:
  static PluginCounts& count() { return *factor_settings().counts; }
  static Fault fault() { return factor_settings().fault; }

  float factor_;
  int32_t inputs_;
  std::atomic<int> running_ = 0;
  std::string space_;
};

inline float real_of(const PluginTensorDesc& desc, const void* memory, int64_t at) {
  if (desc.type == DataType::kFLOAT) return static_cast<const float*>(memory)[at];
  if (desc.type == DataType::kHALF)
    return static_cast<float>(static_cast<const octet::f16*>(memory)[at]);
  return static_cast<float>(static_cast<const int8_t*>(memory)[at]) * desc.scale;
}

// The sum of all inputs, multiplied.
inline int32_t FactorPlugin::enqueue(PluginTensorDesc const* in, PluginTensorDesc const* out,
                                     void const* const* inputs, void* const* outputs,
                                     void* workspace, cudaStream_t stream) {
  if (fault() == Fault::kFailsEnqueue) return -1;
  if (fault() == Fault::kThrowsInEnqueue) throw std::runtime_error("out of luck");
  std::memset(workspace, 0x7f, 1000);
  count().enqueued += 1;
  EXPECT_EQ(running_++, 0);  // one run at a time on one object
  {
    const std::lock_guard lock(count().mutex);
    count().last.assign(in, in + inputs_);
    count().last.push_back(*out);
    count().stream = stream;
  }
  // Blocks of channels are filled up with zeros: all elements that lie there are computed alike.
  int64_t elements = volume(in[0].dims);
  if (in[0].format != TensorFormat::kLINEAR) {
    const int64_t block = in[0].format == TensorFormat::kCHW4 ? 4 : 32, channels = in[0].dims.d[1];
    elements = elements / channels * ((channels + block - 1) / block * block);
  }
  for (int64_t e = 0; e < elements; ++e) {
    float sum = 0;
    for (int i = 0; i < inputs_; ++i) {
      sum += real_of(in[i], inputs[i], e);
    }
    sum *= factor_;
    if (out->type == DataType::kFLOAT) {
      static_cast<float*>(outputs[0])[e] = sum;
    } else if (out->type == DataType::kHALF) {
      static_cast<octet::f16*>(outputs[0])[e] = octet::f16(sum);
    } else {
      const float code = std::nearbyint(sum / out->scale);
      static_cast<int8_t*>(outputs[0])[e] =
          static_cast<int8_t>(code < -128 ? -128.0F : (code > 127 ? 127.0F : code));
    }
  }
  --running_;
  return 0;
}

class FactorCreator : public IPluginCreator {
 public:
  char const* getPluginName() const override { return "Factor_TEST"; }
  char const* getPluginVersion() const override { return "2"; }
  PluginFieldCollection const* getFieldNames() override {
    static const PluginField fields[] = {{"factor", nullptr, PluginFieldType::kFLOAT32, 1},
                                         {"inputs", nullptr, PluginFieldType::kINT32, 1}};
    static const PluginFieldCollection all{2, fields};
    return &all;
  }
  IPluginV2* createPlugin(char const*, PluginFieldCollection const* fields) override {
    float factor = 1;
    int32_t inputs = 1;
    for (int32_t i = 0; i < fields->nbFields; ++i) {
      const PluginField& field = fields->fields[i];
      if (std::strcmp(field.name, "factor") == 0) factor = *static_cast<const float*>(field.data);
      if (std::strcmp(field.name, "inputs") == 0) inputs = *static_cast<const int32_t*>(field.data);
    }
    return new FactorPlugin(factor, inputs);
  }
  IPluginV2* deserializePlugin(char const*, void const* data, size_t length) override {
    factor_settings().counts->deserialized += 1;
    if (factor_settings().fault == Fault::kNullDeserialized) return nullptr;
    EXPECT_EQ(length, sizeof(float) + sizeof(int32_t));
    float factor;
    int32_t inputs;
    std::memcpy(&factor, data, sizeof factor);
    std::memcpy(&inputs, static_cast<const char*>(data) + sizeof factor, sizeof inputs);
    return new FactorPlugin(factor, inputs);
  }
  void setPluginNamespace(char const* space) override { space_ = space; }
  char const* getPluginNamespace() const override { return space_.c_str(); }

 private:
  std::string space_;
};

// A creator that is registered for one test, with what its plugins do there.
class FactorTest : public ::testing::Test {
 protected:
  FactorTest() {
    factor_settings() = {};
    factor_settings().counts = &counts;
    EXPECT_TRUE(getPluginRegistry()->registerCreator(creator_, ""));
  }
  ~FactorTest() override {
    EXPECT_EQ(counts.alive, 0);
    EXPECT_EQ(counts.attached, 0);
    EXPECT_TRUE(getPluginRegistry()->deregisterCreator(creator_));
  }

  // Null where it is refused. The client's own object is gone then.
  static IPluginV2Layer* add(INetworkDefinition& network, std::vector<ITensor*> inputs,
                             float factor) {
    FactorPlugin plugin(factor, static_cast<int>(inputs.size()));
    return network.addPluginV2(inputs.data(), static_cast<int32_t>(inputs.size()), plugin);
  }

  PluginCounts counts;

 private:
  FactorCreator creator_;
};

}  // namespace trt_test
