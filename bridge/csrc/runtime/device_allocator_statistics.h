// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <c10/core/CachingDeviceAllocator.h>
#include <runtime/device_allocator_blocks.h>

#include <array>
#include <cstdint>

namespace tbk {

/// One number that rises and falls. What PyTorch calls freed follows from the rest, so that the
/// quickest paths write less.
struct Series {
  int64_t current = 0;
  int64_t peak = 0;
  int64_t grown = 0;  // all increases since the start
  int64_t grown_at_reset = 0;
  int64_t shrunk_at_reset = 0;

  void increase(int64_t amount) {
    current += amount;
    grown += amount;
    if (current > peak) peak = current;
  }
  void decrease(int64_t amount) {
    current -= amount;
  }
  void reset_accumulated() {
    grown_at_reset = grown;
    shrunk_at_reset = grown - current;
  }
  c10::CachingAllocator::Stat stat() const;
};

/// A Series of both kinds together, and one of each.
struct SeriesByKind {
  std::array<Series, 3> series;  // in the order of c10's StatType

  static size_t index(BlockKind kind) {
    return kind == BlockKind::small ? 1 : 2;
  }
  void increase(BlockKind kind, int64_t amount) {
    series[0].increase(amount);
    series[index(kind)].increase(amount);
  }
  void decrease(BlockKind kind, int64_t amount) {
    series[0].decrease(amount);
    series[index(kind)].decrease(amount);
  }
  void change(BlockKind kind, int64_t amount) {
    amount > 0 ? increase(kind, amount) : decrease(kind, -amount);
  }
  int64_t current() const {
    return series[0].current;
  }
};

/// What DeviceStats of PyTorch is made of, for one device. The owner locks.
struct Statistics {
  SeriesByKind allocation, allocated_bytes, requested_bytes;
  SeriesByKind active, active_bytes;
  SeriesByKind segment, reserved_bytes;
  SeriesByKind inactive_split, inactive_split_bytes;
  int64_t retries = 0, failures = 0;  // of memory_alloc: followed by a flush; final
  int64_t flushes = 0;                // that waited for the device
  int64_t device_allocs = 0, device_frees = 0;

  void add_in_use(const Block& block) {
    allocation.increase(block.kind, 1);
    allocated_bytes.increase(block.kind, static_cast<int64_t>(block.bytes));
    requested_bytes.increase(block.kind, static_cast<int64_t>(block.requested));
    active.increase(block.kind, 1);
    active_bytes.increase(block.kind, static_cast<int64_t>(block.bytes));
  }
  void remove_in_use(const Block& block) {
    allocation.decrease(block.kind, 1);
    allocated_bytes.decrease(block.kind, static_cast<int64_t>(block.bytes));
    requested_bytes.decrease(block.kind, static_cast<int64_t>(block.requested));
  }
  /// No stream uses it any more.
  void remove_active(const Block& block) {
    active.decrease(block.kind, 1);
    active_bytes.decrease(block.kind, static_cast<int64_t>(block.bytes));
  }
  void add_segment(BlockKind kind, uint64_t bytes);
  void remove_segment(BlockKind kind, uint64_t bytes);

  void reset_accumulated();
  void reset_peak();
  c10::CachingDeviceAllocator::DeviceStats report(bool splits) const;
};

}  // namespace tbk
