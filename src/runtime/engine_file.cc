// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine_file.h"

#include <xxhash.h>

#include <cstring>
#include <map>
#include <string_view>

#include "core/check.h"
#include "core/checked.h"
#include "core/file.h"
#include "core/mapped_file.h"
#include "core/memory.h"
#include "core/sniff.h"
#include "graph/text.h"
#include "ops/registry.h"
#include "runtime/kept_graph.h"
#include "runtime/manifest.h"
#include "runtime/stored_halves.h"

namespace octet {
namespace {

constexpr char kMagic[8] = {'O', 'C', 'T', 'E', 'T', 'E', 'N', 'G'};
constexpr u64 kAlignment = 64;
constexpr s64 kBytesPerCharacter = 32;
constexpr u64 kMaxEngineBytes = u64{16} << 30;

// One storage that all weights of an engine share.
std::shared_ptr<std::byte> allocate_engine(u64 bytes) {
  if (bytes > kMaxEngineBytes) {
    fail(Error::Code::invalid_model, "{} bytes is more than an engine may have ({})", bytes,
         kMaxEngineBytes);
  }
  return allocate_counted(static_cast<s64>(bytes), kAlignment, "the engine", Fresh::anything);
}

struct Header {
  char magic[8];
  u32 format;
  u32 sections;
  u64 file_bytes;
  u64 checksum;  // of the header with this field zero, then the table
};
static_assert(sizeof(Header) == 32);

struct Section {
  char name[8];
  u64 offset;
  u64 bytes;
  u64 checksum;
};
static_assert(sizeof(Section) == 32);

enum : u32 { kManifest, kGraph, kBlobs, kQdq, kMostSections };
constexpr std::string_view kSections[kMostSections] = {"manifest", "graph", "blobs", "qdq"};

u32 sections_of_format(u32 format) { return format <= kFormatWithoutQdq ? kQdq : kMostSections; }

u64 align(u64 at) { return (at + kAlignment - 1) / kAlignment * kAlignment; }

u64 table_checksum(Header header, const Section* sections) {
  header.checksum = 0;
  const u64 seed = XXH3_64bits(&header, sizeof header);
  return XXH3_64bits_withSeed(sections, header.sections * sizeof(Section), seed);
}

void append(std::vector<std::byte>& out, const void* data, size_t bytes) {
  const auto* from = static_cast<const std::byte*>(data);
  out.insert(out.end(), from, from + bytes);
}

// For each tensor the first one of the same bytes: both graphs of a model hold the same weights, often in one storage.
std::vector<size_t> first_equals(const std::vector<Tensor>& tensors) {
  std::map<std::pair<u64, size_t>, size_t> known;  // hash and size
  std::vector<size_t> firsts;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    const std::pair key(XXH3_64bits(tensor.data(), tensor.bytes()), tensor.bytes());
    const size_t first = known.emplace(key, i).first->second;
    const bool same = tensor.bytes() == 0 ||
                      std::memcmp(tensors[first].data(), tensor.data(), tensor.bytes()) == 0;
    firsts.push_back(same ? first : i);
  }
  return firsts;
}

std::vector<std::byte> pack_blobs(const std::vector<Tensor>& tensors) {
  const std::vector<size_t> firsts = first_equals(tensors);
  std::vector<u64> directory{tensors.size()};
  u64 at = align((1 + 2 * tensors.size()) * sizeof(u64));
  for (size_t i = 0; i < tensors.size(); ++i) {
    const bool fresh = firsts[i] == i;
    directory.push_back(fresh ? at : directory[1 + 2 * firsts[i]]);
    directory.push_back(tensors[i].bytes());
    if (fresh) at = align(at + tensors[i].bytes());
  }
  std::vector<std::byte> out;
  out.reserve(at);
  append(out, directory.data(), directory.size() * sizeof(u64));
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (firsts[i] != i) continue;
    out.resize(directory[1 + 2 * i]);
    append(out, tensors[i].data(), tensors[i].bytes());
  }
  out.resize(at);
  return out;
}

