// SPDX-License-Identifier: Apache-2.0
// Slices: where start, size and steps are known, and where they are tensors.
#include <algorithm>
#include <limits>

#include "tensorrt/network/emit.h"

namespace octet_trt {
namespace {

using Sizes = std::vector<int64_t>;

// What a slice reads, where its start, size and steps are known.
struct Reach {
  Sizes starts, ends, steps, axes;
};

Reach reach_of(const ISliceLayer& layer, Emission& out) {
  Reach reach;
  reach.starts = to_vector(layer.getStart());
  reach.steps = to_vector(layer.getStride());
  const Sizes sizes = to_vector(layer.getSize());
  if (reach.starts.size() != sizes.size() || reach.steps.size() != sizes.size())
    refuse("layer '" + out.layer().name + "': start, size and stride differ in length");
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t end = reach.starts[i] + sizes[i] * reach.steps[i];
    if (reach.steps[i] == 0) end = reach.starts[i] + 1;
    if (reach.steps[i] < 0 && end < 0) end = std::numeric_limits<int64_t>::min();
    reach.ends.push_back(end);
    reach.axes.push_back(out.axis(static_cast<int64_t>(i)));
  }
  return reach;
}

const char* pad_mode(SampleMode mode) {
  switch (mode) {
    case SampleMode::kFILL:
      return "constant";
    case SampleMode::kCLAMP:
      return "edge";
    case SampleMode::kREFLECT:
      return "reflect";
    default:
      break;
  }
  refuse("slices that wrap around are not supported");
}

// What lies outside of the input is put there first.
std::string padded(const ISliceLayer& layer, Emission& out, Reach& reach) {
  const Dims input = out.dims(0);
  const auto rank = static_cast<size_t>(input.nbDims + out.batch());
  Sizes pads(2 * rank, 0);
  for (size_t i = 0; i < reach.starts.size(); ++i) {
    const int64_t size = input.d[i];
    if (size < 0 || reach.steps[i] < 0)
      refuse("layer '" + out.layer().name +
             "': a slice that may leave its input needs known sizes and no step back");
    const int64_t before = std::max<int64_t>(0, -reach.starts[i]);
    pads[i + rank - static_cast<size_t>(input.nbDims)] = before;
    pads[i + 2 * rank - static_cast<size_t>(input.nbDims)] =
        std::max<int64_t>(0, reach.ends[i] - size);
    reach.starts[i] += before;
    reach.ends[i] += before;
  }
  std::vector<std::string> inputs = {out.in(0), out.integers(pads)};
  if (out.has(4)) inputs.push_back(out.in(4));
  return out.node("Pad", inputs, {{"mode", std::string(pad_mode(layer.getMode()))}});
}

void check_bounds(const ISliceLayer& layer, Emission& out) {
  const Dims input = out.dims(0), start = layer.getStart(), size = layer.getSize();
  for (int32_t i = 0; i < size.nbDims && i < input.nbDims; ++i) {
    const int64_t last = start.d[i] + (size.d[i] - 1) * layer.getStride().d[i];
    const bool inside = start.d[i] >= 0 && last >= 0 && (input.d[i] < 0 || last < input.d[i]);
    if (size.d[i] > 0 && !inside) {
      refuse("layer '" + out.layer().name + "': the slice from " + to_string(start) + " of sizes " +
             to_string(size) + " leaves its input of sizes " + to_string(input));
    }
  }
}

// A step of zero reads one element as often as the size says, which no Slice of ONNX does.
bool repeats(const Sizes& steps) { return std::ranges::find(steps, 0) != steps.end(); }

// Where start, size or stride are tensors: what a slice reads, as values of the model.
struct TensorReach {
  std::string start, size, step;
};

// What lies outside of the input is put there first.
std::string padded(const ISliceLayer& layer, Emission& out, TensorReach& reach) {
  const Sizes steps = to_vector(layer.getStride());
  if (out.has(3) || std::ranges::any_of(steps, [](int64_t step) { return step <= 0; }))
    refuse("layer '" + out.layer().name +
           "': steps of a slice that leaves its input must be known and positive");
  const std::string zero = out.integers({0}), one = out.integers({1});
  const std::string before = out.node("Max", {out.node("Neg", {reach.start}), zero});
  const std::string last = out.node(
      "Add", {reach.start, out.node("Mul", {out.node("Sub", {reach.size, one}), reach.step})});
  const std::string beyond =
      out.node("Sub", {out.node("Add", {last, one}), out.node("Shape", {out.in(0)})});
  const std::string after = out.node("Max", {beyond, zero});
  std::vector<std::string> inputs = {out.in(0),
                                     out.node("Concat", {before, after}, {{"axis", int64_t{0}}})};
  if (out.has(4)) inputs.push_back(out.in(4));
  reach.start = out.node("Add", {reach.start, before});
  return out.node("Pad", inputs, {{"mode", std::string(pad_mode(layer.getMode()))}});
}

void dynamic_slice(const ISliceLayer& layer, Emission& out) {
  const auto part = [&](size_t i, const Dims& dims) {
    return out.has(i) ? out.in_as_int64(i) : out.integers(to_vector(dims));
  };
  TensorReach reach{part(1, layer.getStart()), part(2, layer.getSize()),
                    part(3, layer.getStride())};
  const bool inside = layer.getMode() == SampleMode::kSTRICT_BOUNDS;
  const std::string value = inside ? out.in(0) : padded(layer, out, reach);
  Sizes axes;
  for (int32_t i = 0; i < out.dims(0).nbDims; ++i) axes.push_back(out.axis(i));
  const std::string end = out.node("Add", {reach.start, out.node("Mul", {reach.size, reach.step})});
  const Sizes steps = to_vector(layer.getStride());
  if (!out.has(3) && std::ranges::all_of(steps, [](int64_t step) { return step > 0; })) {
    out.last("Slice", {value, reach.start, end, out.integers(axes), reach.step});
    return;
  }
  // A step back that ends ahead of the first element; ONNX counts -1 from the end.
  const std::string first = out.integers({std::numeric_limits<int64_t>::min()});
  const std::string zero = out.integers({0}), one = out.integers({1});
  const std::string whole_end = out.node("Where", {out.node("Less", {end, zero}), first, end});
  const std::string is_zero = out.node("Equal", {reach.step, zero});
  const std::string once_end =
      out.node("Where", {is_zero, out.node("Add", {reach.start, one}), whole_end});
  const std::string moved = out.node("Where", {is_zero, one, reach.step});
  out.last("Expand", {out.node("Slice", {value, reach.start, once_end, out.integers(axes), moved}),
                      reach.size});
}

}  // namespace

void emit_layer(const ISliceLayer& layer, Emission& out) {
  if (out.has(1) || out.has(2) || out.has(3)) return dynamic_slice(layer, out);
  Reach reach = reach_of(layer, out);
  std::string value = out.in(0);
  if (layer.getMode() == SampleMode::kSTRICT_BOUNDS) {
    check_bounds(layer, out);
  } else {
    value = padded(layer, out, reach);
  }
  const bool repeated = repeats(reach.steps);
  std::ranges::replace(reach.steps, 0, 1);
  const std::vector<std::string> inputs = {value, out.integers(reach.starts),
                                           out.integers(reach.ends), out.integers(reach.axes),
                                           out.integers(reach.steps)};
  if (!repeated) return out.last("Slice", inputs);
  Sizes sizes = to_vector(layer.getSize());
  if (out.batch() == 1) sizes.insert(sizes.begin(), 1);
  out.last("Expand", {out.node("Slice", inputs), out.integers(sizes)});
}

}  // namespace octet_trt
