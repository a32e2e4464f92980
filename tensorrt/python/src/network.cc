// SPDX-License-Identifier: Apache-2.0
// Networks: inputs, outputs, layers, and a function for each kind of layer.
#include "layers.h"

namespace octet_trt_python {
namespace {

using Class = nb::class_<INetworkDefinition>;

nb::object tensor_or_none(nb::handle self, ITensor* tensor) { return inside(tensor, self); }

INetworkDefinition& network_of(nb::handle self) { return nb::cast<INetworkDefinition&>(self); }

nb::object layer_at(nb::handle self, int64_t index) {
  const INetworkDefinition& network = network_of(self);
  const int64_t count = network.getNbLayers();
  const int64_t at = index < 0 ? index + count : index;
  if (at < 0 || at >= count) throw nb::index_error("the network has no layer of this index");
  const nb::object layer =
      nb::cast(AnyLayer{network.getLayer(static_cast<int32_t>(at)), nb::borrow(self)});
  return layer;
}

// Tensors of any sequence.
std::vector<ITensor*> tensors_of(const nb::sequence& tensors) {
  return nb::cast<std::vector<ITensor*>>(tensors);
}

void add_border(Class& type) {
  type.def(
          "add_input",
          [](nb::handle self, const char* name, DataType kind, const Dims& shape) {
            return tensor_or_none(self, network_of(self).addInput(name, kind, shape));
          },
          nb::arg("name"), nb::arg("dtype"), nb::arg("shape"))
      .def("mark_output", &INetworkDefinition::markOutput, nb::arg("tensor"))
      .def("unmark_output", &INetworkDefinition::unmarkOutput, nb::arg("tensor"))
      .def("mark_output_for_shapes", &INetworkDefinition::markOutputForShapes, nb::arg("tensor"))
      .def("unmark_output_for_shapes", &INetworkDefinition::unmarkOutputForShapes,
           nb::arg("tensor"))
      .def("remove_tensor", &INetworkDefinition::removeTensor, nb::arg("tensor"))
      .def(
          "get_input",
          [](nb::handle self, int32_t i) {
            return tensor_or_none(self, network_of(self).getInput(i));
          },
          nb::arg("index"))
      .def(
          "get_output",
          [](nb::handle self, int32_t i) {
            return tensor_or_none(self, network_of(self).getOutput(i));
          },
          nb::arg("index"))
      .def("get_layer", &layer_at, nb::arg("index"))
      .def("__getitem__", &layer_at)
      .def("__len__", &INetworkDefinition::getNbLayers)
      .def_prop_ro("num_layers", &INetworkDefinition::getNbLayers)
      .def_prop_ro("num_inputs", &INetworkDefinition::getNbInputs)
      .def_prop_ro("num_outputs", &INetworkDefinition::getNbOutputs);
}

void add_properties(Class& type) {
  type.def_prop_rw(
          "name", [](const INetworkDefinition& self) { return text_of(self.getName()); },
          &INetworkDefinition::setName)
      .def_prop_ro("has_implicit_batch_dimension", &INetworkDefinition::hasImplicitBatchDimension)
      .def_prop_rw("error_recorder", &INetworkDefinition::getErrorRecorder,
                   &INetworkDefinition::setErrorRecorder, nb::for_getter(nb::rv_policy::reference),
                   nb::for_setter(nb::keep_alive<1, 2>()),
                   nb::for_setter(nb::arg("recorder").none()))
      .def(
          "set_weights_name",
          [](nb::handle self, nb::handle weights, const char* name) {
            return network_of(self).setWeightsName(kept_weights(weights, self), name);
          },
          nb::arg("weights"), nb::arg("name"));
#if NV_TENSORRT_MAJOR >= 10
  type.def_prop_ro("flags", &INetworkDefinition::getFlags)
      .def("get_flag", &INetworkDefinition::getFlag, nb::arg("flag"))
      .def("mark_debug", &INetworkDefinition::markDebug, nb::arg("tensor"))
      .def("unmark_debug", &INetworkDefinition::unmarkDebug, nb::arg("tensor"))
      .def("is_debug_tensor", &INetworkDefinition::isDebugTensor, nb::arg("tensor"))
      .def("mark_unfused_tensors_as_debug_tensors",
           &INetworkDefinition::markUnfusedTensorsAsDebugTensors)
      .def("unmark_unfused_tensors_as_debug_tensors",
           &INetworkDefinition::unmarkUnfusedTensorsAsDebugTensors)
      .def("mark_weights_refittable", &INetworkDefinition::markWeightsRefittable, nb::arg("name"))
      .def("unmark_weights_refittable", &INetworkDefinition::unmarkWeightsRefittable,
           nb::arg("name"))
      .def("are_weights_marked_refittable", &INetworkDefinition::areWeightsMarkedRefittable,
           nb::arg("name"));
#else
  type.def_prop_ro("has_explicit_precision", &INetworkDefinition::hasExplicitPrecision);
#endif
}

// Functions of a network that take tensors and values, and give a layer: made of the member, its arguments by their names.
template <class L, class... Arguments, class... Names>
void add_function(Class& type, const char* name, L* (INetworkDefinition::*add)(Arguments...),
                  const Names&... names) {
  type.def(
      name,
      [add](nb::handle self, Arguments... arguments) {
        return layer_object(self, (network_of(self).*add)(arguments...));
      },
      names...);
}

using N = INetworkDefinition;
using nb::arg;

void add_elements(Class& type) {
  type.def("add_loop",
           [](nb::handle self) { return scope_object(self, network_of(self).addLoop()); })
      .def("add_if_conditional",
           [](nb::handle self) { return scope_object(self, network_of(self).addIfConditional()); });
  add_function(type, "add_activation", &N::addActivation, arg("input"), arg("type"));
  add_function(type, "add_lrn", &N::addLRN, arg("input"), arg("window"), arg("alpha"), arg("beta"),
               arg("k"));
  add_function(type, "add_softmax", &N::addSoftMax, arg("input"));
  add_function(type, "add_elementwise", &N::addElementWise, arg("input1"), arg("input2"),
               arg("op"));
  add_function(type, "add_unary", &N::addUnary, arg("input"), arg("op"));
  add_function(type, "add_reduce", &N::addReduce, arg("input"), arg("op"), arg("axes"),
               arg("keep_dims"));
  add_function(type, "add_identity", &N::addIdentity, arg("input"));
  add_function(type, "add_cast", &N::addCast, arg("input"), arg("to_type"));
  add_function(type, "add_parametric_relu", &N::addParametricReLU, arg("input"), arg("slopes"));
  add_function(type, "add_select", &N::addSelect, arg("condition"), arg("then_input"),
               arg("else_input"));
  add_function(type, "add_assertion", &N::addAssertion, arg("condition"), arg("message"));
  add_function(type, "add_matrix_multiply", &N::addMatrixMultiply, arg("input0"), arg("op0"),
               arg("input1"), arg("op1"));
  add_function(type, "add_normalization", &N::addNormalization, arg("input"), arg("scale"),
               arg("bias"), arg("axesMask"));
}

void add_moves(Class& type) {
  add_function(type, "add_padding_nd", &N::addPaddingNd, arg("input"), arg("pre_padding"),
               arg("post_padding"));
  add_function(type, "add_pooling_nd", &N::addPoolingNd, arg("input"), arg("type"),
               arg("window_size"));
  add_function(type, "add_shuffle", &N::addShuffle, arg("input"));
  add_function(type, "add_slice", &N::addSlice, arg("input"), arg("start"), arg("shape"),
               arg("stride"));
  add_function(type, "add_resize", &N::addResize, arg("input"));
  add_function(type, "add_shape", &N::addShape, arg("input"));
  add_function(type, "add_gather", &N::addGather, arg("input"), arg("indices"), arg("axis"));
  add_function(type, "add_gather_v2", &N::addGatherV2, arg("input"), arg("indices"), arg("mode"));
  add_function(type, "add_scatter", &N::addScatter, arg("data"), arg("indices"), arg("updates"),
               arg("mode"));
  add_function(type, "add_grid_sample", &N::addGridSample, arg("input"), arg("grid"));
  add_function(type, "add_one_hot", &N::addOneHot, arg("indices"), arg("values"), arg("depth"),
               arg("axis"));
  add_function(type, "add_ragged_softmax", &N::addRaggedSoftMax, arg("input"), arg("bounds"));
  add_function(type, "add_reverse_sequence", &N::addReverseSequence, arg("input"),
               arg("sequence_lens"));
  type.def(
      "add_concatenation",
      [](nb::handle self, const nb::sequence& inputs) {
        const auto tensors = tensors_of(inputs);
        return layer_object(self, network_of(self).addConcatenation(
                                      tensors.data(), static_cast<int32_t>(tensors.size())));
      },
      arg("inputs"));
  type.def(
      "add_einsum",
      [](nb::handle self, const nb::sequence& inputs, const char* equation) {
        const auto tensors = tensors_of(inputs);
        return layer_object(
            self, network_of(self).addEinsum(tensors.data(), static_cast<int32_t>(tensors.size()),
                                             equation));
      },
      arg("inputs"), arg("equation"));
}

#if NV_TENSORRT_MAJOR >= 10
void add_level(Class& type) {
  add_function(type, "add_fill",
               nb::overload_cast<Dims const&, FillOperation, DataType>(&N::addFill), arg("shape"),
               arg("op"), arg("output_type") = DataType::kFLOAT);
  add_function(type, "add_quantize",
               nb::overload_cast<ITensor&, ITensor&, DataType>(&N::addQuantize), arg("input"),
               arg("scale"), arg("output_type") = DataType::kINT8);
  add_function(type, "add_dequantize",
               nb::overload_cast<ITensor&, ITensor&, DataType>(&N::addDequantize), arg("input"),
               arg("scale"), arg("output_type") = DataType::kFLOAT);
  add_function(type, "add_topk",
               nb::overload_cast<ITensor&, TopKOperation, int32_t, uint32_t, DataType>(&N::addTopK),
               arg("input"), arg("op"), arg("k"), arg("axes"),
               arg("indices_type") = DataType::kINT32);
  add_function(type, "add_non_zero", nb::overload_cast<ITensor&, DataType>(&N::addNonZero),
               arg("input"), arg("indices_type") = DataType::kINT32);
  add_function(type, "add_nms",
               nb::overload_cast<ITensor&, ITensor&, ITensor&, DataType>(&N::addNMS), arg("boxes"),
               arg("scores"), arg("max_output_boxes_per_class"),
               arg("indices_type") = DataType::kINT32);
  type.def(
      "add_attention",
      [](nb::handle self, ITensor& query, ITensor& key, ITensor& value, AttentionNormalizationOp op,
         bool causal) {
        return scope_object(self, network_of(self).addAttention(query, key, value, op, causal));
      },
      arg("query"), arg("key"), arg("value"), arg("norm_op") = AttentionNormalizationOp::kSOFTMAX,
      arg("causal") = false);
  add_function(type, "add_squeeze", &N::addSqueeze, arg("input"), arg("axes"));
  add_function(type, "add_unsqueeze", &N::addUnsqueeze, arg("input"), arg("axes"));
  add_function(type, "add_cumulative", &N::addCumulative, arg("input"), arg("axis"), arg("op"),
               arg("exclusive"), arg("reverse"));
}
#else
void add_level(Class& type) {
  add_function(type, "add_fill", &N::addFill, arg("shape"), arg("op"));
  add_function(type, "add_quantize", &N::addQuantize, arg("input"), arg("scale"));
  add_function(type, "add_dequantize", &N::addDequantize, arg("input"), arg("scale"));
  add_function(type, "add_topk", &N::addTopK, arg("input"), arg("op"), arg("k"), arg("axes"));
  add_function(type, "add_non_zero", &N::addNonZero, arg("input"));
  add_function(type, "add_nms", &N::addNMS, arg("boxes"), arg("scores"),
               arg("max_output_boxes_per_class"));
  add_function(type, "add_pooling", &N::addPooling, arg("input"), arg("type"), arg("window_size"));
  add_function(type, "add_padding", &N::addPadding, arg("input"), arg("pre_padding"),
               arg("post_padding"));
  type.def(
      "add_fully_connected",
      [](nb::handle self, ITensor& input, int32_t outputs, nb::handle kernel, nb::handle bias) {
        return layer_object(
            self, network_of(self).addFullyConnected(input, outputs, kept_weights(kernel, self),
                                                     kept_weights(bias, self)));
      },
      arg("input"), arg("num_outputs"), arg("kernel"), arg("bias") = nb::none());
}
#endif

// add_convolution_nd, and at level 8 the forms for two dimensions.
template <class L, class Maps, class Size>
void add_kernel(Class& type, const char* name,
                L* (N::*add)(ITensor&, Maps, Size, Weights, Weights) noexcept) {
  type.def(
      name,
      [add](nb::handle self, ITensor& input, Maps maps, const std::decay_t<Size>& size,
            nb::handle kernel, nb::handle bias) {
        return layer_object(self,
                            (network_of(self).*add)(input, maps, size, kept_weights(kernel, self),
                                                    kept_weights(bias, self)));
      },
      arg("input"), arg("num_output_maps"), arg("kernel_shape"), arg("kernel").none(),
      arg("bias").none() = nb::none());
}

void add_weighted(Class& type) {
  add_kernel(type, "add_convolution_nd", &N::addConvolutionNd);
  add_kernel(type, "add_deconvolution_nd", &N::addDeconvolutionNd);
#if NV_TENSORRT_MAJOR < 10
  add_kernel(type, "add_convolution", &N::addConvolution);
  add_kernel(type, "add_deconvolution", &N::addDeconvolution);
#endif
  type.def(
      "add_constant",
      [](nb::handle self, const Dims& shape, nb::handle weights) {
        return layer_object(self, network_of(self).addConstant(shape, kept_weights(weights, self)));
      },
      arg("shape"), arg("weights"));
  type.def(
      "add_scale",
      [](nb::handle self, ITensor& input, ScaleMode mode, nb::handle shift, nb::handle scale,
         nb::handle power) {
        return layer_object(
            self, network_of(self).addScale(input, mode, kept_weights(shift, self),
                                            kept_weights(scale, self), kept_weights(power, self)));
      },
      arg("input"), arg("mode"), arg("shift").none() = nb::none(), arg("scale").none() = nb::none(),
      arg("power").none() = nb::none());
  type.def(
      "add_scale_nd",
      [](nb::handle self, ITensor& input, ScaleMode mode, nb::handle shift, nb::handle scale,
         nb::handle power, int32_t axis) {
        return layer_object(self, network_of(self).addScaleNd(
                                      input, mode, kept_weights(shift, self),
                                      kept_weights(scale, self), kept_weights(power, self), axis));
      },
      arg("input"), arg("mode"), arg("shift").none() = nb::none(), arg("scale").none() = nb::none(),
      arg("power").none() = nb::none(), arg("channel_axis") = 1);
}

}  // namespace

void add_network(nb::module_& module) {
  Class type(module, "INetworkDefinition");
  add_with(type);
  add_border(type);
  add_properties(type);
  add_elements(type);
  add_moves(type);
  add_weighted(type);
  add_level(type);
}

}  // namespace octet_trt_python
