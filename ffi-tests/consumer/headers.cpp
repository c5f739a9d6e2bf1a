// SPDX-License-Identifier: MIT OR Apache-2.0
// The types in constant expressions: nothing to link.
#include <ofp8.hpp>

constexpr ofp8::E4M3 x(0.3f);
static_assert(x == 0.3125f && std::numeric_limits<ofp8::E5M2>::max() == 57344);

int main() { return ofp8::E4M3(x + x) == 0.625f ? 0 : 1; }
