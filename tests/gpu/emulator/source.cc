// SPDX-License-Identifier: Apache-2.0
#include "source.h"

#include <cctype>
#include <vector>

namespace octet::emulator {
namespace {

struct Kernel {
  std::string name, bound;
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

size_t skip_blanks(const std::string& text, size_t at) {
  while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])) != 0) ++at;
  return at;
}

// The next place of `word` that is no part of another word.
size_t find_word(const std::string& text, const std::string& word, size_t at) {
  for (at = text.find(word, at); at != std::string::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end])))
      return at;
  }
  return at;
}

std::string word_at(const std::string& text, size_t at) {
  size_t end = at;
  while (end < text.size() && is_word(text[end])) ++end;
  return text.substr(at, end - at);
}

// Behind the bracket that closes the one at `at`.
size_t behind(const std::string& text, size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '(') ++depth;
    if (text[at] == ')' && --depth == 0) return at + 1;
  }
  return at;
}

std::string first_argument(const std::string& arguments) {
  int depth = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == '(') ++depth;
    if (arguments[i] == ')') --depth;
    if (arguments[i] == ',' && depth == 0) return arguments.substr(0, i);
  }
  return arguments;
}

// `at` lies behind __global__: `void __launch_bounds__(256) name(`, in any order.
Kernel kernel_at(const std::string& text, size_t at) {
  Kernel kernel = {"", "1024"};
  while ((at = skip_blanks(text, at)) < text.size()) {
    const std::string word = word_at(text, at);
    if (word.empty()) return kernel;
    const size_t next = skip_blanks(text, at + word.size());
    if (next == text.size() || text[next] != '(') {
      at = next;
      continue;
    }
    if (!word.starts_with("__")) {
      kernel.name = word;
      return kernel;
    }
    at = behind(text, next);
    if (word == "__launch_bounds__")
      kernel.bound = first_argument(text.substr(next + 1, at - next - 2));
  }
  return kernel;
}

std::vector<Kernel> kernels_of(const std::string& text) {
  std::vector<Kernel> kernels;
  const std::string word = "__global__";
  for (size_t at = 0; (at = find_word(text, word, at)) != std::string::npos;) {
    at += word.size();
    Kernel kernel = kernel_at(text, at);
    if (!kernel.name.empty()) kernels.push_back(std::move(kernel));
  }
  return kernels;
}

void erase_calls(std::string& text, const std::string& word) {
  for (size_t at = 0; (at = find_word(text, word, at)) != std::string::npos;)
    text.erase(at, behind(text, at) - at);
}

// `T name[]` as a reference to the pointer to the block's dynamic memory.
std::string dynamic_declaration(std::string text) {
  for (const char* word : {"__align__", "alignas", "__attribute__"}) erase_calls(text, word);
  size_t end = text.find('[');
  if (end == std::string::npos) end = text.size();
  while (end > 0 && !is_word(text[end - 1])) --end;
  size_t begin = end;
  while (begin > 0 && is_word(text[begin - 1])) --begin;
  const std::string type = text.substr(0, begin), name = text.substr(begin, end - begin);
  return type + "*& " + name + " = (" + type + "*&)emulated.shared";
}

void replace_dynamic(std::string& text) {
  const std::string first = "extern", second = "__shared__";
  for (size_t at = 0; (at = find_word(text, first, at)) != std::string::npos; ++at) {
    const size_t from = skip_blanks(text, at + first.size());
    if (word_at(text, from) != second) continue;
    const size_t end = text.find(';', from);
    if (end == std::string::npos) return;
    const size_t begin = from + second.size();
    text.replace(at, end - at, dynamic_declaration(text.substr(begin, end - begin)));
  }
}

}  // namespace

std::string host_source(std::string text) {
  const std::vector<Kernel> kernels = kernels_of(text);
  replace_dynamic(text);
  std::string all = "#include \"shim.h\"\nnamespace {\n#include \"words.h\"\n";
  all += text + "\n}\n#line 1 \"exports\"\n";
  for (const Kernel& kernel : kernels)
    all += "EMULATED_KERNEL(" + kernel.name + ", (" + kernel.bound + "));\n";
  return all + "EMULATED_MODULE()\n";
}

}  // namespace octet::emulator
