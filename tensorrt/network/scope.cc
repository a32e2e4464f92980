// SPDX-License-Identifier: Apache-2.0
// How loops and conditions are made, and which layers are inside of them.
#include "tensorrt/network/scope.h"

#include <algorithm>

namespace octet_trt {

namespace {

// As many as a model may have graphs within graphs.
constexpr size_t kDeepest = 64;

template <class Made>
Made* made(Network& network, const char* kind) {
  const std::string number = std::to_string(network.scopes.size());
  auto scope =
      std::make_unique<Made>(network, "(Unnamed " + std::string(kind) + "* " + number + ")");
  Made* raw = scope.get();
  network.scopes.push_back(std::move(scope));
  return raw;
}

// The node's subgraphs have no batch that clients do not see.
void need_explicit(const Network& network) {
  if (network.is_implicit()) refuse("networks with an implicit batch have no loops or conditions");
}

}  // namespace

ILoop* Network::addLoop() noexcept {
  OCTET_TRT_ADD("addLoop", ILoop, {
    need_explicit(*this);
    return made<LoopScope>(*this, "Loop");
  });
}

IIfConditional* Network::addIfConditional() noexcept {
  OCTET_TRT_ADD("addIfConditional", IIfConditional, {
    need_explicit(*this);
    return made<ConditionScope>(*this, "Conditional");
  });
}

template <class Base>
Base* LoopScope::add(LayerType type, const char* kind, ITensor& input, int outputs) {
  auto* layer = network_.add<LoopLayer<Base>>(type, kind, {&input}, outputs);
  layer->loop = this;
  return layer;
}

#define OCTET_TRT_ADD_TO(where, Interface, ...) \
  return guarded(network_.reporter, where,      \
                 static_cast<Interface*>(nullptr), [&]() -> Interface* __VA_ARGS__)

IRecurrenceLayer* LoopScope::addRecurrence(ITensor& initialValue) noexcept {
  OCTET_TRT_ADD_TO("ILoop::addRecurrence", IRecurrenceLayer, {
    return add<IRecurrenceLayer>(LayerType::kRECURRENCE, "Recurrence", initialValue);
  });
}

ITripLimitLayer* LoopScope::addTripLimit(ITensor& tensor, TripLimit limit) noexcept {
  OCTET_TRT_ADD_TO("ILoop::addTripLimit", ITripLimitLayer, {
    need_right(limit, "limit");
    if (this->limit(limit) != nullptr) refuse(shown() + " has a limit of this kind already");
    auto* layer = network_.add<LoopLayer<ITripLimitLayer>>(LayerType::kTRIP_LIMIT, "Trip Limit",
                                                           {&tensor}, 0);
    layer->loop = this;
    layer->limit = limit;
    limits_.push_back(layer);
    return layer;
  });
}

IIteratorLayer* LoopScope::addIterator(ITensor& tensor, int32_t axis, bool reverse) noexcept {
  OCTET_TRT_ADD_TO("ILoop::addIterator", IIteratorLayer, {
    IIteratorLayer* layer = add<IIteratorLayer>(LayerType::kITERATOR, "Iterator", tensor);
    layer->setAxis(axis);
    layer->setReverse(reverse);
    return layer;
  });
}

ILoopOutputLayer* LoopScope::addLoopOutput(ITensor& tensor, LoopOutput outputKind,
                                           int32_t axis) noexcept {
  OCTET_TRT_ADD_TO("ILoop::addLoopOutput", ILoopOutputLayer, {
    need_right(outputKind, "kind");
    auto* layer =
        network_.add<LoopLayer<ILoopOutputLayer>>(LayerType::kLOOP_OUTPUT, "LoopOutput", {&tensor});
    layer->loop = this;
    layer->output = outputKind;
    layer->setAxis(axis);
    return layer;
  });
}

template <class Base>
Base* ConditionScope::add(LayerType type, const char* kind, std::vector<ITensor*> inputs,
                          int outputs) {
  auto* layer = network_.add<ConditionLayer<Base>>(type, kind, std::move(inputs), outputs);
  layer->conditional = this;
  return layer;
}

IConditionLayer* ConditionScope::setCondition(ITensor& condition) noexcept {
  OCTET_TRT_ADD_TO("IIfConditional::setCondition", IConditionLayer, {
    if (!conditions_.empty()) refuse(shown() + " has its condition already");
    auto* layer = network_.add<ConditionLayer<IConditionLayer>>(LayerType::kCONDITION, "Condition",
                                                                {&condition}, 0);
    layer->conditional = this;
    conditions_.push_back(layer);
    return layer;
  });
}

IIfConditionalOutputLayer* ConditionScope::addOutput(ITensor& trueSubgraphOutput,
                                                     ITensor& falseSubgraphOutput) noexcept {
  OCTET_TRT_ADD_TO("IIfConditional::addOutput", IIfConditionalOutputLayer, {
    return add<IIfConditionalOutputLayer>(LayerType::kCONDITIONAL_OUTPUT, "ConditionalOutput",
                                          {&trueSubgraphOutput, &falseSubgraphOutput});
  });
}

IIfConditionalInputLayer* ConditionScope::addInput(ITensor& input) noexcept {
  OCTET_TRT_ADD_TO("IIfConditional::addInput", IIfConditionalInputLayer, {
    return add<IIfConditionalInputLayer>(LayerType::kCONDITIONAL_INPUT, "ConditionalInput",
                                         {&input});
  });
}

ScopeTree::ScopeTree(std::vector<LayerCore*> layers) : layers_(std::move(layers)) {
  // Recurrences read what comes after them.
  for (bool grows = true; grows;) {
    grows = false;
    for (LayerCore* layer : layers_) grows = spread(*layer) || grows;
  }
  for (const auto& [scope, outer] : outer_) {
    const bool in_itself = std::ranges::any_of(
        outer, [&, inner = scope](const Scope* other) { return outer_.at(other).contains(inner); });
    if (in_itself || outer.size() >= kDeepest)
      refuse(scope->shown() + " is inside of itself, or of " + std::to_string(kDeepest) +
             " loops and conditions or more");
    around_[scope] = innermost(outer);
  }
  for (const LayerCore* layer : layers_) {
    const Scopes& scopes = inside_[layer];
    const Scope* home = innermost(scopes);
    for (const Scope* scope : scopes)
      if (!is_around(*scope, *home))
        refuse("layer '" + layer->name + "' reads what is inside of " + scope->shown() +
               " and of " + home->shown() + ", and neither is inside of the other");
    home_[layer] = home;
  }
}

// Whether more is known of the layer than before.
bool ScopeTree::spread(LayerCore& layer) {
  Scopes found;
  for (const Tensor* input : layer.inputs) {
    if (input == nullptr || input->producer == nullptr) continue;
    const Scopes& more = inside_[input->producer];
    found.insert(more.begin(), more.end());
  }
  const Boundary bound = layer.boundary();
  bool grows = false;
  if (bound.scope != nullptr) {
    found.erase(bound.scope);
    Scopes& outer = outer_[bound.scope];
    const size_t before = outer.size();
    outer.insert(found.begin(), found.end());
    grows = outer.size() != before;
    found = outer;
    if (!bound.closes) found.insert(bound.scope);
  }
  Scopes& inside = inside_[&layer];
  grows = grows || inside.size() != found.size();
  inside = std::move(found);
  return grows;
}

// Scopes have those around their outer ones among their own, so that as many are around the innermost as around no other.
const Scope* ScopeTree::innermost(const Scopes& scopes) const {
  const Scope* found = nullptr;
  for (const Scope* scope : scopes)
    if (found == nullptr || outer_.at(scope).size() > outer_.at(found).size()) found = scope;
  return found;
}

bool ScopeTree::is_around(const Scope& outer, const Scope& inner) const {
  const Scope* at = &inner;
  while (at != nullptr && at != &outer) at = around_.at(at);
  return at == &outer;
}

std::vector<LayerCore*> ScopeTree::bounds(const Scope& scope, LayerType kind) const {
  std::vector<LayerCore*> found;
  for (LayerCore* layer : layers_)
    if (layer->boundary().scope == &scope && layer->kind() == kind) found.push_back(layer);
  return found;
}

}  // namespace octet_trt
