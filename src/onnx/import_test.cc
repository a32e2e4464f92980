// SPDX-License-Identifier: Apache-2.0
#include "onnx/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/interpret.h"
#include "graph/op_def.h"
#include "onnx/test_models.h"

namespace octet::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Import, InputsNodesAndOutputs) {
  ImportInfo info;
  const Graph graph = import_model(relu_model(), {}, &info);
  ASSERT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(graph.nodes[0].op->name, "Relu");
  EXPECT_EQ(graph.nodes[0].name, "Relu_0");
  EXPECT_THAT(graph.nodes[0].origins, ElementsAre("Relu_0"));
  ASSERT_EQ(graph.inputs.size(), 1u);
  EXPECT_EQ(to_string(graph.value(graph.inputs[0]).type), "f32[1,4]");
  EXPECT_EQ(graph.value(graph.outputs.at(0)).name, "y");
  EXPECT_EQ(info.producer, "test");
  EXPECT_EQ(info.opsets.at(0), (std::pair<std::string, s64>("", 17)));
  EXPECT_EQ(info.op_counts.at("Relu"), 1);
}

TEST(Import, NodesAreSortedAndNamesMadeUnique) {
  pb::ModelProto model = empty_model();
  add_input(model, "x", {4});
  add_node(model, "Relu", {"b"}, {"y"}).set_name("n");
  add_node(model, "Relu", {"a"}, {"b"}).set_name("n");
  add_node(model, "Relu", {"x"}, {"a"}).set_name("n");
  add_output(model, "y");
  const Graph graph = import_model(model);
  ASSERT_EQ(graph.nodes.size(), 3u);
  EXPECT_EQ(graph.value(graph.nodes[0].outputs[0]).name, "a");
  EXPECT_EQ(graph.value(graph.nodes[1].outputs[0]).name, "b");
  EXPECT_EQ(graph.value(graph.nodes[2].outputs[0]).name, "y");
  EXPECT_EQ(graph.nodes[0].name, "n");
  EXPECT_EQ(graph.nodes[1].name, "n_1");
  EXPECT_EQ(graph.nodes[2].name, "n_2");
  EXPECT_THAT(graph.nodes[2].origins, ElementsAre("n"));
}

TEST(Import, AnOrderedGraphKeepsItsOrder) {
  pb::ModelProto model = empty_model();
  add_input(model, "x", {4});
  for (const char* name : {"c", "a", "b"}) add_node(model, "Relu", {"x"}, {name}).set_name(name);
  for (const char* name : {"a", "b", "c"}) add_output(model, name);
  const Graph graph = import_model(model);
  EXPECT_EQ(graph.nodes[0].name, "c");
  EXPECT_EQ(graph.nodes[1].name, "a");
  EXPECT_EQ(graph.nodes[2].name, "b");
}

TEST(Import, AnInitializerThatIsAlsoAnInputIsAConstant) {
  pb::ModelProto model = add_model();
  add_initializer(model, "w", {4}, {1, 2, 3, 4});
  add_input(model, "w", {4});
  const Graph graph = import_model(model);
  ASSERT_EQ(graph.inputs.size(), 1u);
  EXPECT_EQ(graph.value(graph.inputs[0]).name, "x");
  EXPECT_TRUE(graph.is_constant(graph.find_value("w")));
}

TEST(Import, ConstantNodesBecomeConstants) {
  pb::ModelProto model = empty_model();
  add_attribute(add_node(model, "Constant", {}, {"i"}), "value_int", AttrKind::i).set_i(-7);
  add_attribute(add_node(model, "Constant", {}, {"f"}), "value_float", AttrKind::f).set_f(0.5f);
  auto& ints = add_attribute(add_node(model, "Constant", {}, {"is"}), "value_ints", AttrKind::ints);
  ints.add_ints(1);
  ints.add_ints(2);
  auto& floats =
      add_attribute(add_node(model, "Constant", {}, {"fs"}), "value_floats", AttrKind::floats);
  floats.add_floats(3);
  auto& tensor =
      *add_attribute(add_node(model, "Constant", {}, {"t"}), "value", AttrKind::t).mutable_t();
  tensor.set_data_type(dtype_to_onnx(Dtype::s64));
  tensor.add_int64_data(9);
  for (const char* name : {"i", "f", "is", "fs", "t"}) add_output(model, name);
  const Graph graph = import_model(model);
  EXPECT_TRUE(graph.nodes.empty());
  const auto value = [&](size_t i) { return graph.value(graph.outputs[i]).constant; };
  EXPECT_THAT(value(0).as<s64>(), ElementsAre(-7));
  EXPECT_EQ(value(0).shape().rank(), 0);
  EXPECT_THAT(value(1).as<f32>(), ElementsAre(0.5f));
  EXPECT_THAT(value(2).as<s64>(), ElementsAre(1, 2));
  EXPECT_THAT(value(3).as<f32>(), ElementsAre(3));
  EXPECT_EQ(value(3).shape(), Shape{1});
  EXPECT_THAT(value(4).as<s64>(), ElementsAre(9));
}

