// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#include <runtime/device_allocator_waiting.h>

#include <utility>

namespace tbk {

void WaitingBlocks::add(BlockQueue& freed) {
  while (!freed.empty()) {
    Block* block = freed.pop();
    block->waits = block->uses.size();
    for (StreamPoint& point : block->uses) {
      Stream* stream = &point.stream();
      by_stream_[stream].push_back({std::move(point), block});
    }
    block->uses.clear();
  }
}

WaitingBlocks::Passed WaitingBlocks::collect(bool wait) noexcept {
  Passed result;
  for (auto& [stream, uses] : by_stream_) {
    while (!uses.empty() && uses.front().point.passed(wait, result.error)) {
      Block* block = uses.front().block;
      uses.pop_front();
      if (--block->waits == 0) result.blocks.push(block);
    }
  }
  return result;
}

}  // namespace tbk
