// SPDX-License-Identifier: Apache-2.0
// MelWeightMatrix(mel bins, DFT length, sample rate, lowest and highest frequency): triangles that sum the bins of a spectrum
// into bands of equal width on the mel scale.
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/check.h"
#include "graph/attributes.h"
#include "ops/shared/axes.h"
#include "ops/shared/dtypes.h"
#include "ops/shared/float_io.h"
#include "ops/shared/signal_window.h"

namespace octet {
namespace {

struct MelWeightAttributes {
  Dtype output_datatype = Dtype::f32;

  OCTET_ATTRIBUTES(output_datatype)
};

enum : size_t { kBands, kLength, kRate, kLowest, kHighest };
constexpr s64 kMostBands = 1 << 20, kMostLength = 1 << 30;

s64 single(const std::vector<s64>& values, std::string_view what, s64 most) {
  if (values.size() == 1 && values[0] >= 1 && values[0] <= most) return values[0];
  fail(Error::Code::invalid_model, "{} needs one value from 1 to {}", what, most);
}

void infer(Inference& inference) {
  const s64 bands =
      single(inference.required_ints(kBands, "num_mel_bins"), "num_mel_bins", kMostBands);
  const s64 length =
      single(inference.required_ints(kLength, "dft_length"), "dft_length", kMostLength);
  require_dtype(inference, kRate, DtypeClass::index);
  for (size_t i : {kLowest, kHighest}) {
    require_dtype(inference, i, DtypeClass::real);
    if (inference.inputs[i].shape.elements() != 1)
      fail(Error::Code::invalid_model, "input {} is {}, expected one value", i,
           to_string(inference.inputs[i]));
  }
  const Dtype dtype = attribute_of<&MelWeightAttributes::output_datatype>(inference.node);
  if (dtype == Dtype::boolean) fail(Error::Code::invalid_model, "the weights cannot be bool");
  inference.output(dtype, Shape{length / 2 + 1, bands});
}

f64 to_mel(f64 hertz) { return 2595.0 * std::log10(1.0 + hertz / 700.0); }
f64 to_hertz(f64 mel) { return 700.0 * (std::pow(10.0, mel / 2595.0) - 1.0); }

// The spectrum's bin at each edge of the bands.
std::vector<s64> edges(const Eval& eval, s64 bands, s64 bins) {
  const s64 length = single(read_ints(eval, kLength), "dft_length", kMostLength);
  const s64 rate = single(read_ints(eval, kRate), "sample_rate", kMostLength);
  const f64 low = to_mel(static_cast<f64>(FloatInput(eval, kLowest)[0]));
  const f64 high = to_mel(static_cast<f64>(FloatInput(eval, kHighest)[0]));
  const f64 step = (high - low) / static_cast<f64>(bands + 2);
  std::vector<s64> found;
  for (s64 i = 0; i < bands + 2; ++i) {
    const f64 hertz = to_hertz(low + step * static_cast<f64>(i));
    const f64 bin = std::floor(static_cast<f64>(length + 1) * hertz / static_cast<f64>(rate));
    if (!(bin >= 0.0 && bin < static_cast<f64>(bins)))
      fail(Error::Code::invalid_argument, "band {} begins at bin {} of a spectrum of {}", i, bin,
           bins);
    found.push_back(static_cast<s64>(bin));
  }
  return found;
}

void eval(const Eval& eval) {
  const s64 bins = eval.outputs[0].shape[0], bands = eval.outputs[0].shape[1];
  const std::vector<s64> edge = edges(eval, bands, bins);
  visit_number(eval.outputs[0].dtype, [&]<class T>() {
    const auto y = eval.outputs[0].as<T>();
    std::fill(y.begin(), y.end(), T{});
    const auto set = [&](s64 bin, s64 band, s64 part, s64 whole) {
      const f64 weight = static_cast<f64>(part) / static_cast<f64>(whole);
      y[static_cast<size_t>(bin * bands + band)] = static_cast<T>(static_cast<Wide<T>>(weight));
    };
    for (s64 band = 0; band < bands; ++band) {
      const s64* at = edge.data() + band;  // lower, center, upper
      if (at[0] == at[1]) set(at[1], band, 1, 1);
      for (s64 bin = at[0]; bin <= at[1] && at[0] < at[1]; ++bin)
        set(bin, band, bin - at[0], at[1] - at[0]);
      for (s64 bin = at[1]; bin < at[2]; ++bin) set(bin, band, at[2] - bin, at[2] - at[1]);
    }
  });
}

}  // namespace

extern constinit const OpDef kMelWeightMatrix{.name = "MelWeightMatrix",
                                              .inputs = {5, 5},
                                              .parse = parse_signal_window,
                                              .infer = infer,
                                              .eval = eval};
}  // namespace octet
