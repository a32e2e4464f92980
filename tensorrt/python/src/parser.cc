// SPDX-License-Identifier: Apache-2.0
// ONNX models into networks, and into refitters.
#include <algorithm>

#include "holders.h"

namespace octet_trt_python {
namespace {

using nvonnxparser::IParser;
using nvonnxparser::IParserError;
using nvonnxparser::OnnxParserFlag;
using ParserHolder = Holder<IParser>;

std::string error_text(const IParserError& error) {
  std::string text = "In node " + std::to_string(error.node());
#if NV_TENSORRT_MAJOR >= 10
  text += " with name: " + std::string(text_of(error.nodeName())) +
          " and operator: " + text_of(error.nodeOperator());
#endif
  return text + " (" + text_of(error.func()) + "): " + text_of(error.desc());
}

void add_error(nb::module_& module) {
  nb::class_<IParserError> type(module, "ParserError");
  type.def("code", &IParserError::code)
      .def("desc", [](const IParserError& self) { return text_of(self.desc()); })
      .def("file", [](const IParserError& self) { return text_of(self.file()); })
      .def("line", &IParserError::line)
      .def("func", [](const IParserError& self) { return text_of(self.func()); })
      .def("node", &IParserError::node)
      .def("__str__", &error_text)
      .def("__repr__", &error_text);
#if NV_TENSORRT_MAJOR >= 10
  type.def("node_name", [](const IParserError& self) { return text_of(self.nodeName()); })
      .def("node_operator", [](const IParserError& self) { return text_of(self.nodeOperator()); })
      .def("local_function_stack",
           [](const IParserError& self) {
             const char* const* stack = self.localFunctionStack();
             const int32_t size = stack == nullptr ? 0 : std::max(0, self.localFunctionStackSize());
             return std::vector<std::string>(stack, stack + size);
           })
      .def("local_function_stack_size", &IParserError::localFunctionStackSize);
#endif
}

template <class T>
void add_errors(nb::class_<Holder<T>>& type) {
  using H = Holder<T>;
  type.def_prop_ro("num_errors", [](const H& self) { return self.get().getNbErrors(); })
      .def(
          "get_error",
          [](nb::handle self, int32_t index) {
            return inside(const_cast<IParserError*>(nb::cast<H&>(self).get().getError(index)),
                          self);
          },
          nb::arg("index"))
      .def("clear_errors", [](H& self) { self.get().clearErrors(); });
}

bool parse(ParserHolder& self, nb::handle model, const OptionalText& path) {
  const Bytes bytes(model);
  const nb::gil_scoped_release unlocked;
  return self.get().parse(bytes.data(), bytes.size(), text_of(path));
}

bool parse_file(ParserHolder& self, const char* path) {
  return self.get().parseFromFile(path, static_cast<int>(ILogger::Severity::kVERBOSE));
}

// Whether the model is supported, and its parts with their nodes.
nb::tuple supports_model(ParserHolder& self, nb::handle model, const OptionalText& path) {
  const Bytes bytes(model);
  SubGraphCollection_t parts;
  const bool supported = self.get().supportsModel(bytes.data(), bytes.size(), parts, text_of(path));
  nb::list list;
  for (const SubGraph_t& part : parts)
    list.append(nb::make_tuple(nb::cast(part.first), part.second));
  return nb::make_tuple(supported, list);
}

#if NV_TENSORRT_MAJOR >= 10
nb::object output_of_layer(nb::handle self, const char* name, int64_t index) {
  auto& parser = nb::cast<ParserHolder&>(self).get();
  return inside(const_cast<ITensor*>(parser.getLayerOutputTensor(name, index)), self);
}
#endif

void add_flags(HolderClass<IParser>& type) {
  type.write("flags", &IParser::getFlags, &IParser::setFlags)
      .call("set_flag", &IParser::setFlag, nb::arg("flag"))
      .call("clear_flag", &IParser::clearFlag, nb::arg("flag"))
      .call("get_flag", &IParser::getFlag, nb::arg("flag"))
      .call("supports_operator", &IParser::supportsOperator, nb::arg("op_name"));
  type.def("get_used_vc_plugin_libraries", [](ParserHolder& self) {
    int64_t count = 0;
    const char* const* names = self.get().getUsedVCPluginLibraries(count);
    return names == nullptr ? std::vector<std::string>()
                            : std::vector<std::string>(names, names + count);
  });
#if NV_TENSORRT_MAJOR >= 10
  type.def(
      "supports_model_v2",
      [](ParserHolder& self, nb::handle model, const OptionalText& path) {
        const Bytes bytes(model);
        return self.get().supportsModelV2(bytes.data(), bytes.size(), text_of(path));
      },
      nb::arg("model"), nb::arg("path").none() = nb::none());
  type.def("get_layer_output_tensor", &output_of_layer, nb::arg("name"), nb::arg("i"));
  type.call("set_builder_config", &IParser::setBuilderConfig, nb::arg("builder_config"),
            nb::keep_alive<1, 2>())
      .read("num_subgraphs", &IParser::getNbSubgraphs)
      .call("is_subgraph_supported", &IParser::isSubgraphSupported, nb::arg("index"));
  type.def(
      "get_subgraph_nodes",
      [](ParserHolder& self, int64_t index) {
        int64_t count = 0;
        const int64_t* nodes = self.get().getSubgraphNodes(index, count);
        return nodes == nullptr ? std::vector<int64_t>()
                                : std::vector<int64_t>(nodes, nodes + count);
      },
      nb::arg("index"));
#endif
}

#if NV_TENSORRT_MAJOR >= 10
using nvonnxparser::IParserRefitter;

void add_parser_refitter(nb::module_& module) {
  using H = Holder<IParserRefitter>;
  HolderClass<IParserRefitter> type(module, "OnnxParserRefitter");
  type.def(
      "__init__",
      [](H* self, Holder<IRefitter>& refitter, ILogger& logger) {
        new (self) H(nvonnxparser::createParserRefitter(refitter.get(), logger));
      },
      nb::arg("refitter"), nb::arg("logger"), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>());
  type.def(
      "refit_from_bytes",
      [](H& self, nb::handle model, const OptionalText& path) {
        const Bytes bytes(model);
        return self.get().refitFromBytes(bytes.data(), bytes.size(), text_of(path));
      },
      nb::arg("model"), nb::arg("path").none() = nb::none());
  type.call("refit_from_file", &IParserRefitter::refitFromFile, nb::arg("model"));
  add_errors(type);
}
#endif

}  // namespace

void add_parser(nb::module_& module) {
  add_error(module);
  HolderClass<IParser> type(module, "OnnxParser");
  type.def(
      "__init__",
      [](ParserHolder* self, INetworkDefinition& network, ILogger& logger) {
        new (self) ParserHolder(nvonnxparser::createParser(network, logger));
      },
      nb::arg("network"), nb::arg("logger"), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>());
  type.def("parse", &parse, nb::arg("model"), nb::arg("path").none() = nb::none())
      .def("parse_from_file", &parse_file, nb::arg("model"),
           nb::call_guard<nb::gil_scoped_release>())
      .def("supports_model", &supports_model, nb::arg("model"),
           nb::arg("path").none() = nb::none());
  add_errors(type);
  add_flags(type);
#if NV_TENSORRT_MAJOR >= 10
  add_parser_refitter(module);
#endif
}

}  // namespace octet_trt_python
