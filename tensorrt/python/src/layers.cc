// SPDX-License-Identifier: Apache-2.0
// Tensors, what every layer has, and the layers with weights or windows.
#include "layers.h"

namespace octet_trt_python {
namespace {

void add_tensor_types(nb::class_<ITensor>& type) {
  type.def_prop_rw("name", &ITensor::getName, &ITensor::setName)
      .def_prop_rw("shape", &ITensor::getDimensions, &ITensor::setDimensions)
      .def_prop_rw("dtype", &ITensor::getType, &ITensor::setType)
      .def_prop_rw("location", &ITensor::getLocation, &ITensor::setLocation)
      .def_prop_rw("allowed_formats", &ITensor::getAllowedFormats, &ITensor::setAllowedFormats)
      .def_prop_rw("broadcast_across_batch", &ITensor::getBroadcastAcrossBatch,
                   &ITensor::setBroadcastAcrossBatch)
      .def_prop_ro("is_network_input", &ITensor::isNetworkInput)
      .def_prop_ro("is_network_output", &ITensor::isNetworkOutput)
      .def_prop_ro("is_shape_tensor", &ITensor::isShapeTensor)
      .def_prop_ro("is_execution_tensor", &ITensor::isExecutionTensor);
}

void add_tensor(nb::module_& module) {
  nb::class_<ITensor> type(module, "ITensor");
  add_tensor_types(type);
  type.def("set_dynamic_range", &ITensor::setDynamicRange, nb::arg("min"), nb::arg("max"))
      .def("reset_dynamic_range", &ITensor::resetDynamicRange)
      .def("set_dimension_name", &ITensor::setDimensionName, nb::arg("index"), nb::arg("name"))
      .def("get_dimension_name", &ITensor::getDimensionName, nb::arg("index"));
  type.def_prop_rw(
      "dynamic_range",
      [](const ITensor& self) -> nb::object {
        if (!self.dynamicRangeIsSet()) return nb::none();
        return nb::make_tuple(self.getDynamicRangeMin(), self.getDynamicRangeMax());
      },
      [](ITensor& self, const nb::sequence& range) {
        if (!self.setDynamicRange(nb::cast<float>(range[0]), nb::cast<float>(range[1])))
          throw nb::value_error("a range has finite ends, the smaller first");
      });
}

void add_precision(nb::class_<AnyLayer>& type) {
  type.def_prop_rw(
          "precision", [](const AnyLayer& self) { return self.layer->getPrecision(); },
          [](AnyLayer& self, DataType type_asked) { self.layer->setPrecision(type_asked); })
      .def_prop_ro("precision_is_set",
                   [](const AnyLayer& self) { return self.layer->precisionIsSet(); })
      .def("reset_precision", [](AnyLayer& self) { self.layer->resetPrecision(); })
      .def(
          "set_output_type",
          [](AnyLayer& self, int32_t index, DataType type_asked) {
            self.layer->setOutputType(index, type_asked);
          },
          nb::arg("index"), nb::arg("dtype"))
      .def(
          "get_output_type",
          [](const AnyLayer& self, int32_t index) { return self.layer->getOutputType(index); },
          nb::arg("index"))
      .def(
          "output_type_is_set",
          [](const AnyLayer& self, int32_t index) { return self.layer->outputTypeIsSet(index); },
          nb::arg("index"))
      .def(
          "reset_output_type",
          [](AnyLayer& self, int32_t index) { self.layer->resetOutputType(index); },
          nb::arg("index"));
}

void add_layer(nb::module_& module) {
  nb::class_<AnyLayer> type(module, "ILayer");
  type.def_prop_rw(
          "name", [](const AnyLayer& self) { return text_of(self.layer->getName()); },
          [](AnyLayer& self, const char* name) { self.layer->setName(name); })
      .def_prop_rw(
          "metadata", [](const AnyLayer& self) { return text_of(self.layer->getMetadata()); },
          [](AnyLayer& self, const char* text) { self.layer->setMetadata(text); })
      .def_prop_ro("type", [](const AnyLayer& self) { return self.layer->getType(); })
      .def_prop_ro("num_inputs", [](const AnyLayer& self) { return self.layer->getNbInputs(); })
      .def_prop_ro("num_outputs", [](const AnyLayer& self) { return self.layer->getNbOutputs(); })
      .def(
          "get_input",
          [](const AnyLayer& self, int32_t i) {
            return inside(self.layer->getInput(i), self.network);
          },
          nb::arg("index"))
      .def(
          "get_output",
          [](const AnyLayer& self, int32_t i) {
            return inside(self.layer->getOutput(i), self.network);
          },
          nb::arg("index"))
      .def(
          "set_input",
          [](AnyLayer& self, int32_t i, ITensor& tensor) { self.layer->setInput(i, tensor); },
          nb::arg("index"), nb::arg("tensor"))
      .def(
          "__eq__",
          [](const AnyLayer& self, const AnyLayer& other) { return self.layer == other.layer; },
          nb::is_operator())
      .def("__hash__", [](const AnyLayer& self) { return number_of(self.layer) >> 4; });
  add_precision(type);
}

template <class L>
LayerClass<L> window_class(nb::module_& module, const char* name) {
  LayerClass<L> type(module, name);
  type.OCTET_PROPERTY(L, "stride_nd", StrideNd)
      .OCTET_PROPERTY(L, "padding_nd", PaddingNd)
      .OCTET_PROPERTY(L, "pre_padding", PrePadding)
      .OCTET_PROPERTY(L, "post_padding", PostPadding)
      .OCTET_PROPERTY(L, "padding_mode", PaddingMode);
#if NV_TENSORRT_MAJOR < 10
  type.OCTET_PROPERTY(L, "stride", Stride).OCTET_PROPERTY(L, "padding", Padding);
#endif
  return type;
}

template <class L>
LayerClass<L> convolution_class(nb::module_& module, const char* name) {
  LayerClass<L> type = window_class<L>(module, name);
  type.OCTET_PROPERTY(L, "num_output_maps", NbOutputMaps)
      .OCTET_PROPERTY(L, "num_groups", NbGroups)
      .OCTET_PROPERTY(L, "kernel_size_nd", KernelSizeNd)
      .OCTET_PROPERTY(L, "dilation_nd", DilationNd)
      .OCTET_WEIGHTS(L, "kernel", KernelWeights)
      .OCTET_WEIGHTS(L, "bias", BiasWeights);
#if NV_TENSORRT_MAJOR < 10
  type.OCTET_PROPERTY(L, "kernel_size", KernelSize);
#endif
  return type;
}

void add_windows(nb::module_& module) {
  auto convolution = convolution_class<IConvolutionLayer>(module, "IConvolutionLayer");
  convolution_class<IDeconvolutionLayer>(module, "IDeconvolutionLayer");
  using Pooling = IPoolingLayer;
  LayerClass<Pooling> pooling = window_class<Pooling>(module, "IPoolingLayer");
  pooling.OCTET_PROPERTY(Pooling, "type", PoolingType)
      .OCTET_PROPERTY(Pooling, "window_size_nd", WindowSizeNd)
      .OCTET_PROPERTY(Pooling, "blend_factor", BlendFactor)
      .OCTET_PROPERTY(Pooling, "average_count_excludes_padding", AverageCountExcludesPadding);
#if NV_TENSORRT_MAJOR < 10
  convolution.OCTET_PROPERTY(IConvolutionLayer, "dilation", Dilation);
  pooling.OCTET_PROPERTY(Pooling, "window_size", WindowSize);
  using Connected = IFullyConnectedLayer;
  LayerClass<Connected>(module, "IFullyConnectedLayer")
      .OCTET_PROPERTY(Connected, "num_output_channels", NbOutputChannels)
      .OCTET_WEIGHTS(Connected, "kernel", KernelWeights)
      .OCTET_WEIGHTS(Connected, "bias", BiasWeights);
#else
  (void)convolution;
#endif
}

void add_elements(nb::module_& module) {
  LayerClass<IActivationLayer>(module, "IActivationLayer")
      .OCTET_PROPERTY(IActivationLayer, "type", ActivationType)
      .OCTET_PROPERTY(IActivationLayer, "alpha", Alpha)
      .OCTET_PROPERTY(IActivationLayer, "beta", Beta);
  LayerClass<ILRNLayer>(module, "ILRNLayer")
      .OCTET_PROPERTY(ILRNLayer, "window_size", WindowSize)
      .OCTET_PROPERTY(ILRNLayer, "alpha", Alpha)
      .OCTET_PROPERTY(ILRNLayer, "beta", Beta)
      .OCTET_PROPERTY(ILRNLayer, "k", K);
  LayerClass<IScaleLayer>(module, "IScaleLayer")
      .OCTET_PROPERTY(IScaleLayer, "mode", Mode)
      .OCTET_WEIGHTS(IScaleLayer, "shift", Shift)
      .OCTET_WEIGHTS(IScaleLayer, "scale", Scale)
      .OCTET_WEIGHTS(IScaleLayer, "power", Power)
      .OCTET_PROPERTY(IScaleLayer, "channel_axis", ChannelAxis);
  LayerClass<ISoftMaxLayer>(module, "ISoftMaxLayer").OCTET_PROPERTY(ISoftMaxLayer, "axes", Axes);
  LayerClass<IConcatenationLayer>(module, "IConcatenationLayer")
      .OCTET_PROPERTY(IConcatenationLayer, "axis", Axis);
  LayerClass<IElementWiseLayer>(module, "IElementWiseLayer")
      .OCTET_PROPERTY(IElementWiseLayer, "op", Operation);
  LayerClass<IUnaryLayer>(module, "IUnaryLayer").OCTET_PROPERTY(IUnaryLayer, "op", Operation);
  LayerClass<IReduceLayer>(module, "IReduceLayer")
      .OCTET_PROPERTY(IReduceLayer, "op", Operation)
      .OCTET_PROPERTY(IReduceLayer, "axes", ReduceAxes)
      .OCTET_PROPERTY(IReduceLayer, "keep_dims", KeepDimensions);
}

}  // namespace

void add_layers(nb::module_& module) {
  add_tensor(module);
  add_layer(module);
  add_windows(module);
  add_elements(module);
}

}  // namespace octet_trt_python
