// SPDX-License-Identifier: Apache-2.0
// Whether we can take this model at all: versions, then every node's operator.
#pragma once

#include "onnx/flatten.h"
#include "onnx/import.h"
#include "onnx/onnx.pb.h"

namespace octet {

inline constexpr s64 kOldestOpset = 1;
inline constexpr s64 kOldestTestedOpset =
    7;  // before it, operators differ in more than their parameters
inline constexpr s64 kNewestOpset = 28;

// Fills the info's producer, versions and opsets; throws for versions that we do not read.
void read_header(const octet_onnx::ModelProto& model, ImportInfo& info);

// Throws one Error(unsupported) that lists every node whose operator Octet lacks.
void check_support(const FlatGraph& flat, ImportInfo& info);

// The operator of an ONNX node, or null when Octet lacks it.
const OpDef* op_of(const octet_onnx::NodeProto& node);

// Constant nodes become constants of the graph; they are no operator.
bool is_constant_node(const octet_onnx::NodeProto& node);

}  // namespace octet
