// SPDX-License-Identifier: Apache-2.0
// What a chain of attention of reals computes, and where its operands lie.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cuda/families/attention_reals/attention_reals.h"
#include "backends/cuda/families/attention_reals/spec.h"
#include "backends/cuda/lower/halves.h"
#include "ops/shared/moved_view.h"
#include "ops/shared/softmax.h"
#include "plan/chain.h"

namespace octet::cuda {
namespace {

Number number_of(Dtype type) {
  return type == Dtype::f16 ? Number::f16 : type == Dtype::bf16 ? Number::bf16 : Number::f32;
}

class Reader {
 public:
  Reader(const LowerRequest& chain, RealHeads& heads)
      : chain_(chain), body_(chain_body(chain.node)), uses_(body_), heads_(heads) {}

  std::string read() {
    const u32 last = static_cast<u32>(body_.nodes.size() - 1);
    if (!find_real_attention(body_, uses_, last, nodes_)) return "it is no attention";
    if (std::string reason = read_operands(); !reason.empty()) return reason;
    if (std::string reason = read_softmax(); !reason.empty()) return reason;
    if (std::string reason = read_sum(); !reason.empty()) return reason;
    if (std::string reason = read_end(); !reason.empty()) return reason;
    read_scale();
    return check();
  }

 private:
  const Node& node(u32 n) const { return body_.nodes[n]; }
  Dtype type_of(ValueId id) const { return body_.value(id).type.dtype; }

  std::string read_operands() {
    const Node &scores = node(nodes_.scores), &context = node(nodes_.context);
    const ValueId ids[] = {scores.inputs[0], scores.inputs[1], context.inputs[1]};
    std::optional<HeadOperand> operands[3];
    for (size_t i = 0; i < 3; ++i) {
      operands[i] = operand_of(chain_, ids[i]);
      if (!operands[i]) return "an operand is no view of what it is moved from";
      if (operands[i]->view.shape.rank() < 2) return "an operand is a vector";
      const Number type = number_of(type_of(body_.inputs[operands[i]->input]));
      if (type == Number::f32)
        return fmt::format(
            "{} are stored as f32, not in 16 bits: see which of their readers take 16 bits",
            i == 0   ? "queries"
            : i == 1 ? "keys"
                     : "values");
      if (i > 0 && type != heads_.type) return "operands differ in type";
      heads_.type = type;
      heads_.inputs[i] = operands[i]->input, heads_.at[i] = operands[i]->view.offset;
    }
    heads_.by_keys = matmul_views(scores, operands[0]->view, operands[1]->view);
    const StridedView shares = dense_view(body_.value(context.inputs[0]).type.shape);
    if (shares.shape.rank() < 2) return "shares are a vector";
    heads_.by_values = matmul_views(context, shares, operands[2]->view);
    return {};
  }

  std::string read_softmax() const {
    const Node& softmax = node(nodes_.softmax);
    const SoftmaxGeometry g = softmax_geometry(softmax, body_.value(softmax.inputs[0]).type.shape);
    return g.inner == 1 && g.count == heads_.key_count() ? "" : "Softmax is not over the keys";
  }

  std::string read_sum() {
    if (nodes_.mask < 0) return {};
    const u32 add = static_cast<u32>(nodes_.mask);
    if (std::string reason = read_mask(part_request(chain_, add), nodes_.masked,
                                       heads_.by_keys.geometry, heads_.mask);
        !reason.empty())
      return reason;
    if (heads_.mask.constant) return {};
    ValueId id = node(add).inputs[1 - nodes_.masked];
    if (!nodes_.mask_reads.empty()) id = node(nodes_.mask_reads[0]).inputs[0];
    const std::optional<size_t> input = chain_input(chain_.node, id);
    if (!input) return "the mask is made inside";
    heads_.mask.input = *input, heads_.mask_type = number_of(type_of(id));
    return {};
  }

  // The result as it lies behind what moves it.
  std::string read_end() {
    const ValueId last = body_.outputs[0];
    heads_.y = heads_.rounded = number_of(type_of(last));
    std::optional<StridedView> view = dense_view(body_.value(last).type.shape);
    for (const u32 n : nodes_.end) {
      if (node(n).op->name == "RoundTo") {
        heads_.rounded = node(n).attrs.s("to", "") == "f16" ? Number::f16 : Number::bf16;
      } else if (is_narrowing(body_, node(n))) {
        heads_.rounded = number_of(type_of(node(n).outputs[0]));
      } else {
        view = view_before(body_, node(n), *view);
      }
      if (!view) return "the result is moved to places that strides do not tell";
    }
    MatMulViews& v = heads_.by_values;
    v.y_n = view->strides.back(), view->strides.pop_back();
    v.y_row = view->strides.back(), view->strides.pop_back();
    v.y_batch = view->strides;
    return {};
  }

  f64 product_of(const std::vector<u32>& nodes) const {
    f64 product = 1;
    for (const u32 n : nodes) product *= factor_of(body_, node(n)).value_or(1);
    return product;
  }
  void read_scale() {
    heads_.mask_scale = product_of(nodes_.after_mask);
    heads_.scale = heads_.mask_scale * product_of(nodes_.before_mask) *
                   product_of(nodes_.operands[0]) * product_of(nodes_.operands[1]);
  }

  static bool is_scale(f64 scale) {
    constexpr f64 kLargest = 0x1p40;
    return scale > 1 / kLargest && scale < kLargest;
  }

  std::string check() const {
    const MatMulGeometry &keys = heads_.by_keys.geometry, &values = heads_.by_values.geometry;
    const MatMulViews &k = heads_.by_keys, &v = heads_.by_values;
    constexpr s64 kMost = std::numeric_limits<s32>::max() / 2;
    if (keys.batch != values.batch || keys.m != values.m || keys.n != values.k)
      return "the products do not follow each other";
    if (keys.k != values.n) return "keys and values differ in size";
    if (k.output.elements() == 0 || keys.k == 0) return "there is nothing to compute";
    if (keys.k > attention_reals::kMostHead)
      return fmt::format("the size of a head is more than {}", attention_reals::kMostHead);
    if (keys.m > kMost || keys.n > kMost) return "there are 2^30 queries or keys";
    if (keys.batch.rank() > attention_reals::kMostAxes) return "the batch has more than 6 axes";
    const bool together = k.a_k == 1 && k.b_k == 1 && v.b_n == 1 && v.y_n == 1;
    if (!together && keys.k != 1)  // views give axes of one element no stride
      return "elements of a head lie apart";
    if (!is_scale(heads_.scale) || !is_scale(heads_.mask_scale))
      return "a factor of the scores is negative or extreme";
    return {};
  }

  const LowerRequest& chain_;
  const Graph& body_;
  const Uses uses_;
  RealHeads& heads_;
  RealAttentionNodes nodes_;
};

}  // namespace

std::string read_real_heads(const LowerRequest& chain, RealHeads& heads) {
  return Reader(chain, heads).read();
}

}  // namespace octet::cuda
