// SPDX-License-Identifier: Apache-2.0
// ReduceProd: the product of the elements, one after another.
#include "ops/shared/forms.h"

namespace octet {
namespace {

void eval(const Eval& eval) {
  eval_reduction(eval, []<class T>(std::span<const T> row) {
    Wide<T> product{1};
    for (const T x : row) product = wrapping_mul(product, static_cast<Wide<T>>(x));
    return product;
  });
}

}  // namespace

extern constinit const OpDef kReduceProd = reduction("ReduceProd", infer_reduction, eval);
}  // namespace octet
