// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/plugins/sizes.h"

#include <algorithm>
#include <string>

#include "tensorrt/shared/report.h"

namespace octet_trt {
namespace {

const octet_plugin_tensor& size_tensor(const octet_plugin_call& call, int32_t output) {
  if (output < 0 || static_cast<uint64_t>(output) >= call.output_count)
    refuse("declareSizeTensor(" + std::to_string(output) + ") names no output");
  const octet_plugin_tensor& tensor = call.outputs[output];
  const bool is_size = tensor.type == OCTET_TYPE_S64 || tensor.type == OCTET_TYPE_S32;
  if (!is_size || tensor.rank > 0)
    refuse("output " + std::to_string(output) + " is no size tensor");
  return tensor;
}

}  // namespace

SizeSources size_sources(const octet_plugin_call& call, int32_t shapes) {
  SizeSources from;
  const uint64_t inputs = call.input_count - static_cast<uint64_t>(shapes);
  for (uint64_t i = 0; i < call.input_count; ++i) {
    const octet_plugin_tensor& input = call.inputs[i];
    const Dims dims = to_dims(std::vector<int64_t>(input.dims, input.dims + input.rank));
    if (i < inputs) {
      from.inputs.push_back(dims);
      continue;
    }
    const auto count = static_cast<size_t>(volume(dims));
    if (count > kMostShapeNumbers)
      refuse("shape input " + std::to_string(i - inputs) + " has " + std::to_string(count) +
             " numbers; getOutputShapes() can be told " + std::to_string(kMostShapeNumbers));
    const auto* numbers = static_cast<const int64_t*>(input.data);
    from.shapes.emplace_back(numbers, numbers + count);
  }
  return from;
}

void open_sizes(octet_plugin_call& call, const ToldSizes& told) {
  for (const int32_t output : told.by) size_tensor(call, output);
  for (size_t i = 0; i < told.open.size() && i < call.output_count; ++i) {
    for (size_t d = 0; d < told.open[i].size(); ++d)
      call.outputs[i].open_dims |= uint64_t{told.open[i][d]} << d;
  }
}

void tell_sizes(octet_plugin_call& call, const LivePlugin& plugin) {
  // Others may run on a GPU, where the host cannot read the numbers of shape inputs.
  if (plugin.record.signature.sized.empty()) return;
  const SizeSources from = size_sources(call, plugin.record.signature.shapes);
  SizeValues values;
  for (const int32_t output : plugin.told_sizes(from).by) {
    const octet_plugin_tensor& by = size_tensor(call, output);
    values[output] = by.type == OCTET_TYPE_S64 ? *static_cast<const int64_t*>(by.data)
                                               : *static_cast<const int32_t*>(by.data);
  }
  if (values.empty()) return;
  const std::vector<Dims> outputs = plugin.told_dims(from, values);
  for (size_t i = 0; i < outputs.size() && i < call.output_count; ++i) {
    if (call.outputs[i].open_dims != 0)
      std::copy(outputs[i].d, outputs[i].d + outputs[i].nbDims, call.outputs[i].dims);
  }
}

}  // namespace octet_trt
