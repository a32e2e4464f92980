// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/lower/q_common.h"

#include "backends/cpu/lower/f_rows.h"

namespace octet {

namespace {

// A table of segments as EpilogueArgs has it.
Tensor lines_in_bytes(const Tensor& segments) {
  Tensor lines(Dtype::u8, Shape{4 * kFineSegments});
  const std::span<u8> bytes = lines.mutable_as<u8>();
  const std::span<const s32> from = segments.as<s32>();
  for (size_t i = 0; i < from.size(); ++i) {
    const auto segment = static_cast<u32>(from[i]);
    for (size_t part = 0; part < 4; ++part)
      bytes[part * from.size() + i] = static_cast<u8>(segment >> (8 * part));
  }
  return lines;
}

// `args` has what belongs to the first codes.
SumArgs sum_args(const EpilogueArgs& args, const SumStage& sum) {
  SumArgs result;
  result.own_multiplier = sum.own_multiplier;
  result.own_zero_point = sum.own_zero_point;
  result.zero_point = sum.range.zero_point;
  result.lo = sum.range.lo;
  result.hi = sum.range.hi;
  result.residual_first = sum.addend_first;
  result.direct = args.table == nullptr && args.zero_point == sum.own_zero_point;
  result.rounded_lo = kRounder + static_cast<f32>(args.lo - args.zero_point);
  result.rounded_hi = kRounder + static_cast<f32>(args.hi - args.zero_point);
  result.residual_zero = kByteBase + static_cast<f32>(args.residual_zero_point);
  return result;
}

}  // namespace

EpilogueArgs epilogue_args(const Epilogue& epilogue, const Tensor* table) {
  const s32 shift = epilogue.output_dtype == Dtype::s8 ? 128 : 0;
  const Activation& activation = epilogue.activation;
  EpilogueArgs args;
  args.table = table != nullptr ? reinterpret_cast<const u8*>(table->data()) : nullptr;
  args.fine = epilogue.fine_zero_point.has_value();
  args.zero_point = epilogue.fine_zero_point.value_or(epilogue.range.zero_point + shift);
  args.lo = epilogue.range.lo + shift;
  args.hi = epilogue.range.hi + shift;
  args.residual_multiplier = epilogue.residual_multiplier;
  args.residual_zero_point = epilogue.zero_point(kProductResidual);
  if (epilogue.sum) {
    const SumStage& sum = *epilogue.sum;
    args.sums = true;
    args.residual_multiplier = sum.addend_multiplier;
    args.residual_zero_point = epilogue.zero_point(kProductAddend);
    args.sum = sum_args(args, sum);
  }
  args.alpha = activation.alpha;
  args.min = activation.min;
  args.max = activation.max;
  args.leaky = activation.kind == Activation::Kind::leaky_relu;
  args.clip = activation.is_clamp();
  args.real = epilogue.real();
  return args;
}

std::string epilogue_reject(const Epilogue& epilogue, bool has_table) {
  if (epilogue.fine_zero_point) has_table = false;  // it makes the output's codes
  const Dtype output = epilogue.sum ? epilogue.sum->output_dtype : epilogue.output_dtype;
  if (output == Dtype::s8 && (epilogue.sum || !has_table)) return "the output codes are s8";
  return {};
}

std::string product_constants(const LowerRequest& request, ProductConstants& constants) {
  const auto take = [&](size_t i, Tensor& tensor) {
    if (!request.has_input(i)) return true;
    const Tensor* constant = request.constant(i);
    if (constant != nullptr) tensor = *constant;
    return constant != nullptr;
  };
  if (!take(kProductBias, constants.bias)) return "the bias is not a constant";
  if (!take(kProductMultiplier, constants.multiplier)) return "the multiplier is not a constant";
  if (!take(kProductTable, constants.table)) return "the table is not a constant";
  const Epilogue epilogue = epilogue_of(request.node);
  if (epilogue.fine_zero_point) constants.table = lines_in_bytes(constants.table);
  if (request.constant(kProductX) != nullptr) return "the input is a constant";
  if (request.inputs[kProductX].dtype != Dtype::u8) return "the input codes are not u8";
  for (size_t i : {size_t{kProductResidual}, size_t{kProductAddend}}) {
    if (!request.has_input(i)) continue;
    if (constants.has_residual()) return "it has a residual and an addend";
    if (const Tensor* row = request.constant(i)) {
      const bool taken = i == kProductAddend && row->dtype() == Dtype::u8 &&
                         row->shape().rank() == 1 && request.node.op->name == "QMatMul";
      if (!taken) return "the residual is a constant";
      constants.row = *row;
      continue;
    }
    if (request.inputs[i].dtype != Dtype::u8) return "the residual codes are not u8";
    constants.residual = i;
  }
  return epilogue_reject(epilogue, request.has_input(kProductTable));
}

std::string sum_note(const LowerRequest& request) {
  const ValueId addend = request.node.input(kProductAddend);
  if (addend == kNoValue) return {};
  return "then adds " + request.graph.value(addend).name;
}

Placement nhwc_placement(const Shape& shape, const Placement& placement) {
  Placement filled = placement;
  const std::vector<s64> strides = value_strides(shape, placement);
  filled.image_stride = strides[0];
  filled.row_stride = strides[2];
  filled.pixel_stride = strides[3];
  return filled;
}

Layout common_layout(const LowerRequest& request) {
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const bool activation = request.has_input(i) && request.constant(i) == nullptr;
    if (activation && request.inputs[i].shape.rank() == 4 && request.layouts[i] == Layout::nhwc) {
      return Layout::nhwc;
    }
  }
  return Layout::linear;
}

Candidate candidate_of(const LowerRequest& request, const char* kernel, Layout layout) {
  Candidate candidate;
  candidate.kernel = kernel;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const bool activation = request.has_input(i) && request.constant(i) == nullptr;
    const bool image = activation && request.inputs[i].shape.rank() == 4;
    candidate.inputs.push_back(image ? layout : Layout::linear);
  }
  for (const TensorType& type : request.outputs) {
    candidate.outputs.push_back(type.shape.rank() == 4 ? layout : Layout::linear);
  }
  candidate.holds = request.constants();
  return candidate;
}

}  // namespace octet
