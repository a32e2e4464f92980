// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "core/check.h"
#include "core/monitor.h"
#include "graph/propagate.h"
#include "graph/verify.h"
#include "octet/closest.h"
#include "passes/pass.h"

namespace octet {

void remove_identity(Graph&, Rewrites&);
void fold_constants(Graph&, Rewrites&);
void shape_of_first(Graph&, Rewrites&);
void inline_if(Graph&, Rewrites&);
void loop_invariants(Graph&, Rewrites&);
void integer_operators(Graph&, Rewrites&);
void interpolate_codes(Graph&, Rewrites&);
void plugin_codes(Graph&, Rewrites&);
void widen_codes(Graph&, Rewrites&);
void real_weights(Graph&, Rewrites&);
void remove_copy(Graph&, Rewrites&);
void widen_halves(Graph&, Rewrites&);
void sink_expand(Graph&, Rewrites&);
void drop_mask(Graph&, Rewrites&);
void attention_to_products(Graph&, Rewrites&);
void einsum_to_matmul(Graph&, Rewrites&);
void gemm_to_matmul(Graph&, Rewrites&);
void split_gemm(Graph&, Rewrites&);
void sink_transposes(Graph&, Rewrites&);
void lift_batches(Graph&, Rewrites&);
void join_moves(Graph&, Rewrites&);
void merge_patches(Graph&, Rewrites&);
void gather_rows(Graph&, Rewrites&);
void part_masks(Graph&, Rewrites&);
void join_sums(Graph&, Rewrites&);
void fold_pad(Graph&, Rewrites&);
void fold_batchnorm(Graph&, Rewrites&);
void clip_before_quantize(Graph&, Rewrites&);
void fuse_normalization(Graph&, Rewrites&);
void fuse_group_norm(Graph&, Rewrites&);
void fuse_softmax(Graph&, Rewrites&);
void fuse_bias(Graph&, Rewrites&);
void fuse_swish(Graph&, Rewrites&);
void fuse_gelu(Graph&, Rewrites&);
void fuse_hard_swish(Graph&, Rewrites&);
void fold_factor(Graph&, Rewrites&);
void fuse_residual(Graph&, Rewrites&);
void fuse_activation(Graph&, Rewrites&);
void drop_nan_guard(Graph&, Rewrites&);
void shape_of_codes(Graph&, Rewrites&);
void hoist_quantize(Graph&, Rewrites&);
void move_dequantize(Graph&, Rewrites&);
void cancel_qdq(Graph&, Rewrites&);
void split_conv_transpose(Graph&, Rewrites&);
void join_channel_codes(Graph&, Rewrites&);
void symmetric_weights(Graph&, Rewrites&);
void fold_channel_scales(Graph&, Rewrites&);
void fuse_unary(Graph&, Rewrites&);
void fuse_qdq(Graph&, Rewrites&);
void fuse_plugin(Graph&, Rewrites&);
void plugin_halves(Graph&, Rewrites&);
void quantize_rows(Graph&, Rewrites&);
void quantize_function(Graph&, Rewrites&);
void fuse_function(Graph&, Rewrites&);
void fold_scale(Graph&, Rewrites&);
void mask_scores(Graph&, Rewrites&);
void drop_reshape(Graph&, Rewrites&);
void remove_plain_table(Graph&, Rewrites&);
void fuse_table(Graph&, Rewrites&);
void fuse_sum(Graph&, Rewrites&);
void fuse_shuffle(Graph&, Rewrites&);
void fold_focus(Graph&, Rewrites&);
void fuse_transpose(Graph&, Rewrites&);
void rows_as_images(Graph&, Rewrites&);
void fold_dequantize(Graph&, Rewrites&);
void transpose_codes(Graph&, Rewrites&);

namespace {

constexpr bool kMakesIntegers = true;

// Order is meaning: each pass expects the form that those before it leave.
constexpr Pass kFloatPasses[] = {
    {"remove_identity", remove_identity},
    {"fold_constants", fold_constants},
    {"transpose_codes", transpose_codes},
    {"inline_if", inline_if},
    {"loop_invariants", loop_invariants},
    {"shape_of_first", shape_of_first},
    {"integer_operators", integer_operators},
    {"interpolate_codes", interpolate_codes},
    {"plugin_codes", plugin_codes},
    {"widen_codes", widen_codes},
    {"real_weights", real_weights},
    {"widen_halves", widen_halves},
    {"remove_copy", remove_copy},
    {"sink_expand", sink_expand},
    {"drop_mask", drop_mask},
    {"attention_to_products", attention_to_products},
    {"einsum_to_matmul", einsum_to_matmul},
    {"gemm_to_matmul", gemm_to_matmul},
    {"split_gemm", split_gemm},
    {"sink_transposes", sink_transposes},
    {"lift_batches", lift_batches},
    {"join_moves", join_moves},
    {"merge_patches", merge_patches},
    {"gather_rows", gather_rows},
    {"part_masks", part_masks},
    {"join_sums", join_sums},
    {"fold_pad", fold_pad},
    {"fold_batchnorm", fold_batchnorm},
    {"fuse_normalization", fuse_normalization},
    {"fuse_group_norm", fuse_group_norm},
    {"fuse_softmax", fuse_softmax},
    {"fuse_bias", fuse_bias},
    {"fuse_swish", fuse_swish},
    {"fuse_gelu", fuse_gelu},
    {"fuse_hard_swish", fuse_hard_swish},
    {"fold_factor", fold_factor},
    {"fuse_residual", fuse_residual},
    {"clip_before_quantize", clip_before_quantize},
    {"fuse_activation", fuse_activation},
};

constexpr Pass kQuantizePasses[] = {
    {"drop_nan_guard", drop_nan_guard},
    {"shape_of_codes", shape_of_codes, kMakesIntegers},
    {"hoist_quantize", hoist_quantize, kMakesIntegers},
    {"move_dequantize", move_dequantize, kMakesIntegers},
    {"cancel_qdq", cancel_qdq, kMakesIntegers},
    {"split_conv_transpose", split_conv_transpose},
    {"symmetric_weights", symmetric_weights},
    {"join_channel_codes", join_channel_codes, kMakesIntegers},
    {"fold_channel_scales", fold_channel_scales, kMakesIntegers},
    {"fuse_unary", fuse_unary, kMakesIntegers},
    {"fuse_qdq", fuse_qdq, kMakesIntegers},
    {"fuse_plugin", fuse_plugin, kMakesIntegers},
    {"plugin_halves", plugin_halves},
    {"quantize_rows", quantize_rows, kMakesIntegers},
    {"quantize_function", quantize_function, kMakesIntegers},
    {"fuse_function", fuse_function, kMakesIntegers},
    {"fold_scale", fold_scale},
    {"mask_scores", mask_scores},
    {"drop_reshape", drop_reshape},
    {"remove_plain_table", remove_plain_table},
    {"fuse_table", fuse_table, kMakesIntegers},
    {"fuse_sum", fuse_sum},
    {"fuse_transpose", fuse_transpose},
    {"fuse_shuffle", fuse_shuffle},
    {"fold_focus", fold_focus},
    {"rows_as_images", rows_as_images},
    {"fold_dequantize", fold_dequantize},
};

bool is_enabled(const Pass& pass, const PassOptions& options) {
  if (options.simulate && pass.makes_integers) return false;
  return std::ranges::find(options.disabled, pass.name) == options.disabled.end();
}

bool is_known(std::string_view name) {
  const auto named = [&](const Pass& pass) { return pass.name == name; };
  return std::ranges::any_of(kFloatPasses, named) || std::ranges::any_of(kQuantizePasses, named);
}

void check_names(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (is_known(name)) continue;
    std::vector<std::string> known;
    for (const Pass& pass : kFloatPasses) known.emplace_back(pass.name);
    for (const Pass& pass : kQuantizePasses) known.emplace_back(pass.name);
    fail(Error::Code::invalid_argument, "no pass is called '{}'{}; the passes are: {}", name,
         did_you_mean(name, known), fmt::join(known, " "));
  }
}

}  // namespace

