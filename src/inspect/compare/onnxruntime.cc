// SPDX-License-Identifier: Apache-2.0
#include "octet/onnxruntime.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/bounded_json.h"
#include "core/check.h"
#include "inspect/compare/onnxruntime_channel.h"
#include "inspect/compare/python_search.h"

namespace octet {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kHowToInstall =
    "install them for one of these (python3 -m pip install onnxruntime numpy), or name another "
    "Python in the variable OCTET_PYTHON";

constexpr std::array<std::pair<std::string_view, Dtype>, 13> kTypes = {{
    {"tensor(float)", Dtype::f32},
    {"tensor(float16)", Dtype::f16},
    {"tensor(bfloat16)", Dtype::bf16},
    {"tensor(double)", Dtype::f64},
    {"tensor(int8)", Dtype::s8},
    {"tensor(uint8)", Dtype::u8},
    {"tensor(int16)", Dtype::s16},
    {"tensor(uint16)", Dtype::u16},
    {"tensor(int32)", Dtype::s32},
    {"tensor(uint32)", Dtype::u32},
    {"tensor(int64)", Dtype::s64},
    {"tensor(uint64)", Dtype::u64},
    {"tensor(bool)", Dtype::boolean},
}};

// Of an input or output; those of other kinds than tensors of numbers are left out, as if they were not there.
std::vector<TensorInfo> infos_of(const Json& list, const std::string& file) {
  std::vector<TensorInfo> infos;
  for (const Json& one : list) {
    const JsonFields fields{one, file, "a list of tensors"};
    fields.check_object();
    const auto type =
        std::ranges::find(kTypes, fields.text("type"), &std::pair<std::string_view, Dtype>::first);
    if (type == kTypes.end()) continue;
    std::vector<s64> dims;
    for (const Json& dim : fields.list("shape"))
      dims.push_back(dim.is_number_integer() ? std::max<s64>(dim.get<s64>(), Shape::kDynamic)
                                             : Shape::kDynamic);
    infos.push_back({fields.text("name"), {type->second, Shape(dims)}});
  }
  return infos;
}

// The first Python that has the packages, with its script running.
std::unique_ptr<OnnxRuntimeChannel> start(const OnnxRuntimeOptions& options, std::string& version) {
  const std::vector<std::string> candidates =
      options.python.empty() ? python_candidates() : std::vector<std::string>{options.python};
  std::string tried;
  for (const std::string& python : candidates) {
    try {
      auto channel = std::make_unique<OnnxRuntimeChannel>(python, options.seconds);
      const Json words = channel->receive().words;
      if (!words.contains("missing")) {
        version = JsonFields{words, python, "a version"}.text("version");
        return channel;
      }
      tried += fmt::format("\n  {} lacks {}", python,
                           JsonFields{words, python, "names"}.text("missing"));
    } catch (const Error& error) {
      tried += fmt::format("\n  {}: {}", python, error.message());
    }
  }
  fail(Error::Code::unsupported,
       "no Python with the packages onnxruntime and numpy was found; {}{}", kHowToInstall,
       tried.empty() ? "\n  there is no python3 in PATH" : tried);
}

}  // namespace

struct OnnxRuntime::Impl {
  std::unique_ptr<OnnxRuntimeChannel> channel;
  std::string model;
  std::string version;
  std::vector<TensorInfo> inputs, outputs;

  // `bytes` of the model; empty: `name` is its file.
  static std::unique_ptr<Impl> open(const std::string& name, Tensor bytes,
                                    const OnnxRuntimeOptions& options) {
    auto impl = std::make_unique<Impl>();
    impl->model = name;
    impl->channel = start(options, impl->version);
    std::vector<Tensor> arrays;
    if (bytes) arrays.push_back(std::move(bytes));
    impl->channel->send(
        {{"model", name}, {"threads", options.threads}, {"rewrites", options.rewrites}}, arrays);
    const Json words = impl->channel->receive().words;
    const JsonFields fields{words, name, "inputs and outputs"};
    impl->inputs = infos_of(fields.list("inputs"), name);
    impl->outputs = infos_of(fields.list("outputs"), name);
    return impl;
  }
};
OnnxRuntime::OnnxRuntime(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
OnnxRuntime::~OnnxRuntime() = default;
OnnxRuntime::OnnxRuntime(OnnxRuntime&&) noexcept = default;
OnnxRuntime& OnnxRuntime::operator=(OnnxRuntime&&) noexcept = default;

OnnxRuntime OnnxRuntime::open(const std::filesystem::path& model,
                              const OnnxRuntimeOptions& options) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(model, error))
    fail(Error::Code::io, "'{}' is no file", model.string());
  return OnnxRuntime(Impl::open(model.string(), {}, options));
}

OnnxRuntime OnnxRuntime::open(std::span<const std::byte> model, const std::string& name,
                              const OnnxRuntimeOptions& options) {
  Tensor bytes(Dtype::u8, {std::ssize(model)});
  std::memcpy(bytes.mutable_data(), model.data(), model.size());
  return OnnxRuntime(Impl::open(name, std::move(bytes), options));
}

const std::string& OnnxRuntime::version() const { return impl_->version; }
const std::vector<TensorInfo>& OnnxRuntime::inputs() const { return impl_->inputs; }
const std::vector<TensorInfo>& OnnxRuntime::outputs() const { return impl_->outputs; }

std::vector<Tensor> OnnxRuntime::run(std::span<const Tensor> inputs,
                                     std::span<const std::string> outputs) {
  if (inputs.size() != impl_->inputs.size()) {
    fail(Error::Code::invalid_argument, "'{}' takes {} inputs, {} are given", impl_->model,
         impl_->inputs.size(), inputs.size());
  }
  Json names = Json::array();
  for (const TensorInfo& input : impl_->inputs) names.push_back(input.name);
  impl_->channel->send({{"inputs", std::move(names)},
                        {"outputs", std::vector<std::string>(outputs.begin(), outputs.end())}},
                       inputs);
  std::vector<Tensor> results = impl_->channel->receive().arrays;
  if (results.size() != outputs.size()) {
    fail(Error::Code::invalid_argument, "ONNX Runtime gives {} outputs, {} were asked for",
         results.size(), outputs.size());
  }
  return results;
}

}  // namespace octet
