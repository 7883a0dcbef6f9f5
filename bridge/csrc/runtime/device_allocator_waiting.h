// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <runtime/device_allocator_blocks.h>

#include <deque>
#include <exception>
#include <unordered_map>

namespace tbk {

/// Keeps blocks in a line, linked by `next`.
struct BlockQueue {
  Block* first = nullptr;
  Block* last = nullptr;

  bool empty() const {
    return first == nullptr;
  }
  void push(Block* block) noexcept {
    block->next = nullptr;
    (empty() ? first : last->next) = block;
    last = block;
  }
  Block* pop() noexcept {
    Block* block = first;
    first = block->next;
    block->next = nullptr;
    return block;
  }
};

/// Keeps freed blocks that streams other than their own still use. The owner locks.
class WaitingBlocks {
 public:
  /// Takes all of `freed`, whose uses have been recorded.
  void add(BlockQueue& freed);

  /// Tells what collect() found.
  struct Passed {
    BlockQueue blocks;         // not waiting any more
    std::exception_ptr error;  // the first error of the work that they waited for; it is over
  };
  /// Takes out the blocks that every stream has passed, which the backend is asked; where `wait`,
  /// waits on the host until nothing is left.
  Passed collect(bool wait) noexcept;

 private:
  struct Use {
    StreamPoint point;
    Block* block;
  };

  // Events of one stream pass in the order in which they were recorded, so that the first is asked.
  std::unordered_map<Stream*, std::deque<Use>> by_stream_;
};

}  // namespace tbk
