// SPDX-License-Identifier: Apache-2.0
#include "graph/propagate.h"

#include <algorithm>

#include "core/check.h"
#include "graph/op_traits.h"

namespace octet {
namespace {

// Steps that every graph may take, while it is compiled (a fraction of a second) and in one propagation of a plan; and those for
// each byte of a constant: weights may be cast, transposed, padded and scaled.
constexpr f64 kStepsToCompile = 1 << 26;
constexpr f64 kStepsToPlan = 1 << 24;
constexpr f64 kStepsForByte = 32;
// What sizes are computed from: a node of so few costs no more than reading it. A file may hold hundreds of thousands of such nodes.
constexpr f64 kAlways = 1 << 7;

// Images have the most dimensions of what operators ask for.
constexpr int kMostRankTried = 4;

class Propagator {
 public:
  Propagator(const Graph& graph, const PropagateOptions& options)
      : graph_(graph),
        options_(options),
        budget_(options.budget != nullptr ? *options.budget : own_budget_),
        around_(innermost) {
    result_.types.resize(graph.value_count());
    result_.known.resize(graph.value_count());
    result_.from_data.resize(graph.value_count());
    certain_.resize(graph.value_count());
    innermost = this;  // last: what is thrown before runs no destructor
  }

  ~Propagator() { innermost = around_; }
  Propagator(const Propagator&) = delete;
  Propagator& operator=(const Propagator&) = delete;

  Propagated run(std::span<const TensorType> inputs, std::span<const Tensor> known) {
    OCTET_CHECK(inputs.size() == graph_.inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ValueId id = graph_.inputs[i];
      result_.types[id] = inputs[i];
      result_.from_data[id] = !inputs[i].shape.is_static();
      if (i < known.size()) result_.known[id] = known[i];
      certain_[id] = true;
    }
    for (ValueId id = 0; id < graph_.value_count(); ++id) {
      if (!graph_.is_constant(id)) continue;
      result_.types[id] = graph_.value(id).type;
      result_.known[id] = graph_.value(id).constant;
      certain_[id] = true;
    }
    for (const Node& node : graph_.nodes) {
      result_.reasons.emplace_back();
      result_.needs.push_back(kNoValue);
      visit(node);
    }
    return std::move(result_);
  }

 private:
  // What a node's inputs are.
  struct Inputs {
    std::vector<TensorType> types;
    std::vector<const Tensor*> values;
    bool all_known = true;
    bool from_data = false;
    ValueId unknown = kNoValue;
  };

  Inputs inputs_of(const Node& node) const {
    Inputs in;
    // A condition that holds for a sample of sizes need not hold for others.
    const bool guessing = options_.sample > 0 && has_body(node);
    for (ValueId id : node.inputs) {
      in.types.push_back(id == kNoValue ? TensorType{} : result_.types[id]);
      const bool known = id != kNoValue && result_.known[id] && !(guessing && !certain_[id]);
      in.values.push_back(known ? &result_.known[id] : nullptr);
      in.all_known = in.all_known && (known || id == kNoValue);
      in.from_data = in.from_data || (id != kNoValue && result_.from_data[id]);
      if (id != kNoValue && !result_.types[id].shape.is_static()) in.unknown = id;
    }
    return in;
  }

  void visit(const Node& node) {
    const Inputs in = inputs_of(node);
    if (in.unknown != kNoValue) {
      leave_to_run(node, in, "the shape of '" + graph_.value(in.unknown).name + "' is not known");
      return;
    }
    const bool known = in.all_known || node.op->traits->reads_types_only;
    try {
      std::vector<TensorType> outputs = infer_node(node, in.types, in.values, options_.sample);
      if (known && fits(outputs) && foldable(node) &&
          may_take(work_of(node, in.types, outputs), node)) {
        evaluate(node);
      } else {
        take(node, std::move(outputs), in.from_data);
      }
    } catch (const NeedsData& needs) {
      leave_to_run(node, in, needs.message());
      result_.needs.back() = node.input(needs.input);
    } catch (const Error& error) {
      // A sampled dimension proves nothing: at the real one the node may well fit.
      if (!in.from_data) throw;
      leave_to_run(node, in, error.message());
    }
  }

  // A body's steps are those of the graphs around it, too: a file may hold thousands of bodies.
  bool may_take(f64 steps, const Node& node) {
    return budget_.take(steps, node) && (around_ == nullptr || around_->may_take(steps, node));
  }

  void leave_to_run(const Node& node, const Inputs& in, std::string reason) {
    result_.reasons.back() = std::move(reason);
    const std::vector<Dtype> dtypes = dtypes_of(node, in);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId id = node.outputs[i];
      if (id == kNoValue) continue;
      result_.types[id] = {dtypes[i], Shape::unknown()};
      result_.from_data[id] = true;
    }
  }

