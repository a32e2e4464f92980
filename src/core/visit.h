// SPDX-License-Identifier: Apache-2.0
// The one dtype visitor: visit_dtype(dtype, []<class T>() { ... }). It fails for the small element types, which have no C++
// type to compute in: operators that know them ask core/small_types.h before.
#pragma once

#include "core/check.h"
#include "core/types.h"
#include "octet/tensor.h"

namespace octet {

[[noreturn]] void fail_small_dtype(Dtype dtype);

template <class F>
decltype(auto) visit_dtype(Dtype dtype, F&& f) {
  switch (dtype) {
    case Dtype::f32:
      return f.template operator()<f32>();
    case Dtype::f16:
      return f.template operator()<f16>();
    case Dtype::bf16:
      return f.template operator()<bf16>();
    case Dtype::f64:
      return f.template operator()<f64>();
    case Dtype::s8:
      return f.template operator()<s8>();
    case Dtype::u8:
      return f.template operator()<u8>();
    case Dtype::s16:
      return f.template operator()<s16>();
    case Dtype::u16:
      return f.template operator()<u16>();
    case Dtype::s32:
      return f.template operator()<s32>();
    case Dtype::u32:
      return f.template operator()<u32>();
    case Dtype::s64:
      return f.template operator()<s64>();
    case Dtype::u64:
      return f.template operator()<u64>();
    case Dtype::boolean:
      return f.template operator()<bool>();
    case Dtype::e4m3fn:
    case Dtype::e4m3fnuz:
    case Dtype::e5m2:
    case Dtype::e5m2fnuz:
    case Dtype::e8m0:
    case Dtype::e2m1:
    case Dtype::s4:
    case Dtype::u4:
    case Dtype::s2:
    case Dtype::u2:
      fail_small_dtype(dtype);
  }
  check_failed("known dtype", __FILE__, __LINE__);
}

}  // namespace octet
