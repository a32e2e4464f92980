// SPDX-License-Identifier: Apache-2.0
// One plugin of a client, whatever class it derives from: what a network, a build and a run ask of it. Whatever it throws, and every answer
// that cannot be true, becomes an octet::Error that names plugin and function.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensorrt/shared/report.h"
#include "tensorrt/shared/types.h"

namespace octet_trt {

// What a run tells of a plugin's results.
struct ToldSizes {
  std::vector<std::vector<bool>> open;  // of each output and dimension; empty: the inputs tell all
  std::vector<int32_t> by;              // the outputs that are size tensors
};
using SizeValues = std::map<int32_t, int64_t>;  // of size tensors

// The numbers of a shape input, one after another; nothing where one is not known yet.
using ShapeNumbers = std::vector<std::optional<int64_t>>;

inline constexpr size_t kMostShapeNumbers = Dims::MAX_DIMS;  // DimsExprs has room for no more

// What the sizes of outputs follow from. Nothing else is told of shape inputs: they are among the tensors of no other question.
struct SizeSources {
  std::vector<Dims> inputs;
  std::vector<ShapeNumbers> shapes;
  std::vector<DataType> types;  // of the inputs
};

// What a creator is found by.
struct PluginName {
  std::string type, version, space;
  std::string text() const { return "plugin '" + type + "' version " + version; }
};

// The tensors of one call as plugins are told of them: inputs, then outputs; shape inputs are none of them. Without the batch where it is implicit.
struct PluginIo {
  std::vector<DynamicPluginTensorDesc> tensors;
  int32_t inputs = 0;
  int32_t batch = 1;  // where it is implicit

  int32_t outputs() const { return static_cast<int32_t>(tensors.size()) - inputs; }
  const DynamicPluginTensorDesc* out() const { return tensors.data() + inputs; }
  std::vector<PluginTensorDesc> descs() const;
};

DynamicPluginTensorDesc describe(const Dims& dims, DataType type, TensorFormat format, float scale);
// Whether what is configured for `a` runs `b`: the same tensors, of a batch that is no larger.
bool same(const PluginIo& a, const PluginIo& b);

struct PluginCall {
  const PluginIo& io;
  void const* const* inputs;
  void* const* outputs;
  void* workspace;
  cudaStream_t stream;
  const void* queue = nullptr;  // whose work goes on when the call returns; null: it is done then
};

class PluginObject {
 public:
  virtual ~PluginObject() = default;
  virtual std::unique_ptr<PluginObject> clone() const = 0;
  virtual int32_t output_count() const = 0;
  // Whether sizes may be open while the network is made.
  virtual bool is_dynamic() const = 0;
  virtual std::vector<DataType> output_types(const SizeSources& from) const = 0;
  // -1 for sizes that are not known yet; of sizes that outputs tell, what they are at most.
  virtual std::vector<Dims> output_dims(const SizeSources& from) const = 0;
  virtual ToldSizes told_sizes(const SizeSources&) const { return {}; }
  // What output_dims() says when size tensors have been written.
  virtual std::vector<Dims> told_dims(const SizeSources& from, const SizeValues&) const {
    return output_dims(from);
  }
  // Whether tensor `at` may be as it stands; what comes behind it means nothing.
  virtual bool supports(int32_t at, const PluginIo& io) const = 0;
  virtual void configure(const PluginIo& io) = 0;
  virtual size_t workspace(const PluginIo& io) const = 0;
  // Of a plugin that was configured.
  virtual std::string serialize() const = 0;
  // One for a run: configured for it, unless it is `as_serialized`, initialized, attached. Its end undoes that.
  virtual std::unique_ptr<PluginObject> started(const PluginIo& io, bool as_serialized) const = 0;
  // Other sizes, for one that was started; false: make another one.
  virtual bool resize(const PluginIo& io) = 0;
  // The input that output i is written over, or -1.
  virtual int32_t aliased_input(int32_t i) const = 0;
  virtual void enqueue(const PluginCall& call) = 0;
  // The client's object, as its class is.
  virtual IPluginV2* v2() const { return nullptr; }
#if NV_TENSORRT_MAJOR >= 10
  virtual IPluginV3* v3() const { return nullptr; }
#endif
};

// Of a client's object, which stays the client's: a clone of it is kept. `name` gets its type and version.
std::unique_ptr<PluginObject> adopt_clone(IPluginV2& plugin, PluginName& name);
// What a creator made, which is ours from now on. Null is an error.
std::unique_ptr<PluginObject> adopt(IPluginV2* plugin, const PluginName& name, const char* maker);
#if NV_TENSORRT_MAJOR >= 10
std::unique_ptr<PluginObject> adopt_clone(IPluginV3& plugin, PluginName& name);
std::unique_ptr<PluginObject> adopt(IPluginV3* plugin, const PluginName& name, const char* maker);
// Of the runtime phase, in which a plugin need not show how it is built: one of the build phase then tells sizes and workspace.
std::unique_ptr<PluginObject> adopt_runtime(IPluginV3* plugin, const PluginName& name,
                                            const std::function<IPluginV3*()>& make_builder);
#endif

// By the creator that the registry has under this name. `layer` is what the plugin is called in its network.
std::unique_ptr<PluginObject> create_plugin(const PluginName& name, const std::string& layer,
                                            const PluginFieldCollection& fields);
std::unique_ptr<PluginObject> deserialize_plugin(const PluginName& name, const std::string& layer,
                                                 std::string_view state);

[[noreturn]] void plugin_failed(const PluginName& name, const std::string& what);

// What a function of a plugin made of it, which is to be ours: another object, or there are two owners of one.
template <class Plugin>
Plugin* checked_clone(Plugin* made, const Plugin* plugin, const PluginName& name,
                      const char* function) {
  if (made == plugin)
    plugin_failed(name, std::string(function) + " returned the plugin itself, not a clone");
  if (made == nullptr) plugin_failed(name, std::string(function) + " returned a null pointer");
  return made;
}

// Runs a function of a plugin; what it throws is an error that names it.
template <class Work>
auto ask_plugin(const PluginName& name, const char* function, const Work& work) {
  try {
    return work();
  } catch (const octet::Error& error) {
    const std::string what = error.what();
    if (what.find(name.text()) != std::string::npos) throw;
    plugin_failed(name, std::string(function) + ": " + what);
  } catch (const std::exception& error) {
    plugin_failed(name, std::string(function) + " let an exception out: " + error.what());
  } catch (...) {
    plugin_failed(name, std::string(function) + " let an exception out");
  }
}

}  // namespace octet_trt