TEST(Import, ImportedGraphsRun) {
  pb::ModelProto model = add_model();
  add_initializer(model, "w", {4}, {1, 2, 3, 4});
  const Graph graph = import_model(model);
  const f32 x[] = {10, 20, 30, 40};
  int seen = 0;
  const auto results = interpret(graph, std::vector{Tensor::of<f32>(Shape{4}, x)},
                                 [&](ValueId, const Tensor&) { ++seen; });
  EXPECT_THAT(results.at(0).as<f32>(), ElementsAre(11, 22, 33, 44));
  EXPECT_EQ(seen, 2);
  EXPECT_THROW(interpret(graph, {}), Error);
  EXPECT_THROW(interpret(graph, std::vector{Tensor(Dtype::f32, Shape{5})}), Error);
}

TEST(Import, UnsupportedNodesAreAllListed) {
  pb::ModelProto model = relu_model();
  add_node(model, "NoSuchOp", {"x"}, {"p"}).set_name("first");
  add_node(model, "NoSuchOp", {"x"}, {"q"}).set_name("second");
  add_node(model, "Other", {"x"}, {"r"}).set_domain("my.domain");
  const Error error = import_error(model);
  EXPECT_EQ(error.code(), Error::Code::unsupported);
  EXPECT_THAT(error.what(), HasSubstr("3 of 4 nodes"));
  EXPECT_THAT(error.what(),
              HasSubstr("NoSuchOp (domain ai.onnx, opset 17): node 'first', 'second'"));
  EXPECT_THAT(error.what(),
              HasSubstr("Other (domain my.domain, opset not imported): node 'Other_3'"));
}

TEST(ImportError, OurOwnOperatorsAreNotOnnx) {
  pb::ModelProto model = relu_model();
  model.add_opset_import()->set_domain("octet");
  model.mutable_opset_import(1)->set_version(1);
  add_node(model, "QTable", {"x", "x"}, {"q"}).set_domain("octet");
  EXPECT_IMPORT_ERROR(model, unsupported, "QTable (domain octet, opset 1)");
}

TEST(Import, UnsupportedNodesAreInTheInfo) {
  pb::ModelProto model = relu_model();
  add_node(model, "NoSuchOp", {"x"}, {"p"}).set_name("first");
  ImportInfo info;
  EXPECT_THROW(import_model(model, {}, &info), Error);
  ASSERT_EQ(info.unsupported.size(), 1u);
  EXPECT_EQ(info.unsupported[0].name, "first");
  EXPECT_EQ(info.unsupported[0].op, "NoSuchOp");
  EXPECT_EQ(info.unsupported[0].opset, 17);
}

TEST(Import, OmittedInputsInTheMiddleAndAtTheEnd) {
  pb::ModelProto model = empty_model();
  add_input(model, "x", {4});
  add_initializer(model, "high", {}, {6});
  add_node(model, "Clip", {"x", "", "high"}, {"a"});
  add_node(model, "Clip", {"a", "", ""}, {"y"});
  add_output(model, "y");
  const Graph graph = import_model(model);
  ASSERT_EQ(graph.nodes.size(), 2u);
  EXPECT_EQ(graph.nodes[0].input(1), kNoValue);
  EXPECT_EQ(graph.value(graph.nodes[0].input(2)).name, "high");
  EXPECT_EQ(graph.nodes[1].inputs.size(), 1u);
}

