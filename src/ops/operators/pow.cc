// SPDX-License-Identifier: Apache-2.0
// Elementwise x^y with broadcasting; the exponent may have another type than the base and the result.
#include <cmath>
#include <type_traits>

#include "graph/op_def.h"
#include "graph/op_traits.h"
#include "ops/shared/elementwise.h"

namespace octet {
namespace {

void infer(Inference& inference) {
  require_dtype(inference, 0, DtypeClass::number);
  require_dtype(inference, 1, DtypeClass::number);
  inference.output(inference.inputs[0].dtype,
                   broadcast_shapes(inference.inputs[0].shape, inference.inputs[1].shape));
}

// Modulo 2^n, as repeated multiplication has it. A negative exponent leaves only 1 and -1 above zero.
template <class T, class E>
T integer_power(T base, E exponent) {
  if (exponent < 0) {
    if (base == 1) return T{1};
    const bool minus_one = std::is_signed_v<T> && base == static_cast<T>(-1);
    if (!minus_one) return T{0};
    return exponent % 2 == 0 ? T{1} : base;
  }
  T result{1};
  for (; exponent != 0; exponent = static_cast<E>(exponent / 2)) {
    if (exponent % 2 != 0) result = wrapping_mul(result, base);
    base = wrapping_mul(base, base);
  }
  return result;
}

// f32 in f64, rounded once: so x^2 is exactly fl(x * x).
template <class T>
T real_power(f64 base, f64 exponent) {
  const f64 power = exponent == 2.0 ? base * base : std::pow(base, exponent);
  if constexpr (std::is_integral_v<T>) {
    const f64 limit = std::ldexp(1.0, static_cast<int>(sizeof(T)) * 8 - std::is_signed_v<T>);
    const f64 lowest = std::is_signed_v<T> ? -limit : 0.0;
    if (!(power > lowest)) return static_cast<T>(lowest);  // NaN too
    if (power >= limit) return std::numeric_limits<T>::max();
  }
  return static_cast<T>(power);
}

template <class T, class E>
T power_of(T base, E exponent) {
  using Base = Wide<T>;
  using Exponent = Wide<E>;
  if constexpr (std::is_integral_v<T> && std::is_integral_v<E>) {
    return integer_power(base, exponent);
  } else {
    using Result = std::conditional_t<kIsHalf<T>, f32, T>;
    return narrow<T>(real_power<Result>(static_cast<f64>(static_cast<Base>(base)),
                                        static_cast<f64>(static_cast<Exponent>(exponent))));
  }
}

template <class T, class E>
void power_rows(const Eval& eval) {
  const Shape shapes[] = {eval.inputs[0].shape, eval.inputs[1].shape};
  const BroadcastRows rows(eval.outputs[0].shape, shapes);
  const T* base = eval.inputs[0].as<T>().data();
  const E* exponent = eval.inputs[1].as<E>().data();
  T* dst = eval.outputs[0].as<T>().data();
  rows.for_each([&](s64 at, const BroadcastRows::Offsets& offsets) {
    for (s64 i = 0; i < rows.length(); ++i) {
      dst[at + i] =
          power_of(base[offsets[0] + i * rows.step(0)], exponent[offsets[1] + i * rows.step(1)]);
    }
  });
}

void eval(const Eval& eval) {
  visit_number(eval.inputs[0].dtype, [&]<class T>() {
    visit_number(eval.inputs[1].dtype, [&]<class E>() { power_rows<T, E>(eval); });
  });
}

constexpr OpTraits kTraits{.elementwise = true};

}  // namespace

extern constinit const OpDef kPow{.name = "Pow",
                                  .inputs = {2, 2},
                                  .parse = parse_legacy_broadcast,
                                  .infer = infer,
                                  .eval = eval,
                                  .traits = &kTraits};
}  // namespace octet