std::span<const Pass> float_passes() { return kFloatPasses; }
std::span<const Pass> quantize_passes() { return kQuantizePasses; }

void run_passes(Graph& graph, std::span<const Pass> passes, const PassOptions& options,
                std::vector<PassTrace>* trace) {
  check_names(options.disabled);
  s64 budget = options.stop_after_rewrites;
  if (trace != nullptr && budget >= 0) {
    for (const PassTrace& earlier : *trace) budget = std::max<s64>(0, budget - earlier.rewrites);
  }
  std::optional<FoldingBudget> own;
  FoldingBudget* folding = options.folding != nullptr ? options.folding : &own.emplace(graph);
  std::optional<Uses> uses;
  bool is_first = true;  // what the caller made is cleaned and verified too
  for (const Pass& pass : passes) {
    if (!is_enabled(pass, options)) continue;
    report_progress(options.monitor, options.stage);
    const auto start = std::chrono::steady_clock::now();
    Rewrites rewrites(budget, options.weight_codes, folding, &uses);
    try {
      pass.run(graph, rewrites);
      // Most passes find nothing in most graphs.
      if (rewrites.count() > 0 || is_first) {
        remove_dead_nodes(graph);
        verify(graph);
        uses.reset();
      }
      is_first = false;
    } catch (Error& error) {
      error.add_context("running pass " + std::string(pass.name));
      throw;
    }
    if (budget >= 0) budget -= rewrites.count();
    const std::chrono::duration<f64, std::milli> spent = std::chrono::steady_clock::now() - start;
    if (trace != nullptr)
      trace->push_back({std::string(pass.name), rewrites.count(), spent.count()});
  }
}

}  // namespace octet
