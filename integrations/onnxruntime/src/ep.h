// SPDX-License-Identifier: Apache-2.0
// The provider within one session.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "choose.h"
#include "part_node.h"

namespace octet_ort {

class Ep : public OrtEp {
 public:
  // Throws octet::Error for options that are wrong.
  Ep(const Host& host, Options options, const OrtLogger* logger);

 private:
  void get_capability(const OrtGraph* graph, OrtEpGraphSupportInfo* info);
  void take(const Graph& graph, const Part& part, OrtEpGraphSupportInfo* info) const;
  std::unique_ptr<PartNode> compile(const OrtGraph* graph, const OrtNode* fused,
                                    OrtNode** context_node);
  std::shared_ptr<Built> built_for(const Graph& graph);

  Session session_;
  PartBuilder builder_;
  std::map<std::string, Chosen> chosen_;  // by the key of the part, until it is compiled
  std::string compatibility_;
};

}  // namespace octet_ort
