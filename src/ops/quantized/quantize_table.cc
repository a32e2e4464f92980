// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/quantize_table.h"

#include <cmath>

#include "ops/quantized/quantize_node.h"

namespace octet {
namespace {

s32 quantize_f64(f64 real, const QuantParams& params, const CodeRange& codes) {
  if (std::isnan(real)) return params.zero_point;  // docs/numerics.md, section 2
  f64 code = std::nearbyint(real / f64{params.scale}) + params.zero_point;
  code = code > codes.lo ? code : codes.lo;
  return static_cast<s32>(code < codes.hi ? code : codes.hi);
}

}  // namespace

Tensor make_table(const TableSpec& spec, const std::function<f64(f64)>& f) {
  const CodeRange in = code_range(spec.input_dtype);
  const CodeRange out = code_range(spec.output_dtype);
  Tensor table(spec.output_dtype, Shape{256});
  const MutableView entries = mutable_view(table);
  for (s32 code = in.lo; code <= in.hi; ++code) {
    const f64 real = f64{spec.input.scale} * (code - spec.input.zero_point);
    store_code(entries, table_index(code, spec.input_dtype),
               quantize_f64(f(real), spec.output, out));
  }
  return table;
}

QuantizeResult quantize_table(const QuantizeRequest& request, const std::function<f64(f64)>& f) {
  if (std::string why = not_all_codes(request, 1); !why.empty()) return reject(std::move(why));
  const QuantizedInput& x = request.inputs[0];
  const TableSpec spec{.input_dtype = codes_dtype(request, 0),
                       .input = {x.scalar_scale(), x.zero_point},
                       .output_dtype = request.output_dtype,
                       .output = request.output};
  const ValueId table =
      request.graph.add_constant(request.node.name + "_table", make_table(spec, f));
  return {.node = integer_node("QTable", {x.codes, table}), .reject = {}};
}

QuantizeResult quantize_table(const QuantizeRequest& request, f64 (*f)(f64, const Node&)) {
  return quantize_table(request, [&](f64 x) { return f(x, request.node); });
}

}  // namespace octet
