// SPDX-License-Identifier: Apache-2.0
// Plugins and creators of programs that do what none should, one thing each.
#include <climits>

#include "expect.h"
#include "stories.h"

namespace hostile::stories {
namespace {

// What a plugin does wrong, one thing at a time.
enum class Fault {
  no_core,
  no_build,
  no_runtime,
  no_name,
  outputs_none,
  outputs_fewer_than_none,
  outputs_many,
  types_refused,
  type_none,
  shapes_refused,
  rank_negative,
  rank_nine,
  sizes_nothing,
  formats_none,
  configure_refused,
  workspace_huge,
  tactics_negative,
  aliased_beyond,
  clone_nothing,
  clone_throws,
  attach_nothing,
  fields_nothing,
  fields_negative,
  fields_of_nothing,
  change_refused,
  enqueue_refused,
  enqueue_throws,
  kinds
};

class WrongPlugin final : public IPluginV3,
                          public IPluginV3OneCore,
                          public IPluginV3OneBuildV2,
                          public IPluginV3OneRuntime {
 public:
  explicit WrongPlugin(Fault fault) : fault_(fault) {}
  IPluginCapability* getCapabilityInterface(PluginCapabilityType type) override {
    if (type == PluginCapabilityType::kCORE)
      return is(Fault::no_core) ? nullptr : static_cast<IPluginV3OneCore*>(this);
    if (type == PluginCapabilityType::kBUILD)
      return is(Fault::no_build) ? nullptr : static_cast<IPluginV3OneBuildV2*>(this);
    return is(Fault::no_runtime) ? nullptr : static_cast<IPluginV3OneRuntime*>(this);
  }
  IPluginV3* clone() override {
    if (is(Fault::clone_throws)) raise();
    return is(Fault::clone_nothing) ? nullptr : new WrongPlugin(fault_);
  }
  char const* getPluginName() const override { return is(Fault::no_name) ? nullptr : "Wrong"; }
  char const* getPluginVersion() const override { return "1"; }
  char const* getPluginNamespace() const override { return ""; }
  int32_t getNbOutputs() const override {
    if (is(Fault::outputs_none)) return 0;
    if (is(Fault::outputs_fewer_than_none)) return INT_MIN;
    return is(Fault::outputs_many) ? INT_MAX : 1;
  }
  int32_t configurePlugin(DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const*,
                          int32_t) override {
    return is(Fault::configure_refused) ? -1 : 0;
  }
  int32_t getOutputDataTypes(DataType* types, int32_t, DataType const* inputs,
                             int32_t) const override {
    types[0] = is(Fault::type_none) ? static_cast<DataType>(99) : inputs[0];
    return is(Fault::types_refused) ? 1 : 0;
  }
  int32_t getOutputShapes(DimsExprs const* inputs, int32_t, DimsExprs const*, int32_t,
                          DimsExprs* outputs, int32_t, IExprBuilder&) override {
    outputs[0] = inputs[0];
    if (is(Fault::rank_negative)) outputs[0].nbDims = -5;
    if (is(Fault::rank_nine)) outputs[0].nbDims = 9;
    if (is(Fault::sizes_nothing)) outputs[0].d[0] = nullptr;
    return is(Fault::shapes_refused) ? 1 : 0;
  }
  bool supportsFormatCombination(int32_t, DynamicPluginTensorDesc const* descs, int32_t,
                                 int32_t) override {
    return !is(Fault::formats_none) && descs[0].desc.type == DataType::kFLOAT &&
           descs[0].desc.format == TensorFormat::kLINEAR;
  }
  size_t getWorkspaceSize(DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const*,
                          int32_t) const override {
    return is(Fault::workspace_huge) ? SIZE_MAX : 0;
  }
  int32_t getNbTactics() override { return is(Fault::tactics_negative) ? -3 : 0; }
  int32_t getAliasedInput(int32_t) override { return is(Fault::aliased_beyond) ? 99 : -1; }
  int32_t onShapeChange(PluginTensorDesc const*, int32_t, PluginTensorDesc const*,
                        int32_t) override {
    return is(Fault::change_refused) ? 1 : 0;
  }
  int32_t enqueue(PluginTensorDesc const*, PluginTensorDesc const*, void const* const*,
                  void* const*, void*, cudaStream_t) override {
    if (is(Fault::enqueue_throws)) raise();
    return is(Fault::enqueue_refused) ? -1 : 0;
  }
  IPluginV3* attachToContext(IPluginResourceContext*) override {
    return is(Fault::attach_nothing) ? nullptr : new WrongPlugin(fault_);
  }
  PluginFieldCollection const* getFieldsToSerialize() override {
    if (is(Fault::fields_negative)) fields_ = {-1, nullptr};
    if (is(Fault::fields_of_nothing)) fields_ = {2, nullptr};
    return is(Fault::fields_nothing) ? nullptr : &fields_;
  }

 private:
  bool is(Fault fault) const { return fault_ == fault; }

  Fault fault_;
  PluginFieldCollection fields_{0, nullptr};
};

// Makes plugins of one fault, also where a plan is loaded.
class FaultyCreator final : public IPluginCreatorV3One {
 public:
  explicit FaultyCreator(Fault fault) : fault_(fault) {}
  IPluginV3* createPlugin(AsciiChar const*, PluginFieldCollection const*, TensorRTPhase) override {
    return new WrongPlugin(fault_);
  }
  PluginFieldCollection const* getFieldNames() override { return &fields_; }
  AsciiChar const* getPluginName() const override { return "Wrong"; }
  AsciiChar const* getPluginVersion() const override { return "1"; }
  AsciiChar const* getPluginNamespace() const override { return ""; }

