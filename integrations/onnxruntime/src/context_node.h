// SPDX-License-Identifier: Apache-2.0
// Compiled models: a node EPContext of the domain com.microsoft holds an engine, or names a file beside the model that does.
#pragma once

#include <filesystem>
#include <memory>

#include "build.h"
#include "graph.h"
#include "options.h"

namespace octet_ort {

bool is_context_node(const GraphNode& node);
// Whether Octet wrote it.
bool is_our_context(const Host& host, const GraphNode& node);

// Throws Error(invalid_model) for an engine that is damaged, or not the one that the node was written with.
octet::Engine engine_of_context(const Host& host, const Graph& graph, const GraphNode& node,
                                const Options& options);

// A node with the names of `fused`. Where the engine is not to be inside, its file is written beside the compiled model.
OrtNode* make_context_node(const Host& host, const OrtNode* fused, const octet::Engine& engine,
                           const std::filesystem::path& model, const Options& options);

// What a compiled model says of who can run it, and what that means here.
std::string compatibility_text();
Compatibility compatibility_of(std::string_view text);

}  // namespace octet_ort
