// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/arch/boards.h"

#include <fmt/format.h>

namespace octet::cuda {
namespace {

// All but those of 9.0 are as NVIDIA and others publish them: no driver was asked. Clocks of B300 and GB10 were not found: those of B200 and RTX 5090.
constexpr Board kBoards[] = {
    {"t4", "Tesla T4", ArchitectureId::sm_75, 40, 1590, 16, 320.064, 4},
    {"rtx2080ti", "NVIDIA GeForce RTX 2080 Ti", ArchitectureId::sm_75, 68, 1545, 11, 616, 6},
    {"a100", "NVIDIA A100-SXM4-40GB", ArchitectureId::sm_80, 108, 1410, 40, 1555.2, 40},
    {"a100_80gb", "NVIDIA A100-SXM4-80GB", ArchitectureId::sm_80, 108, 1410, 80, 2039.04, 40},
    {"a10", "NVIDIA A10", ArchitectureId::sm_86, 72, 1695, 24, 600.096, 6},
    {"rtx3090", "NVIDIA GeForce RTX 3090", ArchitectureId::sm_86, 82, 1695, 24, 936.096, 6},
    {"orin", "Orin", ArchitectureId::sm_87, 16, 1300, 64, 204.8, 4},
    {"l4", "NVIDIA L4", ArchitectureId::sm_89, 58, 2040, 24, 300.048, 48},
    {"l40s", "NVIDIA L40S", ArchitectureId::sm_89, 142, 2520, 48, 864.096, 96},
    {"rtx4090", "NVIDIA GeForce RTX 4090", ArchitectureId::sm_89, 128, 2520, 24, 1008.096, 72},
    {"h100", "NVIDIA H100 80GB HBM3", ArchitectureId::sm_90, 132, 1980, 80, 3352.32, 50},
    {"h100_pcie", "NVIDIA H100 PCIe", ArchitectureId::sm_90, 114, 1755, 80, 2039.04, 50},
    {"h200", "NVIDIA H200", ArchitectureId::sm_90, 132, 1980, 141, 4814.304, 60},
    {"b200", "NVIDIA B200", ArchitectureId::sm_100, 148, 1965, 180, 8000, 126},
    {"b300", "NVIDIA B300", ArchitectureId::sm_103, 148, 1965, 288, 8000, 126},
    {"rtx5090", "NVIDIA GeForce RTX 5090", ArchitectureId::sm_120, 170, 2407, 32, 1792, 96},
    {"rtx_pro_6000", "NVIDIA RTX PRO 6000 Blackwell Server Edition", ArchitectureId::sm_120, 188,
     2617, 96, 1792, 128},
    {"dgx_spark", "NVIDIA GB10", ArchitectureId::sm_121, 48, 2407, 128, 273, 24},
};

}  // namespace

std::span<const Board> boards() { return kBoards; }

bool is_meant(const Board& board, std::string_view wish) {
  if (wish == board.name) return true;
  const Capability capability = architecture(board.architecture).capability;
  const std::string number = std::to_string(capability.number());
  for (const std::string& name :
       {"sm" + number, "sm_" + number, "sm_" + number + "a", capability.text()}) {
    if (wish == name) return true;
  }
  return false;
}

}  // namespace octet::cuda