template <class... Args>
[[noreturn]] void damaged(fmt::format_string<Args...> format, Args&&... args) {
  fail(Error::Code::invalid_model, "engine file: {}; build the engine again",
       fmt::format(format, std::forward<Args>(args)...));
}

// Whose bytes they are: a mapped file's may change after they were checked.
enum class Bytes { own, mapped };

// Weights that nobody takes for places or sizes, and of which a copy would cost something.
bool may_stay_mapped(const TensorType& type) {
  constexpr s64 kFew = 1 << 16;
  switch (type.dtype) {
    case Dtype::f32:
    case Dtype::f16:
    case Dtype::bf16:
    case Dtype::s8:
    case Dtype::u8:
      return type.bytes() >= kFew;
    default:
      return false;
  }
}

// The sections of a file whose header, table and checksums are right.
class Reader {
 public:
  Reader(std::shared_ptr<const std::byte> bytes, size_t size, Bytes whose = Bytes::own)
      : bytes_(std::move(bytes)), size_(size), whose_(whose) {
    read_header();
    if (whose_ == Bytes::mapped) copy_texts();
    for (u32 i = 0; i < count_; ++i) check_section(i);
  }

  bool has(u32 section) const { return section < count_; }

  // Of what is read later than the rest: a mapped file may have changed.
  void check_weights_again() const {
    if (whose_ == Bytes::mapped) check_section(kBlobs);
  }

  std::string_view text(u32 section) const {
    return {reinterpret_cast<const char*>(begin_of(section)), sections_[section].bytes};
  }

  Tensor last_blob(const TensorType& type) const {
    const Tensor last = blob(blob_count() - 1, type);
    return whose_ == Bytes::mapped && may_stay_mapped(type) ? last.clone() : last;
  }

  Tensor blob(s64 index, const TensorType& type) const {
    const Section& section = sections_[kBlobs];
    const auto count = static_cast<u64>(blob_count());
    if (index < 0 || static_cast<u64>(index) >= count) damaged("blob #{} of {}", index, count);
    const u64 at = 1 + 2 * static_cast<u64>(index);
    const u64 offset = word(section, at), bytes = word(section, at + 1);
    if (offset % kAlignment != 0 || offset > section.bytes || bytes > section.bytes - offset) {
      damaged("blob #{} lies outside section blobs", index);
    }
    if (bytes != static_cast<u64>(type.bytes())) {
      damaged("blob #{} has {} bytes, {} needs {}", index, bytes, to_string(type), type.bytes());
    }
    const Tensor there(
        type, std::shared_ptr<const std::byte>(bytes_, bytes_.get() + section.offset + offset));
    return whose_ == Bytes::mapped && !may_stay_mapped(type) ? there.clone() : there;
  }

 private:
  void read_header() {
    if (size_ < sizeof kMagic || std::memcmp(bytes_.get(), kMagic, sizeof kMagic) != 0) {
      const std::string_view known = sniff_foreign({bytes_.get(), size_});
      fail(Error::Code::invalid_model, "not an Octet engine: this is {}",
           size_ == 0 ? "an empty file"
                      : (known.empty() ? "no format known to Octet; build one with 'octet build'"
                                       : known));
    }
    if (size_ < sizeof(Header)) damaged("truncated in the header ({} bytes)", size_);
    Header header;
    std::memcpy(&header, bytes_.get(), sizeof header);
    if (header.format < kOldestEngineFormat || header.format > kEngineFormat) {
      fail(Error::Code::unsupported,
           "engine format {}; this program reads formats {} to {}; build the engine again",
           header.format, kOldestEngineFormat, kEngineFormat);
    }
    count_ = sections_of_format(header.format);
    if (size_ < table_bytes()) damaged("truncated at the section table ({} bytes)", size_);
    if (header.sections != count_) damaged("{} sections, expected {}", header.sections, count_);
    std::memcpy(sections_, bytes_.get() + sizeof header, count_ * sizeof(Section));
    if (header.checksum != table_checksum(header, sections_))
      damaged("checksum of the section table is wrong");
    if (header.file_bytes > size_) {
      u32 cut = 0;  // the first section that is not there as a whole
      while (cut + 1 < count_ && sections_[cut + 1].offset < size_) ++cut;
      damaged("truncated at section {}: {} of {} bytes", kSections[cut], size_, header.file_bytes);
    }
    if (header.file_bytes < size_) damaged("{} bytes after its end", size_ - header.file_bytes);
  }

