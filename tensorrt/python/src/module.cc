// SPDX-License-Identifier: Apache-2.0
#include "module.h"

namespace {

bool init_plugins(nvinfer1::ILogger* logger, const char* name) {
  return initLibNvInferPlugins(logger, name);
}

std::string version() {
  return std::to_string(NV_TENSORRT_MAJOR) + "." + std::to_string(NV_TENSORRT_MINOR) + "." +
         std::to_string(NV_TENSORRT_PATCH);
}

}  // namespace

NB_MODULE(OCTET_TRT_MODULE, module) {
  using namespace octet_trt_python;
  // Loggers and engines outlive the interpreter in most programs.
  nb::set_leak_warnings(false);
  module.attr("__version__") = version();
  add_enums(module);
  add_values(module);
  add_callbacks(module);
  add_calibrators(module);
  add_layers(module);
  add_layers_shape(module);
  add_network(module);
  add_config(module);
  add_builder(module);
  add_plugins(module);
  add_parser(module);
  add_runtime(module);
  add_engine(module);
  add_context(module);
  add_refitter(module);
  module.def("init_libnvinfer_plugins", &init_plugins, nb::arg("logger").none(),
             nb::arg("namespace"));
  module.def("get_nv_onnx_parser_version", &getNvOnnxParserVersion);
}
