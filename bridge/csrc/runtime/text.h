// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>

namespace tbk {

/// Returns what a backend says as it can be shown, and as Python takes it: at most `limit` bytes of
/// `text`, with a '?' for each control character and for each byte that is not UTF-8, such as the
/// end of a message that was cut in the middle of a character. `text` ends at a NUL or at the
/// limit.
std::string printable(const char* text, size_t limit);

}  // namespace tbk
