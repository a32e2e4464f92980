// SPDX-License-Identifier: Apache-2.0
// Where the libraries of TensorRT's interface lie.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace octet::cli {

// What to do where no folder has them.
inline constexpr const char* kHowToGetTensorrt =
    "the Debian package octet-tensorrt, the archive of a release and the wheel octet-tensorrt (in "
    "the same environment as this program) have it, and so has a build that is installed by "
    "`cmake --install BUILD --component tensorrt`";

// Of level "8" or "10" or of "cudart", seen from this program: as they are built, as they are installed, and as the wheel octet-tensorrt has
// them beside a program in the bin of its environment. Those that are there.
std::vector<std::filesystem::path> tensorrt_folders(const std::string& part);

}  // namespace octet::cli
