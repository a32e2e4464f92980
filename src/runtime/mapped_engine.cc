// SPDX-License-Identifier: Apache-2.0
#include "octet/mapped_engine.h"

#include <memory>

#include "core/memory.h"
#include "runtime/engine_file.h"
#include "runtime/inside.h"

namespace octet {

Engine map_engine(const std::filesystem::path& path) {
  return without_bad_alloc(
      [&] { return Inside::engine(std::make_shared<const Model>(load_mapped_engine(path))); });
}

}  // namespace octet
