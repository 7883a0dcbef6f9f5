// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <string>

namespace tbk {

/// Remembers the last eight operations of a stream, for messages about what they may have done wrong;
/// so lost updates between threads don't matter. Any thread.
class OperationNotes {
 public:
  /// `operation` is a literal or interned, borrowed for ever.
  void note(const char* operation) noexcept {
    const size_t at = count_.fetch_add(1, std::memory_order_relaxed);
    operations_[at % operations_.size()].store(operation, std::memory_order_relaxed);
  }
  void forget() noexcept {
    count_.store(0, std::memory_order_relaxed);
  }
  /// Returns them, the latest last, separated by ", "; empty if there are none.
  std::string text() const;

 private:
  std::array<std::atomic<const char*>, 8> operations_{};
  std::atomic<size_t> count_{0};
};

}  // namespace tbk
