// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace tbk {

/// Locks for some tens of instructions, in which nothing is called that may block. Giving it back
/// is a plain store: with std::mutex a cached allocation and its free take a third longer.
class ShortLock {
 public:
  void lock() noexcept {
    if (held_.exchange(true, std::memory_order_acquire)) [[unlikely]]
      lock_slowly();
  }
  void unlock() noexcept {
    held_.store(false, std::memory_order_release);
  }

 private:
  /// Who holds it is at work, or was interrupted: then it needs the processor.
  [[gnu::noinline]] void lock_slowly() noexcept {
    for (int turn = 0;
         held_.load(std::memory_order_relaxed) || held_.exchange(true, std::memory_order_acquire);
         turn++) {
      if (turn < 64) continue;
      if (turn < 256)
        std::this_thread::yield();
      else
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

  std::atomic<bool> held_{false};
};

}  // namespace tbk
