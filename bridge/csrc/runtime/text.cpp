// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <runtime/text.h>

#include <cstdint>
#include <cstring>
#include <string_view>

namespace tbk {
namespace {

/// The bytes that a character has by its first one; 0 for a byte that begins none.
size_t length_by(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return 2;
  if (first >= 0xE0 && first < 0xF0) return 3;
  return first >= 0xF0 && first < 0xF5 ? 4 : 0;
}

/// The bytes of the character that `text` begins with; 0 where it is none, or none to be shown.
size_t shown_length(std::string_view text) {
  auto byte = [text](size_t at) { return static_cast<unsigned char>(text[at]); };
  size_t length = length_by(byte(0));
  if (length == 0 || length > text.size()) return 0;
  if (length == 1) return byte(0) >= 0x20 && byte(0) != 0x7F ? 1 : 0;
  uint32_t code = byte(0) & (0x7FU >> length);
  for (size_t at = 1; at < length; at++) {
    if ((byte(at) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(at) & 0x3FU);
  }
  constexpr uint32_t least[] = {0, 0, 0xA0, 0x800, 0x10000};  // below 0xA0 are control characters
  bool surrogate = code >= 0xD800 && code < 0xE000;
  return code >= least[length] && code <= 0x10FFFF && !surrogate ? length : 0;
}

}  // namespace

std::string printable(const char* text, size_t limit) {
  std::string_view rest(text, strnlen(text, limit));
  std::string result;
  while (!rest.empty()) {
    size_t length = shown_length(rest);
    result += length > 0 ? rest.substr(0, length) : "?";
    rest.remove_prefix(length > 0 ? length : 1);
  }
  return result;
}

}  // namespace tbk
