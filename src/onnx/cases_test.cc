// SPDX-License-Identifier: Apache-2.0
// Malformed operators and values, import and one run on zeros: each ends in one Error that says what is wrong. Tests begin with
// the cases of SECURITY.md; those of the file format stand in the other tests of this folder.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

#include "core/folder_testing.h"
#include "core/memory.h"
#include "graph/interpret.h"
#include "graph/propagate.h"
#include "octet/limits.h"
#include "onnx/test_models.h"

namespace octet::test {
namespace {

using testing::HasSubstr;

// Adds an s64 initializer.
void add_ints(pb::ModelProto& model, const std::string& name, const std::vector<s64>& values) {
  pb::TensorProto& tensor = *model.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(dtype_to_onnx(Dtype::s64));
  tensor.add_dims(static_cast<s64>(values.size()));
  for (s64 value : values) tensor.add_int64_data(value);
}

void set_ints(pb::NodeProto& node, const std::string& name, const std::vector<s64>& values) {
  pb::AttributeProto& attribute = add_attribute(node, name, AttrKind::ints);
  for (s64 value : values) attribute.add_ints(value);
}

void set_int(pb::NodeProto& node, const std::string& name, s64 value) {
  add_attribute(node, name, AttrKind::i).set_i(value);
}

std::string outcome(const pb::ModelProto& model) {
  try {
    const Graph graph = import_model(model);
    std::vector<Tensor> inputs;
    for (ValueId id : graph.inputs) {
      inputs.emplace_back(graph.value(id).type.dtype, graph.value(id).type.shape);
    }
    interpret(graph, inputs);
  } catch (const Error& error) {
    EXPECT_NE(error.code(), Error::Code::internal) << error.what();
    return error.what();
  }
  return "ok";
}

// One node of `op` on x: f32[1,4,8,8], with further inputs already in the model.
pb::ModelProto unary(const std::string& op, std::initializer_list<s64> dims = {1, 4, 8, 8}) {
  pb::ModelProto model = empty_model();
  add_input(model, "x", dims);
  add_node(model, op, {"x"}, {"y"});
  add_output(model, "y");
  return model;
}

pb::NodeProto& node_of(pb::ModelProto& model) { return *model.mutable_graph()->mutable_node(0); }

pb::ModelProto convolution(const std::vector<s64>& weight_dims = {4, 4, 3, 3}) {
  pb::ModelProto model = unary("Conv");
  node_of(model).add_input("w");
  pb::TensorProto& weight = add_initializer(model, "w", {}, {});
  s64 count = 1;
  for (s64 dim : weight_dims) {
    weight.add_dims(dim);
    count *= dim;
  }
  for (s64 i = 0; i < count; ++i) weight.add_float_data(0.5f);
  return model;
}

pb::ModelProto convolution_with(const std::string& attribute, const std::vector<s64>& values) {
  pb::ModelProto model = convolution();
  if (attribute == "group") {
    set_int(node_of(model), attribute, values[0]);
  } else {
    set_ints(node_of(model), attribute, values);
  }
  return model;
}

pb::ModelProto with_ints(const std::string& op, const std::vector<std::vector<s64>>& inputs,
                         std::initializer_list<s64> dims = {1, 4, 8, 8}) {
  pb::ModelProto model = unary(op, dims);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = "i" + std::to_string(i);
    node_of(model).add_input(name);
    add_ints(model, name, inputs[i]);
  }
  return model;
}

TEST(Case, TheModelsThemselvesAreFine) {
  EXPECT_EQ(outcome(convolution()), "ok");
  EXPECT_EQ(outcome(with_ints("Reshape", {{4, -1}})), "ok");
}

class Files : public test::InFolder {
 protected:
  // The error of importing a file of this many zero bytes.
  std::string error_of_size(u64 bytes) const {
    const auto file = folder_ / "model.onnx";
    std::ofstream(file).close();
    std::filesystem::resize_file(file, bytes);  // takes no space on the disk
    try {
      import_onnx(file);
    } catch (const Error& error) {
      return error.what();
    }
    return "ok";
  }
};

TEST_F(Files, I01_Empty) { EXPECT_THAT(error_of_size(0), HasSubstr("empty (0 bytes)")); }

TEST_F(Files, I52_TwoGigabytes) {
  EXPECT_THAT(error_of_size(u64{1} << 31), HasSubstr("save the model with external data"));
  EXPECT_THAT(error_of_size(u64{1} << 40), HasSubstr("save the model with external data"));
}

TEST(Case, I25_PackedInt4) {
  for (const auto& [count, bytes] : {std::pair<s64, size_t>{3, 1}, {3, 3}, {4, 1}, {0, 1}}) {
    pb::ModelProto model = relu_model();
    pb::TensorProto& tensor = *model.mutable_graph()->add_initializer();
    tensor.set_name("w");
    tensor.set_data_type(22);  // INT4
    tensor.add_dims(count);
    tensor.set_raw_data(std::string(bytes, '\x11'));
    EXPECT_NE(outcome(model), "ok") << count << " codes in " << bytes << " bytes";
  }
}

TEST(Case, I33_WeightRank) {
  EXPECT_THAT(outcome(convolution({4, 4, 3})), Not(HasSubstr("ok")));
  EXPECT_NE(outcome(convolution({4, 4, 3, 3, 1})), "ok");
  EXPECT_NE(outcome(convolution({4, 3, 3, 3})), "ok");
}

TEST(Case, I34_I35_I36_ConvolutionAttributes) {
  constexpr s64 kMost = std::numeric_limits<s64>::max();
  const std::pair<const char*, std::vector<s64>> cases[] = {{"strides", {0, 1}},
                                                            {"strides", {-1, 1}},
                                                            {"strides", {1}},
                                                            {"strides", {kMost, 1}},
                                                            {"dilations", {0, 1}},
                                                            {"dilations", {kMost, 1}},
                                                            {"dilations", {-1, 1}},
                                                            {"group", {0}},
                                                            {"group", {-1}},
                                                            {"group", {3}},
                                                            {"group", {kMost}},
                                                            {"kernel_shape", {0, 3}},
                                                            {"kernel_shape", {5, 5}},
                                                            {"kernel_shape", {3}},
                                                            {"kernel_shape", {s64{1} << 40, 1}},
                                                            {"pads", {1, 1}},
                                                            {"pads", {-1, 0, 0, 0}},
                                                            {"pads", {-9, -9, -9, -9}},
                                                            {"pads", {kMost, 0, 1, 0}},
                                                            {"pads", {0, 0, 0, kMost, 1}}};
  for (const auto& [attribute, values] : cases) {
    EXPECT_NE(outcome(convolution_with(attribute, values)), "ok") << attribute << " " << values[0];
  }
}

TEST(Case, I34_I35_PoolAttributes) {
  const std::pair<const char*, std::vector<s64>> cases[] = {
      {"strides", {0, 1}},      {"dilations", {0, 1}},  {"kernel_shape", {0, 1}},
      {"kernel_shape", {9, 9}}, {"pads", {3, 3, 3, 3}}, {"kernel_shape", {s64{1} << 40, 1}}};
  for (const char* op : {"MaxPool", "AveragePool", "LpPool"}) {
    for (const auto& [attribute, values] : cases) {
      pb::ModelProto model = unary(op);
      if (std::string(attribute) != "kernel_shape")
        set_ints(node_of(model), "kernel_shape", {2, 2});
      set_ints(node_of(model), attribute, values);
      EXPECT_NE(outcome(model), "ok") << op << " " << attribute << " " << values[0];
    }
  }
}

TEST(Case, I37_Axes) {
  for (s64 axis : {s64{5}, s64{-5}, std::numeric_limits<s64>::min()}) {
    for (const char* op : {"Softmax", "Flatten", "ArgMax"}) {
      pb::ModelProto model = unary(op);
      set_int(node_of(model), "axis", axis);
      EXPECT_NE(outcome(model), "ok") << op << " axis " << axis;
    }
    EXPECT_NE(outcome(with_ints("Squeeze", {{axis}})), "ok");
    EXPECT_NE(outcome(with_ints("Slice", {{0}, {1}, {axis}})), "ok");
  }
  for (const std::vector<s64>& perm : {std::vector<s64>{0, 0, 1, 2}, {0, 1, 2}, {0, 1, 2, 4}}) {
    pb::ModelProto model = unary("Transpose");
    set_ints(node_of(model), "perm", perm);
    EXPECT_NE(outcome(model), "ok");
  }
  for (const std::vector<s64>& axes : {std::vector<s64>{1, 1}, {5}, {-6}}) {
    EXPECT_NE(outcome(with_ints("Unsqueeze", {axes})), "ok");
  }
  EXPECT_NE(outcome(with_ints("Slice", {{0, 0}, {1, 1}, {1, 1}})), "ok");
  EXPECT_NE(outcome(with_ints("Slice", {{0}, {1}, {8}})), "ok");
  EXPECT_NE(outcome(with_ints("Slice", {{0}, {1}, {1}, {0}})), "ok");
}

TEST(Case, I38_BlockSize) {
  for (const char* op : {"DepthToSpace", "SpaceToDepth"}) {
    for (s64 size : {s64{0}, s64{-2}, s64{3}, s64{1} << 32, std::numeric_limits<s64>::max()}) {
      pb::ModelProto model = unary(op);
      set_int(node_of(model), "blocksize", size);
      EXPECT_NE(outcome(model), "ok") << op << " " << size;
    }
  }
}

TEST(Case, I39_Reshape) {
  for (const std::vector<s64>& shape : {std::vector<s64>{-1, -1},
                                        {-2, 128},
                                        {1, 4, 8, 8, 0},
                                        {s64{1} << 62, -1},
                                        {s64{1} << 62, 4},
                                        {3, -1},
                                        {255}}) {
    EXPECT_NE(outcome(with_ints("Reshape", {shape})), "ok") << shape[0];
  }
  EXPECT_NE(outcome(with_ints("Reshape", {{0, -1}}, {0, 4})), "ok");  // x / 0
}

TEST(Case, I40_Indices) {
  for (s64 index : {s64{4}, s64{-5}, std::numeric_limits<s64>::max()}) {
    pb::ModelProto model = with_ints("Gather", {{index}});
    set_int(node_of(model), "axis", 1);
    EXPECT_THAT(outcome(model), HasSubstr("4")) << index;
    EXPECT_NE(outcome(with_ints("GatherND", {{index}}, {4})), "ok") << index;
  }
}

TEST(Case, I41_I42_MemoryBombs) {
  Limits limits;
  limits.memory = s64{1} << 30;
  set_limits(limits);
  const s64 huge = s64{1} << 40;
  for (const pb::ModelProto& model :
       {with_ints("Tile", {{huge}}, {4}), with_ints("Expand", {{1 << 20, 1 << 20, 4}}, {4}),
        with_ints("Pad", {{0, huge}}, {4}), with_ints("Tile", {{huge, huge}}, {4, 4})}) {
    EXPECT_NE(outcome(model), "ok");
  }
  EXPECT_THAT(outcome(with_ints("Tile", {{huge}}, {4})), HasSubstr("needs 16 TiB, limit 1 GiB"));
  pb::ModelProto shape = empty_model();
  add_node(shape, "ConstantOfShape", {"s"}, {"y"});
  add_ints(shape, "s", {huge});
  add_output(shape, "y");
  EXPECT_THAT(outcome(shape), HasSubstr("needs 4 TiB"));
  set_limits({});
}

// A convolution of two constants that a few bytes make: hours of work when it were folded.
TEST(Case, WorkOnConstantsIsBounded) {
  for (s64 size : {s64{4}, s64{512}}) {
    pb::ModelProto model = empty_model();
    add_ints(model, "s", {1, 1, size, size});
    add_node(model, "ConstantOfShape", {"s"}, {"c"});
    set_ints(add_node(model, "Conv", {"c", "c"}, {"y"}), "pads", {size, size, size, size});
    add_output(model, "y");
    const Graph graph = import_model(model);
    PropagateOptions options;
    options.fold_bytes = s64{256} << 20;
    const Propagated facts = propagate(graph, {}, options);
    EXPECT_EQ(static_cast<bool>(facts.known[graph.outputs[0]]), size == 4);
    EXPECT_EQ(facts.types[graph.outputs[0]].shape[2], 2 * size + 1);
  }
}

// Found by fuzz_onnx: listing all problems met the unknown operator of a body again.
TEST(Case, I11_UnknownOperatorInABody) {
  pb::ModelProto model = empty_model();
  add_input(model, "x", {4});
  model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
      dtype_to_onnx(Dtype::boolean));
  model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  pb::NodeProto& node = add_node(model, "If", {"x"}, {"y"});
  for (const char* name : {"then_branch", "else_branch"}) {
    pb::GraphProto& body = *add_attribute(node, name, AttrKind::g).mutable_g();
    pb::NodeProto& inner = *body.add_node();
    inner.set_op_type("NoSuchOperator");
    inner.add_output("z");
    body.add_output()->set_name("z");
  }
  add_output(model, "y");
  std::vector<Error> problems;
  ImportOptions options;
  options.problems = &problems;
  import_model(model, options);
  ASSERT_FALSE(problems.empty());
  EXPECT_THAT(problems[0].what(), HasSubstr("NoSuchOperator"));
  EXPECT_THAT(outcome(model), HasSubstr("NoSuchOperator"));
}