TEST(Import, ParametersThatWereAttributes) {
  pb::ModelProto model = empty_model(11);
  add_input(model, "x", {4});
  add_attribute(add_node(model, "Unsqueeze", {"x"}, {"y"}), "axes", AttrKind::ints).add_ints(0);
  add_output(model, "y");
  const Graph graph = import_model(model);
  ASSERT_EQ(graph.nodes.size(), 1u);
  ASSERT_NE(graph.constant_input(graph.nodes[0], 1), nullptr);
  EXPECT_THAT(graph.constant_input(graph.nodes[0], 1)->as<s64>(), ElementsAre(0));
  pb::ModelProto lacking = empty_model(17);
  add_input(lacking, "x", {4});
  add_node(lacking, "Unsqueeze", {"x"}, {"y"});
  add_output(lacking, "y");
  EXPECT_IMPORT_ERROR(lacking, invalid_model, "Unsqueeze needs 2 inputs, has 1");
}

TEST(ImportError, Cycle) {  // I13
  pb::ModelProto model = empty_model();
  add_input(model, "x", {1});
  add_node(model, "Add", {"x", "b"}, {"a"}).set_name("one");
  add_node(model, "Relu", {"a"}, {"b"}).set_name("two");
  add_node(model, "Relu", {"b"}, {"y"}).set_name("outside");
  add_output(model, "y");
  EXPECT_IMPORT_ERROR(model, invalid_model, "cycle");
  EXPECT_IMPORT_ERROR(model, invalid_model, "'one'");
  EXPECT_IMPORT_ERROR(model, invalid_model, "'two'");
  EXPECT_THAT(import_error(model).what(), testing::Not(HasSubstr("outside")));
}

TEST(ImportError, UndefinedInputNamesTheNearest) {  // I14
  pb::ModelProto model = empty_model();
  add_input(model, "image_data", {1});
  add_node(model, "Relu", {"image_date"}, {"y"}).set_name("act");
  add_output(model, "y");
  EXPECT_IMPORT_ERROR(model, invalid_model, "node 'act' reads 'image_date'");
  EXPECT_IMPORT_ERROR(model, invalid_model, "nearest name is 'image_data'");
}

TEST(ImportError, TwoProducers) {  // I15
  pb::ModelProto nodes = relu_model();
  add_node(nodes, "Relu", {"x"}, {"y"}).set_name("again");
  EXPECT_IMPORT_ERROR(nodes, invalid_model,
                      "'y' is produced twice: by node 'Relu_0' and by node 'again'");
  pb::ModelProto initializers = relu_model();
  add_initializer(initializers, "w", {1}, {1});
  add_initializer(initializers, "w", {1}, {1});
  EXPECT_IMPORT_ERROR(initializers, invalid_model, "'w' is produced twice");
  pb::ModelProto both = relu_model();
  add_initializer(both, "y", {1}, {1});
  EXPECT_IMPORT_ERROR(both, invalid_model,
                      "'y' is produced twice: by an input or initializer and by node");
  pb::ModelProto inputs = relu_model();
  add_input(inputs, "x", {1});
  EXPECT_IMPORT_ERROR(inputs, invalid_model, "'x' is listed twice");
}

TEST(ImportError, OutputNeverProduced) {  // I16
  pb::ModelProto model = relu_model();
  add_output(model, "z");
  EXPECT_IMPORT_ERROR(model, invalid_model, "'z', which nothing produces");
  model = relu_model();
  model.mutable_graph()->clear_output();
  EXPECT_IMPORT_ERROR(model, invalid_model, "no outputs");
}

TEST(ImportError, Arity) {  // I17
  pb::ModelProto model = relu_model();
  model.mutable_graph()->mutable_node(0)->clear_input();
  EXPECT_IMPORT_ERROR(model, invalid_model, "Relu needs 1 inputs, has 0");
  model = relu_model();
  model.mutable_graph()->mutable_node(0)->add_input("x");
  EXPECT_IMPORT_ERROR(model, invalid_model, "Relu needs 1 inputs, has 2");
  model = relu_model();
  add_node(model, "Relu", {"x"}, {});
  EXPECT_IMPORT_ERROR(model, invalid_model, "Relu needs 1 outputs, has 0");
  model = relu_model();
  add_node(model, "Constant", {"x"}, {"c"});
  EXPECT_IMPORT_ERROR(model, invalid_model, "Constant needs 0 inputs");
}

