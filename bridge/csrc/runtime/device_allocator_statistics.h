// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <c10/core/CachingDeviceAllocator.h>
#include <runtime/device_allocator_blocks.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace tbk {

/// Follows a number that rises and falls, of each kind of block. The owner locks. The quickest
/// paths write little: what it is now, and the sum of both kinds, follow from the rest.
class Series {
 public:
  void increase(BlockKind kind, int64_t amount) {
    Part& part = parts_[static_cast<size_t>(kind)];
    part.grown += amount;
    const int64_t now = part.current();
    const int64_t sum = now + parts_[1 - static_cast<size_t>(kind)].current();
    if (now > part.peak) [[unlikely]]
      part.peak = now;
    if (sum > peak_) [[unlikely]]
      peak_ = sum;
  }
  void decrease(BlockKind kind, int64_t amount) {
    parts_[static_cast<size_t>(kind)].shrunk += amount;
  }
  void change(BlockKind kind, int64_t amount) {
    amount > 0 ? increase(kind, amount) : decrease(kind, -amount);
  }
  int64_t current() const {
    return parts_[0].current() + parts_[1].current();
  }
  void reset_accumulated();
  void reset_peak();
  c10::CachingAllocator::StatArray stats() const;

 private:
  friend class ActiveSeries;

  struct Part {
    int64_t grown = 0;  // all increases since the start
    int64_t shrunk = 0;
    int64_t peak = 0;
    int64_t grown_at_reset = 0;
    int64_t shrunk_at_reset = 0;

    int64_t current() const {
      return grown - shrunk;
    }
    c10::CachingAllocator::Stat stat() const;
  };

  std::array<Part, 2> parts_;  // by BlockKind
  int64_t peak_ = 0;           // of both together
};

/// Follows what is in use, or was freed and waits for another stream. Where nothing waits, that is
/// what is in use, and nothing is written here.
class ActiveSeries {
 public:
  Series waiting;

  /// Takes the peak up. Called after each increase of `in_use` while something waits.
  void raise_peak(const Series& in_use);
  void reset_peak(const Series& in_use);
  c10::CachingAllocator::StatArray stats(const Series& in_use) const;

 private:
  using Values = std::array<int64_t, 3>;  // in the order of c10's StatType

  Values current(const Series& in_use) const;

  Values peak_{};
};

/// Holds what DeviceStats of PyTorch is made of, for one device. The owner locks.
struct Statistics {
  Series allocation, allocated_bytes, requested_bytes;
  Series inactive_split, inactive_split_bytes;
  Series segment, reserved_bytes;
  ActiveSeries active, active_bytes;
  int64_t retries = 0, failures = 0;  // of memory_alloc: followed by a flush; final
  int64_t flushes = 0;                // that waited for the device
  int64_t device_allocs = 0, device_frees = 0;

  void add_in_use(const Block& block) {
    allocation.increase(block.kind, 1);
    allocated_bytes.increase(block.kind, static_cast<int64_t>(block.bytes));
    requested_bytes.increase(block.kind, static_cast<int64_t>(block.requested));
  }
  void remove_in_use(const Block& block) {
    allocation.decrease(block.kind, 1);
    allocated_bytes.decrease(block.kind, static_cast<int64_t>(block.bytes));
    requested_bytes.decrease(block.kind, static_cast<int64_t>(block.requested));
  }
  void add_inactive_split(const Block& block) {
    inactive_split.increase(block.kind, 1);
    inactive_split_bytes.increase(block.kind, static_cast<int64_t>(block.bytes));
  }
  void remove_inactive_split(const Block& block) {
    inactive_split.decrease(block.kind, 1);
    inactive_split_bytes.decrease(block.kind, static_cast<int64_t>(block.bytes));
  }
  /// Takes the peaks up. Called after add_in_use, while blocks wait.
  void raise_active_peak();
  void add_waiting(const Block& block);
  void remove_waiting(const Block& block);
  void add_segment(BlockKind kind, uint64_t bytes);
  void remove_segment(BlockKind kind, uint64_t bytes);

  void reset_accumulated();
  void reset_peak();
  /// Returns what PyTorch wants to know; `splits` says whether blocks of the device are split.
  c10::CachingDeviceAllocator::DeviceStats report(bool splits) const;
};

}  // namespace tbk
