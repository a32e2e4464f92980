// SPDX-License-Identifier: Apache-2.0
// Finds the data files of a folder, recursively, in an order that depends on their names only.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/types.h"
#include "octet/data.h"

namespace octet {

struct FolderFiles {
  std::vector<std::string> files;  // paths relative to the folder, sorted by bytes
  std::vector<std::string>
      sub_folders;      // the folder's immediate sub-folders, sorted by bytes: the classes
  bool images = false;  // else .npy and .npz
  s64 ignored = 0;      // files that are neither
  std::vector<std::string> unreadable;  // folders that could not be opened, with the reason
};

// Throws when the folder has no data files or mixes images with arrays. Hidden files are passed over; links are followed, each
// folder once.
FolderFiles scan_folder(const std::filesystem::path& folder);

// The class of a file by `rule`; absent for a file outside any class folder. Throws for a name without leading number.
std::optional<s64> label_of(const std::string& file, const FolderFiles& folder, LabelRule rule);

}  // namespace octet
