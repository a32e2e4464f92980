// SPDX-License-Identifier: Apache-2.0
// Any node that a file can describe ends in a result or in one error that blames the file: random operators, inputs and
// attributes, most of them wrong. Meant for the sanitizer builds.
#include <cstdlib>
#include <limits>
#include <random>

#include "ops/shared/testing.h"

namespace octet::testing {
namespace {

constexpr int kRoundsEach = 300;
constexpr s64 kMostBytes = s64{1} << 20;  // larger results are inferred but not computed

constexpr std::string_view kIntNames[] = {"allowzero",
                                          "auto_pad",
                                          "axis",
                                          "batch_dims",
                                          "block_size",
                                          "blocksize",
                                          "ceil_mode",
                                          "count_include_pad",
                                          "end",
                                          "exclusive",
                                          "fmod",
                                          "group",
                                          "hi",
                                          "keepdims",
                                          "largest",
                                          "lo",
                                          "noop_with_empty_axes",
                                          "num_groups",
                                          "num_outputs",
                                          "output_zero_point",
                                          "p",
                                          "reverse",
                                          "select_last_index",
                                          "size",
                                          "start",
                                          "storage_order",
                                          "training_mode",
                                          "transA",
                                          "upper"};
constexpr std::string_view kIntsNames[] = {"axes",         "dilations",      "input_zero_points",
                                           "kernel_shape", "output_padding", "output_shape",
                                           "pads",         "perm",           "strides"};
constexpr std::string_view kFloatsNames[] = {"multipliers", "scales"};
constexpr std::string_view kFloatNames[] = {
    "alpha", "beta", "epsilon", "multiplier", "residual_multiplier", "activation_min"};
constexpr std::string_view kStringNames[] = {
    "activation", "approximate",  "auto_pad",
    "mode",       "nearest_mode", "output_dtype",
    "reduction",  "to",           "coordinate_transformation_mode"};
constexpr const char* kStrings[] = {"",           "relu",  "clip",   "constant", "reflect",
                                    "edge",       "wrap",  "DCR",    "CRD",      "u8",
                                    "s8",         "f32",   "add",    "max",      "tanh",
                                    "SAME_UPPER", "VALID", "linear", "nearest",  "cubic"};

class Generator {
 public:
  explicit Generator(u32 seed) : random_(seed) {}

  s64 below(s64 n) { return static_cast<s64>(random_() % static_cast<u64>(n)); }
  template <size_t N, class T>
  T pick(const T (&values)[N]) {
    return values[below(N)];
  }

  // Mostly small, now and then at the edge of what 64 bits hold.
  s64 integer() {
    constexpr s64 kEdges[] = {std::numeric_limits<s64>::min(),
                              std::numeric_limits<s64>::max(),
                              s64{1} << 32,
                              -(s64{1} << 31),
                              s64{1} << 62,
                              255,
                              -129};
    return below(8) == 0 ? pick(kEdges) : below(8) - 3;
  }
  std::vector<s64> integers() {
    std::vector<s64> values(static_cast<size_t>(below(5)));
    for (s64& value : values) value = integer();
    return values;
  }
  f32 real() {
    constexpr f32 kInf = std::numeric_limits<f32>::infinity();
    constexpr f32 kEdges[] = {kInf, -kInf, std::numeric_limits<f32>::quiet_NaN(), 1e38f, 1e-40f, 0};
    return below(4) == 0 ? pick(kEdges) : static_cast<f32>(below(9) - 4) * 0.5f;
  }

  Tensor tensor_of(const Shape& shape, Dtype dtype) {
    Tensor t(dtype, shape);
    auto* bytes = reinterpret_cast<u8*>(t.mutable_data());
    const bool flags = dtype == Dtype::boolean;
    for (size_t i = 0; i < t.bytes(); ++i) bytes[i] = static_cast<u8>(below(flags ? 2 : 256));
    if (dtype != Dtype::f32) return t;
    for (f32& x : t.mutable_as<f32>()) x = real();
    return t;
  }
  Tensor input() {
    constexpr Dtype kTypes[] = {Dtype::f32, Dtype::f32, Dtype::f32, Dtype::u8,     Dtype::s8,
                                Dtype::s32, Dtype::s64, Dtype::f16, Dtype::boolean};
    const s64 kind = below(10);
    if (kind == 0) return {};
    if (kind < 5) return ints(integers());
    if (last_ && kind < 8)
      return tensor_of(last_.shape(), last_.dtype());  // likely to fit together
    Shape shape;
    for (s64 rank = below(6); rank > 0; --rank) shape.push_back(below(6) == 0 ? 0 : 1 + below(4));
    last_ = tensor_of(shape, pick(kTypes));
    return last_;
  }
  AttrList attributes() {
    AttrList attrs;
    for (const std::string_view name : kIntNames) add(attrs, name, [&] { return integer(); });
    for (const std::string_view name : kIntsNames) add(attrs, name, [&] { return integers(); });
    for (const std::string_view name : kFloatNames) add(attrs, name, [&] { return real(); });
    for (const std::string_view name : kFloatsNames) {
      add(attrs, name, [&] { return std::vector<f32>{real(), real()}; });
    }
    for (const std::string_view name : kStringNames) {
      add(attrs, name, [&] { return std::string(pick(kStrings)); });
    }
    return attrs;
  }

 private:
  template <class F>
  void add(AttrList& attrs, std::string_view name, F value) {
    if (below(5) == 0) attrs.emplace_back(name, value());
  }

  std::mt19937_64 random_;
  Tensor last_;
};

void run_hostile(const OpDef& op, u32 seed, int& succeeded) {
  Generator generator(seed);
  std::vector<Tensor> inputs;
  const s64 spread = op.inputs.max < 0 ? 3 : op.inputs.max - op.inputs.min + 1;
  const s64 count = op.inputs.min + generator.below(spread);
  for (s64 i = 0; i < count; ++i) inputs.push_back(generator.input());
  const u32 outputs = static_cast<u32>(op.outputs.min);
  const Node node = make_node(op.name, inputs, generator.attributes(), outputs);
  std::vector<TensorType> types;
  std::vector<const Tensor*> values;
  for (const Tensor& input : inputs) {
    types.push_back(input.type());
    values.push_back(input ? &input : nullptr);
  }
  try {
    for (const TensorType& type : infer_node(node, types, values)) {
      if (type.shape.is_static() && type.bytes() > kMostBytes) return;
    }
    eval_node(node, inputs);
    ++succeeded;
  } catch (const Error& error) {
    EXPECT_NE(error.code(), Error::Code::internal) << error.what();
  }
}

TEST(HostileNodes, EndInAResultOrAnError) {
  const char* only = std::getenv("OCTET_HOSTILE_SEED");
  const char* chosen = std::getenv("OCTET_HOSTILE_OP");
  int succeeded = 0;
  for (const OpDef* op : op_registry().all()) {
    if (op->infer == nullptr || (chosen != nullptr && op->name != chosen)) continue;
    for (u32 round = 0; round < kRoundsEach; ++round) {
      const u32 seed = only != nullptr ? static_cast<u32>(std::atoi(only)) : round;
      SCOPED_TRACE(fmt::format("OCTET_HOSTILE_OP={} OCTET_HOSTILE_SEED={}", op->name, seed));
      run_hostile(*op, seed, succeeded);
      if (only != nullptr || HasFailure()) break;
    }
  }
  if (chosen == nullptr) {
    EXPECT_GT(succeeded, 1000);  // else the generator reaches nothing
  }
}

}  // namespace
}  // namespace octet::testing
