// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/lower/lowerings.h"

#include <algorithm>

#include "backends/cpu/lower/rounding.h"

namespace octet {

namespace {

using OfferFunction = Offer (*)(const LowerRequest&);

// Whose kernels round their results where the node says so (rounding.h).
constexpr OfferFunction kRounding[] = {
    lower_f_unary,         lower_f_binary,        lower_f_conv,           lower_f_conv_panels,
    lower_f_conv_volumes,  lower_f_conv_winograd, lower_f_depthwise_taps, lower_f_matmul,
    lower_f_matmul_panels, lower_f_softmax,       lower_f_log_softmax,    lower_f_layer_norm,
    lower_f_rms_norm};

constexpr bool knows_rounding(OfferFunction function) {
  return std::ranges::find(kRounding, function) != std::end(kRounding);
}

template <OfferFunction kFunction>
auto asked(const LowerRequest& request) -> Offer {
  if (!knows_rounding(kFunction) && rounding_of(request.node) != Precision::none)
    return Reject{"its kernel does not round the result"};
  return kFunction(request);
}

// An operator with the function that serves it.
struct Service {
  std::string_view op;
  OfferFunction function;
};

constexpr Service kServices[] = {
#define LOWERING(op, function, f32) {op, function},
#include "backends/cpu/lower/lowerings.def"
#undef LOWERING
};

constexpr Lowering kLowerings[] = {
#define LOWERING(op, function, f32) {op, #function, asked<function>, f32},
#include "backends/cpu/lower/lowerings.def"
#undef LOWERING
};

}  // namespace

std::span<const Lowering> cpu_lowerings() { return kLowerings; }

bool is_elementwise(std::string_view op) {
  return std::ranges::any_of(kServices, [&](const Service& service) {
    return service.op == op &&
           (service.function == lower_f_unary || service.function == lower_f_binary);
  });
}

bool has_rounding_kernels(std::string_view op) {
  return op != "RoundTo" && std::ranges::any_of(kServices, [&](const Service& service) {
           return service.op == op && knows_rounding(service.function);
         });
}

}  // namespace octet
