// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// What becomes of an index that is out of range. The device leaves its place out and writes a word; the
// host reads it where it waits for the stream anyway.
#pragma once

#include <runtime/operation_notes.h>
#include <tbk/tbk.h>

#include <atomic>
#include <mutex>

namespace tbk {

struct Stream;

/// Holds the word of one stream, an INT32 that is 0 as long as no index was bad. Any thread.
class BadIndex {
 public:
  /// Returns the memory whose first INT32 is the word. It is made at the first call, and stays. Errors:
  /// those of allocation.
  tbk_memory_t word(const Stream& stream);
  /// Returns the bytes of that memory.
  static uint64_t word_bytes(const Stream& stream);

  /// Remembers that `operation`, a literal, was enqueued and may write the word.
  void note(const char* operation) noexcept;
  /// Reads the word, unless nothing that may write it was enqueued since it was last read: the stream
  /// has been waited for. Errors: IndexError where it is not 0, which it is again afterwards.
  void raise_if_any(const Stream& stream);

 private:
  std::mutex making_;
  std::atomic<bool> is_made_{false}, is_open_{false};
  tbk_memory_t memory_ = 0;
  OperationNotes operations_;
};

}  // namespace tbk
