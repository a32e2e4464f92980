// SPDX-License-Identifier: Apache-2.0
// What a chain of attention of reals computes, and where its operands lie.
#include <algorithm>
#include <limits>

#include "backends/cuda/families/attention_reals/attention_reals.h"
#include "backends/cuda/families/attention_reals/spec.h"
#include "backends/cuda/lower/codes.h"
#include "backends/cuda/lower/halves.h"
#include "ops/shared/moved_view.h"
#include "ops/shared/softmax.h"
#include "plan/chain.h"

namespace octet::cuda {
namespace {

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
    heads_.guarded = !nodes_.guard.empty();
    read_scale();
    return check();
  }

 private:
  const Node& node(u32 n) const { return body_.nodes[n]; }
  Dtype type_of(ValueId id) const { return body_.value(id).type.dtype; }

  std::string read_operands() {
    const Node &scores = node(nodes_.scores), &context = node(nodes_.context);
    if (nodes_.shares_rounding < 0) return "shares are multiplied as f32, not in 16 bits";
    heads_.type = rounding_of(body_, node(static_cast<u32>(nodes_.shares_rounding)));
    const ValueId ids[] = {scores.inputs[0], scores.inputs[1], context.inputs[1]};
    std::array<StridedView, 3> views;
    for (size_t i = 0; i < 3; ++i) {
      if (std::string reason = read_operand(i, ids[i], views[i]); !reason.empty()) return reason;
    }
    StridedView shares = dense_view(body_.value(context.inputs[0]).type.shape);
    if (shares.shape.rank() < 2) return "shares are a vector";
    set_batch(views[0]);
    for (StridedView* view : {&views[0], &views[1], &views[2], &shares}) {
      if (!give_batch(*view)) return "the batch has other axes where scores are added or summed";
    }
    heads_.by_keys = matmul_views(scores, views[0], views[1]);
    heads_.by_values = matmul_views(context, shares, views[2]);
    return {};
  }

  // Where nodes give the batch other axes: those that scores have where a mask is added, else those of queries before they are joined.
  void set_batch(const StridedView& queries) {
    reshaped_ = std::ranges::any_of(body_.nodes,
                                    [&](const Node& node) { return keeps_matrices(body_, node); });
    batch_ = queries.shape;
    if (nodes_.mask >= 0)
      batch_ = body_.value(node(static_cast<u32>(nodes_.mask)).outputs[0]).type.shape;
  }
  bool give_batch(StridedView& view) const {
    if (!reshaped_) return true;
    Shape shape = batch_;
    const int rank = view.shape.rank(), to = shape.rank();
    shape[to - 2] = view.shape[rank - 2], shape[to - 1] = view.shape[rank - 1];
    if (shape == view.shape) return true;
    if (shape.elements() != view.shape.elements()) return false;
    std::optional<StridedView> given = reshaped_view(view, shape);
    if (given) view = *std::move(given);
    return given.has_value();
  }

  std::string read_operand(size_t i, ValueId id, StridedView& view) {
    constexpr const char* kNames[] = {"queries", "keys", "values"};
    std::optional<HeadOperand> operand = operand_of(chain_, id);
    if (!operand) operand = operand_of(chain_, id, true);
    if (!operand) return fmt::format("{} are no view of what they are moved from", kNames[i]);
    if (operand->view.shape.rank() < 2) return fmt::format("{} are a vector", kNames[i]);
    const Number type = number_of(type_of(body_.inputs[operand->input]));
    if (type == Number::f32)
      return fmt::format("{} are stored as f32: not all who read them take 16 bits", kNames[i]);
    if (!is_code(type) && type != heads_.type)
      return fmt::format("{} and shares are of different types", kNames[i]);
    heads_.types[i] = type;
    heads_.inputs[i] = operand->input, heads_.at[i] = operand->view.offset;
    view = operand->view;
    for (const u32 n : all_before(i)) {
      if (node(n).op->name == "DequantizeLinear") heads_.codes[i] = *code_scale_of(body_, node(n));
    }
    return {};
  }
  std::vector<u32> all_before(size_t i) const {
    std::vector<u32> nodes = nodes_.operands[i];
    nodes.insert(nodes.end(), nodes_.split.begin(), nodes_.split.end());
    return nodes;
  }