  // Parsed as they were when they were checked.
  void copy_texts() {
    for (u32 i = 0; i < count_; ++i) {
      if (i == kBlobs) continue;
      check_place(i);
      const auto* from = bytes_.get() + sections_[i].offset;
      texts_[i] = std::make_shared<const std::vector<std::byte>>(from, from + sections_[i].bytes);
    }
  }

  const std::byte* begin_of(u32 section) const {
    return texts_[section] != nullptr ? texts_[section]->data()
                                      : bytes_.get() + sections_[section].offset;
  }

  size_t table_bytes() const { return sizeof(Header) + count_ * sizeof(Section); }

  u64 floor_of(u32 index) const {
    return index == 0 ? table_bytes() : sections_[index - 1].offset + sections_[index - 1].bytes;
  }

  void check_place(u32 index) const {
    const Section& section = sections_[index];
    char expected[8] = {};
    std::memcpy(expected, kSections[index].data(), kSections[index].size());
    if (std::memcmp(section.name, expected, sizeof expected) != 0)
      damaged("section {} is not '{}'", index, kSections[index]);
    const bool inside = section.offset >= floor_of(index) && section.offset <= size_ &&
                        section.bytes <= size_ - section.offset;
    if (!inside || section.offset % kAlignment != 0)
      damaged("section {} lies outside the file", kSections[index]);
  }

  void check_section(u32 index) const {
    check_place(index);
    const Section& section = sections_[index];
    if (XXH3_64bits(begin_of(index), section.bytes) != section.checksum) {
      damaged("checksum of section {} is wrong", kSections[index]);
    }
    // Padding belongs to no section: a flipped bit there is refused as well.
    for (u64 at = floor_of(index); at < section.offset; ++at) {
      if (bytes_.get()[at] != std::byte{0})
        damaged("data between sections, before {}", kSections[index]);
    }
  }

  s64 blob_count() const {
    const u64 count = word(sections_[kBlobs], 0);
    if (count > sections_[kBlobs].bytes / (2 * sizeof(u64)))
      damaged("the blob directory is cut short");
    return static_cast<s64>(count);
  }

  u64 word(const Section& section, u64 index) const {
    if (section.bytes / sizeof(u64) <= index) damaged("the blob directory is cut short");
    u64 value = 0;
    std::memcpy(&value, bytes_.get() + section.offset + index * sizeof(u64), sizeof value);
    return value;
  }

  std::shared_ptr<const std::byte> bytes_;
  size_t size_;
  Bytes whose_;
  u32 count_ = 0;
  Section sections_[kMostSections];
  // Of a mapped file.
  std::shared_ptr<const std::vector<std::byte>> texts_[kMostSections] = {};
};

Graph read_graph(const Reader& reader, u32 section) {
  // A node of a dozen characters takes hundreds of bytes.
  check_fits(kBytesPerCharacter * static_cast<s64>(reader.text(section).size()),
             "the graph of the engine");
  try {
    return parse_graph(reader.text(section), find_op,
                       [&](s64 index, const TensorType& type) { return reader.blob(index, type); });
  } catch (Error& error) {
    error.add_context(fmt::format("reading section {} of the engine", kSections[section]));
    throw;
  }
}

}  // namespace

