// SPDX-License-Identifier: Apache-2.0
// The engine file: data only. Little endian, sections aligned to 64 bytes:
//
//   header    magic "OCTETENG", u32 format version, u32 section count, u64 file bytes, u64 XXH3 of header and table
//   table     per section: char[8] name, u64 offset, u64 bytes, u64 XXH3-64 of its bytes
//   manifest  JSON: source, producer, preprocessing, calibration, provenance, bytes of an attachment, which is the last blob
//   graph     the text form of the graph (graph/text.h), large constants as #index
//   blobs     u64 count, then per blob u64 offset and u64 bytes (relative to the section), then the blobs; equal blobs lie in one place
//   qdq       in format 3: the graph that the integer operators were made from (runtime/kept_graph.h), as the section graph
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "runtime/model.h"

namespace octet {

inline constexpr u32 kEngineFormat = 3;
inline constexpr u32 kFormatWithoutQdq = 2;    // still written where there is none
inline constexpr u32 kOldestEngineFormat = 1;  // without reason codes

std::vector<std::byte> write_engine(const Model& model);
// `bytes` stays alive through the model's weights. Throws Error(invalid_model) naming the section that is wrong.
Model read_engine(std::shared_ptr<const std::byte> bytes, size_t size);
// The same from a copy of `bytes`, which may lie anywhere.
Model read_engine(std::span<const std::byte> bytes);

// What the file carries, without reading anything else of it; valid as long as `bytes`.
Tensor read_attachment(std::span<const std::byte> bytes);

void save_engine(const Model& model, const std::filesystem::path& path);
Model load_engine(const std::filesystem::path& path);
// The same, but large weights stay where the file is mapped. What places, sizes and types are read from is copied before it is checked.
Model load_mapped_engine(const std::filesystem::path& path);

}  // namespace octet
