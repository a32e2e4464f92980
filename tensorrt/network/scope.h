// SPDX-License-Identifier: Apache-2.0
// Loops and conditions. Their layers stand in a network as all others do; where the network is written, those inside become graphs of one node
// of the scope: a Loop, or an If.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tensorrt/network/add.h"

namespace octet_trt {

class Scope {
 public:
  Scope(Network& owner, std::string called) : network_(owner), name_(std::move(called)) {}
  virtual ~Scope() = default;
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // "loop 'name'"
  virtual std::string shown() const = 0;
  // Layers without outputs of their own that the node needs.
  virtual std::vector<LayerCore*> limits() const = 0;
  // Writes the node into `model`, the graph around it.
  virtual void write(const ScopeTree& tree, ModelText& model, std::string& functions) const = 0;

 protected:
  Network& network_;
  std::string name_;
};

// Which layers are inside of which scope: those that depend on what opens it, up to what closes it.
class ScopeTree {
 public:
  // Refuses layers that read what is inside of a scope without its outputs.
  explicit ScopeTree(std::vector<LayerCore*> layers);

  // In the order in which they were added.
  const std::vector<LayerCore*>& layers() const { return layers_; }
  // The innermost scope around a layer; null: none.
  const Scope* home(const LayerCore& layer) const { return home_.at(&layer); }
  const Scope* around(const Scope& scope) const { return around_.at(&scope); }
  bool has(const LayerCore& layer) const { return home_.contains(&layer); }
  // The layers of a kind that bound a scope.
  std::vector<LayerCore*> bounds(const Scope& scope, LayerType kind) const;

 private:
  using Scopes = std::set<const Scope*>;
  bool spread(LayerCore& layer);
  const Scope* innermost(const Scopes& scopes) const;
  bool is_around(const Scope& outer, const Scope& inner) const;

  std::vector<LayerCore*> layers_;
  std::map<const LayerCore*, Scopes> inside_;
  std::map<const Scope*, Scopes> outer_;
  std::map<const LayerCore*, const Scope*> home_;
  std::map<const Scope*, const Scope*> around_;
};

#if NV_TENSORRT_MAJOR >= 10
#define OCTET_TRT_BOUNDARY(Table) , public Padded<apiv::Table>
#define OCTET_TRT_BOUNDARY_HANDLE this->mBoundary = this
#else
#define OCTET_TRT_BOUNDARY(Table)
#define OCTET_TRT_BOUNDARY_HANDLE static_cast<void>(0)
#endif

class LoopScope final : public Handed<ILoop>, public Scope {
 public:
  using Scope::Scope;

  IRecurrenceLayer* addRecurrence(ITensor& initialValue) noexcept override;
  ITripLimitLayer* addTripLimit(ITensor& tensor, TripLimit limit) noexcept override;
  IIteratorLayer* addIterator(ITensor& tensor, int32_t axis, bool reverse) noexcept override;
  ILoopOutputLayer* addLoopOutput(ITensor& tensor, LoopOutput outputKind,
                                  int32_t axis) noexcept override;
  void setName(char const* name) noexcept override { name_ = name == nullptr ? "" : name; }
  char const* getName() const noexcept override { return name_.c_str(); }

  std::string shown() const override { return "loop '" + name_ + "'"; }
  std::vector<LayerCore*> limits() const override { return limits_; }
  void write(const ScopeTree& tree, ModelText& model, std::string& functions) const override;

 private:
  template <class Base>
  Base* add(LayerType type, const char* kind, ITensor& input, int outputs = 1);
  const LayerCore* limit(TripLimit kind) const;  // null: none of this kind
  std::string next_condition(const ScopeTree& tree, const Tensor& condition, bool at_first,
                             ModelText& model) const;

  std::vector<LayerCore*> limits_;
};

template <class Base>
class LoopLayer final : public LayerOf<Base> OCTET_TRT_BOUNDARY(VLoopBoundaryLayer) {
 public:
  LoopLayer(Network& owner, LayerType type, std::string shown_name)
      : LayerOf<Base>(owner, type, std::move(shown_name)) {
    OCTET_TRT_BOUNDARY_HANDLE;
  }
  ILoop* getLoop() const noexcept override { return loop; }
  Boundary boundary() const override {
    const LayerType kind = this->kind();
    return {loop, kind == LayerType::kLOOP_OUTPUT || kind == LayerType::kTRIP_LIMIT};
  }

  LoopScope* loop = nullptr;
};

class ConditionScope final : public Handed<IIfConditional>, public Scope {
 public:
  using Scope::Scope;

  IConditionLayer* setCondition(ITensor& condition) noexcept override;
  IIfConditionalOutputLayer* addOutput(ITensor& trueSubgraphOutput,
                                       ITensor& falseSubgraphOutput) noexcept override;
  IIfConditionalInputLayer* addInput(ITensor& input) noexcept override;
  void setName(char const* name) noexcept override { name_ = name == nullptr ? "" : name; }
  char const* getName() const noexcept override { return name_.c_str(); }

  std::string shown() const override { return "condition '" + name_ + "'"; }
  std::vector<LayerCore*> limits() const override { return conditions_; }
  void write(const ScopeTree& tree, ModelText& model, std::string& functions) const override;

 private:
  template <class Base>
  Base* add(LayerType type, const char* kind, std::vector<ITensor*> inputs, int outputs = 1);
  std::string branch(const ScopeTree& tree, size_t input, ModelText& model,
                     std::string& functions) const;

  std::vector<LayerCore*> conditions_;  // one at most
};

template <class Base>
class ConditionLayer final : public LayerOf<Base> OCTET_TRT_BOUNDARY(VConditionalBoundaryLayer) {
 public:
  ConditionLayer(Network& owner, LayerType type, std::string shown_name)
      : LayerOf<Base>(owner, type, std::move(shown_name)) {
    OCTET_TRT_BOUNDARY_HANDLE;
  }
  IIfConditional* getConditional() const noexcept override { return conditional; }
  Boundary boundary() const override {
    return {conditional, this->kind() != LayerType::kCONDITIONAL_INPUT};
  }

  ConditionScope* conditional = nullptr;
};

}  // namespace octet_trt
