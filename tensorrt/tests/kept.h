// SPDX-License-Identifier: Apache-2.0
// Properties NAME of an object that are what setNAME() was given.
#pragma once

#include "support.h"

#define EXPECT_KEPT(layer, Name, value) \
  (layer)->set##Name(value);            \
  EXPECT_EQ((layer)->get##Name(), value)
#define EXPECT_KEPT_SIZES(layer, Name, value) \
  (layer)->set##Name(value);                  \
  EXPECT_EQ(sizes_of((layer)->get##Name()), sizes_of(value))
#define EXPECT_KEPT_WEIGHTS(layer, Name, value) \
  (layer)->set##Name(value);                    \
  EXPECT_EQ((layer)->get##Name().values, (value).values)