 private:
  Fault fault_;
  PluginFieldCollection fields_{0, nullptr};
};

// From the network to a run; false where something failed.
bool runs_plugin(World& world, IPluginV3& plugin) {
  ITensor* input = &world.input();
  IPluginV3Layer* layer = world.network().addPluginV3(&input, 1, nullptr, 0, plugin);
  if (layer == nullptr || layer->getOutput(0) == nullptr) return false;
  layer->getOutput(0)->setName("out");
  world.network().markOutput(*layer->getOutput(0));
  const Own<IHostMemory> plan(
      world.builder().buildSerializedNetwork(world.network(), world.config()));
  if (plan == nullptr) return false;
  const Own<ICudaEngine> engine(world.runtime().deserializeCudaEngine(plan->data(), plan->size()));
  if (engine == nullptr) return false;
  const Own<IExecutionContext> context(engine->createExecutionContext());
  if (context == nullptr) return false;
  context->setTensorAddress("usual", world.values);
  context->setTensorAddress("out", world.values + 512);
  return context->enqueueV3(nullptr);
}

// Names and fields of a creator that are none.
class WrongCreator final : public IPluginCreatorV3One {
 public:
  explicit WrongCreator(int how) : how_(how) {
    if (how_ == 4) fields_ = {-1, nullptr};
    if (how_ == 5) fields_ = {3, nullptr};
    if (how_ == 6) fields_ = {1, &unnamed_};
  }
  IPluginV3* createPlugin(AsciiChar const*, PluginFieldCollection const*, TensorRTPhase) override {
    if (how_ == 8) raise();
    return nullptr;
  }
  PluginFieldCollection const* getFieldNames() override {
    if (how_ == 7) raise();
    return how_ == 3 ? nullptr : &fields_;
  }
  AsciiChar const* getPluginName() const override {
    if (how_ == 9) raise();
    return how_ == 0 ? nullptr : "Wrong";
  }
  AsciiChar const* getPluginVersion() const override { return how_ == 1 ? nullptr : "1"; }
  AsciiChar const* getPluginNamespace() const override { return how_ == 2 ? nullptr : ""; }
  static constexpr int kWays = 10;

 private:
  int how_;
  PluginField unnamed_{nullptr, nullptr, PluginFieldType::kFLOAT32, 1};
  PluginFieldCollection fields_{0, nullptr};
};

// protobuf: a model with one node Wrong(x) = y, whose attribute `a` is 1.
std::string model_with_wrong() {
  const auto field = [](int number, const std::string& bytes) {
    return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
  };
  const auto number = [](int at, int value) {
    return std::string{static_cast<char>(at << 3), static_cast<char>(value)};
  };
  const auto value_info = [&](const char* name) {
    const std::string shape = field(1, number(1, 4));
    return field(1, name) + field(2, field(1, number(1, 1) + field(2, shape)));
  };
  const std::string attribute = field(1, "a") + number(3, 1) + std::string{'\xa0', '\x01', '\x02'};
  const std::string node =
      field(1, "x") + field(2, "y") + field(3, "n") + field(4, "Wrong") + field(5, attribute);
  const std::string graph =
      field(1, node) + field(2, "g") + field(11, value_info("x")) + field(12, value_info("y"));
  return number(1, 8) + field(7, graph) + field(8, number(2, 17));
}

}  // namespace

void creators() {
  const std::string model = model_with_wrong();
  for (int how = 0; how < WrongCreator::kWays; ++how) {
    World world;
    WrongCreator creator(how);
    getPluginRegistry()->setErrorRecorder(&world.recorder);
    const bool registered = getPluginRegistry()->registerCreator(creator, "");
    int32_t count = 0;
    getPluginRegistry()->getAllCreators(&count);
    getPluginRegistry()->getCreator("Wrong", "1", "");
    if (registered) {
      refused(world.logger, "a model for creator " + std::to_string(how), [&] {
        return world.parser().parse(model.data(), model.size()) &&
               world.network().getNbInputs() > 0 && builds(world);
      });
    }
    getPluginRegistry()->deregisterCreator(creator);
    getPluginRegistry()->setErrorRecorder(nullptr);
  }
}

void plugins() {
  for (int kind = 0; kind < static_cast<int>(Fault::kinds); ++kind) {
    World world;
    const Fault fault = static_cast<Fault>(kind);
    FaultyCreator creator(fault);
    expect(getPluginRegistry()->registerCreator(creator, ""), "a creator");
    {
      WrongPlugin plugin(fault);
      const auto work = [&] { return runs_plugin(world, plugin); };
      // The creator has a name, and fewer tactics than none are none.
      if (fault == Fault::no_name || fault == Fault::tactics_negative)
        expect(work(), "plugin " + std::to_string(kind) + ", which runs");
      else
        refused(world.logger, "plugin " + std::to_string(kind), work);
    }
    expect(getPluginRegistry()->deregisterCreator(creator), "no creator");
  }
}

}  // namespace hostile::stories
