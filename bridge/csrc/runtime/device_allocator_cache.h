// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <c10/util/flat_hash_map.h>
#include <runtime/device_allocator_blocks.h>
#include <runtime/device_allocator_statistics.h>
#include <runtime/device_allocator_waiting.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace tbk {

/// What was allocated or freed, and the totals after it, for PyTorch's memory profiler.
struct MemoryChange {
  tbk_memory_t memory = 0;
  int64_t bytes = 0;
  uint64_t allocated = 0;
  uint64_t reserved = 0;
};

/// The memory of one device. Made when the device is first named, never destroyed.
///
/// Locks: `mutex_` guards all members but `waiting_`, and is never held while the backend is called:
/// a call may block until another thread of the program frees memory, and what a backend logs may
/// reach Python. `waiting_mutex_` is taken before it, and may be held while the backend is asked for
/// events; freeing never takes it.
class DeviceCache {
 public:
  DeviceCache(c10::DeviceIndex device, const tbk_device_properties_t& properties)
      : device_(device), sizes_(properties) {}

  /// The device is open, and `bytes` is not 0. Errors: c10::OutOfMemoryError; errors of earlier work.
  MemoryChange allocate(uint64_t bytes, Stream& stream);
  /// Nothing changes where `memory` is not in use.
  MemoryChange free(tbk_memory_t memory) noexcept;

  /// False where `pointer` lies in no block in use.
  bool owns(uint64_t pointer) const;
  void record_use(uint64_t pointer, Stream& stream);

  void flush();

  void set_limit(uint64_t bytes);
  uint64_t limit() const;
  uint64_t reserved_bytes() const;
  c10::CachingDeviceAllocator::DeviceStats statistics() const;
  void reset_accumulated();
  void reset_peak();

 private:
  struct StreamLists {
    FreeLists small, large;

    FreeLists& of(BlockKind kind) {
      return kind == BlockKind::small ? small : large;
    }
  };

  Block* take_cached(uint64_t bytes, Stream& stream);
  MemoryChange use(Block* block, uint64_t bytes, uint64_t requested);
  MemoryChange change(const Block& block, int64_t bytes) const;
  Block* find_block(uint64_t pointer) const;

  StreamLists& lists_of(Stream& stream);
  void add_free(Block* block) noexcept;
  void remove_free(Block* block) noexcept;
  void settle_inactive(BlockKind kind) noexcept;
  void cut(Block* block, uint64_t bytes, Block* rest) noexcept;
  void merge(Block* left, Block* right) noexcept;
  void release(Block* block) noexcept;
  void make_free(Block* block) noexcept;

  void collect();
  void collect_held(bool wait);
  bool claim(uint64_t bytes);
  Block* try_segment(uint64_t bytes, BlockKind kind, Stream& stream, std::string& reason);
  Block* add_segment(tbk_memory_t memory, uint64_t bytes, BlockKind kind, Stream& stream);
  Block* new_segment(uint64_t bytes, Stream& stream, std::string& reason);
  Block* detach_whole();
  void attach(Block* whole) noexcept;
  Block* give_back(Block* whole);
  Block* allocate_slowly(uint64_t requested, uint64_t bytes, Stream& stream);
  [[noreturn]] void raise_out_of_memory(uint64_t requested, const std::string& reason);

  const c10::DeviceIndex device_;
  const BlockSizes sizes_;

  mutable std::mutex mutex_;
  BlockStore store_;
  std::unordered_map<Stream*, std::unique_ptr<StreamLists>> lists_;
  Stream* latest_stream_ = nullptr;
  StreamLists* latest_lists_ = nullptr;
  ska::flat_hash_map<tbk_memory_t, Block*> in_use_;
  std::map<tbk_memory_t, Block*> segments_;  // by the first byte; the first block of each
  BlockQueue freed_;                         // with uses, not yet seen by waiting_
  size_t waiting_count_ = 0;                 // of blocks in freed_ and in waiting_
  uint64_t limit_ = 0;
  uint64_t claimed_ = 0;                             // being asked for
  int64_t inactive_count_ = 0, inactive_bytes_ = 0;  // changes of the operation at work
  Statistics statistics_;

  std::mutex waiting_mutex_;
  WaitingBlocks waiting_;
};

}  // namespace tbk