TEST(ImportError, Versions) {  // I12
  pb::ModelProto model = relu_model();
  model.mutable_opset_import(0)->set_version(0);
  EXPECT_IMPORT_ERROR(model, invalid_model, "opset 0");
  model.mutable_opset_import(0)->set_version(9999);
  EXPECT_IMPORT_ERROR(model, invalid_model, "supported are 7..");
  model.mutable_opset_import(0)->set_version(-1);
  EXPECT_IMPORT_ERROR(model, invalid_model, "opset -1");
  model.clear_opset_import();
  EXPECT_IMPORT_ERROR(model, invalid_model, "imports no opset");
  model = relu_model();
  model.add_opset_import()->set_version(13);
  EXPECT_IMPORT_ERROR(model, invalid_model, "opsets 17 and 13");
  model = relu_model();
  model.set_ir_version(s64{1} << 40);
  EXPECT_IMPORT_ERROR(model, invalid_model, "IR version 1099511627776");
}

TEST(Import, ASlightlyNewerOrVeryOldOpsetIsAWarning) {  // I12
  pb::ModelProto model = relu_model();
  ImportInfo newer, older;
  model.mutable_opset_import(0)->set_version(40);
  import_model(model, {}, &newer);
  EXPECT_THAT(newer.warnings, ElementsAre(HasSubstr("opset 40 is newer")));
  model.mutable_opset_import(0)->set_version(6);
  import_model(model, {}, &older);
  EXPECT_THAT(older.warnings, ElementsAre(HasSubstr("opset 6 is older")));
}

TEST(ImportError, Attributes) {  // I45, I48, I49
  pb::ModelProto model = relu_model();
  pb::NodeProto& node = *model.mutable_graph()->mutable_node(0);
  add_attribute(node, "a", AttrKind::ints).set_i(1);
  EXPECT_IMPORT_ERROR(model, invalid_model, "attribute 'a' declares kind ints but stores int");
  node.clear_attribute();
  add_attribute(node, "a", AttrKind::i).set_i(1);
  add_attribute(node, "a", AttrKind::i).set_i(1);
  EXPECT_IMPORT_ERROR(model, invalid_model, "attribute 'a' is given twice");
  node.clear_attribute();
  add_attribute(node, "a", AttrKind::i).set_ref_attr_name("outer");
  EXPECT_IMPORT_ERROR(model, invalid_model, "outside a function");
  node.clear_attribute();
  add_attribute(node, "a", AttrKind::g).mutable_g();
  EXPECT_IMPORT_ERROR(model, invalid_model, "holds a graph, which Relu does not take");
  node.clear_attribute();
  add_attribute(node, "a", AttrKind::t);
  EXPECT_IMPORT_ERROR(model, invalid_model, "stores nothing");
  node.clear_attribute();
  node.add_attribute()->set_type(77);
  EXPECT_IMPORT_ERROR(model, invalid_model, "kind 77");
}

TEST(Import, HostileNamesAreCleaned) {  // I50
  pb::ModelProto model = relu_model();
  model.mutable_graph()->mutable_node(0)->set_name("a\x1b[2J\xff");
  const Graph graph = import_model(model);
  EXPECT_EQ(graph.nodes[0].name, "a?[2J?");
  model.mutable_graph()->mutable_node(0)->set_name(std::string(1 << 20, 'a'));
  EXPECT_IMPORT_ERROR(model, invalid_model, "longer than 65536 bytes");
}

TEST(Import, NotFiniteWeightsAreAWarning) {  // I54
  pb::ModelProto model = add_model();
  add_initializer(model, "w", {4}, {1, 2, NAN, 4});
  ImportInfo info;
  import_model(model, {}, &info);
  EXPECT_THAT(info.warnings, ElementsAre(HasSubstr("'w' holds NaN")));
}

TEST(Import, MemoryLimit) {
  pb::ModelProto model = add_model();
  add_initializer(model, "w", {4}, {1, 2, 3, 4});
  ImportOptions options;
  options.max_bytes = 100;
  EXPECT_EQ(import_error(model, options).code(), Error::Code::out_of_memory);
}

}  // namespace
}  // namespace octet::test
