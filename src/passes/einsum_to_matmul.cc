// SPDX-License-Identifier: Apache-2.0
// An Einsum of two tensors that is a product of matrices becomes a MatMul between Transposes: labels of both tensors and of the result are
// batches, one label of each tensor alone its row and its column, and what is left of those is spread over. Of constant weights several
// labels may be summed over, and several be columns: they are one matrix.
#include <algorithm>
#include <string>
#include <vector>

#include "ops/attributes/products.h"
#include "ops/shared/einsum_terms.h"
#include "passes/node_rewriter.h"

namespace octet {
namespace {

// A tensor with a label for each axis.
struct Labeled {
  ValueId id = kNoValue;
  std::string labels;
};

bool holds(const std::string& labels, char label) { return labels.find(label) != labels.npos; }

std::string without(std::string labels, const std::string& others) {
  std::erase_if(labels, [&](char label) { return holds(others, label); });
  return labels;
}

// Those of the first that are in the other too.
std::string common(const std::string& labels, const std::string& others) {
  return without(labels, without(labels, others));
}

// The equation's "..." as letters of their own, the last ones of which stand for the last axes of each tensor.
constexpr std::string_view kDots = "...";

std::string without_dots(std::string term, s64 hidden, const std::string& letters) {
  const size_t at = term.find(kDots);
  const s64 most = std::ssize(letters);
  if (at == term.npos || hidden < 0 || hidden > most) return term;
  return term.replace(at, kDots.size(), letters.substr(static_cast<size_t>(most - hidden)));
}

std::string unused_letters(const std::string& equation) {
  std::string letters;
  for (char letter = 'A'; letter <= 'Z' && letters.size() < Shape::kMaxRank; ++letter) {
    if (!holds(equation, letter)) letters += letter;
  }
  return letters;
}

// Letters, each once.
bool is_plain(const std::string& term) {
  return std::ranges::all_of(term, [&](char c) {
    return ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) && std::ranges::count(term, c) == 1;
  });
}

class EinsumRewriter : public NodeRewriter {
 public:
  EinsumRewriter(Graph& graph, Rewrites& rewrites) : NodeRewriter(graph, rewrites, "Einsum") {}

 private:
  // Fills a_, b_ and result_; weights on the left change sides.
  bool read() override {
    const std::vector<ValueId>& inputs = node().inputs;
    EinsumTerms terms = einsum_terms(attribute_of<&EinsumAttributes::equation>(node()));
    if (inputs.size() != 2 || terms.operands.size() != 2 || !terms.has_result) return false;
    name_hidden_axes(terms);
    a_ = {inputs[0], terms.operands[0]}, b_ = {inputs[1], terms.operands[1]};
    result_ = terms.result;
    if (graph_.is_constant(a_.id)) std::swap(a_, b_);
    return is_plain(result_) && fits(a_) && fits(b_) && !graph_.is_constant(a_.id) && is_product();
  }

  void name_hidden_axes(EinsumTerms& terms) const {
    const std::string letters = unused_letters(attribute_of<&EinsumAttributes::equation>(node()));
    s64 most = 0;
    for (size_t i = 0; i < terms.operands.size(); ++i) {
      std::string& term = terms.operands[i];
      const Shape& shape = graph_.value(node().inputs[i]).type.shape;
      if (shape.is_unknown() || !holds(term, '.')) continue;
      const s64 hidden = shape.rank() - std::ssize(term) + std::ssize(kDots);
      most = std::max(most, hidden);
      term = without_dots(term, hidden, letters);
    }
    terms.result = without_dots(terms.result, most, letters);
  }

  bool fits(const Labeled& tensor) const {
    const TensorType& type = graph_.value(tensor.id).type;
    return type.dtype == Dtype::f32 && !type.shape.is_unknown() &&
           type.shape.rank() == std::ssize(tensor.labels) && is_plain(tensor.labels);
  }

  s64 size(const Labeled& tensor, char label) const {
    return graph_.value(tensor.id).type.shape[static_cast<int>(tensor.labels.find(label))];
  }