pb::ModelProto quantize(f32 scale, std::initializer_list<s64> dims = {}) {
  pb::ModelProto model = unary("QuantizeLinear");
  node_of(model).add_input("s");
  add_initializer(model, "s", dims, {});
  pb::TensorProto& tensor = *model.mutable_graph()->mutable_initializer(0);
  const s64 count = dims.size() == 0 ? 1 : *dims.begin();
  for (s64 i = 0; i < count; ++i) tensor.add_float_data(scale);
  return model;
}

TEST(Case, I46_Scales) {
  EXPECT_EQ(outcome(quantize(0.5f)), "ok");
  const f32 nan = std::nanf(""), inf = std::numeric_limits<f32>::infinity();
  for (f32 scale : {0.0f, -1.0f, nan, inf, -inf})
    EXPECT_NE(outcome(quantize(scale)), "ok") << scale;
  EXPECT_NE(outcome(quantize(0.5f, {3})), "ok");  // the axis has 4
  pb::ModelProto axis = quantize(0.5f, {4});
  set_int(node_of(axis), "axis", 4);
  EXPECT_NE(outcome(axis), "ok");
}

TEST(Case, I47_ScalesThatAreComputed) {
  pb::ModelProto model = empty_model();
  add_input(model, "x", {1, 4});
  add_input(model, "s", {});
  add_node(model, "QuantizeLinear", {"x", "s"}, {"y"});
  add_output(model, "y");
  const Graph graph = import_model(model);
  const std::vector<Tensor> inputs = {Tensor::of<f32>({1, 4}, std::vector<f32>{1, 2, 3, 300}),
                                      Tensor::scalar(0.5f)};
  const std::vector<Tensor> outputs = interpret(graph, inputs);
  EXPECT_THAT(outputs[0].as<u8>(), testing::ElementsAre(2, 4, 6, 255));
}

