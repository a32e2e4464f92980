// SPDX-License-Identifier: Apache-2.0
#include "data/npy_header.h"

#include <charconv>
#include <optional>

#include "core/check.h"

namespace octet {
namespace {

struct DescrEntry {
  std::string_view code;
  Dtype dtype;
};
constexpr DescrEntry kDescrs[] = {{"f2", Dtype::f16}, {"f4", Dtype::f32}, {"f8", Dtype::f64},
                                  {"i1", Dtype::s8},  {"i2", Dtype::s16}, {"i4", Dtype::s32},
                                  {"i8", Dtype::s64}, {"u1", Dtype::u8},  {"u2", Dtype::u16},
                                  {"u4", Dtype::u32}, {"u8", Dtype::u64}, {"b1", Dtype::boolean}};

// A reader of the few literals that NumPy writes: strings, True, False and a tuple of integers.
class DictParser {
 public:
  DictParser(std::string_view text, const std::string& name) : rest_(text), name_(name) {}

  NpyHeader parse() {
    expect('{');
    while (!accept('}')) {
      const std::string_view key = string();
      expect(':');
      read_value(key);
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (!rest_.empty()) malformed("text after the dictionary");
    if (!descr_ || !fortran_ || !shape_) malformed("needs descr, fortran_order and shape");
    header_.type.shape = *shape_;
    header_.fortran_order = *fortran_;
    read_descr(*descr_);
    return header_;
  }

 private:
  [[noreturn]] void malformed(std::string_view why) const {
    fail(Error::Code::invalid_argument, "'{}': malformed npy header: {}", name_, why);
  }

  void read_value(std::string_view key) {
    if (key == "descr") {
      skip_blanks();
      if (!rest_.empty() && rest_.front() != '\'' && rest_.front() != '"') {
        fail(Error::Code::unsupported,
             "'{}': structured arrays are not supported; save a plain numeric array", name_);
      }
      once(descr_, string(), key);
    } else if (key == "fortran_order") {
      once(fortran_, boolean(), key);
    } else if (key == "shape") {
      once(shape_, shape(), key);
    } else {
      malformed("unknown key in the dictionary");
    }
  }

  template <class T>
  void once(std::optional<T>& slot, const T& value, std::string_view key) {
    if (slot) malformed(fmt::format("{} appears twice", key));
    slot = value;
  }

  void read_descr(std::string_view descr) {
    const bool has_order = !descr.empty() && std::string_view("<>|=").find(descr[0]) != descr.npos;
    const std::string_view code = descr.substr(has_order ? 1 : 0);
    header_.big_endian = has_order && descr[0] == '>';
    for (const DescrEntry& entry : kDescrs) {
      if (entry.code == code) {
        header_.type.dtype = entry.dtype;
        return;
      }
    }
    if (code.starts_with('O')) {
      fail(Error::Code::unsupported,
           "'{}': holds pickled Python objects (dtype 'O'), which are never loaded; save a numeric "
           "array",
           name_);
    }
    fail(Error::Code::unsupported, "'{}': dtype '{}' is not supported; save float32 or integers",
         name_, descr.substr(0, 32));
  }

  Shape shape() {
    Shape result;
    expect('(');
    while (!accept(')')) {
      if (result.rank() == Shape::kMaxRank) {
        fail(Error::Code::unsupported, "'{}': more than {} dimensions", name_, Shape::kMaxRank);
      }
      result.push_back(integer());
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return result;
  }

  s64 integer() {
    skip_blanks();
    s64 value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || value < 0) malformed("a dimension is not a count");
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return value;
  }

  bool boolean() {
    skip_blanks();
    for (const std::string_view word : {"True", "False"}) {
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      return word == "True";
    }
    malformed("fortran_order must be True or False");
  }

  std::string_view string() {
    skip_blanks();
    if (rest_.empty() || (rest_.front() != '\'' && rest_.front() != '"')) {
      malformed("expected a string");
    }
    const size_t end = rest_.find(rest_.front(), 1);
    if (end == rest_.npos) malformed("a string does not end");
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }

  bool accept(char c) {
    skip_blanks();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char c) {
    if (!accept(c)) malformed(fmt::format("expected '{}'", c));
  }

  void skip_blanks() {
    const size_t n = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(n == rest_.npos ? rest_.size() : n);
  }

  std::string_view rest_;
  const std::string& name_;
  NpyHeader header_;
  std::optional<std::string_view> descr_;
  std::optional<bool> fortran_;
  std::optional<Shape> shape_;
};

}  // namespace

NpyHeader parse_npy_dict(std::string_view text, const std::string& name) {
  return DictParser(text, name).parse();
}

}  // namespace octet