  bool is_product() {
    const std::string both = common(b_.labels, a_.labels);
    summed_ = without(both, result_);
    batches_ = common(both, result_);
    rows_ = common(without(a_.labels, both), result_);
    columns_ = common(without(b_.labels, both), result_);
    const size_t known = summed_.size() + batches_.size();
    if (known + rows_.size() != a_.labels.size() || known + columns_.size() != b_.labels.size())
      return false;
    const auto same = [&](char label) { return size(a_, label) == size(b_, label); };
    if (!std::ranges::all_of(summed_, same) || summed_.empty()) return false;
    return is_matrix() || summed_.size() == 1;
  }

  // Weights without batches.
  bool is_matrix() const {
    return graph_.is_constant(b_.id) && batches_.empty() && !rows_.empty() && !columns_.empty() &&
           graph_.value(b_.id).constant.elements() > 0;  // Reshape reads a zero otherwise
  }

  void write() override { in_order(is_matrix() ? by_matrix() : by_batches(), result_); }

  Labeled by_matrix() {
    s64 depth = 1, width = 1;
    for (const char label : summed_) depth *= size(b_, label);
    std::vector<s64> split(rows_.size(), 0);  // Reshape keeps these sizes
    std::vector<s64> joined = split;
    joined.push_back(depth);
    for (const char label : columns_) split.push_back(size(b_, label));
    for (const char label : columns_) width *= size(b_, label);
    const Labeled weights = in_order(b_, summed_ + columns_);
    const ValueId matrix =
        add_constant("matrix", graph_.value(weights.id).constant.reshaped({depth, width}));
    ValueId x = in_order(a_, rows_ + summed_).id;
    if (summed_.size() > 1) x = reshaped(x, joined);
    x = add("MatMul", {x, matrix});
    if (columns_.size() > 1) x = reshaped(x, split);
    return {x, rows_ + columns_};
  }

  // One row and one column; '1' and '2' stand for those that there are none of.
  Labeled by_batches() {
    const std::string row = rows_.empty() ? "1" : rows_.substr(rows_.size() - 1);
    const std::string column = columns_.empty() ? "2" : columns_.substr(columns_.size() - 1);
    const std::string outer = without(result_, row + column);
    const ValueId a = spread(a_, outer + row + summed_), b = spread(b_, outer + summed_ + column);
    Labeled product{add("MatMul", {a, b}), outer + row + column};
    std::vector<s64> ones;
    for (size_t i = 0; i < product.labels.size(); ++i) {
      if (!holds(result_, product.labels[i])) ones.push_back(static_cast<s64>(i));
    }
    if (ones.empty()) return product;
    return {add("Squeeze", {product.id, add_list("ones", ones)}), common(product.labels, result_)};
  }

  // With an axis of one element for each label that the tensor lacks, where any is before it, and for a row or column that it lacks: MatMul
  // drops those of vectors.
  ValueId spread(const Labeled& tensor, const std::string& labels) {
    const Labeled turned = in_order(tensor, common(labels, tensor.labels));
    const auto known =
        std::ranges::find_if(labels, [&](char label) { return holds(tensor.labels, label); });
    const auto first = std::min(known, labels.end() - 2);
    std::vector<s64> ones;
    for (auto at = first; at != labels.end(); ++at) {
      if (!holds(tensor.labels, *at)) ones.push_back(at - first);
    }
    return ones.empty() ? turned.id : add_or_fold("Unsqueeze", {turned.id, add_list("ones", ones)});
  }

  Labeled in_order(const Labeled& tensor, const std::string& labels) {
    if (tensor.labels == labels) return tensor;
    std::vector<s64> perm;
    for (const char label : labels) perm.push_back(static_cast<s64>(tensor.labels.find(label)));
    return {transposed(tensor.id, perm), labels};
  }

  Labeled a_, b_;
  std::string result_, batches_, summed_, rows_, columns_;
};

}  // namespace

void einsum_to_matmul(Graph& graph, Rewrites& rewrites) { EinsumRewriter(graph, rewrites).run(); }

}  // namespace octet
