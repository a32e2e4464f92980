// SPDX-License-Identifier: Apache-2.0
#include "graph/attributes.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "core/check.h"

namespace octet {
namespace {

enum class Corner : u8 { round, square };

constexpr auto attribute_words(Corner) {
  return std::to_array<AttributeWord<Corner>>(
      {{"round", Corner::round}, {"square", Corner::square}, {"", Corner::round}});
}

struct BoxAttributes {
  s64 size = 3;
  bool filled = true;
  Corner corner = Corner::round;
  std::optional<std::vector<s64>> axes;

  OCTET_ATTRIBUTES(size, filled, corner, axes)
};

struct NamedBoxAttributes : BoxAttributes {
  std::string name;
  Dtype type = Dtype::f32;
  f32 scale = 0.5f;

  OCTET_MORE_ATTRIBUTES(BoxAttributes, type, scale)
  OCTET_REQUIRED_ATTRIBUTES(name)
};

template <class Read>
std::string error_of(const Read& read) {
  try {
    read();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Error::Code::invalid_model);
    return error.what();
  }
  return {};
}

TEST(Attributes, WhatANodeDoesNotSayKeepsItsDefault) {
  const auto box = attributes_of<BoxAttributes>(Attrs());
  EXPECT_EQ(box.size, 3);
  EXPECT_TRUE(box.filled);
  EXPECT_EQ(box.corner, Corner::round);
  EXPECT_FALSE(box.axes);
}

TEST(Attributes, MembersAreReadByTheirKind) {
  Node node;
  node.attrs.set("size", s64{7});
  node.attrs.set("filled", s64{0});
  node.attrs.set("corner", std::string("square"));
  node.attrs.set("axes", std::vector<s64>{});
  node.attrs.set("name", std::string("lid"));
  node.attrs.set("type", std::string("s8"));
  node.attrs.set("scale", 2.0f);
  const auto box = attributes_of<NamedBoxAttributes>(node);
  EXPECT_EQ(box.size, 7);
  EXPECT_FALSE(box.filled);
  EXPECT_EQ(box.corner, Corner::square);
  EXPECT_EQ(box.axes, std::vector<s64>{});
  EXPECT_EQ(box.name, "lid");
  EXPECT_EQ(box.type, Dtype::s8);
  EXPECT_EQ(box.scale, 2.0f);
  EXPECT_EQ(attribute_of<&NamedBoxAttributes::size>(node), 7);
  EXPECT_TRUE(has_attribute<&BoxAttributes::axes>(node));
}

TEST(Attributes, ErrorsNameTheAttribute) {
  Attrs attrs;
  EXPECT_NE(error_of([&] {
              attributes_of<NamedBoxAttributes>(attrs);
            }).find("attribute 'name' is missing"),
            std::string::npos);
  // One member does not ask for another.
  EXPECT_EQ(attribute_of<&NamedBoxAttributes::scale>(attrs), 0.5f);
  attrs.set("corner", std::string("oval"));
  EXPECT_NE(error_of([&] {
              attributes_of<BoxAttributes>(attrs);
            }).find("attribute 'corner' is 'oval', expected round or square"),
            std::string::npos);
  attrs.set("corner", std::string());
  EXPECT_EQ(attribute_of<&BoxAttributes::corner>(attrs), Corner::round);
  attrs.set("size", 1.0f);
  EXPECT_NE(error_of([&] {
              attributes_of<BoxAttributes>(attrs);
            }).find("attribute 'size' is of kind float, expected int"),
            std::string::npos);
  attrs.set("type", std::string("f33"));
  EXPECT_NE(error_of([&] {
              attribute_of<&NamedBoxAttributes::type>(attrs);
            }).find("attribute 'type' is 'f33', which is no element type"),
            std::string::npos);
}

TEST(Attributes, WhatIsWrittenIsWhatIsRead) {
  Node node;
  set_attribute<&NamedBoxAttributes::size>(node.attrs, 9);
  set_attribute<&NamedBoxAttributes::filled>(node.attrs, false);
  set_attribute<&NamedBoxAttributes::corner>(node.attrs, Corner::square);
  set_attribute<&NamedBoxAttributes::axes>(node.attrs, {1, 2});
  set_attribute<&NamedBoxAttributes::name>(node.attrs, "lid");
  set_attribute<&NamedBoxAttributes::type>(node.attrs, Dtype::bf16);
  EXPECT_EQ(node.attrs.s("corner", ""), "square");
  EXPECT_EQ(node.attrs.s("type", ""), "bf16");
  EXPECT_EQ(node.attrs.i("filled"), 0);
  const auto box = attributes_of<NamedBoxAttributes>(node);
  EXPECT_EQ(box.size, 9);
  EXPECT_FALSE(box.filled);
  EXPECT_EQ(box.axes, (std::vector<s64>{1, 2}));
  EXPECT_EQ(box.type, Dtype::bf16);
  erase_attribute<&NamedBoxAttributes::size>(node.attrs);
  EXPECT_EQ(attribute_of<&NamedBoxAttributes::size>(node), 3);
}

TEST(Attributes, OneStructOfANodeIsCopiedOrErased) {
  Attrs from, to;
  from.set("axes", std::vector<s64>{4});
  from.set("name", std::string("lid"));
  from.set("other", s64{1});
  copy_attributes<BoxAttributes>(from, to);
  ASSERT_EQ(to.entries().size(), 1u);
  EXPECT_EQ(to.ints("axes"), std::vector<s64>{4});
  erase_attributes<NamedBoxAttributes>(from);
  ASSERT_EQ(from.entries().size(), 1u);
  EXPECT_TRUE(from.has("other"));
}

TEST(Attributes, AMemberKnowsItsName) {
  EXPECT_EQ(attribute_name<&NamedBoxAttributes::filled>(), "filled");
  EXPECT_EQ(attribute_name<&NamedBoxAttributes::scale>(), "scale");
}

}  // namespace
}  // namespace octet
