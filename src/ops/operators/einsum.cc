// SPDX-License-Identifier: Apache-2.0
// Einsum: sums of products over labeled axes, attribute equation ("bij,bjk->bik"; "..." stands for any leading axes).
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/check.h"
#include "core/checked.h"
#include "graph/op_traits.h"
#include "ops/attributes/products.h"
#include "ops/shared/axes.h"
#include "ops/shared/dtypes.h"
#include "ops/shared/einsum_terms.h"

namespace octet {
namespace {

constexpr auto kInvalid = Error::Code::invalid_model;
constexpr int kEllipsis = 1000;  // labels of the axes behind "...", counted from the right

using Labels = std::vector<int>;

// "...ij" with `hidden` axes behind the dots.
Labels labels_of(const std::string& term, int hidden) {
  Labels labels;
  bool dots = false;
  for (size_t i = 0; i < term.size(); ++i) {
    const char c = term[i];
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      labels.push_back(c);
    } else if (!dots && term.compare(i, 3, "...") == 0) {
      dots = true;
      i += 2;
      for (int k = hidden; k > 0; --k) labels.push_back(kEllipsis + k);
    } else {
      fail(kInvalid, "attribute 'equation' has the term '{}'", term);
    }
  }
  return labels;
}

struct Plan {
  std::vector<Labels> operands;
  Labels loops;  // those of the result, then those summed over
  size_t result_rank = 0;
  std::map<int, s64> sizes;

  s64 size(size_t loop) const { return sizes.at(loops[loop]); }
};

void add_sizes(const Labels& labels, const Shape& shape, Plan& plan) {
  if (std::ssize(labels) != shape.rank()) {
    fail(kInvalid, "a term has {} labels for {}", labels.size(), to_string(shape));
  }
  for (int i = 0; i < shape.rank(); ++i) {
    s64& size = plan.sizes.emplace(labels[static_cast<size_t>(i)], 1).first->second;
    if (size == 1) size = shape[i];
    if (shape[i] != size && shape[i] != 1) {
      fail(kInvalid, "a label stands for {} and for {} elements", size, shape[i]);
    }
  }
}

// Without "->": the axes behind dots, then the letters that occur once, in order.
Labels implicit_result(const Plan& plan) {
  std::map<int, int> counts;
  for (const Labels& labels : plan.operands) {
    for (int label : labels) ++counts[label];
  }
  Labels hidden, letters;
  for (const auto& [label, count] : counts) {
    if (label > kEllipsis) hidden.insert(hidden.begin(), label);
    if (label < kEllipsis && count == 1) letters.push_back(label);
  }
  hidden.insert(hidden.end(), letters.begin(), letters.end());
  return hidden;
}

Plan plan_of(const Node& node, std::span<const Shape> shapes) {
  const EinsumTerms terms = einsum_terms(attribute_of<&EinsumAttributes::equation>(node));
  if (terms.operands.size() != shapes.size()) {
    fail(kInvalid, "attribute 'equation' has {} terms for {} inputs", terms.operands.size(),
         shapes.size());
  }
  Plan plan;
  int most_hidden = 0;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const int named = static_cast<int>(labels_of(terms.operands[i], 0).size());
    const int hidden = std::max(0, shapes[i].rank() - named);
    most_hidden = std::max(most_hidden, hidden);
    plan.operands.push_back(labels_of(terms.operands[i], hidden));
    add_sizes(plan.operands.back(), shapes[i], plan);
  }
  plan.loops = terms.has_result ? labels_of(terms.result, most_hidden) : implicit_result(plan);
  plan.result_rank = plan.loops.size();
  for (size_t i = 0; i < plan.loops.size(); ++i) {
    const bool repeated = std::count(plan.loops.begin(), plan.loops.end(), plan.loops[i]) > 1;
    if (repeated || !plan.sizes.contains(plan.loops[i])) {
      fail(kInvalid, "attribute 'equation' has the result '{}'", terms.result);
    }
  }
  for (const auto& [label, size] : plan.sizes) {
    if (std::find(plan.loops.begin(), plan.loops.end(), label) == plan.loops.end()) {
      plan.loops.push_back(label);
    }
  }
  return plan;
}

