// SPDX-License-Identifier: Apache-2.0
// Layers that move, choose and compare elements.
#include "layers.h"

namespace octet_trt_python {
namespace {

void add_moves(nb::module_& module) {
  LayerClass<IPaddingLayer> padding(module, "IPaddingLayer");
  padding.OCTET_PROPERTY(IPaddingLayer, "pre_padding_nd", PrePaddingNd)
      .OCTET_PROPERTY(IPaddingLayer, "post_padding_nd", PostPaddingNd);
#if NV_TENSORRT_MAJOR < 10
  padding.OCTET_PROPERTY(IPaddingLayer, "pre_padding", PrePaddingNd)
      .OCTET_PROPERTY(IPaddingLayer, "post_padding", PostPaddingNd);
#endif
  LayerClass<IShuffleLayer>(module, "IShuffleLayer")
      .OCTET_PROPERTY(IShuffleLayer, "first_transpose", FirstTranspose)
      .OCTET_PROPERTY(IShuffleLayer, "second_transpose", SecondTranspose)
      .OCTET_PROPERTY(IShuffleLayer, "reshape_dims", ReshapeDimensions)
      .OCTET_PROPERTY(IShuffleLayer, "zero_is_placeholder", ZeroIsPlaceholder);
  LayerClass<ISliceLayer>(module, "ISliceLayer")
      .OCTET_PROPERTY(ISliceLayer, "start", Start)
      .OCTET_PROPERTY(ISliceLayer, "shape", Size)
      .OCTET_PROPERTY(ISliceLayer, "stride", Stride)
      .OCTET_PROPERTY(ISliceLayer, "axes", Axes)
      .OCTET_PROPERTY(ISliceLayer, "mode", Mode);
  LayerClass<IGatherLayer>(module, "IGatherLayer")
      .OCTET_PROPERTY(IGatherLayer, "axis", GatherAxis)
      .OCTET_PROPERTY(IGatherLayer, "num_elementwise_dims", NbElementWiseDims)
      .OCTET_PROPERTY(IGatherLayer, "mode", Mode);
  LayerClass<IScatterLayer>(module, "IScatterLayer")
      .OCTET_PROPERTY(IScatterLayer, "axis", Axis)
      .OCTET_PROPERTY(IScatterLayer, "mode", Mode);
  LayerClass<IReverseSequenceLayer>(module, "IReverseSequenceLayer")
      .OCTET_PROPERTY(IReverseSequenceLayer, "batch_axis", BatchAxis)
      .OCTET_PROPERTY(IReverseSequenceLayer, "sequence_axis", SequenceAxis);
  LayerClass<IOneHotLayer>(module, "IOneHotLayer").OCTET_PROPERTY(IOneHotLayer, "axis", Axis);
}

nb::object scales_of(const IResizeLayer& layer) {
  float scales[Dims::MAX_DIMS];
  nb::list list;
  const int32_t count = layer.getScales(0, nullptr);
  if (count > 0) layer.getScales(count, scales);
  for (int32_t i = 0; i < count; ++i) list.append(scales[i]);
  return list;
}

void set_scales(IResizeLayer& layer, nb::handle scales) {
  const auto values = nb::cast<std::vector<float>>(scales);
  layer.setScales(values.data(), static_cast<int32_t>(values.size()));
}

void add_resize(nb::module_& module) {
  LayerClass<IResizeLayer> resize(module, "IResizeLayer");
  resize.OCTET_PROPERTY(IResizeLayer, "shape", OutputDimensions)
      .OCTET_PROPERTY(IResizeLayer, "resize_mode", ResizeMode)
      .OCTET_PROPERTY(IResizeLayer, "coordinate_transformation", CoordinateTransformation)
      .OCTET_PROPERTY(IResizeLayer, "selector_for_single_pixel", SelectorForSinglePixel)
      .OCTET_PROPERTY(IResizeLayer, "nearest_rounding", NearestRounding)
      .OCTET_PROPERTY(IResizeLayer, "cubic_coeff", CubicCoeff)
      .OCTET_PROPERTY(IResizeLayer, "exclude_outside", ExcludeOutside)
      .through("scales", scales_of, set_scales);
#if NV_TENSORRT_MAJOR < 10
  resize.OCTET_PROPERTY(IResizeLayer, "align_corners", AlignCorners);
#endif
}

void add_choices(nb::module_& module) {
  LayerClass<ITopKLayer> top(module, "ITopKLayer");
  top.OCTET_PROPERTY(ITopKLayer, "op", Operation)
      .OCTET_PROPERTY(ITopKLayer, "k", K)
      .OCTET_PROPERTY(ITopKLayer, "axes", ReduceAxes);
  LayerClass<INMSLayer> nms(module, "INMSLayer");
  nms.OCTET_PROPERTY(INMSLayer, "bounding_box_format", BoundingBoxFormat)
      .OCTET_PROPERTY(INMSLayer, "topk_box_limit", TopKBoxLimit);
  LayerClass<IGridSampleLayer>(module, "IGridSampleLayer")
      .OCTET_PROPERTY(IGridSampleLayer, "interpolation_mode", InterpolationMode)
      .OCTET_PROPERTY(IGridSampleLayer, "align_corners", AlignCorners)
      .OCTET_PROPERTY(IGridSampleLayer, "sample_mode", SampleMode);
#if NV_TENSORRT_MAJOR >= 10
  top.OCTET_PROPERTY(ITopKLayer, "indices_type", IndicesType);
  nms.OCTET_PROPERTY(INMSLayer, "indices_type", IndicesType);
  LayerClass<ISqueezeLayer>(module, "ISqueezeLayer");
  LayerClass<IUnsqueezeLayer>(module, "IUnsqueezeLayer");
  LayerClass<ICumulativeLayer>(module, "ICumulativeLayer")
      .OCTET_PROPERTY(ICumulativeLayer, "op", Operation)
      .OCTET_PROPERTY(ICumulativeLayer, "exclusive", Exclusive)
      .OCTET_PROPERTY(ICumulativeLayer, "reverse", Reverse);
#endif
}

void add_types(nb::module_& module) {
  LayerClass<ICastLayer>(module, "ICastLayer").OCTET_PROPERTY(ICastLayer, "to_type", ToType);
  LayerClass<IQuantizeLayer>(module, "IQuantizeLayer")
      .OCTET_PROPERTY(IQuantizeLayer, "axis", Axis)
      .OCTET_PROPERTY(IQuantizeLayer, "to_type", ToType);
  LayerClass<IDequantizeLayer>(module, "IDequantizeLayer")
      .OCTET_PROPERTY(IDequantizeLayer, "axis", Axis)
      .OCTET_PROPERTY(IDequantizeLayer, "to_type", ToType);
  LayerClass<IConstantLayer>(module, "IConstantLayer")
      .OCTET_WEIGHTS(IConstantLayer, "weights", Weights)
      .OCTET_PROPERTY(IConstantLayer, "shape", Dimensions);
  LayerClass<IFillLayer>(module, "IFillLayer")
      .OCTET_PROPERTY(IFillLayer, "shape", Dimensions)
      .OCTET_PROPERTY(IFillLayer, "operation", Operation)
      .OCTET_PROPERTY(IFillLayer, "alpha", Alpha)
      .OCTET_PROPERTY(IFillLayer, "beta", Beta)
      .OCTET_PROPERTY(IFillLayer, "to_type", ToType);
  LayerClass<INormalizationLayer>(module, "INormalizationLayer")
      .OCTET_PROPERTY(INormalizationLayer, "epsilon", Epsilon)
      .OCTET_PROPERTY(INormalizationLayer, "axes", Axes)
      .OCTET_PROPERTY(INormalizationLayer, "num_groups", NbGroups)
      .OCTET_PROPERTY(INormalizationLayer, "compute_precision", ComputePrecision);
}

template <int32_t index>
LayerClass<IMatrixMultiplyLayer>& add_operation(LayerClass<IMatrixMultiplyLayer>& type,
                                                const char* name) {
  return type.through(
      name, [](const IMatrixMultiplyLayer& layer) { return layer.getOperation(index); },
      [](IMatrixMultiplyLayer& layer, nb::handle op) {
        layer.setOperation(index, nb::cast<MatrixOperation>(op));
      });
}

void add_others(nb::module_& module) {
  LayerClass<IMatrixMultiplyLayer> product(module, "IMatrixMultiplyLayer");
  add_operation<0>(product, "op0");
  add_operation<1>(product, "op1");
  LayerClass<IEinsumLayer>(module, "IEinsumLayer")
      .OCTET_PROPERTY(IEinsumLayer, "equation", Equation);
  LayerClass<IAssertionLayer>(module, "IAssertionLayer")
      .OCTET_PROPERTY(IAssertionLayer, "message", Message);
  LayerClass<IShapeLayer>(module, "IShapeLayer");
  LayerClass<INonZeroLayer> places(module, "INonZeroLayer");
#if NV_TENSORRT_MAJOR >= 10
  places.OCTET_PROPERTY(INonZeroLayer, "indices_type", IndicesType);
#endif
  LayerClass<IIdentityLayer>(module, "IIdentityLayer");
  LayerClass<IParametricReLULayer>(module, "IParametricReLULayer");
  LayerClass<ISelectLayer>(module, "ISelectLayer");
}

// A function of a loop or a condition that takes tensors and values, and gives a layer.
template <class Scope, class L, class... Arguments, class... Names>
void add_function(nb::class_<ScopeOf<Scope>>& type, const char* name,
                  L* (Scope::*add)(Arguments...) noexcept, const Names&... names) {
  type.def(
      name,
      [add](const ScopeOf<Scope>& self, Arguments... arguments) {
        return layer_object(self.network, (self.scope->*add)(arguments...));
      },
      names...);
}

template <class Scope>
nb::class_<ScopeOf<Scope>> scope_class(nb::module_& module, const char* name) {
  nb::class_<ScopeOf<Scope>> type(module, name);
  type.def_prop_rw(
      "name", [](const ScopeOf<Scope>& self) { return text_of(self.scope->getName()); },
      [](const ScopeOf<Scope>& self, const char* value) { self.scope->setName(value); });
  return type;
}

template <class L>
LayerClass<L> loop_layer(nb::module_& module, const char* name) {
  return LayerClass<L>(module, name).told("loop", [](const L& layer, nb::handle network) {
    return scope_object(network, layer.getLoop());
  });
}

template <class L>
void add_condition_layer(nb::module_& module, const char* name) {
  LayerClass<L>(module, name).told("conditional", [](const L& layer, nb::handle network) {
    return scope_object(network, layer.getConditional());
  });
}

void add_control(nb::module_& module) {
  using nb::arg;
  auto loop = scope_class<ILoop>(module, "ILoop");
  add_function(loop, "add_recurrence", &ILoop::addRecurrence, arg("initial_value"));
  add_function(loop, "add_trip_limit", &ILoop::addTripLimit, arg("tensor"), arg("kind"));
  add_function(loop, "add_iterator", &ILoop::addIterator, arg("tensor"), arg("axis") = 0,
               arg("reverse") = false);
  add_function(loop, "add_loop_output", &ILoop::addLoopOutput, arg("tensor"), arg("kind"),
               arg("axis") = 0);
  loop_layer<IRecurrenceLayer>(module, "IRecurrenceLayer");
  loop_layer<ITripLimitLayer>(module, "ITripLimitLayer")
      .told("kind", [](const ITripLimitLayer& layer, nb::handle) { return layer.getTripLimit(); });
  loop_layer<IIteratorLayer>(module, "IIteratorLayer")
      .OCTET_PROPERTY(IIteratorLayer, "axis", Axis)
      .OCTET_PROPERTY(IIteratorLayer, "reverse", Reverse);
  loop_layer<ILoopOutputLayer>(module, "ILoopOutputLayer")
      .told("kind", [](const ILoopOutputLayer& layer, nb::handle) { return layer.getLoopOutput(); })
      .OCTET_PROPERTY(ILoopOutputLayer, "axis", Axis);

  auto conditional = scope_class<IIfConditional>(module, "IIfConditional");
  add_function(conditional, "set_condition", &IIfConditional::setCondition, arg("condition"));
  add_function(conditional, "add_output", &IIfConditional::addOutput, arg("true_subgraph_output"),
               arg("false_subgraph_output"));
  add_function(conditional, "add_input", &IIfConditional::addInput, arg("input"));
  add_condition_layer<IConditionLayer>(module, "IConditionLayer");
  add_condition_layer<IIfConditionalInputLayer>(module, "IIfConditionalInputLayer");
  add_condition_layer<IIfConditionalOutputLayer>(module, "IIfConditionalOutputLayer");
  // Of elder programs, which networks refuse.
  LayerClass<IRaggedSoftMaxLayer>(module, "IRaggedSoftMaxLayer");
}

#if NV_TENSORRT_MAJOR >= 10
using AttentionObject = ScopeOf<IAttention>;

template <class Set>
struct Taken;
template <class A>
struct Taken<bool (IAttention::*)(A) noexcept> {
  using Type = A;
};
template <class Set>
using Argument = typename Taken<Set>::Type;

void add_attention(nb::module_& module) {
  using nb::arg;
  const auto own = [](auto set) {
    return [set](const AttentionObject& self, Argument<decltype(set)> value) {
      if (!(self.scope->*set)(value)) throw nb::value_error("the attention cannot have this value");
    };
  };
  const auto told = [](auto get) {
    return [get](const AttentionObject& self) { return (self.scope->*get)(); };
  };
  const auto tensor = [](auto get) {
    return
        [get](const AttentionObject& self) { return inside((self.scope->*get)(), self.network); };
  };
  using A = IAttention;
  nb::class_<AttentionObject>(module, "IAttention")
      .def_prop_rw("norm_op", told(&A::getNormalizationOperation),
                   own(&A::setNormalizationOperation))
      .def_prop_rw("mask", tensor(&A::getMask), own(&A::setMask))
      .def_prop_rw("causal", told(&A::getCausal), own(&A::setCausal))
      .def_prop_rw("decomposable", told(&A::getDecomposable), own(&A::setDecomposable))
      .def_prop_rw("name", told(&A::getName), own(&A::setName))
      .def_prop_rw("metadata", told(&A::getMetadata), own(&A::setMetadata))
      .def_prop_rw("normalization_quantize_scale", tensor(&A::getNormalizationQuantizeScale),
                   own(&A::setNormalizationQuantizeScale))
      .def_prop_rw("normalization_quantize_to_type", told(&A::getNormalizationQuantizeToType),
                   own(&A::setNormalizationQuantizeToType))
      .def_prop_ro("num_inputs", told(&A::getNbInputs))
      .def_prop_ro("num_outputs", told(&A::getNbOutputs))
      .def(
          "set_input",
          [](const AttentionObject& self, int32_t index, ITensor& input) {
            return self.scope->setInput(index, input);
          },
          arg("index"), arg("tensor"))
      .def(
          "get_input",
          [](const AttentionObject& self, int32_t index) {
            return inside(self.scope->getInput(index), self.network);
          },
          arg("index"))
      .def(
          "get_output",
          [](const AttentionObject& self, int32_t index) {
            return inside(self.scope->getOutput(index), self.network);
          },
          arg("index"));
  LayerClass<IAttentionOutputLayer>(module, "IAttentionOutputLayer")
      .told("attention", [](const IAttentionOutputLayer& layer, nb::handle network) {
        return scope_object(network, layer.getAttention());
      });
}
#endif

}  // namespace

void add_layers_shape(nb::module_& module) {
  add_moves(module);
  add_resize(module);
  add_choices(module);
  add_types(module);
  add_others(module);
  add_control(module);
#if NV_TENSORRT_MAJOR >= 10
  add_attention(module);
#endif
}

}  // namespace octet_trt_python