TEST(Case, I50_LongNames) {
  pb::ModelProto model = relu_model();
  node_of(model).set_output(0, std::string(10 << 20, 'n'));
  model.mutable_graph()->mutable_output(0)->set_name(node_of(model).output(0));
  EXPECT_THAT(outcome(model), HasSubstr("is longer than"));
}

TEST(Case, I51_ManyNodesTakeLinearTime) {
  const auto chain = [](int nodes) {
    pb::ModelProto model = empty_model();
    add_input(model, "x", {1});
    std::string from = "x";
    for (int i = 0; i < nodes; ++i) {
      const std::string to = "v" + std::to_string(i);
      pb::NodeProto& node = *model.mutable_graph()->add_node();
      node.set_op_type("Relu");
      node.add_input(from);
      node.add_output(to);
      from = to;
    }
    add_output(model, from);
    return model;
  };
  EXPECT_EQ(import_model(chain(50'000)).nodes.size(), 50'000u);
}

TEST(Case, I56_MetadataIsNotKept) {
  // Field 14 of the model: one entry of 100 MB, whose length takes four bytes.
  constexpr u32 kBytes = 100 << 20;
  std::string bytes = relu_model().SerializeAsString() + "\x72";
  for (u32 left = kBytes; left > 0; left >>= 7) {
    bytes.push_back(static_cast<char>((left & 0x7f) | (left > 0x7f ? 0x80 : 0)));
  }
  bytes.append(kBytes, 'm');
  EXPECT_EQ(import_onnx(as_bytes(bytes)).nodes.size(), 1u);
  ImportOptions options;
  options.max_bytes = 64 << 20;
  EXPECT_THROW(import_onnx(as_bytes(bytes), options), Error);
}

}  // namespace
}  // namespace octet::test
