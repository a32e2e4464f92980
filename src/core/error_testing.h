// SPDX-License-Identifier: Apache-2.0
// One way to expect an error in tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "octet/error.h"

namespace octet::test {

// The call must throw Error with this code and every one of these texts in its message.
template <class F>
void expect_error(const F& call, Error::Code code, const std::vector<std::string>& texts) {
  try {
    call();
    ADD_FAILURE() << "no error; expected one that says: " << ::testing::PrintToString(texts);
  } catch (const Error& error) {
    EXPECT_EQ(to_string(error.code()), std::string(to_string(code))) << error.message();
    // What is named is quoted once: no message quotes a text that has quotes of its own.
    EXPECT_THAT(error.message(), ::testing::Not(::testing::ContainsRegex("[^ (=]''")));
    for (const std::string& text : texts) {
      EXPECT_THAT(error.message(), ::testing::HasSubstr(text));
    }
  }
}

// What the call's Error of this code says, with its context.
template <class F>
std::string error_of(const F& call, Error::Code code = Error::Code::invalid_argument) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "no error";
}

// Runs a reader on damaged bytes: it may succeed or throw Error, but not one that blames us.
template <class F>
void expect_survives(const F& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_NE(error.code(), Error::Code::internal) << error.message();
  }
}

}  // namespace octet::test
