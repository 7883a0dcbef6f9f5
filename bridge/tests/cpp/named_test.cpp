// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// Kernels by name were made of the schemas of one PyTorch: what another one changed is told, and not asked for.
#include "check.h"

#include <aten/named_forms.h>

namespace tbk::test {
namespace {

constexpr NamedRow kSame{"exp", 1, "exp(Tensor self) -> Tensor"};
constexpr NamedRow kLonger{"exp", 1, "exp(Tensor self, int base) -> Tensor"};
constexpr NamedRow kRenamed{"exp", 1, "exp(Tensor base) -> Tensor"};
constexpr NamedRow kAbsent{"expp", 1, "expp(Tensor self) -> Tensor"};

void the_same_schema_is_asked_for() {
  TBK_CHECK(function_of(kSame).has_value());
  TBK_CHECK_SEEN(told_of_schema(kSame).empty(), told_of_schema(kSame));
}

void another_schema_is_told_in_a_line() {
  for (const NamedRow& row : {kLonger, kRenamed}) {
    const std::string line = told_of_schema(row);
    TBK_CHECK(!function_of(row).has_value());
    TBK_CHECK_SEEN(line.find(row.schema) != std::string::npos, line);
    TBK_CHECK_SEEN(line.find("aten::exp(Tensor self) -> Tensor") != std::string::npos, line);
    TBK_CHECK_SEEN(line.find('\n') == std::string::npos, line);
  }
}

void what_nobody_can_call_is_not_told() {
  TBK_CHECK(!function_of(kAbsent).has_value());
  TBK_CHECK_SEEN(told_of_schema(kAbsent).empty(), told_of_schema(kAbsent));
}

const Registration registered({
    {"the_same_schema_is_asked_for", "template", "", the_same_schema_is_asked_for},
    {"another_schema_is_told_in_a_line", "template", "", another_schema_is_told_in_a_line},
    {"what_nobody_can_call_is_not_told", "template", "", what_nobody_can_call_is_not_told},
});

}  // namespace
}  // namespace tbk::test
