// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/network/attention.h"

#include <limits>

#if NV_TENSORRT_MAJOR >= 10
namespace octet_trt {

IAttention* Network::addAttention(ITensor& query, ITensor& key, ITensor& value,
                                  AttentionNormalizationOp normOp, bool causal) noexcept {
  OCTET_TRT_ADD("addAttention", IAttention, {
    need_right(normOp, "normalization");
    auto* layer =
        add<AttentionLayer>(LayerType::kATTENTION_OUTPUT, "Attention", {&query, &key, &value});
    attentions.push_back(std::make_unique<Attention>(*layer));
    layer->attention = attentions.back().get();
    layer->attention->setNormalizationOperation(normOp);
    layer->attention->setCausal(causal);
    return layer->attention;
  });
}

ITensor* Attention::optional(int32_t index) const {
  return layer_.input(static_cast<size_t>(index));
}

bool Attention::set(const char* function, int32_t index, ITensor& tensor) noexcept {
  return guarded(layer_.network.reporter, function, false, [&] {
    layer_.network.own(&tensor);
    layer_.set_input(index, &tensor);
    return true;
  });
}

bool Attention::setNormalizationOperation(AttentionNormalizationOp op) noexcept {
  return guarded(layer_.network.reporter, "IAttention::setNormalizationOperation", false, [&] {
    need_right(op, "normalization");
    normalization_ = op;
    layer_.touch();
    return true;
  });
}

bool Attention::setMask(ITensor& mask) noexcept {
  return guarded(layer_.network.reporter, "IAttention::setMask", false, [&] {
    if (is_causal_) refuse("attention is causal or has a mask, and cannot be both");
    return set("IAttention::setMask", kMask, mask);
  });
}

bool Attention::setCausal(bool isCausal) noexcept {
  return guarded(layer_.network.reporter, "IAttention::setCausal", false, [&] {
    if (isCausal && getMask() != nullptr)
      refuse("attention is causal or has a mask, and cannot be both");
    is_causal_ = isCausal;
    layer_.touch();
    return true;
  });
}

bool Attention::setInput(int32_t index, ITensor& input) noexcept {
  return guarded(layer_.network.reporter, "IAttention::setInput", false, [&] {
    if (index < 0 || index >= kMask) refuse("there is no input " + std::to_string(index));
    return set("IAttention::setInput", index, input);
  });
}

ITensor* Attention::getInput(int32_t index) const noexcept {
  return index < 0 || index >= kMask ? nullptr : layer_.getInput(index);
}
ITensor* Attention::getOutput(int32_t index) const noexcept { return layer_.getOutput(index); }

bool Attention::setName(char const* name) noexcept {
  layer_.setName(name);
  return name != nullptr;
}
char const* Attention::getName() const noexcept { return layer_.getName(); }

bool Attention::setNormalizationQuantizeScale(ITensor& tensor) noexcept {
  return set("IAttention::setNormalizationQuantizeScale", kScale, tensor);
}

bool Attention::setNormalizationQuantizeToType(DataType type) noexcept {
  return guarded(layer_.network.reporter, "IAttention::setNormalizationQuantizeToType", false, [&] {
    need_right(type, "type");
    if (type != DataType::kINT8)
      refuse(std::string("what was normalized is quantized to INT8, not to ") + name_of(type));
    codes_ = type;
    layer_.touch();
    return true;
  });
}

bool Attention::setMetadata(char const* metadata) noexcept {
  layer_.setMetadata(metadata);
  return metadata != nullptr;
}
char const* Attention::getMetadata() const noexcept { return layer_.getMetadata(); }
bool Attention::setNbRanks(int32_t nbRanks) noexcept { return layer_.setNbRanks(nbRanks); }

namespace {

// Far more than any model has: each is a number of the model where queries share keys.
constexpr int64_t kMostHeads = 1 << 16;

// Queries come in groups that share a head of keys and values: each of these as often as there are queries.
std::string for_all_heads(Emission& out, size_t input) {
  const int64_t heads = out.dims(0).d[1], own = out.dims(input).d[1];
  if (heads == own) return out.in(input);
  if (heads < 0 || own <= 0 || heads % own != 0)
    refuse("layer '" + out.layer().name + "': " + std::to_string(heads) +
           " heads of queries cannot share " + std::to_string(own) + " of '" +
           out.layer().input(input)->name + "'");
  if (heads > kMostHeads)
    refuse("layer '" + out.layer().name + "': " + std::to_string(heads) +
           " heads share keys or values, and " + std::to_string(kMostHeads) + " can");
  std::vector<int64_t> places;
  for (int64_t head = 0; head < heads; ++head) places.push_back(head / (heads / own));
  return out.node("Gather", {out.in(input), out.integers(places)}, {{"axis", int64_t{1}}});
}

// What leaves nothing of a score: the least number of the type that the scores have.
std::string no_share(Emission& out) {
  const bool is_half = out.layer().input(0)->getType() == DataType::kHALF;
  return out.scalar(is_half ? -65504.0F : std::numeric_limits<float>::lowest());
}

// A number for each query and each key, from the sizes of `scores`: none for keys that come after the query.
std::string causal_mask(Emission& out, const std::string& scores) {
  const std::string all = out.node("Shape", {scores});
  const std::string sizes = out.node(
      "Slice", {all, out.integers({2}), out.integers({std::numeric_limits<int64_t>::max()})});
  const std::string lowest = out.node("Expand", {no_share(out), sizes});
  const std::string after = out.node("Squeeze", {out.integers({1})});
  return out.node("Trilu", {lowest, after}, {{"upper", int64_t{1}}});
}

std::string masked(Emission& out, const Attention& attention, const std::string& scores) {
  if (attention.getCausal() && out.has(Attention::kMask))  // by ILayer::setInput()
    refuse("layer '" + out.layer().name +
           "': attention is causal or has a mask, and cannot be both");
  if (attention.getCausal()) return out.node("Add", {scores, causal_mask(out, scores)});
  if (!out.has(Attention::kMask)) return scores;
  const std::string mask = out.in(Attention::kMask);
  if (out.dtype(Attention::kMask) != octet::Dtype::boolean) return out.node("Add", {scores, mask});
  return out.node("Where", {mask, scores, no_share(out)});
}

// As codes, which a product then reads.
std::string quantized(Emission& out, const std::string& shares) {
  const std::string scale = out.node("Reshape", {out.in(Attention::kScale), out.integers({})});
  const std::string zero = out.cast(out.scalar(0), octet::Dtype::s8);
  const std::string codes = out.node("QuantizeLinear", {shares, scale, zero});
  return out.node("DequantizeLinear", {codes, scale, zero});
}

}  // namespace

void emit_layer(const IAttentionOutputLayer&, Emission& out) {
  const Attention& attention = *dynamic_cast<const AttentionLayer&>(out.layer()).attention;
  for (size_t i = 0; i < 3; ++i)
    if (out.dims(i).nbDims != 4)
      refuse("layer '" + out.layer().name + "': its input '" + out.layer().input(i)->name +
             "' has " + std::to_string(out.dims(i).nbDims) + " dimensions, and needs 4");
  const std::vector<int64_t> turn = {0, 1, 3, 2};
  const std::string keys = out.node("Transpose", {for_all_heads(out, 1)}, {{"perm", turn}});
  std::string shares = masked(out, attention, out.node("MatMul", {out.in(0), keys}));
  if (attention.getNormalizationOperation() == AttentionNormalizationOp::kSOFTMAX)
    shares = out.node("Softmax", {shares}, {{"axis", int64_t{-1}}});
  const bool has_codes = attention.getNormalizationQuantizeToType() == DataType::kINT8;
  if (has_codes != out.has(Attention::kScale))
    refuse("layer '" + out.layer().name +
           "': what was normalized is quantized by both a scale and a type");
  if (has_codes) shares = quantized(out, shares);
  out.last("MatMul", {shares, for_all_heads(out, 2)});
}

}  // namespace octet_trt
#endif
