// SPDX-License-Identifier: Apache-2.0
#include "plan/select.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "graph/op_def.h"
#include "graph/op_traits.h"
#include "plan/device.h"
#include "plan/kept_result.h"
#include "plan/tuning.h"
#include "plugin/plugin_op.h"

namespace octet {
namespace {

bool only_constants(const LowerRequest& asked) {
  const std::vector<ValueId>& inputs = asked.node.inputs;
  return !inputs.empty() && std::ranges::all_of(inputs, [&](ValueId id) {
    return id == kNoValue || asked.graph.is_constant(id);
  });
}

struct Answers {
  std::vector<Candidate> accepted;  // in the order of the table, those of lesser devices last
  size_t own = 0;                   // of them: kernels of the target's own device
  std::vector<std::string> rejects;

  void take(std::string_view name, Offer offer) {
    if (const Reject* reject = std::get_if<Reject>(&offer)) {
      rejects.push_back(fmt::format("{}: {}", name, reject->reason));
      return;
    }
    if (Candidates* several = std::get_if<Candidates>(&offer)) {
      for (Candidate& candidate : *several) add(std::move(candidate));
      return;
    }
    add(std::move(std::get<Candidate>(offer)));
  }

 private:
  void add(Candidate candidate) {
    const auto same = [&](const Candidate& c) { return c.kernel == candidate.kernel; };
    if (std::ranges::none_of(accepted, same)) accepted.push_back(std::move(candidate));
  }
};

void ask(const LowerRequest& asked, const Backend& backend, Answers& answers) {
  for (const Lowering& lowering : backend.lowerings) {
    if (lowering.op == asked.node.op->name) answers.take(lowering.name, lowering.offer(asked));
  }
  if (const ChainRule* rule = rule_of(asked.node, backend))
    answers.take(rule->name, rule->offer(asked));
  if (backend.plugins != nullptr && plugin_of(asked.node) != nullptr) {
    for (auto& [name, offer] : backend.plugins(asked)) answers.take(name, std::move(offer));
  }
  answers.own = answers.accepted.size();
}

// The kernels of lesser devices too, for measuring.
void ask_lesser(const LowerRequest& asked, const Backend& backend, Answers& answers) {
  Target target = asked.target;
  const LowerRequest lesser{asked.graph,   asked.node,    asked.inputs,
                            asked.outputs, asked.layouts, target};
  while ((target.device = target.device->lesser()) != nullptr) {
    if (asked.target.host == asked.target.device) target.host = target.device;
    for (const Lowering& lowering : backend.lowerings) {
      if (lowering.op != asked.node.op->name) continue;
      Offer offer = lowering.offer(lesser);
      if (!std::holds_alternative<Reject>(offer)) answers.take(lowering.name, std::move(offer));
    }
  }
}

// What a kernel reads of a constant is the whole of it, also where it is asked for a part of the batch.
void keep_whole(const LowerRequest& asked, std::vector<Candidate>& accepted) {
  for (Candidate& candidate : accepted) {
    for (size_t i = 0; i < asked.inputs.size(); ++i) {
      if (asked.constant(i) != nullptr && !candidate.holds_input(i)) candidate.by_image = false;
    }
  }
}

// Index of the tuned kernel, or -1.
s64 index_of(const Answers& answers, const std::string& kernel) {
  const auto at = std::ranges::find(answers.accepted, kernel, &Candidate::kernel);
  return at == answers.accepted.end() ? -1 : at - answers.accepted.begin();
}

// Index of the candidate to take, and how it was chosen. Estimates choose among the kernels of this level alone.
size_t choose(const LowerRequest& asked, const Backend& backend, Answers& answers,
              KernelChoice& choice) {
  const size_t best = cheapest(asked, answers.accepted);
  const TunedKernel* tuned =
      asked.target.tuning != nullptr ? asked.target.tuning->find(tuning_key(asked)) : nullptr;
  const bool tuned_is_lesser = tuned != nullptr && index_of(answers, tuned->kernel) < 0;
  if (asked.target.keep_others || tuned_is_lesser) ask_lesser(asked, backend, answers);
  keep_whole(asked, answers.accepted);
  if (answers.accepted.size() > 1)
    choice.by =
        cost_of(asked, answers.accepted[0]) > 0 ? KernelChoice::By::cost : KernelChoice::By::order;
  if (tuned == nullptr) return best;
  const s64 index = index_of(answers, tuned->kernel);
  const bool fits = index >= 0 && answers.accepted[static_cast<size_t>(index)].close ==
                                      answers.accepted[best].close;
  if (!fits) {
    choice.missing = tuned->kernel;
    return best;
  }
  choice.by = KernelChoice::By::tuning;
  return static_cast<size_t>(index);
}

std::string why_not(const LowerRequest& asked, const Candidate& other, const Candidate& chosen,
                    const KernelChoice& choice) {
  if (other.close != chosen.close) return "its last bits may differ";
  if (choice.by == KernelChoice::By::tuning)
    return fmt::format("{} was measured to be faster", chosen.kernel);
  const f64 cost = cost_of(asked, other), least = cost_of(asked, chosen);
  if (cost <= 0 || least <= 0) return fmt::format("{} comes first", chosen.kernel);
  return fmt::format("costs {:.2f} times as much as {}", cost / least, chosen.kernel);
}

}  // namespace

f64 cost_of(const LowerRequest& asked, const Candidate& candidate) {
  if (candidate.cost <= 0) return 0;
  f64 cost = candidate.cost;
  for (size_t i = 0; i < asked.inputs.size(); ++i) {
    const bool read = asked.has_input(i) && !candidate.holds_input(i);
    if (read && candidate.inputs[i] != asked.layouts[i])
      cost += 2 * static_cast<f64>(asked.inputs[i].bytes()) /
              asked.target.device->costs().convert_bytes_per_cycle;
  }
  return cost;
}

bool takes_place_of(const Candidate& chosen, const Candidate& other, bool in_groups) {
  return other.inputs == chosen.inputs && other.outputs == chosen.outputs &&
         (!in_groups || other.by_image);
}

size_t cheapest(const LowerRequest& asked, std::span<const Candidate> accepted) {
  size_t best = 0;
  f64 least = cost_of(asked, accepted[0]);
  for (size_t i = 1; i < accepted.size(); ++i) {
    const f64 cost = cost_of(asked, accepted[i]);
    if (accepted[i].close != accepted[0].close || cost <= 0 || cost >= least) continue;
    best = i;
    least = cost;
  }
  return best;
}

// Of constants alone. The reference brings them along, and products of them are the host's, which keeps the result. What is left to a device
// without a reference are moves of what is large: embeddings of positions.
bool takes_constants(const Node& node, const Backend& backend) {
  return backend.reference == nullptr && !has_kept_result(node);
}

std::string needs_reference(const LowerRequest& asked) {
  const auto wide_sums = asked.node.op->traits->wide_sums;
  return wide_sums != nullptr ? wide_sums(asked.graph, asked.node) : std::string();
}

Selection select_kernel(const LowerRequest& asked, const Backend& backend) {
  Selection selection;
  const auto refer = [&](std::string reason) {
    if (!reason.empty()) selection.rejects.push_back(std::move(reason));
    selection.found = backend.reference != nullptr;
    if (selection.found) selection.chosen = backend.reference(asked);
    return std::move(selection);
  };
  if (only_constants(asked)) {
    constexpr const char* kReason = "all inputs are constants";
    if (std::optional<Candidate> kept = kept_result(asked, backend)) {
      selection.rejects.push_back(kReason);
      selection.chosen = std::move(*kept);
      return selection;
    }
    if (!takes_constants(asked.node, backend)) return refer(kReason);
  }
  if (std::string reason = needs_reference(asked); !reason.empty()) return refer(std::move(reason));
  Answers answers;
  ask(asked, backend, answers);
  if (answers.accepted.empty()) {
    selection.rejects = std::move(answers.rejects);
    const bool none = selection.rejects.empty();
    return refer(
        none ? fmt::format("the {} backend has no kernel for {}", backend.name, asked.node.op->name)
             : "");
  }
  const size_t best = choose(asked, backend, answers, selection.choice);
  selection.rejects = std::move(answers.rejects);
  for (size_t i = 0; i < answers.accepted.size(); ++i) {
    if (i == best) continue;
    Candidate& other = answers.accepted[i];
    const std::string reason = why_not(asked, other, answers.accepted[best], selection.choice);
    selection.rejects.push_back(other.kernel + ": " +
                                (i < answers.own ? reason : "belongs to a lesser device"));
    if (asked.target.keep_others) selection.others.push_back(std::move(other));
  }
  selection.chosen = std::move(answers.accepted[best]);
  return selection;
}

std::vector<Candidate> likely_kernels(std::vector<Candidate> kernels, const Device& device) {
  constexpr size_t kMost = 16, kMostCompiled = 8;
  constexpr f64 kUnlikely = 1.5;  // times the estimate of the chosen one
  const bool compiled = device.preparations() > 1;
  const size_t most = compiled ? kMostCompiled : kMost;
  const f64 dearest = compiled && !kernels.empty() ? kUnlikely * kernels.front().cost : 0;
  if (dearest > 0) std::erase_if(kernels, [&](const Candidate& c) { return c.cost > dearest; });
  if (kernels.size() <= most) return kernels;
  std::stable_sort(kernels.begin() + 1, kernels.end(),
                   [](const Candidate& a, const Candidate& b) { return a.cost < b.cost; });
  kernels.resize(most);
  return kernels;
}

}  // namespace octet
