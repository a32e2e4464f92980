// SPDX-License-Identifier: Apache-2.0
// The one exception type of Octet. A run throws it too: for inputs that do not fit, and for data that no run can take (an index outside of its axis).
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace octet {

class Error : public std::runtime_error {
 public:
  enum class Code {
    invalid_model,     // the ONNX model or engine file is malformed
    unsupported,       // well-formed, but outside what Octet implements
    invalid_argument,  // an option, input tensor or data file is wrong
    out_of_memory,     // a stated limit would be passed
    io,                // the operating system refused a file
    cancelled,         // the caller ended the call (octet/progress.h)
    internal,          // our own bug
  };

  // `field` names the option or limit of the API that the caller may change, "Limits.memory"; empty where there is none.
  Error(Code code, std::string message, std::string field = {});

  Code code() const { return code_; }
  const std::string& field() const { return field_; }
  const std::string& message() const { return message_; }
  // Innermost first: "importing node 'up3' (Resize)", "compiling 'yolo.onnx'".
  const std::vector<std::string>& context() const { return context_; }
  void add_context(std::string line);

  // The message, then one indented line per context.
  const char* what() const noexcept override { return full_.c_str(); }

 private:
  Code code_;
  std::string message_;
  std::string field_;
  std::vector<std::string> context_;
  std::string full_;
};

const char* to_string(Error::Code code);

}  // namespace octet
