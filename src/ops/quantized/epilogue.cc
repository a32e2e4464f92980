// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/epilogue.h"

#include "core/check.h"
#include "ops/attributes/codes.h"
#include "ops/quantized/zero_points.h"
#include "ops/shared/dot.h"
#include "ops/shared/dtypes.h"

namespace octet {
namespace {

constexpr std::string_view kProductInputNames[] = {"input",    "weights", "bias",  "multiplier",
                                                   "residual", "table",   "addend"};

s32 checked_code(std::string_view name, s64 value, const CodeRange& codes) {
  if (value < codes.lo || value > codes.hi) {
    fail(Error::Code::invalid_model, "attribute '{}' is {}, expected a value in [{}, {}]", name,
         value, codes.lo, codes.hi);
  }
  return static_cast<s32>(value);
}

void require_type(const Inference& inference, size_t i, Dtype dtype, s64 elements) {
  const TensorType& type = inference.inputs[i];
  if (type.dtype == dtype && type.shape.elements() == elements) return;
  fail(Error::Code::invalid_model, "the {} is {}, expected {} with {} elements",
       kProductInputNames[i], to_string(type), dtype_name(dtype), elements);
}

void check_zero_points(const Inference& inference, const Epilogue& epilogue) {
  for (size_t i = 0; i < epilogue.zero_points.size(); ++i) {
    const s32 zero_point = epilogue.zero_points[i];
    if (zero_point == 0) continue;
    const Dtype dtype = inference.has_input(i) ? inference.inputs[i].dtype : Dtype::f32;
    if (!is_code(dtype) || zero_point < code_range(dtype).lo || zero_point > code_range(dtype).hi) {
      fail(Error::Code::invalid_model, "attribute 'input_zero_points' gives {} to input {} ({})",
           zero_point, i, dtype_name(dtype));
    }
  }
}

// The residual or the addend, which may be one row of channels.
void check_operand(const Inference& inference, size_t i, const Shape& output, s64 channels) {
  if (!inference.has_input(i)) return;
  const TensorType& operand = inference.inputs[i];
  if (is_code(operand.dtype) && operand.shape == output) return;
  const bool row = i == kProductAddend && operand.shape == Shape{channels};
  if (operand.dtype == Dtype::u8 && row) return;
  fail(Error::Code::invalid_model, "the {} is {}, expected u8 or s8 of shape {}",
       kProductInputNames[i], to_string(operand), to_string(output));
}

CodeRange output_range(const OutputCodesAttributes& given) {
  const CodeRange codes = code_range(given.output_dtype);
  return {checked_code("output_zero_point", given.output_zero_point, codes),
          checked_code("lo", given.lo.value_or(codes.lo), codes),
          checked_code("hi", given.hi.value_or(codes.hi), codes)};
}

CodeRange sum_range(const SumAttributes& given) {
  const CodeRange codes = code_range(given.sum_dtype);
  return {checked_code("sum_zero_point", given.sum_zero_point, codes),
          checked_code("sum_lo", given.sum_lo.value_or(codes.lo), codes),
          checked_code("sum_hi", given.sum_hi.value_or(codes.hi), codes)};
}

SumStage sum_of(const Node& node) {
  const auto given = attributes_of<SumAttributes>(node);
  const std::vector<f32>& multipliers = given.sum_multipliers;
  SumStage sum;
  sum.output_dtype = given.sum_dtype;
  if (!is_code(sum.output_dtype) || multipliers.size() != 2) {
    fail(Error::Code::invalid_model,
         "attributes 'sum_dtype' ({}) and 'sum_multipliers' ({} values), expected u8 or s8 and 2",
         dtype_name(sum.output_dtype), multipliers.size());
  }
  sum.range = sum_range(given);
  sum.own_multiplier = multipliers[0];
  sum.addend_multiplier = multipliers[1];
  sum.own_zero_point =
      checked_code("sum_own_zero_point", given.sum_own_zero_point, code_range(Dtype::u8));
  sum.addend_first = given.sum_addend_first;
  return sum;
}

// A table of segments. One that only a run tells is taken as it is: its sums saturate.
void check_segments(const Inference& inference) {
  const TensorType& type = inference.inputs[kProductTable];
  if (type.dtype != Dtype::s32 || type.shape != Shape{kFineSegments})
    fail(Error::Code::invalid_model, "the table is {}, expected {} s32 segments", to_string(type),
         kFineSegments);
  const Tensor* table = inference.value(kProductTable);
  if (table == nullptr) return;
  for (const s32 segment : table->as<s32>()) {
    const s32 base = fine_base(segment);
    if (base < -kFineBase || base > kFineBase)
      fail(Error::Code::invalid_model, "a segment of the table begins at {}, expected {} to {}",
           base, -kFineBase, kFineBase);
  }
}

// The dtype after an optional table.
Dtype table_dtype(const Inference& inference, const Epilogue& epilogue) {
  if (epilogue.fine_zero_point) {
    if (epilogue.real() || !inference.has_input(kProductTable))
      fail(Error::Code::invalid_model, "attribute 'fine_zero_point' without codes and their table");
    check_segments(inference);
    return epilogue.output_dtype;
  }
  if (!inference.has_input(kProductTable)) return epilogue.output_dtype;
  const TensorType& table = inference.inputs[kProductTable];
  if (epilogue.real() || !is_code(table.dtype) || table.shape != Shape{256}) {
    fail(Error::Code::invalid_model, "the table is {}, expected 256 codes after a u8 or s8 output",
         to_string(table));
  }
  return table.dtype;
}

}  // namespace

CodeRange code_range(Dtype dtype) {
  return dtype == Dtype::u8 ? CodeRange{0, 0, 255} : CodeRange{0, -128, 127};
}

Epilogue epilogue_of(const Node& node) {
  const auto given = attributes_of<EpilogueAttributes>(node);
  Epilogue epilogue;
  epilogue.output_dtype = given.output_dtype;
  if (!is_code(epilogue.output_dtype) && !epilogue.real()) {
    fail(Error::Code::invalid_model, "attribute 'output_dtype' is {}, expected u8, s8 or f32",
         dtype_name(epilogue.output_dtype));
  }
  if (!epilogue.real()) epilogue.range = output_range(given);
  epilogue.zero_points = input_zero_points(node);
  epilogue.residual_multiplier = given.residual_multiplier;
  epilogue.activation = activation_of(node);
  if (!epilogue.real() && epilogue.activation.is_clamp()) {
    fail(Error::Code::invalid_model,
         "attribute 'activation' is a clamp; integer outputs carry it in 'lo' and 'hi'");
  }
  if (node.input(kProductAddend) != kNoValue) epilogue.sum = sum_of(node);
  if (given.fine_zero_point)
    epilogue.fine_zero_point =
        checked_code("fine_zero_point", *given.fine_zero_point, {0, 0, kFineCodes - 1});
  return epilogue;
}

void infer_product_epilogue(Inference& inference, const Shape& output, s64 channels) {
  const Epilogue epilogue = epilogue_of(inference.node);
  check_zero_points(inference, epilogue);
  if (inference.has_input(kProductBias)) {
    require_type(inference, kProductBias, Dtype::s32, channels);
  }
  if (!inference.has_input(kProductMultiplier)) {
    fail(Error::Code::invalid_model, "the multiplier input is missing");
  }
  const bool one = inference.inputs[kProductMultiplier].shape.elements() == 1;
  require_type(inference, kProductMultiplier, Dtype::f32, one ? 1 : channels);
  check_operand(inference, kProductResidual, output, channels);
  check_operand(inference, kProductAddend, output, channels);
  const Dtype codes = table_dtype(inference, epilogue);
  if (epilogue.sum && codes != Dtype::u8) {
    fail(Error::Code::invalid_model, "the codes that meet the addend are {}, expected u8",
         dtype_name(codes));
  }
  inference.output(epilogue.sum ? epilogue.sum->output_dtype : codes, output);
}

void infer_code_output(Inference& inference, const Shape& output) {
  const Epilogue epilogue = epilogue_of(inference.node);
  check_zero_points(inference, epilogue);
  if (epilogue.real()) {
    fail(Error::Code::invalid_model, "attribute 'output_dtype' is f32, expected u8 or s8");
  }
  inference.output(epilogue.output_dtype, output);
}

ProductEpilogue::ProductEpilogue(const Eval& eval)
    : epilogue_(epilogue_of(eval.node)), output_(eval.outputs[0]) {
  multiplier_ = eval.inputs[kProductMultiplier].as<f32>();
  if (eval.has_input(kProductBias)) bias_ = eval.inputs[kProductBias].as<s32>();
  if (eval.has_input(kProductResidual)) residual_ = eval.inputs[kProductResidual];
  if (eval.has_input(kProductTable)) table_ = eval.inputs[kProductTable];
  if (eval.has_input(kProductAddend)) addend_ = eval.inputs[kProductAddend];
}

s32 ProductEpilogue::code_behind_table(f32 t) const {
  if (!epilogue_.fine_zero_point) {
    const s32 code = to_code(epilogue_, t);
    return table_ ? code_at(table_, table_index(code, epilogue_.output_dtype)) : code;
  }
  const s32 fine = fine_code(apply(epilogue_.activation, t), *epilogue_.fine_zero_point);
  const s32 code = code_of_fine(fine_result(table_.as<s32>().data(), fine));
  return clamp_s32(code, epilogue_.range.lo, epilogue_.range.hi);
}

void ProductEpilogue::store(s64 index, s64 channel, s64 acc) const {
  const size_t i = static_cast<size_t>(index);
  const size_t c = static_cast<size_t>(channel);
  // Modulo 2^32 as the vector units add; models that Octet builds are proven not to wrap.
  if (!bias_.empty()) acc = wrapped(acc + bias_[c]);
  f32 t = static_cast<f32>(acc) * multiplier_[multiplier_.size() == 1 ? 0 : c];
  if (residual_) {
    t = add_residual(epilogue_, t, code_at(residual_, i) - epilogue_.zero_point(kProductResidual));
  }
  if (epilogue_.real()) {
    static_cast<f32*>(output_.data)[i] = apply(epilogue_.activation, t);
    return;
  }
  s32 code = code_behind_table(t);
  if (addend_) {
    const size_t at = addend_.shape == output_.shape ? i : c;
    const s32 addend = code_at(addend_, at) - epilogue_.zero_point(kProductAddend);
    const SumStage& sum = *epilogue_.sum;
    code = requantize(apply(sum, code - sum.own_zero_point, addend), sum.range);
  }
  store_code(output_, i, code);
}

std::vector<s16> centered_codes(const ConstView& view, s32 zero_point) {
  std::vector<s16> values(static_cast<size_t>(view.shape.elements()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<s16>(code_at(view, i) - zero_point);
  }
  return values;
}

}  // namespace octet