std::vector<std::byte> write_engine(const Model& model) {
  std::vector<Tensor> tensors;
  const std::string graph = has_halves(model.graph)
                                ? print(with_stored_halves(model.graph), {.blobs = &tensors})
                                : print(model.graph, {.blobs = &tensors});
  std::string qdq;
  if (model.with_qdq != nullptr) qdq = print(model.with_qdq->graph(), {.blobs = &tensors});
  if (model.attachment) tensors.push_back(model.attachment);
  const std::string manifest = write_manifest(model);
  const std::vector<std::byte> blobs = pack_blobs(tensors);
  const std::span<const std::byte> contents[kMostSections] = {std::as_bytes(std::span(manifest)),
                                                              std::as_bytes(std::span(graph)),
                                                              blobs, std::as_bytes(std::span(qdq))};
  Header header{};
  Section sections[kMostSections] = {};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.format = model.with_qdq != nullptr ? kEngineFormat : kFormatWithoutQdq;
  header.sections = sections_of_format(header.format);
  const size_t table_bytes = header.sections * sizeof(Section);
  std::vector<std::byte> out(align(sizeof header + table_bytes));
  for (u32 i = 0; i < header.sections; ++i) {
    std::memcpy(sections[i].name, kSections[i].data(), kSections[i].size());
    out.resize(align(out.size()));
    sections[i].offset = out.size();
    sections[i].bytes = contents[i].size();
    sections[i].checksum = XXH3_64bits(contents[i].data(), contents[i].size());
    append(out, contents[i].data(), contents[i].size());
  }
  header.file_bytes = out.size();
  header.checksum = table_checksum(header, sections);
  std::memcpy(out.data(), &header, sizeof header);
  std::memcpy(out.data() + sizeof header, sections, table_bytes);
  return out;
}

namespace {

Model read_model(const Reader& reader) {
  Model model;
  const s64 attached = read_manifest(reader.text(kManifest), model);
  if (attached > 0) model.attachment = reader.last_blob({Dtype::u8, Shape{attached}});
  model.graph = read_graph(reader, kGraph);
  widen_stored_halves(model.graph);
  if (const size_t seen = model.calibrated_inputs.size();
      seen != 0 && seen != model.graph.inputs.size()) {
    fail(Error::Code::invalid_model, "manifest: calibration saw {} inputs, and the graph has {}",
         seen, model.graph.inputs.size());
  }
  if (reader.has(kQdq)) {
    model.with_qdq = std::make_shared<const KeptGraph>([reader] {
      reader.check_weights_again();
      return read_graph(reader, kQdq);
    });
  }
  return model;
}

}  // namespace

Model read_engine(std::shared_ptr<const std::byte> bytes, size_t size) {
  return read_model(Reader(std::move(bytes), size));
}

Model read_engine(std::span<const std::byte> bytes) {
  try {
    const auto copy = allocate_engine(bytes.size());
    if (!bytes.empty()) std::memcpy(copy.get(), bytes.data(), bytes.size());
    return read_engine(copy, bytes.size());
  } catch (Error& error) {
    error.add_context(fmt::format("loading an engine of {} bytes from memory", bytes.size()));
    throw;
  }
}

Tensor read_attachment(std::span<const std::byte> bytes) {
  const Reader reader({std::shared_ptr<const std::byte>(), bytes.data()}, bytes.size());
  const s64 attached = attached_bytes(reader.text(kManifest));
  return attached > 0 ? reader.last_blob({Dtype::u8, Shape{attached}}) : Tensor();
}

void save_engine(const Model& model, const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = write_engine(model);
  AtomicFile file(path);
  file.write({reinterpret_cast<const u8*>(bytes.data()), bytes.size()});
  file.commit();
}

namespace {

// What `read` makes of the file.
template <class Read>
Model loaded(const std::filesystem::path& path, const Read& read) {
  try {
    return without_bad_alloc(read);
  } catch (Error& error) {
    error.add_context("loading '" + path.string() + "'");
    throw;
  }
}

}  // namespace

Model load_engine(const std::filesystem::path& path) {
  return loaded(path, [&] {
    const File file(path);
    const auto bytes = allocate_engine(file.size());
    file.read_at(0, {reinterpret_cast<u8*>(bytes.get()), file.size()});
    return read_engine(bytes, file.size());
  });
}

Model load_mapped_engine(const std::filesystem::path& path) {
  return loaded(path, [&] {
    const MappedFile file(path);
    return read_model(Reader(file.bytes, file.size, Bytes::mapped));
  });
}

}  // namespace octet