  // Element types, as far as they follow without the shapes: f32 elsewhere.
  std::vector<Dtype> dtypes_of(const Node& node, const Inputs& in) const {
    std::vector<Dtype> dtypes(node.outputs.size(), Dtype::f32);
    if (node.op->quant.kind == QuantKind::move_codes && dtypes.size() == 1 && !in.types.empty()) {
      dtypes[0] = in.types[0].dtype;
    } else if (!has_body(node)) {
      const int most = in.unknown == kNoValue ? 0 : kMostRankTried;
      int rank = 0;
      while (rank <= most && !take_dtypes(node, in, rank, dtypes)) ++rank;
    }
    return dtypes;
  }

  // Of the node where unknown shapes have so many dimensions of one element; false where that does not fit.
  bool take_dtypes(const Node& node, const Inputs& in, int rank, std::vector<Dtype>& dtypes) const {
    std::vector<TensorType> types = in.types;
    for (TensorType& type : types)
      if (!type.shape.is_static())
        type.shape = Shape(std::vector<s64>(static_cast<size_t>(rank), 1));
    try {
      const s64 sample = std::max<s64>(1, options_.sample);
      const std::vector<TensorType> outputs = infer_node(node, types, in.values, sample);
      for (size_t i = 0; i < dtypes.size(); ++i) dtypes[i] = outputs[i].dtype;
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  void take(const Node& node, std::vector<TensorType> outputs, bool from_data) {
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId id = node.outputs[i];
      Shape& shape = outputs[i].shape;
      const bool open = !shape.is_static();
      // Also of a result that nobody reads: it is written all the same.
      if (open) result_.reasons.back() = "the size of its result depends on run-time data";
      if (id == kNoValue) continue;
      if (open && options_.sample == 0) shape = Shape::unknown();
      for (int d = 0; d < shape.rank(); ++d) {
        if (shape[d] < 0) shape[d] = options_.sample + (options_.distinct_samples ? opened_++ : 0);
      }
      result_.types[id] = outputs[i];
      result_.from_data[id] = open || from_data;
    }
  }

  // Outputs whose size is not known before they are there count as fitting: inputs bound them.
  bool fits(std::span<const TensorType> outputs) const {
    return std::ranges::all_of(outputs, [&](const TensorType& type) {
      return !type.shape.is_static() || type.bytes() <= options_.fold_bytes;
    });
  }

  bool foldable(const Node& node) const {
    const bool product = node.op->quant.kind == QuantKind::compute || node.op->domain == "octet";
    // A body may run for long: what it makes is left to the run.
    if (has_body(node) || (options_.keep_products && product)) return false;
    return !(options_.keep_dequantize && is_dequantize(node));
  }

  void evaluate(const Node& node) {
    std::vector<Tensor> inputs;
    bool from_data = false;
    for (ValueId id : node.inputs) {
      if (id == kNoValue) {
        inputs.emplace_back();
      } else if (result_.known[id]) {
        inputs.push_back(result_.known[id]);
      } else {
        inputs.emplace_back(result_.types[id], nullptr);  // Shape and Size look at the type alone
      }
      from_data = from_data || (id != kNoValue && result_.from_data[id]);
    }
    std::vector<Tensor> outputs = eval_node(node, inputs);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId id = node.outputs[i];
      if (id == kNoValue) continue;
      result_.types[id] = outputs[i].type();
      result_.known[id] = std::move(outputs[i]);
      result_.from_data[id] = from_data;
    }
  }

  const Graph& graph_;
  const PropagateOptions& options_;
  FoldingBudget own_budget_{kStepsToPlan};
  FoldingBudget& budget_;
  Propagator* const around_;  // whose node's types are being inferred; null: none
  static thread_local Propagator* innermost;
  Propagated result_;
  std::vector<bool> certain_;  // known whatever the sizes are
  s64 opened_ = 0;             // dimensions that were sampled
};

thread_local Propagator* Propagator::innermost = nullptr;

}  // namespace

FoldingBudget::FoldingBudget(const Graph& graph) : left_(kStepsToCompile) {
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    if (!graph.is_constant(id)) continue;
    left_ += kStepsForByte * static_cast<f64>(graph.value(id).constant.bytes());
  }
}

bool FoldingBudget::take(f64 steps, const Node& node) {
  if (steps <= kAlways) return true;
  if (steps <= left_) {
    left_ -= steps;
    return true;
  }
  if (!(steps <= most_refused_)) {
    most_refused_ = steps;
    refused_ = describe(node);
  }
  return false;
}

std::string FoldingBudget::left_out() const {
  if (refused_.empty()) return "";
  return fmt::format(
      "constants are computed in every run, where folding them takes too long: {} alone takes "
      "{:.2g} steps",
      refused_, most_refused_);
}

Propagated propagate(const Graph& graph, std::span<const Shape> input_shapes,
                     const PropagateOptions& options) {
  OCTET_CHECK(input_shapes.size() == graph.inputs.size());
  std::vector<TensorType> types;
  for (size_t i = 0; i < input_shapes.size(); ++i) {
    types.push_back({graph.value(graph.inputs[i]).type.dtype, input_shapes[i]});
  }
  return propagate(graph, types, {}, options);
}

Propagated propagate(const Graph& graph, std::span<const TensorType> inputs,
                     std::span<const Tensor> known, const PropagateOptions& options) {
  return Propagator(graph, options).run(inputs, known);
}

}  // namespace octet