void infer(Inference& inference) {
  require_dtype(inference, 0, DtypeClass::number);
  require_same_dtypes(inference);
  std::vector<Shape> shapes;
  for (const TensorType& type : inference.inputs) shapes.push_back(type.shape);
  const Plan plan = plan_of(inference.node, shapes);
  std::vector<s64> output;
  s64 work = 1;
  for (size_t i = 0; i < plan.loops.size(); ++i) {
    if (i < plan.result_rank) output.push_back(plan.size(i));
    const auto more = checked_mul(work, plan.size(i));
    if (!more) fail(Error::Code::unsupported, "the sums have more than 2^63 terms");
    work = *more;
  }
  inference.output(inference.inputs[0].dtype, Shape(output));
}

// Elements between neighbours along each loop, of one operand.
std::vector<s64> loop_strides(const Plan& plan, const Labels& labels, const Shape& shape) {
  const std::vector<s64> dense = dense_strides(shape);
  std::vector<s64> strides(plan.loops.size(), 0);
  for (size_t i = 0; i < labels.size(); ++i) {
    if (shape[static_cast<int>(i)] == 1) continue;
    const auto at = std::find(plan.loops.begin(), plan.loops.end(), labels[i]);
    strides[static_cast<size_t>(at - plan.loops.begin())] += dense[i];
  }
  return strides;
}

template <class T>
class Summation {
 public:
  Summation(const Eval& eval, const Plan& plan)
      : plan_(plan), dst_(eval.outputs[0].as<T>().data()) {
    for (size_t i = 0; i < eval.inputs.size(); ++i) {
      strides_.push_back(loop_strides(plan, plan.operands[i], eval.inputs[i].shape));
      src_.push_back(eval.inputs[i].as<T>().data());
    }
  }

  void run() { result(0); }

 private:
  void result(size_t loop) {
    if (loop == plan_.result_rank) {
      *dst_++ = narrow<T>(sum(loop));
      return;
    }
    step(loop, [&] { result(loop + 1); });
  }

  Wide<T> sum(size_t loop) {
    Wide<T> total{};
    if (loop < plan_.loops.size()) {
      step(loop, [&] { total = wrapping_add(total, sum(loop + 1)); });
      return total;
    }
    total = static_cast<Wide<T>>(1);
    for (const T* src : src_) total = wrapping_mul(total, static_cast<Wide<T>>(*src));
    return total;
  }

  // body for each index of the loop, with the operands' pointers moved along.
  template <class F>
  void step(size_t loop, F body) {
    const std::vector<const T*> start = src_;
    for (s64 i = 0; i < plan_.size(loop); ++i) {
      for (size_t k = 0; k < src_.size(); ++k) src_[k] = start[k] + i * strides_[k][loop];
      body();
    }
    src_ = start;
  }

  const Plan& plan_;
  T* dst_;
  std::vector<std::vector<s64>> strides_;
  std::vector<const T*> src_;
};

void eval(const Eval& eval) {
  std::vector<Shape> shapes;
  for (const ConstView& input : eval.inputs) shapes.push_back(input.shape);
  const Plan plan = plan_of(eval.node, shapes);
  const bool nothing = std::ranges::any_of(plan.sizes, [](auto& size) { return size.second == 0; });
  visit_number(eval.outputs[0].dtype, [&]<class T>() {
    std::ranges::fill(eval.outputs[0].as<T>(), T{});
    // Other loops may be as long as they like then.
    if (!nothing) Summation<T>(eval, plan).run();
  });
}

// One product of all operands for each combination of the labels.
f64 work(const Node& node, TensorTypes inputs, TensorTypes) {
  std::vector<Shape> shapes;
  for (const TensorType& type : inputs) shapes.push_back(type.shape);
  const Plan plan = plan_of(node, shapes);
  f64 products = 1;
  for (size_t i = 0; i < plan.loops.size(); ++i) products *= static_cast<f64>(plan.size(i));
  return products * static_cast<f64>(inputs.size());
}

constexpr OpTraits kTraits{.work = work};

}  // namespace

extern constinit const OpDef kEinsum{
    .name = "Einsum", .inputs = {1, -1}, .infer = infer, .eval = eval, .traits = &kTraits};
}  // namespace octet
