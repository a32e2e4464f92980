// SPDX-License-Identifier: Apache-2.0
// Attention in one piece: a handle, and the layer that stands for it in the network and is written as its parts.
#pragma once

#include <string>

#include "tensorrt/network/add.h"

#if NV_TENSORRT_MAJOR >= 10
namespace octet_trt {

class AttentionLayer;

class Attention final : public Handed<IAttention> {
 public:
  explicit Attention(AttentionLayer& layer) : layer_(layer) {}

  bool setNormalizationOperation(AttentionNormalizationOp op) noexcept override;
  AttentionNormalizationOp getNormalizationOperation() const noexcept override {
    return normalization_;
  }
  bool setMask(ITensor& mask) noexcept override;
  ITensor* getMask() const noexcept override { return optional(kMask); }
  bool setCausal(bool isCausal) noexcept override;
  bool getCausal() const noexcept override { return is_causal_; }
  bool setDecomposable(bool decomposable) noexcept override {
    is_decomposable_ = decomposable;
    return true;
  }
  bool getDecomposable() const noexcept override { return is_decomposable_; }
  bool setInput(int32_t index, ITensor& input) noexcept override;
  int32_t getNbInputs() const noexcept override { return kMask; }
  ITensor* getInput(int32_t index) const noexcept override;
  int32_t getNbOutputs() const noexcept override { return 1; }
  ITensor* getOutput(int32_t index) const noexcept override;
  bool setName(char const* name) noexcept override;
  char const* getName() const noexcept override;
  bool setNormalizationQuantizeScale(ITensor& tensor) noexcept override;
  ITensor* getNormalizationQuantizeScale() const noexcept override { return optional(kScale); }
  bool setNormalizationQuantizeToType(DataType type) noexcept override;
  DataType getNormalizationQuantizeToType() const noexcept override { return codes_; }
  bool setMetadata(char const* metadata) noexcept override;
  char const* getMetadata() const noexcept override;
  bool setNbRanks(int32_t nbRanks) noexcept override;
  int32_t getNbRanks() const noexcept override { return 1; }

  // Places among the layer's inputs: queries, keys, values, then what may be absent.
  static constexpr int32_t kMask = 3;
  static constexpr int32_t kScale = 4;

 private:
  ITensor* optional(int32_t index) const;
  bool set(const char* function, int32_t index, ITensor& tensor) noexcept;

  AttentionLayer& layer_;
  AttentionNormalizationOp normalization_ = AttentionNormalizationOp::kSOFTMAX;
  bool is_causal_ = false;
  bool is_decomposable_ = false;
  DataType codes_ = DataType::kFLOAT;
};

class AttentionLayer final : public LayerOf<IAttentionOutputLayer>,
                             public Padded<apiv::VAttentionBoundaryLayer> {
 public:
  AttentionLayer(Network& owner, LayerType type, std::string shown_name)
      : LayerOf<IAttentionOutputLayer>(owner, type, std::move(shown_name)) {
    this->mBoundary = this;
  }
  IAttention* getAttention() const noexcept override { return attention; }

  Attention* attention = nullptr;
};

}  // namespace octet_trt
#endif
