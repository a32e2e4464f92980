// SPDX-License-Identifier: Apache-2.0
// A kept graph in the form that another runtime wants.
#pragma once

#include "graph/graph.h"
#include "octet/export.h"

namespace octet {

// Same meaning; where `report` says coarser, other codes. Counts what the file will hold.
Graph in_form_of(ExportTarget target, Graph graph, ExportReport& report);

}  // namespace octet
