// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include "check.h"

#include <runtime/text.h>

namespace tbk::test {
namespace {

struct Case {
  const char* said;
  const char* shown;
};

constexpr Case cases[] = {
    {"", ""},
    {"plain", "plain"},
    {"two\nlines\x1b[2J\x7f", "two?lines?[2J?"},
    {"\xe8\xae\xbe\xe5\xa4\x87", "\xe8\xae\xbe\xe5\xa4\x87"},  // two characters of three bytes
    {"\xe8\xae\xbe\xe5\xa4", "\xe8\xae\xbe??"},                // the second is cut short
    {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},                  // one of four
    {"\xff\xfe\xc3x", "???x"},                                 // no first byte, no second byte
    {"\xc0\x80 \xe0\x80\x80", "?? ???"},                       // longer than need be
    {"\xed\xa0\x80", "???"},                                   // half of a pair
    {"\xf4\x90\x80\x80", "????"},                              // past the last character
    {"\xc2\x85", "??"},                                        // a control character of two bytes
};

void text_is_shown_or_replaced() {
  for (auto [said, shown] : cases) {
    std::string result = printable(said, 64);
    TBK_CHECK_SEEN(result == shown, result);
  }
}

void text_ends_at_the_limit() {
  TBK_CHECK(printable("abcdef", 3) == "abc");
  TBK_CHECK(printable("ab\xe8\xae\xbe", 4) == "ab??");
}

const Registration registration({
    {"text_is_shown_or_replaced", "template", "", text_is_shown_or_replaced},
    {"text_ends_at_the_limit", "template", "", text_ends_at_the_limit},
});

}  // namespace
}  // namespace tbk::test