  std::string read_softmax() const {
    const Node& softmax = node(nodes_.softmax);
    const SoftmaxGeometry g = softmax_geometry(softmax, body_.value(softmax.inputs[0]).type.shape);
    return g.inner == 1 && g.count == heads_.key_count() ? "" : "Softmax is not over the keys";
  }

  std::string read_sum() {
    if (nodes_.mask < 0) return {};
    const u32 add = static_cast<u32>(nodes_.mask);
    if (node(add).op->name == "Where") return read_choice(node(add));
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

  std::string read_choice(const Node& where) {
    const ValueId condition = where.inputs[0];
    Shape whole = heads_.by_keys.geometry.batch;
    whole.push_back(heads_.query_count()), whole.push_back(heads_.key_count());
    if (body_.value(where.inputs[nodes_.masked]).type.shape != whole ||
        body_.value(where.outputs[0]).type.shape != whole)
      return "scores are turned, or the mask is larger";
    ScoreMask& mask = heads_.mask;
    mask.exists = true, heads_.mask_type = Number::u8;
    heads_.hides = nodes_.masked == 2;
    heads_.hidden = body_.constant_input(where, 3 - nodes_.masked)->as<f32>()[0];
    set_mask_strides(body_.value(condition).type.shape, whole, mask);
    if (const Tensor* constant = body_.constant_input(where, 0)) {
      mask.constant = *constant;
      return {};
    }
    const std::optional<size_t> input = chain_input(chain_.node, condition);
    if (!input) return "the mask is made inside";
    mask.input = *input;
    return {};
  }

  // The result as it lies behind what moves it.
  std::string read_end() {
    const ValueId last = body_.outputs[0];
    heads_.y = number_of(type_of(last));
    std::optional<StridedView> view = dense_view(body_.value(last).type.shape);
    size_t moves = nodes_.end.size();  // those behind which the batch has its axes
    while (moves > 0 && !turns(node(nodes_.end[moves - 1]))) --moves;
    for (size_t i = 0; i < nodes_.end.size(); ++i) {
      const u32 n = nodes_.end[i];
      if (node(n).op->name == "QuantizeLinear") {
        if (heads_.rounded != Number::f32) return "codes are rounded once more";
        heads_.y_codes = *code_scale_of(body_, node(n));
      } else if (is_rounding(body_, node(n))) {
        heads_.rounded = rounding_of(body_, node(n));
      } else if (i < moves) {
        view = view_before(body_, node(n), *view);
      }
      if (!view) return "the result is moved to places that strides do not tell";
    }
    if (!give_batch(*view)) return "the result has other axes of the batch than scores";
    MatMulViews& v = heads_.by_values;
    v.y_n = view->strides.back(), view->strides.pop_back();
    v.y_row = view->strides.back(), view->strides.pop_back();
    v.y_batch = view->strides;
    return {};
  }

  bool turns(const Node& node) const { return makes_views(node) && !keeps_matrices(body_, node); }

  f64 product_of(const std::vector<u32>& nodes) const {
    f64 product = 1;
    for (const u32 n : nodes) product *= factor_of(body_, node(n)).value_or(1);
    return product;
  }
  void read_scale() {
    heads_.mask_scale = product_of(nodes_.after_mask);
    heads_.scale = heads_.mask_scale * product_of(nodes_.before_mask) *
                   product_of(nodes_.operands[0]) * product_of(nodes_.operands[1]) *
                   f64{heads_.codes[0].scale} * f64{heads_.codes[1].scale};
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
  bool reshaped_ = false;  // some node gives the batch other axes
  Shape batch_;            // of scores, and a matrix behind
};

}  // namespace

std::string read_real_heads(const LowerRequest& chain, RealHeads& heads) {
  return Reader(chain, heads).read();
}

}  // namespace octet::cuda
